/* SPDX-License-Identifier: MIT */
/* --dump-requests: the file's lines are the ledger and the histograms, one by one; and where lines
 * are left out, they are counted and nothing else changes. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hist.h"
#include "common/mem.h"
#include "controller/report/figures.h"
#include "controller/watch/dump_csv.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define AGENTS    2
#define FIELDS    13
#define INDEX_MAX 200000

enum field {
    INDEX,
    AGENT,
    STAGE,
    REQUEST,
    DUE,
    SENT,
    END,
    CORRECTED,
    UNCORRECTED,
    STATUS,
    BYTES,
    OUTCOME_NAME,
    ERROR_TEXT
};

static struct target_process target;
static struct agent_process agents[AGENTS];
static char list[256], dir[64], path[128];

static void setup(void)
{
    agents_start(agents, AGENTS, list, sizeof list);
    strcat(list, "*2"); /* the last one */
    folder_make(dir);
    snprintf(path, sizeof path, "%s/requests.csv", dir);
}

static void teardown(void)
{
    for (size_t i = 0; i < AGENTS; i++)
        agent_stop(&agents[i]);
    target_stop(&target);
    folder_remove(dir);
}

static void start(struct process *p, const char *file, const char *const *load)
{
    const char *args[PROCESS_ARGS_MAX] = {"run",
                                          "--agents",
                                          list,
                                          "-t",
                                          "2",
                                          "-c",
                                          "12",
                                          file != NULL ? "--dump-requests" : "-q",
                                          file != NULL ? file : "-q",
                                          "--json",
                                          target.url};
    for (size_t n = 11; *load != NULL; load++)
        args[n++] = *load;
    process_start(p, "hammer-ctl", args);
}

/* --- the file --------------------------------------------------------------------------------- */

/* What its lines add up to. */
struct sums {
    uint64_t rows, outcomes[DUMP_OUTCOMES], warm[DUMP_OUTCOMES], bytes;
    uint64_t status_503, stages[3];
    struct hist *corrected, *uncorrected; /* without the warm-up */
    uint8_t seen[INDEX_MAX];
};

static struct sums sums;

static enum dump_outcome outcome_named(const char *name)
{
    for (int o = 0; o < DUMP_OUTCOMES; o++)
        if (strcmp(dump_outcome_name((enum dump_outcome)o), name) == 0)
            return (enum dump_outcome)o;
    ck_abort_msg("no such outcome: %s", name);
}

/* "3.000000105", which has nine decimals. */
static uint64_t nanoseconds(const char *text)
{
    char *end;
    uint64_t s = strtoull(text, &end, 10);
    ck_assert_msg(*end == '.' && strlen(end) == 10, "not seconds: %s", text);
    return s * NS_PER_SEC + strtoull(end + 1, NULL, 10);
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t v = strtoull(text, &end, 10);
    ck_assert_msg(end != text && *end == '\0', "not a number: \"%s\"", text);
    return v;
}

static void take_latency(char *const f[FIELDS], bool warm)
{
    uint64_t corrected = number(f[CORRECTED]), uncorrected = number(f[UNCORRECTED]);
    ck_assert_uint_eq(corrected, nanoseconds(f[END]) - nanoseconds(f[DUE]));
    ck_assert_uint_eq(uncorrected, nanoseconds(f[END]) - nanoseconds(f[SENT]));
    if (warm)
        return;
    hist_record(sums.corrected, corrected, 1);
    hist_record(sums.uncorrected, uncorrected, 1);
    sums.bytes += number(f[BYTES]);
    sums.status_503 += number(f[STATUS]) == 503;
}

static void take_line(char *const f[FIELDS])
{
    uint64_t index = number(f[INDEX]);
    enum dump_outcome o = outcome_named(f[OUTCOME_NAME]);
    bool warm = strcmp(f[STAGE], "warmup") == 0;
    CHECK_MUST(index < INDEX_MAX && sums.seen[index]++ == 0);
    sums.rows++;
    (warm ? sums.warm : sums.outcomes)[o]++;
    if (!warm)
        sums.stages[number(f[STAGE])]++;
    if (dump_was_completed(o)) {
        take_latency(f, warm);
        return;
    }
    ck_assert_str_eq(f[CORRECTED], "");
    ck_assert_str_eq(f[UNCORRECTED], "");
    ck_assert_str_eq(f[STATUS], "");
    ck_assert(dump_was_sent(o) == (f[SENT][0] != '\0'));
    if (o == DUMP_TIMEOUT)
        ck_assert_str_eq(f[ERROR_TEXT], "timeout");
}

