/* SPDX-License-Identifier: MIT */
#include "controller/cmd/repeat.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

/* As many of each after every pair, and a drift in time that is a straight line falls on both sides
 * alike after every four. */
START_TEST(test_turns)
{
    long balance = 0, drift = 0;
    ck_assert(!repeat_is_candidate(0) && repeat_is_candidate(1));
    ck_assert(repeat_is_candidate(2) && !repeat_is_candidate(3));
    for (size_t i = 0; i < 2 * REPEAT_MAX; i++) {
        balance += repeat_is_candidate(i) ? 1 : -1;
        drift += repeat_is_candidate(i) ? (long)i : -(long)i;
        ck_assert(balance >= -1 && balance <= 1);
        ck_assert(i % 4 != 3 || (balance == 0 && drift == 0));
    }
}
END_TEST

static const struct {
    const char *file, *numbered;
} files[] = {{"report.json", "report-3.json"},
             {"a.b/report", "a.b/report-3"},
             {"/tmp/r.x.html", "/tmp/r.x-3.html"},
             {"json:out", "json:out-3"}};

START_TEST(test_files)
{
    char *name = repeat_file(files[_i].file, 3);
    ck_assert_str_eq(name, files[_i].numbered);
    mem_free(name);
}
END_TEST

START_TEST(test_check)
{
    struct run_options *o = mem_calloc(1, sizeof *o);
    struct errmsg msg = {{0}};
    char other[] = "abc";
    ck_assert_int_eq(repeat_check(o, &msg), ERR_OK);
    o->results.interleave_with = other;
    ck_assert_int_eq(repeat_check(o, &msg), ERR_INVALID);
    ck_assert(strstr(msg.text, "--repeat") != NULL);
    o->results.repeat = 2;
    ck_assert_int_eq(repeat_check(o, &msg), ERR_OK);
    o->results.no_save = true;
    ck_assert_int_eq(repeat_check(o, &msg), ERR_INVALID);
    ck_assert(strstr(msg.text, "--no-save") != NULL);
    o->results.no_save = false;
    o->plan.forever = true;
    ck_assert_int_eq(repeat_check(o, &msg), ERR_INVALID);
    mem_free(o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("repeat");
    TCase *t = tcase_create("repeat");
    tcase_add_test(t, test_turns);
    tcase_add_loop_test(t, test_files, 0, (int)(sizeof files / sizeof files[0]));
    tcase_add_test(t, test_check);
    suite_add_tcase(s, t);
    return check_main(s);
}
