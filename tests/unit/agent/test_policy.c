/* SPDX-License-Identifier: MIT */
#include "agent/service/policy.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/check_main.h"

static enum err ask(const struct policy *p, const char *host, struct errmsg *msg)
{
    struct target t;
    ck_assert_int_eq(target_resolve(host, "80", &t, msg), ERR_OK);
    return policy_check(p, &t, msg);
}

static enum err ask_with(const char *rule, const char *host)
{
    struct policy p;
    struct errmsg msg = {{0}};
    policy_loopback_only(&p);
    if (rule != NULL)
        ck_assert_msg(policy_allow(&p, rule, &msg) == ERR_OK, "%s", msg.text);
    return ask(&p, host, &msg);
}

START_TEST(test_default_is_loopback_only)
{
    static const char *const yes[] = {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"};
    static const char *const no[] = {"10.0.0.1",    "128.0.0.1",       "126.255.255.255", "::2",
                                     "2001:db8::1", "::ffff:10.0.0.1", "0.0.0.0"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        ck_assert_msg(ask_with(NULL, yes[i]) == ERR_OK, "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ck_assert_msg(ask_with(NULL, no[i]) == ERR_REFUSED, "%s", no[i]);
}
END_TEST

START_TEST(test_rules_match_prefixes)
{
    ck_assert_int_eq(ask_with("10.1.0.0/20", "10.1.15.255"), ERR_OK);
    ck_assert_int_eq(ask_with("10.1.0.0/20", "10.1.16.0"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("192.0.2.7", "192.0.2.7"), ERR_OK);
    ck_assert_int_eq(ask_with("192.0.2.7", "192.0.2.6"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("2001:db8::/33", "2001:db8:7fff::1"), ERR_OK);
    ck_assert_int_eq(ask_with("2001:db8::/33", "2001:db8:8000::1"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("10.0.0.0/8", "::ffff:10.2.3.4"), ERR_OK);
    ck_assert_int_eq(ask_with("any", "203.0.113.9"), ERR_OK);
}
END_TEST

/* Every way to write the metadata address, also where everything else is allowed. */
static const char *const reserved[] = {
    "169.254.169.254",
    "169.254.1.1",
    "fe80::1",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1:a9fe:a9:fe00::",
    "2002:a9fe:a9fe::1",
    "2001:0:1:2:3:4:5601:5601",
    "fd20:ce::254",
    "100.100.100.200",
};

START_TEST(test_reserved_never)
{
    ck_assert_int_eq(ask_with("any", reserved[_i]), ERR_REFUSED);
    ck_assert_int_eq(ask_with("0.0.0.0/0", reserved[_i]), ERR_REFUSED);
    ck_assert_int_eq(ask_with("::/0", reserved[_i]), ERR_REFUSED);
    ck_assert_int_eq(ask_with("169.254.0.0/15", reserved[_i]), ERR_REFUSED);
    ck_assert_int_eq(ask_with("fe80::/9", reserved[_i]), ERR_REFUSED);
}
END_TEST

START_TEST(test_reserved_when_listed_as_such)
{
    ck_assert_int_eq(ask_with("169.254.0.0/16", "169.254.1.1"), ERR_OK);
    ck_assert_int_eq(ask_with("169.254.1.0/24", "169.254.1.1"), ERR_OK);
    ck_assert_int_eq(ask_with("169.254.1.0/24", "169.254.169.254"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("169.254.1.1", "::ffff:169.254.1.1"), ERR_OK);
    ck_assert_int_eq(ask_with("fe80::/10", "fe80::1"), ERR_OK);
    ck_assert_int_eq(ask_with("fe80::/10", "169.254.1.1"), ERR_REFUSED);
    /* What carries a listed address must be allowed as well. */
    ck_assert_int_eq(ask_with("169.254.0.0/16", "64:ff9b::a9fe:a9fe"), ERR_REFUSED);
    ck_assert_int_eq(ask_with("64:ff9b::/96", "64:ff9b::a9fe:a9fe"), ERR_REFUSED);
}
END_TEST

START_TEST(test_bad_rules_are_named)
{
    static const char *const bad[] = {"",           "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x",
                                      "10.0.0/8",   "::1/129",     "host.name", "1.2.3.4/-1",
                                      "10.0.0.0/ 8"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct policy p;
        struct errmsg msg = {{0}};
        policy_loopback_only(&p);
        ck_assert_msg(policy_allow(&p, bad[i], &msg) == ERR_INVALID, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(msg.text, "accepted is"));
    }
}
END_TEST

START_TEST(test_refusal_names_address_and_way_out)
{
    struct policy p;
    struct errmsg msg = {{0}};
    policy_loopback_only(&p);
    ck_assert_int_eq(ask(&p, "192.0.2.1", &msg), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "192.0.2.1"));
    ck_assert_ptr_nonnull(strstr(msg.text, "--allow-target"));
}
END_TEST

/* --- rules of a file ------------------------------------------------------------------------ */

static void add_rule(struct policy *p, const char *cidr, const char *host, uint16_t from,
                     uint16_t to)
{
    struct policy_rule *r = &p->rules[p->n++];
    *r = (struct policy_rule){.line = 10, .applies = host == NULL};
    if (cidr != NULL) {
        ck_assert_int_eq(prefix_parse(cidr, &r->prefix), ERR_OK);
        r->has_prefix = true;
    }
    if (host != NULL)
        snprintf(r->host, sizeof r->host, "%s", host);
    if (from != 0)
        r->ports[r->n_ports++] = (struct policy_ports){from, to};
}

static enum err ask_port(const struct policy *p, const char *host, const char *port)
{
    struct target t;
    ck_assert_int_eq(target_resolve(host, port, &t, NULL), ERR_OK);
    return policy_check(p, &t, NULL);
}

START_TEST(test_ports)
{
    struct policy p;
    policy_loopback_only(&p);
    p.n = 0;
    add_rule(&p, "10.0.0.0/8", NULL, 8000, 8100);
    p.rules[0].ports[p.rules[0].n_ports++] = (struct policy_ports){443, 443};
    static const struct {
        const char *port;
        enum err expect;
    } rows[] = {{"7999", ERR_REFUSED}, {"8000", ERR_OK},     {"8100", ERR_OK},
                {"8101", ERR_REFUSED}, {"442", ERR_REFUSED}, {"443", ERR_OK}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(ask_port(&p, "10.1.2.3", rows[i].port) == rows[i].expect, "%s", rows[i].port);
}
END_TEST

START_TEST(test_host_patterns)
{
    static const struct {
        const char *pattern, *host;
        bool matches;
    } rows[] = {
        {"api.example", "api.example", true},
        {"api.example", "API.Example.", true},
        {"api.example", "xapi.example", false},
        {"api.example", "api.example.org", false},
        {"*.staging.example", "a.staging.example", true},
        {"*.staging.example", "a.b.STAGING.example.", true},
        {"*.staging.example", "staging.example", false},
        {"*.staging.example", ".staging.example", false},
        {"*.staging.example", "evilstaging.example", false},
        {"*.staging.example", "a.staging.example.org", false},
        {"*.example", "", false},
        {"", "", false},
        {"*.1", "127.0.0.1", false},
        {"*.1", "127.1", false},
        {"0x7f000001", "0x7f000001", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(policy_host_matches(rows[i].pattern, rows[i].host) == rows[i].matches,
                      "%s for %s", rows[i].pattern, rows[i].host);
}
END_TEST

/* A name may be pointed anywhere by whoever keeps its DNS. */
START_TEST(test_a_name_does_not_open_the_own_network)
{
    static const char *const inside[] = {"127.0.0.1",         "::1",        "10.0.0.5",
                                         "192.168.0.1",       "fd00::1",    "0.0.0.0",
                                         "64:ff9b::7f00:1",   "100.64.0.1", "2002:0a00:0001::1",
                                         "::ffff:192.168.0.1"};
    struct policy p;
    policy_loopback_only(&p);
    p.n = 0;
    add_rule(&p, NULL, "*.staging.example", 0, 0);
    ck_assert_int_eq(ask_port(&p, "93.184.216.34", "80"), ERR_REFUSED); /* not bound: no rule */
    policy_bind(&p, "www.example");
    ck_assert_int_eq(ask_port(&p, "93.184.216.34", "80"), ERR_REFUSED);
    policy_bind(&p, "www.staging.example");
    ck_assert_int_eq(ask_port(&p, "93.184.216.34", "80"), ERR_OK);
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        ck_assert_msg(ask_port(&p, inside[i], "80") == ERR_REFUSED, "%s", inside[i]);
    ck_assert_int_eq(ask_port(&p, "169.254.169.254", "80"), ERR_REFUSED);
    struct errmsg msg;
    ck_assert_int_eq(ask(&p, "10.0.0.5", &msg), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "public addresses only"));
}
END_TEST

START_TEST(test_name_and_cidr_together)
{
    struct policy p;
    policy_loopback_only(&p);
    p.n = 0;
    add_rule(&p, "10.20.0.0/16", "*.staging.example", 443, 443);
    policy_bind(&p, "a.staging.example");
    ck_assert_int_eq(ask_port(&p, "10.20.1.1", "443"), ERR_OK);
    ck_assert_int_eq(ask_port(&p, "10.20.1.1", "80"), ERR_REFUSED);
    ck_assert_int_eq(ask_port(&p, "10.21.1.1", "443"), ERR_REFUSED);
    ck_assert_int_eq(ask_port(&p, "93.184.216.34", "443"), ERR_REFUSED);
    policy_bind(&p, "a.production.example");
    ck_assert_int_eq(ask_port(&p, "10.20.1.1", "443"), ERR_REFUSED);
}
END_TEST

START_TEST(test_deny_is_stronger)
{
    static const char *const no[] = {"10.9.1.1", "::ffff:10.9.1.1", "64:ff9b::10.9.1.1",
                                     "2002:0a09:0101::"};
    struct policy p;
    struct errmsg msg;
    policy_loopback_only(&p);
    ck_assert_int_eq(policy_allow(&p, "any", NULL), ERR_OK);
    ck_assert_int_eq(policy_allow(&p, "10.9.1.1", NULL), ERR_OK);
    ck_assert_int_eq(prefix_parse("10.9.0.0/16", &p.deny[p.n_deny].prefix), ERR_OK);
    p.deny[p.n_deny++].line = 7;
    snprintf(p.source, sizeof p.source, "p.yml");
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ck_assert_msg(ask(&p, no[i], &msg) == ERR_REFUSED, "%s", no[i]);
    ck_assert_ptr_nonnull(strstr(msg.text, "policy p.yml:7: deny"));
    ck_assert_int_eq(ask(&p, "10.8.1.1", &msg), ERR_OK);
    ck_assert_int_eq(prefix_parse("127.0.0.0/8", &p.deny[p.n_deny++].prefix), ERR_OK);
    ck_assert_int_eq(ask(&p, "0.0.0.0", &msg), ERR_REFUSED);
}
END_TEST

START_TEST(test_zeroed_allows_nothing)
{
    struct policy p;
    memset(&p, 0, sizeof p);
    ck_assert_int_eq(ask_port(&p, "127.0.0.1", "80"), ERR_REFUSED);
    struct sockaddr unknown = {.sa_family = AF_UNIX};
    policy_loopback_only(&p);
    ck_assert_int_eq(policy_allow(&p, "any", NULL), ERR_OK);
    ck_assert_int_eq(policy_ask(&p, &unknown, NULL), POLICY_UNLISTED);
}
END_TEST

START_TEST(test_the_guard_is_the_policy)
{
    struct policy p;
    struct target t;
    policy_loopback_only(&p);
    ck_assert_int_eq(target_resolve("127.0.0.1", "80", &t, NULL), ERR_OK);
    t.guard = policy_guard(&p);
    ck_assert(target_allows(&t, (struct sockaddr *)&t.addrs[0].sa));
    p.n = 0;
    ck_assert(!target_allows(&t, (struct sockaddr *)&t.addrs[0].sa));
}
END_TEST

START_TEST(test_summary)
{
    struct policy p;
    char text[POLICY_SUMMARY_MAX];
    policy_loopback_only(&p);
    policy_summary(&p, text, sizeof text);
    ck_assert_str_eq(text, "targets loopback");
    add_rule(&p, "10.0.0.0/8", "*.a.example", 443, 443);
    p.n_deny = 2;
    p.unlimited_rate = false;
    p.max_rate = (struct rate){1000, 1};
    p.max_connections = 50;
    p.max_duration_ns = 600 * UINT64_C(1000000000);
    policy_summary(&p, text, sizeof text);
    ck_assert_str_eq(text, "targets loopback, *.a.example in 10.0.0.0/8:443; 2 denied; at most "
                           "1000/s; 50 connections; 10m");
    for (size_t i = 0; i < 20; i++) /* whatever there is: it fits */
        add_rule(&p, "2001:db8:1111:2222:3333:4444:5555:6666", "a-long-name.example", 1, 65535);
    for (size_t cap = 1; cap <= sizeof text; cap++) {
        memset(text, 'x', sizeof text);
        policy_summary(&p, text, cap);
        ck_assert_uint_lt(strlen(text), cap);
    }
    policy_allow(&p, "any", NULL) == ERR_OK ? policy_summary(&p, text, sizeof text) : (void)0;
    ck_assert_ptr_eq(strstr(text, "any target; "), text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("policy");
    TCase *t = tcase_create("policy");
    tcase_add_test(t, test_default_is_loopback_only);
    tcase_add_test(t, test_rules_match_prefixes);
    tcase_add_loop_test(t, test_reserved_never, 0, sizeof reserved / sizeof reserved[0]);
    tcase_add_test(t, test_reserved_when_listed_as_such);
    tcase_add_test(t, test_ports);
    tcase_add_test(t, test_host_patterns);
    tcase_add_test(t, test_a_name_does_not_open_the_own_network);
    tcase_add_test(t, test_name_and_cidr_together);
    tcase_add_test(t, test_deny_is_stronger);
    tcase_add_test(t, test_zeroed_allows_nothing);
    tcase_add_test(t, test_the_guard_is_the_policy);
    tcase_add_test(t, test_summary);
    tcase_add_test(t, test_bad_rules_are_named);
    tcase_add_test(t, test_refusal_names_address_and_way_out);
    suite_add_tcase(s, t);
    return check_main(s);
}
