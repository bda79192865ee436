/* SPDX-License-Identifier: MIT */
/*
 * Is it a response, and how long is it? The same bytes are served to curl and to hammer: both take
 * them, with the same status and the same length, or both refuse them for the same kind of reason.
 * Where they differ, docs/http.md has a row in the table of "Compared with curl" that says so, and
 * it has no other rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hostile_script.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define CURL     "/usr/bin/curl"
#define LIMIT_MS 30000
#define HEADING  "## Compared with curl "

#define LENGTH(n) H11 "Content-Length: " #n "\r\n\r\n"

/* What follows the bytes. */
enum tail {
    TAIL_END,
    TAIL_HANG,
    TAIL_RESET
};

static char block_full[65536 + 8], block_over[65536 + 8];

static const struct sample {
    const char *name, *bytes;
    enum tail tail;
    bool head; /* a HEAD request */
} samples[] = {
    {"length", LENGTH(5) "hello", TAIL_HANG, false},
    {"length 0", LENGTH(0), TAIL_HANG, false},
    {"length, then closed", LENGTH(5) "hello", TAIL_END, false},
    {"length, then reset", LENGTH(5) "hello", TAIL_RESET, false},
    {"length with leading zeros", LENGTH(0005) "hello", TAIL_HANG, false},
    {"length with a plus sign", LENGTH(+5) "hello", TAIL_HANG, false},
    {"negative length", LENGTH(-5) "hello", TAIL_HANG, false},
    {"hexadecimal length", LENGTH(0x5) "hello", TAIL_HANG, false},
    {"empty length", H11 "Content-Length:\r\n\r\nhello", TAIL_END, false},
    {"length with text behind it", LENGTH(5 bytes) "hello", TAIL_HANG, false},
    {"length over 64 bits", LENGTH(99999999999999999999999) "hello", TAIL_END, false},
    {"length twice, the same", H11 "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG,
     false},
    {"length list, the same", H11 "Content-Length: 5, 5\r\n\r\nhello", TAIL_HANG, false},
    {"length twice, different", H11 "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", TAIL_END,
     false},
    {"length too large, closed", LENGTH(100) "hello", TAIL_END, false},
    {"length too large, reset", LENGTH(100) "hello", TAIL_RESET, false},
    {"length too large, silent", LENGTH(100) "hello", TAIL_HANG, false},
    {"length too small", LENGTH(2) "hello", TAIL_HANG, false},
    {"until the end", H11 "\r\nhello", TAIL_END, false},
    {"until the end, empty", H11 "\r\n", TAIL_END, false},
    {"until a reset", H11 "\r\nhello", TAIL_RESET, false},
    {"two responses", GOOD GOOD, TAIL_HANG, false},

    {"chunked", CHUNKED "5\r\nhello\r\n0\r\n\r\n", TAIL_HANG, false},
    {"chunked in capitals", H11 "Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
     TAIL_HANG, false},
    {"chunked, empty", CHUNKED "0\r\n\r\n", TAIL_HANG, false},
    {"chunk extension", CHUNKED "5;a=b\r\nhello\r\n0\r\n\r\n", TAIL_HANG, false},
    {"quoted chunk extension", CHUNKED "5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n", TAIL_HANG, false},
    {"space after a chunk size", CHUNKED "5 \r\nhello\r\n0\r\n\r\n", TAIL_HANG, false},
    {"space before a chunk size", CHUNKED " 5\r\nhello\r\n0\r\n\r\n", TAIL_END, false},
    {"chunk size in capitals", CHUNKED "A\r\nhellohello\r\n0\r\n\r\n", TAIL_HANG, false},
    {"chunk size with leading zeros", CHUNKED "0005\r\nhello\r\n0\r\n\r\n", TAIL_HANG, false},
    {"chunk size with 0x", CHUNKED "0x5\r\nhello\r\n0\r\n\r\n", TAIL_END, false},
    {"chunk size of no digits", CHUNKED "zz\r\nhello\r\n0\r\n\r\n", TAIL_END, false},
    {"empty chunk size", CHUNKED "\r\nhello\r\n0\r\n\r\n", TAIL_END, false},
    {"negative chunk size", CHUNKED "-5\r\nhello\r\n0\r\n\r\n", TAIL_END, false},
    {"chunk size over 64 bits", CHUNKED "fffffffffffffffff\r\nhello", TAIL_END, false},
    {"chunk longer than said", CHUNKED "2\r\nhello\r\n0\r\n\r\n", TAIL_END, false},
    {"chunk shorter than said", CHUNKED "9\r\nhello\r\n0\r\n\r\n", TAIL_END, false},
    {"chunk lines end with LF", CHUNKED "5\nhello\n0\n\n", TAIL_END, false},
    {"closed in a chunk", CHUNKED "5\r\nhel", TAIL_END, false},
    {"closed before the last chunk", CHUNKED "5\r\nhello\r\n", TAIL_END, false},
    {"closed in the last chunk", CHUNKED "5\r\nhello\r\n0\r\n", TAIL_END, false},
    {"trailer", CHUNKED "5\r\nhello\r\n0\r\nA: b\r\n\r\n", TAIL_HANG, false},
    {"length in a trailer", CHUNKED "5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n", TAIL_HANG,
     false},
    {"trailer without a colon", CHUNKED "5\r\nhello\r\n0\r\nA\r\n\r\n", TAIL_END, false},
    {"closed in a trailer", CHUNKED "5\r\nhello\r\n0\r\nA: b\r\n", TAIL_END, false},
    {"chunked and a length",
     H11 "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", TAIL_END,
     false},
    {"chunked twice", H11 "Transfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
     TAIL_END, false},
    {"identity coding", H11 "Transfer-Encoding: identity\r\n\r\nhello", TAIL_END, false},
    {"unknown coding", H11 "Transfer-Encoding: foo\r\n\r\nhello", TAIL_END, false},
    {"unknown coding, then chunked",
     H11 "Transfer-Encoding: foo, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", TAIL_END, false},
    {"chunked in HTTP/1.0",
     "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", TAIL_END,
     false},

    {"HEAD with a length", LENGTH(100), TAIL_HANG, true},
    {"HEAD of a chunked one", CHUNKED, TAIL_HANG, true},
    {"HEAD with a body", LENGTH(5) "hello", TAIL_HANG, true},
    {"204", "HTTP/1.1 204 No\r\n\r\n", TAIL_HANG, false},
    {"204 with a length", "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", TAIL_HANG, false},
    {"304 with a length", "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", TAIL_HANG, false},
    {"404", "HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG, false},
    {"503", "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", TAIL_HANG, false},
    {"redirect", "HTTP/1.1 302 F\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", TAIL_HANG, false},
    {"100 first", "HTTP/1.1 100 C\r\n\r\n" GOOD, TAIL_HANG, false},
    {"103 with fields first", "HTTP/1.1 103 E\r\nLink: <x>\r\n\r\n" GOOD, TAIL_HANG, false},
    {"100 with a length first", "HTTP/1.1 100 C\r\nContent-Length: 9\r\n\r\n" GOOD, TAIL_HANG,
     false},
    {"101 unasked", "HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", TAIL_END, false},
    {"closed after a 100", "HTTP/1.1 100 C\r\n\r\n", TAIL_END, false},
    {"silent after a 100", "HTTP/1.1 100 C\r\n\r\n", TAIL_HANG, false},

    {"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nhello", TAIL_END, false},
    {"HTTP/1.0 keep-alive",
     "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG,
     false},
    {"HTTP/1.2", "HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG, false},
    {"HTTP/2.0 in text", "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", TAIL_END, false},
    {"HTTP/0.9", "<html>hello</html>", TAIL_END, false},
    {"version in small letters", "http/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", TAIL_END,
     false},
    {"status 99", "HTTP/1.1 99 X\r\nContent-Length: 0\r\n\r\n", TAIL_END, false},
    {"status 099", "HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n", TAIL_END, false},
    {"status 0200", "HTTP/1.1 0200 X\r\nContent-Length: 0\r\n\r\n", TAIL_END, false},
    {"status 600", "HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n", TAIL_HANG, false},
    {"status 999", "HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n", TAIL_HANG, false},
    {"status of letters", "HTTP/1.1 abc X\r\nContent-Length: 0\r\n\r\n", TAIL_END, false},
    {"no reason, with its space", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG,
     false},
    {"no reason, no space", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG, false},
    {"two spaces before the status", "HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello", TAIL_END,
     false},
    {"letters of Latin-1 in the reason", "HTTP/1.1 200 \xe9t\xe9\r\nContent-Length: 5\r\n\r\nhello",
     TAIL_HANG, false},
    {"control character in the reason", "HTTP/1.1 200 O\x01K\r\nContent-Length: 5\r\n\r\nhello",
     TAIL_HANG, false},
    {"empty line first", "\r\n" GOOD, TAIL_HANG, false},
    {"space before the status line", " " GOOD, TAIL_END, false},

    {"lines end with LF", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", TAIL_HANG, false},
    {"folded field", H11 "A: b\r\n c\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG, false},
    {"fold after the status line", H11 " A: b\r\nContent-Length: 5\r\n\r\nhello", TAIL_END, false},
    {"space before a colon", H11 "Content-Length : 5\r\n\r\nhello", TAIL_END, false},
    {"no space after a colon", H11 "Content-Length:5\r\n\r\nhello", TAIL_HANG, false},
    {"tabs around a value", H11 "Content-Length:\t5\t\r\n\r\nhello", TAIL_HANG, false},
    {"field without a colon", H11 "nonsense\r\nContent-Length: 5\r\n\r\nhello", TAIL_END, false},
    {"field without a name", H11 ": x\r\nContent-Length: 5\r\n\r\nhello", TAIL_END, false},
    {"space in a field's name", H11 "A B: x\r\nContent-Length: 5\r\n\r\nhello", TAIL_END, false},
    {"control character in a value", H11 "A: b\x01\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG,
     false},
    {"letters of Latin-1 in a value", H11 "A: \xe9\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG,
     false},
    {"carriage return in a value", H11 "A: b\rc\r\nContent-Length: 5\r\n\r\nhello", TAIL_HANG,
     false},
    {"head of 65536 bytes", block_full, TAIL_HANG, false},
    {"head of 65537 bytes", block_over, TAIL_END, false},

    {"nothing, closed", "", TAIL_END, false},
    {"nothing, reset", "", TAIL_RESET, false},
    {"nothing, silent", "", TAIL_HANG, false},
    {"closed in the status line", "HTTP/1.1 200", TAIL_END, false},
    {"closed in a field", H11 "Content-Le", TAIL_END, false},
    {"closed after a field", H11 "Content-Length: 5\r\n", TAIL_END, false},
    {"garbage", "\x16\x03\x01\x01garbage\r\n\r\n", TAIL_END, false},
    {"a request", "GET / HTTP/1.1\r\n\r\n", TAIL_END, false},
};

#define N_SAMPLES ((int)(sizeof samples / sizeof samples[0]))

enum taken {
    TAKEN,
    CUT,     /* ended before its end */
    BROKEN,  /* no HTTP */
    TOO_LATE /* nothing more came */
};
static const char *const taken_names[] = {"takes it", "cut off", "not HTTP", "timeout"};

struct judgement {
    enum taken taken;
    int status;
    int64_t body; /* bytes; -1 = not known */
};

static void fill(char *block, size_t size)
{
    static const char begin[] = H11 "Content-Length: 0\r\nA: ", end[] = "\r\n\r\n";
    memset(block, 'a', size);
    memcpy(block, begin, sizeof begin - 1);
    memcpy(block + size - (sizeof end - 1), end, sizeof end);
}

struct scene {
    struct hostile_step script[4];
    const struct hostile_step *scripts[1];
    struct hostile_server *server;
    char url[64];
};

static void serve(const struct sample *s, struct scene *scene)
{
    static const enum hostile_op ops[] = {
        [TAIL_END] = HOSTILE_END, [TAIL_HANG] = HOSTILE_HANG, [TAIL_RESET] = HOSTILE_RESET};
    scene->script[0] = (struct hostile_step)READ;
    scene->script[1] = (struct hostile_step)SEND(s->bytes);
    scene->script[2] = (struct hostile_step){.op = ops[s->tail]};
    scene->script[3] = (struct hostile_step)END;
    scene->scripts[0] = scene->script;
    scene->server = hostile_start(scene->scripts, 1);
    snprintf(scene->url, sizeof scene->url, "http://127.0.0.1:%u/", hostile_port(scene->server));
}

static enum taken curl_says(int code)
{
    static const struct {
        int code;
        enum taken taken;
    } codes[] = {
        {0, TAKEN}, {18, CUT}, {52, CUT}, {56, CUT}, {28, TOO_LATE},
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].taken;
    return BROKEN;
}

static void ask_curl(const struct sample *s, struct judgement *j)
{
    struct process p;
    struct scene scene;
    serve(s, &scene);
    const char *args[] = {"-q",
                          "-sS",
                          "--noproxy",
                          "*",
                          "--http1.1",
                          "-o",
                          "/dev/null",
                          "--max-time",
                          "2",
                          "-w",
                          "%{http_code} %{size_download}",
                          scene.url,
                          s->head ? "-I" : NULL,
                          NULL};
    int code = process_run(&p, CURL, args, LIMIT_MS), status = 0;
    long body = -1;
    (void)sscanf(p.out, "%d %ld", &status, &body);
    *j = (struct judgement){curl_says(code), code == 0 ? status : 0, code == 0 ? body : -1};
    /* "Recv failure" is a reset; a chunk that is none has the same code. */
    if (code == 56 && strstr(p.err, "Recv failure") == NULL)
        j->taken = BROKEN;
    process_end(&p);
    hostile_stop(scene.server);
}

static int status_in(json_t *r)
{
    const char *code;
    json_t *count;
    json_object_foreach(report_at(r, "status_codes"), code, count)
    {
        if (json_integer_value(count) > 0)
            return atoi(code);
    }
    return 0;
}

static enum taken hammer_says(json_t *r)
{
    if (report_int(r, "totals.completed") == 1)
        return TAKEN;
    if (report_int(r, "totals.timeouts") == 1)
        return TOO_LATE;
    if (report_int(r, "totals.errors.protocol") == 1)
        return BROKEN;
    ck_assert_int_eq(report_int(r, "totals.errors.read"), 1);
    return CUT;
}

static void ask_hammer(const struct sample *s, struct judgement *j)
{
    struct process p;
    struct scene scene;
    serve(s, &scene);
    const char *args[] = {"run",     "--json", "-n", "1",  "-c", "1",
                          "-t",      "1",      "-T", "2s", "-m", s->head ? "HEAD" : "GET",
                          scene.url, NULL};
    (void)process_run(&p, "hammer-ctl", args, LIMIT_MS);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    *j = (struct judgement){hammer_says(r), status_in(r), -1};
    if (j->taken == TAKEN)
        j->body = report_int(r, "totals.body_bytes");
    json_decref(r);
    process_end(&p);
    hostile_stop(scene.server);
}

/* The table's row of that sample, "| name | curl | hammer | why |"; NULL = it has none. */
static char *row_of(const char *page, const char *name)
{
    char begin[96];
    const char *section = strstr(page, HEADING);
    ck_assert_msg(section != NULL, "no section \"%s\"", HEADING);
    const char *end = strstr(section + 1, "\n## ");
    snprintf(begin, sizeof begin, "\n| %s |", name);
    const char *row = strstr(section, begin);
    if (row == NULL || (end != NULL && row > end))
        return NULL;
    char *copy = mem_strdup(row + 1);
    copy[strcspn(copy, "\n")] = '\0';
    return copy;
}

static void describe(const struct judgement *j, char *buf, size_t cap)
{
    if (j->taken != TAKEN)
        snprintf(buf, cap, "%s", taken_names[j->taken]);
    else if (j->body >= 0)
        snprintf(buf, cap, "%s: %d, %d bytes", taken_names[TAKEN], j->status, (int)j->body);
    else
        snprintf(buf, cap, "%s: %d", taken_names[TAKEN], j->status);
}

static char *page;

static void read_page(void)
{
    char path[512];
    const char *here = TEST_DATA_DIR, *tests = here, *next;
    while ((next = strstr(tests + 1, "/tests/")) != NULL)
        tests = next;
    snprintf(path, sizeof path, "%.*s/docs/http.md", (int)(tests - here), here);
    page = file_read(path);
}

/* With a sanitizer one of so many is looked at: the parser has its own tests. */
static int slower(void)
{
    return process_sanitized() ? 6 : 1;
}

START_TEST(test_sample)
{
    struct judgement curl, hammer;
    const struct sample *s = &samples[_i * slower()];
    char a[64], b[64], want[192];
    ask_curl(s, &curl);
    ask_hammer(s, &hammer);
    if (strstr(s->bytes, "hunked") != NULL) /* hammer counts a body as it was sent */
        curl.body = hammer.body = -1;
    describe(&curl, a, sizeof a);
    describe(&hammer, b, sizeof b);
    char *row = row_of(page, s->name);
    snprintf(want, sizeof want, "| %s | %s | %s | ", s->name, a, b);
    if (strcmp(a, b) == 0)
        ck_assert_msg(row == NULL, "they agree now (%s): %s", a, row);
    else
        ck_assert_msg(row != NULL && strncmp(row, want, strlen(want)) == 0,
                      "docs/http.md has not: %s(and why)", want);
    mem_free(row);
}
END_TEST

/* Each row is one of a sample: else it says what nobody checks. */
START_TEST(test_table)
{
    size_t rows = 0, known = 0;
    const char *section = strstr(page, HEADING), *end = strstr(section + 1, "\n## ");
    for (const char *c = section; (c = strstr(c, "\n| ")) != NULL && (end == NULL || c < end); c++)
        rows++;
    for (int i = 0; i < N_SAMPLES; i++) {
        char *row = row_of(page, samples[i].name);
        known += row != NULL;
        mem_free(row);
    }
    ck_assert_uint_eq(rows, known + 1); /* and the head of the table */
}
END_TEST

/* What it makes of malformed responses changes from one to the next. */
static bool same_curl(void)
{
    char about[16], here[16] = "";
    const char *section = page != NULL ? strstr(page, HEADING) : NULL;
    FILE *f = popen(CURL " -q --version 2>&1", "r");
    if (section == NULL || sscanf(section, HEADING "%15s", about) != 1 || f == NULL)
        return true; /* a test will say so */
    int found = fscanf(f, "curl %15s", here);
    (void)pclose(f);
    if (found != 1)
        printf("skipped: %s is not installed (apt-get install curl)\n", CURL);
    else if (strncmp(here, about, strlen(about)) != 0)
        printf("skipped: the table is about curl %s, here is %s\n", about, here);
    else
        return true;
    return false;
}

int main(void)
{
    Suite *s = suite_create("curl");
    TCase *t = tcase_create("curl");
    read_page();
    fill(block_full, 65536);
    fill(block_over, 65537);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_table);
    if (same_curl())
        tcase_add_loop_test(t, test_sample, 0, N_SAMPLES / slower());
    suite_add_tcase(s, t);
    int code = check_main(s);
    mem_free(page);
    return code;
}
