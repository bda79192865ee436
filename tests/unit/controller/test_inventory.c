/* SPDX-License-Identifier: MIT */
#include "controller/run/inventory.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

struct accepted {
    const char *text;
    const char *address, *url, *name;
    uint32_t weight;
    const char *server_name; /* "" = plain */
};

START_TEST(test_items)
{
    static const struct accepted cases[] = {
        {"127.0.0.1:7401", "127.0.0.1:7401", "tcp://127.0.0.1:7401", "", 1, ""},
        {"127.0.0.1", "127.0.0.1:7400", "tcp://127.0.0.1:7400", "", 1, ""},
        {"127.255.3.4:1", "127.255.3.4:1", "tcp://127.255.3.4:1", "", 1, ""},
        {"localhost:65535*3", "localhost:65535", "tcp://localhost:65535", "", 3, ""},
        {"LocalHost", "localhost:7400", "tcp://localhost:7400", "", 1, ""},
        {"[::1]:7402", "[::1]:7402", "tcp://[::1]:7402", "", 1, ""},
        {"[0:0:0:0:0:0:0:1]*1000", "[::1]:7400", "tcp://[::1]:7400", "", 1000, ""},
        {"db-1.example@localhost:07400", "tls+tcp://localhost:7400", "tls+tcp://localhost:7400",
         "db-1.example", 1, "db-1.example"},
        {"tcp://127.0.0.1:9", "127.0.0.1:9", "tcp://127.0.0.1:9", "", 1, ""},
        {"tcp://[::1]", "[::1]:7400", "tcp://[::1]:7400", "", 1, ""},
        {"a@tls+tcp://localhost*2", "tls+tcp://localhost:7400", "tls+tcp://localhost:7400", "a", 2,
         "a"},
        {"tls+tcp://localhost:1", "tls+tcp://localhost:1", "tls+tcp://localhost:1", "", 1,
         "localhost"},
        {"Host.Example", "tls+tcp://host.example:7400", "tls+tcp://host.example:7400", "", 1,
         "host.example"},
        {"tls+tcp://host.example:9*4", "tls+tcp://host.example:9", "tls+tcp://host.example:9", "",
         4, "host.example"},
        {"a-1@10.0.0.1", "tls+tcp://10.0.0.1:7400", "tls+tcp://10.0.0.1:7400", "a-1", 1, "a-1"},
        {"a-1@tls+tcp://[2001:db8::1]:9", "tls+tcp://[2001:db8::1]:9", "tls+tcp://[2001:db8::1]:9",
         "a-1", 1, "a-1"},
        {"ipc:///tmp/a.sock", "ipc:///tmp/a.sock", "ipc:///tmp/a.sock", "", 1, ""},
        {"ipc:///run/h@mmer/a:b*7", "ipc:///run/h@mmer/a:b", "ipc:///run/h@mmer/a:b", "", 7, ""},
        {"  localhost ", "localhost:7400", "tcp://localhost:7400", "", 1, ""},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct inventory inv;
        struct errmsg msg = {{0}};
        enum err e = inventory_parse(cases[i].text, 0, &inv, &msg);
        ck_assert_msg(e == ERR_OK, "%s", msg.text);
        ck_assert_uint_eq(inv.n, 1);
        ck_assert_str_eq(inv.agents[0].address, cases[i].address);
        ck_assert_str_eq(inv.agents[0].url, cases[i].url);
        ck_assert_str_eq(inv.agents[0].name, cases[i].name);
        ck_assert_uint_eq(inv.agents[0].weight, cases[i].weight);
        ck_assert_str_eq(inv.agents[0].server_name, cases[i].server_name);
        ck_assert(inventory_uses_tls(&inv) == (cases[i].server_name[0] != '\0'));
        inventory_clear(&inv);
    }
}
END_TEST

