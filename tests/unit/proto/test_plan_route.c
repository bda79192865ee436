/* SPDX-License-Identifier: MIT */
#include "proto/plan_route.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

static struct plan plan;
static struct errmsg msg;

static void setup(void)
{
    plan_defaults(&plan);
    plan.url = mem_strdup("http://h.test/");
    plan.method = mem_strdup("GET");
    plan.requests = 1;
}

static void teardown(void)
{
    plan_clear(&plan);
}

static struct route way(const char *host, const char *port)
{
    struct route r;
    ck_assert_msg(plan_check_routes(&plan, &msg) == ERR_OK, "%s", msg.text);
    plan_route(&plan, host, port, &r);
    return r;
}

START_TEST(test_without_options_the_way_is_the_origin)
{
    struct route r = way("h.test", "8080");
    ck_assert_str_eq(r.host, "h.test");
    ck_assert_str_eq(r.port, "8080");
    ck_assert(!r.fixed && !r.renamed && !r.proxy && r.unix_path == NULL);
}
END_TEST

START_TEST(test_resolve_is_for_that_host_and_port)
{
    option_list_add(&plan.resolve, "h.test:80:192.0.2.1,[2001:db8::1]");
    option_list_add(&plan.resolve, "*:443:2001:db8::2");
    ck_assert(!way("h.test", "8080").fixed && !way("other.test", "80").fixed);
    struct route r = way("H.TEST", "80");
    ck_assert(r.fixed && !r.renamed);
    ck_assert_str_eq(r.addresses, "192.0.2.1,2001:db8::1");
    ck_assert_str_eq(way("any.test", "443").addresses, "2001:db8::2");
}
END_TEST

START_TEST(test_the_last_resolve_wins)
{
    option_list_add(&plan.resolve, "h.test:80:192.0.2.1");
    option_list_add(&plan.resolve, "h.test:80:192.0.2.2");
    ck_assert_str_eq(way("h.test", "80").addresses, "192.0.2.2");
}
END_TEST

START_TEST(test_connect_to_takes_the_first_that_fits)
{
    option_list_add(&plan.connect_to, "h.test:80:a.test:81");
    option_list_add(&plan.connect_to, "h.test::b.test:");
    option_list_add(&plan.connect_to, "[2001:db8::1]:80:[::1]:90");
    option_list_add(&plan.connect_to, "::c.test:");
    struct route r = way("h.test", "80");
    ck_assert_str_eq(r.host, "a.test");
    ck_assert_str_eq(r.port, "81");
    ck_assert(r.renamed);
    r = way("h.test", "443");
    ck_assert_str_eq(r.host, "b.test");
    ck_assert_str_eq(r.port, "443");
    r = way("2001:db8::1", "80");
    ck_assert_str_eq(r.host, "::1");
    ck_assert_str_eq(r.port, "90");
    ck_assert_str_eq(way("x.test", "1").host, "c.test");
}
END_TEST

START_TEST(test_resolve_sees_where_connect_to_goes)
{
    option_list_add(&plan.connect_to, "h.test:80:a.test:81");
    option_list_add(&plan.resolve, "a.test:81:192.0.2.9");
    struct route r = way("h.test", "80");
    ck_assert(r.fixed && r.renamed);
    ck_assert_str_eq(r.addresses, "192.0.2.9");
}
END_TEST

START_TEST(test_a_proxy_is_where_all_connections_go)
{
    plan.proxy = mem_strdup("http://proxy.test:3128");
    option_list_add(&plan.connect_to, "h.test:80:a.test:81");
    struct route r = way("h.test", "80");
    ck_assert(r.proxy && r.renamed);
    ck_assert_str_eq(r.host, "proxy.test");
    ck_assert_str_eq(r.port, "3128");
}
END_TEST

START_TEST(test_a_unix_socket_is_the_whole_way)
{
    plan.unix_socket = mem_strdup("/run/app.sock");
    ck_assert_str_eq(way("h.test", "80").unix_path, "/run/app.sock");
}
END_TEST

