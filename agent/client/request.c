/* SPDX-License-Identifier: MIT */
#include "agent/client/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"
#include "common/units.h"
#include "proto/preflight.h"

#define TOKEN_CHARS "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define OWS         " \t"

struct header {
    const char *name;
    size_t name_len;
    const char *value;
    size_t value_len;
};

/* What a request is made of. */
struct making {
    const struct plan *plan;
    struct plan_request of;
    const struct template_book *book;
    struct template_form *form;
    const void *body; /* NULL = none */
    size_t body_len;
    struct errmsg *msg;
};

static void put(struct template_form *t, const char *s)
{
    template_put(t, s, strlen(s));
}

static bool is(const struct header *h, const char *name)
{
    return strlen(name) == h->name_len && strncasecmp(h->name, name, h->name_len) == 0;
}

static enum err refuse(const char *line, const char *why, struct errmsg *msg)
{
    char redacted[2 * UNITS_SHOWN], shown[UNITS_SHOWN];
    redact_header(line, NULL, redacted, sizeof redacted);
    return errmsg_set(msg, ERR_INVALID, "--header \"%s\": %s", units_format_shown(redacted, shown),
                      why);
}

/* "Name: value", RFC 9110 section 5: name is a token, value free of control characters. */
static enum err split(const char *line, struct header *h, struct errmsg *msg)
{
    h->name = line;
    h->name_len = strspn(line, TOKEN_CHARS);
    if (h->name_len == 0 || line[h->name_len] != ':')
        return refuse(line, "accepted is \"Name: value\" with a token as the name", msg);
    h->value = line + h->name_len + 1;
    h->value += strspn(h->value, OWS);
    h->value_len = strlen(h->value);
    while (h->value_len > 0 && strchr(OWS, h->value[h->value_len - 1]) != NULL)
        h->value_len--;
    for (size_t i = 0; i < h->value_len; i++) {
        unsigned char c = (unsigned char)h->value[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return refuse(line, "CR, LF and control characters are not accepted", msg);
    }
    return ERR_OK;
}

static bool list_has(const struct option_list *l, const char *name, size_t len)
{
    for (size_t i = 0; l != NULL && i < l->n; i++)
        if (strncasecmp(l->items[i], name, len) == 0 && l->items[i][len] == ':')
            return true;
    return false;
}

/* Also when it is given to be left out. */
static bool given(const struct making *m, const char *name)
{
    return list_has(m->of.headers, name, strlen(name)) || list_has(m->of.own, name, strlen(name));
}

static enum err check_length(const struct making *m, const char *line, const struct header *h)
{
    char expected[24], why[96];
    snprintf(expected, sizeof expected, "%zu", m->body_len);
    if (strlen(expected) == h->value_len && strncmp(expected, h->value, h->value_len) == 0 &&
        !m->plan->chunked && !plan_is_template(m->plan, m->body, m->body_len))
        return ERR_OK;
    snprintf(why, sizeof why, "the body has %zu bytes; leave the length to hammer", m->body_len);
    return refuse(line, why, m->msg);
}

static enum err put_header(struct making *m, const char *line, const struct header *h)
{
    if (is(h, "Transfer-Encoding"))
        return refuse(line, "the body is sent with Content-Length only, or with --chunked", m->msg);
    enum err e = is(h, "Content-Length") ? check_length(m, line, h) : ERR_OK;
    if (e != ERR_OK)
        return e;
    template_put(m->form, h->name, h->name_len);
    put(m->form, ": ");
    e = plan_put_text(m->plan, m->form, m->book, h->value, h->value_len, TEMPLATE_IN_HEADER,
                      m->msg);
    put(m->form, "\r\n");
    return e;
}

/* In their order, but for those that `unless` has too, and those to be left out. */
static enum err put_headers(struct making *m, const struct option_list *l,
                            const struct option_list *unless, struct request *r)
{
    unsigned hosts = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; l != NULL && i < l->n && e == ERR_OK; i++) {
        const char *line = l->items[i];
        struct header h = {0};
        e = split(line, &h, m->msg);
        if (e != ERR_OK || list_has(unless, h.name, h.name_len) || plan_header_removes(line))
            continue;
        if (is(&h, "Host") && hosts++ > 0)
            return refuse(line, "a second Host (RFC 9112 section 3.2)", m->msg);
        r->close_after = r->close_after || preflight_line_closes(line);
        e = put_header(m, line, &h);
    }
    return e;
}

