/* SPDX-License-Identifier: MIT */
#include "controller/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/report/figures.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report_fixture.h"

/*
 * Text reports of fixed results against files in tests/data/report. HAMMER_UPDATE_GOLDEN=1 writes
 * the files anew: read the difference before committing it.
 */

#define TEXT_MAX  (1u << 20)
#define LINE_MAX_ 80

static void check_lines(const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n"), columns = 0;
        for (size_t i = 0; i < len; i++)
            columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        ck_assert_msg(columns <= LINE_MAX_, "%zu columns: %.*s", columns, (int)len, text);
        ck_assert_msg(len == 0 || text[len - 1] != ' ', "blank at the end: %.*s", (int)len, text);
        ck_assert_int_eq(text[len], '\n');
        text += len + 1;
    }
}

static void check_golden(const char *text, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/report/%s", TEST_DATA_DIR, name);
    if (getenv("HAMMER_UPDATE_GOLDEN") != NULL) {
        FILE *f = fopen(path, "w");
        ck_assert_msg(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
    }
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "cannot read %s", path);
    char *want = mem_calloc(TEXT_MAX, 1);
    want[fread(want, 1, TEXT_MAX - 1, f)] = '\0';
    fclose(f);
    ck_assert_msg(strcmp(text, want) == 0, "%s differs; now it is:\n%s", name, text);
    mem_free(want);
}

static void check_text(struct report_fixture *f, bool verbose, bool spectrum, const char *name)
{
    char *text = report_render(&report_text, f->r, verbose, spectrum);
    check_lines(text);
    check_golden(text, name);
    free(text);
    result_free(f->r);
}

START_TEST(test_text_of_a_stall)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 500);
    report_fixture_finish(&f);
    check_text(&f, false, false, "stall.txt");
}
END_TEST

/* A warning stands below the verdict and does not change it. */
START_TEST(test_text_of_a_lag)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    for (size_t i = 0; i < 2; i++) {
        struct series *s = snapshot_series(f.r->agents[i].total, 0, "");
        hist_record(series_hist(s, HIST_SEND_LAG), 400000, 60);
    }
    f.r->agents[1].insecure = true;
    report_fixture_finish(&f);
    check_text(&f, false, false, "lag.txt");
}
END_TEST

START_TEST(test_text_with_errors)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_errors(&f);
    report_fixture_finish(&f);
    check_text(&f, false, false, "errors.txt");
}
END_TEST

START_TEST(test_text_of_a_lost_agent)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_errors(&f);
    struct result_agent *a = &f.r->agents[1];
    a->state = RESULT_LOST;
    a->checked = false;
    snprintf(a->name, sizeof a->name, "load-generator-17.eu-central.example.org");
    snprintf(a->address, sizeof a->address, "load-generator-17.eu-central.example.org:7400");
    snprintf(a->problem, sizeof a->problem, "nothing was heard of it for 11 s \033[31m");
    a->loss = (struct loss){.any = true,
                            .at_ns = 3210 * NS_PER_MS,
                            .last_seq = 3,
                            .last_to_ns = 3 * NS_PER_SEC,
                            .scheduled = 750,
                            .open = 2,
                            .first_index = 1501,
                            .last_index = 2998,
                            .count = 749,
                            .share = 0.5,
                            .taken_over_from = UINT64_MAX,
                            .taken_ns = UINT64_MAX};
    f.r->agents[0].state = RESULT_STOPPED;
    f.r->agents[0].clock_offset_ns = -3600 * (int64_t)NS_PER_SEC;
    f.r->agents[0].same_clock = false;
    f.r->agents[0].clock_error_ns = 35 * NS_PER_MS;
    report_fixture_finish(&f);
    check_text(&f, true, false, "lost.txt");
}
END_TEST

/* Its share was taken over, and it could be asked in the end; another one was only late. */
START_TEST(test_text_of_a_takeover)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    struct result_agent *a = &f.r->agents[1];
    a->state = RESULT_LOST;
    snprintf(a->problem, sizeof a->problem, "it was restarted");
    a->loss = (struct loss){.any = true,
                            .collected = true,
                            .at_ns = 3210 * NS_PER_MS,
                            .last_seq = 3,
                            .last_to_ns = 3 * NS_PER_SEC,
                            .scheduled = 750,
                            .first_index = 1501,
                            .last_index = 2603,
                            .count = 552,
                            .share = 0.5,
                            .taken_over_from = 2605,
                            .taken_ns = 5210 * NS_PER_MS};
    f.r->agents[0].times_late = 2;
    f.r->agents[0].longest_late_ns = 4200 * NS_PER_MS;
    report_fixture_finish(&f);
    check_text(&f, false, false, "takeover.txt");
}
END_TEST

