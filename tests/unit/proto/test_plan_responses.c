/* SPDX-License-Identifier: MIT */
/* What is expected of responses and done about them: options, their forms, the wire. */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/expect.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define WORDS_MAX   8

static enum err make(struct plan *p, char *const *words, struct errmsg *msg)
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
    p->url = mem_strdup("http://127.0.0.1:8080/");
    return plan_check(p, msg);
}

/* All of them are there after the way to an agent, and in a copy. */
START_TEST(test_accepted)
{
    static char *const words[] = {
        "run", "--expect-status", "2xx,404,500-503", "--expect-body", "a(b|c){2}", "--follow",
        "7",   "--cookies"};
    struct plan p, q, r;
    struct errmsg msg = {{0}};
    uint8_t *bytes;
    size_t len;
    ck_assert_msg(make(&p, words, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_int_eq(plan_encode(&p, &bytes, &len), ERR_OK);
    ck_assert_msg(plan_decode(bytes, len, &q, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_int_eq(plan_copy(&r, &q), ERR_OK);
    plan_clear(&q);
    ck_assert_str_eq(r.expect_status, words[2]);
    ck_assert_str_eq(r.expect_body, words[4]);
    ck_assert_uint_eq(r.follow, 7);
    ck_assert(r.cookies);
    mem_free(bytes);
    plan_clear(&p);
    plan_clear(&r);
}
END_TEST

static const struct {
    char *words[WORDS_MAX];
    const char *text;
} bad[] = {
    {{"run", "--expect-status", ""}, "--expect-status"},
    {{"run", "--expect-status", "99"}, "--expect-status 99: accepted is"},
    {{"run", "--expect-status", "600"}, "--expect-status 600: accepted is"},
    {{"run", "--expect-status", "200,"}, "--expect-status 200,: accepted is"},
    {{"run", "--expect-status", "6xx"}, "--expect-status 6xx: accepted is"},
    {{"run", "--expect-status", "204-200"}, "--expect-status 204-200: accepted is"},
    {{"run", "--expect-status", "200-2xx"}, "--expect-status 200-2xx: accepted is"},
    {{"run", "--expect-body", ""}, "--expect-body"},
    {{"run", "--expect-body", "(a"}, "--expect-body (a: Unmatched ( or \\("},
    {{"run", "--expect-body", "(a)\\1"}, "a back-reference; accepted is"},
    {{"run", "--expect-body", "((a{100}){100}){100}"}, "repetitions of more than 1000"},
    {{"run", "--expect-body", "sha256:12"}, "--expect-body sha256:12: accepted is"},
    {{"run", "--follow", "51"}, "--follow 51: accepted is"},
    {{"run", "--follow", "-1"}, "--follow -1: accepted is"},
};

START_TEST(test_refused)
{
    struct plan p;
    struct errmsg msg = {{0}};
    enum err e = make(&p, bad[_i].words, &msg);
    ck_assert_msg(e == ERR_INVALID || e == ERR_RANGE, "%s", err_str(e));
    ck_assert_msg(strstr(msg.text, bad[_i].text) != NULL, "%s", msg.text);
    plan_clear(&p);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("plan_responses");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_accepted);
    tcase_add_loop_test(t, test_refused, 0, N_OF(bad));
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
