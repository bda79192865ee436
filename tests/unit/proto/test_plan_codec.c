/* SPDX-License-Identifier: MIT */
/* The table is static: the module is included. */
#include "proto/plan_codec.c"

#include <stdio.h>

#include "common/clock.h"
#include "proto/msg.h"
#include "tests/lib/check_main.h"
#include "tests/lib/mem_watch.h"
#include "tests/lib/pinned.h"
#include "tests/lib/protocol_doc.h"
#include "tests/lib/test_pem.h"

static char *random_line(uint64_t *rng, const char *prefix, size_t max)
{
    size_t start = strlen(prefix), len = start + check_below(rng, max - start + 1);
    char *s = mem_calloc(len + 1, 1);
    memcpy(s, prefix, start);
    for (size_t i = start; i < len; i++)
        s[i] = (char)('a' + check_below(rng, 26)); /* legal everywhere */
    return s;
}

static void random_request(uint64_t *rng, struct plan *p)
{
    static const char *const methods[] = {"GET", "POST", "purge", "M-SEARCH"};
    size_t max = check_below(rng, 10) == 0 ? PLAN_URL_MAX : 60;
    p->url = random_line(rng, "http://h/", max);
    p->method = mem_strdup(methods[check_below(rng, 4)]);
    for (uint64_t n = check_below(rng, 5); n > 0; n--) {
        char *line = random_line(rng, "X-Test: ", max);
        option_list_add(&p->headers, line);
        mem_free(line);
    }
    if (check_below(rng, 2) == 0)
        return;
    p->no_templates = true; /* random bytes may look like the begin of one */
    p->body_len = check_below(rng, 500);
    p->body = mem_calloc(p->body_len + 1, 1);
    for (size_t i = 0; i < p->body_len; i++)
        p->body[i] = (uint8_t)check_random(rng);
}

static uint8_t *copy(const char *text, size_t *len)
{
    *len = strlen(text);
    return mem_dup(text, *len);
}

/* Every second one has TLS. */
static void random_tls(uint64_t *rng, struct plan *p)
{
    p->insecure = check_below(rng, 2);
    p->tls_no_resume = check_below(rng, 2);
    p->arrivals = (uint32_t)check_below(rng, 2);
    if (p->rate.num > 0 && p->arrivals == PLAN_CONSTANT && check_below(rng, 2) == 0)
        p->jitter = (uint32_t)check_below(rng, 1000000001);
    p->seed = check_random(rng);
    if (check_below(rng, 2) == 0)
        return;
    mem_free(p->url);
    p->url = random_line(rng, "https://h/", 60);
    p->tls_min = check_below(rng, 2) ? 0 : PLAN_TLS_1_2 + (uint32_t)check_below(rng, 2);
    if (check_below(rng, 2))
        p->sni = random_line(rng, "host.", 60);
    if (check_below(rng, 4) == 0)
        p->cacert = copy(test_pem_cert, &p->cacert_len);
    if (check_below(rng, 4) != 0)
        return;
    p->cert = copy(test_pem_cert, &p->cert_len);
    p->key = copy(test_pem_key, &p->key_len);
}

/* One that plan_check could have made. */
static void random_plan(uint64_t *rng, struct plan *p)
{
    plan_defaults(p);
    p->no_templates = true; /* bytes at random may look like one */
    p->rate.num = 1 + check_below(rng, 1000000);
    p->rate.den = 1 + check_below(rng, 3600);
    p->duration_ns = NS_PER_SEC * (1 + check_below(rng, 3600));
    p->requests = check_below(rng, 2) ? UINT64_MAX : 1 + check_below(rng, 1000000);
    p->forever = check_below(rng, 4) == 0;
    if (p->forever) {
        p->duration_ns = NS_NEVER;
        p->requests = UINT64_MAX;
    }
    p->timeout_ns = NS_PER_SEC + check_below(rng, NS_PER_SEC);
    p->interval_ns = NS_PER_SEC + check_below(rng, NS_PER_SEC);
    p->threads = (uint32_t)check_below(rng, 5);
    p->connections = check_below(rng, 2) ? 0 : 4 + (uint32_t)check_below(rng, 1000);
    random_request(rng, p);
    random_tls(rng, p);
    p->spin_ns = check_below(rng, 2) ? PLAN_SPIN_AUTO : check_below(rng, PLAN_SPIN_MAX + 1);
    if (check_below(rng, 2))
        return;
    p->spin_ns = check_below(rng, 2) ? PLAN_SPIN_AUTO : 0;
    p->dispatch_quantum_ns =
        PLAN_QUANTUM_MIN + check_below(rng, PLAN_QUANTUM_MAX - PLAN_QUANTUM_MIN + 1);
}

