/* SPDX-License-Identifier: MIT */
#include "agent/client/cookies.h"

#include <string.h>
#include <strings.h>

#include "common/mem.h"

struct text {
    const char *at;
    size_t len;
};

/* A cookie on its way in. */
struct arriving {
    struct text name, value, path;
    bool secure, foreign, has_age;
    uint64_t until_s;
};

static struct text trim(struct text t)
{
    while (t.len > 0 && (t.at[0] == ' ' || t.at[0] == '\t'))
        t = (struct text){t.at + 1, t.len - 1};
    while (t.len > 0 && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
        t.len--;
    return t;
}

/* Takes what is before the separator off *t; all of it where there is none. */
static struct text cut(struct text *t, char separator)
{
    const char *end = t->len > 0 ? memchr(t->at, separator, t->len) : NULL;
    struct text first = {t->at, end != NULL ? (size_t)(end - t->at) : t->len};
    size_t taken = first.len + (end != NULL);
    *t = (struct text){t->at + taken, t->len - taken};
    return trim(first);
}

static bool is(struct text t, const char *name)
{
    return t.len == strlen(name) && strncasecmp(t.at, name, t.len) == 0;
}

/* ---- attributes, RFC 6265 section 5.2 ---- */

static void take_age(struct arriving *a, struct text v, uint64_t now_s)
{
    uint64_t age = 0;
    bool negative = v.len > 0 && v.at[0] == '-';
    size_t from = negative;
    for (size_t i = from; i < v.len; i++) {
        if (v.at[i] < '0' || v.at[i] > '9')
            return;
        age = age > UINT32_MAX ? age : age * 10 + (uint64_t)(v.at[i] - '0');
    }
    if (v.len == from)
        return;
    a->has_age = true;
    a->until_s = negative || age == 0 ? 0 : now_s + age;
}

/* The host itself, or what it is part of; else the cookie is somebody else's. */
static void take_domain(struct arriving *a, struct text v, const char *host)
{
    size_t len = strlen(host);
    if (v.len > 0 && v.at[0] == '.')
        v = (struct text){v.at + 1, v.len - 1};
    if (v.len == 0)
        return;
    bool tail = v.len <= len && strncasecmp(host + len - v.len, v.at, v.len) == 0;
    a->foreign = !tail || (v.len < len && host[len - v.len - 1] != '.');
}

static void take_attribute(struct arriving *a, struct text t, const struct cookie_place *from)
{
    struct text name = cut(&t, '='), value = trim(t);
    if (is(name, "Secure"))
        a->secure = true;
    else if (is(name, "Path") && value.len > 0 && value.at[0] == '/')
        a->path = value;
    else if (is(name, "Path"))
        a->path = (struct text){0};
    else if (is(name, "Max-Age"))
        take_age(a, value, from->now_s);
    else if (is(name, "Expires") && !a->has_age)
        (void)cookie_date(value.at, value.len, &a->until_s);
    else if (is(name, "Domain"))
        take_domain(a, value, from->name);
}

/* Section 5.1.4. */
static struct text default_path(const struct cookie_place *from)
{
    struct text t = {from->path, from->path_len};
    t = cut(&t, '?');
    while (t.len > 0 && t.at[t.len - 1] != '/')
        t.len--;
    return t.len > 1 && t.at[0] == '/' ? (struct text){t.at, t.len - 1} : (struct text){"/", 1};
}

/* ---- the jar ---- */

static size_t size_of(const struct cookie *c)
{
    return (size_t)c->name_len + c->value_len + c->path_len;
}

static size_t offset_of(const struct cookie_jar *j, size_t i)
{
    size_t at = 0;
    for (size_t k = 0; k < i; k++)
        at += size_of(&j->each[k]);
    return at;
}

static void drop(struct cookie_jar *j, size_t i)
{
    size_t at = offset_of(j, i), len = size_of(&j->each[i]);
    memmove(j->bytes + at, j->bytes + at + len, j->used - at - len);
    memmove(&j->each[i], &j->each[i + 1], (j->n - i - 1) * sizeof j->each[0]);
    j->used -= len;
    j->n--;
}

static bool same(const char *bytes, size_t len, struct text t)
{
    return len == t.len && memcmp(bytes, t.at, len) == 0;
}

/* The same host, name and path: it is replaced. */
static void drop_same(struct cookie_jar *j, const struct arriving *a, uint32_t host)
{
    size_t at = 0;
    for (size_t i = 0; i < j->n; i++) {
        const struct cookie *c = &j->each[i];
        const char *path = j->bytes + at + c->name_len + c->value_len;
        if (c->host == host && same(j->bytes + at, c->name_len, a->name) &&
            same(path, c->path_len, a->path)) {
            drop(j, i);
            return;
        }
        at += size_of(c);
    }
}

static void append(struct cookie_jar *j, struct text t)
{
    if (t.len > 0)
        memcpy(j->bytes + j->used, t.at, t.len);
    j->used += t.len;
}

static void keep(struct cookie_jar *j, const struct arriving *a, uint32_t host)
{
    size_t len = a->name.len + a->value.len + a->path.len;
    if (len > COOKIES_BYTES)
        return;
    if (j->bytes == NULL)
        j->bytes = mem_calloc(COOKIES_BYTES, 1);
    while (j->n == COOKIES_MAX || j->used + len > COOKIES_BYTES)
        drop(j, 0);
    j->each[j->n++] = (struct cookie){.host = host,
                                      .name_len = (uint16_t)a->name.len,
                                      .value_len = (uint16_t)a->value.len,
                                      .path_len = (uint16_t)a->path.len,
                                      .secure = a->secure,
                                      .until_s = a->until_s};
    append(j, a->name);
    append(j, a->value);
    append(j, a->path);
}

void cookies_set(struct cookie_jar *j, const struct cookie_place *from, const char *value,
                 size_t len)
{
    struct text rest = {value, len};
    struct text pair = cut(&rest, ';');
    struct arriving a = {.until_s = UINT64_MAX};
    if (pair.len == 0 || memchr(pair.at, '=', pair.len) == NULL)
        return;
    a.name = cut(&pair, '=');
    a.value = trim(pair);
    while (rest.len > 0)
        take_attribute(&a, cut(&rest, ';'), from);
    if (a.path.len == 0)
        a.path = default_path(from);
    if (a.name.len == 0 || a.foreign || (a.secure && !from->tls))
        return;
    drop_same(j, &a, from->host);
    if (a.until_s > from->now_s)
        keep(j, &a, from->host);
}

/* Section 5.1.4. */
static bool path_matches(struct text path, const char *cookie, size_t len)
{
    if (len > path.len || memcmp(path.at, cookie, len) != 0)
        return false;
    return len == path.len || cookie[len - 1] == '/' || path.at[len] == '/';
}

static bool goes(const struct cookie *c, const char *path, const struct cookie_place *to)
{
    struct text whole = {to->path, to->path_len};
    return c->host == to->host && (to->tls || !c->secure) && c->until_s > to->now_s &&
           path_matches(cut(&whole, '?'), path, c->path_len);
}

static size_t put(char *line, size_t at, const struct cookie *c, const char *bytes)
{
    if (at > 0) {
        memcpy(line + at, "; ", 2);
        at += 2;
    }
    memcpy(line + at, bytes, c->name_len);
    at += c->name_len;
    line[at++] = '=';
    memcpy(line + at, bytes + c->name_len, c->value_len);
    return at + c->value_len;
}

/* The longest path below `below`; 0 = none is left. */
static size_t next_length(const struct cookie_jar *j, size_t below)
{
    size_t longest = 0;
    for (size_t i = 0; i < j->n; i++)
        if (j->each[i].path_len < below && j->each[i].path_len > longest)
            longest = j->each[i].path_len;
    return longest;
}

size_t cookies_line(const struct cookie_jar *j, const struct cookie_place *to, char *line)
{
    size_t len = 0;
    for (size_t path = next_length(j, SIZE_MAX); path > 0; path = next_length(j, path)) {
        const char *bytes = j->bytes;
        for (size_t i = 0; i < j->n; bytes += size_of(&j->each[i++])) {
            const struct cookie *c = &j->each[i];
            if (c->path_len == path && goes(c, bytes + c->name_len + c->value_len, to))
                len = put(line, len, c, bytes);
        }
    }
    return len;
}

void cookies_clear(struct cookie_jar *j)
{
    mem_free(j->bytes);
    *j = (struct cookie_jar){0};
}
