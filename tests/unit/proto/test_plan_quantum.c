/* SPDX-License-Identifier: MIT */
/* --dispatch-quantum: which one is accepted depends on rate, spin and connections. */
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define WORDS_MAX   7
#define AGENTS      16

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

START_TEST(test_accepted)
{
    static const struct {
        char *words[WORDS_MAX];
        uint64_t ns;
    } cases[] = {
        {{"run", "-r1", "--dispatch-quantum", "50"}, PLAN_QUANTUM_MIN},
        {{"run", "-r1", "--dispatch-quantum", "250us"}, 250 * NS_PER_US},
        {{"run", "-r1", "--dispatch-quantum", "1ms"}, PLAN_QUANTUM_MAX},
        {{"run", "-r1", "--dispatch-quantum", "1ms", "--spin", "auto"}, PLAN_QUANTUM_MAX},
        {{"run", "-r1", "--dispatch-quantum", "1ms", "--spin", "0"}, PLAN_QUANTUM_MAX},
        {{"run", "-r1", "--dispatch-quantum", "0", "--spin", "1ms"}, 0},
        {{"run", "--dispatch-quantum", "0"}, 0},
        {{"run", "-r1"}, 0},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan p;
        struct errmsg msg = {{0}};
        ck_assert_msg(make(&p, cases[i].words, &msg) == ERR_OK, "case %zu: %s", i, msg.text);
        ck_assert_uint_eq(p.dispatch_quantum_ns, cases[i].ns);
        plan_clear(&p);
    }
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        char *words[WORDS_MAX];
        const char *text;
    } cases[] = {
        {{"run", "-r1", "--dispatch-quantum", "49us"},
         "--dispatch-quantum 49us: accepted is 0, or a time from 50us to 1ms"},
        {{"run", "-r1", "--dispatch-quantum", "1001us"}, "--dispatch-quantum 1001us: accepted is"},
        {{"run", "-r1", "--dispatch-quantum", "some"}, "--dispatch-quantum some: accepted is 0,"},
        {{"run", "-r1", "--dispatch-quantum", "-1"}, "--dispatch-quantum -1: accepted is 0,"},
        {{"run", "--dispatch-quantum", "250us"},
         "--dispatch-quantum 250us without -r/--rate: in a closed loop nothing is due"},
        {{"run", "-r1", "--dispatch-quantum", "250us", "--spin", "50us"},
         "--dispatch-quantum 250us with --spin 50us: accepted is one of the two"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan p;
        struct errmsg msg = {{0}};
        enum err e = make(&p, cases[i].words, &msg);
        ck_assert_msg(e == ERR_INVALID || e == ERR_RANGE, "case %zu: %s", i, err_str(e));
        ck_assert_msg(strstr(msg.text, cases[i].text) != NULL, "case %zu: %s", i, msg.text);
        plan_clear(&p);
    }
}
END_TEST

/* The bound is connections / (2 * rate), with the connections of the whole run. */
START_TEST(test_bounded_by_connections)
{
    static const struct {
        struct rate rate;
        uint32_t connections, cores;
        uint64_t quantum_us;
        const char *text; /* NULL = accepted */
    } cases[] = {
        {{50000, 1}, 50, 1, 500, NULL},
        {{50000, 1},
         50,
         1,
         501,
         "--dispatch-quantum 501us with --rate 50000/s on 50 connections: accepted is 0, or 50us "
         "to 500us (at most connections / (2 * rate)), or more connections"},
        {{50001, 1}, 50, 1, 500, "accepted is 0, or 50us to 499us ("},
        {{25000, 1}, 0, 1, 1000, NULL}, /* by default 50 */
        {{25001, 1}, 0, 1, 1000, "--rate 25001/s on 50 connections: accepted is 0, or 50us to 999"},
        {{32000, 1}, 0, 64, 1000, NULL}, /* 16 agents of 4 threads: 64 */
        {{32001, 1}, 0, 64, 1000, "on 64 connections: accepted is 0, or 50us to 999us"},
        {{1000000, 1}, 50, 1, 50, "on 50 connections: accepted is 0 (at most"},
        {{1000000, 1}, 50, 1, 0, NULL},
        {{1, RATE_DEN_MAX}, PLAN_CONNECTIONS_MAX, 1, 1000, NULL},
        {{RATE_MAX, 1}, PLAN_CONNECTIONS_MAX, 1, 500, NULL},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan p;
        struct plan_part parts[AGENTS];
        uint32_t ones[AGENTS], cores[AGENTS];
        struct errmsg msg = {{0}};
        for (size_t a = 0; a < AGENTS; a++) {
            ones[a] = 1;
            cores[a] = cases[i].cores;
        }
        plan_defaults(&p);
        p.rate = cases[i].rate;
        p.connections = cases[i].connections;
        p.dispatch_quantum_ns = cases[i].quantum_us * NS_PER_US;
        enum err e = plan_split(&p, ones, cores, AGENTS, parts, &msg);
        ck_assert_msg(e == (cases[i].text == NULL ? ERR_OK : ERR_RANGE), "case %zu: %s", i,
                      msg.text);
        if (cases[i].text != NULL)
            ck_assert_msg(strstr(msg.text, cases[i].text) != NULL, "case %zu: %s", i, msg.text);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_quantum");
    TCase *tc = tcase_create("quantum");
    tcase_add_test(tc, test_accepted);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_bounded_by_connections);
    suite_add_tcase(s, tc);
    return check_main(s);
}
