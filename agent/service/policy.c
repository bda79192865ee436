/* SPDX-License-Identifier: MIT */
#include "agent/service/policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

void policy_loopback_only(struct policy *p)
{
    *p = (struct policy){.n = 2,
                         .rules = {{.family = AF_INET, .addr = {127}, .bits = 8},
                                   {.family = AF_INET6, .addr = {[15] = 1}, .bits = 128}}};
}

static enum err bad_rule(const char *text, struct errmsg *msg)
{
    return errmsg_set(msg, ERR_INVALID,
                      "--allow-target %s: accepted is an address, ADDRESS/BITS, or any", text);
}

enum err policy_allow(struct policy *p, const char *cidr, struct errmsg *msg)
{
    if (strcmp(cidr, "any") == 0) {
        p->any = true;
        return ERR_OK;
    }
    if (p->n == POLICY_RULES_MAX)
        return errmsg_set(msg, ERR_NOMEM, "--allow-target: accepted are at most %d rules",
                          POLICY_RULES_MAX - 2);
    struct policy_rule rule = {.family = strchr(cidr, ':') != NULL ? AF_INET6 : AF_INET};
    unsigned most = rule.family == AF_INET6 ? 128 : 32;
    char addr[64];
    const char *slash = strchr(cidr, '/');
    size_t len = slash != NULL ? (size_t)(slash - cidr) : strlen(cidr);
    if (len >= sizeof addr)
        return bad_rule(cidr, msg);
    memcpy(addr, cidr, len);
    addr[len] = '\0';
    if (inet_pton(rule.family, addr, rule.addr) != 1)
        return bad_rule(cidr, msg);
    rule.bits = most;
    if (slash != NULL) {
        char *end;
        unsigned long bits = strtoul(slash + 1, &end, 10);
        if (slash[1] < '0' || slash[1] > '9' || *end != '\0' || bits > most)
            return bad_rule(cidr, msg);
        rule.bits = (unsigned)bits;
    }
    p->rules[p->n++] = rule;
    return ERR_OK;
}

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    uint8_t mask = (uint8_t)(0xff00u >> rest);
    return rest == 0 || ((a[whole] ^ b[whole]) & mask) == 0;
}

/* Address bytes and family; an IPv4-mapped IPv6 address counts as the IPv4 one it reaches. */
static const uint8_t *address_bytes(const struct target_addr *a, int *family)
{
    const struct sockaddr *sa = (const struct sockaddr *)&a->sa;
    *family = sa->sa_family;
    if (sa->sa_family == AF_INET)
        return (const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(six))
        return six->s6_addr;
    *family = AF_INET;
    return six->s6_addr + 12;
}

static bool allowed(const struct policy *p, const struct target_addr *a)
{
    int family;
    const uint8_t *bytes = address_bytes(a, &family);
    for (size_t i = 0; i < p->n; i++)
        if (p->rules[i].family == family && same_prefix(bytes, p->rules[i].addr, p->rules[i].bits))
            return true;
    return p->any;
}

enum err policy_check(const struct policy *p, const struct target *t, struct errmsg *msg)
{
    enum err e = target_check(t, msg);
    for (size_t i = 0; e == ERR_OK && i < t->n; i++) {
        if (allowed(p, &t->addrs[i]))
            continue;
        int family;
        char text[INET6_ADDRSTRLEN] = "?";
        const uint8_t *bytes = address_bytes(&t->addrs[i], &family);
        inet_ntop(family, bytes, text, sizeof text);
        e = errmsg_set(msg, ERR_REFUSED,
                       "this agent's policy does not allow the target %s; "
                       "start the agent with --allow-target %s to permit it",
                       text, text);
    }
    return e;
}
