/* SPDX-License-Identifier: MIT */
#include "agent/client/location.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MARKS_END "?#"

struct text {
    const char *at;
    size_t len;
};

/* How many of the first bytes are none of these. */
static size_t until(struct text t, const char *stops)
{
    size_t n = 0;
    while (n < t.len && strchr(stops, t.at[n]) == NULL)
        n++;
    return n;
}

static struct text skip(struct text t, size_t n)
{
    return (struct text){t.at + n, t.len - n};
}

static bool begins(struct text t, const char *with)
{
    size_t n = strlen(with);
    return t.len >= n && strncasecmp(t.at, with, n) == 0;
}

/* ---- path ---- */

static bool put(struct location *l, struct text t)
{
    if (t.len > LOCATION_PATH_MAX - l->path_len)
        return false;
    memcpy(l->path + l->path_len, t.at, t.len);
    l->path_len += t.len;
    return true;
}

/* Control characters do not get here: the parser of header blocks refuses them. */
static bool put_encoded(struct location *l, struct text t)
{
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.at[i];
        char code[4];
        bool plain = c > ' ' && c < 0x7f && strchr("\"<>\\^`{|}", c) == NULL;
        int n = plain ? 1 : snprintf(code, sizeof code, "%%%02X", c);
        if (!put(l, plain ? (struct text){t.at + i, 1} : (struct text){code, (size_t)n}))
            return false;
    }
    return true;
}

static size_t last_slash(const struct location *l)
{
    size_t n = l->path_len;
    while (n > 0 && l->path[n - 1] != '/')
        n--;
    return n; /* what is left with the slash */
}

/* RFC 3986 section 5.2.4, of what has been put so far. */
static void remove_dots(struct location *l)
{
    size_t len = l->path_len, at = 0;
    l->path_len = 0; /* what is written never overtakes what is read */
    while (at < len) {
        size_t end = at + 1;
        while (end < len && l->path[end] != '/')
            end++;
        struct text s = {l->path + at + 1, end - at - 1};
        bool dot = s.len == 1 && s.at[0] == '.';
        bool dots = s.len == 2 && s.at[0] == '.' && s.at[1] == '.';
        at = end;
        if (dots && l->path_len > 0)
            l->path_len = last_slash(l) - 1;
        if (!dot && !dots) {
            l->path[l->path_len] = '/';
            memmove(l->path + l->path_len + 1, s.at, s.len);
            l->path_len += s.len + 1;
        } else if (at == len) { /* "/a/.." is a directory */
            l->path[l->path_len++] = '/';
        }
    }
}

static bool put_path(struct location *l, struct text base, struct text ref)
{
    struct text path = {ref.at, until(ref, MARKS_END)};
    struct text query = skip(ref, path.len);
    struct text base_path = {base.at, until(base, MARKS_END)};
    bool good = true;
    if (path.len == 0) {
        good = put(l, base_path);
        if (query.len == 0)
            query = skip(base, base_path.len);
    } else {
        if (path.at[0] != '/') { /* section 5.2.3 */
            good = put(l, base_path);
            l->path_len = last_slash(l);
        }
        good = good && put_encoded(l, path);
        if (good)
            remove_dots(l);
    }
    if (l->path_len == 0)
        good = good && put(l, (struct text){"/", 1});
    good = good && put_encoded(l, query);
    l->path[l->path_len] = '\0';
    return good;
}

/* ---- authority ---- */

static bool take_port(struct location *l, struct text t)
{
    unsigned long port = 0;
    for (size_t i = 0; i < t.len; i++) {
        if (t.at[i] < '0' || t.at[i] > '9' || port > 65535)
            return false;
        port = port * 10 + (unsigned long)(t.at[i] - '0');
    }
    if (port > 65535 || (t.len > 0 && port == 0))
        return false;
    port = t.len > 0 ? port : l->tls ? 443 : 80;
    snprintf(l->port, sizeof l->port, "%lu", port);
    return true;
}

static bool take_authority(struct location *l, struct text t)
{
    bool literal = t.len > 0 && t.at[0] == '[';
    if (memchr(t.at, '@', t.len) != NULL)
        return false;
    t = skip(t, literal);
    size_t n = until(t, literal ? "]" : ":");
    if (n == 0 || n >= sizeof l->host || (literal && n == t.len))
        return false;
    memcpy(l->host, t.at, n);
    l->host[n] = '\0';
    t = skip(t, n + literal);
    if (t.len > 0 && t.at[0] != ':')
        return false;
    return take_port(l, t.len > 0 ? skip(t, 1) : t);
}

/* ---- the whole ---- */

static bool has_scheme(struct text t)
{
    size_t n = until(t, ":/?#");
    return n > 0 && n < t.len && t.at[n] == ':';
}

bool location_resolve(const struct url_parts *base, const char *base_path, size_t base_len,
                      const char *ref, size_t ref_len, struct location *out)
{
    struct text t = {ref, ref_len}, from = {base_path, base_len};
    t.len = until(t, "#"); /* a fragment is never sent */
    out->tls = base->tls;
    out->path_len = 0;
    snprintf(out->host, sizeof out->host, "%s", base->host);
    snprintf(out->port, sizeof out->port, "%s", base->port);
    if (base_len == 0 || base_path[0] != '/')
        from = (struct text){"/", 1};
    if (has_scheme(t)) {
        out->tls = begins(t, "https://");
        if (!out->tls && !begins(t, "http://"))
            return false;
        t = skip(t, until(t, ":") + 1);
    }
    if (begins(t, "//")) {
        t = skip(t, 2);
        size_t n = until(t, "/?#");
        if (!take_authority(out, (struct text){t.at, n}))
            return false;
        t = skip(t, n);
        from = (struct text){"/", t.len > 0 && t.at[0] == '/' ? 0 : 1};
    }
    return put_path(out, from, t);
}

bool location_is_at(const struct location *l, const struct url_parts *origin)
{
    return l->tls == origin->tls && strcasecmp(l->host, origin->host) == 0 &&
           strcmp(l->port, origin->port) == 0;
}