static void assert_same_bytes(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    ck_assert_int_eq(a == NULL, b == NULL);
    ck_assert_uint_eq(a_len, b_len);
    if (a_len > 0)
        ck_assert_int_eq(memcmp(a, b, a_len), 0);
}

static struct rate random_rate(uint64_t *rng)
{
    static const uint64_t dens[] = {1, 10, 60, 3600};
    return (struct rate){1 + check_below(rng, 100000), dens[check_below(rng, 4)]};
}

/* As plan_check leaves it. */
static void random_stages(uint64_t *rng, struct plan *p)
{
    if (p->forever)
        return;
    p->n_stages = 1 + (uint32_t)check_below(rng, check_below(rng, 5) ? 3 : PROFILE_STAGES_MAX);
    p->duration_ns = 0;
    for (uint32_t i = 0; i < p->n_stages; i++) {
        struct stage *s = &p->stages[i];
        *s = (struct stage){NS_PER_SEC + check_below(rng, NS_PER_SEC), random_rate(rng),
                            random_rate(rng)};
        p->duration_ns += s->duration_ns;
    }
    p->rate = plan_stages_peak(p);
}

static void assert_same(const struct plan *a, const struct plan *b)
{
    for (size_t i = 0; i < N_SCALARS; i++) {
        size_t size = scalars[i].type == WIRE_U64 ? 8 : scalars[i].type == WIRE_U32 ? 4 : 1;
        ck_assert_msg(memcmp((const char *)a + scalars[i].offset,
                             (const char *)b + scalars[i].offset, size) == 0,
                      "%s differs", scalars[i].name);
    }
    ck_assert_uint_eq(a->n_stages, b->n_stages);
    ck_assert_int_eq(memcmp(a->stages, b->stages, a->n_stages * sizeof a->stages[0]), 0);
    ck_assert_str_eq(a->url, b->url);
    ck_assert_str_eq(a->method, b->method);
    ck_assert_uint_eq(a->given.n, b->given.n);
    for (size_t i = 0; i < a->given.n; i++)
        ck_assert_str_eq(a->given.items[i], b->given.items[i]);
    ck_assert_uint_eq(a->headers.n, b->headers.n);
    for (size_t i = 0; i < a->headers.n; i++)
        ck_assert_str_eq(a->headers.items[i], b->headers.items[i]);
    assert_same_bytes(a->body, a->body_len, b->body, b->body_len);
    assert_same_bytes(a->cacert, a->cacert_len, b->cacert, b->cacert_len);
    assert_same_bytes(a->cert, a->cert_len, b->cert, b->cert_len);
    assert_same_bytes(a->key, a->key_len, b->key, b->key_len);
    ck_assert_int_eq(a->sni == NULL, b->sni == NULL);
    if (a->sni != NULL)
        ck_assert_str_eq(a->sni, b->sni);
}

/* From a copy of exactly that size, so that a sanitizer sees the first byte too many. */
static enum err decode(const uint8_t *buf, size_t len, struct plan *p, struct errmsg *msg)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    memcpy(copy, buf, len);
    msg->text[0] = '\0';
    enum err e = plan_decode(copy, len, p, msg);
    free(copy);
    ck_assert_int_eq(msg->text[0] == '\0', e == ERR_OK); /* every refusal says why */
    return e;
}