static void read_file(void)
{
    char *text = file_read(path), *next = text, *line;
    hist_free(sums.corrected);
    hist_free(sums.uncorrected);
    memset(&sums, 0, sizeof sums);
    sums.corrected = hist_new_default();
    sums.uncorrected = hist_new_default();
    ck_assert_ptr_nonnull(text);
    ck_assert(strncmp(text, dump_csv_header(), strlen(dump_csv_header())) == 0);
    next += strlen(dump_csv_header());
    while ((line = strsep(&next, "\n")) != NULL && *line != '\0') {
        char *f[FIELDS];
        for (size_t i = 0; i < FIELDS; i++)
            f[i] = strsep(&line, ",");
        ck_assert(line == NULL && f[FIELDS - 1] != NULL && next != NULL);
        take_line(f);
    }
    mem_free(text);
}

/* --- against the report ----------------------------------------------------------------------- */

static const struct {
    enum dump_outcome outcome;
    const char *total;
} ledger[] = {
    {DUMP_OK, "ok"},
    {DUMP_HTTP_ERROR, "http_errors"},
    {DUMP_TLS, "errors.tls"},
    {DUMP_READ, "errors.read"},
    {DUMP_WRITE, "errors.write"},
    {DUMP_PROTOCOL, "errors.protocol"},
    {DUMP_TIMEOUT, "timeouts"},
    {DUMP_UNFINISHED, "unfinished"},
    {DUMP_UNSENT_NO_CONNECTION, "unsent_by.no_connection"},
    {DUMP_UNSENT_STOPPED, "unsent_by.stopped"},
    {DUMP_UNSENT_DROPPED, "unsent_by.dropped"},
};

static uint64_t total(json_t *r, const char *of, const char *name)
{
    char at[160];
    snprintf(at, sizeof at, "%s.%s", of, name);
    return (uint64_t)report_int(r, at);
}

/* Of the warm-up the report has no more than sums. */
static void check_ledger(json_t *r, bool warm)
{
    const char *of = warm ? "warmup.totals" : "totals";
    const uint64_t *counted = warm ? sums.warm : sums.outcomes;
    for (size_t i = 0; i < sizeof ledger / sizeof ledger[0]; i++)
        if (!warm || strchr(ledger[i].total, '.') == NULL)
            ck_assert_msg(total(r, of, ledger[i].total) == counted[ledger[i].outcome],
                          "%s.%s: the file has %llu", of, ledger[i].total,
                          (unsigned long long)counted[ledger[i].outcome]);
}

static void check_figures(json_t *r, const char *clock, const struct hist *h)
{
    char of[64], at[64];
    snprintf(of, sizeof of, "latency.%s", clock);
    struct figures f = figures_of(h);
    ck_assert_uint_eq(total(r, of, "count"), f.count);
    if (f.count == 0)
        return;
    ck_assert_uint_eq(total(r, of, "min"), f.min);
    ck_assert_uint_eq(total(r, of, "max"), f.max);
    ck_assert_uint_eq(total(r, of, "mean"), (uint64_t)(f.mean + 0.5));
    ck_assert_uint_eq(total(r, of, "stddev"), (uint64_t)(f.stddev + 0.5));
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        snprintf(at, sizeof at, "percentiles.%s", figures_percentiles[i].key);
        ck_assert_uint_eq(total(r, of, at), f.at[i]);
    }
}

static uint64_t dump(json_t *r, const char *name)
{
    return total(r, "requests_dump", name);
}

/* Everything is there; of a run that was cut short, which requests those are is up to the instant
 * at which each worker heard of it. */
static void check_whole(json_t *r, bool cut)
{
    bool warm = !json_is_null(report_at(r, "warmup"));
    uint64_t due = total(r, "totals", "scheduled");
    due += warm ? total(r, "warmup.totals", "scheduled") : 0;
    read_file();
    ck_assert_uint_eq(sums.rows, due);
    ck_assert_uint_eq(dump(r, "requests"), due);
    ck_assert_uint_eq(dump(r, "written"), due);
    ck_assert_uint_eq(dump(r, "dropped") + dump(r, "not_written") + dump(r, "lost"), 0);
    for (uint64_t i = 0; i < due && !cut; i++)
        CHECK_MUST(sums.seen[i] == 1);
    check_ledger(r, false);
    if (warm)
        check_ledger(r, true);
    check_figures(r, "corrected", sums.corrected);
    check_figures(r, "uncorrected", sums.uncorrected);
}

