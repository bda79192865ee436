/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "common/redact.h"
#include "proto/msg.h"
#include "proto/plan.h"
#include "proto/template_text.h"

/* The checks of what is sent: of the plan's only request, or of each of several. */

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

struct checking {
    const struct plan *plan;
    struct template_book *book; /* NULL = no templates */
    struct errmsg *msg;
    size_t size; /* of what has been looked at, as an agent keeps it */
};

static enum err check_text(struct checking *c, const char *text, enum template_place place,
                           size_t limit, const char *what)
{
    size_t max, size;
    enum err e = plan_text_max(c->plan, c->book, text, strlen(text), place, &max, &size, c->msg);
    c->size += size;
    if (e != ERR_OK || max <= limit)
        return e;
    return errmsg_set(c->msg, ERR_INVALID,
                      "%s: its templates make it up to %zu bytes long; accepted are at most %zu",
                      what, max, limit);
}

static enum err check_url(struct checking *c, const struct plan_request *q)
{
    static const char accepted[] = "accepted is http://HOST[:PORT][/PATH] or https://";
    char redacted[2 * UNITS_SHOWN], shown[UNITS_SHOWN];
    struct url_parts u;
    if (q->url == NULL || *q->url == '\0')
        return errmsg_set(c->msg, ERR_INVALID, "URL is missing: %s", accepted);
    redact_url(q->url, redacted, sizeof redacted);
    units_format_shown(redacted, shown);
    size_t len = strlen(q->url);
    if (len > PLAN_URL_MAX)
        return errmsg_set(c->msg, ERR_INVALID, "URL %s: %zu bytes long; %s of at most %d bytes",
                          shown, len, accepted, PLAN_URL_MAX);
    bool templates = plan_is_template(c->plan, q->url, len);
    for (const char *at = q->url; !templates && *at != '\0'; at++)
        if (*at <= ' ' || *at >= 0x7f)
            return errmsg_set(c->msg, ERR_INVALID,
                              "URL %s: a space, a control or a non-ASCII character at byte %zu; %s "
                              "with such bytes percent-encoded",
                              shown, (size_t)(at - q->url) + 1, accepted);
    enum err e = plan_url_parse(c->plan, q->url, &u, c->msg);
    if (e != ERR_OK)
        return e;
    e = check_text(c, u.path_query, TEMPLATE_IN_URL, PLAN_URL_MAX, "URL");
    url_clear(&u);
    return e;
}

static enum err refuse_method(const char *method, struct errmsg *msg)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    return option_refuse(option_find(rows, n, "method"), method, ERR_INVALID, msg);
}

