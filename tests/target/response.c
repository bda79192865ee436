/* SPDX-License-Identifier: MIT */
#include "tests/target/response.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

#define HEAD_MAX  256
#define CHUNK_MAX 4096

static const char *reason(uint32_t status)
{
    static const struct {
        uint32_t status;
        const char *text;
    } known[] = {{200, "OK"},
                 {204, "No Content"},
                 {304, "Not Modified"},
                 {404, "Not Found"},
                 {429, "Too Many Requests"},
                 {500, "Internal Server Error"},
                 {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].status == status)
            return known[i].text;
    return "Status";
}

static bool status_has_body(uint32_t status)
{
    return status != 204 && status != 304;
}

static void append(struct httpd_response_text *t, const void *bytes, size_t len)
{
    t->bytes = mem_realloc(t->bytes, t->len + len + 1, 1);
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void append_text(struct httpd_response_text *t, const char *text)
{
    append(t, text, strlen(text));
}

static void append_head(struct httpd_response_text *t, uint32_t status,
                        const struct httpd_options *o, bool closes, bool chunked)
{
    char line[HEAD_MAX];
    snprintf(line, sizeof line, "HTTP/1.1 %" PRIu32 " %s\r\nServer: hammer-target\r\n", status,
             reason(status));
    append_text(t, line);
    if (status_has_body(status)) {
        if (chunked)
            snprintf(line, sizeof line, "Transfer-Encoding: chunked\r\n");
        else
            snprintf(line, sizeof line, "Content-Length: %" PRIu64 "\r\n", o->body_size);
        append_text(t, "Content-Type: text/plain\r\n");
        append_text(t, line);
    }
    append_text(t, closes ? "Connection: close\r\n\r\n" : "\r\n");
}

/* "hello, world\n" over and over, cut at the size. */
static void append_body(struct httpd_response_text *t, uint64_t from, uint64_t len)
{
    static const char hello[] = "hello, world\n";
    char part[CHUNK_MAX];
    for (uint64_t i = 0; i < len; i++)
        part[i] = hello[(from + i) % (sizeof hello - 1)];
    append(t, part, (size_t)len);
}

static void append_bodies(struct httpd_response_text *t, uint64_t size, bool chunked)
{
    char line[32];
    for (uint64_t from = 0; from < size;) {
        uint64_t len = size - from < CHUNK_MAX ? size - from : CHUNK_MAX;
        /* Small bodies too are cut in two, or chunks would hardly be tested. */
        if (chunked && len == size && size > 1)
            len = size / 2;
        snprintf(line, sizeof line, "%" PRIx64 "\r\n", len);
        if (chunked)
            append_text(t, line);
        append_body(t, from, len);
        if (chunked)
            append_text(t, "\r\n");
        from += len;
    }
    if (chunked)
        append_text(t, "0\r\n\r\n");
}

static void set_init(struct httpd_response_set *set, uint32_t status, const struct httpd_options *o)
{
    for (unsigned i = 0; i < 8; i++) {
        bool no_body = (i & 4) != 0, closes = (i & 2) != 0, plain = (i & 1) != 0;
        bool chunked = o->chunked && !plain;
        struct httpd_response_text *t = &set->text[no_body][closes][plain];
        append_head(t, status, o, closes, chunked);
        if (!no_body && status_has_body(status))
            append_bodies(t, o->body_size, chunked);
    }
}

static void set_fini(struct httpd_response_set *set)
{
    for (unsigned i = 0; i < 8; i++)
        mem_free(set->text[(i & 4) != 0][(i & 2) != 0][i & 1].bytes);
}

void httpd_responses_init(struct httpd_responses *rs, const struct httpd_options *o)
{
    *rs = (struct httpd_responses){.other_status = o->status};
    set_init(&rs->ok, 200, o);
    set_init(&rs->other, o->status, o);
    append_text(&rs->bad, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n"
                          "Connection: close\r\n\r\n");
    append_text(&rs->go_on, "HTTP/1.1 100 Continue\r\n\r\n");
}

void httpd_responses_fini(struct httpd_responses *rs)
{
    set_fini(&rs->ok);
    set_fini(&rs->other);
    mem_free(rs->bad.bytes);
    mem_free(rs->go_on.bytes);
    *rs = (struct httpd_responses){0};
}

const struct httpd_response_text *httpd_responses_get(const struct httpd_responses *rs,
                                                      struct httpd_response_kind kind)
{
    const struct httpd_response_set *set = kind.status == rs->other_status ? &rs->other : &rs->ok;
    return &set->text[kind.no_body][kind.closes][kind.plain];
}
