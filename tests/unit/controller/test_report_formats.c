/* SPDX-License-Identifier: MIT */
/* Reports for other programs: CSV, percentile distributions, JUnit's XML, Markdown. Fixed results
 * against files in tests/data/report; HAMMER_UPDATE_GOLDEN=1 writes them anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/report/figures.h"
#include "controller/report/hgrm.h"
#include "controller/report/report.h"
#include "controller/run/verdict.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hlog_reader.h"
#include "tests/lib/latency_model.h"
#include "tests/lib/process.h"
#include "tests/lib/report_fixture.h"

#define VILE "=a|b`<c> & \"d\" 'e' @f #1 [g](h) \x01\x1b[31m\xff"

/* In place; files do not change with each version. */
static void hide_version(char *text)
{
    size_t len = strlen(HAMMER_VERSION);
    for (char *p; (p = strstr(text, HAMMER_VERSION)) != NULL;) {
        *p = 'V';
        memmove(p + 1, p + len, strlen(p + len) + 1);
    }
}

static void check_golden(const struct report_format *format, const struct result *r,
                         const char *name)
{
    char path[512];
    char *text = report_render(format, r, false, false);
    hide_version(text);
    snprintf(path, sizeof path, "%s/report/%s", TEST_DATA_DIR, name);
    if (getenv("HAMMER_UPDATE_GOLDEN") != NULL) {
        FILE *f = fopen(path, "w");
        ck_assert_msg(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
    }
    char *want = file_read(path);
    ck_assert_msg(strcmp(text, want) == 0, "%s differs; now it is:\n%s", name, text);
    mem_free(want);
    free(text);
}

/* --- fixtures ------------------------------------------------------------------------------- */

static void fill_timeline(struct result *r)
{
    for (size_t i = 0; i < r->n_intervals; i++) {
        struct result_interval *row = &r->intervals[i];
        row->backlog = i * 3;
        row->agents_lost = i == 4;
        if (i == 3) {
            row->completed = 0;
            continue;
        }
        row->errors = i;
        row->corrected = (struct result_latency){500 - i, 170123 + i,           230456,
                                                 231000,  289999 + i * 1000000, 500000001};
        row->uncorrected = (struct result_latency){500 - i, 150001, 210000, 212345, 270000, 280000};
    }
}

struct judged {
    struct report_fixture f;
    struct condition_list slo;
};

static void judged_fixture(struct judged *j)
{
    static const char *const slo[] = {"p99<50ms", "errors<1%", "rate>=99%"};
    struct errmsg msg;
    *j = (struct judged){.slo = {0}};
    report_fixture(&j->f, 3000, 300);
    report_fixture_errors(&j->f);
    report_fixture_stalls(&j->f);
    fill_timeline(j->f.r);
    for (size_t i = 0; i < sizeof slo / sizeof slo[0]; i++)
        ck_assert_int_eq(condition_list_add(&j->slo, "--slo", slo[i], &msg), ERR_OK);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(snapshot_add(j->f.r->total, j->f.r->agents[i].total, false), ERR_OK);
    objectives_judge(j->f.r, &j->slo);
    verdict_eval(j->f.r);
}

static void judged_free(struct judged *j)
{
    result_free(j->f.r);
    condition_list_clear(&j->slo);
}

static void spoil(struct result *r)
{
    snprintf(r->name, sizeof r->name, "%s", VILE);
    r->description = mem_strdup(VILE);
    r->tags = mem_strdup("nightly,main");
    snprintf(r->agents[1].name, sizeof r->agents[1].name, "%s", VILE);
    snapshot_add_error(r->total, VILE, 100000);
    snprintf(r->verdict.reasons[0], sizeof r->verdict.reasons[0], "%s", VILE);
    snprintf(r->verdict.warnings[0], sizeof r->verdict.warnings[0], "%s", VILE);
    r->verdict.n_reasons = r->verdict.n_warnings = 1;
}

/* --- CSV ------------------------------------------------------------------------------------ */

/* Splits a line (RFC 4180); returns how many cells it has, the first `max` of them in `cells`. */
static size_t split(char *line, char **cells, size_t max)
{
    size_t n = 0;
    for (char *p = line; p != NULL; n++) {
        char *to = p, *from = p;
        if (n < max)
            cells[n] = p;
        if (*from == '"') {
            for (from++; *from != '"' || from[1] == '"'; from++) {
                ck_assert_int_ne(*from, '\0');
                from += *from == '"';
                *to++ = *from;
            }
            from++;
        }
        while (*from != ',' && *from != '\0')
            *to++ = *from++;
        p = *from == ',' ? from + 1 : NULL;
        *to = '\0';
    }
    return n;
}

/* Every row has the cells of the first. Returns the rows. */
static size_t check_table(const struct report_format *format, const struct result *r)
{
    char *text = report_render(format, r, false, false), *rest = text, *line, *cells[1];
    size_t rows = 0, columns = 0;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        size_t n = split(line, cells, 1);
        if (rows++ == 0)
            columns = n;
        ck_assert_uint_eq(n, columns);
    }
    ck_assert_ptr_null(rest);
    free(text);
    return rows - 1;
}

