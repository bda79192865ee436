/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_head.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

#define OK "HTTP/1.1 200 OK\r\n"

static const struct {
    const char *bytes, *parsed; /* NULL = not a header block */
    bool end;
    size_t rest;
} rows[] = {
    {OK "\r\n", OK "\r\n", true, 0},
    {"\r\n\r\n" OK "\r\n", "\r\n\r\n" OK "\r\n", true, 0},
    {OK "A:\tb\t\r\n\r\nbody\t\r\n x", OK "A: b \r\n\r\n", true, 9},
    {OK "A: b\r\n c\r\n\td\r\n\r\n", OK "A: b   c   d\r\n\r\n", true, 0},
    {OK "A:\r\n \r\n  b\r\n\r\n", OK "A:       b\r\n\r\n", true, 0},
    {OK " A: b\r\n\r\n", OK " A: b\r\n\r\n", true, 0}, /* for the parser to refuse */
    {OK "A: b\r\n", OK "A: b", false, 0},
    {OK "A: b\r", OK "A: b", false, 0},
    {"HTTP/1.1 20", "HTTP/1.1 20", false, 0},
    {"HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200\r\n\r\n", true, 0},
    {"HTTP/1.1 20 OK\r\n", NULL, false, 0},
    {"HTTP/1.1 20\r\n", NULL, false, 0},
    {"HTTP/1.1 2000 OK\r\n", NULL, false, 0},
    {"HTTP/1.1  200 OK\r\n", NULL, false, 0},
    {"HTTP/1.1 200 OK\n", NULL, false, 0},
    {OK "A: b\rc", NULL, false, 0},
    {OK "A: b\nc", NULL, false, 0},
    {OK "A: \x01", NULL, false, 0},
    {OK "A: \x7f", NULL, false, 0},
    {OK ": b", NULL, false, 0},
    {OK "\n", NULL, false, 0},
    {OK "\rA", NULL, false, 0},
    {"\rHTTP", NULL, false, 0},
};

struct out {
    char parsed[256];
    size_t len, taken;
    bool ok, end;
};

static struct out run(const char *bytes, uint64_t *rng)
{
    struct h1_head h;
    struct out o = {.ok = true};
    size_t len = strlen(bytes);
    h1_head_start(&h);
    while (o.ok && o.taken < len && h.line != H1_LINE_END) {
        size_t n = rng == NULL ? len : 1 + check_below(rng, 5);
        struct h1_head_piece p;
        n = n < len - o.taken ? n : len - o.taken;
        char *copy = malloc(n); /* exact, for the sanitizers */
        memcpy(copy, bytes + o.taken, n);
        o.ok = h1_head_take(&h, copy, n, &p);
        if (o.ok) {
            ck_assert(p.from + p.len <= p.taken && p.taken <= n);
            ck_assert(p.taken == n || h.line == H1_LINE_END);
            memcpy(o.parsed + o.len, p.held, p.held_len);
            memcpy(o.parsed + o.len + p.held_len, copy + p.from, p.len);
            o.len += p.held_len + p.len;
            o.taken += p.taken;
        }
        free(copy);
    }
    o.end = h.line == H1_LINE_END;
    return o;
}

START_TEST(test_row)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 200; i++) {
        struct out o = run(rows[_i].bytes, i == 0 ? NULL : &rng);
        ck_assert_int_eq(o.ok, rows[_i].parsed != NULL);
        if (!o.ok)
            continue;
        ck_assert_str_eq(o.parsed, rows[_i].parsed);
        ck_assert_int_eq(o.end, rows[_i].end);
        ck_assert_uint_eq(o.taken, strlen(rows[_i].bytes) - rows[_i].rest);
    }
}
END_TEST

/* Each byte at each place of a line: the look at eight at a time misses none and mixes up none. */
START_TEST(test_every_byte_everywhere)
{
    static const char start[] = OK "A-name:\xff\x80 ~~~~~~~~~~~";
    const size_t first = sizeof OK, last = sizeof start - 2;
    for (size_t at = first; at <= last; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char line[sizeof start];
            struct h1_head h;
            struct h1_head_piece p;
            memcpy(line, start, sizeof start);
            line[at] = (char)byte;
            h1_head_start(&h);
            bool text = byte == '\t' || (byte >= ' ' && byte != 0x7f);
            bool open = byte == '\r' && at == last; /* may become the line's end */
            ck_assert_int_eq(h1_head_take(&h, line, last + 1, &p), text || open);
            ck_assert(!text || line[at] == (byte == '\t' ? ' ' : (char)byte));
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_head");
    TCase *t = tcase_create("lines");
    tcase_add_loop_test(t, test_row, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(t, test_every_byte_everywhere);
    suite_add_tcase(s, t);
    return check_main(s);
}
