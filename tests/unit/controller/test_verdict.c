/* SPDX-License-Identifier: MIT */
#include "controller/run/verdict.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define INTERVALS 10

/* A clean open-loop run of 10 s, 1000 requests by each of two agents, which a case then spoils. */
struct run {
    struct plan plan;
    struct result *r;
};

static struct counters *counters_of(struct run *run, size_t agent)
{
    return &snapshot_series(run->r->agents[agent].total, 0, "")->counters;
}

static void run_make(struct run *run)
{
    *run = (struct run){.plan = {.rate = {200, 1}, .duration_ns = 10 * NS_PER_SEC}};
    struct result *r = run->r = result_new(2);
    r->plan = &run->plan;
    r->duration_ns = r->end_ns = 10 * NS_PER_SEC;
    r->n_intervals = INTERVALS;
    r->intervals = mem_calloc(INTERVALS, sizeof *r->intervals);
    for (size_t i = 0; i < INTERVALS; i++)
        r->intervals[i] = (struct result_interval){.from_ns = i * NS_PER_SEC,
                                                   .to_ns = (i + 1) * NS_PER_SEC,
                                                   .sent = 200,
                                                   .completed = 200,
                                                   .corrected = {.p50 = 2 * NS_PER_MS},
                                                   .agents_reporting = 2};
    for (size_t i = 0; i < 2; i++) {
        r->agents[i].checked = r->agents[i].started = true;
        snprintf(r->agents[i].name, sizeof r->agents[i].name, "box%zu", i);
        *counters_of(run, i) = (struct counters){
            .scheduled = 1000, .sent = 1000, .completed = 1000, .ok = 1000, .connects = 10};
    }
}

static void evaluate(struct run *run)
{
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(snapshot_add(run->r->total, run->r->agents[i].total, false), ERR_OK);
    verdict_eval(run->r);
}

static void clean(struct run *run)
{
    (void)run;
}

static void interrupted(struct run *run)
{
    run->r->interrupted = true;
    run->r->end_ns = 3 * NS_PER_SEC;
}

static void lost(struct run *run)
{
    run->r->agents[1].state = RESULT_LOST;
    run->r->agents[1].checked = false;
    counters_of(run, 1)->completed = counters_of(run, 1)->ok = 900; /* 100 in flight: no matter */
    snprintf(run->r->agents[1].problem, sizeof run->r->agents[1].problem, "silent for 10 s");
}

/* Everybody stopped on our word. */
static void aborted(struct run *run)
{
    run->r->end_ns = 3 * NS_PER_SEC;
    for (size_t i = 0; i < 2; i++)
        run->r->agents[i].state = RESULT_STOPPED;
    snprintf(run->r->aborted, sizeof run->r->aborted, "errors>5 was met 3.00s after the start: 6");
}

static void interrupted_and_lost(struct run *run)
{
    lost(run);
    interrupted(run);
}

static void gave_up(struct run *run)
{
    run->r->agents[0].state = RESULT_STOPPED;
    snprintf(run->r->agents[0].problem, sizeof run->r->agents[0].problem, "asked to shut down");
}

static void gave_up_and_stopped(struct run *run)
{
    gave_up(run);
    run->r->agents[1].state = RESULT_STOPPED;
}

static void target_died(struct run *run)
{
    *counters_of(run, 0) = (struct counters){.scheduled = 1000,
                                             .sent = 400,
                                             .unsent_no_connection = 600,
                                             .completed = 400,
                                             .ok = 400,
                                             .connects = 10,
                                             .connect_errors = 61};
}

static void lost_and_stopped(struct run *run)
{
    lost(run);
    run->r->agents[0].state = RESULT_STOPPED;
}

static void unchecked(struct run *run)
{
    run->r->agents[0].checked = false;
}

static void ledger_broken(struct run *run)
{
    counters_of(run, 0)->sent = 999;
}

