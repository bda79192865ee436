/* SPDX-License-Identifier: MIT */
#include "common/yaml_bounds.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define MUCH 200000

/* `piece` again and again behind "k: "; the last piece of `n` stands at this column. */
static bool look(const char *piece, size_t n, struct yaml_excess *x)
{
    size_t len = 3, one = strlen(piece);
    char *text = mem_calloc(len + n * one + 1, 1);
    memcpy(text, "k: ", len);
    for (size_t i = 0; i < n; i++, len += one)
        memcpy(text + len, piece, one);
    bool fine = yaml_within_bounds(text, len, x);
    mem_free(text);
    return fine;
}

START_TEST(test_depth)
{
    static const char *const deeper[] = {"[", "{a: ", "[x, "};
    struct yaml_excess x;
    for (size_t i = 0; i < sizeof deeper / sizeof deeper[0]; i++) {
        for (size_t n = 1; n < 2 * YAML_DEPTH_MAX; n++)
            ck_assert(look(deeper[i], n, &x) == (n < YAML_DEPTH_MAX)); /* the root is one more */
        uint64_t begin_ns = clock_mono_ns();
        ck_assert(!look(deeper[i], MUCH, &x));
        ck_assert_uint_lt(clock_mono_ns() - begin_ns, 5 * NS_PER_SEC);
        ck_assert_str_eq(x.what, "more than 32 lists and mappings inside each other");
        ck_assert_uint_eq(x.line, 1);
        ck_assert_uint_eq(x.column, 4 + (YAML_DEPTH_MAX - 1) * strlen(deeper[i]));
    }
}
END_TEST

/* What is closed again does not count. */
START_TEST(test_width)
{
    struct yaml_excess x;
    char *text = mem_calloc(1000 * 40, 1);
    size_t len = 0;
    for (int i = 0; i < 1000; i++)
        len += (size_t)sprintf(text + len, "k%d:\n - [a, {b: c}]\n - [d]\n", i);
    ck_assert(yaml_within_bounds(text, len, &x));
    mem_free(text);
}
END_TEST

START_TEST(test_anchors)
{
    struct yaml_excess x;
    char text[16 * (YAML_ANCHORS_MAX + 2)];
    for (int n = YAML_ANCHORS_MAX - 1; n <= YAML_ANCHORS_MAX + 1; n++) {
        size_t len = 0;
        for (int i = 0; i < n; i++)
            len += (size_t)sprintf(text + len, "- &a%d x\n", i);
        ck_assert(yaml_within_bounds(text, len, &x) == (n <= YAML_ANCHORS_MAX));
    }
    ck_assert_str_eq(x.what, "more than 256 anchors");
    ck_assert_uint_eq(x.line, YAML_ANCHORS_MAX + 1);
    ck_assert_uint_eq(x.column, 3);
}
END_TEST

/* Whoever reads it next says what is wrong with it. */
START_TEST(test_no_yaml)
{
    static const char *const texts[] = {"", "a: b: c", "\xff\xff", "]", "'", "- a\nb: c\n"};
    struct yaml_excess x;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert(yaml_within_bounds(texts[i], strlen(texts[i]), &x) && x.what == NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("yaml_bounds");
    TCase *t = tcase_create("yaml_bounds");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_depth);
    tcase_add_test(t, test_width);
    tcase_add_test(t, test_anchors);
    tcase_add_test(t, test_no_yaml);
    suite_add_tcase(s, t);
    return check_main(s);
}
