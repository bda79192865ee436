/* SPDX-License-Identifier: MIT */
#include "controller/cmd/tags.h"

#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

static struct option_list list(const char *words)
{
    struct option_list l = {0};
    char *copy = mem_strdup(words), *save = NULL;
    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
        option_list_add(&l, w);
    mem_free(copy);
    return l;
}

START_TEST(tags_are_words)
{
    static const char *const bad[] = {"a,b", "a/b", "\xc3\xbc", "x\x1b",
                                      "123456789012345678901234567890123"};
    struct errmsg msg;
    struct option_list good = list("a A.b_c-1 12345678901234567890123456789012");
    ck_assert_int_eq(tags_check("tag", &good, &msg), ERR_OK);
    option_list_clear(&good);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct option_list l = list(bad[i]);
        ck_assert_int_eq(tags_check("tag", &l, &msg), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(msg.text, "--tag "));
        option_list_clear(&l);
    }
    struct option_list many = list("a a a a a a a a a a a a a a a a a");
    ck_assert_int_eq(tags_check("tag", &many, &msg), ERR_RANGE);
    option_list_clear(&many);
}
END_TEST

static void joined(const char *words, const char *expected)
{
    struct option_list l = list(words);
    char *text = tags_text(&l);
    if (expected == NULL)
        ck_assert_ptr_null(text);
    else
        ck_assert_str_eq(text, expected);
    mem_free(text);
    option_list_clear(&l);
}

static void changed(const char *had, const char *add, const char *drop, const char *expected)
{
    struct option_list a = list(add), d = list(drop);
    struct errmsg msg;
    char *text = NULL;
    enum err e = tags_change(had, &a, &d, &text, &msg);
    if (expected == NULL)
        ck_assert_int_eq(e, ERR_RANGE);
    else
        ck_assert_str_eq(text, expected);
    mem_free(text);
    option_list_clear(&a);
    option_list_clear(&d);
}

START_TEST(tags_are_kept_once_in_lower_case)
{
    joined("", NULL);
    joined("B a b A c", "b,a,c");
    changed(NULL, "", "", "");
    changed("a,b", "C a", "B", "a,c");
    changed("a,b", "", "a b", "");
    changed("a", "b", "B", "a");
    changed("a,b,c,d,e,f,g,h", "1 2 3 4 5 6 7 8 9", "", NULL);
    changed("a,b,c,d,e,f,g,h", "1 2 3 4 5 6 7 8 9", "a", "b,c,d,e,f,g,h,1,2,3,4,5,6,7,8,9");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tags");
    TCase *t = tcase_create("tags");
    tcase_add_test(t, tags_are_words);
    tcase_add_test(t, tags_are_kept_once_in_lower_case);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