static void unreachable(struct run *run)
{
    for (size_t i = 0; i < 2; i++)
        *counters_of(run, i) = (struct counters){
            .scheduled = 1000, .unsent_no_connection = 1000, .connect_errors = 77};
}

static void never_connected_silently(struct run *run)
{
    for (size_t i = 0; i < 2; i++)
        *counters_of(run, i) = (struct counters){.scheduled = 1000, .unsent_no_connection = 1000};
}

static void no_target(struct run *run)
{
    for (size_t i = 0; i < 2; i++) {
        *counters_of(run, i) = (struct counters){0};
        run->r->agents[i].checked = false;
    }
    run->r->no_target = true;
    run->r->n_intervals = 0;
    snprintf(run->r->agents[1].problem, sizeof run->r->agents[1].problem, "connection refused");
}

static void all_lost_untold(struct run *run)
{
    for (size_t i = 0; i < 2; i++) {
        *counters_of(run, i) = (struct counters){0};
        run->r->agents[i].state = RESULT_LOST;
    }
}

static void no_data(struct run *run)
{
    for (size_t i = 0; i < 2; i++)
        *counters_of(run, i) =
            (struct counters){.scheduled = 1000, .sent = 1000, .timeouts = 1000, .connects = 10};
}

static void send_lag(struct run *run)
{
    run->r->intervals[4].send_lag_judged = NS_PER_MS + 1;
}

static void send_lag_at_bound(struct run *run)
{
    run->r->intervals[4].send_lag_judged = NS_PER_MS;
}

static void send_lag_small_beside_p50(struct run *run)
{
    run->r->intervals[4].send_lag_judged = 5 * NS_PER_MS;
    run->r->intervals[4].corrected.p50 = 20 * NS_PER_MS;
}

static void send_lag_rare(struct run *run)
{
    send_lag(run);
    run->r->intervals = mem_realloc(run->r->intervals, INTERVALS + 1, sizeof *run->r->intervals);
    run->r->intervals[INTERVALS] = run->r->intervals[0];
    run->r->n_intervals++;
}

static void send_lag_of_the_quantum(struct run *run)
{
    run->plan.dispatch_quantum_ns = 250 * NS_PER_US;
    run->r->intervals[4].send_lag_judged = NS_PER_MS + 250 * NS_PER_US;
}

static void send_lag_beyond_the_quantum(struct run *run)
{
    send_lag_of_the_quantum(run);
    run->r->intervals[4].send_lag_judged++;
}

static void receive_lag_with_a_quantum(struct run *run)
{
    run->plan.dispatch_quantum_ns = NS_PER_MS;
    run->r->intervals[0].receive_judged = NS_PER_MS + 1;
}

static void receive_lag(struct run *run)
{
    run->r->intervals[0].receive_judged = 3 * NS_PER_MS;
}

static void lag_only_in_the_tail(struct run *run)
{
    run->r->intervals[9].receive_judged = 3 * NS_PER_MS;
    run->r->intervals[9].sent = 0;
}

static void cpu(struct run *run)
{
    run->r->intervals[2].cpu_busy_ppm = 810000;
}

static void sliver(struct run *run, uint64_t width_ns)
{
    struct result_interval *row = &run->r->intervals[9];
    row->to_ns = row->from_ns + width_ns;
    row->cpu_busy_ppm = 990000;
    row->receive_judged = 9 * NS_PER_MS;
}

static void busy_in_a_sliver(struct run *run)
{
    sliver(run, 99 * NS_PER_MS);
}

static void busy_in_a_tenth(struct run *run)
{
    sliver(run, 100 * NS_PER_MS);
}

static void busy_in_its_only_interval(struct run *run)
{
    cpu(run);
    run->r->intervals[0] = run->r->intervals[2];
    run->r->intervals[0].to_ns = run->r->intervals[0].from_ns + NS_PER_MS;
    run->r->n_intervals = 1;
}

