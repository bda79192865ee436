/* SPDX-License-Identifier: MIT */
#include "proto/template.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/template_text.h"
#include "tests/lib/check_main.h"
#include "tests/lib/mem_watch.h"

#define SEED 42

static struct template_named named(const char *name, const char *text)
{
    return (struct template_named){mem_strdup(name), mem_dup(text, strlen(text)), strlen(text)};
}

static void unname(struct template_named *n)
{
    mem_free(n->name);
    mem_free(n->bytes);
}

/* --- a book for all tests: files "users" and "paths", variable TOKEN ------------------------- */

static struct template_named files[2], variable;
static struct template_book *book;

static void set_up(void)
{
    struct errmsg msg;
    files[0] = named("users", "ann smith\nbob\r\n\ncy");
    files[1] = named("paths", "a/b\nc?d=%20\n");
    variable = named("TOKEN", "s3cret");
    ck_assert_int_eq(template_book_new(files, 2, &variable, 1, &book, &msg), ERR_OK);
}

static void tear_down(void)
{
    template_book_free(book);
    unname(&files[0]);
    unname(&files[1]);
    unname(&variable);
}

static struct template_form *compile(const char *text, enum template_place place)
{
    struct errmsg msg = {""};
    struct template_form *t = template_new();
    enum err e = template_add(t, book, text, strlen(text), place, &msg);
    ck_assert_msg(e == ERR_OK, "%s: %s", text, msg.text);
    return t;
}

/* Rendered once; the caller's. */
static char *render(const struct template_form *t, uint64_t seed, uint64_t index)
{
    char *buf = mem_calloc(template_max(t) + 1, 1);
    size_t len = template_render(t, seed, index, buf, NULL);
    ck_assert_uint_le(len, template_max(t));
    ck_assert_uint_eq(len, template_len(t, seed, index));
    ck_assert_uint_eq(len, strlen(buf));
    return buf;
}

static void assert_render(const char *text, uint64_t seed, uint64_t index, const char *expected)
{
    struct template_form *t = compile(text, TEMPLATE_IN_BODY);
    char *got = render(t, seed, index);
    ck_assert_str_eq(got, expected);
    mem_free(got);
    template_free(t);
}

/* Agents of every machine and of every later version must agree: these are for ever. */
START_TEST(test_golden_values)
{
    static const struct {
        uint64_t seed, index;
        const char *expected;
    } golden[] = {
#include "tests/data/golden/template.inc"
    };
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++)
        assert_render("{{seq}} {{rand 1 1000000}} {{rand 0 999999999999999999}} {{pick a b c d e}} "
                      "{{uuid}}",
                      golden[i].seed, golden[i].index, golden[i].expected);
}
END_TEST

START_TEST(test_lines_come_in_turn)
{
    static const char *const lines[] = {"ann smith", "bob", "", "cy"};
    for (uint64_t i = 0; i < 9; i++)
        assert_render("{{line users}}", i, i, lines[i % 4]);
    assert_render("{{ line users }}", 1, UINT64_MAX, lines[3]);
    assert_render("<{{line paths}}>{{line users}}", 1, 3, "<c?d=%20>cy");
}
END_TEST

START_TEST(test_what_is_constant)
{
    assert_render("", 1, 1, "");
    assert_render("{\"a\":{\"b\":1}} } }}", 1, 1, "{\"a\":{\"b\":1}} } }}");
    assert_render("a{{env TOKEN}}b{{env TOKEN}}", 1, 1, "as3cretbs3cret");
    struct template_form *t = compile("a{{env TOKEN}}", TEMPLATE_IN_HEADER);
    ck_assert(template_is_constant(t));
    template_free(t);
    t = compile("a{{seq}}", TEMPLATE_IN_HEADER);
    ck_assert(!template_is_constant(t));
    template_free(t);
}
END_TEST

