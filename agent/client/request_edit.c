/* SPDX-License-Identifier: MIT */
#include "agent/client/request_edit.h"

#include <string.h>
#include <strings.h>

struct writing {
    char *to;
    size_t len;
    bool cookie_done;
};

static void put(struct writing *w, const char *bytes, size_t len)
{
    if (len > 0)
        memcpy(w->to + w->len, bytes, len);
    w->len += len;
}

static void put_text(struct writing *w, const char *s)
{
    put(w, s, strlen(s));
}

static size_t line_length(const char *at, size_t left)
{
    const char *end = memchr(at, '\n', left);
    return end != NULL ? (size_t)(end - at) + 1 : left;
}

/* The words of a request line; hammer made it. */
static struct request_text target_of(const struct request_bytes *from, size_t *method_len)
{
    const char *end = from->bytes + from->head_len;
    const char *space = memchr(from->bytes, ' ', from->head_len);
    const char *target = space != NULL ? space + 1 : end;
    const char *after = memchr(target, ' ', (size_t)(end - target));
    *method_len = (size_t)(target - from->bytes);
    return (struct request_text){target, (size_t)((after != NULL ? after : end) - target)};
}

struct request_text request_path(const struct request_bytes *from)
{
    static const char scheme[] = "http://";
    size_t method_len, skip = sizeof scheme - 1;
    struct request_text t = target_of(from, &method_len);
    if (t.len < skip || strncasecmp(t.at, scheme, skip) != 0)
        return t;
    while (skip < t.len && t.at[skip] != '/' && t.at[skip] != '?')
        skip++;
    return (struct request_text){t.at + skip, t.len - skip};
}

static bool named(const char *line, size_t len, const char *name)
{
    size_t n = strlen(name);
    return len > n && line[n] == ':' && strncasecmp(line, name, n) == 0;
}

static bool named_one_of(const char *line, size_t len, const char *const *names)
{
    for (; *names != NULL; names++)
        if (named(line, len, *names))
            return true;
    return false;
}

/* RFC 9110 section 15.4: what is said of a body that is not sent, and what is for one host only. */
static bool dropped(const struct request_edit *e, const char *line, size_t len)
{
    static const char *const of_body[] = {"Content-Length",    "Content-Type",
                                          "Content-Encoding",  "Content-Language",
                                          "Content-Location",  "Content-MD5",
                                          "Transfer-Encoding", "Expect",
                                          "Trailer",           NULL};
    static const char *const of_host[] = {"Authorization", "Cookie", NULL};
    return (e->as_get && named_one_of(line, len, of_body)) ||
           (e->host != NULL && named_one_of(line, len, of_host));
}

static void put_request_line(struct writing *w, const struct request_edit *e,
                             const struct request_bytes *from)
{
    size_t method_len;
    struct request_text t = target_of(from, &method_len);
    if (e->as_get)
        put_text(w, "GET ");
    else
        put(w, from->bytes, method_len);
    if (e->target.at != NULL) {
        put(w, e->prefix.at, e->prefix.len);
        put(w, e->target.at, e->target.len);
    } else {
        put(w, t.at, t.len);
    }
    put_text(w, " HTTP/1.1\r\n");
}

static void put_line(struct writing *w, const struct request_edit *e, const char *line, size_t len)
{
    if (dropped(e, line, len))
        return;
    if (e->host != NULL && named(line, len, "Host")) {
        put_text(w, "Host: ");
        put_text(w, e->host);
        put_text(w, "\r\n");
    } else if (e->cookie.len > 0 && !w->cookie_done && named(line, len, "Cookie")) {
        put(w, line, len - 2);
        put_text(w, "; ");
        put(w, e->cookie.at, e->cookie.len);
        put_text(w, "\r\n");
        w->cookie_done = true;
    } else {
        put(w, line, len);
    }
}

static void put_end(struct writing *w, const struct request_edit *e)
{
    if (e->cookie.len > 0 && !w->cookie_done) {
        put_text(w, "Cookie: ");
        put(w, e->cookie.at, e->cookie.len);
        put_text(w, "\r\n");
    }
    put_text(w, "\r\n");
}

void request_edit(const struct request_edit *e, const struct request_bytes *from, char *to,
                  struct request_bytes *out)
{
    struct writing w = {.to = to};
    size_t end = from->head_len >= 2 ? from->head_len - 2 : 0; /* the empty line */
    put_request_line(&w, e, from);
    for (size_t at = line_length(from->bytes, end); at < end;) {
        size_t len = line_length(from->bytes + at, end - at);
        put_line(&w, e, from->bytes + at, len);
        at += len;
    }
    put_end(&w, e);
    out->bytes = to;
    out->head_len = w.len;
    if (!e->as_get)
        put(&w, from->bytes + from->head_len, from->len - from->head_len);
    out->len = w.len;
}
