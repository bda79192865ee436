/* SPDX-License-Identifier: MIT */
#include "agent/service/policy.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "common/clock.h"

void policy_loopback_only(struct policy *p)
{
    *p = (struct policy){.n = 2,
                         .unlimited_rate = true,
                         .max_connections = UINT64_MAX,
                         .max_duration_ns = NS_NEVER,
                         .max_body = UINT64_MAX,
                         .any_method = true};
    p->rules[0] =
        (struct policy_rule){.has_prefix = true, .prefix = {{AF_INET, {127}}, 8}, .applies = true};
    p->rules[1] = (struct policy_rule){
        .has_prefix = true, .prefix = {{AF_INET6, {[15] = 1}}, 128}, .applies = true};
}

enum err policy_allow(struct policy *p, const char *cidr, struct errmsg *msg)
{
    if (strcmp(cidr, "any") == 0) {
        p->any = true;
        return ERR_OK;
    }
    if (strncmp(cidr, "unix:", 5) == 0)
        return policy_allow_unix(p, cidr + 5, msg);
    if (p->n == POLICY_RULES_MAX)
        return errmsg_set(msg, ERR_NOMEM, "--allow-target: accepted are at most %d rules",
                          POLICY_RULES_MAX - 2);
    struct policy_rule rule = {.has_prefix = true, .applies = true};
    if (prefix_parse(cidr, &rule.prefix) != ERR_OK)
        return errmsg_set(
            msg, ERR_INVALID,
            "--allow-target %s: accepted is an address, ADDRESS/BITS, unix:/PATH, or any", cidr);
    p->rules[p->n++] = rule;
    return ERR_OK;
}

enum err policy_allow_unix(struct policy *p, const char *path, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    if (p->n_unix == POLICY_UNIX_MAX)
        return errmsg_set(msg, ERR_NOMEM, "accepted are at most %d UNIX sockets", POLICY_UNIX_MAX);
    if ((path[0] != '/' && strcmp(path, "*") != 0) || strlen(path) > PLAN_UNIX_MAX)
        return errmsg_set(msg, ERR_INVALID,
                          "unix:%s: accepted is an absolute path of at most %d bytes, or *",
                          units_format_shown(path, shown), PLAN_UNIX_MAX);
    snprintf(p->unix_paths[p->n_unix++], sizeof p->unix_paths[0], "%s", path);
    return ERR_OK;
}

/* --- names ---------------------------------------------------------------------------------- */

static bool is_address(const char *host)
{
    uint8_t bytes[16];
    return strchr(host, ':') != NULL || inet_pton(AF_INET, host, bytes) == 1 ||
           inet_aton(host, &(struct in_addr){0}) != 0; /* 127.1 and 0x7f000001 are addresses too */
}

bool policy_host_matches(const char *pattern, const char *host)
{
    size_t len = strlen(host), want;
    if (len > 0 && host[len - 1] == '.')
        len--;
    if (pattern[0] == '\0' || is_address(host))
        return false;
    if (strncmp(pattern, "*.", 2) != 0)
        return strlen(pattern) == len && strncasecmp(pattern, host, len) == 0;
    pattern++; /* ".name": the dot belongs to what must match, so that evilname does not */
    want = strlen(pattern);
    return len > want && strncasecmp(host + len - want, pattern, want) == 0;
}

void policy_bind(struct policy *p, const char *host)
{
    for (size_t i = 0; i < p->n; i++) {
        struct policy_rule *r = &p->rules[i];
        r->applies = r->host[0] == '\0' || policy_host_matches(r->host, host);
    }
}

/* --- addresses ------------------------------------------------------------------------------ */

/* What is asked about: an address, all that it reaches, and the port. */
struct question {
    struct netaddr reached[NETADDR_REACHES_MAX];
    size_t n;
    uint16_t port;
};

static bool port_allowed(const struct policy_rule *r, uint16_t port)
{
    for (size_t i = 0; i < r->n_ports; i++)
        if (port >= r->ports[i].from && port <= r->ports[i].to)
            return true;
    return r->n_ports == 0;
}

static bool reaches_private(const struct question *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->reached[i].family == 0 || netaddr_private(&q->reached[i]))
            return true;
    return false;
}

static const struct policy_deny *denied(const struct policy *p, const struct question *q)
{
    for (size_t i = 0; i < p->n_deny; i++)
        for (size_t k = 0; k < q->n; k++)
            if (prefix_covers(&p->deny[i].prefix, &q->reached[k]))
                return &p->deny[i];
    return NULL;
}

