/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

/* What became of a stream: the state, and how many bytes the response took of it. */
struct result {
    enum h1_state state;
    int status;
    bool keep_alive;
    enum h1_error error;
    size_t used;
    uint64_t head, body; /* bytes */
};

struct row {
    const char *name;
    const char *bytes;
    bool head, eof; /* HEAD request; the connection ends after the bytes */
    enum h1_state state;
    int status; /* COMPLETE */
    bool keep_alive;
    enum h1_error error; /* BROKEN */
    size_t rest;         /* bytes left over */
};

#define OK(st, keep)     .state = H1_COMPLETE, .status = (st), .keep_alive = (keep)
#define BROKEN(e)        .state = H1_BROKEN, .error = (e)
#define MORE             .state = H1_MORE
#define H11              "HTTP/1.1 200 OK\r\n"
#define CHUNKED          H11 "Transfer-Encoding: chunked\r\n\r\n"
#define LENGTH(n, extra) H11 "Content-Length: " n "\r\n" extra "\r\n"

static const struct row rows[] = {
    /* Content-Length, RFC 9112 section 6.2 */
    {"length", LENGTH("5", "") "hello", OK(200, true)},
    {"length 0", LENGTH("0", ""), OK(200, true)},
    {"length short", LENGTH("5", "") "hell", MORE},
    {"length short, end", LENGTH("5", "") "hell", .eof = true, MORE},
    {"length and more", LENGTH("5", "") "hello!", OK(200, true), .rest = 1},
    {"two responses", LENGTH("2", "") "ab" LENGTH("2", "") "cd", OK(200, true), .rest = 40},
    {"length, tab behind", H11 "Content-Length: 5\t \r\n\r\nhello", OK(200, true)},
    {"length, tab before", H11 "Content-Length:\t5\r\n\r\nhello", OK(200, true)},
    {"length negative", LENGTH("-5", "") "hello", BROKEN(H1_BAD_RESPONSE)},
    {"length signed", LENGTH("+5", "") "hello", BROKEN(H1_BAD_RESPONSE)},
    {"length hex", LENGTH("0x5", "") "hello", BROKEN(H1_BAD_RESPONSE)},
    {"length empty", LENGTH("", "") "hello", BROKEN(H1_BAD_RESPONSE)},
    {"length over 2^64", LENGTH("18446744073709551621", "") "hello", BROKEN(H1_BAD_RESPONSE)},
    {"length list, same", LENGTH("5, 5", "") "hello", BROKEN(H1_BAD_RESPONSE)},
    {"length twice, same", LENGTH("5", "Content-Length: 5\r\n") "hello", BROKEN(H1_BAD_RESPONSE)},
    {"length twice, other", LENGTH("5", "Content-Length: 6\r\n") "hello!", BROKEN(H1_BAD_RESPONSE)},
    {"length folded", H11 "Content-Length: 1\r\n 0\r\n\r\n0123456789", BROKEN(H1_BAD_RESPONSE)},
    {"status 404", "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx", OK(404, true)},
    {"status 599", "HTTP/1.1 599 X\r\nContent-Length: 0\r\n\r\n", OK(599, true)},
    /* 205 frames like any other, RFC 9110 section 15.3.6 */
    {"205", "HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n", OK(205, true)},

    /* Responses without a body, RFC 9112 section 6.3 item 1 */
    {"HEAD with length", LENGTH("500", ""), .head = true, OK(200, true)},
    {"HEAD chunked", CHUNKED, .head = true, OK(200, true)},
    {"HEAD without length", H11 "\r\n", .head = true, OK(200, true)},
    {"HEAD with a body", LENGTH("2", "") "ab", .head = true, OK(200, true), .rest = 2},
    {"204", "HTTP/1.1 204 No\r\n\r\n", OK(204, true)},
    {"204 with length", "HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\n", OK(204, true)},
    {"304 with length", "HTTP/1.1 304 No\r\nContent-Length: 300\r\n\r\n", OK(304, true)},
    {"304 chunked", "HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n", OK(304, true)},

    /* 1xx before the final response, RFC 9110 section 15.2 */
    {"100", "HTTP/1.1 100 Continue\r\n\r\n" LENGTH("2", "") "ab", OK(200, true)},
    {"100 100 103",
     "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\nA: b\r\n\r\n"
     "HTTP/1.1 103 E\r\nLink: </a>\r\n\r\n" CHUNKED "0\r\n\r\n",
     OK(200, true)},
    {"102 with length", "HTTP/1.1 102 P\r\nContent-Length: 9\r\n\r\n" LENGTH("1", "") "a",
     OK(200, true)},
    {"100 that says close", "HTTP/1.1 100 C\r\nConnection: close\r\n\r\n" LENGTH("1", "") "a",
     OK(200, true)},
    {"100 only", "HTTP/1.1 100 Continue\r\n\r\n", MORE},
    {"100 only, end", "HTTP/1.1 100 Continue\r\n\r\n", .eof = true, MORE},
    {"100 to HEAD", "HTTP/1.1 100 C\r\n\r\n" LENGTH("2", ""), .head = true, OK(200, true)},
    {"101", "HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", BROKEN(H1_UPGRADE)},
    {"101 bare", "HTTP/1.1 101 S\r\n\r\n", BROKEN(H1_UPGRADE)},
    {"upgrade offered", LENGTH("1", "Upgrade: h2c\r\nConnection: upgrade\r\n") "a", OK(200, true)},

    /* Chunked, RFC 9112 section 7.1 */
    {"chunked", CHUNKED "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", OK(200, true)},
    {"chunked, any case", H11 "transfer-encoding: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n",
     OK(200, true)},
    {"chunked, tab behind", H11 "Transfer-Encoding: chunked\t\r\n\r\n1\r\na\r\n0\r\n\r\n",
     OK(200, true)},
    {"chunked, hex", CHUNKED "A\r\n0123456789\r\nb\r\n0123456789a\r\n000\r\n\r\n", OK(200, true)},
    {"chunked, more behind", CHUNKED "0\r\n\r\nHTTP", OK(200, true), .rest = 4},
    {"chunked without end", CHUNKED "5\r\nhello\r\n", MORE},
    {"chunked without end, end", CHUNKED "5\r\nhello\r\n", .eof = true, MORE},
    {"chunked, last CRLF missing", CHUNKED "0\r\n", .eof = true, MORE},
    {"chunked, size too small", CHUNKED "4\r\nhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, size too large", CHUNKED "6\r\nhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, no size", CHUNKED "\r\nhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, negative", CHUNKED "-5\r\nhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, space first", CHUNKED " 5\r\nhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, semicolon first", CHUNKED ";a\r\nhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, no hex", CHUNKED "g\r\nhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, over 2^64", CHUNKED "10000000000000000\r\nh", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, LF only", CHUNKED "5\nhello\n0\n\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, CR and no LF", CHUNKED "5\r;hello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"chunked, two bytes for CRLF", CHUNKED "5\r\nhelloXX0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"extension", CHUNKED "5;a=b;c\r\nhello\r\n0;last\r\n\r\n", OK(200, true)},
    {"extension, quoted", CHUNKED "5;a=\"b; c\\\" d\"\r\nhello\r\n0\r\n\r\n", OK(200, true)},
    {"extension, whitespace", CHUNKED "5 ; a = b\r\nhello\r\n0\t;x\r\n\r\n", OK(200, true)},
    {"size, space behind", CHUNKED "5   \r\nhello\r\n0  \r\n\r\n", OK(200, true)},
    {"extension, LF inside", CHUNKED "5;a\nhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"extension, two CR", CHUNKED "5;a\r\rhello\r\n0\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"trailers", CHUNKED "1\r\na\r\n0\r\nA: b\r\nC:\td\r\n\r\n", OK(200, true)},
    {"trailer has no say", CHUNKED "0\r\nConnection: close\r\nContent-Length: 7\r\n\r\n",
     OK(200, true)},
    {"trailer says nonsense", CHUNKED "0\r\nContent-Length: x\r\nTransfer-Encoding: y\r\n\r\n",
     OK(200, true)},
    {"trailer, folded", CHUNKED "0\r\nA: b\r\n\tc\r\n\r\n", OK(200, true)},
    {"trailer, fold first", CHUNKED "0\r\n A: b\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"trailer, LF only", CHUNKED "0\r\nA: b\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"trailer is no field", CHUNKED "0\r\nno field\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"gzip, chunked", H11 "Transfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
     OK(200, true)},
    {"chunked and length", H11 "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
     BROKEN(H1_BAD_RESPONSE)},
    {"length and chunked", LENGTH("5", "Transfer-Encoding: chunked\r\n") "0\r\n\r\n",
     BROKEN(H1_BAD_RESPONSE)},
    {"length and coding, not yet", H11 "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", MORE},
    {"length and coding, HEAD", LENGTH("5", "Transfer-Encoding: gzip\r\n"), .head = true,
     BROKEN(H1_BAD_RESPONSE)},

    /* Until the connection ends, RFC 9112 section 6.3 item 8 */
    {"until end", H11 "\r\nany bytes\r\n\r\nHTTP/1.1 200 OK", .eof = true, OK(200, false)},
    {"until end, empty", H11 "\r\n", .eof = true, OK(200, false)},
    {"until end, not yet", H11 "\r\nany bytes", MORE},
    {"gzip only", H11 "Transfer-Encoding: gzip\r\n\r\nabc", .eof = true, OK(200, false)},
    {"chunked, gzip", H11 "Transfer-Encoding: chunked, gzip\r\n\r\nabc", .eof = true,
     OK(200, false)},
    {"end in the head", "HTTP/1.1 200 OK\r\nContent-Le", .eof = true, MORE},
    {"end at once", "", .eof = true, MORE},

    /* Versions and persistence, RFC 9112 section 9.3 */
    {"close", LENGTH("1", "Connection: close\r\n") "a", OK(200, false)},
    {"close, tab behind", LENGTH("1", "Connection: close\t\r\n") "a", OK(200, false)},
    {"close in a list", LENGTH("1", "Connection: foo, Close\r\n") "a", OK(200, false)},
    {"keep-alive and close", LENGTH("1", "Connection: keep-alive, close\r\n") "a", OK(200, false)},
    {"keep-alive", LENGTH("1", "Connection: keep-alive\r\n") "a", OK(200, true)},
    {"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", OK(200, false)},
    {"1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na",
     OK(200, true)},
    {"1.0 keep-alive and close",
     "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 1\r\n\r\na",
     OK(200, false)},
    {"1.0 until end", "HTTP/1.0 200 OK\r\n\r\nabc", .eof = true, OK(200, false)},
    {"1.0 chunked",
     "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     OK(200, false)},
    {"1.2", "HTTP/1.2 200 OK\r\nContent-Length: 1\r\n\r\na", OK(200, true)},
    {"2.0", "HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\na", BROKEN(H1_BAD_RESPONSE)},
    {"0.9", "HTTP/0.9 200 OK\r\nContent-Length: 1\r\n\r\na", BROKEN(H1_BAD_RESPONSE)},

    /* Not a response */
    {"garbage", "\x16\x03\x01\x02\x00\x01\x00\x01", BROKEN(H1_BAD_RESPONSE)},
    {"text", "hello there\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"a request", "GET / HTTP/1.1\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"no status", "HTTP/1.1 OK\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"status 99", "HTTP/1.1 99 X\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"status 099", "HTTP/1.1 099 X\r\n\r\n", BROKEN(H1_BAD_STATUS)},
    {"status 0200", "HTTP/1.1 0200 OK\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"status 20, no reason", "HTTP/1.1 20\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"status, two spaces", "HTTP/1.1  200 OK\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"status 600", "HTTP/1.1 600 X\r\n\r\n", BROKEN(H1_BAD_STATUS)},
    {"status 1000", "HTTP/1.1 1000 X\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"space before colon", LENGTH("1", "A : b\r\n") "a", BROKEN(H1_BAD_RESPONSE)},
    {"tab before colon", LENGTH("1", "A\t: b\r\n") "a", BROKEN(H1_BAD_RESPONSE)},
    {"no colon", LENGTH("1", "A b\r\n") "a", BROKEN(H1_BAD_RESPONSE)},
    {"NUL in a value", .bytes = NULL, BROKEN(H1_BAD_RESPONSE)},
    {"no name", LENGTH("1", ": b\r\n") "a", BROKEN(H1_BAD_RESPONSE)},
    {"control in reason", "HTTP/1.1 204 N\x16\r\n\r\n", BROKEN(H1_BAD_RESPONSE)},
    {"LF after reason", "HTTP/1.1 200 OK\nContent-Length: 1\r\n\r\na", BROKEN(H1_BAD_RESPONSE)},
    {"LF after status line", H11 "\nContent-Length: 1\r\n\r\na", BROKEN(H1_BAD_RESPONSE)},
    {"LF after a field", H11 "A: b\nContent-Length: 1\r\n\r\na", BROKEN(H1_BAD_RESPONSE)},
    {"LF only", "HTTP/1.1 200 OK\nContent-Length: 1\n\na", BROKEN(H1_BAD_RESPONSE)},
    {"CR only", "HTTP/1.1 200 OK\rContent-Length: 1\r\ra", BROKEN(H1_BAD_RESPONSE)},
    {"CR CR LF at the end", H11 "Content-Length: 1\r\n\rXa", BROKEN(H1_BAD_RESPONSE)},
    {"folded value", LENGTH("1", "A: b\r\n\t c\r\n") "a", OK(200, true)},
    {"folded, blank line", LENGTH("1", "A: b\r\n \r\n") "a", OK(200, true)},
    {"folded before its value", H11 "Content-Length:\r\n 1\r\n\r\na", OK(200, true)},
    {"folded close", LENGTH("1", "Connection: a,\r\n close\r\n") "a", OK(200, false)},
    {"folded coding", H11 "Transfer-Encoding: gzip,\r\n\tchunked\r\n\r\n0\r\n\r\n", OK(200, true)},
    {"folded name", H11 "Content\r\n -Length: 1\r\n\r\na", BROKEN(H1_BAD_RESPONSE)},
    {"fold before the fields", H11 " A: b\r\nContent-Length: 1\r\n\r\na", BROKEN(H1_BAD_RESPONSE)},
    {"body looks folded", LENGTH("6", "") "a\r\n b\t", OK(200, true)},
    {"chunk looks folded", CHUNKED "6\r\na\r\n b\t\r\n0\r\n\r\n", OK(200, true)},
    {"no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na", OK(200, true)},
    {"empty reason", "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\na", OK(200, true)},
    {"tab and UTF-8 in reason", "HTTP/1.1 200 \xc3\xa9\tx\r\nContent-Length: 0\r\n\r\n",
     OK(200, true)},
    {"empty line first", "\r\n" LENGTH("1", "") "a", OK(200, true)},
};

#define N_ROWS ((int)(sizeof rows / sizeof rows[0]))

/* What may be dropped unread is only ever body. */
static size_t skip(struct h1_response *r, size_t n)
{
    uint64_t most = h1_response_skippable(r);
    n = n < most ? n : (size_t)most;
    if (n > 0)
        CHECK_MUST(h1_response_skip(r, n) == r->state);
    return n;
}

/* Feeds the stream in pieces of the sizes that `next` gives; with `known`, header blocks are looked
 * up there and bodies are dropped where possible. */
static struct result run(const char *bytes, size_t len, bool head, bool eof,
                         size_t (*next)(void *arg), void *arg, struct h1_known *known)
{
    struct h1_response r;
    char *copy = malloc(len + 1);
    size_t done = 0;
    memcpy(copy, bytes, len);
    h1_response_start(&r, head, known);
    while (done < len && r.state == H1_MORE) {
        size_t n = next(arg), used;
        n = n < len - done ? n : len - done;
        if (known != NULL && (used = skip(&r, n)) > 0) {
            done += used;
            continue;
        }
        enum h1_state st = h1_response_feed(&r, copy + done, n, &used);
        CHECK_MUST(used <= n && (used == n || st != H1_MORE));
        done += used;
    }
    if (eof)
        (void)h1_response_eof(&r);
    free(copy);
    CHECK_MUST(r.state != H1_COMPLETE || r.head_bytes + r.body_bytes <= done);
    return (struct result){r.state, r.status,     r.keep_alive, r.error,
                           done,    r.head_bytes, r.body_bytes};
}

static size_t whole(void *arg)
{
    (void)arg;
    return SIZE_MAX;
}

static size_t one(void *arg)
{
    (void)arg;
    return 1;
}

static size_t some(void *arg)
{
    uint64_t *rng = arg;
    return 1 + check_below(rng, check_below(rng, 2) == 0 ? 4 : 80);
}

static void check_same(const char *name, const struct result *a, const struct result *b)
{
    bool same = a->state == b->state && a->error == b->error;
    if (a->state == H1_COMPLETE)
        same = same && a->status == b->status && a->keep_alive == b->keep_alive &&
               a->used == b->used && a->head == b->head && a->body == b->body;
    ck_assert_msg(same, "%s: cut otherwise: state %d/%d status %d/%d error %d/%d used %zu/%zu",
                  name, (int)a->state, (int)b->state, a->status, b->status, (int)a->error,
                  (int)b->error, a->used, b->used);
}

static struct result every_way(const char *name, const char *bytes, size_t len, bool head, bool eof)
{
    uint64_t rng = check_seed();
    struct h1_known known = {0};
    struct result first = run(bytes, len, head, eof, whole, NULL, NULL);
    struct result other = run(bytes, len, head, eof, one, NULL, NULL);
    check_same(name, &first, &other);
    for (int i = 0; i < 20; i++) {
        other = run(bytes, len, head, eof, some, &rng, NULL);
        check_same(name, &first, &other);
        other = run(bytes, len, head, eof, i < 10 ? whole : some, &rng, &known);
        check_same(name, &first, &other);
    }
    return first;
}

START_TEST(test_row)
{
    static const char with_nul[] = LENGTH("1", "A: b\0c\r\n") "a";
    const struct row *row = &rows[_i];
    const char *bytes = row->bytes != NULL ? row->bytes : with_nul;
    size_t len = row->bytes != NULL ? strlen(bytes) : sizeof with_nul - 1;
    struct result r = every_way(row->name, bytes, len, row->head, row->eof);
    ck_assert_msg(r.state == row->state, "%s: state %d, not %d (error %d)", row->name, (int)r.state,
                  (int)row->state, (int)r.error);
    ck_assert_msg(r.error == row->error, "%s: error %d", row->name, (int)r.error);
    if (row->state != H1_COMPLETE)
        return;
    ck_assert_msg(r.status == row->status, "%s: status %d", row->name, r.status);
    ck_assert_msg(r.keep_alive == row->keep_alive, "%s: keep-alive %d", row->name, r.keep_alive);
    ck_assert_msg(r.used == len - row->rest, "%s: %zu of %zu used", row->name, r.used, len);
}
END_TEST

/* ---- limits ---- */

struct stream {
    char *bytes;
    size_t len;
};

static void add(struct stream *s, const char *text)
{
    size_t n = strlen(text);
    s->bytes = realloc(s->bytes, s->len + n);
    memcpy(s->bytes + s->len, text, n);
    s->len += n;
}

static void fill(struct stream *s, const char *text, size_t until)
{
    size_t n = strlen(text);
    s->bytes = realloc(s->bytes, until);
    for (size_t i = 0; s->len < until; i++)
        s->bytes[s->len++] = text[i % n];
}

static struct result limit_result(const char *name, struct stream *s)
{
    uint64_t rng = check_seed();
    struct result a = run(s->bytes, s->len, false, false, whole, NULL, NULL);
    struct result b = run(s->bytes, s->len, false, false, some, &rng, NULL);
    struct result c = run(s->bytes, s->len, false, false, one, NULL, NULL);
    check_same(name, &a, &b);
    check_same(name, &a, &c);
    free(s->bytes);
    *s = (struct stream){NULL, 0};
    return a;
}

/* A header block of exactly the limit is fine, one byte more is not. */
START_TEST(test_header_limit_is_exact)
{
    for (size_t over = 0; over < 2; over++) {
        struct stream s = {NULL, 0};
        add(&s, H11 "Content-Length: 1\r\nA: ");
        fill(&s, "x", H1_HEADER_MAX - 4 + over);
        add(&s, "\r\n\r\na");
        struct result r = limit_result("header limit", &s);
        ck_assert_int_eq(r.state, over ? H1_BROKEN : H1_COMPLETE);
        ck_assert_int_eq((int)r.error, over ? H1_HEADER_TOO_LARGE : 0);
    }
}
END_TEST

/* The final header block has its own limit, whatever came before it. */
START_TEST(test_interim_limit_is_a_sum)
{
    for (size_t over = 0; over < 2; over++) {
        struct stream s = {NULL, 0};
        add(&s, "HTTP/1.1 100 C\r\nA: ");
        fill(&s, "x", H1_HEADER_MAX / 2 - 4 + over);
        add(&s, "\r\n\r\nHTTP/1.1 103 C\r\nA: ");
        fill(&s, "x", H1_HEADER_MAX - 4 + over);
        add(&s, "\r\n\r\n" H11 "Content-Length: 1\r\nA: ");
        fill(&s, "x", 2 * H1_HEADER_MAX - 4 + over);
        add(&s, "\r\n\r\na");
        struct result r = limit_result("interim limit", &s);
        ck_assert_int_eq(r.state, over ? H1_BROKEN : H1_COMPLETE);
        ck_assert_int_eq((int)r.error, over ? H1_HEADER_TOO_LARGE : 0);
    }
}
END_TEST

START_TEST(test_trailer_limit_is_exact)
{
    for (size_t over = 0; over < 2; over++) {
        struct stream s = {NULL, 0};
        add(&s, CHUNKED "0\r\n");
        size_t start = s.len;
        add(&s, "A: ");
        fill(&s, "x", start + H1_HEADER_MAX - 4 + over);
        add(&s, "\r\n\r\n");
        struct result r = limit_result("trailer limit", &s);
        ck_assert_int_eq(r.state, over ? H1_BROKEN : H1_COMPLETE);
        ck_assert_int_eq((int)r.error, over ? H1_HEADER_TOO_LARGE : 0);
    }
}
END_TEST

START_TEST(test_chunk_line_limit_is_exact)
{
    for (size_t over = 0; over < 2; over++) {
        struct stream s = {NULL, 0};
        add(&s, CHUNKED);
        size_t start = s.len;
        add(&s, "1;");
        fill(&s, "x", start + H1_HEADER_MAX + H1_CHUNK_LINE_FREE - 2 - 2 + over);
        add(&s, "\r\na\r\n0\r\n");
        add(&s, "\r\n"); /* the last two bytes of the budget */
        struct result r = limit_result("chunk line limit", &s);
        ck_assert_int_eq(r.state, over ? H1_BROKEN : H1_COMPLETE);
        ck_assert_int_eq((int)r.error, over ? H1_HEADER_TOO_LARGE : 0);
    }
}
END_TEST

/* Small chunks without extensions are paid by nobody: a long body in one-byte chunks is legal. */
START_TEST(test_many_small_chunks)
{
    struct stream s = {NULL, 0};
    add(&s, CHUNKED);
    fill(&s, "1;ab\r\nx\r\n", s.len + 50000 * 9);
    add(&s, "0\r\n\r\n");
    size_t len = s.len;
    struct result r = limit_result("small chunks", &s);
    ck_assert_int_eq(r.state, H1_COMPLETE);
    ck_assert_uint_eq(r.used, len);
}
END_TEST

/* A hostile server must not make the generator spend time out of proportion: cost is linear in the
 * bytes. Ten times what this takes under a sanitizer; quadratic cost took minutes. */
START_TEST(test_cost_is_linear)
{
    static const char *const pieces[] = {"1\r\nx\r\n", "1;a\r\nx\r\n", "1 \r\nx\r\n"};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct stream s = {NULL, 0};
        add(&s, CHUNKED);
        fill(&s, pieces[i], 4u << 20);
        uint64_t begin = clock_thread_cpu_ns();
        struct result r = run(s.bytes, s.len, false, false, whole, NULL, NULL);
        ck_assert_int_eq(r.state, H1_MORE);
        ck_assert_uint_lt(clock_thread_cpu_ns() - begin, 10 * NS_PER_SEC);
        free(s.bytes);
    }
}
END_TEST

struct endless {
    const char *name, *start, *repeat;
};

static const struct endless endless[] = {
    {"fields", H11, "A: b\r\n"},
    {"one field", H11 "A: ", "x"},
    {"field name", H11, "x"},
    {"reason", "HTTP/1.1 200 ", "x"},
    {"1xx", "", "HTTP/1.1 100 Continue\r\n\r\n"},
    {"trailers", CHUNKED "0\r\n", "A: b\r\n"},
    {"chunk extension", CHUNKED "1;", "x"},
    {"chunk extensions", CHUNKED, "1;a=\"01234567890123456789012345678901234567890\"\r\nx\r\n"},
    {"chunk size zeros", CHUNKED, "0"},
    {"spaces in chunk line", CHUNKED "1", " "},
    {"empty lines", "", "\r\n"},
    {"folding", H11 "A: b\r\n", " x\r\n"},
    {"trailer folding", CHUNKED "0\r\nA: b\r\n", " x\r\n"},
};

START_TEST(test_endless_streams_end)
{
    const struct endless *e = &endless[_i];
    struct stream s = {NULL, 0};
    add(&s, e->start);
    fill(&s, e->repeat, strlen(e->start) + 600000);
    struct result r = limit_result(e->name, &s);
    ck_assert_msg(r.state == H1_BROKEN && r.error == H1_HEADER_TOO_LARGE, "%s: state %d error %d",
                  e->name, (int)r.state, (int)r.error);
}
END_TEST

/* Random damage never makes the result depend on the cut, and a response never takes bytes after
 * its end. */
START_TEST(test_damage_is_cut_independent)
{
    uint64_t rng = check_seed();
    struct h1_known known[2] = {{0}, {0}};
    for (int round = 0; round < 3000; round++) {
        const struct row *row = &rows[check_below(&rng, (uint64_t)N_ROWS)];
        if (row->bytes == NULL || row->bytes[0] == '\0')
            continue;
        size_t len = strlen(row->bytes);
        char *copy = malloc(len);
        memcpy(copy, row->bytes, len);
        for (uint64_t n = 1 + check_below(&rng, 3); n > 0; n--)
            copy[check_below(&rng, len)] = "\r\n\t ;:,0\"xH\xff"[check_below(&rng, 12)];
        bool head = check_below(&rng, 4) == 0, eof = check_below(&rng, 2) == 0;
        struct result a = run(copy, len, head, eof, whole, NULL, &known[head]);
        struct result b = run(copy, len, head, eof, one, NULL, NULL);
        struct result c = run(copy, len, head, eof, some, &rng, &known[head]);
        check_same(row->name, &a, &b);
        check_same(row->name, &a, &c);
        free(copy);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_response");
    TCase *t = tcase_create("framing");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_row, 0, N_ROWS);
    tcase_add_test(t, test_header_limit_is_exact);
    tcase_add_test(t, test_interim_limit_is_a_sum);
    tcase_add_test(t, test_trailer_limit_is_exact);
    tcase_add_test(t, test_chunk_line_limit_is_exact);
    tcase_add_test(t, test_many_small_chunks);
    tcase_add_test(t, test_cost_is_linear);
    tcase_add_loop_test(t, test_endless_streams_end, 0, sizeof endless / sizeof endless[0]);
    tcase_add_test(t, test_damage_is_cut_independent);
    suite_add_tcase(s, t);
    return check_main(s);
}
