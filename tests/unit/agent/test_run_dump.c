/* SPDX-License-Identifier: MIT */
#include "agent/service/run_dump.h"

#include <errno.h>
#include <string.h>

#include "agent/client/client_h1.h"
#include "common/clock.h"
#include "common/mem.h"
#include "proto/snapshot.h"
#include "tests/lib/check_main.h"

#define T0_NS   UINT64_C(5000000000)
#define WORKERS 3
#define RING    1024u
#define ROUNDS  60

static struct plan plan;
static struct reqset *requests;
static struct series_map map;
static struct run_dump *dump;

static void setup(void)
{
    static const char *const names[] = {"login", "list"};
    struct errmsg msg = {{0}};
    plan_defaults(&plan);
    plan.url = mem_strdup("http://127.0.0.1:1/");
    plan.method = mem_strdup("GET");
    plan.rate = (struct rate){100, 1};
    plan.warmup_ns = 10 * NS_PER_MS;
    for (size_t i = 0; i < 2; i++) {
        struct plan_entry *e = plan_add_entry(&plan);
        e->url = mem_strdup("http://127.0.0.1:1/");
        e->name = mem_strdup(names[i]);
    }
    ck_assert_msg(reqset_new(&plan, &requests, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_int_eq(series_map_init(&map, &plan, requests, &msg), ERR_OK);
    dump = run_dump_new(WORKERS, RING, &map);
    run_dump_start(dump, T0_NS);
}

static void teardown(void)
{
    run_dump_free(dump);
    reqset_free(requests);
    plan_clear(&plan);
}

static void record(uint32_t worker, const struct client_result *res)
{
    dump_ring_result(run_dump_ring(dump, worker), res);
}

static struct dump_row only_row(void)
{
    struct msg_requests m;
    struct dump_reader r;
    struct dump_row row, none;
    ck_assert(run_dump_next(dump, &m));
    ck_assert_uint_eq(m.n, 1);
    dump_reader_init(&r, m.data.data, m.data.len);
    ck_assert(dump_get(&r, &row));
    ck_assert(!dump_get(&r, &none) && r.err == ERR_OK);
    run_dump_sent(dump);
    return row;
}

START_TEST(test_a_row)
{
    struct client_result res = {.outcome = OUTCOME_OK,
                                .status = 404,
                                .tag = 7,
                                .due_ns = T0_NS + 70 * NS_PER_MS,
                                .sent_ns = T0_NS + 71 * NS_PER_MS,
                                .done_ns = T0_NS + 75 * NS_PER_MS,
                                .bytes = 99};
    record(1, &res);
    struct dump_row row = only_row();
    ck_assert_uint_eq(row.index, 7);
    ck_assert_uint_eq(row.due_ns, 70 * NS_PER_MS);
    ck_assert_uint_eq(row.sent_ns, 71 * NS_PER_MS);
    ck_assert_uint_eq(row.done_ns, 75 * NS_PER_MS);
    ck_assert_uint_eq(row.stage, 0);
    ck_assert_uint_eq(row.request, 1);
    ck_assert_uint_eq(row.status, 404);
    ck_assert_uint_eq(row.bytes, 99);
    ck_assert_int_eq(row.outcome, DUMP_HTTP_ERROR);
    ck_assert_ptr_null(row.error);
    res.due_ns = T0_NS + 5 * NS_PER_MS;
    record(1, &res);
    ck_assert_uint_eq(only_row().stage, SERIES_STAGE_WARMUP);
}
END_TEST

/* What the report says of such an error. */
START_TEST(test_texts_are_the_reports)
{
    static const struct {
        enum outcome outcome;
        int error;
    } rows[] = {{OUTCOME_READ, 0},         {OUTCOME_READ, ECONNRESET},
                {OUTCOME_TIMEOUT, 0},      {OUTCOME_PROTOCOL, 1},
                {OUTCOME_WRITE, EPIPE},    {OUTCOME_CONNECT, ECONNREFUSED},
                {OUTCOME_READ, ECONNRESET}};
    struct dump_row row;
    char text[DUMP_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client_result res = {
            .outcome = rows[i].outcome, .error = rows[i].error, .due_ns = T0_NS};
        record(0, &res);
        row = only_row();
        outcome_text(rows[i].outcome, rows[i].error, text, sizeof text);
        ck_assert_uint_eq(row.text, strlen(text));
        ck_assert_int_eq(memcmp(row.error, text, row.text), 0);
    }
    struct client_result unexpected = {.outcome = OUTCOME_OK, .status = 404, .error = 404};
    record(0, &unexpected);
    row = only_row();
    ck_assert_msg(row.text == 23 && memcmp(row.error, "expectation: status 404", 23) == 0, "%.*s",
                  (int)row.text, row.error);
    struct client_result unfinished = {.outcome = OUTCOME_UNFINISHED};
    record(0, &unfinished);
    ck_assert_ptr_null(only_row().error);
}
END_TEST

/* A message stays the same until it is sent; whatever the rings hold comes once. */
START_TEST(test_rows_and_dropped_are_all)
{
    uint64_t rng = check_seed(), recorded = 0, came = 0, rows, dropped;
    struct msg_requests m, again;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t n = check_below(&rng, 3000);
        for (uint64_t i = 0; i < n; i++, recorded++) {
            struct client_result res = {.outcome = (enum outcome)check_below(&rng, OUTCOMES),
                                        .tag = recorded,
                                        .due_ns = T0_NS + recorded};
            record((uint32_t)check_below(&rng, WORKERS), &res);
        }
        while (check_below(&rng, 4) > 0 && run_dump_next(dump, &m)) {
            ck_assert_uint_eq(m.first, came);
            ck_assert(run_dump_next(dump, &again));
            ck_assert(again.n == m.n && again.data.len == m.data.len);
            came += m.n;
            run_dump_sent(dump);
        }
    }
    while (_i == 0 && run_dump_next(dump, &m)) {
        came += m.n;
        run_dump_sent(dump);
    }
    for (int i = 0; i < 10; i++, recorded++)
        record(0, &(struct client_result){.due_ns = T0_NS});
    ck_assert(run_dump_next(dump, &m)); /* packed, and given up */
    run_dump_give_up(dump);
    ck_assert(!run_dump_next(dump, &m));
    run_dump_totals(dump, &rows, &dropped);
    ck_assert_uint_eq(rows, came);
    ck_assert_uint_eq(rows + dropped, recorded);
    ck_assert_uint_gt(dropped, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("run_dump");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_a_row);
    tcase_add_test(t, test_texts_are_the_reports);
    tcase_add_loop_test(t, test_rows_and_dropped_are_all, 0, 2);
    return check_main(s);
}
