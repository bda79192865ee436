/* SPDX-License-Identifier: MIT */
#include "proto/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"

#define ACCEPTED "accepted is http://HOST[:PORT][/PATH][?QUERY], or https://"

/* What is still to be read, and the whole for error texts. */
struct cursor {
    const char *url;
    const char *p;
    const char *end;
    struct errmsg *msg;
};

/* The URL may hold anything: only printable ASCII of it reaches a terminal, and no secret. */
static enum err refuse(const struct cursor *c, const char *why)
{
    char shown[128];
    redact_url(c->url, shown, sizeof shown);
    for (char *p = shown; *p != '\0'; p++)
        if (*p <= ' ' || *p >= 0x7f)
            *p = '?';
    return errmsg_set(c->msg, ERR_INVALID, "URL \"%s\": %s; " ACCEPTED, shown, why);
}

static enum err refuse_char(const struct cursor *c, const char *at, const char *where)
{
    char why[128];
    unsigned char b = (unsigned char)*at;
    if (isgraph(b))
        snprintf(why, sizeof why, "'%c' at position %td is not allowed in the %s", b,
                 at - c->url + 1, where);
    else
        snprintf(why, sizeof why, "byte 0x%02X at position %td is not allowed in the %s", b,
                 at - c->url + 1, where);
    return refuse(c, why);
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* RFC 3986 section 3.1; without "://" there is no scheme, whatever stands before a colon. */
static enum err parse_scheme(struct cursor *c, struct url_parts *u)
{
    const char *p = c->p;
    while (is_alnum(*p) || is_one_of(*p, "+-."))
        p++;
    strcpy(u->scheme, "http");
    if (strncmp(p, "://", 3) != 0)
        return ERR_OK;
    size_t len = (size_t)(p - c->p);
    u->tls = len == 5 && strncasecmp(c->p, "https", 5) == 0;
    if (u->tls)
        strcpy(u->scheme, "https");
    else if (len != 4 || strncasecmp(c->p, "http", 4) != 0)
        return refuse(c, "unknown scheme");
    c->p = p + 3;
    return ERR_OK;
}

static enum err copy_host(struct cursor *c, struct url_parts *u, const char *end)
{
    size_t len = (size_t)(end - c->p);
    if (len == 0)
        return refuse(c, "the host is empty");
    if (len >= sizeof u->host - 2)
        return refuse(c, "the host is longer than 253 characters");
    memcpy(u->host, c->p, len);
    u->host[len] = '\0';
    return ERR_OK;
}

static enum err parse_ipv6(struct cursor *c, struct url_parts *u)
{
    c->p++;
    const char *close = memchr(c->p, ']', (size_t)(c->end - c->p));
    if (close == NULL)
        return refuse(c, "']' is missing after the IPv6 address");
    if (memchr(c->p, '%', (size_t)(close - c->p)) != NULL)
        return refuse(c, "an IPv6 zone is not accepted");
    enum err e = copy_host(c, u, close);
    if (e != ERR_OK)
        return e;
    struct in6_addr addr;
    if (inet_pton(AF_INET6, u->host, &addr) != 1)
        return refuse(c, "no IPv6 address between the brackets");
    u->ipv6_literal = true;
    c->p = close + 1;
    return ERR_OK;
}

/* A name whose last label is a number is meant as an IPv4 address: "10.0.0.256" is a typing error,
 * not a name to ask a resolver for. */
static enum err check_ipv4(const struct cursor *c, const char *host)
{
    const char *dot = strrchr(host, '.');
    const char *label = dot == NULL ? host : dot + 1;
    struct in_addr addr;
    if (*label == '\0' || label[strspn(label, "0123456789")] != '\0')
        return ERR_OK;
    return inet_pton(AF_INET, host, &addr) == 1 ? ERR_OK : refuse(c, "no IPv4 address");
}

static enum err parse_name(struct cursor *c, struct url_parts *u)
{
    const char *p = c->p;
    while (p < c->end && *p != ':') {
        if (!is_alnum(*p) && !is_one_of(*p, "-._"))
            return refuse_char(c, p, "host");
        p++;
    }
    enum err e = copy_host(c, u, p);
    if (e != ERR_OK)
        return e;
    if (u->host[0] == '.')
        return refuse(c, "the host begins with a dot");
    c->p = p;
    return check_ipv4(c, u->host);
}

static const char *default_port(const struct url_parts *u)
{
    return u->tls ? "443" : "80";
}

static enum err parse_port(struct cursor *c, struct url_parts *u)
{
    strcpy(u->port, default_port(u));
    if (c->p == c->end)
        return ERR_OK;
    if (*c->p != ':')
        return refuse_char(c, c->p, "host");
    c->p++;
    if (c->p == c->end) /* "host:" is the default port, RFC 3986 section 3.2.3 */
        return ERR_OK;
    unsigned long port = 0;
    for (; c->p < c->end; c->p++) {
        if (*c->p < '0' || *c->p > '9')
            return refuse_char(c, c->p, "port");
        port = port * 10 + (unsigned long)(*c->p - '0');
        if (port > 65535)
            break;
    }
    if (port < 1 || port > 65535)
        return refuse(c, "the port must be from 1 to 65535");
    snprintf(u->port, sizeof u->port, "%lu", port);
    return ERR_OK;
}

static enum err parse_authority(struct cursor *c, struct url_parts *u)
{
    const char *whole_end = c->end;
    c->end = c->p + strcspn(c->p, "/?#");
    if (memchr(c->p, '@', (size_t)(c->end - c->p)) != NULL) /* the secret is not repeated */
        return errmsg_set(c->msg, ERR_INVALID,
                          "URL: user information (\"user:password@\") is not accepted; use "
                          "--basic FILE, which holds user:password");
    enum err e = *c->p == '[' ? parse_ipv6(c, u) : parse_name(c, u);
    if (e == ERR_OK)
        e = parse_port(c, u);
    c->p = c->end;
    c->end = whole_end;
    return e;
}

static bool test_index_allowed(void)
{
    const char *set = getenv(URL_TEST_INDEX_ENV);
    return set != NULL && strcmp(set, "1") == 0;
}

/* pchar / "/" / "?" of RFC 3986 section 3.3; brackets only in the query, where "a[]=1" is common.
 */
static bool path_char(char c, bool query)
{
    return is_alnum(c) || is_one_of(c, "-._~!$&'()*+,;=:@/") || (query && is_one_of(c, "?[]"));
}

static enum err check_path(const struct cursor *c, const char *end)
{
    bool query = false, indexed = false;
    const char *p = c->p;
    while (p < end) {
        if (*p == '?' && !query) {
            query = true;
            p++;
        } else if (*p == '%') {
            if (end - p < 3 || !isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2]))
                return refuse(c, "'%' must be followed by two hex digits");
            p += 3;
        } else if (!indexed && strncmp(p, URL_TEST_INDEX, 3) == 0 && test_index_allowed()) {
            indexed = true;
            p += 3;
        } else if (path_char(*p, query)) {
            p++;
        } else {
            return refuse_char(c, p, query ? "query" : "path");
        }
    }
    return ERR_OK;
}

