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

/* Growing text; set-up only, so realloc per piece is fine. */
struct text {
    char *bytes;
    size_t len;
};

static void put(struct text *t, const void *bytes, size_t len)
{
    if (len == 0)
        return;
    t->bytes = mem_realloc(t->bytes, t->len + len, 1);
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void puts_text(struct text *t, const char *s)
{
    put(t, s, strlen(s));
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

static bool given(const struct plan *p, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < p->headers.n; i++)
        if (strncasecmp(p->headers.items[i], name, len) == 0 && p->headers.items[i][len] == ':')
            return true;
    return false;
}

static enum err check_length(const char *line, const struct header *h, size_t body_len,
                             struct errmsg *msg)
{
    char expected[24];
    snprintf(expected, sizeof expected, "%zu", body_len);
    if (strlen(expected) == h->value_len && strncmp(expected, h->value, h->value_len) == 0)
        return ERR_OK;
    char why[96];
    snprintf(why, sizeof why, "the body has %zu bytes; leave the length to hammer", body_len);
    return refuse(line, why, msg);
}

/* The plan's own headers in their order. */
static enum err put_own(struct text *t, const struct plan *p, size_t body_len, struct errmsg *msg)
{
    unsigned hosts = 0;
    for (size_t i = 0; i < p->headers.n; i++) {
        const char *line = p->headers.items[i];
        struct header h = {0};
        enum err e = split(line, &h, msg);
        if (e != ERR_OK)
            return e;
        if (is(&h, "Transfer-Encoding"))
            return refuse(line, "the body is sent with Content-Length only", msg);
        if (is(&h, "Host") && hosts++ > 0)
            return refuse(line, "a second Host (RFC 9112 section 3.2)", msg);
        if (is(&h, "Content-Length") && (e = check_length(line, &h, body_len, msg)) != ERR_OK)
            return e;
        put(t, h.name, h.name_len);
        puts_text(t, ": ");
        put(t, h.value, h.value_len);
        puts_text(t, "\r\n");
    }
    return ERR_OK;
}

static void put_authority(struct text *t, const struct url_parts *u)
{
    puts_text(t, u->ipv6_literal ? "[" : "");
    puts_text(t, u->host);
    puts_text(t, u->ipv6_literal ? "]" : "");
    if (!url_default_port(u)) {
        puts_text(t, ":");
        puts_text(t, u->port);
    }
}

static void put_host(struct text *t, const struct url_parts *u)
{
    puts_text(t, "Host: ");
    put_authority(t, u);
    puts_text(t, "\r\n");
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
static void put_line(struct text *t, const char *method, const struct url_parts *u, bool proxy,
                     struct request *r)
{
    const char *path = u->path_query;
    puts_text(t, method);
    puts_text(t, " ");
    if (proxy && !u->tls) {
        puts_text(t, "http://");
        put_authority(t, u);
    }
    const char *mark = strstr(path, URL_TEST_INDEX);
    if (mark != NULL) {
        static const char zeros[REQUEST_INDEX_DIGITS + 1] = "00000000000000000000";
        put(t, path, (size_t)(mark - path));
        r->index_at = t->len;
        puts_text(t, zeros);
        path = mark + strlen(URL_TEST_INDEX);
    }
    puts_text(t, path);
    puts_text(t, " HTTP/1.1\r\n");
}

static void put_defaults(struct text *t, const struct plan *p, const struct url_parts *u)
{
    if (!given(p, "Host"))
        put_host(t, u);
    if (!given(p, "User-Agent"))
        puts_text(t, "User-Agent: hammer/" HAMMER_VERSION "\r\n");
    if (!given(p, "Accept"))
        puts_text(t, "Accept: */*\r\n");
}

enum err request_compile(const struct plan *p, const struct url_parts *u, struct request *out,
                         struct errmsg *msg)
{
    static const char *const idempotent[] = {"GET",     "HEAD",  "PUT", "DELETE",
                                             "OPTIONS", "TRACE", NULL};
    const char *method = p->method == NULL ? "GET" : p->method;
    const void *body = p->body != NULL ? (const void *)p->body : p->data;
    size_t body_len = p->body != NULL ? p->body_len : p->data != NULL ? strlen(p->data) : 0;
    struct request r = {.index_at = SIZE_MAX,
                        .head_method = strcmp(method, "HEAD") == 0,
                        .idempotent = one_of(method, idempotent)};
    struct text t = {NULL, 0};
    enum err e = check_method(method, msg);
    if (e != ERR_OK)
        return e;
    put_line(&t, method, u, p->proxy != NULL, &r);
    put_defaults(&t, p, u);
    r.close_after = preflight_closes(p);
    e = put_own(&t, p, body_len, msg);
    if (e != ERR_OK) {
        mem_free(t.bytes);
        return e;
    }
    if (wants_length(method, body != NULL) && !given(p, "Content-Length")) {
        char line[48];
        snprintf(line, sizeof line, "Content-Length: %zu\r\n", body_len);
        puts_text(&t, line);
    }
    puts_text(&t, "\r\n");
    put(&t, body, body_len);
    r.bytes = t.bytes;
    r.len = t.len;
    *out = r;
    return ERR_OK;
}

void request_clear(struct request *r)
{
    if (r->bytes != NULL)
        explicit_bzero(r->bytes, r->len); /* headers may be secrets */
    mem_free(r->bytes);
    *r = (struct request){.index_at = SIZE_MAX};
}

void request_put_index(char *at, uint64_t index)
{
    for (size_t i = REQUEST_INDEX_DIGITS; i-- > 0; index /= 10)
        at[i] = (char)('0' + index % 10);
}