START_TEST(test_list)
{
    struct inventory inv;
    struct errmsg msg = {{0}};
    ck_assert_msg(inventory_parse("127.0.0.1:7400, 127.0.0.1:7401*2,ipc:///tmp/x", 0, &inv, &msg) ==
                      ERR_OK,
                  "%s", msg.text);
    ck_assert_uint_eq(inv.n, 3);
    ck_assert_str_eq(inv.agents[1].address, "127.0.0.1:7401");
    ck_assert_uint_eq(inv.agents[1].weight, 2);
    inventory_add(&inv, "local 1", "ipc:///tmp/y", 1);
    ck_assert_uint_eq(inv.n, 4);
    ck_assert_str_eq(inv.agents[3].address, "local 1");
    ck_assert_str_eq(inv.agents[3].url, "ipc:///tmp/y");
    ck_assert_str_eq(inv.agents[3].name, "");
    inventory_clear(&inv);
    inventory_clear(&inv);
    ck_assert(inv.n == 0 && inv.agents == NULL);
}
END_TEST

static const char x101[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
static const char *const refused[][2] = {
    {"", "--agents \"\": empty item; accepted is [NAME@]HOST[:PORT][*WEIGHT]"},
    {"localhost,", "empty item"},
    {",localhost", "empty item"},
    {"localhost, ,127.0.0.1", "empty item"},
    {"localhost:0", "--agents localhost:0: port; accepted is HOST[:PORT] with a port from 1 to"},
    {"localhost:65536", "localhost:65536: port"},
    {"localhost:", "localhost:: port"},
    {"localhost:+80", "port"},
    {"localhost:80x", "port"},
    {"localhost:4294967376", "port"},
    {"localhost*0", "--agents localhost*0: weight; accepted is HOST[:PORT]*WEIGHT with a weight "
                    "from 1 to 1000"},
    {"localhost*1001", "weight"},
    {"localhost*", "weight"},
    {"localhost*-1", "weight"},
    {"localhost*1.5", "weight"},
    {"*2", "*2: host"},
    {":7400", ":7400: host"},
    {"local host", "local host: host"},
    {"local\nhost", "--agents local?host: host"},
    {"user:pw@localhost", "name; accepted is NAME@HOST"},
    {"@localhost", "name"},
    {"a@b@localhost", "host"},
    {"::1", "--agents ::1: an IPv6 address needs brackets; accepted is [ADDRESS][:PORT] such as "
            "[::1]:7400"},
    {"::1:7400", "needs brackets"},
    {"[::1", "brackets"},
    {"[::1]7400", "brackets"},
    {"[::1]:", "port"},
    {"[]", "not an IPv6 address"},
    {"[::g]:7400", "not an IPv6 address"},
    {"[127.0.0.1]", "not an IPv6 address"},
    {"[fe80::1%eth0]", "not an IPv6 address"},
    {"127.1", "not an IPv4 address"},
    {"127.0.0.256", "not an IPv4 address"},
    {"7400", "not an IPv4 address"},
    {x101, ": host"},
    {"tcp://", "host"},
    {"tcp://localhost/path", "host"},
    {"tcp://localhost:80/", "port"},
    {"tls+tcp://", "host"},
    {"tls+tcp://localhost/path", "host"},
    {"tls://localhost", "unknown transport"},
    {"http://localhost", "unknown transport; accepted is HOST[:PORT], tcp://HOST[:PORT], tls+tcp"},
    {"a@tcp://localhost", "only TLS can check a name; accepted is NAME@HOST[:PORT] or NAME@tls+"},
    {"a@ipc:///tmp/a", "only TLS can check a name"},
    {"ipc://", "path; accepted is ipc:///PATH"},
    {"ipc://relative", "path"},
    {"ipc:///", "path"},
    {"ipc:///a b", "ipc:///a b: space, control"},
    {"10.0.0.1:7400", "--agents 10.0.0.1:7400: TLS checks the name in the agent's certificate, and "
                      "an IP address is none; accepted is NAME@ADDRESS[:PORT], or plain tcp with "
                      "--insecure-agents"},
    {"[2001:db8::1]", "an IP address is none"},
    {"128.0.0.1", "an IP address is none"},
    {"tls+tcp://127.0.0.1:1", "an IP address is none"},
    {"tls+tcp://[::1]:1", "an IP address is none"},
    {"tcp://192.168.0.1:7400", "plain tcp to another host; accepted is HOST[:PORT] or tls+tcp://"},
    {"tcp://host.example", "with --insecure-agents"},
    {"localhost,127.0.0.1,LOCALHOST:7400*2", "--agents LOCALHOST:7400*2: given twice"},
    {"[::1],[0::1]:7400", "given twice"},
    {"ipc:///a,ipc:///a", "given twice"},
    {"localhost,a@localhost", "given twice"},
};

START_TEST(test_refused)
{
    for (size_t i = 0; i < N_OF(refused); i++) {
        struct inventory inv;
        struct errmsg msg = {{0}};
        ck_assert_msg(inventory_parse(refused[i][0], 0, &inv, &msg) == ERR_INVALID, "%s",
                      refused[i][0]);
        ck_assert_msg(strstr(msg.text, refused[i][1]) != NULL, "'%s': %s", refused[i][0], msg.text);
        ck_assert(strncmp(msg.text, "--agents ", 9) == 0);
        ck_assert(inv.n == 0 && inv.agents == NULL);
    }
}
END_TEST

START_TEST(test_insecure_allows_other_hosts)
{
    struct inventory inv;
    struct errmsg msg = {{0}};
    ck_assert_msg(inventory_parse("10.0.0.1,host.example:1*5,[2001:DB8:0::1],tcp://h2,a@10.0.0.2,"
                                  "tls+tcp://h3",
                                  1, &inv, &msg) == ERR_OK,
                  "%s", msg.text);
    ck_assert_str_eq(inv.agents[0].url, "tcp://10.0.0.1:7400");
    ck_assert_str_eq(inv.agents[1].url, "tcp://host.example:1");
    ck_assert_str_eq(inv.agents[2].url, "tcp://[2001:db8::1]:7400");
    ck_assert_str_eq(inv.agents[3].url, "tcp://h2:7400");
    ck_assert_str_eq(inv.agents[4].url, "tls+tcp://10.0.0.2:7400");
    ck_assert_str_eq(inv.agents[5].url, "tls+tcp://h3:7400");
    ck_assert_str_eq(inv.agents[5].server_name, "h3");
    inventory_clear(&inv);
    ck_assert(inventory_parse("tls+tcp://10.0.0.1", 1, &inv, &msg) == ERR_INVALID);
    ck_assert(inventory_parse("10.0.0.1:0", 1, &inv, &msg) == ERR_INVALID);
}
END_TEST

START_TEST(test_limits)
{
    struct inventory inv;
    struct errmsg msg = {{0}};
    size_t size = (INVENTORY_MAX + 1) * 24, at = 0;
    char *text = mem_calloc(size, 1);
    for (int i = 0; i < INVENTORY_MAX; i++)
        at += (size_t)snprintf(text + at, size - at, "%slocalhost:%d", i == 0 ? "" : ",", i + 1);
    ck_assert(inventory_parse(text, 0, &inv, &msg) == ERR_OK);
    ck_assert_uint_eq(inv.n, INVENTORY_MAX);
    inventory_clear(&inv);
    snprintf(text + at, size - at, ",localhost:9999");
    ck_assert(inventory_parse(text, 0, &inv, &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "--agents localhost:9999: one too many"));
    /* Items of every length up to far beyond the buffers: an answer, never an overflow. */
    for (size_t len = 1; len < 700; len++) {
        memset(text, 'h', len);
        text[len] = '\0';
        ck_assert((inventory_parse(text, 1, &inv, &msg) == ERR_OK) == (len <= 100));
        inventory_clear(&inv);
        if (len < 7)
            continue;
        memcpy(text, "ipc:///", 7);
        ck_assert_msg((inventory_parse(text, 0, &inv, &msg) == ERR_OK) == (len > 7 && len <= 113),
                      "%zu", len);
        inventory_clear(&inv);
    }
    mem_free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("inventory");
    TCase *tc = tcase_create("inventory");
    tcase_set_timeout(tc, 30); /* sanitizers on a busy machine */
    tcase_add_test(tc, test_items);
    tcase_add_test(tc, test_list);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_insecure_allows_other_hosts);
    tcase_add_test(tc, test_limits);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return check_main(suite());
}