/* One stall is the server's, one an agent's; and that agent is slower on the whole. */
START_TEST(test_text_of_stalls)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_stalls(&f);
    report_fixture_finish(&f);
    check_text(&f, false, false, "stalls.txt");
}
END_TEST

START_TEST(test_text_without_data)
{
    struct report_fixture f;
    report_fixture(&f, 0, 0);
    f.r->no_target = true;
    f.r->agents[0].started = f.r->agents[1].started = false;
    f.r->agents[0].same_clock = false;
    snprintf(f.r->agents[0].problem, sizeof f.r->agents[0].problem,
             "127.0.0.1:8080: connection refused");
    report_fixture_finish(&f);
    check_text(&f, false, true, "unreachable.txt");
}
END_TEST

START_TEST(test_text_of_a_closed_loop_with_spectrum)
{
    struct report_fixture f;
    report_fixture(&f, 40, 0);
    f.plan.rate = (struct rate){0, 1};
    f.plan.duration_ns = NS_NEVER;
    f.plan.requests = 40;
    report_fixture_finish(&f);
    check_text(&f, false, true, "closed.txt");
}
END_TEST

/* Stages, requests and the options that were given. */
START_TEST(test_text_of_stages_and_requests)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_series(&f);
    report_fixture_given(&f);
    report_fixture_finish(&f);
    check_text(&f, false, false, "series.txt");
    option_list_clear(&f.plan.given);
}
END_TEST

/* Rates are of the time after it, and its figures stand in one place only. */
START_TEST(test_text_of_a_warmup)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_warmup(&f);
    report_fixture_finish(&f);
    check_text(&f, false, false, "warmup.txt");
}
END_TEST

/* --closed-loop with a rate: due times, but one clock. */
START_TEST(test_text_of_a_timeline_in_groups)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 500);
    report_fixture_stalls(&f);
    report_fixture_finish(&f);
    report_fixture_groups(&f);
    f.r->intervals[2].agents_reporting = f.r->groups[1].agents_reporting = 1;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct report_options o = {.unicode = true, .colour = true};
    ck_assert_int_eq(report_text.write(f.r, &o, out), ERR_OK);
    fclose(out);
    check_lines(text);
    ck_assert_ptr_null(strstr(text, "\033")); /* not on a terminal */
    check_golden(text, "every.txt");
    free(text);
    result_free(f.r);
}
END_TEST

START_TEST(test_text_from_the_send)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_series(&f);
    report_fixture_from_send(&f);
    report_fixture_finish(&f);
    check_text(&f, false, true, "from_send.txt");
}
END_TEST

/* --on-full drop */
START_TEST(test_text_of_dropped_requests)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    struct series *s = snapshot_series(f.r->agents[1].total, 0, "");
    s->counters.scheduled += 150;
    s->counters.unsent_dropped = 150;
    report_fixture_finish(&f);
    check_text(&f, false, false, "dropped.txt");
}
END_TEST

/* Only so many rows; the long names of the others do not break the table. */
START_TEST(test_text_of_many_requests)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    for (unsigned i = 0; i < 20; i++) {
        char name[80];
        snprintf(name, sizeof name,
                 i % 2 ? "%u"
                       : "%u gr\xc3\xbc\xc3\x9f"
                         "e an alle Leute",
                 i);
        struct series *s = snapshot_series(f.r->agents[0].total, 0, name);
        s->counters.scheduled = s->counters.sent = s->counters.timeouts = i * i;
    }
    report_fixture_finish(&f);
    check_text(&f, false, false, "requests.txt");
}
END_TEST

/* --latency: where the time goes, and what users of other tools look for. */
START_TEST(test_text_of_phases)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_phases(&f);
    report_fixture_finish(&f);
    check_text(&f, false, true, "phases.txt");
}
END_TEST

/* The remarks of the lag lines stand in one column however long the figures are. */
START_TEST(test_remarks_stay_in_a_column)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 500);
    snapshot_series(f.r->agents[0].total, 0, "")->counters.late = 123456789;
    report_fixture_finish(&f);
    char *text = report_render(&report_text, f.r, false, false);
    size_t column = 0, lines = 0;
    for (const char *line = text; line[0] != '\0'; line += strcspn(line, "\n") + 1) {
        const char *remark = strstr(line, "  hammer's");
        if (remark == NULL || remark > line + strcspn(line, "\n"))
            continue;
        ck_assert(lines++ == 0 || (size_t)(remark - line) == column);
        column = (size_t)(remark - line);
    }
    ck_assert_uint_eq(lines, 2);
    check_lines(text);
    free(text);
    result_free(f.r);
}
END_TEST