static void closed_loop_cpu(struct run *run)
{
    cpu(run);
    send_lag(run);
    run->plan.rate = (struct rate){0, 1};
}

static void faults(struct run *run)
{
    counters_of(run, 0)->fault_fd_limit = 21;
}

static void few_faults(struct run *run)
{
    counters_of(run, 0)->fault_fd_limit = 20;
}

static void waited(struct run *run)
{
    counters_of(run, 0)->waited = 20;
}

static void waited_a_little(struct run *run)
{
    counters_of(run, 0)->waited = 19;
}

static void backlog(struct run *run)
{
    waited_a_little(run);
    run->r->intervals[9].backlog = 7;
}

/* By one of the agents, of its 1000. */
static struct counters *sent(struct run *run, uint64_t n)
{
    struct counters *c = counters_of(run, 0);
    *c = (struct counters){.scheduled = 1000, .sent = n, .completed = n, .ok = n, .connects = 3};
    return c;
}

static void no_connection(struct run *run)
{
    sent(run, 999)->unsent_no_connection = 1;
}

static void both_limited(struct run *run)
{
    waited(run);
    cpu(run);
}

static void lost_and_limited(struct run *run)
{
    lost(run);
    cpu(run);
}

/* The load was split over the one that was there. */
static void left_out(struct run *run)
{
    struct result_agent *a = &run->r->agents[1];
    a->state = RESULT_REFUSED;
    a->left_out = true;
    a->checked = a->started = false;
    *counters_of(run, 1) = (struct counters){0};
    snprintf(a->problem, sizeof a->problem, "it does not answer");
}

static void left_out_and_lost(struct run *run)
{
    left_out(run);
    run->r->agents[0].state = RESULT_LOST;
}

static void lost_with_a_gap(struct run *run)
{
    lost(run);
    run->r->agents[1].loss = (struct loss){.any = true, .count = 77};
}

/* Its figures are exact, and it is lost all the same. */
static void lost_and_collected(struct run *run)
{
    run->r->agents[1].state = RESULT_LOST;
    run->r->agents[1].loss = (struct loss){.any = true, .collected = true};
}

static void halted(struct run *run)
{
    for (size_t i = 0; i < 2; i++) {
        run->r->agents[i].state = RESULT_STOPPED;
        snprintf(run->r->agents[i].problem, sizeof run->r->agents[i].problem,
                 "halted by ann@desk: enough");
    }
}

static void aborted_and_late(struct run *run)
{
    aborted(run);
    send_lag(run);
}