/* A reserved address needs a rule that speaks of reserved addresses only: 0.0.0.0/0 does not. */
static bool reserved_is_listed(const struct policy *p, const struct netaddr *a, uint16_t port)
{
    const struct prefix *range = netaddr_reserved(a);
    for (size_t i = 0; range != NULL && i < p->n; i++) {
        const struct policy_rule *r = &p->rules[i];
        if (r->applies && r->has_prefix && r->prefix.bits >= range->bits &&
            prefix_covers(&r->prefix, a) && port_allowed(r, port))
            return true;
    }
    return range == NULL;
}

/* The address itself, whatever else it reaches. */
static enum policy_answer listed(const struct policy *p, const struct question *q, uint32_t *line)
{
    enum policy_answer answer = p->any ? POLICY_YES : POLICY_UNLISTED;
    for (size_t i = 0; i < p->n && answer != POLICY_YES; i++) {
        const struct policy_rule *r = &p->rules[i];
        if (!r->applies || !port_allowed(r, q->port))
            continue;
        if (r->has_prefix && prefix_covers(&r->prefix, &q->reached[0]))
            return POLICY_YES;
        if (r->has_prefix)
            continue;
        if (!reaches_private(q))
            return POLICY_YES;
        answer = POLICY_PRIVATE;
        *line = r->line;
    }
    return answer;
}

/* By the path as it is written: whoever may change what it leads to is root or the owner. */
static bool unix_listed(const struct policy *p, const struct sockaddr *sa)
{
    const char *path = ((const struct sockaddr_un *)(const void *)sa)->sun_path;
    for (size_t i = 0; i < p->n_unix; i++)
        if (strcmp(p->unix_paths[i], "*") == 0 || strcmp(p->unix_paths[i], path) == 0)
            return true;
    return false;
}

enum policy_answer policy_ask(const struct policy *p, const struct sockaddr *sa, uint32_t *line)
{
    struct question q = {.port = netaddr_port(sa)};
    uint32_t ignored;
    q.n = netaddr_reaches(sa, q.reached);
    line = line != NULL ? line : &ignored;
    *line = 0;
    if (sa->sa_family == AF_UNIX)
        return unix_listed(p, sa) ? POLICY_YES : POLICY_UNLISTED;
    const struct policy_deny *d = denied(p, &q);
    if (q.reached[0].family == 0)
        return POLICY_UNLISTED;
    if (d != NULL) {
        *line = d->line;
        return POLICY_DENIED;
    }
    for (size_t i = 0; i < q.n; i++)
        if (!reserved_is_listed(p, &q.reached[i], q.port))
            return POLICY_RESERVED;
    return listed(p, &q, line);
}

static bool guard_allows(const void *arg, const struct sockaddr *sa)
{
    return policy_ask(arg, sa, NULL) == POLICY_YES;
}

struct target_guard policy_guard(const struct policy *p)
{
    return (struct target_guard){.allows = guard_allows, .arg = p};
}

const char *policy_where(const struct policy *p, uint32_t line, char *buf, size_t cap)
{
    if (p->source[0] == '\0')
        snprintf(buf, cap, "this agent's policy");
    else if (line == 0)
        snprintf(buf, cap, "policy %s", p->source);
    else
        snprintf(buf, cap, "policy %s:%" PRIu32, p->source, line);
    return buf;
}

static enum err refuse(const struct policy *p, enum policy_answer answer, uint32_t line,
                       const struct target_addr *a, struct errmsg *msg)
{
    struct netaddr reached[NETADDR_REACHES_MAX];
    char where[POLICY_SOURCE_MAX + 32], full[TARGET_TEXT], bare[TARGET_TEXT];
    netaddr_reaches((const struct sockaddr *)&a->sa, reached);
    target_addr_text(a, full, sizeof full);
    if (a->sa.ss_family == AF_UNIX)
        snprintf(bare, sizeof bare, "%s", full);
    else
        netaddr_text(&reached[0], bare);
    policy_where(p, line, where, sizeof where);
    if (answer == POLICY_RESERVED)
        return errmsg_set(msg, ERR_REFUSED,
                          "target %s: link-local and metadata addresses are never a target, unless "
                          "the agent's policy lists them by CIDR",
                          full);
    if (answer == POLICY_DENIED)
        return errmsg_set(msg, ERR_REFUSED, "%s: deny forbids the target %s", where, full);
    if (answer == POLICY_PRIVATE)
        return errmsg_set(msg, ERR_REFUSED,
                          "%s: the name is allowed for public addresses only, and it resolves to "
                          "%s; add a cidr to permit that",
                          where, full);
    if (p->source[0] != '\0')
        return errmsg_set(msg, ERR_REFUSED, "%s: targets does not allow %s", where, full);
    return errmsg_set(msg, ERR_REFUSED,
                      "this agent's policy does not allow the target %s; start the agent with "
                      "--allow-target %s to permit it",
                      bare, bare);
}