START_TEST(test_csv)
{
    struct judged j;
    judged_fixture(&j);
    check_golden(&report_csv, j.f.r, "timeline.csv");
    check_golden(&report_csv_percentiles, j.f.r, "percentiles.csv");
    ck_assert_uint_eq(check_table(&report_csv, j.f.r), 6);
    check_table(&report_csv_percentiles, j.f.r);
    spoil(j.f.r);
    ck_assert_uint_eq(check_table(&report_csv_summary, j.f.r), 3);
    judged_free(&j);
}
END_TEST

START_TEST(test_csv_groups)
{
    struct judged j;
    judged_fixture(&j);
    j.f.r->every_ns = 3 * NS_PER_SEC;
    j.f.r->n_groups = 2;
    j.f.r->groups = mem_calloc(2, sizeof *j.f.r->groups);
    ck_assert_uint_eq(check_table(&report_csv, j.f.r), 2);
    judged_free(&j);
}
END_TEST

START_TEST(test_csv_summary)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_series(&f);
    report_fixture_finish(&f);
    check_golden(&report_csv_summary, f.r, "summary.csv");
    ck_assert_uint_eq(check_table(&report_csv_summary, f.r), 1 + 2 + 3 + 2);
    result_free(f.r);
}
END_TEST

/* --- percentile distributions --------------------------------------------------------------- */

/* What HistogramLogProcessor made of the same log, to the byte; its first line is the log's. */
static void check_hgrm(const char *tag, const char *file)
{
    char path[512], *text = NULL;
    size_t len = 0;
    char *log = file_read(TEST_DATA_DIR "/hlog/two_tags.hlog");
    snprintf(path, sizeof path, "%s/hlog/%s", TEST_DATA_DIR, file);
    char *want = file_read(path), *rest = strchr(want, '\n');
    struct hist *h = hlog_merged(log, tag);
    FILE *out = open_memstream(&text, &len);
    ck_assert_int_eq(hgrm_write(out, h), ERR_OK);
    fclose(out);
    ck_assert_ptr_nonnull(rest);
    ck_assert_str_eq(text, rest + 1);
    hist_free(h);
    free(text);
    mem_free(want);
    mem_free(log);
}

START_TEST(test_hgrm)
{
    check_hgrm("corrected", "two_tags.corrected.hgrm");
    check_hgrm("uncorrected", "two_tags.uncorrected.hgrm");
}
END_TEST

START_TEST(test_hgrm_ends)
{
    static const char *const last[] = {
        "       0.200 1.000000000000       3000\n",
        "#[Buckets =           32, SubBuckets     =         2048]\n"};
    struct report_fixture f;
    report_fixture(&f, 0, 0);
    report_fixture_finish(&f);
    char *text = report_render(&report_hgrm, f.r, false, false);
    ck_assert_ptr_nonnull(strstr(text, "Total count    =            0]"));
    ck_assert_ptr_nonnull(strstr(text, last[1]));
    free(text);
    hist_record(series_hist(snapshot_series(f.r->total, 0, ""), HIST_UNCORRECTED), 200000, 3000);
    text = report_render(&report_hgrm_uncorrected, f.r, false, false);
    ck_assert_ptr_nonnull(strstr(text, last[0]));
    free(text);
    result_free(f.r);
}
END_TEST