static enum err parse_path(struct cursor *c, struct url_parts *u)
{
    const char *end = c->p + strcspn(c->p, "#");
    enum err e = check_path(c, end);
    if (e != ERR_OK)
        return e;
    size_t len = (size_t)(end - c->p);
    bool slash = len > 0 && *c->p == '/';
    u->path_query = mem_calloc(len + 2, 1);
    u->path_query[0] = '/';
    memcpy(u->path_query + (slash ? 0 : 1), c->p, len);
    return ERR_OK;
}

enum err url_parse(const char *url, struct url_parts *out, struct errmsg *msg)
{
    struct url_parts u = {.ipv6_literal = false};
    struct cursor c = {.url = url, .p = url, .end = url + strlen(url), .msg = msg};
    if (*url == '\0')
        return errmsg_set(msg, ERR_INVALID, "URL: empty; " ACCEPTED);
    enum err e = parse_scheme(&c, &u);
    if (e == ERR_OK)
        e = parse_authority(&c, &u);
    if (e == ERR_OK)
        e = parse_path(&c, &u);
    if (e == ERR_OK)
        *out = u;
    return e;
}

bool url_default_port(const struct url_parts *u)
{
    return strcmp(u->port, default_port(u)) == 0;
}

bool url_host_is_ip(const struct url_parts *u)
{
    struct in_addr addr;
    return u->ipv6_literal || inet_pton(AF_INET, u->host, &addr) == 1;
}

void url_clear(struct url_parts *u)
{
    mem_free(u->path_query);
    *u = (struct url_parts){.ipv6_literal = false};
}