START_TEST(test_plans_come_back)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 500; i++) {
        struct plan p, back;
        struct errmsg msg;
        uint8_t *buf;
        size_t len;
        random_plan(&rng, &p);
        if (check_below(&rng, 2) == 0)
            random_stages(&rng, &p);
        for (uint64_t n = check_below(&rng, 3); n > 0; n--)
            option_list_add(&p.given, n == 1 ? "rate=2k" : "forever");
        ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
        enum err e = decode(buf, len, &back, &msg);
        ck_assert_msg(e == ERR_OK, "%s", msg.text);
        assert_same(&p, &back);
        mem_free(buf);
        plan_clear(&p);
        plan_clear(&back);
    }
    ck_assert_uint_eq(mem_watch.live, 0);
}
END_TEST

/* PEM allows any text in front of what it holds. */
static uint8_t *filled(const char *text, size_t max, size_t *len)
{
    uint8_t *bytes = mem_calloc(max + 1, 1);
    size_t n = strlen(text);
    memset(bytes, '\n', max);
    memcpy(bytes + max - n, text, n);
    *len = max;
    return bytes;
}

static void largest_tls(struct plan *p)
{
    p->cacert = filled(test_pem_cert, PLAN_CACERT_MAX, &p->cacert_len);
    p->cert = filled(test_pem_cert, PLAN_CERT_MAX, &p->cert_len);
    p->key = filled(test_pem_key, PLAN_KEY_MAX, &p->key_len);
    p->sni = mem_calloc(PLAN_SNI_MAX + 1, 1);
    memset(p->sni, 's', PLAN_SNI_MAX);
}

START_TEST(test_the_largest_plan_fits_a_frame)
{
    struct plan p, back;
    struct errmsg msg;
    uint8_t *buf;
    size_t len;
    plan_defaults(&p);
    p.rate = (struct rate){1, 1};
    p.requests = 1;
    p.method = mem_strdup("PUT");
    p.url = mem_calloc(PLAN_URL_MAX + 1, 1);
    memset(p.url, 'u', PLAN_URL_MAX);
    memcpy(p.url, "https://h/", 10);
    largest_tls(&p);
    char *line = mem_calloc(PLAN_HEADER_LINE_MAX + 1, 1);
    memset(line, 'h', PLAN_HEADER_LINE_MAX);
    line[1] = ':';
    for (int i = 0; i < PLAN_HEADERS_MAX; i++)
        option_list_add(&p.headers, line);
    p.body_len = PLAN_BODY_MAX;
    p.body = mem_calloc(p.body_len, 1);
    ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
    ck_assert_uint_le(len, MSG_BLOB_MAX);
    enum err e = decode(buf, len, &back, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    assert_same(&p, &back);
    plan_clear(&back);
    mem_free(buf);
    option_list_add(&p.headers, line); /* one too many */
    ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
    ck_assert_int_eq(decode(buf, len, &back, &msg), ERR_TOO_BIG);
    mem_free(buf);
    mem_free(line);
    plan_clear(&p);
}
END_TEST

START_TEST(test_cut_bytes_are_refused_and_freed)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 20; turn++) {
        struct plan p, back;
        struct errmsg msg;
        uint8_t *buf;
        size_t len;
        random_plan(&rng, &p);
        ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
        size_t live = mem_watch.live;
        for (size_t cut = 0; cut < len; cut += 1 + len / 200) {
            ck_assert_int_ne(decode(buf, cut, &back, &msg), ERR_OK);
            ck_assert_uint_eq(mem_watch.live, live);
            ck_assert_ptr_null(back.url); /* cleared */
        }
        mem_free(buf);
        plan_clear(&p);
    }
}
END_TEST

START_TEST(test_mutants_are_refused_or_whole)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 100; turn++) {
        struct plan p, back;
        struct errmsg msg;
        uint8_t *buf;
        size_t len;
        random_plan(&rng, &p);
        ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
        size_t live = mem_watch.live;
        for (int i = 0; i < 200; i++) {
            size_t at = check_below(&rng, check_below(&rng, 2) ? len : 80);
            uint8_t old = buf[at];
            buf[at] = (uint8_t)check_random(&rng);
            if (decode(buf, len, &back, &msg) == ERR_OK) {
                ck_assert_int_eq(plan_validate(&back, &msg), ERR_OK);
                plan_clear(&back);
            }
            ck_assert_uint_eq(mem_watch.live, live);
            buf[at] = old;
        }
        mem_free(buf);
        plan_clear(&p);
    }
}
END_TEST