/* --- whole ------------------------------------------------------------------------------------ */

/* Stages, a warm-up, errors and timeouts, from two agents of different weight. */
START_TEST(test_the_file_is_the_report)
{
    static const char *const server[] = {"--slow",        "1%:400ms", "--status", "5%:503",
                                         "--close-every", "97",       NULL};
    static const char *const load[] = {"--stages", "1s@900,1s@1800", "--warmup", "300ms",
                                       "-T",       "200ms",          NULL};
    struct process p;
    target_start(&target, server);
    start(&p, path, load);
    json_t *r = report_wait(&p, 0, 4, 60000);
    ck_assert_msg(strstr(p.err, "requests.csv: 2700 of 2700 requests written\n") != NULL, "%s",
                  p.err);
    check_whole(r, false);
    ck_assert_uint_gt(sums.outcomes[DUMP_TIMEOUT], 0);
    ck_assert_uint_gt(sums.outcomes[DUMP_HTTP_ERROR], 0);
    ck_assert_uint_eq(sums.status_503, total(r, "status_codes", "503"));
    ck_assert_uint_eq(sums.stages[0], 630);
    ck_assert_uint_eq(sums.stages[1], 1800);
    json_decref(r);
    process_end(&p);
}
END_TEST

static const struct {
    const char *load[9];
    enum dump_outcome most; /* what becomes of most requests */
} overloads[] = {
    {{"-r", "30000", "-d", "1", "-T", "200ms"}, DUMP_UNSENT_NO_CONNECTION},
    {{"-n", "150000", "-r", "1G", "-T", "200ms"}, DUMP_UNSENT_NO_CONNECTION}, /* all at once */
    {{"-r", "30000", "-d", "1", "--on-full", "drop"}, DUMP_UNSENT_DROPPED},
};

START_TEST(test_overload)
{
    static const char *const server[] = {"--delay", "30ms", NULL};
    struct process p;
    target_start(&target, server);
    start(&p, path, overloads[_i].load);
    json_t *r = report_wait(&p, 0, 4, 60000);
    check_whole(r, false);
    ck_assert_uint_gt(sums.outcomes[overloads[_i].most], sums.rows / 2);
    json_decref(r);
    process_end(&p);
}
END_TEST

/* Ctrl-C: what is in flight gets its time, what was due and not sent is there, too. */
START_TEST(test_interrupted)
{
    static const char *const server[] = {"--delay", "100ms", NULL};
    static const char *const load[] = {"-r", "5000", "--forever", "-T", "5s", NULL};
    struct process p;
    target_start(&target, server);
    start(&p, path, load);
    uint64_t until_ns = clock_mono_ns() + 30 * NS_PER_SEC;
    struct stat st = {0};
    while ((stat(path, &st) != 0 || st.st_size < 2000) && clock_mono_ns() < until_ns)
        ck_assert(process_alive(&p)); /* lines come while the run goes on */
    process_signal(&p, SIGINT);
    json_t *r = report_wait(&p, 130, 130, 30000);
    check_whole(r, true);
    ck_assert_uint_gt(sums.outcomes[DUMP_UNSENT_STOPPED], 0);
    json_decref(r);
    process_end(&p);
}
END_TEST

/* --- not whole -------------------------------------------------------------------------------- */

/* A reader that takes nothing, and then all at once. What is not written is counted, to the last
 * one, and the load is what it would have been. */
START_TEST(test_nobody_takes_the_lines)
{
    static const char *const load[] = {"-r", "4000", "-d", "2", NULL};
    struct process p;
    target_start(&target, NULL);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    start(&p, path, load);
    json_t *r = report_wait(&p, 0, 4, 60000);
    ck_assert_msg(strstr(p.err, "nobody reads it") != NULL, "%s", p.err);
    ck_assert_uint_eq(total(r, "totals", "scheduled"), 8000);
    ck_assert_uint_eq(total(r, "totals", "ok"), 8000);
    ck_assert_uint_eq(dump(r, "requests"), 8000);
    ck_assert_uint_gt(dump(r, "not_written"), 0);
    ck_assert_uint_eq(dump(r, "written") + dump(r, "dropped") + dump(r, "not_written"), 8000);
    ck_assert_uint_eq(dump(r, "lost"), 0);
    close(reader);
    json_decref(r);
    process_end(&p);
}
END_TEST

