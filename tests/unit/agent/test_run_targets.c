/* SPDX-License-Identifier: MIT */
#include "agent/service/run_targets.h"

#include <string.h>

#include "agent/service/refresh.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/loop_wait.h"

static struct plan plan;
static struct policy policy;
static struct reqset *requests;
static struct run_targets *targets;
static struct errmsg msg;

static void setup(void)
{
    plan_defaults(&plan);
    plan.method = mem_strdup("GET");
    plan.requests = 1;
    policy_loopback_only(&policy);
}

static void teardown(void)
{
    run_targets_free(targets);
    reqset_free(requests);
    plan_clear(&plan);
    targets = NULL;
    requests = NULL;
}

/* Up to and with the answer of the policy. */
static enum err admit(const char *url, bool *by_policy)
{
    plan.url = mem_strdup(url);
    ck_assert_msg(plan_validate(&plan, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(reqset_new(&plan, &requests, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(run_targets_new(&plan, requests, &policy, &targets, &msg) == ERR_OK, "%s",
                  msg.text);
    ck_assert_msg(run_targets_resolve(targets, &msg) == ERR_OK, "%s", msg.text);
    return run_targets_admit(targets, by_policy, &msg);
}

static void admitted(const char *url)
{
    bool by_policy;
    ck_assert_msg(admit(url, &by_policy) == ERR_OK, "%s", msg.text);
}

static void refused(const char *url, bool want_policy, const char *want)
{
    bool by_policy = !want_policy;
    ck_assert_int_ne(admit(url, &by_policy), ERR_OK);
    ck_assert_int_eq(by_policy, want_policy);
    ck_assert_msg(strstr(msg.text, want) != NULL, "says: %s", msg.text);
}

static const struct target *first(void)
{
    return target_now(run_targets_list(targets)->items[0]);
}

/* Who gives a run up must not keep the resolver busy with the rest of its names. */
START_TEST(test_a_run_that_is_given_up_looks_no_name_up)
{
    plan.url = mem_strdup("http://127.0.0.1/");
    ck_assert_int_eq(reqset_new(&plan, &requests, &msg), ERR_OK);
    ck_assert_int_eq(run_targets_new(&plan, requests, &policy, &targets, &msg), ERR_OK);
    run_targets_give_up(targets);
    ck_assert_int_eq(run_targets_resolve(targets, &msg), ERR_STATE);
}
END_TEST

START_TEST(test_fixed_addresses_are_taken_in_their_order)
{
    option_list_add(&plan.resolve, "h.test:80:127.0.0.2,::1,127.0.0.3");
    admitted("http://h.test/");
    ck_assert_uint_eq(first()->n, 3);
    ck_assert_str_eq(first()->text, "127.0.0.2:80");
    ck_assert_uint_eq(run_targets_names(targets), 0);
    ck_assert(run_targets_here(targets));
}
END_TEST

START_TEST(test_a_family_alone)
{
    option_list_add(&plan.resolve, "h.test:80:127.0.0.2,::1,127.0.0.3");
    plan.ipv6 = true;
    admitted("http://h.test/");
    ck_assert_uint_eq(first()->n, 1);
    ck_assert_str_eq(first()->text, "[::1]:80");
}
END_TEST

START_TEST(test_fixed_addresses_meet_the_policy)
{
    option_list_add(&plan.resolve, "localhost:80:192.0.2.1");
    refused("http://localhost/", true, "does not allow the target 192.0.2.1");
}
END_TEST

/* Else whoever writes a plan could send load anywhere in a name's name. */
START_TEST(test_a_rule_for_a_name_is_not_for_addresses_of_the_plan)
{
    policy.n = 1;
    policy.rules[0] = (struct policy_rule){.host = "h.test"};
    option_list_add(&plan.resolve, "h.test:80:192.0.2.1");
    refused("http://h.test/", true, "192.0.2.1");
}
END_TEST

START_TEST(test_a_unix_socket_must_be_named)
{
    plan.unix_socket = mem_strdup("/run/other.sock");
    ck_assert_int_eq(policy_allow(&policy, "unix:/run/app.sock", &msg), ERR_OK);
    refused("http://h.test/", true,
            "does not allow the target unix:/run/other.sock; start the agent with --allow-target "
            "unix:/run/other.sock");
}
END_TEST

START_TEST(test_any_address_is_no_unix_socket)
{
    plan.unix_socket = mem_strdup("/run/app.sock");
    ck_assert_int_eq(policy_allow(&policy, "any", &msg), ERR_OK);
    refused("http://h.test/", true, "unix:/run/app.sock");
}
END_TEST

START_TEST(test_a_named_unix_socket)
{
    plan.unix_socket = mem_strdup("/run/app.sock");
    ck_assert_int_eq(policy_allow(&policy, "unix:/run/app.sock", &msg), ERR_OK);
    admitted("http://h.test/");
    ck_assert_str_eq(first()->text, "unix:/run/app.sock");
    ck_assert(!run_targets_use_ports(targets) && run_targets_here(targets));
}
END_TEST

/* The proxy may stand where load may go, and still lead elsewhere. */
START_TEST(test_behind_a_proxy_the_policy_holds)
{
    plan.proxy = mem_strdup("http://127.0.0.1:3128");
    refused("http://192.0.2.1/", true, "192.0.2.1");
}
END_TEST

/* --allow-target any does not open what is never a target, nor does a proxy. */
START_TEST(test_behind_a_proxy_reserved_addresses_stay_closed)
{
    static const char *const urls[] = {"http://169.254.169.254/latest/", "https://[fe80::1]/",
                                       "http://0xa9fea9fe/"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        policy.any = true;
        plan.proxy = mem_strdup("http://127.0.0.1:3128");
        refused(urls[i], true, "never a target");
        teardown();
        setup();
    }
    policy.any = true;
    plan.proxy = mem_strdup("http://127.0.0.1:3128");
    admitted("http://only.the.proxy.knows.invalid/");
}
END_TEST

START_TEST(test_behind_a_proxy_deny_holds)
{
    policy.any = true;
    policy.n_deny = 1;
    ck_assert_int_eq(prefix_parse("192.0.2.0/24", &policy.deny[0].prefix), ERR_OK);
    plan.proxy = mem_strdup("http://127.0.0.1:3128");
    refused("http://192.0.2.1/", true, "deny forbids the target 192.0.2.1:80");
}
END_TEST

START_TEST(test_a_tunnel_for_https_only)
{
    plan.proxy = mem_strdup("http://127.0.0.1:3128");
    admitted("http://127.0.0.2/");
    ck_assert_str_eq(first()->text, "127.0.0.1:3128");
    ck_assert_ptr_null(first()->tunnel);
    teardown();
    setup();
    plan.proxy = mem_strdup("http://127.0.0.1:3128");
    admitted("https://[::1]:8443/");
    ck_assert_str_eq(first()->tunnel, "[::1]:8443");
}
END_TEST

START_TEST(test_sources_are_of_this_host)
{
    option_list_add(&plan.source_ip, "127.0.0.1,192.0.2.77");
    refused("http://127.0.0.1/", false, "--source-ip 192.0.2.77: ");
}
END_TEST

START_TEST(test_sources_are_of_the_family)
{
    option_list_add(&plan.source_ip, "127.0.0.1");
    refused("http://[::1]/", false, "no address of the family of [::1]:80");
}
END_TEST

START_TEST(test_each_source_has_all_ports)
{
    option_list_add(&plan.source_ip, "127.0.0.1,127.0.0.2");
    option_list_add(&plan.source_ip, "127.0.0.3");
    admitted("http://127.0.0.1/");
    ck_assert_uint_eq(run_targets_addresses(targets), 3);
}
END_TEST

static struct target at(const char *addresses)
{
    struct route r = {.fixed = true, .port = "80"};
    struct target t;
    snprintf(r.addresses, sizeof r.addresses, "%s", addresses);
    ck_assert_int_eq(target_route(&r, AF_UNSPEC, &t, &msg), ERR_OK);
    return t;
}

START_TEST(test_new_addresses_are_seen_and_old_ones_stay)
{
    admitted("http://127.0.0.1/");
    const struct target *old = first();
    struct target two = at("127.0.0.2,127.0.0.3"), swapped = at("127.0.0.3,127.0.0.2"),
                  one = at("127.0.0.1");
    ck_assert_int_eq(run_targets_adopt(targets, 0, &two, &msg), ERR_OK);
    const struct target *newer = first();
    ck_assert(newer != old && newer->n == 2 && old->n == 1);
    ck_assert(target_allows(newer, (const struct sockaddr *)&newer->addrs[0].sa));
    ck_assert_int_eq(run_targets_adopt(targets, 0, &swapped, &msg), ERR_OK);
    ck_assert_ptr_eq(first(), newer); /* an order is no change */
    ck_assert_int_eq(run_targets_adopt(targets, 0, &one, &msg), ERR_OK);
    ck_assert_ptr_eq(first(), old);
    ck_assert_int_eq(run_targets_adopt(targets, 0, &two, &msg), ERR_OK);
    ck_assert_ptr_eq(first(), newer); /* memory does not grow with flapping */
}
END_TEST

START_TEST(test_new_addresses_meet_the_policy)
{
    admitted("http://127.0.0.1/");
    const struct target *old = first();
    struct target bad = at("127.0.0.2,192.0.2.1");
    ck_assert_int_eq(run_targets_adopt(targets, 0, &bad, &msg), ERR_REFUSED);
    ck_assert_ptr_eq(first(), old);
}
END_TEST

START_TEST(test_sets_of_addresses_are_bounded)
{
    char text[32];
    int adopted = 0;
    admitted("http://127.0.0.1/");
    for (int i = 0; i < 1100; i++) {
        snprintf(text, sizeof text, "127.1.%d.%d", i / 200, i % 200 + 1);
        struct target t = at(text);
        adopted += run_targets_adopt(targets, 0, &t, &msg) == ERR_OK;
    }
    ck_assert_int_eq(adopted, 1000);
    ck_assert_ptr_nonnull(strstr(msg.text, "127.0.0.1 has had 1000 sets of addresses"));
}
END_TEST

START_TEST(test_names_are_looked_up_again_and_counted)
{
    struct loop *loop;
    struct refresh *r;
    struct series interval = {0}, total = {0};
    ck_assert_int_eq(loop_new(&loop, &msg), ERR_OK);
    admitted("http://localhost/");
    ck_assert_uint_eq(run_targets_names(targets), 1);
    ck_assert_int_eq(refresh_new(loop, targets, 1000000, &r, &msg), ERR_OK);
    LOOP_WAIT(loop, (refresh_take(r, &interval, &total), total.counters.lookups >= 2));
    ck_assert_uint_eq(total.counters.lookup_errors, 0);
    ck_assert_uint_eq(total.counters.lookups, interval.counters.lookups);
    ck_assert_uint_eq(hist_count(total.hists[HIST_DNS]), total.counters.lookups);
    refresh_free(r); /* most likely with a look-up that is out */
    loop_free(loop);
    hist_free(interval.hists[HIST_DNS]);
    hist_free(total.hists[HIST_DNS]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("run_targets");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_a_run_that_is_given_up_looks_no_name_up);
    tcase_add_test(t, test_fixed_addresses_are_taken_in_their_order);
    tcase_add_test(t, test_a_family_alone);
    tcase_add_test(t, test_fixed_addresses_meet_the_policy);
    tcase_add_test(t, test_a_rule_for_a_name_is_not_for_addresses_of_the_plan);
    tcase_add_test(t, test_a_unix_socket_must_be_named);
    tcase_add_test(t, test_any_address_is_no_unix_socket);
    tcase_add_test(t, test_a_named_unix_socket);
    tcase_add_test(t, test_behind_a_proxy_the_policy_holds);
    tcase_add_test(t, test_behind_a_proxy_reserved_addresses_stay_closed);
    tcase_add_test(t, test_behind_a_proxy_deny_holds);
    tcase_add_test(t, test_a_tunnel_for_https_only);
    tcase_add_test(t, test_sources_are_of_this_host);
    tcase_add_test(t, test_sources_are_of_the_family);
    tcase_add_test(t, test_each_source_has_all_ports);
    tcase_add_test(t, test_new_addresses_are_seen_and_old_ones_stay);
    tcase_add_test(t, test_new_addresses_meet_the_policy);
    tcase_add_test(t, test_sets_of_addresses_are_bounded);
    tcase_add_test(t, test_names_are_looked_up_again_and_counted);
    suite_add_tcase(s, t);
    return check_main(s);
}