/* --- JUnit ---------------------------------------------------------------------------------- */

static bool have_xmllint(void)
{
    return access("/usr/bin/xmllint", X_OK) == 0;
}

/* Well-formed and of the usual shape; without xmllint (libxml2-utils) nobody can tell. */
static void check_xml(const struct result *r)
{
    char path[] = "/tmp/hammer-junit-XXXXXX", command[600];
    char *text = report_render(&report_junit, r, false, false);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    snprintf(command, sizeof command,
             "xmllint --noout --schema %s/report/junit.xsd %s >/dev/null 2>&1", TEST_DATA_DIR,
             path);
    if (have_xmllint())
        ck_assert_msg(system(command) == 0, "%s", text);
    unlink(path);
    free(text);
}

START_TEST(test_junit)
{
    struct judged j;
    judged_fixture(&j);
    check_golden(&report_junit, j.f.r, "junit.xml");
    check_xml(j.f.r);
    spoil(j.f.r);
    check_xml(j.f.r);
    judged_free(&j);
}
END_TEST

/* What each verdict is to a build server. */
static const struct {
    enum result_status status;
    const char *has, *sums;
} verdicts[] = {
    {STATUS_VALID, "name=\"verdict\" time=\"6.000\"/>", "failures=\"0\" errors=\"0\""},
    {STATUS_SERVER_LIMITED, "name=\"verdict\" time=\"6.000\"/>", "failures=\"0\" errors=\"0\""},
    {STATUS_SLO_FAILED, "name=\"verdict\" time=\"6.000\"/>", "failures=\"0\" errors=\"0\""},
    {STATUS_ABORTED, "<failure message=\"why\" type=\"aborted\">", "failures=\"1\" errors=\"0\""},
    {STATUS_GENERATOR_LIMITED, "<error message=\"why\" type=\"generator-limited\">",
     "failures=\"0\" errors=\"1\""},
    {STATUS_INCOMPLETE, "<error message=\"why\" type=\"incomplete\">",
     "failures=\"0\" errors=\"1\""},
    {STATUS_NO_DATA, "<error message=\"why\" type=\"no-data\">", "failures=\"0\" errors=\"1\""},
    {STATUS_UNREACHABLE, "<error message=\"why\" type=\"unreachable\">",
     "failures=\"0\" errors=\"1\""},
    {STATUS_INTERRUPTED, "<error message=\"why\" type=\"interrupted\">",
     "failures=\"0\" errors=\"1\""},
};
_Static_assert(sizeof verdicts / sizeof verdicts[0] == STATUS_COUNT, "all of them");

START_TEST(test_junit_verdicts)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_finish(&f);
    f.r->end_ns = 6 * NS_PER_SEC;
    f.r->verdict =
        (struct verdict){.status = verdicts[_i].status, .n_reasons = 1, .reasons = {"why"}};
    char *text = report_render(&report_junit, f.r, false, false);
    ck_assert_msg(strstr(text, verdicts[_i].has) != NULL, "%s", text);
    ck_assert_msg(strstr(text, verdicts[_i].sums) != NULL, "%s", text);
    check_xml(f.r);
    free(text);
    f.r->view.partial = true;
    text = report_render(&report_junit, f.r, false, false);
    ck_assert_msg(strstr(text, "<skipped message=") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "failures=\"0\" errors=\"0\"") != NULL, "%s", text);
    check_xml(f.r);
    free(text);
    result_free(f.r);
}
END_TEST

/* --- Markdown ------------------------------------------------------------------------------- */

