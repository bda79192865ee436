/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "agent/service/policy_caps.h"
#include "agent/service/policy_file.h"
#include "common/mem.h"
#include "tests/fuzz/fuzz.h"

/* The input is a policy file. What is refused is refused with its place, and leaves the policy
 * alone; what is accepted answers every question, and its promises hold: deny wins, a reserved
 * address needs a rule of its own, and nothing is allowed that no rule covers. */

static const char *const asked[] = {
    "127.0.0.1", "10.1.2.3",    "169.254.169.254", "93.184.216.34",          "0.0.0.0",
    "::1",       "2001:db8::1", "fd00:ec2::254",   "::ffff:169.254.169.254", "fe80::1",
    "::",        "fd00::1",     "64:ff9b::1",      "100.100.100.200",        "2002:a9fe:a9fe::1",
};

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage sa = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&sa;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&sa;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
        sa.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
        sa.ss_family = AF_INET6;
    four->sin_port = htons(443); /* the same place in both */
    return sa;
}

static bool denied(const struct policy *p, const struct netaddr *a)
{
    for (size_t i = 0; i < p->n_deny; i++)
        if (prefix_covers(&p->deny[i].prefix, a))
            return true;
    return false;
}

static bool has_own_rule(const struct policy *p, const struct netaddr *a)
{
    const struct prefix *range = netaddr_reserved(a);
    for (size_t i = 0; i < p->n; i++)
        if (p->rules[i].has_prefix && p->rules[i].prefix.bits >= range->bits &&
            prefix_covers(&p->rules[i].prefix, a))
            return true;
    return false;
}

static void check_yes(const struct policy *p, const struct netaddr *reached, size_t n)
{
    bool covered = false;
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(!denied(p, &reached[i]));
        FUZZ_CHECK(netaddr_reserved(&reached[i]) == NULL || has_own_rule(p, &reached[i]));
    }
    for (size_t i = 0; i < p->n; i++)
        covered = covered || p->rules[i].host[0] != '\0' ||
                  prefix_covers(&p->rules[i].prefix, &reached[0]);
    FUZZ_CHECK(covered && !p->any);
}

static void ask(struct policy *p, const char *host)
{
    policy_bind(p, host);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct sockaddr_storage sa = address(asked[i]);
        struct netaddr reached[NETADDR_REACHES_MAX];
        size_t n = netaddr_reaches((const struct sockaddr *)&sa, reached);
        if (policy_ask(p, (const struct sockaddr *)&sa, NULL) == POLICY_YES)
            check_yes(p, reached, n);
    }
}

static void use(struct policy *p)
{
    char text[POLICY_SUMMARY_MAX];
    struct plan plan;
    struct plan_part part = {.total = 1, .weight = 1, .connections = 50, .threads = 1};
    struct errmsg msg = {{0}};
    policy_summary(p, text, sizeof text);
    FUZZ_CHECK(text[0] != '\0' && strlen(text) < sizeof text);
    FUZZ_CHECK(p->n <= POLICY_RULES_MAX && p->n_deny <= POLICY_DENY_MAX);
    ask(p, "www.staging.example");
    ask(p, "127.0.0.1");
    plan_defaults(&plan);
    plan.rate = (struct rate){1000, 1};
    plan.requests = UINT64_MAX;
    plan.duration_ns = UINT64_C(10000000000);
    if (policy_check_plan(p, &plan, &part, &msg) != ERR_OK)
        FUZZ_CHECK(strncmp(msg.text, "policy fuzz.yml:", 16) == 0);
    (void)!policy_check_sent(p, 1000000, UINT64_C(1000000000), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy *p = mem_calloc(1, sizeof *p);
    struct errmsg msg = {{0}};
    p->n = 12345;
    if (policy_parse("fuzz.yml", data, size, p, &msg) == ERR_OK)
        use(p);
    else
        FUZZ_CHECK(strncmp(msg.text, "fuzz.yml:", 9) == 0 && p->n == 12345);
    mem_free(p);
    return 0;
}
