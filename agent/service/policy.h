/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_POLICY_H
#define HAMMER_AGENT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/client/target.h"
#include "common/err.h"

/*
 * Which addresses this agent may send load to, whatever the controller asks. Checked on the
 * RESOLVED addresses. The default is loopback only; link-local addresses (and so 169.254.169.254)
 * are never allowed. Set up in main, read-only afterwards.
 */

#define POLICY_RULES_MAX 32

struct policy_rule {
    int family;
    uint8_t addr[16];
    unsigned bits;
};

struct policy {
    bool any; /* every address but link-local ones */
    size_t n;
    struct policy_rule rules[POLICY_RULES_MAX];
};

/* 127.0.0.0/8 and ::1. */
void policy_loopback_only(struct policy *p);
/* Adds "10.0.0.0/8", "192.0.2.7", "2001:db8::/32" or "any". ERR_INVALID names the text. */
enum err policy_allow(struct policy *p, const char *cidr, struct errmsg *msg) MUST_CHECK;
/* ERR_REFUSED names the address and the rule. */
enum err policy_check(const struct policy *p, const struct target *t,
                      struct errmsg *msg) MUST_CHECK;

#endif