/* The controller sleeps: the agents' rings run full, if they are quick enough, and the load goes on
 * at full speed. */
START_TEST(test_a_controller_that_sleeps)
{
    static const char *const load[] = {"-d", "4", NULL};
    struct process p;
    target_start(&target, NULL);
    start(&p, path, load);
    uint64_t until_ns = clock_mono_ns() + 30 * NS_PER_SEC;
    struct stat st = {0};
    while ((stat(path, &st) != 0 || st.st_size < 2000) && clock_mono_ns() < until_ns)
        ck_assert(process_alive(&p));
    process_signal(&p, SIGSTOP);
    until_ns = clock_mono_ns() + 2 * NS_PER_SEC;
    while (clock_mono_ns() < until_ns)
        usleep(10000);
    process_signal(&p, SIGCONT);
    json_t *r = report_wait(&p, 0, 4, 60000);
    ck_assert_uint_eq(dump(r, "written") + dump(r, "dropped") + dump(r, "not_written"),
                      total(r, "totals", "scheduled"));
    ck_assert_uint_eq(dump(r, "lost"), 0);
    json_decref(r);
    process_end(&p);
}
END_TEST

/* An agent that is killed takes some with it: the sum holds all the same. */
START_TEST(test_a_lost_agent)
{
    static const char *const load[] = {
        "-r", "1000", "-d", "4", "--lease", "3s", "--on-agent-loss", "continue", NULL};
    struct process p;
    target_start(&target, NULL);
    start(&p, path, load);
    uint64_t until_ns = clock_mono_ns() + 30 * NS_PER_SEC;
    struct stat st = {0};
    while ((stat(path, &st) != 0 || st.st_size < 20000) && clock_mono_ns() < until_ns)
        ck_assert(process_alive(&p));
    process_signal(&agents[0].process, SIGKILL);
    json_t *r = report_wait(&p, 3, 3, 60000);
    read_file();
    ck_assert_uint_eq(dump(r, "written"), sums.rows);
    ck_assert_uint_eq(dump(r, "dropped") + dump(r, "not_written"), 0);
    ck_assert_uint_eq(dump(r, "requests"), dump(r, "written") + dump(r, "lost"));
    ck_assert_uint_ge(dump(r, "requests"), total(r, "totals", "scheduled"));
    json_decref(r);
    process_end(&p);
}
END_TEST

START_TEST(test_a_full_disk)
{
    static const char *const load[] = {"-r", "500", "-d", "1", NULL};
    struct process p;
    target_start(&target, NULL);
    start(&p, "/dev/full", load);
    json_t *r = report_wait(&p, 2, 4, 60000);
    ck_assert_msg(strstr(p.err, "/dev/full: No space left on device") != NULL, "%s", p.err);
    ck_assert_uint_eq(total(r, "totals", "ok"), 500);
    ck_assert_uint_eq(dump(r, "not_written"), 500);
    json_decref(r);
    process_end(&p);
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        const char *file, *says;
    } bad[] = {
        {"-", "--dump-requests -: the report goes there; accepted is a file, a FIFO or"},
        {"/", "--dump-requests /: Is a directory; accepted is a file that can be written"},
        {"/nowhere/r.csv", "--dump-requests /nowhere/r.csv: No such file or directory; accepted"},
    };
    static const char *const load[] = {"-n", "1", NULL};
    target_start(&target, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct process p;
        start(&p, bad[i].file, load);
        ck_assert_int_eq(process_wait(&p, 30000), 1);
        ck_assert_msg(strstr(p.err, bad[i].says) != NULL, "%.300s", p.err);
        process_end(&p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dump");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_the_file_is_the_report);
    tcase_add_loop_test(t, test_overload, 0, sizeof overloads / sizeof overloads[0]);
    tcase_add_test(t, test_interrupted);
    tcase_add_test(t, test_nobody_takes_the_lines);
    tcase_add_test(t, test_a_controller_that_sleeps);
    tcase_add_test(t, test_a_lost_agent);
    tcase_add_test(t, test_a_full_disk);
    tcase_add_test(t, test_refused);
    return check_main(s);
}