/* How agents are reached does not push their names out of the table. */
START_TEST(test_agents_by_tls_keep_their_names)
{
    static const struct {
        const char *address, *shown;
    } cases[] = {{"10.0.0.7:7400", "    load1 (10.0.0.7:7400) "},
                 {"tls+tcp://10.0.0.7:7400", "    load1 (10.0.0.7:7400) "},
                 {"tls+tcp://[fd00:1:2:3::7]:7400", "    tls+tcp://[f..2:3::7]:7400 "}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct report_fixture f;
        report_fixture(&f, 3000, 0);
        snprintf(f.r->agents[0].name, sizeof f.r->agents[0].name, "load1");
        snprintf(f.r->agents[0].address, sizeof f.r->agents[0].address, "%s", cases[i].address);
        report_fixture_finish(&f);
        char *text = report_render(&report_text, f.r, false, false);
        ck_assert_msg(strstr(text, cases[i].shown) != NULL, "%s", text);
        free(text);
        result_free(f.r);
    }
}
END_TEST

static void check_first_line(struct report_fixture *f, const char *want)
{
    char *text = report_render(&report_text, f->r, false, false);
    ck_assert_msg(strncmp(text, want, strlen(want)) == 0, "%.80s", text);
    free(text);
}

START_TEST(test_head_names_both_bounds)
{
    struct report_fixture f;
    report_fixture(&f, 40, 0);
    report_fixture_finish(&f);
    check_first_line(&f, "Running 6s test @ ");
    f.plan.requests = 40;
    check_first_line(&f, "Running test of 40 requests, at most 6s @ ");
    f.plan.duration_ns = NS_NEVER;
    check_first_line(&f, "Running test of 40 requests @ ");
    f.plan.requests = UINT64_MAX;
    check_first_line(&f, "Running test until stopped @ ");
    snprintf(f.r->name, sizeof f.r->name, "nightly");
    char *text = report_render(&report_text, f.r, false, false);
    ck_assert_ptr_nonnull(strstr(text, "\n  Name              nightly\n"));
    free(text);
    result_free(f.r);
}
END_TEST

START_TEST(test_a_quantum_is_stated)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    f.plan.dispatch_quantum_ns = 250 * NS_PER_US;
    snapshot_series(f.r->agents[0].total, 0, "")->counters.late = 7;
    report_fixture_finish(&f);
    char *text = report_render(&report_text, f.r, false, false);
    ck_assert_ptr_nonnull(strstr(text, "\n  open loop @ 500 req/s, dispatch quantum 250us\n"));
    ck_assert_ptr_nonnull(strstr(text, "; 7 over 1.25ms late"));
    check_lines(text);
    free(text);
    text = report_render(&report_json, f.r, false, false);
    ck_assert_ptr_nonnull(strstr(text, "\"dispatch_quantum_ns\": 250000"));
    free(text);
    result_free(f.r);
}
END_TEST

START_TEST(test_all_due_is_honest)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_errors(&f);
    report_fixture_finish(&f);
    struct hist *h = snapshot_hist(f.r->total, HIST_CORRECTED);
    struct figures_all_due a = figures_all_due(f.r->total, h);
    ck_assert_uint_eq(a.count, 3090);
    ck_assert_uint_eq(a.incomplete, 90);
    ck_assert_uint_eq(a.limit, 2 * NS_PER_SEC + 1500000);
    ck_assert(a.known[3] && !a.known[4]); /* 2.9 % never completed: 95 is known, 99 is not */
    ck_assert_uint_ge(a.at[2], hist_value_at_percentile(h, 90));
    hist_free(h);
    result_free(f.r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("report");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_text_of_a_stall);
    tcase_add_test(t, test_text_of_a_lag);
    tcase_add_test(t, test_text_with_errors);
    tcase_add_test(t, test_text_of_a_lost_agent);
    tcase_add_test(t, test_text_of_a_takeover);
    tcase_add_test(t, test_text_of_stalls);
    tcase_add_test(t, test_text_without_data);
    tcase_add_test(t, test_text_of_a_closed_loop_with_spectrum);
    tcase_add_test(t, test_text_of_stages_and_requests);
    tcase_add_test(t, test_text_of_a_warmup);
    tcase_add_test(t, test_text_of_a_timeline_in_groups);
    tcase_add_test(t, test_text_from_the_send);
    tcase_add_test(t, test_text_of_dropped_requests);
    tcase_add_test(t, test_text_of_many_requests);
    tcase_add_test(t, test_text_of_phases);
    tcase_add_test(t, test_remarks_stay_in_a_column);
    tcase_add_test(t, test_agents_by_tls_keep_their_names);
    tcase_add_test(t, test_head_names_both_bounds);
    tcase_add_test(t, test_a_quantum_is_stated);
    tcase_add_test(t, test_all_due_is_honest);
    return check_main(s);
}