static enum err check_method(struct checking *c, const struct plan_request *q)
{
    if (q->method == NULL || strlen(q->method) > PLAN_METHOD_MAX ||
        !is_token(q->method, strlen(q->method)))
        return refuse_method(q->method, c->msg);
    /* A 2xx to CONNECT makes the connection a tunnel: no second request could follow on it. */
    if (strcmp(q->method, "CONNECT") == 0)
        return errmsg_set(c->msg, ERR_INVALID,
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

static enum err check_headers(struct checking *c, const struct option_list *headers)
{
    bool host_seen = false;
    if (headers->n > PLAN_HEADERS_MAX)
        return errmsg_set(c->msg, ERR_INVALID, "--header given %zu times: accepted is at most %d",
                          headers->n, PLAN_HEADERS_MAX);
    for (size_t i = 0; i < headers->n; i++) {
        const char *line = headers->items[i];
        enum err e = check_header(line, &host_seen, c->msg);
        if (e == ERR_OK)
            e = check_text(c, strchr(line, ':') + 1, TEMPLATE_IN_HEADER, PLAN_HEADER_LINE_MAX,
                           "--header");
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err check_body(struct checking *c, const uint8_t *body, size_t len)
{
    size_t max = len, size = 0;
    bool there = body != NULL || len == 0;
    enum err e = ERR_OK;
    if (there && len <= PLAN_BODY_MAX)
        e = plan_text_max(c->plan, c->book, body, len, TEMPLATE_IN_BODY, &max, &size, c->msg);
    c->size += size;
    if (e != ERR_OK || (there && max <= PLAN_BODY_MAX))
        return e;
    return errmsg_set(c->msg, ERR_INVALID, "request body of %s%zu bytes: accepted is at most %u",
                      max > len ? "up to " : "", max, PLAN_BODY_MAX);
}

static enum err check_name(struct checking *c, const char *name)
{
    size_t len = strlen(name);
    char sane[PLAN_NAME_MAX + 1]; /* as it comes back in a snapshot */
    if (len <= PLAN_NAME_MAX) {
        msg_sanitise(strcpy(sane, name));
        if (strcmp(sane, name) == 0)
            return ERR_OK;
    }
    return errmsg_set(c->msg, ERR_INVALID,
                      "name: accepted is a text of at most %d bytes without control characters",
                      PLAN_NAME_MAX);
}

/* What is the entry's own; the plan's has been checked. */
static enum err check_entry(struct checking *c, const struct plan_entry *e,
                            const struct plan_request *q)
{
    enum err bad = check_name(c, q->name);
    if (bad == ERR_OK)
        bad = check_url(c, q);
    if (bad == ERR_OK)
        bad = check_method(c, q);
    if (bad == ERR_OK)
        bad = check_headers(c, &e->headers);
    if (bad == ERR_OK && (e->body != NULL || e->body_len > 0))
        bad = check_body(c, e->body, e->body_len);
    if (bad == ERR_OK && (e->weight < 1 || e->weight > PLAN_WEIGHT_MAX))
        bad = errmsg_set(c->msg, ERR_RANGE,
                         "weight %" PRIu32 ": accepted is a whole number from 1 to %d", e->weight,
                         PLAN_WEIGHT_MAX);
    return bad;
}

/* "request 3 (login): " in front; a flag's dashes go, for it was none. */
static enum err name_entry(struct errmsg *msg, size_t number, const char *name, enum err e)
{
    char shown[UNITS_SHOWN];
    struct errmsg why = msg != NULL ? *msg : (struct errmsg){{0}};
    const char *text = strncmp(why.text, "--", 2) == 0 ? why.text + 2 : why.text;
    bool named = name[0] != '\0';
    return errmsg_set(msg, e, "request %zu%s%.64s%s: %.400s", number, named ? " (" : "",
                      named ? units_format_shown(name, shown) : "", named ? ")" : "", text);
}

/* What all requests have in common, or the plan's only one; an agent keeps it with each of them. */
struct common {
    size_t headers, body;
};

static enum err check_common(struct checking *c, struct common *size)
{
    struct plan_request q = {.url = c->plan->url, .method = c->plan->method};
    enum err e = c->plan->n_entries > 0 ? ERR_OK : check_url(c, &q);
    if (e == ERR_OK)
        e = check_method(c, &q);
    c->size = 0;
    if (e == ERR_OK)
        e = check_headers(c, &c->plan->headers);
    size->headers = c->size;
    if (e == ERR_OK)
        e = check_body(c, c->plan->body, c->plan->body_len);
    size->body = c->size - size->headers;
    return e;
}

static enum err check_size(const struct checking *c)
{
    if (c->size <= PLAN_REQUESTS_BYTES)
        return ERR_OK;
    return errmsg_set(c->msg, ERR_TOO_BIG,
                      "all requests together, each with its headers, its body and the parts of its "
                      "templates, take more than %u bytes in an agent's memory: accepted are at "
                      "most so many",
                      PLAN_REQUESTS_BYTES);
}

static enum err check_entries(struct checking *c, const struct common *common)
{
    const struct plan *p = c->plan;
    c->size = 0;
    if (p->n_entries > PLAN_ENTRIES_MAX)
        return errmsg_set(c->msg, ERR_TOO_BIG, "%zu requests: accepted are at most %d",
                          p->n_entries, PLAN_ENTRIES_MAX);
    for (size_t i = 0; i < p->n_entries; i++) {
        struct plan_request q;
        plan_request_at(p, i, &q);
        c->size += common->headers + (p->entries[i].body == NULL ? common->body : 0);
        enum err e = check_entry(c, &p->entries[i], &q);
        if (e != ERR_OK)
            return name_entry(c->msg, i + 1, q.name, e);
        e = check_size(c);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err check_order(const struct plan *p, struct errmsg *msg)
{
    if (p->order > PLAN_ORDER_RANDOM)
        return errmsg_set(msg, ERR_INVALID,
                          "--order %" PRIu32 ": accepted is sequential, weight or random",
                          p->order);
    if (p->order != PLAN_ORDER_AUTO && p->n_entries == 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--order %s with one request: accepted is with several, of -f/--file or "
                          "--urls",
                          plan_order_name((enum plan_order)p->order));
    return ERR_OK;
}

enum err plan_check_requests(const struct plan *p, struct errmsg *msg)
{
    struct checking c = {.plan = p, .msg = msg};
    struct common common;
    enum err e = check_order(p, msg);
    if (e == ERR_OK)
        e = plan_book(p, &c.book, msg);
    if (e == ERR_OK)
        e = check_common(&c, &common);
    if (e == ERR_OK)
        e = check_entries(&c, &common);
    template_book_free(c.book);
    return e;
}
