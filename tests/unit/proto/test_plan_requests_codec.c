/* SPDX-License-Identifier: MIT */
/* Several requests in one plan, and what templates need, over the wire and copied. */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"
#include "tests/lib/mem_watch.h"
#include "tests/lib/pinned.h"
#include "tests/lib/protocol_doc.h"

/* A plan of that many entries, "http://h/0" and so on; not checked yet. */
static void plan_of(struct plan *p, size_t n)
{
    plan_defaults(p);
    p->requests = 10;
    for (size_t i = 0; i < n; i++) {
        char url[64];
        snprintf(url, sizeof url, "http://h/%zu", i);
        plan_add_entry(p)->url = mem_strdup(url);
    }
}

static void must_check(struct plan *p)
{
    struct errmsg msg = {""};
    enum err e = plan_check(p, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
}

static void random_named(uint64_t *rng, struct template_named **list, size_t *n)
{
    size_t count = check_below(rng, 4);
    *list = count > 0 ? mem_calloc(count, sizeof **list) : NULL;
    for (*n = 0; *n < count; ++*n) {
        struct template_named *one = &(*list)[*n];
        char name[32];
        snprintf(name, sizeof name, "N%zu", *n);
        one->name = mem_strdup(name);
        one->len = 1 + check_below(rng, 50);
        one->bytes = mem_calloc(one->len + 1, 1);
        memset(one->bytes, 'v', one->len);
    }
}

static void random_plan(uint64_t *rng, struct plan *p)
{
    plan_of(p, 1 + check_below(rng, 30));
    for (size_t i = 0; i < p->n_entries; i++) {
        struct plan_entry *e = &p->entries[i];
        e->weight = 1 + (uint32_t)check_below(rng, PLAN_WEIGHT_MAX);
        e->name = check_below(rng, 2) ? mem_strdup("some name") : NULL;
        e->method = check_below(rng, 2) ? mem_strdup("PATCH") : NULL;
        for (uint64_t n = check_below(rng, 4); n > 0; n--)
            option_list_add(&e->headers, "X-Test: {{seq}}");
        if (check_below(rng, 2) == 0)
            continue;
        e->body_len = check_below(rng, 3) * 20;
        e->body = mem_calloc(e->body_len + 1, 1);
        memset(e->body, 'b', e->body_len);
    }
    random_named(rng, &p->files, &p->n_files);
    random_named(rng, &p->env, &p->n_env);
    p->order = (uint32_t)check_below(rng, 4);
    p->chunked = check_below(rng, 2);
    p->expect_continue = check_below(rng, 2);
    must_check(p);
}

static void assert_same_text(const char *a, const char *b)
{
    ck_assert_int_eq(a == NULL, b == NULL);
    if (a != NULL)
        ck_assert_str_eq(a, b);
}

static void assert_same_named(const struct template_named *a, const struct template_named *b,
                              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert_str_eq(a[i].name, b[i].name);
        ck_assert_uint_eq(a[i].len, b[i].len);
        ck_assert_mem_eq(a[i].bytes, b[i].bytes, a[i].len);
        ck_assert_ptr_ne(a[i].bytes, b[i].bytes);
    }
}

static void assert_same(const struct plan *a, const struct plan *b)
{
    ck_assert_str_eq(a->url, b->url);
    ck_assert_uint_eq(a->n_entries, b->n_entries);
    for (size_t i = 0; i < a->n_entries; i++) {
        const struct plan_entry *x = &a->entries[i], *y = &b->entries[i];
        assert_same_text(x->name, y->name);
        assert_same_text(x->url, y->url);
        assert_same_text(x->method, y->method);
        ck_assert_uint_eq(x->weight, y->weight);
        ck_assert_uint_eq(x->headers.n, y->headers.n);
        for (size_t k = 0; k < x->headers.n; k++)
            ck_assert_str_eq(x->headers.items[k], y->headers.items[k]);
        ck_assert_int_eq(x->body == NULL, y->body == NULL);
        ck_assert_uint_eq(x->body_len, y->body_len);
        if (x->body_len > 0)
            ck_assert_mem_eq(x->body, y->body, x->body_len);
    }
    ck_assert_uint_eq(a->n_files, b->n_files);
    ck_assert_uint_eq(a->n_env, b->n_env);
    assert_same_named(a->files, b->files, a->n_files);
    assert_same_named(a->env, b->env, a->n_env);
    ck_assert_uint_eq(a->order, b->order);
    ck_assert_int_eq(a->chunked, b->chunked);
    ck_assert_int_eq(a->expect_continue, b->expect_continue);
}