/* What plan_check would never have let through is refused by the agent as well. */
START_TEST(test_the_receiver_checks_for_itself)
{
    static const struct {
        const char *url, *method, *header, *says;
    } rows[] = {
        {"http://h/\r\nX: y", "GET", NULL, "URL"},  {"http://h/", "GE T", NULL, "method"},
        {"http://h/", "", NULL, "method"},          {"http://h/", "GET", "X: a\r\nY: b", "header"},
        {"http://h/", "GET", "no colon", "header"}, {"", "GET", NULL, "URL"},
    };
    uint64_t rng = check_seed();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plan p, back;
        struct errmsg msg;
        uint8_t *buf;
        size_t len;
        random_plan(&rng, &p);
        mem_free(p.url);
        mem_free(p.method);
        p.url = mem_strdup(rows[i].url);
        p.method = mem_strdup(rows[i].method);
        if (rows[i].header != NULL)
            option_list_add(&p.headers, rows[i].header);
        ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
        ck_assert_int_eq(decode(buf, len, &back, &msg), ERR_INVALID);
        ck_assert_msg(strstr(msg.text, rows[i].says) != NULL, "'%s' does not name '%s'", msg.text,
                      rows[i].says);
        ck_assert_ptr_null(back.url);
        mem_free(buf);
        plan_clear(&p);
    }
}
END_TEST