static void put_authority(struct template_form *t, const struct url_parts *u)
{
    put(t, u->ipv6_literal ? "[" : "");
    put(t, u->host);
    put(t, u->ipv6_literal ? "]" : "");
    if (!url_default_port(u)) {
        put(t, ":");
        put(t, u->port);
    }
}

static void put_host(struct template_form *t, const struct url_parts *u)
{
    put(t, "Host: ");
    put_authority(t, u);
    put(t, "\r\n");
}

static bool one_of(const char *method, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(method, *list) == 0)
            return true;
    return false;
}

/* RFC 9110 section 8.6: a length is sent with a body, and where the method expects one. */
static bool wants_length(const char *method, bool body)
{
    static const char *const expect[] = {"POST", "PUT", "PATCH", NULL};
    return body || one_of(method, expect);
}

static enum err check_method(const char *method, struct errmsg *msg)
{
    size_t len = strspn(method, TOKEN_CHARS);
    if (len == 0 || method[len] != '\0')
        return errmsg_set(msg, ERR_INVALID,
                          "--method: accepted is a token of letters, digits and "
                          "!#$%%&'*+-.^_`|~ (RFC 9110 section 9.1)");
    if (strcmp(method, "CONNECT") == 0)
        return errmsg_set(msg, ERR_INVALID, "--method CONNECT: tunnels are not supported");
    return ERR_OK;
}

/* To a proxy goes the whole URL (RFC 9112 section 3.2.2), unless it is but a tunnel. */
static enum err put_line(struct making *m, const char *method, const struct url_parts *u,
                         struct request *r)
{
    const char *path = u->path_query;
    const char *mark = strstr(path, URL_TEST_INDEX);
    put(m->form, method);
    put(m->form, " ");
    if (m->plan->proxy != NULL && !u->tls) {
        put(m->form, "http://");
        put_authority(m->form, u);
    }
    if (mark != NULL && !plan_is_template(m->plan, path, strlen(path))) {
        static const char zeros[REQUEST_INDEX_DIGITS + 1] = "00000000000000000000";
        template_put(m->form, path, (size_t)(mark - path));
        r->index_at = template_max(m->form); /* all of it is constant so far */
        put(m->form, zeros);
        path = mark + strlen(URL_TEST_INDEX);
    }
    enum err e =
        plan_put_text(m->plan, m->form, m->book, path, strlen(path), TEMPLATE_IN_URL, m->msg);
    put(m->form, " HTTP/1.1\r\n");
    return e;
}

static void put_defaults(const struct making *m, const struct url_parts *u)
{
    if (!given(m, "Host"))
        put_host(m->form, u);
    if (!given(m, "User-Agent"))
        put(m->form, "User-Agent: hammer/" HAMMER_VERSION "\r\n");
    if (!given(m, "Accept"))
        put(m->form, "Accept: */*\r\n");
    if (plan_per_connection(m->plan) == 1 && !given(m, "Connection"))
        put(m->form, "Connection: close\r\n");
}

static void put_framing(const struct making *m, const char *method)
{
    if (m->body != NULL && m->plan->chunked) {
        put(m->form, "Transfer-Encoding: chunked\r\n");
    } else if (wants_length(method, m->body != NULL) && !given(m, "Content-Length")) {
        put(m->form, "Content-Length: ");
        template_put_body_length(m->form);
        put(m->form, "\r\n");
    }
}