static const struct {
    const char *name;
    void (*spoil)(struct run *run);
    enum result_status status;
    int exit_code;
    size_t reasons;
    const char *says; /* in one of the reasons */
} rows[] = {
    {"clean", clean, STATUS_VALID, 0, 0, ""},
    {"interrupted", interrupted, STATUS_INTERRUPTED, 130, 1, "signal after 3.00s of 10s"},
    {"interrupted, lost", interrupted_and_lost, STATUS_INTERRUPTED, 130, 2, "silent for 10 s"},
    {"aborted", aborted, STATUS_ABORTED, 99, 1, "errors>5 was met 3.00s after the start: 6"},
    {"aborted, late", aborted_and_late, STATUS_GENERATOR_LIMITED, 4, 2, "errors>5 was met"},
    {"lost", lost, STATUS_INCOMPLETE, 3, 1, "agent box1 was lost: silent for 10 s"},
    {"gave up", gave_up, STATUS_INCOMPLETE, 3, 1, "before its end: asked to shut down"},
    {"gave up, stopped", gave_up_and_stopped, STATUS_INCOMPLETE, 3, 1, "box0 was stopped"},
    {"target died", target_died, STATUS_SERVER_LIMITED, 0, 1, "; 61 attempts to open one failed"},
    {"lost, stopped", lost_and_stopped, STATUS_INCOMPLETE, 3, 1, "agent box1 was lost"},
    {"unchecked", unchecked, STATUS_INCOMPLETE, 3, 1, "agent box0: its final totals never came"},
    {"ledger", ledger_broken, STATUS_INCOMPLETE, 3, 1, "1000 against 999"},
    {"unreachable", unreachable, STATUS_UNREACHABLE, 2, 2, "154 attempts failed"},
    {"black hole", never_connected_silently, STATUS_UNREACHABLE, 2, 2, "ever opened"},
    {"no target", no_target, STATUS_UNREACHABLE, 2, 1, "target ever opened: connection refused"},
    {"all lost", all_lost_untold, STATUS_INCOMPLETE, 3, 3, "agent box0 was lost"},
    {"no data", no_data, STATUS_NO_DATA, 3, 1, "2000 were due, 2000 sent"},
    {"send lag", send_lag, STATUS_GENERATOR_LIMITED, 4, 1, "1 of 10 intervals, worst p99 1.00ms"},
    {"at bound", send_lag_at_bound, STATUS_VALID, 0, 0, ""},
    {"beside p50", send_lag_small_beside_p50, STATUS_VALID, 0, 0, ""},
    {"1 of 11", send_lag_rare, STATUS_VALID, 0, 0, ""},
    {"quantum", send_lag_of_the_quantum, STATUS_VALID, 0, 0, ""},
    {"beyond it", send_lag_beyond_the_quantum, STATUS_GENERATOR_LIMITED, 4, 1,
     "corrected p50, each plus the quantum of 250us) in 1 of 10 intervals"},
    {"received", receive_lag_with_a_quantum, STATUS_GENERATOR_LIMITED, 4, 1, "receive delay"},
    {"receive", receive_lag, STATUS_GENERATOR_LIMITED, 4, 1, "receive delay"},
    {"tail", lag_only_in_the_tail, STATUS_VALID, 0, 0, ""},
    {"cpu", cpu, STATUS_GENERATOR_LIMITED, 4, 1, "at most 81 %"},
    {"sliver", busy_in_a_sliver, STATUS_VALID, 0, 0, ""},
    {"a tenth", busy_in_a_tenth, STATUS_GENERATOR_LIMITED, 4, 2, "1 of 10 intervals"},
    {"only one", busy_in_its_only_interval, STATUS_GENERATOR_LIMITED, 4, 1, "1 of 1 intervals"},
    {"closed loop", closed_loop_cpu, STATUS_VALID, 0, 0, ""},
    {"faults", faults, STATUS_GENERATOR_LIMITED, 4, 1, "21 for 2000 requests"},
    {"few faults", few_faults, STATUS_VALID, 0, 0, ""},
    {"waited", waited, STATUS_SERVER_LIMITED, 0, 1, "20 of 2000 requests (1.0 %)"},
    {"waited little", waited_a_little, STATUS_VALID, 0, 0, ""},
    {"backlog", backlog, STATUS_SERVER_LIMITED, 0, 1, "backlog of 7"},
    {"no connection", no_connection, STATUS_SERVER_LIMITED, 0, 1,
     "1 requests never got a free connection"},
    {"both", both_limited, STATUS_GENERATOR_LIMITED, 4, 2, "waited"},
    {"left out", left_out, STATUS_VALID, 0, 0, ""},
    {"left out, lost", left_out_and_lost, STATUS_INCOMPLETE, 3, 1, "agent box0 was lost"},
    {"gap", lost_with_a_gap, STATUS_INCOMPLETE, 3, 2, "77 requests due at that agent"},
    {"collected", lost_and_collected, STATUS_INCOMPLETE, 3, 1, "agent box1 was lost"},
    {"halted", halted, STATUS_INCOMPLETE, 3, 2, "box1 was stopped before its end: halted by ann"},
    {"lost+limited", lost_and_limited, STATUS_INCOMPLETE, 3, 2, "more than 80 %"},
};