/* The value of a placeholder depends on its number, not on what stands around it. */
START_TEST(test_each_placeholder_has_its_own_values)
{
    struct template_form *t = compile("{{rand 1 100000}} {{rand 1 100000}}", TEMPLATE_IN_BODY);
    unsigned same = 0, repeated = 0;
    uint64_t last = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        char *got = render(t, SEED, i), *second;
        uint64_t a = strtoull(got, &second, 10), b = strtoull(second, NULL, 10);
        ck_assert_uint_ge(a, 1);
        ck_assert_uint_le(a, 100000);
        same += a == b;
        repeated += a == last;
        last = a;
        mem_free(got);
    }
    ck_assert_uint_lt(same, 6); /* 0.02 expected */
    ck_assert_uint_lt(repeated, 6);
    template_free(t);
    t = compile("{{rand 1 100000}}", TEMPLATE_IN_BODY);
    struct template_form *among = compile("{{env TOKEN}}{{rand 1 100000}}", TEMPLATE_IN_BODY);
    char *alone = render(t, SEED, 5), *other = render(among, SEED, 5);
    ck_assert_str_eq(other + strlen("s3cret"), alone);
    mem_free(alone);
    mem_free(other);
    template_free(t);
    template_free(among);
}
END_TEST

/* Pearson's chi-squared of n draws in k classes against its 1e-6 quantile, roughly. */
static void assert_uniform(const unsigned *seen, size_t k, unsigned n, double limit)
{
    double sum = 0, expected = (double)n / (double)k;
    for (size_t i = 0; i < k; i++)
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    ck_assert_msg(sum < limit, "chi squared %f of %zu classes", sum, k);
}

START_TEST(test_draws_are_uniform)
{
    unsigned numbers[10] = {0}, words[3] = {0}, n = 30000;
    uint64_t rng = check_seed(), seed = check_random(&rng);
    struct template_form *t = compile("{{rand 0 9}}{{pick a b c}}", TEMPLATE_IN_BODY);
    for (unsigned i = 0; i < n; i++) {
        char *got = render(t, seed, i);
        numbers[got[0] - '0']++;
        words[got[1] - 'a']++;
        mem_free(got);
    }
    assert_uniform(numbers, 10, n, 45);
    assert_uniform(words, 3, n, 28);
    template_free(t);
}
END_TEST

START_TEST(test_uuids_are_of_version_4_and_differ)
{
    static char seen[500][40];
    struct template_form *t = compile("{{uuid}}", TEMPLATE_IN_URL);
    for (unsigned i = 0; i < 500; i++) {
        char *got = render(t, SEED, i);
        unsigned a, b, c, d, e;
        int n = 0;
        ck_assert_int_eq(sscanf(got, "%8x-%4x-%4x-%4x-%4x%*8x%n", &a, &b, &c, &d, &e, &n), 5);
        ck_assert_uint_eq(strlen(got), 36);
        ck_assert_int_eq(n, 36);
        ck_assert_int_eq(got[14], '4');
        ck_assert_ptr_nonnull(strchr("89ab", got[19]));
        strcpy(seen[i], got);
        for (unsigned k = 0; k < i; k++)
            ck_assert_str_ne(seen[k], seen[i]);
        mem_free(got);
    }
    template_free(t);
}
END_TEST

static void put_all(struct template_form *t, const char *body, bool chunked)
{
    struct errmsg msg;
    template_put(t, "length ", 7);
    template_put_body_length(t);
    template_put(t, ";", 1);
    if (chunked)
        template_put_chunk_begin(t);
    template_begin_body(t);
    ck_assert_int_eq(template_add(t, book, body, strlen(body), TEMPLATE_IN_BODY, &msg), ERR_OK);
    template_end_body(t);
    if (chunked)
        template_put_chunk_end(t);
}

static void assert_framed(const char *body, bool chunked, uint64_t index, const char *expected,
                          size_t expected_head)
{
    struct template_form *t = template_new();
    put_all(t, body, chunked);
    size_t head, len;
    char *buf = mem_calloc(template_max(t) + 1, 1);
    len = template_render(t, SEED, index, buf, &head);
    ck_assert_str_eq(buf, expected);
    ck_assert_uint_eq(len, template_len(t, SEED, index));
    ck_assert_uint_eq(head, expected_head);
    mem_free(buf);
    template_free(t);
}

START_TEST(test_the_body_is_measured)
{
    assert_framed("{{line users}}", false, 0, "length 9;ann smith", 9);
    assert_framed("{{line users}}", false, 1, "length 3;bob", 9);
    assert_framed("{{line users}}!{{seq}}", false, 10, "length 3;!10", 9);
    assert_framed("", false, 0, "length 0;", 9);
    assert_framed("plain", false, 0, "length 5;plain", 9);
    assert_framed("seventeen bytes..", true, 0, "length 17;11\r\nseventeen bytes..\r\n0\r\n\r\n",
                  14);
    assert_framed("{{line users}}", true, 2, "length 0;0\r\n\r\n", 9);
}
END_TEST

