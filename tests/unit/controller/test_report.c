/* SPDX-License-Identifier: MIT */
#include "controller/report/report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/report/figures.h"
#include "controller/run/verdict.h"
#include "tests/lib/check_main.h"

/*
 * Text reports of fixed results against files in tests/data/report. HAMMER_UPDATE_GOLDEN=1 writes
 * the files anew: read the difference before committing it.
 */

#define TEXT_MAX  (1u << 20)
#define LINE_MAX_ 110

struct fixture {
    struct plan plan;
    struct result *r;
};

static void fill_series(struct snapshot *s, uint64_t n, uint64_t slow)
{
    struct series *series = snapshot_series(s, 0, "");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t service = 150000 + (i * 7919) % 120000;
        uint64_t stalled = i < slow ? (slow - i) * (NS_PER_SEC / slow) : 0;
        hist_record(series_hist(series, HIST_UNCORRECTED), service + (i == 0 ? stalled : 0), 1);
        hist_record(series_hist(series, HIST_CORRECTED), service + 20000 + stalled, 1);
        hist_record(series_hist(series, HIST_SEND_LAG), 8000 + (i * 31) % 30000, 1);
        hist_record(series_hist(series, HIST_RECEIVE), 3000 + (i * 17) % 9000, 1);
        if (i > 0 && i < slow)
            hist_record(series_hist(series, HIST_WAIT), stalled, 1);
    }
    series->counters = (struct counters){.scheduled = n,
                                         .sent = n,
                                         .completed = n,
                                         .ok = n,
                                         .connects = 10,
                                         .bytes_in = n * 78,
                                         .bytes_out = n * 45,
                                         .waited = slow > 0 ? slow - 1 : 0};
    s->status[200] = n;
    s->cpu_ns = n * 70000;
    s->cpu_busy_ppm = 120000;
    s->spin_ns = n * 12000;
    s->context_switches = n * 2 + 7;
    s->preemptions = n / 100;
}

static void fill_agent(struct result_agent *a, size_t i)
{
    snprintf(a->address, sizeof a->address, "127.0.0.1:%zu", 7400 + i);
    snprintf(a->name, sizeof a->name, i == 0 ? "127.0.0.1:7400" : "box-b");
    snprintf(a->version, sizeof a->version, "0.1.0");
    a->weight = 1;
    a->threads = 2;
    a->connections = 10;
    a->same_clock = i == 0;
    a->clock_offset_ns = i == 0 ? 0 : 12400;
    a->clock_error_ns = i == 0 ? 0 : 35000;
    a->start_error_ns = 9100 + (int64_t)i * 81000;
    a->started = a->checked = true;
}

static void fixture_make(struct fixture *f, uint64_t n, uint64_t slow)
{
    static char url[] = "http://127.0.0.1:8080/", get[] = "GET";
    *f = (struct fixture){.plan = {.url = url,
                                   .method = get,
                                   .rate = {500, 1},
                                   .duration_ns = 6 * NS_PER_SEC,
                                   .requests = UINT64_MAX,
                                   .timeout_ns = 2 * NS_PER_SEC,
                                   .interval_ns = NS_PER_SEC,
                                   .connections = 20}};
    struct result *r = f->r = result_new(2);
    r->plan = &f->plan;
    snprintf(r->run_id, sizeof r->run_id, "00112233445566778899aabbccddeeff");
    r->started_wall_ns = UINT64_C(1760000000) * NS_PER_SEC;
    r->duration_ns = 6 * NS_PER_SEC;
    r->end_ns = n > 0 ? 6 * NS_PER_SEC + 400000 : 0;
    for (size_t i = 0; i < 2; i++) {
        fill_agent(&r->agents[i], i);
        if (n > 0)
            fill_series(r->agents[i].total, n / 2, slow / 2);
    }
    r->n_intervals = n > 0 ? 6 : 0;
    r->intervals = mem_calloc(6, sizeof *r->intervals);
    for (size_t i = 0; i < 6; i++)
        r->intervals[i] = (struct result_interval){.from_ns = i * NS_PER_SEC,
                                                   .to_ns = (i + 1) * NS_PER_SEC,
                                                   .sent = n / 6,
                                                   .completed = n / 6,
                                                   .agents_reporting = 2};
}