START_TEST(test_table)
{
    struct run run;
    run_make(&run);
    rows[_i].spoil(&run);
    evaluate(&run);
    const struct verdict *v = &run.r->verdict;
    bool said = rows[_i].says[0] == '\0';
    for (size_t i = 0; i < v->n_reasons; i++)
        said = said || strstr(v->reasons[i], rows[_i].says) != NULL;
    ck_assert_msg(v->status == rows[_i].status, "%s: %s", rows[_i].name,
                  result_status_name(v->status));
    ck_assert_msg(v->exit_code == rows[_i].exit_code, "%s: exit %d", rows[_i].name, v->exit_code);
    ck_assert_msg(v->n_reasons == rows[_i].reasons, "%s: %zu reasons", rows[_i].name, v->n_reasons);
    ck_assert_msg(said, "%s: no reason says '%s'", rows[_i].name, rows[_i].says);
    result_free(run.r);
}
END_TEST

/* What stands at the end of an agent's longest problem is there. */
START_TEST(test_a_long_problem_is_whole)
{
    struct run run;
    run_make(&run);
    no_target(&run);
    char *problem = run.r->agents[0].problem;
    memset(problem, 'x', sizeof run.r->agents[0].problem - 1);
    memcpy(problem + sizeof run.r->agents[0].problem - 4, "-k.", 4);
    evaluate(&run);
    const char *said = run.r->verdict.reasons[0];
    ck_assert_msg(strstr(said, "xxx-k.") != NULL, "%s", said);
    result_free(run.r);
}
END_TEST

/* 1000 requests of 10 ms, a few of which left `lag_ns` late, or were read late. */
static void lagging(struct run *run, enum hist_kind kind, uint64_t corrected_ns, uint64_t lag_ns,
                    uint64_t late)
{
    for (size_t i = 0; i < 2; i++) {
        struct series *s = snapshot_series(run->r->agents[i].total, 0, "");
        hist_record(series_hist(s, HIST_CORRECTED), corrected_ns, 1000);
        hist_record(series_hist(s, kind), 10000, 1000 - late);
        hist_record(series_hist(s, kind), lag_ns, late);
    }
}

