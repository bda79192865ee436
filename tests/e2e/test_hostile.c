/* SPDX-License-Identifier: MIT */
/* Whole runs against a server that answers with anything but a good response: each request ends in
 * exactly the counter that docs/http.md names, and only complete responses make samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/hostile_server.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define REQUESTS  5
#define OK_2      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define HEAD(len) "HTTP/1.1 200 OK\r\nContent-Length: " #len "\r\n\r\n"
#define CHUNKED   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define TEXT(s)   .bytes = (s)
#define BYTES(s)  .bytes = (s), .n = sizeof(s) - 1
#define LIMIT     65536

/* A whole response with a header block of exactly LIMIT bytes, and one byte over it. */
static char block_full[LIMIT + 8], block_over[LIMIT + 8];
/* Needs more than the sockets' buffers hold. */
static char body_file[64];

enum {
    MANY = 1,   /* a connection for each request instead of one for all */
    HASTY = 2,  /* timeout 300 ms instead of 5 s */
    UNREAD = 4, /* requests do not all reach the server's script */
    BIG = 8     /* POST 4 MiB */
};

struct attack {
    const char *name;
    struct hostile_step script[12];
    unsigned how;
    int ok, http_errors, read, write, protocol, timeouts, retries;
    const char *text; /* in the list of errors */
    const char *args[3];
};

#define ATTACKS (sizeof attacks / sizeof attacks[0])
#define READ                                                                                       \
    {                                                                                              \
        HOSTILE_READ, NULL, 0                                                                      \
    }
#define RST                                                                                        \
    {                                                                                              \
        HOSTILE_RESET, NULL, 0                                                                     \
    }
#define HANG                                                                                       \
    {                                                                                              \
        HOSTILE_HANG, NULL, 0                                                                      \
    }
#define FIN                                                                                        \
    {                                                                                              \
        HOSTILE_END, NULL, 0                                                                       \
    }
#define HALF                                                                                       \
    {                                                                                              \
        HOSTILE_HALF_CLOSE, NULL, 0                                                                \
    }
#define AGAIN                                                                                      \
    {                                                                                              \
        HOSTILE_AGAIN, NULL, 0                                                                     \
    }
#define SEND(s)                                                                                    \
    {                                                                                              \
        HOSTILE_SEND, TEXT(s)                                                                      \
    }
#define SEND_BYTES(s)                                                                              \
    {                                                                                              \
        HOSTILE_SEND, BYTES(s)                                                                     \
    }
#define TRICKLE(s, ms)                                                                             \
    {                                                                                              \
        HOSTILE_TRICKLE, (s), (ms)                                                                 \
    }
#define FLOOD(s)                                                                                   \
    {                                                                                              \
        HOSTILE_FLOOD, TEXT(s)                                                                     \
    }