START_TEST(test_requests_come_back)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 200; i++) {
        struct plan p, back, copy;
        struct errmsg msg = {""};
        uint8_t *buf;
        size_t len;
        random_plan(&rng, &p);
        ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
        enum err e = plan_decode(buf, len, &back, &msg);
        ck_assert_msg(e == ERR_OK, "%s", msg.text);
        assert_same(&p, &back);
        ck_assert_int_eq(plan_copy(&copy, &back), ERR_OK);
        plan_clear(&back);
        assert_same(&p, &copy);
        plan_clear(&copy);
        mem_free(buf);
        plan_clear(&p);
    }
    ck_assert_uint_eq(mem_watch.live, 0);
}
END_TEST

START_TEST(test_mutants_are_refused_or_whole)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 60; turn++) {
        struct plan p, back;
        struct errmsg msg;
        uint8_t *buf;
        size_t len;
        random_plan(&rng, &p);
        ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
        size_t live = mem_watch.live;
        for (int i = 0; i < 200; i++) {
            size_t at = check_below(&rng, len);
            uint8_t old = buf[at];
            buf[at] = (uint8_t)check_random(&rng);
            size_t cut = check_below(&rng, 3) == 0 ? check_below(&rng, len) : len;
            if (plan_decode(buf, cut, &back, &msg) == ERR_OK)
                plan_clear(&back);
            ck_assert_uint_eq(mem_watch.live, live);
            buf[at] = old;
        }
        mem_free(buf);
        plan_clear(&p);
    }
}
END_TEST

/* What older programs wrote must stay readable. */
START_TEST(test_encodings_are_pinned)
{
    uint64_t rng = 7;
    for (int i = 0; i < 3; i++) {
        struct plan p;
        uint8_t *buf;
        size_t len;
        char name[32];
        random_plan(&rng, &p);
        ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
        snprintf(name, sizeof name, "plan/requests%d", i);
        pinned_check(TEST_DATA_DIR, name, buf, len);
        mem_free(buf);
        plan_clear(&p);
    }
}
END_TEST

/* An agent that knows nothing of entries skips them, and finds no URL. */
START_TEST(test_older_agents_refuse)
{
    struct plan p;
    uint8_t *buf;
    size_t len;
    plan_of(&p, 2);
    must_check(&p);
    ck_assert_int_eq(plan_encode(&p, &buf, &len), ERR_OK);
    static const uint8_t empty_url[] = {2, 0xa0};
    ck_assert_ptr_nonnull(memmem(buf, len, empty_url, sizeof empty_url));
    mem_free(buf);
    plan_clear(&p);
}
END_TEST

START_TEST(test_the_document_agrees)
{
    char text[512];
    snprintf(text, sizeof text,
             "| 11 | entries | array of at most %d maps, see below | no |\n"
             "| 12 | files | array of at most %d arrays of a str and a bin, the bins together at "
             "most %u | no |\n",
             PLAN_ENTRIES_MAX, PLAN_FILES_MAX, PLAN_FILES_BYTES);
    protocol_doc_has(TEST_DATA_DIR, "Plan", text);
    snprintf(text, sizeof text,
             "| 20 | env | array of at most %d arrays of a str and a bin, the bins together at "
             "most %u | no |\n",
             PLAN_ENV_MAX, PLAN_ENV_MAX * PLAN_ENV_BYTES);
    protocol_doc_has(TEST_DATA_DIR, "Plan", text);
    snprintf(text, sizeof text,
             "| 1 | name | str, at most %d | no |\n| 2 | url | str, at most %d | yes |\n"
             "| 3 | method | str, at most %d | no |\n"
             "| 4 | headers | array of at most %d str, each at most %d | no |\n"
             "| 5 | body | bin, at most %u | no |\n| 6 | weight | u32, 1 to %d | yes |\n",
             PLAN_NAME_MAX, PLAN_URL_MAX, PLAN_METHOD_MAX, PLAN_HEADERS_MAX, PLAN_HEADER_LINE_MAX,
             PLAN_BODY_MAX, PLAN_WEIGHT_MAX);
    protocol_doc_has(TEST_DATA_DIR, "Plan entries", text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_requests_codec");
    TCase *t = tcase_create("plan_requests_codec");
    tcase_add_test(t, test_requests_come_back);
    tcase_add_test(t, test_mutants_are_refused_or_whole);
    tcase_add_test(t, test_encodings_are_pinned);
    tcase_add_test(t, test_older_agents_refuse);
    tcase_add_test(t, test_the_document_agrees);
    suite_add_tcase(s, t);
    return check_main(s);
}