static const struct {
    const char *resolve, *connect_to, *source, *socket, *proxy, *want;
} refusals[] = {
    {.resolve = "h:80", .want = "--resolve h:80: accepted is HOST:PORT:ADDRESS"},
    {.resolve = "h:80:", .want = "--resolve"},
    {.resolve = "h:0:1.2.3.4", .want = "--resolve"},
    {.resolve = "h:65536:1.2.3.4", .want = "--resolve"},
    {.resolve = "h:80:name", .want = "--resolve"},
    {.resolve = "h:80:1.2.3.4,", .want = "--resolve"},
    {.resolve = ":80:1.2.3.4", .want = "--resolve"},
    {.resolve = "h h:80:1.2.3.4", .want = "--resolve"},
    {.resolve = "[::1:80:1.2.3.4", .want = "--resolve"},
    {.connect_to = "a:1:b", .want = "--connect-to a:1:b: accepted is HOST1:PORT1:HOST2:PORT2"},
    {.connect_to = "a:1:b:2:3", .want = "--connect-to"},
    {.connect_to = "a:x:b:2", .want = "--connect-to"},
    {.connect_to = "a:1:b/c:2", .want = "--connect-to"},
    {.source = "eth0", .want = "--source-ip eth0: accepted is"},
    {.source = "1.2.3.4;1.2.3.5", .want = "--source-ip"},
    {.socket = "app.sock", .want = "--unix-socket app.sock: accepted is an absolute path"},
    {.socket = "/a", .source = "1.2.3.4", .want = "--unix-socket with"},
    {.socket = "/a", .proxy = "http://p:1", .want = "--proxy with --unix-socket"},
    {.proxy = "https://p:1", .want = "--proxy https://p:1: accepted is http://HOST:PORT"},
    {.proxy = "http://p:1/path", .want = "--proxy"},
    {.proxy = "http://user:word@p:1", .want = "--proxy"},
};

START_TEST(test_refusals)
{
    if (refusals[_i].resolve != NULL)
        option_list_add(&plan.resolve, refusals[_i].resolve);
    if (refusals[_i].connect_to != NULL)
        option_list_add(&plan.connect_to, refusals[_i].connect_to);
    if (refusals[_i].source != NULL)
        option_list_add(&plan.source_ip, refusals[_i].source);
    if (refusals[_i].socket != NULL)
        plan.unix_socket = mem_strdup(refusals[_i].socket);
    if (refusals[_i].proxy != NULL)
        plan.proxy = mem_strdup(refusals[_i].proxy);
    ck_assert_int_ne(plan_validate(&plan, &msg), ERR_OK);
    ck_assert_msg(strncmp(msg.text, refusals[_i].want, strlen(refusals[_i].want)) == 0,
                  "says: %s\nwant: %s", msg.text, refusals[_i].want);
    ck_assert_msg(strstr(msg.text, "word") == NULL, "a password is shown: %s", msg.text);
}
END_TEST

START_TEST(test_they_travel_with_the_plan)
{
    struct plan back, copy;
    uint8_t *buf;
    size_t len;
    plan.ipv4 = true;
    plan.dns_refresh_ns = UINT64_C(5000000000);
    plan.proxy = mem_strdup("http://p:1");
    option_list_add(&plan.resolve, "h:80:1.2.3.4");
    option_list_add(&plan.connect_to, "a:1:b:2");
    option_list_add(&plan.source_ip, "127.0.0.1,127.0.0.2");
    ck_assert_int_eq(plan_encode(&plan, &buf, &len), ERR_OK);
    ck_assert_msg(plan_decode(buf, len, &back, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_int_eq(plan_copy(&copy, &back), ERR_OK);
    plan_clear(&back);
    ck_assert(copy.ipv4 && !copy.ipv6 && copy.dns_refresh_ns == plan.dns_refresh_ns);
    ck_assert_str_eq(copy.proxy, "http://p:1");
    ck_assert_str_eq(copy.resolve.items[0], "h:80:1.2.3.4");
    ck_assert_str_eq(copy.connect_to.items[0], "a:1:b:2");
    ck_assert_str_eq(copy.source_ip.items[0], "127.0.0.1,127.0.0.2");
    ck_assert_ptr_null(copy.unix_socket);
    plan_clear(&copy);
    mem_free(buf);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_route");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_without_options_the_way_is_the_origin);
    tcase_add_test(t, test_resolve_is_for_that_host_and_port);
    tcase_add_test(t, test_the_last_resolve_wins);
    tcase_add_test(t, test_connect_to_takes_the_first_that_fits);
    tcase_add_test(t, test_resolve_sees_where_connect_to_goes);
    tcase_add_test(t, test_a_proxy_is_where_all_connections_go);
    tcase_add_test(t, test_a_unix_socket_is_the_whole_way);
    tcase_add_loop_test(t, test_refusals, 0, (int)(sizeof refusals / sizeof refusals[0]));
    tcase_add_test(t, test_they_travel_with_the_plan);
    suite_add_tcase(s, t);
    return check_main(s);
}
