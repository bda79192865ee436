/* SPDX-License-Identifier: MIT */
#include "proto/plan.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define URL         "http://127.0.0.1:8080/"
#define WORDS_MAX   12
#define AGENTS_MAX  40
#define ROUNDS      1000

/* What `hammer-ctl run` does with its words: defaults, parse, URL, check. */
static enum err make(struct plan *p, const char *url, char *const *words, struct errmsg *msg)
{
    size_t n_rows, n_rest;
    const struct option_row *rows = plan_options(&n_rows);
    int argc = 1;
    while (argc < WORDS_MAX && words[argc] != NULL)
        argc++;
    plan_defaults(p);
    enum err e = option_parse(rows, n_rows, argc, words, p, NULL, 0, &n_rest, msg);
    if (e != ERR_OK)
        return e;
    p->url = mem_strdup(url);
    return plan_check(p, msg);
}

#define LINE(...)                                                                                  \
    (char *[WORDS_MAX])                                                                            \
    {                                                                                              \
        "run", __VA_ARGS__                                                                         \
    }

static struct plan make_ok(char *const *words)
{
    struct plan p;
    struct errmsg msg = {{0}};
    enum err e = make(&p, URL, words, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    return p;
}

START_TEST(test_defaults)
{
    struct plan p = make_ok(LINE("-r", "2000"));
    ck_assert_str_eq(p.method, "GET");
    ck_assert(p.rate.num == 2000 && p.rate.den == 1);
    ck_assert_uint_eq(p.duration_ns, 10 * NS_PER_SEC);
    ck_assert_uint_eq(p.requests, UINT64_MAX);
    ck_assert_uint_eq(p.timeout_ns, 2000 * NS_PER_MS);
    ck_assert_uint_eq(p.interval_ns, NS_PER_SEC);
    ck_assert_uint_eq(p.spin_ns, PLAN_SPIN_AUTO);
    ck_assert_uint_eq(p.dispatch_quantum_ns, 0);
    ck_assert(p.connections == 0 && p.threads == 0 && p.headers.n == 0 && p.body == NULL);
    plan_clear(&p);
}
END_TEST

START_TEST(test_every_option)
{
    struct plan p = make_ok(LINE("--qps=6/m", "-d2m", "-n1k", "-c20", "-t4", "-XPUT", "-HA: 1",
                                 "--data=x=y", "-T500", "--interval=250ms"));
    ck_assert(p.rate.num == 1 && p.rate.den == 10);
    ck_assert_uint_eq(p.duration_ns, 120 * NS_PER_SEC);
    ck_assert_uint_eq(p.requests, 1000);
    ck_assert(p.connections == 20 && p.threads == 4);
    ck_assert_str_eq(p.method, "PUT");
    ck_assert_str_eq(p.headers.items[0], "A: 1");
    ck_assert(p.body_len == 3 && memcmp(p.body, "x=y", 3) == 0);
    ck_assert_uint_eq(p.timeout_ns, 500 * NS_PER_MS);
    ck_assert_uint_eq(p.interval_ns, 250 * NS_PER_MS);
    plan_clear(&p);
    static const struct {
        char *word;
        uint64_t ns;
    } spins[] = {
        {"auto", PLAN_SPIN_AUTO}, {"0", 0}, {"50", 50000}, {"1ms", 1000000}, {"1s", PLAN_SPIN_MAX}};
    for (size_t i = 0; i < N_OF(spins); i++) {
        p = make_ok(LINE("-r1", "--spin", spins[i].word));
        ck_assert_uint_eq(p.spin_ns, spins[i].ns);
        plan_clear(&p);
    }
    p = make_ok(LINE("-R", "0.1", "-n", "5"));
    ck_assert(p.duration_ns == NS_NEVER && p.requests == 5);
    plan_clear(&p);
    p = make_ok(LINE("-r1", "--forever"));
    ck_assert(p.forever && p.duration_ns == NS_NEVER && p.requests == UINT64_MAX);
    plan_clear(&p);
    p = make_ok(LINE("-r1", "--data", ""));
    ck_assert_str_eq(p.method, "POST");
    ck_assert(p.body != NULL && p.body_len == 0);
    plan_clear(&p);
}
END_TEST

struct refused {
    char *words[WORDS_MAX];
    const char *text;
};

START_TEST(test_refused)
{
    static const struct refused cases[] = {
        {{"run", "-r0"}, "--rate 0: accepted is a rate above 0"},
        {{"run", "-r-5"}, "--rate -5: accepted is a rate"},
        {{"run", "-r1", "-c0"}, "--connections 0: accepted is a whole number from 1 to 1000000"},
        {{"run", "-r1", "-c1000001"}, "--connections 1000001: accepted is"},
        {{"run", "-r1", "-t257"}, "--threads 257: accepted is a whole number from 1 to 256"},
        {{"run", "-r1", "-d0"},
         "--duration 0: accepted is a duration from 1ms to 8760h (a bare "
         "number is seconds)"},
        {{"run", "-r1", "-d8761h"}, "--duration 8761h: accepted is"},
        {{"run", "-r1", "-d10x"}, "--duration 10x: unknown unit; accepted is a duration such as"},
        {{"run", "-r1", "-n0"}, "--requests 0: accepted is a whole number from 1 to"},
        {{"run", "-r1", "-n1.5"}, "--requests 1.5: accepted is a whole number"},
        {{"run", "-r1", "-T0"},
         "--timeout 0: accepted is a duration from 1ms to 1h (a bare number "
         "is milliseconds)"},
        {{"run", "-r1", "-T2h"}, "--timeout 2h: accepted is"},
        {{"run", "-r1", "--interval", "50ms"},
         "--interval 50ms: accepted is a duration from 100ms "
         "to 10s"},
        {{"run", "-r1", "--interval", "1"}, "--interval 1: a unit is missing; accepted is"},
        {{"run", "-r1", "--spin", "2s"}, "--spin 2s: accepted is auto, 0, or a time of at most 1s"},
        {{"run", "-r1", "--spin", "much"}, "--spin much: accepted is auto, 0, or"},
        {{"run", "-r1", "--spin", "-1"}, "--spin -1: accepted is auto"},
        {{"run", "-r1", "--forever", "-d5"}, "--forever with -d/--duration 5s: accepted is one of"},
        {{"run", "-r1", "--forever", "-n5"}, "--forever with -n/--requests 5: accepted is one of"},
        {{"run", "-r1", "--data", "x", "--body", "y"}, "--data with --body y: accepted is one of"},
        {{"run", "-r1", "-c3", "-t4"}, "--connections 3 with --threads 4: accepted is at least"},
        {{"run", "-r1", "-m", ""}, "--method \"\": accepted is a method such as GET"},
        {{"run", "-r1", "-m", "GE T"}, "--method GE T: accepted is a method"},
        {{"run", "-r1", "-m", "GET\r\nX:"}, "--method GET??X:: accepted is a method"},
        {{"run", "-r1", "-m", "AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDD"}, "at most 32 characters"},
        {{"run", "-r1", "-X", "CONNECT"}, "--method CONNECT: opens a tunnel"},
        {{"run", "-r1", "-H", ""}, "--header \"\": no colon; accepted is NAME: VALUE"},
        {{"run", "-r1", "-H", "Accept"}, "--header REDACTED: no colon"},
        {{"run", "-r1", "-H", ": x"}, "the name is not a token"},
        {{"run", "-r1", "-H", "A b: x"}, "--header REDACTED: the name is not a token"},
        {{"run", "-r1", "-H", "A : x"}, "the name is not a token"},
        {{"run", "-r1", "-H", "A: x\r\nB: y"}, "--header A: CR, LF or another control character"},
        {{"run", "-r1", "-H", "A: x\n"}, "--header A: CR, LF"},
        {{"run", "-r1", "-H", "A: \x7f"}, "--header A: CR, LF"},
        {{"run", "-r1", "-H", "content-length: 5"}, "--header content-length: is set by hammer"},
        {{"run", "-r1", "-H", "Transfer-Encoding: chunked"}, "--header Transfer-Encoding: is set"},
        {{"run", "-r1", "-H", "Host: a", "-H", "host: b"}, "--header host: given twice"},
        {{"run", "-r1", "--body", "/nonexistent/file"},
         "--body /nonexistent/file: cannot be "
         "opened: No such file or directory; "
         "accepted is a readable regular file"},
        {{"run", "-r1", "--body", "/"}, "--body /: not a regular file; accepted is"},
        {{"run", "-r1", "--body", "/dev/zero"}, "--body /dev/zero: not a regular file"},
        {{"run", "-r1", "--conections", "5"}, "did you mean --connections?"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan p;
        struct errmsg msg = {{0}};
        enum err e = make(&p, URL, cases[i].words, &msg);
        ck_assert_msg(e == ERR_INVALID || e == ERR_RANGE, "case %zu: %s", i, err_str(e));
        ck_assert_msg(strstr(msg.text, cases[i].text) != NULL, "case %zu: %s", i, msg.text);
        plan_clear(&p);
    }
}
END_TEST

START_TEST(test_headers_accepted)
{
    struct plan p = make_ok(LINE("-r1", "-HHost: example.org", "-HX:", "-HCookie: a\tb",
                                 "-HCookie: \xc3\xa9", "-H", "!#$%&'*+-.^_`|~9: x:y"));
    ck_assert_uint_eq(p.headers.n, 5);
    struct errmsg msg = {{0}};
    while (p.headers.n < PLAN_HEADERS_MAX)
        option_list_add(&p.headers, "A: b");
    ck_assert(plan_validate(&p, &msg) == ERR_OK);
    option_list_add(&p.headers, "A: b");
    ck_assert(plan_validate(&p, &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "--header given 65 times: accepted is at most 64"));
    option_list_clear(&p.headers);
    char *big = mem_calloc(PLAN_HEADER_LINE_MAX + 2, 1);
    memset(big, 'x', PLAN_HEADER_LINE_MAX);
    big[1] = ':';
    option_list_add(&p.headers, big);
    ck_assert(plan_validate(&p, &msg) == ERR_OK);
    big[PLAN_HEADER_LINE_MAX] = 'x';
    option_list_add(&p.headers, big);
    ck_assert(plan_validate(&p, &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "--header x: too long"));
    mem_free(big);
    plan_clear(&p);
}
END_TEST

/* A header's value may be a secret: no message repeats it. */
START_TEST(test_header_values_stay_secret)
{
    struct plan p;
    struct errmsg msg = {{0}};
    ck_assert(make(&p, URL, LINE("-r1", "-HAuthorization: Bearer s3cret\r"), &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "--header Authorization:"));
    ck_assert_ptr_null(strstr(msg.text, "s3cret"));
    plan_clear(&p);
}
END_TEST

START_TEST(test_urls)
{
    static const struct {
        const char *url, *text;
    } cases[] = {
        {NULL, "URL is missing: accepted is http://HOST[:PORT][/PATH]"},
        {"", "URL is missing"},
        {"http://a/b c",
         "URL http://a/b c: a space, a control or a non-ASCII character at byte 11"},
        {"http://a/\r\nX: y", "URL http://a/??X: y: a space, a control"},
        {"http://a/\x7f", "at byte 10"},
        {"http://a/\xc3\xa9", "percent-encoded"},
        {"httpss://a/", "unknown scheme"},
        {"ftp://a/", "ftp"},
        {"http://a:0/", "port"},
        {"http://user:secret@a/", "user information"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan p;
        struct errmsg msg = {{0}};
        ck_assert(make(&p, cases[i].url, LINE("-r1"), &msg) == ERR_INVALID);
        ck_assert_msg(strstr(msg.text, cases[i].text) != NULL, "%s", msg.text);
        plan_clear(&p);
    }
    struct plan p = make_ok(LINE("-r1"));
    struct errmsg msg = {{0}};
    mem_free(p.url);
    p.url = mem_calloc(PLAN_URL_MAX + 2, 1);
    memset(p.url, 'a', PLAN_URL_MAX);
    memcpy(p.url, "http://a/", 9);
    ck_assert(plan_validate(&p, &msg) == ERR_OK);
    p.url[PLAN_URL_MAX] = 'a';
    ck_assert(plan_validate(&p, &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "8193 bytes long"));
    plan_clear(&p);
}
END_TEST

static void write_file(const char *path, size_t len)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    uint8_t *bytes = mem_calloc(len, 1);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(i % 251);
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    mem_free(bytes);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(test_body_file)
{
    char dir[] = "/tmp/hammer-test-plan-XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/body", dir);
    static const size_t sizes[] = {0, 1, 100000, PLAN_BODY_MAX, PLAN_BODY_MAX + 1};
    for (size_t i = 0; i < N_OF(sizes); i++) {
        struct plan p;
        struct errmsg msg = {{0}};
        write_file(path, sizes[i]);
        enum err e = make(&p, URL, LINE("-r1", "--body", path), &msg);
        if (sizes[i] > PLAN_BODY_MAX) {
            ck_assert(e == ERR_INVALID);
            ck_assert_ptr_nonnull(strstr(msg.text, "/body: too big; accepted is"));
        } else {
            ck_assert_msg(e == ERR_OK, "%s", msg.text);
            ck_assert_str_eq(p.method, "POST");
            ck_assert_uint_eq(p.body_len, sizes[i]);
            ck_assert_ptr_nonnull(p.body);
            for (size_t at = 0; at < sizes[i]; at += 997)
                if (p.body[at] != at % 251)
                    ck_abort_msg("byte %zu", at);
        }
        plan_clear(&p);
    }
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* nobody writes: must not hang */
    struct plan p;
    struct errmsg msg = {{0}};
    ck_assert(make(&p, URL, LINE("-r1", "--body", path), &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "not a regular file"));
    plan_clear(&p);
    unlink(path);
    rmdir(dir);
}
END_TEST

/* What an agent is sent may be anything: every member out of its bounds is refused by name. */
START_TEST(test_validate_foreign_values)
{
    static const struct {
        size_t offset;
        bool wide;
        uint64_t value;
        const char *text;
    } cases[] = {
        {offsetof(struct plan, connections), false, 2000000, "--connections 2000000: accepted is"},
        {offsetof(struct plan, threads), false, 1000, "--threads 1000: accepted is"},
        {offsetof(struct plan, timeout_ns), true, 0, "--timeout 0s: accepted is"},
        {offsetof(struct plan, timeout_ns), true, UINT64_MAX, "--timeout 5124095h"},
        {offsetof(struct plan, interval_ns), true, 0, "--interval 0s: accepted is"},
        {offsetof(struct plan, interval_ns), true, UINT64_MAX, "--interval 5124095h"},
        {offsetof(struct plan, spin_ns), true, PLAN_SPIN_MAX + 1, "--spin 1"},
        {offsetof(struct plan, dispatch_quantum_ns), true, PLAN_QUANTUM_MIN - 1,
         "--dispatch-quantum 49.999us: accepted is 0, or"},
        {offsetof(struct plan, dispatch_quantum_ns), true, UINT64_MAX, "--dispatch-quantum 5124"},
        {offsetof(struct plan, duration_ns), true, 0, "--duration 0s: accepted is"},
        {offsetof(struct plan, duration_ns), true, UINT64_MAX, "the run has no end: accepted is"},
        {offsetof(struct plan, requests), true, 0, "--requests 0: accepted is"},
        {offsetof(struct plan, rate.num), true, RATE_MAX + 1, "--rate 1000000001/1s: accepted is"},
        {offsetof(struct plan, rate.den), true, 0, "--rate 1/0s: accepted is"},
        {offsetof(struct plan, rate.den), true, RATE_DEN_MAX + 1, "--rate 1/8589934593s: accepted"},
        {offsetof(struct plan, body_len), true, 1, "request body of 1 bytes: accepted is at most"},
        {offsetof(struct plan, method), true, 0, "--method \"\": accepted is"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan p = make_ok(LINE("-r1")), bad = p;
        struct errmsg msg = {{0}};
        memcpy((char *)&bad + cases[i].offset, &cases[i].value, cases[i].wide ? 8 : 4);
        ck_assert_msg(plan_validate(&bad, &msg) != ERR_OK, "case %zu", i);
        ck_assert_msg(strstr(msg.text, cases[i].text) != NULL, "case %zu: %s", i, msg.text);
        plan_clear(&p);
    }
}
END_TEST

START_TEST(test_copy_is_deep)
{
    struct plan a = make_ok(LINE("-r1", "--data", "xyz", "-HA: 1", "-HB: 2")), b;
    ck_assert(plan_copy(&b, &a) == ERR_OK);
    ck_assert(a.url != b.url && a.method != b.method && a.body != b.body && a.data != b.data);
    plan_clear(&a);
    ck_assert_ptr_null(a.url);
    ck_assert_str_eq(b.url, URL);
    ck_assert_str_eq(b.headers.items[1], "B: 2");
    ck_assert_str_eq(b.given.items[1], "data=xyz");
    ck_assert(b.body_len == 3 && memcmp(b.body, "xyz", 3) == 0);
    ck_assert(plan_validate(&b, NULL) == ERR_OK);
    plan_clear(&b);
    plan_clear(&b);
}
END_TEST

/* --- split --- */

static enum err split(uint32_t connections, uint32_t threads, const uint32_t *weights,
                      const uint32_t *cores, size_t n, struct plan_part *parts, struct errmsg *msg)
{
    struct plan p;
    plan_defaults(&p);
    p.connections = connections;
    p.threads = threads;
    return plan_split(&p, weights, cores, n, parts, msg);
}

START_TEST(test_split_examples)
{
    static const struct {
        uint32_t connections, threads;
        uint32_t weights[4], cores[4];
        size_t n;
        uint32_t expect_c[4], expect_t[4];
    } cases[] = {
        {0, 0, {1}, {2}, 1, {50}, {2}},
        {0, 0, {1}, {64}, 1, {50}, {4}},
        {0, 0, {1}, {0}, 1, {50}, {1}},
        {0, 64, {1, 1}, {2, 2}, 2, {64, 64}, {64, 64}},
        {20, 0, {1, 1}, {2, 2}, 2, {10, 10}, {2, 2}},
        {1, 0, {1}, {8}, 1, {1}, {1}},
        {3, 0, {1, 1}, {8, 8}, 2, {2, 1}, {2, 1}},
        {10, 0, {1, 1, 1}, {1, 1, 1}, 3, {4, 3, 3}, {1, 1, 1}},
        {10, 0, {1, 2, 1}, {1, 1, 1}, 3, {3, 5, 2}, {1, 1, 1}},
        {10, 0, {1000, 1, 1}, {4, 4, 4}, 3, {8, 1, 1}, {4, 1, 1}},
        {16, 4, {1000, 1, 1}, {1, 1, 1}, 3, {8, 4, 4}, {4, 4, 4}},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan_part parts[4];
        struct errmsg msg = {{0}};
        ck_assert_msg(split(cases[i].connections, cases[i].threads, cases[i].weights,
                            cases[i].cores, cases[i].n, parts, &msg) == ERR_OK,
                      "case %zu: %s", i, msg.text);
        for (size_t a = 0; a < cases[i].n; a++) {
            ck_assert_msg(parts[a].connections == cases[i].expect_c[a], "case %zu agent %zu: %u", i,
                          a, parts[a].connections);
            ck_assert_msg(parts[a].threads == cases[i].expect_t[a], "case %zu agent %zu", i, a);
        }
    }
}
END_TEST

START_TEST(test_split_refused)
{
    static const struct {
        uint32_t connections, threads, weights[2];
        size_t n;
        const char *text;
    } cases[] = {
        {7,
         4,
         {1, 1},
         2,
         "--connections 7 with --threads 4 on each of 2 agents: accepted is at "
         "least 8, one a thread"},
        {1, 0, {1, 1}, 2, "--connections 1 on 2 agents: accepted is at least 2, one an agent"},
        {0, 0, {1, 0}, 2, "weight 0 of agent 2: accepted is 1 or more"},
        {0, 0, {UINT32_MAX, 1}, 2, "weight 1 of agent 2"},
        {0, 0, {1, 1}, 0, "no agents: accepted is one or more"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan_part parts[2];
        struct errmsg msg = {{0}};
        ck_assert(split(cases[i].connections, cases[i].threads, cases[i].weights,
                        (uint32_t[]){1, 1}, cases[i].n, parts, &msg) == ERR_INVALID);
        ck_assert_msg(strstr(msg.text, cases[i].text) != NULL, "case %zu: %s", i, msg.text);
    }
}
END_TEST

/* Nobody is below its least; of two agents above it, neither is off its proportion by one or more
 * against the other (largest remainder). */
static void check_fair(const struct plan_part *a, const struct plan_part *b, uint32_t least)
{
    if (a->connections == least || b->connections == least)
        return;
    double x = (double)a->connections / a->weight, y = (double)b->connections / b->weight;
    double slack = 1.0 / a->weight + 1.0 / b->weight;
    ck_assert_msg(x - y < slack + 1e-9 && y - x < slack + 1e-9, "%u of weight %u, %u of weight %u",
                  a->connections, a->weight, b->connections, b->weight);
}

START_TEST(test_split_properties)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t weights[AGENTS_MAX], cores[AGENTS_MAX];
        struct plan_part parts[AGENTS_MAX];
        struct errmsg msg = {{0}};
        size_t n = 1 + check_below(&rng, AGENTS_MAX);
        uint32_t threads = (uint32_t)(check_below(&rng, 2) * check_below(&rng, 9));
        uint32_t connections = (uint32_t)(check_below(&rng, 3) * check_below(&rng, 400));
        for (size_t i = 0; i < n; i++) {
            weights[i] = 1 + (uint32_t)check_below(&rng, 1 + check_below(&rng, 1000));
            cores[i] = (uint32_t)check_below(&rng, 20);
        }
        enum err e = split(connections, threads, weights, cores, n, parts, &msg);
        uint32_t least = threads != 0 ? threads : 1;
        bool fits = connections == 0 || connections >= least * n;
        ck_assert_msg((e == ERR_OK) == fits, "%s", msg.text);
        if (!fits)
            continue;
        uint64_t sum = 0, workers = 0, next = 0;
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_eq(parts[i].first, next);
            ck_assert_uint_eq(parts[i].weight, weights[i]);
            ck_assert_uint_ge(parts[i].connections, least);
            ck_assert(parts[i].threads >= 1 && parts[i].threads <= parts[i].connections);
            ck_assert(threads == 0 || parts[i].threads == threads);
            sum += parts[i].connections;
            workers += threads != 0 ? threads : cores[i] == 0 ? 1 : cores[i] < 4 ? cores[i] : 4;
            next += weights[i];
            check_fair(&parts[0], &parts[i], least);
        }
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(parts[i].total, next);
        ck_assert_uint_eq(sum, connections != 0 ? connections : workers > 50 ? workers : 50);
    }
}
END_TEST

/* --- rows --- */

START_TEST(test_rows_are_sound)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_ptr_eq(option_find(rows, n, rows[i].name), &rows[i]);
        ck_assert(rows[i].offset < sizeof(struct plan));
        ck_assert_msg(rows[i].given_offset == offsetof(struct plan, given),
                      "--%s would be missing in the report's options", rows[i].name);
        ck_assert(rows[i].text != NULL && rows[i].aliases != NULL);
        ck_assert((rows[i].meta == NULL) == (rows[i].type == OPTION_FLAG));
        ck_assert_msg(strstr(rows[i].text, "  ") == NULL, "%s", rows[i].text);
        for (size_t j = 0; j < i; j++)
            ck_assert(rows[i].offset != rows[j].offset);
    }
}
END_TEST

START_TEST(test_help_width)
{
    size_t n, size = 0;
    char *text = NULL;
    const struct option_row *rows = plan_options(&n);
    FILE *out = open_memstream(&text, &size);
    option_help(rows, n, out);
    fclose(out);
    for (char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_msg(strcspn(line, "\n") <= 100, "%s", line);
    for (size_t i = 0; i < n; i++)
        ck_assert_ptr_nonnull(strstr(text, rows[i].name));
    free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("plan");
    TCase *tc = tcase_create("plan");
    tcase_set_timeout(tc, 30); /* sanitizers on a busy machine */
    tcase_add_test(tc, test_defaults);
    tcase_add_test(tc, test_every_option);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_headers_accepted);
    tcase_add_test(tc, test_header_values_stay_secret);
    tcase_add_test(tc, test_urls);
    tcase_add_test(tc, test_body_file);
    tcase_add_test(tc, test_validate_foreign_values);
    tcase_add_test(tc, test_copy_is_deep);
    tcase_add_test(tc, test_split_examples);
    tcase_add_test(tc, test_split_refused);
    tcase_add_test(tc, test_split_properties);
    tcase_add_test(tc, test_rows_are_sound);
    tcase_add_test(tc, test_help_width);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return check_main(suite());
}