static void finish(struct fixture *f)
{
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(snapshot_add(f->r->total, f->r->agents[i].total, false), ERR_OK);
    verdict_eval(f->r);
}

static char *render(const struct report_format *format, const struct result *r, bool verbose,
                    bool spectrum)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct report_options o = {.verbose = verbose, .spectrum = spectrum};
    ck_assert_int_eq(format->write(r, &o, out), ERR_OK);
    fclose(out);
    return text;
}

static void check_lines(const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        ck_assert_msg(len <= LINE_MAX_, "%zu columns: %.*s", len, (int)len, text);
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

static void check_text(struct fixture *f, bool verbose, bool spectrum, const char *name)
{
    char *text = render(&report_text, f->r, verbose, spectrum);
    check_lines(text);
    check_golden(text, name);
    free(text);
    result_free(f->r);
}

START_TEST(test_text_of_a_stall)
{
    struct fixture f;
    fixture_make(&f, 3000, 500);
    finish(&f);
    check_text(&f, false, false, "stall.txt");
}
END_TEST

static void spoil_with_errors(struct fixture *f)
{
    static const char *const texts[] = {"timeout: no complete response within 2s",
                                        "read: connection reset by peer",
                                        "read: the server closed before the response was complete",
                                        "protocol: a header line has no colon",
                                        "write: broken pipe",
                                        "connect: connection refused",
                                        "status 503"};
    struct snapshot *s = f->r->agents[1].total;
    struct counters *c = &snapshot_series(s, 0, "")->counters;
    c->scheduled += 90;
    c->sent += 80;
    c->timeouts = 60;
    c->failed_read = 12;
    c->failed_protocol = 3;
    c->failed_write = 1;
    c->unfinished = 4;
    c->unsent_no_connection = 10;
    c->connect_errors = 5;
    c->retries = 2;
    c->late = 4;
    c->ok -= 30;
    c->http_errors = 30;
    c->fault_ports = 1;
    s->status[200] -= 30;
    s->status[503] = 30;
    s->censored_age_ns = 2 * NS_PER_SEC + 1500000;
    for (uint64_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        snapshot_add_error(s, texts[i], 60 / (i + 1));
}

/* A warning stands below the verdict and does not change it. */
START_TEST(test_text_of_a_lag)
{
    struct fixture f;
    fixture_make(&f, 3000, 0);
    for (size_t i = 0; i < 2; i++) {
        struct series *s = snapshot_series(f.r->agents[i].total, 0, "");
        hist_record(series_hist(s, HIST_SEND_LAG), 400000, 60);
    }
    f.r->agents[1].insecure = true;
    finish(&f);
    check_text(&f, false, false, "lag.txt");
}
END_TEST

START_TEST(test_text_with_errors)
{
    struct fixture f;
    fixture_make(&f, 3000, 0);
    spoil_with_errors(&f);
    finish(&f);
    check_text(&f, false, false, "errors.txt");
}
END_TEST

START_TEST(test_text_of_a_lost_agent)
{
    struct fixture f;
    fixture_make(&f, 3000, 0);
    spoil_with_errors(&f);
    struct result_agent *a = &f.r->agents[1];
    a->state = RESULT_LOST;
    a->checked = false;
    snprintf(a->name, sizeof a->name, "load-generator-17.eu-central.example.org");
    snprintf(a->address, sizeof a->address, "load-generator-17.eu-central.example.org:7400");
    snprintf(a->problem, sizeof a->problem,
             "lost 3.21 s after the start: nothing was heard of it for 10 s; its results end with "
             "interval 3 \033[31m");
    f.r->agents[0].state = RESULT_STOPPED;
    f.r->agents[0].clock_offset_ns = -3600 * (int64_t)NS_PER_SEC;
    f.r->agents[0].same_clock = false;
    f.r->agents[0].clock_error_ns = 35 * NS_PER_MS;
    finish(&f);
    check_text(&f, true, false, "lost.txt");
}
END_TEST

START_TEST(test_text_without_data)
{
    struct fixture f;
    fixture_make(&f, 0, 0);
    f.r->no_target = true;
    f.r->agents[0].started = f.r->agents[1].started = false;
    f.r->agents[0].same_clock = false;
    snprintf(f.r->agents[0].problem, sizeof f.r->agents[0].problem,
             "127.0.0.1:8080: connection refused");
    finish(&f);
    check_text(&f, false, true, "unreachable.txt");
}
END_TEST

START_TEST(test_text_of_a_closed_loop_with_spectrum)
{
    struct fixture f;
    fixture_make(&f, 40, 0);
    f.plan.rate = (struct rate){0, 1};
    f.plan.duration_ns = NS_NEVER;
    f.plan.requests = 40;
    finish(&f);
    check_text(&f, false, true, "closed.txt");
}
END_TEST

/* The remarks of the lag lines stand in one column however long the figures are. */
START_TEST(test_remarks_stay_in_a_column)
{
    struct fixture f;
    fixture_make(&f, 3000, 500);
    snapshot_series(f.r->agents[0].total, 0, "")->counters.late = 123456789;
    finish(&f);
    char *text = render(&report_text, f.r, false, false);
    size_t column = 0, lines = 0;
    for (const char *line = text; line[0] != '\0'; line += strcspn(line, "\n") + 1) {
        const char *remark = strstr(line, "  (hammer's own)");
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

static void check_first_line(struct fixture *f, const char *want)
{
    char *text = render(&report_text, f->r, false, false);
    ck_assert_msg(strncmp(text, want, strlen(want)) == 0, "%.80s", text);
    free(text);
}

START_TEST(test_head_names_both_bounds)
{
    struct fixture f;
    fixture_make(&f, 40, 0);
    finish(&f);
    check_first_line(&f, "Running 6s test @ ");
    f.plan.requests = 40;
    check_first_line(&f, "Running test of 40 requests, at most 6s @ ");
    f.plan.duration_ns = NS_NEVER;
    check_first_line(&f, "Running test of 40 requests @ ");
    f.plan.requests = UINT64_MAX;
    check_first_line(&f, "Running test until stopped @ ");
    snprintf(f.r->name, sizeof f.r->name, "nightly");
    char *text = render(&report_text, f.r, false, false);
    ck_assert_ptr_nonnull(strstr(text, "\n  Name              nightly\n"));
    free(text);
    result_free(f.r);
}
END_TEST

START_TEST(test_a_quantum_is_stated)
{
    struct fixture f;
    fixture_make(&f, 3000, 0);
    f.plan.dispatch_quantum_ns = 250 * NS_PER_US;
    snapshot_series(f.r->agents[0].total, 0, "")->counters.late = 7;
    finish(&f);
    char *text = render(&report_text, f.r, false, false);
    const char *head = strchr(text, '\n') + 1;
    size_t len = strcspn(head, "\n");
    static const char want[] = " req/s, dispatch quantum 250us";
    ck_assert_msg(len > sizeof want &&
                      strncmp(head + len + 1 - sizeof want, want, sizeof want - 1) == 0,
                  "%.*s", (int)len, head);
    ck_assert_ptr_nonnull(strstr(text, "; 7 over 1.25ms late"));
    check_lines(text);
    free(text);
    text = render(&report_json, f.r, false, false);
    ck_assert_ptr_nonnull(strstr(text, "\"dispatch_quantum_ns\": 250000"));
    free(text);
    result_free(f.r);
}
END_TEST

START_TEST(test_all_due_is_honest)
{
    struct fixture f;
    fixture_make(&f, 3000, 0);
    spoil_with_errors(&f);
    finish(&f);
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

/* --- JSON: a checker of as much of JSON Schema as docs/report-schema.json uses ------------------
 */

static const json_t *resolve(const json_t *root, const json_t *schema)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref == NULL)
        return schema;
    ck_assert(strncmp(ref, "#/$defs/", 8) == 0);
    const json_t *target = json_object_get(json_object_get(root, "$defs"), ref + 8);
    ck_assert_msg(target != NULL, "the schema has no %s", ref);
    return target;
}

static bool is_of_type(const json_t *value, const char *type)
{
    static const struct {
        const char *name;
        json_type type;
    } types[] = {{"object", JSON_OBJECT},   {"array", JSON_ARRAY},   {"string", JSON_STRING},
                 {"integer", JSON_INTEGER}, {"number", JSON_REAL},   {"number", JSON_INTEGER},
                 {"boolean", JSON_TRUE},    {"boolean", JSON_FALSE}, {"null", JSON_NULL}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, type) == 0 && types[i].type == json_typeof(value))
            return true;
    return false;
}

static void check_type(const json_t *schema, const json_t *value, const char *path)
{
    const json_t *type = json_object_get(schema, "type");
    ck_assert_msg(type != NULL, "%s: the schema gives no type", path);
    bool ok = json_is_string(type) && is_of_type(value, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        ok = ok || is_of_type(value, json_string_value(json_array_get(type, i)));
    ck_assert_msg(ok, "%s has the wrong type", path);
    const json_t *one_of = json_object_get(schema, "enum"),
                 *only = json_object_get(schema, "const");
    bool found = one_of == NULL;
    for (size_t i = 0; i < json_array_size(one_of); i++)
        found = found || json_equal(json_array_get(one_of, i), (json_t *)(uintptr_t)value);
    ck_assert_msg(found, "%s is not one of the schema's values", path);
    ck_assert_msg(only == NULL || json_equal((json_t *)(uintptr_t)only, (json_t *)(uintptr_t)value),
                  "%s is not the schema's constant", path);
}

static void check_schema(const json_t *root, const json_t *schema, json_t *value, const char *path);

/* Required keys are there, and every key that is there is described. */
static void check_object(const json_t *root, const json_t *schema, json_t *value, const char *path)
{
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *key = json_string_value(json_array_get(required, i));
        ck_assert_msg(json_object_get(value, key) != NULL, "%s.%s is missing", path, key);
    }
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member)
    {
        char deeper[512];
        const json_t *sub = json_object_get(json_object_get(schema, "properties"), key);
        if (sub == NULL)
            sub = json_object_get(schema, "additionalProperties");
        snprintf(deeper, sizeof deeper, "%.400s.%.100s", path, key);
        ck_assert_msg(sub != NULL, "%s is not in the schema", deeper);
        check_schema(root, sub, member, deeper);
    }
}

static void check_schema(const json_t *root, const json_t *schema, json_t *value, const char *path)
{
    schema = resolve(root, schema);
    check_type(schema, value, path);
    if (json_is_object(value))
        check_object(root, schema, value, path);
    for (size_t i = 0; i < json_array_size(value); i++)
        check_schema(root, json_object_get(schema, "items"), json_array_get(value, i), path);
}

static json_t *load_schema(void)
{
    json_error_t error;
    json_t *schema = json_load_file(TEST_DATA_DIR "/../../docs/report-schema.json", 0, &error);
    ck_assert_msg(schema != NULL, "%s", error.text);
    return schema;
}

static json_t *report_of(struct fixture *f)
{
    char *text = render(&report_json, f->r, false, false);
    json_error_t error;
    json_t *report = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(report != NULL, "%s at line %d", error.text, error.line);
    free(text);
    return report;
}

static json_int_t number(const json_t *o, const char *a, const char *b, const char *c,
                         const char *d)
{
    const char *keys[] = {a, b, c, d};
    for (size_t i = 0; i < 4 && keys[i] != NULL; i++)
        o = json_object_get(o, keys[i]);
    ck_assert_msg(json_is_integer(o), "%s %s is no integer", a, b);
    return json_integer_value(o);
}

START_TEST(test_json_matches_its_schema)
{
    json_t *schema = load_schema();
    for (int variant = 0; variant < 4; variant++) {
        struct fixture f;
        fixture_make(&f, variant == 3 ? 0 : 3000, variant == 1 ? 500 : 0);
        if (variant == 2)
            spoil_with_errors(&f);
        if (variant == 3) {
            f.plan.duration_ns = f.r->duration_ns = NS_NEVER;
            f.r->agents[0].started = false;
            f.r->no_target = true;
        }
        snprintf(f.r->agents[1].name, sizeof f.r->agents[1].name, "b\xff\"\n");
        finish(&f);
        json_t *report = report_of(&f);
        check_schema(schema, schema, report, "report");
        json_decref(report);
        result_free(f.r);
    }
    json_decref(schema);
}
END_TEST

START_TEST(test_json_says_what_is_known)
{
    struct fixture f;
    fixture_make(&f, 3000, 0);
    spoil_with_errors(&f);
    finish(&f);
    json_t *o = report_of(&f);
    ck_assert_int_eq(number(o, "totals", "scheduled", NULL, NULL), 3090);
    ck_assert_int_eq(number(o, "totals", "errors", "read", NULL), 12);
    ck_assert_int_eq(number(o, "status_codes", "503", NULL, NULL), 30);
    ck_assert_int_eq(number(o, "latency", "all_due", "limit", NULL), 2001500000);
    const json_t *all = json_object_get(json_object_get(o, "latency"), "all_due");
    const json_t *percentiles = json_object_get(all, "percentiles");
    ck_assert(json_is_integer(json_object_get(percentiles, "95")));
    ck_assert(json_is_null(json_object_get(percentiles, "99")));
    ck_assert(json_is_null(json_object_get(all, "mean")));
    struct hist *h = snapshot_hist(f.r->total, HIST_CORRECTED);
    ck_assert_int_eq(number(o, "latency", "corrected", "percentiles", "99"),
                     (json_int_t)hist_value_at_percentile(h, 99));
    hist_free(h);
    json_decref(o);
    result_free(f.r);
}
END_TEST

/* What the workers used up, and null for one that never ran. */
START_TEST(test_json_tells_the_agents_health)
{
    struct fixture f;
    fixture_make(&f, 3000, 0);
    f.r->agents[1].started = false;
    finish(&f);
    json_t *o = report_of(&f);
    const json_t *agents = json_object_get(o, "agents");
    const json_t *ran = json_object_get(json_array_get(agents, 0), "health");
    const json_t *did_not = json_object_get(json_array_get(agents, 1), "health");
    /* 1500 requests a 12 us, 6 s, two workers */
    ck_assert_double_eq_tol(json_real_value(json_object_get(ran, "spin_share")), 0.0015, 1e-6);
    ck_assert_double_eq_tol(json_real_value(json_object_get(ran, "cpu_peak")), 0.12, 1e-6);
    ck_assert_int_eq(number(ran, "context_switches", NULL, NULL, NULL), 3007);
    ck_assert_int_eq(number(ran, "preemptions", NULL, NULL, NULL), 15);
    ck_assert(json_is_null(json_object_get(did_not, "spin_share")));
    ck_assert(json_is_null(json_object_get(did_not, "preemptions")));
    json_decref(o);
    result_free(f.r);
}
END_TEST

START_TEST(test_json_hides_credentials)
{
    struct fixture f;
    fixture_make(&f, 60, 0);
    option_list_add(&f.plan.headers, "authorization: Bearer s3cret");
    option_list_add(&f.plan.headers, "X-Api-Key: s3cret");
    option_list_add(&f.plan.headers, "Accept: text/html");
    f.plan.url = (char[]){"http://127.0.0.1:8080/?token=s3cret"};
    finish(&f);
    char *text = render(&report_json, f.r, false, false);
    char *plain = render(&report_text, f.r, false, false);
    ck_assert(strstr(text, "s3cret") == NULL && strstr(plain, "s3cret") == NULL);
    ck_assert(strstr(text, "/?token=REDACTED") != NULL && strstr(text, "Accept: text/html"));
    ck_assert_ptr_nonnull(strstr(plain, "/?token=REDACTED"));
    free(plain);
    free(text);
    option_list_clear(&f.plan.headers);
    result_free(f.r);
}
END_TEST

START_TEST(test_find)
{
    ck_assert_ptr_eq(report_find("text"), &report_text);
    ck_assert_ptr_eq(report_find("json"), &report_json);
    ck_assert_ptr_null(report_find("yaml"));
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
    tcase_add_test(t, test_text_without_data);
    tcase_add_test(t, test_text_of_a_closed_loop_with_spectrum);
    tcase_add_test(t, test_remarks_stay_in_a_column);
    tcase_add_test(t, test_head_names_both_bounds);
    tcase_add_test(t, test_a_quantum_is_stated);
    tcase_add_test(t, test_all_due_is_honest);
    tcase_add_test(t, test_json_matches_its_schema);
    tcase_add_test(t, test_json_says_what_is_known);
    tcase_add_test(t, test_json_tells_the_agents_health);
    tcase_add_test(t, test_json_hides_credentials);
    tcase_add_test(t, test_find);
    return check_main(s);
}