enum err policy_check(const struct policy *p, const struct target *t, struct errmsg *msg)
{
    for (size_t i = 0; i < t->n; i++) {
        uint32_t line;
        enum policy_answer answer = policy_ask(p, (const struct sockaddr *)&t->addrs[i].sa, &line);
        if (answer != POLICY_YES)
            return refuse(p, answer, line, &t->addrs[i], msg);
    }
    return ERR_OK;
}

/* --- for people ----------------------------------------------------------------------------- */

static void PRINTF_LIKE(3, 4) append(char *buf, size_t cap, const char *fmt, ...)
{
    size_t len = strlen(buf);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf + len, cap - len, fmt, ap);
    va_end(ap);
}

static bool is_loopback(const struct policy_rule *r)
{
    static const struct prefix four = {{AF_INET, {127}}, 8}, six = {{AF_INET6, {[15] = 1}}, 128};
    return r->has_prefix && ((r->prefix.bits >= 8 && prefix_covers(&four, &r->prefix.addr)) ||
                             (r->prefix.bits == 128 && prefix_covers(&six, &r->prefix.addr)));
}

static void append_rule(const struct policy_rule *r, char *buf, size_t cap)
{
    char text[NETADDR_TEXT];
    if (r->host[0] != '\0')
        append(buf, cap, "%s", r->host);
    if (r->has_prefix)
        append(buf, cap, "%s%s", r->host[0] != '\0' ? " in " : "", prefix_text(&r->prefix, text));
    for (size_t i = 0; i < r->n_ports; i++) {
        append(buf, cap, "%s%u", i == 0 ? ":" : "+", r->ports[i].from);
        if (r->ports[i].to != r->ports[i].from)
            append(buf, cap, "-%u", r->ports[i].to);
    }
}

static void append_targets(const struct policy *p, char *buf, size_t cap)
{
    bool loopback = false;
    size_t shown = 0;
    if (p->any) {
        append(buf, cap, "any target");
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        bool plain = is_loopback(&p->rules[i]) && p->rules[i].n_ports == 0;
        if (plain && loopback)
            continue;
        loopback = loopback || plain;
        append(buf, cap, "%s", shown++ == 0 ? "targets " : ", ");
        if (shown > 3) { /* the file has the rest */
            append(buf, cap, "...");
            return;
        }
        if (plain)
            append(buf, cap, "loopback");
        else
            append_rule(&p->rules[i], buf, cap);
    }
    for (size_t i = 0; i < p->n_unix && shown <= 3; i++)
        append(buf, cap, "%sunix:%s", shown++ == 0 ? "targets " : ", ", p->unix_paths[i]);
    if (shown == 0)
        append(buf, cap, "no target");
}

void policy_summary(const struct policy *p, char *buf, size_t cap)
{
    char text[UNITS_TEXT];
    buf[0] = '\0';
    append_targets(p, buf, cap);
    if (p->n_deny > 0)
        append(buf, cap, "; %zu denied", p->n_deny);
    if (!p->unlimited_rate)
        append(buf, cap, "; at most %s", units_format_rate(&p->max_rate, text));
    if (p->max_connections != UINT64_MAX)
        append(buf, cap, "; %" PRIu64 " connections", p->max_connections);
    if (p->max_duration_ns != NS_NEVER)
        append(buf, cap, "; %s", units_format_duration(p->max_duration_ns, text));
    if (p->max_body != UINT64_MAX)
        append(buf, cap, "; bodies up to %" PRIu64 " bytes", p->max_body);
    for (size_t i = 0; !p->any_method && i < p->n_methods; i++)
        append(buf, cap, "%s%s", i == 0 ? "; " : " ", p->methods[i]);
}