static const struct attack attacks[] = {
    /* cut off */
    {"reset", {READ, RST}, .read = 5, .text = "reset"},
    {"closed", {READ, FIN}, .read = 5, .text = "closed before"},
    {"reset in the head", {READ, SEND("HTTP/1.1 200 OK\r\nConte"), RST}, .read = 5},
    {"closed in the head", {READ, SEND("HTTP/1.1 200 OK\r\nConte"), FIN}, .read = 5},
    {"reset in the body", {READ, SEND(HEAD(10) "abc"), RST}, .read = 5},
    {"closed in the body", {READ, SEND(HEAD(10) "abc"), FIN}, .read = 5},
    {"closed in a chunk", {READ, SEND(CHUNKED "5\r\nabc"), FIN}, .read = 5},
    {"closed before the last chunk", {READ, SEND(CHUNKED "3\r\nabc\r\n"), FIN}, .read = 5},
    {"closed in the trailer", {READ, SEND(CHUNKED "0\r\nA: b\r\n"), FIN}, .read = 5},
    {"closed after a 100", {READ, SEND("HTTP/1.1 100 Continue\r\n\r\n"), FIN}, .read = 5},
    {"half-close without an answer", {READ, HALF, HANG}, .read = 5},
    {"reset instead of the second answer", {READ, SEND(OK_2), READ, RST}, .ok = 5, .retries = 4},
    {"reset in the second answer",
     {READ, SEND(OK_2), READ, SEND(HEAD(10) "a"), RST},
     .ok = 3,
     .read = 2},
    /* without end */
    {"endless fields",
     {READ, SEND("HTTP/1.1 200 OK\r\n"), FLOOD("X-A: b\r\n")},
     .protocol = 5,
     .text = "header block over 65536 bytes"},
    {"endless field",
     {READ, SEND("HTTP/1.1 200 OK\r\nX: "), FLOOD("aaaaaaaaaaaaaaaa")},
     .protocol = 5,
     .text = "header block over 65536 bytes"},
    {"endless status line",
     {READ, SEND("HTTP/1.1 200 "), FLOOD("aaaaaaaaaaaaaaaa")},
     .protocol = 5,
     .text = "header block over 65536 bytes"},
    {"endless 1xx", {READ, FLOOD("HTTP/1.1 102 Processing\r\n\r\n")}, .protocol = 5},
    {"endless empty lines", {READ, FLOOD("\r\n\r\n\r\n\r\n")}, .protocol = 5},
    {"endless chunk extension", {READ, SEND(CHUNKED "5;a="), FLOOD("bbbbbbbb")}, .protocol = 5},
    {"endless trailer", {READ, SEND(CHUNKED "0\r\n"), FLOOD("X-A: b\r\n")}, .protocol = 5},
    {"endless chunk size", {READ, SEND(CHUNKED), FLOOD("00000000")}, .protocol = 5},
    {"endless body",
     {READ, SEND("HTTP/1.1 200 OK\r\n\r\n"), FLOOD("0123456789abcdef")},
     HASTY | MANY,
     .timeouts = 5},
    {"endless chunks", {READ, SEND(CHUNKED), FLOOD("1\r\na\r\n")}, HASTY | MANY, .timeouts = 5},
    {"largest header block", {READ, SEND(block_full), AGAIN}, MANY, .ok = 5},
    {"header block one byte larger",
     {READ, SEND(block_over), HANG},
     .protocol = 5,
     .text = "header block over 65536 bytes"},
    /* no HTTP/1 */
    {"garbage", {READ, SEND("\x01\x80\xff garbage\r\n\r\n"), HANG}, .protocol = 5},
    {"request", {READ, SEND("GET / HTTP/1.1\r\n\r\n"), HANG}, .protocol = 5},
    {"HTTP/2 preface", {READ, SEND("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), HANG}, .protocol = 5},
    {"HTTP/2 settings", {READ, SEND_BYTES("\0\0\0\4\0\0\0\0\0"), HANG}, .protocol = 5},
    {"TLS alert", {READ, SEND_BYTES("\x15\x03\x01\0\x02\x02\x46"), FIN}, .protocol = 5},
    {"version 2",
     {READ, SEND("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"), HANG},
     .protocol = 5},
    {"version 0.9", {READ, SEND("<html>hello</html>"), FIN}, .protocol = 5},
    {"status 099",
     {READ, SEND("HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n"), HANG},
     .protocol = 5},
    {"status 700",
     {READ, SEND("HTTP/1.1 700 X\r\nContent-Length: 0\r\n\r\n"), HANG},
     .protocol = 5},
    {"status 101",
     {READ, SEND("HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), HANG},
     .protocol = 5},
    {"two lengths",
     {READ, SEND("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"), HANG},
     .protocol = 5},
    {"negative length", {READ, SEND(HEAD(-5) "hello"), HANG}, .protocol = 5},
    {"length over 64 bits", {READ, SEND(HEAD(99999999999999999999999)), HANG}, .protocol = 5},
    {"bad chunk size", {READ, SEND(CHUNKED "zz\r\nab\r\n0\r\n\r\n"), HANG}, .protocol = 5},
    {"chunk size over 64 bits",
     {READ, SEND(CHUNKED "fffffffffffffffff\r\na"), HANG},
     .protocol = 5},
    {"chunk longer than said", {READ, SEND(CHUNKED "2\r\nabcd\r\n0\r\n\r\n"), HANG}, .protocol = 5},
    /* late */
    {"silence", {READ, HANG}, HASTY | MANY, .timeouts = 5},
    {"not even read", {{HOSTILE_STALL, NULL, 0}}, HASTY | MANY | UNREAD, .timeouts = 5},
    {"length too large", {READ, SEND(HEAD(100) "abc"), HANG}, HASTY | MANY, .timeouts = 5},
    {"only a 100",
     {READ, SEND("HTTP/1.1 100 Continue\r\n\r\n"), HANG},
     HASTY | MANY,
     .timeouts = 5},
    {"too slow", {READ, TRICKLE(OK_2, 50), HANG}, HASTY | MANY, .timeouts = 5},
    {"slow, but in time", {READ, TRICKLE(OK_2, 5), AGAIN}, MANY, .ok = 5},
    {"large body not read", {{HOSTILE_STALL, NULL, 0}}, HASTY | MANY | UNREAD | BIG, .timeouts = 5},
    /* strange, but responses */
    {"length too small",
     {READ, SEND(HEAD(2) "hi and more"), HANG},
     MANY,
     .ok = 5,
     .text = "bytes after the end"},
    {"three answers",
     {READ, SEND(OK_2 OK_2 OK_2), HANG},
     MANY,
     .ok = 5,
     .text = "bytes after the end"},
    {"half-close after the answer", {READ, SEND(OK_2), HALF, HANG}, MANY, .ok = 5},
    {"close after each answer", {READ, SEND(OK_2), FIN}, MANY, .ok = 5},
    {"reset after each answer", {READ, SEND(OK_2), RST}, MANY, .ok = 5},
    {"body after HEAD",
     {READ, SEND(OK_2), HANG},
     .ok = 5,
     .text = "bytes after the end",
     .args = {"-m", "HEAD"}},
    {"HEAD", {READ, SEND(HEAD(100)), AGAIN}, .ok = 5, .args = {"-m", "HEAD"}},
    {"redirect",
     {READ, SEND("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"), AGAIN},
     MANY,
     .ok = 5},
    {"redirect to itself, until closed",
     {READ, SEND("HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\nbye"), FIN},
     MANY,
     .ok = 5},
    {"204", {READ, SEND("HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n"), AGAIN}, MANY, .ok = 5},
    {"304", {READ, SEND("HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n"), AGAIN}, MANY, .ok = 5},
    {"404 and 500",
     {READ, SEND("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"), AGAIN},
     .http_errors = 5},
    {"HTTP/1.0", {READ, SEND("HTTP/1.0 200 OK\r\n\r\nbody"), FIN}, MANY, .ok = 5},
    {"HTTP/1.0 keep-alive",
     {READ, SEND("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"), AGAIN},
     MANY,
     .ok = 5},
    {"many 1xx",
     {READ, SEND("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\n" OK_2), AGAIN},
     MANY,
     .ok = 5},
    {"chunked",
     {READ, SEND(CHUNKED "5;x=\"y\"\r\nhello\r\n0\r\nA: b\r\n\r\n"), AGAIN},
     MANY,
     .ok = 5},
    {"413 before the body is read",
     {{HOSTILE_READ, NULL, 0},
      SEND("HTTP/1.1 413 Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
      HANG},
     BIG,
     .http_errors = 5},
};

static int counter(json_t *r, const char *path)
{
    char full[64];
    snprintf(full, sizeof full, "totals.%s", path);
    return (int)report_int(r, full);
}

/* One run: attacks with the same expectation, each on a connection of its own and with one request;
 * or one attack with REQUESTS. */
struct battle {
    const struct attack *attacks[ATTACKS];
    const struct hostile_step *scripts[ATTACKS];
    size_t n;
    int requests;
};

static int expected(const struct battle *b, int of_five)
{
    return of_five * b->requests / REQUESTS;
}

static bool counters_hold(const struct battle *b, json_t *r)
{
    const struct attack *a = b->attacks[0];
    const struct {
        const char *path;
        int expected;
    } rows[] = {
        {"scheduled", b->requests},
        {"sent", b->requests},
        {"ok", expected(b, a->ok)},
        {"http_errors", expected(b, a->http_errors)},
        {"errors.read", expected(b, a->read)},
        {"errors.write", 0},
        {"errors.connect", 0},
        {"errors.protocol", expected(b, a->protocol)},
        {"timeouts", expected(b, a->timeouts)},
        {"retries", a->retries},
        {"unfinished", 0},
        {"generator_faults.fd_limit", 0},
    };
    bool hold = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int is = counter(r, rows[i].path);
        if (is != rows[i].expected)
            printf("%s%s: %s is %d, not %d\n", a->name, b->n > 1 ? " and others" : "", rows[i].path,
                   is, rows[i].expected);
        hold = hold && is == rows[i].expected;
    }
    report_check_ledger(r);
    return hold;
}

static void run_ctl(const struct battle *b, uint16_t port, struct process *p)
{
    const struct attack *a = b->attacks[0];
    char url[64], n[16];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", (unsigned)port);
    snprintf(n, sizeof n, "%d", b->requests);
    const char *timeout = a->how & HASTY ? "300" : "5000";
    const char *connections = a->how & MANY ? n : "1";
    const char *args[24] = {"run", "-r",    "100",    "-n", n,    "-t",       "1",
                            "-T",  timeout, "--json", url,  "-c", connections};
    size_t k = 13;
    if (a->how & BIG) {
        args[k++] = "--body";
        args[k++] = body_file;
    }
    for (size_t i = 0; i < 3 && a->args[i] != NULL; i++)
        args[k++] = a->args[i];
    int code = process_run(p, "hammer-ctl", args, 20000);
    bool good = a->ok + a->http_errors > 0 ? code == 0 || code == 4 : code == 3;
    ck_assert_msg(good, "%s: exit code %d: %s", a->name, code, p->err);
}

static void check_texts(const struct battle *b, const char *report)
{
    for (size_t i = 0; i < b->n; i++) {
        const char *text = b->attacks[i]->text;
        ck_assert_msg(text == NULL || strstr(report, text) != NULL, "%s: no text '%s'",
                      b->attacks[i]->name, text);
    }
}

static bool fight(const struct battle *b)
{
    struct hostile_server *h = hostile_start(b->scripts, b->n);
    struct process p;
    run_ctl(b, hostile_port(h), &p);
    json_t *r = report_parse(p.out);
    bool won = counters_hold(b, r);
    if (won)
        check_texts(b, p.out);
    int requests = (int)hostile_requests(h);
    if (won && !(b->attacks[0]->how & UNREAD))
        ck_assert_int_eq(requests, b->requests + b->attacks[0]->retries);
    /* One connection more for each answer that cannot be followed by another: no storm. */
    ck_assert_uint_le(hostile_accepted(h), 2 * (uint64_t)b->requests + 1);
    json_decref(r);
    process_end(&p);
    hostile_stop(h);
    return won;
}

static bool alike(const struct attack *a, const struct attack *b)
{
    return a->how == b->how && a->ok == b->ok && a->http_errors == b->http_errors &&
           a->read == b->read && a->protocol == b->protocol && a->timeouts == b->timeouts &&
           a->retries == b->retries && a->args[0] == NULL && b->args[0] == NULL;
}

/* Others can share its run. */
static bool sociable(const struct attack *a)
{
    return !(a->how & BIG) && a->retries == 0 && a->args[0] == NULL && (a->ok == 0 || a->ok == 5);
}

static bool fight_alone(const struct attack *a)
{
    struct battle b = {{a}, {a->script}, 1, REQUESTS};
    return fight(&b);
}

/* All that are expected to end like this one, unless an earlier one took it along. */
START_TEST(test_attacks)
{
    struct battle b = {.n = 0};
    for (size_t i = 0; i < ATTACKS; i++) {
        bool same = i == (size_t)_i || (sociable(&attacks[i]) && sociable(&attacks[_i]) &&
                                        alike(&attacks[i], &attacks[_i]));
        if (same && i < (size_t)_i)
            return;
        if (!same)
            continue;
        b.attacks[b.n] = &attacks[i];
        b.scripts[b.n++] = attacks[i].script;
    }
    b.requests = b.n == 1 ? REQUESTS : (int)b.n;
    if (fight(&b))
        return;
    for (size_t i = 0; b.n > 1 && i < b.n; i++) /* whose fault was it? */
        (void)fight_alone(b.attacks[i]);
    ck_abort_msg("%s%s: see above", b.attacks[0]->name, b.n > 1 ? " or alike" : "");
}
END_TEST

/* --- memory --------------------------------------------------------------------------------- */

static struct agent_process agent;

static void stop_agent(void)
{
    if (agent.process.pid != 0)
        agent_stop(&agent);
    memset(&agent, 0, sizeof agent);
}

static long peak_kib(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)agent.process.pid);
    char *text = file_read(path), *at = text != NULL ? strstr(text, "VmHWM:") : NULL;
    long kib = at != NULL ? strtol(at + 6, NULL, 10) : -1;
    free(text);
    return kib;
}

/* Runs two requests and returns how many bytes were read. */
static int64_t run_on_agent(const struct hostile_step *script, int ok, int protocol)
{
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    struct process p;
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", (unsigned)hostile_port(h));
    const char *args[] = {"run", "--agents", agent.address, "-n", "2",   "-r", "20",     "-c",
                          "2",   "-t",       "1",           "-T", "20s", url,  "--json", NULL};
    process_run(&p, "hammer-ctl", args, 60000);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(counter(r, "ok"), ok);
    ck_assert_int_eq(counter(r, "errors.protocol"), protocol);
    int64_t bytes = report_int(r, "totals.bytes_in");
    json_decref(r);
    process_end(&p);
    hostile_stop(h);
    return bytes;
}

/* What a server sends is never kept: not 100 MB of body, not a header without end. */
START_TEST(test_memory_is_bounded)
{
    static const struct hostile_step small[] = {READ, SEND(OK_2), AGAIN};
    static const struct hostile_step large[] = {
        READ, SEND(HEAD(104857600)), {HOSTILE_FLOOD, "0123456789abcdef", 104857600}, AGAIN};
    static const struct hostile_step endless[] = {READ, SEND("HTTP/1.1 200 OK\r\n"),
                                                  FLOOD("X-A: b\r\n")};
    agent_start(&agent, NULL);
    run_on_agent(small, 2, 0);
    long before = peak_kib();
    ck_assert_int_gt(before, 0);
    ck_assert_int_eq(run_on_agent(large, 2, 0), 2 * (104857600 + (int64_t)strlen(HEAD(104857600))));
    ck_assert_int_lt(run_on_agent(endless, 0, 2), 2 << 20);
    long after = peak_kib();
    if (!process_sanitized()) /* sanitizers keep freed memory */
        ck_assert_msg(after <= before + 4096, "%ld KiB, then %ld KiB", before, after);
}
END_TEST

static void fill_block(char *buf, size_t block)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: ";
    memcpy(buf, head, sizeof head - 1);
    memset(buf + sizeof head - 1, 'a', block - 4 - (sizeof head - 1));
    memcpy(buf + block - 4, "\r\n\r\nhi", 7);
}

static void make_body(void)
{
    char block[4096];
    memset(block, 'b', sizeof block);
    strcpy(body_file, "/tmp/hammer-body-XXXXXX");
    FILE *f = fdopen(mkstemp(body_file), "w");
    for (int i = 0; f != NULL && i < 1024; i++)
        fwrite(block, sizeof block, 1, f);
    if (f == NULL || fclose(f) != 0)
        abort();
}

static void remove_body(void)
{
    remove(body_file);
}

int main(void)
{
    fill_block(block_full, LIMIT);
    fill_block(block_over, LIMIT + 1);
    Suite *s = suite_create("hostile");
    TCase *t = tcase_create("hostile");
    tcase_set_timeout(t, 60);
    tcase_add_unchecked_fixture(t, make_body, remove_body);
    tcase_add_checked_fixture(t, NULL, stop_agent);
    tcase_add_loop_test(t, test_attacks, 0, (int)ATTACKS);
    tcase_add_test(t, test_memory_is_bounded);
    suite_add_tcase(s, t);
    return check_main(s);
}
