/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/redact.h"
#include "proto/plan.h"
#include "proto/plan_route.h"
#include "proto/plan_tls.h"
#include "proto/url.h"

/* The checks of a complete plan, each one a row of `checks` at the end. The controller runs them on
 * what the user wrote, every agent on what came over the wire. */

static bool is_token_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* RFC 9110 section 5.6.2. */
static bool is_token(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_token_char(s[i]))
            return false;
    return len > 0;
}

static const struct option_row *row_of(const char *name)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    return option_find(rows, n, name);
}

/* --- numbers, against the rows' own bounds --- */

/* False when the member holds no number or its "not given". */
static bool read_number(const struct plan *p, const struct option_row *row, uint64_t *v)
{
    const void *member = (const char *)p + row->offset;
    bool optional = row->set_offset != OPTION_NO_SET;
    if (row->type == OPTION_U32) {
        *v = *(const uint32_t *)member;
        return !(optional && *v == 0);
    }
    if (row->type != OPTION_COUNT && row->type != OPTION_DURATION)
        return false;
    *v = *(const uint64_t *)member;
    return !(optional && *v == UINT64_MAX);
}

static enum err check_numbers(const struct plan *p, struct errmsg *msg)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    for (size_t i = 0; i < n; i++) {
        uint64_t v;
        if (!read_number(p, &rows[i], &v) || (v >= rows[i].min && v <= rows[i].max))
            continue;
        char text[UNITS_TEXT];
        if (rows[i].type == OPTION_DURATION)
            units_format_duration(v, text);
        else
            snprintf(text, sizeof text, "%" PRIu64, v);
        return option_refuse(&rows[i], text, ERR_RANGE, msg);
    }
    return ERR_OK;
}

static enum err check_rate(const struct plan *p, struct errmsg *msg)
{
    const struct rate *r = &p->rate;
    if (r->den != 0 && r->den <= RATE_DEN_MAX && r->num <= (unsigned __int128)RATE_MAX * r->den)
        return ERR_OK;
    char text[2 * UNITS_TEXT];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "s", r->num, r->den);
    return option_refuse(row_of("rate"), text, ERR_RANGE, msg);
}

/* --- contradictions --- */

static enum err check_end(const struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT];
    bool timed = p->duration_ns != NS_NEVER, counted = p->requests != UINT64_MAX;
    if (p->forever && timed)
        return errmsg_set(msg, ERR_INVALID,
                          "--forever with -d/--duration %s: accepted is one of the two",
                          units_format_duration(p->duration_ns, text));
    if (p->forever && counted)
        return errmsg_set(msg, ERR_INVALID,
                          "--forever with -n/--requests %" PRIu64 ": accepted is one of the two",
                          p->requests);
    if (!p->forever && !timed && !counted)
        return errmsg_set(msg, ERR_INVALID,
                          "the run has no end: accepted is -d/--duration, -n/--requests or "
                          "--forever");
    return ERR_OK;
}

static enum err check_threads(const struct plan *p, struct errmsg *msg)
{
    if (p->connections == 0 || p->connections >= p->threads)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "--connections %" PRIu32 " with --threads %" PRIu32
                      ": accepted is at least one connection a thread",
                      p->connections, p->threads);
}

/* --- the request --- */