static enum err put_body(const struct making *m)
{
    bool chunked = m->body != NULL && m->plan->chunked;
    put(m->form, "\r\n");
    if (chunked)
        template_put_chunk_begin(m->form);
    template_begin_body(m->form);
    enum err e =
        plan_put_text(m->plan, m->form, m->book, m->body, m->body_len, TEMPLATE_IN_BODY, m->msg);
    template_end_body(m->form);
    if (chunked)
        template_put_chunk_end(m->form);
    return e;
}

static enum err put_all(struct making *m, const char *method, const struct url_parts *u,
                        struct request *r)
{
    enum err e = put_line(m, method, u, r);
    put_defaults(m, u);
    if (e == ERR_OK)
        e = put_headers(m, m->of.headers, m->of.own, r);
    if (e == ERR_OK)
        e = put_headers(m, m->of.own, NULL, r);
    if (e != ERR_OK)
        return e;
    put_framing(m, method);
    r->expect_continue = m->plan->expect_continue && m->body_len > 0;
    if (r->expect_continue && !given(m, "Expect"))
        put(m->form, "Expect: 100-continue\r\n");
    return put_body(m);
}

/* What is the same for every index is rendered now, once. */
static void settle(struct request *r)
{
    r->len = template_max(r->form);
    if (!template_is_constant(r->form))
        return;
    r->bytes = mem_calloc(r->len, 1);
    r->len = template_render(r->form, 0, 0, r->bytes, &r->head_len);
    template_free(r->form);
    r->form = NULL;
}

enum err request_compile_entry(const struct plan *p, size_t i, const struct template_book *book,
                               const struct url_parts *u, struct request *out, struct errmsg *msg)
{
    static const char *const idempotent[] = {"GET",     "HEAD",  "PUT", "DELETE",
                                             "OPTIONS", "TRACE", NULL};
    struct making m = {.plan = p, .book = book, .msg = msg};
    plan_request_at(p, i, &m.of);
    const char *method = m.of.method == NULL ? "GET" : m.of.method;
    bool data = m.of.body == NULL && p->data != NULL;
    m.body = data ? (const void *)p->data : m.of.body;
    m.body_len = data ? strlen(p->data) : m.of.body_len;
    struct request r = {.index_at = SIZE_MAX,
                        .seed = p->seed,
                        .head_method = strcmp(method, "HEAD") == 0,
                        .idempotent = one_of(method, idempotent)};
    enum err e = check_method(method, msg);
    if (e != ERR_OK)
        return e;
    r.form = m.form = template_new();
    e = put_all(&m, method, u, &r);
    if (e != ERR_OK) {
        template_free(r.form);
        return e;
    }
    settle(&r);
    *out = r;
    return ERR_OK;
}

enum err request_compile(const struct plan *p, const struct url_parts *u, struct request *out,
                         struct errmsg *msg)
{
    struct template_book *book;
    enum err e = plan_book(p, &book, msg);
    if (e == ERR_OK)
        e = request_compile_entry(p, 0, book, u, out, msg);
    if (e == ERR_OK && out->form != NULL) { /* would outlive the book */
        request_clear(out);
        e = errmsg_set(msg, ERR_INVALID, "templates: accepted in a request set only");
    }
    template_book_free(book);
    return e;
}

void request_render_varied(const struct request *r, uint64_t index, char *scratch,
                           struct request_bytes *out)
{
    out->bytes = scratch;
    if (r->form != NULL) {
        out->len = template_render(r->form, r->seed, index, scratch, &out->head_len);
        return;
    }
    memcpy(scratch, r->bytes, r->len);
    request_put_index(scratch + r->index_at, index);
}

void request_clear(struct request *r)
{
    if (r->bytes != NULL)
        explicit_bzero(r->bytes, r->len); /* headers may be secrets */
    mem_free(r->bytes);
    template_free(r->form);
    *r = (struct request){.index_at = SIZE_MAX};
}

void request_put_index(char *at, uint64_t index)
{
    for (size_t i = REQUEST_INDEX_DIGITS; i-- > 0; index /= 10)
        at[i] = (char)('0' + index % 10);
}
