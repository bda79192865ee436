/* SPDX-License-Identifier: MIT */
/* --stages, --arrivals and --jitter: what reaches the server is the schedule, whoever sends it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/profile.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define STAGES   "500ms@200,1s@100..1000,500ms@600..0"
#define REQUESTS (100 + 550 + 150)
#define MOST     (2 * REQUESTS) /* at random */
#define SEED     5
#define NEAR_NS  (20 * NS_PER_MS) /* a tenth of what a constant rate would be off by */
#define ATTEMPTS 3

static struct target_process target;

static void setup(void)
{
    setenv("HAMMER_TEST_INDEX", "1", 1);
    target_start(&target, NULL);
}

static void teardown(void)
{
    target_stop(&target);
}

static const char even[] = "--arrivals=constant";

enum arrivals {
    EVEN,
    POISSON,
    JITTER,
    ARRIVALS
};

static void make_profile(struct profile *p, enum arrivals how)
{
    const struct stage stages[] = {{NS_PER_SEC / 2, {200, 1}, {200, 1}},
                                   {NS_PER_SEC, {100, 1}, {1000, 1}},
                                   {NS_PER_SEC / 2, {600, 1}, {0, 1}}};
    ck_assert_int_eq(profile_stages(p, stages, 3, NULL), ERR_OK);
    ck_assert_uint_eq(profile_total(p), REQUESTS);
    if (how == POISSON)
        profile_poisson(p, SEED);
    if (how == JITTER)
        profile_jitter(p, SEED, 1000000000);
}

/* One line: read_ns written_ns /r/INDEX status arrived_ns. */
static void read_log(uint64_t arrived[MOST], uint64_t n)
{
    char *text = file_read(target.log), *save = NULL;
    size_t lines = 0;
    memset(arrived, 0, MOST * sizeof *arrived);
    for (char *l = strtok_r(text, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save)) {
        char *end, *at = strstr(l, "/r/");
        ck_assert_ptr_nonnull(at);
        uint64_t i = strtoull(at + 3, &end, 10);
        CHECK_MUST(i < n && arrived[i] == 0);
        strtoul(end, &end, 10); /* the status */
        arrived[i] = strtoull(end, NULL, 10);
        CHECK_MUST(arrived[i] > 0);
        lines++;
    }
    ck_assert_uint_eq(lines, n);
    mem_free(text);
}

/* The earliest one tells where t0 was; how many of the others came when it was their turn. */
static size_t count_near(const uint64_t arrived[MOST], const struct profile *p)
{
    uint64_t t0 = UINT64_MAX, n = profile_total(p);
    size_t near = 0;
    for (uint64_t i = 0; i < n; i++)
        if (arrived[i] - profile_due(p, i) < t0)
            t0 = arrived[i] - profile_due(p, i);
    for (uint64_t i = 0; i < n; i++)
        near += arrived[i] - profile_due(p, i) - t0 < NEAR_NS;
    return near;
}

static void check_report(const char *text, int64_t requests, enum arrivals how)
{
    json_t *r = report_parse(text);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.ok"), requests);
    ck_assert_int_eq(report_int(r, "plan.duration_ns"), 2 * (int64_t)NS_PER_SEC);
    ck_assert_str_eq(report_text_at(r, "plan.rate"), "1000/s");
    ck_assert_str_eq(report_text_at(r, "plan.stages.1.stage"), "1s@100..1000");
    ck_assert(how == POISSON || json_real_value(report_at(r, "rate.target")) == REQUESTS / 2.0);
    const int64_t stages[] = {0, 1, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        char stage[] = "timeline.0.stage", from[] = "timeline.0.from_ns";
        stage[9] = from[9] = (char)('0' + i);
        ck_assert_int_eq(report_int(r, from), (int64_t)(i * NS_PER_SEC / 2));
        ck_assert_int_eq(report_int(r, stage), stages[i]);
    }
    json_decref(r);
}

/* Two agents, with these stages; the server's log into arrived, the report is the caller's. */
static char *run_logged(const char *stages, const char *flag, uint64_t n, uint64_t arrived[MOST])
{
    struct process p;
    char url[160];
    snprintf(url, sizeof url, "%sr/{i}", target.url);
    const char *args[] = {"run", "--local",    "2",     flag,     "--stages", stages, "-c",
                          "20",  "--interval", "500ms", "--json", url,        NULL,   NULL};
    if (strcmp(flag, even) != 0)
        args[12] = "--seed=5";
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    char *report = mem_strdup(p.out);
    process_end(&p);
    process_signal(&target.process, SIGTERM); /* writes its log */
    process_wait(&target.process, 10000);
    read_log(arrived, n);
    target_stop(&target);
    target_start(&target, NULL);
    return report;
}