static enum err check_url(const struct plan *p, struct errmsg *msg)
{
    static const char accepted[] = "accepted is http://HOST[:PORT][/PATH] or https://";
    char redacted[2 * UNITS_SHOWN], shown[UNITS_SHOWN];
    if (p->url == NULL || *p->url == '\0')
        return errmsg_set(msg, ERR_INVALID, "URL is missing: %s", accepted);
    redact_url(p->url, redacted, sizeof redacted);
    units_format_shown(redacted, shown);
    size_t len = strlen(p->url);
    if (len > PLAN_URL_MAX)
        return errmsg_set(msg, ERR_INVALID, "URL %s: %zu bytes long; %s of at most %d bytes", shown,
                          len, accepted, PLAN_URL_MAX);
    for (const char *c = p->url; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return errmsg_set(msg, ERR_INVALID,
                              "URL %s: a space, a control or a non-ASCII character at byte %zu; %s "
                              "with such bytes percent-encoded",
                              shown, (size_t)(c - p->url) + 1, accepted);
    struct url_parts parts;
    enum err e = url_parse(p->url, &parts, msg);
    if (e == ERR_OK)
        url_clear(&parts);
    return e;
}

static enum err check_method(const struct plan *p, struct errmsg *msg)
{
    if (p->method == NULL || strlen(p->method) > PLAN_METHOD_MAX ||
        !is_token(p->method, strlen(p->method)))
        return option_refuse(row_of("method"), p->method, ERR_INVALID, msg);
    /* A 2xx to CONNECT makes the connection a tunnel: no second request could follow on it. */
    if (strcmp(p->method, "CONNECT") == 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--method CONNECT: opens a tunnel; accepted is any other method");
    return ERR_OK;
}

/* Names the header without its value, which may be a secret. */
static enum err refuse_header(const char *line, const char *why, struct errmsg *msg)
{
    char name[2 * UNITS_SHOWN], shown[UNITS_SHOWN];
    redact_header(line, NULL, name, sizeof name);
    name[strcspn(name, ":")] = '\0';
    return errmsg_set(msg, ERR_INVALID, "--header %s: %s", units_format_shown(name, shown), why);
}

static const char *header_problem(const char *line, size_t name_len)
{
    if (line[name_len] != ':')
        return "no colon; accepted is NAME: VALUE";
    if (!is_token(line, name_len))
        return "the name is not a token (RFC 9110 section 5.6.2); accepted is NAME: VALUE";
    if (strlen(line) > PLAN_HEADER_LINE_MAX)
        return "too long; accepted is NAME: VALUE of at most 8192 bytes";
    /* CR, LF and NUL would start another header; the other controls are no field-value either
     * (RFC 9110 section 5.5). */
    const unsigned char *c = (const unsigned char *)line + name_len + 1;
    for (; *c != '\0'; c++)
        if ((*c < ' ' && *c != '\t') || *c == 0x7f)
            return "CR, LF or another control character in the value; accepted is NAME: VALUE on "
                   "one line";
    return NULL;
}

static bool is_name(const char *line, size_t name_len, const char *name)
{
    return strlen(name) == name_len && strncasecmp(line, name, name_len) == 0;
}

static enum err check_header(const char *line, bool *host_seen, struct errmsg *msg)
{
    static const char owned[] = "is set by hammer, from the body; accepted is any other header";
    size_t name_len = strcspn(line, ":");
    const char *problem = header_problem(line, name_len);
    if (problem == NULL &&
        (is_name(line, name_len, "Content-Length") || is_name(line, name_len, "Transfer-Encoding")))
        problem = owned;
    if (problem == NULL && is_name(line, name_len, "Host")) {
        if (*host_seen)
            problem = "given twice; accepted is one (RFC 9112 section 3.2)";
        *host_seen = true;
    }
    return problem == NULL ? ERR_OK : refuse_header(line, problem, msg);
}

static enum err check_headers(const struct plan *p, struct errmsg *msg)
{
    bool host_seen = false;
    if (p->headers.n > PLAN_HEADERS_MAX)
        return errmsg_set(msg, ERR_INVALID, "--header given %zu times: accepted is at most %d",
                          p->headers.n, PLAN_HEADERS_MAX);
    for (size_t i = 0; i < p->headers.n; i++) {
        enum err e = check_header(p->headers.items[i], &host_seen, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err check_body(const struct plan *p, struct errmsg *msg)
{
    if (p->body_len <= PLAN_BODY_MAX && (p->body != NULL || p->body_len == 0))
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID, "request body of %zu bytes: accepted is at most %u",
                      p->body_len, PLAN_BODY_MAX);
}

static enum err check_spin(const struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT];
    if (p->spin_ns <= PLAN_SPIN_MAX || p->spin_ns == PLAN_SPIN_AUTO)
        return ERR_OK;
    return option_refuse(row_of("spin"), units_format_duration(p->spin_ns, text), ERR_RANGE, msg);
}

static enum err check_quantum(const struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT], spin[UNITS_TEXT];
    uint64_t ns = p->dispatch_quantum_ns;
    if (ns == 0)
        return ERR_OK;
    units_format_duration(ns, text);
    if (ns < PLAN_QUANTUM_MIN || ns > PLAN_QUANTUM_MAX)
        return option_refuse(row_of("dispatch-quantum"), text, ERR_RANGE, msg);
    if (p->rate.num == 0)
        return errmsg_set(
            msg, ERR_INVALID,
            "--dispatch-quantum %s without -r/--rate: in a closed loop nothing is due "
            "at an instant; accepted is 0, or a rate",
            text);
    if (p->spin_ns != 0 && p->spin_ns != PLAN_SPIN_AUTO)
        return errmsg_set(msg, ERR_INVALID,
                          "--dispatch-quantum %s with --spin %s: accepted is one of the two", text,
                          units_format_duration(p->spin_ns, spin));
    return ERR_OK;
}

enum err plan_validate(const struct plan *p, struct errmsg *msg)
{
    static enum err (*const checks[])(const struct plan *, struct errmsg *) = {
        check_url,  check_numbers, check_rate,     plan_check_stages, plan_check_arrivals,
        check_end,  check_threads, check_method,   check_headers,     check_body,
        check_spin, check_quantum, plan_tls_check, plan_check_routes,
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        enum err e = checks[i](p, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}
