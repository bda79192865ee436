/* SPDX-License-Identifier: MIT */
#include "tests/target/request.h"

#include <string.h>
#include <strings.h>

struct span {
    const char *at;
    size_t len;
};

static bool span_is(struct span s, const char *word)
{
    return s.len == strlen(word) && strncasecmp(s.at, word, s.len) == 0;
}

static struct span trim(struct span s)
{
    while (s.len > 0 && (*s.at == ' ' || *s.at == '\t'))
        s.at++, s.len--;
    while (s.len > 0 && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static bool take_length(struct httpd_request *r, struct span value)
{
    r->body_len = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9' || r->body_len > UINT64_MAX / 100)
            return false;
        r->body_len = r->body_len * 10 + (uint64_t)(value.at[i] - '0');
    }
    return value.len > 0;
}

static bool take_connection(struct httpd_request *r, struct span value)
{
    if (span_is(value, "close"))
        r->closes = true;
    return true;
}

static bool take_expect(struct httpd_request *r, struct span value)
{
    r->expects = span_is(value, "100-continue");
    return r->expects;
}

static bool refuse(struct httpd_request *r, struct span value)
{
    (void)r;
    (void)value;
    return false;
}

/* The few headers that matter; the rest is skipped. */
static const struct {
    const char *name;
    bool (*take)(struct httpd_request *r, struct span value);
} headers[] = {
    {"content-length", take_length},
    {"connection", take_connection},
    {"expect", take_expect},
    {"transfer-encoding", refuse},
};

static bool take_header(struct httpd_request *r, struct span line)
{
    const char *colon = memchr(line.at, ':', line.len);
    if (colon == NULL)
        return false;
    struct span name = {line.at, (size_t)(colon - line.at)};
    struct span value = trim((struct span){colon + 1, line.len - name.len - 1});
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        if (span_is(name, headers[i].name))
            return headers[i].take(r, value);
    return true;
}

static bool take_request_line(struct httpd_request *r, struct span line)
{
    const char *end = line.at + line.len;
    const char *method_end = memchr(line.at, ' ', line.len);
    if (method_end == NULL || method_end == line.at)
        return false;
    r->path = method_end + 1;
    const char *path_end = memchr(r->path, ' ', (size_t)(end - r->path));
    if (path_end == NULL || path_end == r->path)
        return false;
    r->path_len = (size_t)(path_end - r->path);
    struct span version = {path_end + 1, (size_t)(end - path_end - 1)};
    r->is_head = method_end - line.at == 4 && memcmp(line.at, "HEAD", 4) == 0;
    r->http10 = span_is(version, "HTTP/1.0");
    r->closes = r->http10;
    return r->http10 || span_is(version, "HTTP/1.1");
}

enum httpd_request_found httpd_request_find(const char *bytes, size_t len,
                                            struct httpd_request *out)
{
    const char *end = memmem(bytes, len, "\r\n\r\n", 4);
    if (end == NULL)
        return len >= HTTPD_REQUEST_HEAD_MAX ? HTTPD_REQUEST_BAD : HTTPD_REQUEST_PARTIAL;
    *out = (struct httpd_request){.head_len = (size_t)(end - bytes) + 4};
    bool first = true;
    for (const char *at = bytes; at < end + 2;) {
        const char *line_end = memmem(at, (size_t)(end + 2 - at), "\r\n", 2);
        struct span line = {at, (size_t)(line_end - at)};
        if (first ? !take_request_line(out, line) : !take_header(out, line))
            return HTTPD_REQUEST_BAD;
        first = false;
        at = line_end + 2;
    }
    return HTTPD_REQUEST_HEAD;
}