static void assert_refused(const char *text, enum template_place place, const char *why)
{
    struct errmsg msg = {""};
    struct template_form *t = template_new();
    ck_assert_msg(template_add(t, book, text, strlen(text), place, &msg) != ERR_OK, "%s", text);
    ck_assert_msg(strstr(msg.text, why) != NULL, "%s: %s", text, msg.text);
    ck_assert_ptr_null(strstr(msg.text, "s3cret"));
    template_free(t);
}

START_TEST(test_what_is_refused)
{
    static const struct {
        const char *text;
        enum template_place place;
        const char *why;
    } rows[] = {
        {"{{nope}}", TEMPLATE_IN_BODY, "{{nope}}: unknown; accepted are {{seq}}, {{rand A B}}"},
        {"{{}}", TEMPLATE_IN_BODY, "unknown"},
        {"{{Seq}}", TEMPLATE_IN_BODY, "unknown"},
        {"{{seq 1}}", TEMPLATE_IN_BODY, "takes no argument"},
        {"x{{seq", TEMPLATE_IN_BODY, "\"}}\" is missing"},
        {"{{rand 1}}", TEMPLATE_IN_BODY, "two whole numbers"},
        {"{{rand 1 2 3}}", TEMPLATE_IN_BODY, "two whole numbers"},
        {"{{rand 1 -2}}", TEMPLATE_IN_BODY, "two whole numbers"},
        {"{{rand 1 1000000000000000000}}", TEMPLATE_IN_BODY, "at most 18 digits"},
        {"{{rand 2 1}}", TEMPLATE_IN_BODY, "the larger one"},
        {"{{pick}}", TEMPLATE_IN_BODY, "one or more words"},
        {"{{pick a b\"c}}", TEMPLATE_IN_URL, "no URL has"},
        {"{{line}}", TEMPLATE_IN_BODY, "the name of a file"},
        {"{{line other}}", TEMPLATE_IN_BODY, "no such file"},
        {"{{line users}}", TEMPLATE_IN_URL, "line 1 has a byte that no URL has"},
        {"{{env 1X}}", TEMPLATE_IN_BODY, "environment variable"},
        {"{{env OTHER}}", TEMPLATE_IN_BODY, "no such variable"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_refused(rows[i].text, rows[i].place, rows[i].why);
    template_free(compile("{{line users}}", TEMPLATE_IN_HEADER));
    template_free(compile("{{line paths}}{{env TOKEN}}", TEMPLATE_IN_URL));
}
END_TEST

START_TEST(test_a_file_without_lines_is_refused)
{
    struct template_named empty = named("none.txt", "");
    struct template_book *b;
    struct errmsg msg;
    ck_assert_int_eq(template_book_new(&empty, 1, NULL, 0, &b, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "none.txt"));
    ck_assert_ptr_null(b);
    unname(&empty);
}
END_TEST

START_TEST(test_rendering_allocates_nothing)
{
    struct template_form *t = template_new();
    put_all(t, "{{seq}}{{rand 1 9}}{{pick a b}}{{uuid}}{{line users}}{{env TOKEN}}", true);
    char *buf = mem_calloc(template_max(t), 1);
    mem_watch_reset();
    for (uint64_t i = 0; i < 100; i++)
        ck_assert_uint_gt(template_render(t, SEED, i, buf, NULL), 0);
    ck_assert_uint_eq(mem_watch.bytes, 0);
    mem_free(buf);
    template_free(t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("template");
    TCase *tc = tcase_create("template");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test_golden_values);
    tcase_add_test(tc, test_lines_come_in_turn);
    tcase_add_test(tc, test_what_is_constant);
    tcase_add_test(tc, test_each_placeholder_has_its_own_values);
    tcase_add_test(tc, test_draws_are_uniform);
    tcase_add_test(tc, test_uuids_are_of_version_4_and_differ);
    tcase_add_test(tc, test_the_body_is_measured);
    tcase_add_test(tc, test_what_is_refused);
    tcase_add_test(tc, test_a_file_without_lines_is_refused);
    tcase_add_test(tc, test_rendering_allocates_nothing);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return check_main(suite());
}
