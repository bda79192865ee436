/* SPDX-License-Identifier: MIT */
#include "controller/watch/http_request.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* A piece of the request. */
struct span {
    const char *at;
    size_t len;
};

static bool is(struct span s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static bool is_name(struct span s, const char *text)
{
    return s.len == strlen(text) && strncasecmp(s.at, text, s.len) == 0;
}

static bool contains(struct span s, const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i + len <= s.len; i++)
        if (strncasecmp(s.at + i, text, len) == 0)
            return true;
    return false;
}

/* Takes what stands in front of the delimiter off `s`; all of it where there is none. */
static struct span take(struct span *s, const char *delimiter)
{
    size_t n = strlen(delimiter);
    const char *end = s->len > 0 ? memmem(s->at, s->len, delimiter, n) : NULL;
    struct span taken = {s->at, end != NULL ? (size_t)(end - s->at) : s->len};
    size_t used = taken.len + (end != NULL ? n : 0);
    s->at += used;
    s->len -= used;
    return taken;
}

static struct span trim(struct span s)
{
    while (s.len > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) {
        s.at++;
        s.len--;
    }
    while (s.len > 0 && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
        s.len--;
    return s;
}

bool http_request_is_loopback(const char *host, size_t len)
{
    struct span s = {host, len}, name;
    struct in_addr v4;
    char text[INET_ADDRSTRLEN];
    if (len > 0 && host[0] == '[') {
        name = take(&s, "]");
        if (!is(name, "[::1"))
            return false;
        if (s.len > 0 && s.at[0] != ':')
            return false;
        take(&s, ":");
    } else {
        name = take(&s, ":");
    }
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    if (is(name, "[::1") || is_name(name, "localhost"))
        return true;
    if (name.len >= sizeof text)
        return false;
    memcpy(text, name.at, name.len);
    text[name.len] = '\0';
    return inet_pton(AF_INET, text, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

/* --- the request ---------------------------------------------------------------------------- */

struct headers {
    size_t hosts;
    struct span host;
    bool open, plain, body;
};

static bool take_header(struct headers *h, struct span line)
{
    struct span value = line, name = take(&value, ":");
    if (name.len == 0 || name.len == line.len)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] <= ' ' || name.at[i] >= 0x7f)
            return false; /* a folded line, too */
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.at[i] < ' ' && value.at[i] != '\t')
            return false;
    value = trim(value);
    if (is_name(name, "host")) {
        h->hosts++;
        h->host = value;
    } else if (is_name(name, "accept")) {
        h->open = h->open || contains(value, "application/openmetrics-text");
        h->plain = h->plain || contains(value, "text/plain");
    } else if (is_name(name, "transfer-encoding") ||
               (is_name(name, "content-length") && !is(value, "0"))) {
        h->body = true;
    }
    return true;
}

static int judge(struct span method, struct span target, struct span version,
                 const struct headers *h)
{
    if (!is(version, "HTTP/1.1") && !is(version, "HTTP/1.0"))
        return version.len > 5 && memcmp(version.at, "HTTP/", 5) == 0 ? 505 : 400;
    if (h->body || h->hosts > 1 || (h->hosts == 0 && is(version, "HTTP/1.1")))
        return 400;
    if (h->hosts == 1 && !http_request_is_loopback(h->host.at, h->host.len))
        return 403;
    if (!is(method, "GET") && !is(method, "HEAD"))
        return 405;
    return is(take(&target, "?"), "/metrics") ? 200 : 404;
}

static int parse(struct span head, struct http_request *r)
{
    struct headers h = {0};
    struct span line = take(&head, "\r\n");
    struct span method = take(&line, " "), target = take(&line, " "), version = line;
    if (method.len == 0 || target.len == 0)
        return 400;
    while (head.len > 0)
        if (!take_header(&h, take(&head, "\r\n")))
            return 400;
    r->head = is(method, "HEAD");
    r->plain = h.plain && !h.open;
    return judge(method, target, version, &h);
}

bool http_request_parse(const char *bytes, size_t len, struct http_request *r)
{
    const char *end = len > 0 ? memmem(bytes, len, "\r\n\r\n", 4) : NULL;
    *r = (struct http_request){0};
    if (end == NULL) {
        r->status = 431;
        return len >= HTTP_REQUEST_MAX;
    }
    r->status = parse((struct span){bytes, (size_t)(end - bytes)}, r);
    return true;
}
