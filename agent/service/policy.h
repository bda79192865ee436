/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_POLICY_H
#define HAMMER_AGENT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/client/netaddr.h"
#include "agent/client/target.h"
#include "common/err.h"
#include "common/units.h"
#include "proto/plan_route.h"

/*
 * What this agent may be told to do, whatever the controller asks: which addresses it may send load
 * to, and how much. Addresses are checked when they are resolved and again at every connect; the
 * caps (policy_caps.h) at PREPARE and while it sends. docs/policy.md has the rules.
 *
 * A plain value without pointers: a run takes a copy, so what is loaded later does not change it.
 * Zeroed it allows nothing. Filled in by main's thread, read-only for the workers.
 */

#define POLICY_RULES_MAX   64
#define POLICY_DENY_MAX    64
#define POLICY_PORTS_MAX   16
#define POLICY_METHODS_MAX 16
#define POLICY_HOST_MAX    254
#define POLICY_METHOD_MAX  33
#define POLICY_SOURCE_MAX  104
#define POLICY_SUMMARY_MAX 192
#define POLICY_UNIX_MAX    8

struct policy_ports {
    uint16_t from, to; /* inclusive */
};

/*
 * One entry of the allow-list. With a prefix: the address must be in it. With a host: the name in
 * the plan's URL must match, and without a prefix the address must be a public one too: whoever
 * controls the name's DNS must not choose a machine of the operator's own network.
 */
struct policy_rule {
    bool has_prefix;
    struct prefix prefix;
    char host[POLICY_HOST_MAX]; /* "name" or "*.name", lower case; "" = any name */
    size_t n_ports;
    struct policy_ports ports[POLICY_PORTS_MAX]; /* none = every port */
    bool applies;                                /* no host, or it matched in policy_bind */
    uint32_t line;                               /* in the file; 0 = of a flag or built in */
};

struct policy_deny {
    struct prefix prefix;
    uint32_t line;
};

enum policy_cap {
    POLICY_MAX_RATE,
    POLICY_MAX_CONNECTIONS,
    POLICY_MAX_DURATION,
    POLICY_MAX_BODY,
    POLICY_METHODS,
    POLICY_CAPS
};

struct policy {
    char source[POLICY_SOURCE_MAX]; /* file, as refusals name it; "" = built in and flags */
    bool any;                       /* every address but reserved ones; no UNIX socket */
    size_t n_unix;
    char unix_paths[POLICY_UNIX_MAX][PLAN_UNIX_MAX + 1]; /* absolute; "*" = any */
    size_t n;
    struct policy_rule rules[POLICY_RULES_MAX];
    size_t n_deny;
    struct policy_deny deny[POLICY_DENY_MAX]; /* wins over every rule, and over `any` */

    bool unlimited_rate;
    struct rate max_rate;     /* requests/s that THIS agent sends; with unlimited_rate no matter */
    uint64_t max_connections; /* of this agent; UINT64_MAX = no cap, as below */
    uint64_t max_duration_ns; /* from the start to the last request; NS_NEVER = no cap */
    uint64_t max_body;        /* bytes of a request's body */
    bool any_method;
    size_t n_methods;
    char methods[POLICY_METHODS_MAX][POLICY_METHOD_MAX];
    bool scripts; /* may a plan bring code? */
    uint32_t cap_lines[POLICY_CAPS];
};

/* 127.0.0.0/8 and ::1, no caps, no scripts: what holds for an agent without a policy file. */
void policy_loopback_only(struct policy *p);
/* Adds "10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "any", "unix:/PATH" or "unix:*" (any UNIX
 * socket). ERR_INVALID names the text. */
enum err policy_allow(struct policy *p, const char *cidr, struct errmsg *msg) MUST_CHECK;

/* A UNIX socket by its path. */
enum err policy_allow_unix(struct policy *p, const char *path, struct errmsg *msg) MUST_CHECK;

/* "name.example" or "*.name.example" (any number of labels in front); case and a final dot do not
 * matter; the host must not be an address. */
bool policy_host_matches(const char *pattern, const char *host);
/* The run's target by the name in its URL. Before this no rule with a host applies. */
void policy_bind(struct policy *p, const char *host);

enum policy_answer {
    POLICY_YES,
    POLICY_UNLISTED, /* no rule allows it */
    POLICY_PRIVATE,  /* the name is allowed, but not an address like this one for it */
    POLICY_DENIED,   /* by the deny list */
    POLICY_RESERVED  /* link-local or metadata, and not listed as such */
};

/* PURE, cheap, any thread. *line: of the rule that forbids, 0 = none; may be NULL. */
enum policy_answer policy_ask(const struct policy *p, const struct sockaddr *sa, uint32_t *line);
/* For struct target: the guard of every connect. The policy must outlive the target. */
struct target_guard policy_guard(const struct policy *p);
/* All addresses of the target. ERR_REFUSED names the address and the rule. */
enum err policy_check(const struct policy *p, const struct target *t,
                      struct errmsg *msg) MUST_CHECK;

/* "policy FILE:LINE: " or "this agent's policy: "; line 0 = only the file. */
const char *policy_where(const struct policy *p, uint32_t line, char *buf, size_t cap);
/* One line for people: "loopback; max 1000/s, 50 connections, 10m". */
void policy_summary(const struct policy *p, char *buf, size_t cap);

#endif