/* Each index once, and when it was due; a sanitized build, beside other tests, shows the former. */
START_TEST(test_the_server_sees_the_schedule)
{
    static uint64_t arrived[MOST];
    static const char *const flags[ARRIVALS] = {even, "--arrivals=poisson", "--jitter=100%"};
    enum arrivals how = (enum arrivals)_i;
    struct profile profile;
    make_profile(&profile, how);
    uint64_t n = profile_total(&profile);
    size_t near = 0;
    ck_assert_uint_le(n, MOST);
    for (int i = 0; i < ATTEMPTS && near * 10 < n * 9; i++) {
        char *report = run_logged(STAGES, flags[how], n, arrived);
        check_report(report, (int64_t)n, how);
        mem_free(report);
        near = process_sanitized() ? n : count_near(arrived, &profile);
    }
    ck_assert_msg(near * 10 >= n * 9, "%zu of %zu arrived when due", near, (size_t)n);
}
END_TEST

/* Above the requests follow each other so closely that jitter is hardly seen. Here it is up to
 * 100 ms: what arrived is far from an even schedule. */
START_TEST(test_the_server_sees_the_jitter)
{
    static uint64_t arrived[MOST];
    const struct stage slow = {4 * NS_PER_SEC, {10, 1}, {10, 1}};
    struct profile profile, evenly;
    ck_assert_int_eq(profile_stages(&evenly, &slow, 1, NULL), ERR_OK);
    profile = evenly;
    profile_jitter(&profile, SEED, 1000000000);
    size_t n = profile_total(&profile), near = 0;
    ck_assert_uint_eq(n, 40);
    for (int i = 0; i < ATTEMPTS && near * 10 < n * 9; i++) {
        mem_free(run_logged("4s@10", "--jitter=100%", n, arrived));
        near = process_sanitized() ? n : count_near(arrived, &profile);
    }
    ck_assert_msg(near * 10 >= n * 9, "%zu of %zu arrived when due", near, n);
    ck_assert(process_sanitized() || count_near(arrived, &evenly) * 2 < n);
}
END_TEST

START_TEST(test_the_text_states_them)
{
    struct process p;
    const char *args[] = {"run", "--stages", "100ms@100,0.2@50..150", "-c", "4", target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    ck_assert_msg(strstr(p.out, "open loop in 2 stages\n"
                                "  Stages            100ms@100, 200ms@50..150\n") != NULL,
                  "%.500s", p.out);
    process_end(&p);
}
END_TEST

/* The same seed: the same number of requests and the same due times, however many send them. */
START_TEST(test_poisson_replays)
{
    int64_t scheduled[3];
    static const char *const agents[] = {"1", "2", "2"}, *const seeds[] = {"7", "7", "8"};
    for (int i = 0; i < 3; i++) {
        struct process p;
        const char *args[] = {"run",     "--local", agents[i],  "-r",     "700",    "-d",
                              "1",       "-c",      "20",       "--seed", seeds[i], "--arrivals",
                              "poisson", "--json",  target.url, NULL};
        int code = process_run(&p, "hammer-ctl", args, 60000);
        ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
        json_t *r = report_parse(p.out);
        report_check_ledger(r);
        scheduled[i] = report_int(r, "totals.scheduled");
        ck_assert_int_eq(report_int(r, "totals.ok"), scheduled[i]);
        ck_assert_str_eq(report_text_at(r, "plan.arrivals"), "poisson");
        ck_assert_int_eq(report_int(r, "plan.seed"), seeds[i][0] - '0');
        json_decref(r);
        process_end(&p);
    }
    ck_assert_int_eq(scheduled[0], scheduled[1]);
    ck_assert_int_ne(scheduled[0], scheduled[2]);
}
END_TEST

/* Some runs end early by count; the last stages are then not reached. */
START_TEST(test_a_count_ends_them_early)
{
    struct process p;
    const char *args[] = {"run", "--stages", "100ms@100,1h@1..50", "-n", "11", "-c",
                          "4",   "--json",   target.url,           NULL};
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    json_t *r = report_parse(p.out);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 11);
    ck_assert_int_eq(report_int(r, "totals.ok"), 11);
    json_decref(r);
    process_end(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stages");
    TCase *t = tcase_create("stages");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, test_the_server_sees_the_schedule, 0, ARRIVALS);
    tcase_add_test(t, test_the_server_sees_the_jitter);
    tcase_add_test(t, test_the_text_states_them);
    tcase_add_test(t, test_poisson_replays);
    tcase_add_test(t, test_a_count_ends_them_early);
    suite_add_tcase(s, t);
    return check_main(s);
}