START_TEST(test_malformed_plans_are_refused)
{
    static const struct {
        enum err err;
        uint8_t bytes[16];
        size_t len;
    } rows[] = {
        {ERR_CORRUPT, {0x80}, 1},                                              /* nothing */
        {ERR_CORRUPT, {0x90}, 1},                                              /* not a map */
        {ERR_CORRUPT, {0x82, PLAN_URL, 0xa1, 'u', PLAN_URL, 0xa1, 'v'}, 7},    /* twice */
        {ERR_CORRUPT, {0x82, PLAN_BODY, 0xc4, 0, PLAN_BODY, 0xc4, 0}, 7},      /* twice */
        {ERR_CORRUPT, {0x82, PLAN_HEADERS, 0x90, PLAN_HEADERS, 0x90}, 5},      /* twice */
        {ERR_CORRUPT, {0x81, PLAN_URL, 0xa2, 'u', 0}, 5},                      /* NUL */
        {ERR_CORRUPT, {0x81, PLAN_HEADERS, 0x92, 0xa1, 'x', 0xa2, 'y', 0}, 8}, /* NUL */
        {ERR_TRUNCATED, {0xdf, 0x0f, 0xff, 0xff, 0xff}, 5},                    /* bombs */
        {ERR_TRUNCATED, {0x81, PLAN_HEADERS, 0xdd, 0x0f, 0xff, 0xff, 0xff}, 7},
        {ERR_TRUNCATED, {0x81, PLAN_BODY, 0xc6, 0x00, 0x3f, 0xff, 0xff}, 7},
        {ERR_TRUNCATED, {0x81, PLAN_URL, 0xdb, 0xff, 0xff, 0xff, 0xff}, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plan p;
        struct errmsg msg;
        size_t live = mem_watch.live;
        mem_watch_reset();
        enum err e = decode(rows[i].bytes, rows[i].len, &p, &msg);
        ck_assert_msg(e == rows[i].err, "row %zu: %s instead of %s", i, err_str(e),
                      err_str(rows[i].err));
        ck_assert_uint_eq(mem_watch.live, live);
        ck_assert_uint_le(mem_watch.bytes, 64);
    }
}
END_TEST

/* A plan of a controller that knows neither --spin nor --dispatch-quantum, nor TLS: the agent does
 * as it did then. */
START_TEST(test_an_older_plan_does_not_spin)
{
    size_t n_older = 0; /* the first that came later */
    while (n_older < N_SCALARS && strcmp(scalars[n_older].name, "spin_ns") != 0)
        n_older++;
    ck_assert_uint_lt(n_older, N_SCALARS);
    uint64_t rng = check_seed();
    struct plan p, back;
    struct errmsg msg;
    size_t len;
    random_plan(&rng, &p);
    mem_free(p.url);
    p.url = mem_strdup("http://h/");
    struct wire_out *w = wire_out_new();
    wire_put_map(w, 3);
    wire_put_u64(w, PLAN_SCALARS);
    wire_put_fields(w, scalars, n_older, &p);
    wire_put_u64(w, PLAN_URL);
    wire_put_str(w, p.url);
    wire_put_u64(w, PLAN_METHOD);
    wire_put_str(w, p.method);
    uint8_t *buf = wire_out_take(w, &len);
    wire_out_free(w);
    enum err e = decode(buf, len, &back, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(back.spin_ns, 0);
    ck_assert_uint_eq(back.dispatch_quantum_ns, 0);
    ck_assert(back.arrivals == PLAN_CONSTANT && back.jitter == 0);
    ck_assert(back.tls_min == 0 && !back.insecure && !back.tls_no_resume && back.sni == NULL);
    ck_assert_uint_eq(back.interval_ns, p.interval_ns);
    mem_free(buf);
    plan_clear(&p);
    plan_clear(&back);
}
END_TEST

/* What older programs wrote must stay readable. */
START_TEST(test_encodings_are_pinned)
{
    uint64_t rng = 1;
    for (int i = 0; i < 10; i++) {
        struct plan p;
        uint8_t *buf;
        size_t len;
        char name[32];
        random_plan(&rng, &p);
        if (i >= 8)
            random_stages(&rng, &p);
        ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
        snprintf(name, sizeof name, "plan/plan%d", i);
        pinned_check(TEST_DATA_DIR, name, buf, len);
        mem_free(buf);
        plan_clear(&p);
    }
}
END_TEST

START_TEST(test_the_document_agrees)
{
    protocol_doc_fields(TEST_DATA_DIR, "Plan scalars", scalars, N_SCALARS);
    char text[512];
    snprintf(text, sizeof text,
             "| %d | scalars | map | yes |\n| %d | url | str, at most %d | yes |\n"
             "| %d | method | str, at most %d | yes |\n"
             "| %d | headers | array of at most %d str, each at most %d | no |\n"
             "| %d | body | bin, at most %u | no |\n"
             "| %d | cacert | bin, at most %u | no |\n| %d | cert | bin, at most %u | no |\n"
             "| %d | key | bin, at most %u | no |\n| %d | sni | str, at most %d | no |\n"
             "| %d | stages | array of at most %d arrays of %d u64 | no |\n",
             PLAN_SCALARS, PLAN_URL, PLAN_URL_MAX, PLAN_METHOD, PLAN_METHOD_MAX, PLAN_HEADERS,
             PLAN_HEADERS_MAX, PLAN_HEADER_LINE_MAX, PLAN_BODY, PLAN_BODY_MAX, PLAN_CACERT,
             PLAN_CACERT_MAX, PLAN_CERT, PLAN_CERT_MAX, PLAN_KEY, PLAN_KEY_MAX, PLAN_SNI,
             PLAN_SNI_MAX, PLAN_STAGES, PROFILE_STAGES_MAX, STAGE_NUMBERS);
    protocol_doc_has(TEST_DATA_DIR, "Plan", text);
    snprintf(text, sizeof text, "| %d | given | array of at most %d str, each at most %d | no |\n",
             PLAN_GIVEN, PLAN_GIVEN_MAX, OPTION_GIVEN_TEXT);
    protocol_doc_has(TEST_DATA_DIR, "Plan", text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_codec");
    TCase *t = tcase_create("plan_codec");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_plans_come_back);
    tcase_add_test(t, test_the_largest_plan_fits_a_frame);
    tcase_add_test(t, test_cut_bytes_are_refused_and_freed);
    tcase_add_test(t, test_mutants_are_refused_or_whole);
    tcase_add_test(t, test_the_receiver_checks_for_itself);
    tcase_add_test(t, test_malformed_plans_are_refused);
    tcase_add_test(t, test_an_older_plan_does_not_spin);
    tcase_add_test(t, test_encodings_are_pinned);
    tcase_add_test(t, test_the_document_agrees);
    suite_add_tcase(s, t);
    return check_main(s);
}