/* Each row of a table has as many bars as the table's first. */
static void check_bars(const char *text)
{
    size_t want = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n"), bars = 0;
        for (size_t i = 0; i < len; i++)
            bars += text[i] == '|';
        if (*text != '|')
            want = 0;
        else if (want == 0)
            want = bars;
        ck_assert_msg(bars == want, "%.*s", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

START_TEST(test_markdown)
{
    struct judged j;
    judged_fixture(&j);
    check_golden(&report_markdown, j.f.r, "summary.md");
    spoil(j.f.r);
    char *text = report_render(&report_markdown, j.f.r, false, false);
    check_bars(text);
    ck_assert_ptr_null(strstr(text, "<c>"));
    ck_assert_ptr_null(strstr(text, "@f"));
    ck_assert_ptr_null(strstr(text, "[g]"));
    ck_assert_ptr_null(strpbrk(text, "`\x1b"));
    ck_assert_uint_lt(strlen(text), 65536);
    free(text);
    judged_free(&j);
}
END_TEST

START_TEST(test_markdown_one_clock)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_series(&f);
    report_fixture_from_send(&f);
    report_fixture_finish(&f);
    char *text = report_render(&report_markdown, f.r, false, false);
    check_bars(text);
    ck_assert_ptr_nonnull(strstr(text, "| Latency | from the send |"));
    ck_assert_ptr_nonnull(strstr(text, "<code>login</code>"));
    ck_assert_ptr_null(strstr(text, "s3cret"));
    free(text);
    result_free(f.r);
}
END_TEST

/* Enough samples, but of a few stops: the mark is the text's, by the design effect. */
START_TEST(test_markdown_of_bursts)
{
    uint64_t rng = 7;
    struct plan plan;
    struct latency_run *run = latency_run_new(60);
    latency_run_make(run, &latency_models[2], &rng);
    plan_defaults(&plan);
    struct result *r = latency_run_result(run, &plan);
    plan.rate = (struct rate){LATENCY_MODEL_RATE, 1};
    struct hist *h = series_hist(snapshot_series(r->total, 0, ""), HIST_CORRECTED);
    ck_assert_int_eq(hist_add(h, run->whole), ERR_OK);
    ck_assert(result_supports(99.9, hist_count(h)));
    char *text = report_render(&report_markdown, r, false, false);
    char *row = strstr(text, "| 99.9 % |");
    ck_assert_msg(row != NULL, "%s", text);
    *strchr(row, '\n') = '\0';
    ck_assert_msg(strstr(row, "&#126;") != NULL, "%s", row);
    free(text);
    result_free(r);
    plan_clear(&plan);
    latency_run_free(run);
}
END_TEST

/* --- all ------------------------------------------------------------------------------------ */

static const struct report_format *const formats[] = {
    &report_csv,      &report_csv_percentiles,  &report_csv_summary,
    &report_hgrm,     &report_hgrm_uncorrected, &report_junit,
    &report_markdown,
};

/* A run in which nothing happened, a URL with a secret, and a disk that is full. */
START_TEST(test_any)
{
    static char url[] = "http://me:s3cret@h/?token=s3cret";
    struct report_options o = {.verbose = false};
    struct report_fixture f;
    report_fixture(&f, 0, 0);
    report_fixture_finish(&f);
    f.plan.url = url;
    char *text = report_render(formats[_i], f.r, false, false);
    ck_assert_msg(strlen(text) > 0 && text[strlen(text) - 1] == '\n', "%s", text);
    ck_assert_msg(strstr(text, "s3cret") == NULL && strstr(text, "nan") == NULL, "%s", text);
    free(text);
    FILE *full = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(full);
    ck_assert_int_eq(formats[_i]->write(f.r, &o, full), ERR_SYSTEM);
    fclose(full);
    result_free(f.r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("report_formats");
    TCase *t = tcase_create("report_formats");
    tcase_add_test(t, test_csv);
    tcase_add_test(t, test_csv_groups);
    tcase_add_test(t, test_csv_summary);
    tcase_add_test(t, test_hgrm);
    tcase_add_test(t, test_hgrm_ends);
    tcase_add_test(t, test_junit);
    tcase_add_loop_test(t, test_junit_verdicts, 0, STATUS_COUNT);
    tcase_add_test(t, test_markdown);
    tcase_add_test(t, test_markdown_one_clock);
    tcase_add_test(t, test_markdown_of_bursts);
    tcase_add_loop_test(t, test_any, 0, sizeof formats / sizeof formats[0]);
    suite_add_tcase(s, t);
    return check_main(s);
}
