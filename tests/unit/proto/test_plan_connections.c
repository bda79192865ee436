/* SPDX-License-Identifier: MIT */
/* How long connections are kept: options, their bounds, the wire. */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "proto/preflight.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define WORDS_MAX   6

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

static const struct {
    char *words[WORDS_MAX];
    uint32_t each; /* requests on a connection */
    uint64_t connect_ns;
} good[] = {
    {{"run"}, 0, 0},
    {{"run", "--no-keepalive"}, 1, 0},
    {{"run", "--disable-keepalive"}, 1, 0},
    {{"run", "--requests-per-connection", "1"}, 1, 0},
    {{"run", "--requests-per-connection", "100"}, 100, 0},
    {{"run", "--no-keepalive", "--requests-per-connection", "1"}, 1, 0},
    {{"run", "--connect-timeout", "300"}, 0, 300 * NS_PER_MS},
    {{"run", "--connect-timeout", "5s", "-T", "1s"}, 0, 5 * NS_PER_SEC},
    {{"run", "--connect-timeout", "0"}, 0, 0},
};

/* Also after the way to an agent. */
START_TEST(test_accepted)
{
    struct plan p, q;
    struct errmsg msg = {{0}};
    uint8_t *bytes;
    size_t len;
    ck_assert_msg(make(&p, good[_i].words, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(plan_per_connection(&p), good[_i].each);
    ck_assert_uint_eq(p.connect_timeout_ns, good[_i].connect_ns);
    ck_assert_int_eq(plan_encode(&p, &bytes, &len), ERR_OK);
    ck_assert_msg(plan_decode(bytes, len, &q, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(plan_per_connection(&q), good[_i].each);
    ck_assert_uint_eq(q.connect_timeout_ns, good[_i].connect_ns);
    mem_free(bytes);
    plan_clear(&p);
    plan_clear(&q);
}
END_TEST

static const struct {
    char *words[WORDS_MAX];
    const char *text;
} bad[] = {
    {{"run", "--requests-per-connection", "0"}, "--requests-per-connection 0: accepted is"},
    {{"run", "--requests-per-connection", "x"}, "--requests-per-connection x: accepted is"},
    {{"run", "--connect-timeout", "2h"}, "--connect-timeout 2h: accepted is"},
    {{"run", "--connect-timeout", "-1"}, "--connect-timeout -1: accepted is"},
    {{"run", "--no-keepalive", "--requests-per-connection", "2"},
     "--requests-per-connection 2 with --no-keepalive, which is 1: accepted is one of the two"},
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

/* The options ask for ports as the header does, and 1 in N for N requests. */
START_TEST(test_ports)
{
    static const struct {
        char *words[WORDS_MAX];
        uint32_t each, ports;
    } cases[] = {
        {{"run", "-r1000", "-d600"}, 0, 1},
        {{"run", "-r1000", "-d600", "--no-keepalive"}, 1, 60001},
        {{"run", "-r1000", "-d600", "-HConnection: close"}, 1, 60001},
        {{"run", "-r1000", "-d600", "--requests-per-connection", "7"}, 7, 8572},
    };
    struct plan_part all = {.total = 1, .weight = 1};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan p;
        struct errmsg msg = {{0}};
        ck_assert_msg(make(&p, cases[i].words, &msg) == ERR_OK, "%s", msg.text);
        ck_assert_uint_eq(preflight_per_connection(&p), cases[i].each);
        ck_assert_int_eq(preflight_fresh_ports(&p, &all, 1, false, cases[i].ports, &msg), ERR_OK);
        ck_assert_int_eq(preflight_fresh_ports(&p, &all, 1, false, cases[i].ports - 1, &msg),
                         cases[i].ports > 1 ? ERR_REFUSED : ERR_OK);
        plan_clear(&p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_connections");
    TCase *t = tcase_create("connections");
    tcase_add_loop_test(t, test_accepted, 0, (int)N_OF(good));
    tcase_add_loop_test(t, test_refused, 0, (int)N_OF(bad));
    tcase_add_test(t, test_ports);
    suite_add_tcase(s, t);
    return check_main(s);
}