/* A warning is a line and nothing else. */
START_TEST(test_warnings)
{
    static const struct {
        enum hist_kind kind;
        uint64_t corrected_ns, lag_ns, late;
        const char *says; /* NULL = no warning */
        uint64_t quantum_ns;
    } cases[] = {
        {HIST_SEND_LAG, NS_PER_MS, 99000, 20, NULL, 0},
        {HIST_SEND_LAG, NS_PER_MS, 101000, 20, "send delay was 101", 0},
        {HIST_RECEIVE, NS_PER_MS, 101000, 20, "receive delay was 101", 0},
        {HIST_SEND_LAG, NS_PER_MS, 900000, 9, NULL, 0}, /* fewer than one in a hundred */
        {HIST_SEND_LAG, 10 * NS_PER_MS, 480000, 20, NULL, 0},
        {HIST_SEND_LAG, 10 * NS_PER_MS, 520000, 20, "more than 500", 0},
        {HIST_WAIT, NS_PER_MS, NS_PER_SEC, 500, NULL, 0}, /* the server's */
        {HIST_SEND_LAG, NS_PER_MS, 599000, 20, NULL, 500000},
        {HIST_SEND_LAG, NS_PER_MS, 601000, 20, "more than 600", 500000},
        {HIST_RECEIVE, NS_PER_MS, 101000, 20, "receive delay was 101", 500000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run run;
        run_make(&run);
        run.plan.dispatch_quantum_ns = cases[i].quantum_ns;
        lagging(&run, cases[i].kind, cases[i].corrected_ns, cases[i].lag_ns, cases[i].late);
        evaluate(&run);
        const struct verdict *v = &run.r->verdict;
        ck_assert_msg(v->n_warnings == (cases[i].says != NULL), "case %zu: %zu", i, v->n_warnings);
        ck_assert_msg(v->status == STATUS_VALID && v->exit_code == 0, "case %zu", i);
        if (cases[i].says != NULL)
            ck_assert_msg(strstr(v->warnings[0], cases[i].says) != NULL, "case %zu: %s", i,
                          v->warnings[0]);
        result_free(run.r);
    }
}
END_TEST

/* Where the reasons have said it already, and where nothing was due at an instant. */
static void check_warning(struct run *run, const char *want)
{
    const struct verdict *v = &run->r->verdict;
    ck_assert_int_eq(v->status, STATUS_VALID);
    if (want == NULL) {
        ck_assert_uint_eq(v->n_warnings, 0);
    } else {
        ck_assert_uint_eq(v->n_warnings, 1);
        ck_assert_msg(strstr(v->warnings[0], want) != NULL, "%s", v->warnings[0]);
    }
    result_free(run->r);
}

/* 200 requests a second: 5 ms between two, of which the clock may be wrong by 1 ms. */
START_TEST(test_phases)
{
    for (int i = 0; i < 5; i++) {
        struct run run;
        run_make(&run);
        run.r->agents[1].clock_error_ns = NS_PER_MS + (i > 0);
        run.r->agents[1].same_clock = i == 2;
        run.r->agents[0].clock = run.r->agents[1].clock = i == 4; /* one machine, not ours */
        if (i == 3)
            run.plan.rate = (struct rate){0, 1};
        evaluate(&run);
        check_warning(&run, i == 1 ? "up to 1.00ms, the gap between two requests 5.00ms" : NULL);
    }
}
END_TEST

/* A tenth of an interval is 100 ms; and what may be an error is no drift. */
START_TEST(test_drift)
{
    static const int64_t moved_ms[] = {100, 101, -101, 101};
    static const uint64_t error_ms[] = {1, 1, 1, 101};
    for (int i = 0; i < 4; i++) {
        struct run run;
        run_make(&run);
        run.plan.interval_ns = NS_PER_SEC;
        run.r->agents[1].drift = (struct drift){.windows = 3,
                                                .max_ns = moved_ms[i] * (int64_t)NS_PER_MS,
                                                .max_error_ns = error_ms[i] * NS_PER_MS};
        evaluate(&run);
        check_warning(&run, i == 1   ? "box1 moved by +101.00ms in the run"
                            : i == 2 ? "box1 moved by -101.00ms in the run"
                                     : NULL);
    }
}
END_TEST

START_TEST(test_who_was_left_out_is_told)
{
    struct run run;
    run_make(&run);
    left_out(&run);
    evaluate(&run);
    ck_assert_uint_eq(run.r->verdict.n_warnings, 1);
    ck_assert_str_eq(run.r->verdict.warnings[0],
                     "agent box1 did not take part (it does not answer): the others had the whole "
                     "load");
    result_free(run.r);
}
END_TEST

START_TEST(test_no_warning_is_needed)
{
    for (int i = 0; i < 2; i++) {
        struct run run;
        run_make(&run);
        lagging(&run, HIST_RECEIVE, NS_PER_MS, 2 * NS_PER_MS, 500);
        if (i == 0)
            receive_lag(&run);
        else
            run.plan.rate.num = 0;
        evaluate(&run);
        ck_assert_uint_eq(run.r->verdict.n_warnings, 0);
        result_free(run.r);
    }
}
END_TEST

START_TEST(test_both_limits_are_told)
{
    struct run run;
    run_make(&run);
    both_limited(&run);
    evaluate(&run);
    ck_assert(run.r->verdict.also_server_limited);
    result_free(run.r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("verdict");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, test_table, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(t, test_a_long_problem_is_whole);
    tcase_add_test(t, test_warnings);
    tcase_add_test(t, test_phases);
    tcase_add_test(t, test_drift);
    tcase_add_test(t, test_who_was_left_out_is_told);
    tcase_add_test(t, test_no_warning_is_needed);
    tcase_add_test(t, test_both_limits_are_told);
    return check_main(s);
}
