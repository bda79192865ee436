/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "controller/report/report.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report_fixture.h"

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

static json_t *report_of(struct report_fixture *f)
{
    char *text = report_render(&report_json, f->r, false, false);
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
    for (int variant = 0; variant < 7; variant++) {
        struct report_fixture f;
        report_fixture(&f, variant == 3 ? 0 : 3000, variant == 1 ? 500 : 0);
        if (variant == 2)
            report_fixture_errors(&f);
        if (variant == 3) {
            f.plan.duration_ns = f.r->duration_ns = NS_NEVER;
            f.r->agents[0].started = false;
            f.r->no_target = true;
        }
        if (variant == 4)
            report_fixture_stalls(&f);
        if (variant == 4)
            f.r->agents[1].loss = (struct loss){.any = true,
                                                .count = UINT64_MAX,
                                                .first_index = UINT64_MAX,
                                                .last_index = UINT64_MAX,
                                                .taken_over_from = UINT64_MAX};
        if (variant == 5) {
            report_fixture_series(&f);
            report_fixture_phases(&f);
            report_fixture_given(&f);
            option_list_add(&f.plan.headers, "A: 1");
        }
        if (variant == 6) {
            report_fixture_warmup(&f);
            report_fixture_from_send(&f);
        }
        snprintf(f.r->agents[1].name, sizeof f.r->agents[1].name, "b\xff\"\n");
        report_fixture_finish(&f);
        if (variant % 2 == 0)
            report_fixture_groups(&f);
        json_t *report = report_of(&f);
        check_schema(schema, schema, report, "report");
        json_decref(report);
        option_list_clear(&f.plan.given);
        option_list_clear(&f.plan.headers);
        result_free(f.r);
    }
    json_decref(schema);
}
END_TEST

START_TEST(test_json_says_what_is_known)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_errors(&f);
    report_fixture_finish(&f);
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
/* The keys are those of the percentiles, and what has too few samples says so in both places. */
START_TEST(test_json_says_how_far_it_can_be_trusted)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 500);
    report_fixture_finish(&f);
    report_fixture_groups(&f);
    json_t *o = report_of(&f);
    const json_t *l = json_object_get(json_object_get(o, "latency"), "corrected");
    const json_t *all = json_object_get(l, "confidence"), *one = json_object_get(all, "50");
    ck_assert_uint_eq(json_object_size(all), json_object_size(json_object_get(l, "percentiles")));
    ck_assert_str_eq(json_string_value(json_object_get(one, "method")), "short-blocks");
    ck_assert_int_le(number(one, "lo", NULL, NULL, NULL),
                     number(l, "percentiles", "50", NULL, NULL));
    ck_assert_int_ge(number(one, "hi", NULL, NULL, NULL),
                     number(l, "percentiles", "50", NULL, NULL));
    one = json_object_get(all, "99");
    ck_assert_double_gt(json_real_value(json_object_get(one, "deff")), 10);
    ck_assert_double_lt(json_real_value(json_object_get(one, "tail_events")), 2);
    ck_assert(json_is_false(json_object_get(one, "supported")));
    ck_assert(json_is_null(json_object_get(one, "hi")));
    const json_t *agent = json_array_get(json_object_get(o, "agents"), 0);
    l = json_object_get(json_object_get(agent, "latency"), "corrected");
    ck_assert_ptr_null(json_object_get(l, "confidence"));
    ck_assert(json_is_false(json_object_get(json_object_get(o, "stationarity"), "tested")));
    ck_assert_uint_eq(json_array_size(json_object_get(o, "groups")), 3);
    ck_assert_int_eq(number(o, "every_ns", NULL, NULL, NULL), 2000000000);
    json_decref(o);
    result_free(f.r);
}
END_TEST

START_TEST(test_json_tells_the_agents_health)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    f.r->agents[1].started = false;
    report_fixture_finish(&f);
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

START_TEST(test_json_has_the_warmup_apart)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_warmup(&f);
    report_fixture_finish(&f);
    json_t *o = report_of(&f);
    ck_assert_int_eq(number(o, "totals", "scheduled", NULL, NULL), 3000);
    ck_assert_int_eq(number(o, "totals", "timeouts", NULL, NULL), 0);
    ck_assert_int_eq(number(o, "warmup", "totals", "scheduled", NULL), 500);
    ck_assert_int_eq(number(o, "warmup", "totals", "timeouts", NULL), 5);
    ck_assert_int_eq(number(o, "warmup", "corrected", "count", NULL), 495);
    ck_assert_int_ge(number(o, "warmup", "corrected", "p50", NULL), 9 * NS_PER_MS);
    ck_assert_int_lt(number(o, "latency", "corrected", "max", NULL), NS_PER_MS);
    ck_assert_int_eq(number(o, "totals", "missing", NULL, NULL), 0);
    const json_t *rate = json_object_get(o, "rate");
    ck_assert_double_eq_tol(json_number_value(json_object_get(rate, "achieved")), 500, 0.1);
    json_decref(o);
    result_free(f.r);
}
END_TEST

START_TEST(test_json_has_stages_and_requests)
{
    struct report_fixture f;
    report_fixture(&f, 3000, 0);
    report_fixture_series(&f);
    report_fixture_phases(&f);
    report_fixture_given(&f);
    report_fixture_finish(&f);
    json_t *o = report_of(&f);
    const json_t *stages = json_object_get(o, "stages"), *requests = json_object_get(o, "requests");
    ck_assert_uint_eq(json_array_size(stages), 2);
    ck_assert_uint_eq(json_array_size(requests), 3);
    ck_assert_uint_eq(json_array_size(json_object_get(o, "series")), 6);
    const json_t *second = json_array_get(stages, 1), *cart = json_array_get(requests, 1);
    ck_assert_int_eq(number(second, "from_ns", NULL, NULL, NULL), 2000000000);
    ck_assert_int_eq(number(second, "totals", "scheduled", NULL, NULL), 2400);
    ck_assert_str_eq(json_string_value(json_object_get(cart, "name")), "cart");
    ck_assert_int_eq(number(cart, "latency", "corrected", "count", NULL), 1000);
    const json_t *agent = json_array_get(json_object_get(o, "agents"), 0);
    const json_t *its = json_array_get(json_object_get(agent, "requests"), 1);
    ck_assert_int_eq(number(its, "requests", NULL, NULL, NULL), 500);
    ck_assert_int_eq(number(o, "phases", "queue", "count", NULL), 3000);
    ck_assert_int_eq(number(o, "target", "document_bytes", NULL, NULL), 12);
    const json_t *options = json_object_get(json_object_get(o, "plan"), "options");
    ck_assert_str_eq(json_string_value(json_object_get(options, "timeout")), "2s");
    ck_assert(json_is_true(json_object_get(options, "insecure")));
    ck_assert_str_eq(json_string_value(json_object_get(options, "stages")), "2s@300,4s@600");
    const json_t *entries = json_object_get(json_object_get(o, "plan"), "entries");
    ck_assert_int_eq(number(json_array_get(entries, 0), "weight", NULL, NULL, NULL), 3);
    json_decref(o);
    option_list_clear(&f.plan.given);
    result_free(f.r);
}
END_TEST

START_TEST(test_json_hides_credentials)
{
    struct report_fixture f;
    report_fixture(&f, 60, 0);
    option_list_add(&f.plan.headers, "authorization: Bearer s3cret");
    option_list_add(&f.plan.headers, "X-Api-Key: s3cret");
    option_list_add(&f.plan.headers, "Accept: text/html");
    report_fixture_given(&f);
    report_fixture_series(&f);
    f.plan.url = (char[]){"http://127.0.0.1:8080/?token=s3cret"};
    report_fixture_finish(&f);
    char *text = report_render(&report_json, f.r, false, false);
    char *plain = report_render(&report_text, f.r, false, false);
    ck_assert(strstr(text, "s3cret") == NULL && strstr(plain, "s3cret") == NULL);
    ck_assert(strstr(text, "/?token=REDACTED") != NULL && strstr(text, "Accept: text/html"));
    ck_assert_ptr_nonnull(strstr(plain, "/?token=REDACTED"));
    free(plain);
    free(text);
    option_list_clear(&f.plan.headers);
    option_list_clear(&f.plan.given);
    result_free(f.r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("report_json");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_json_matches_its_schema);
    tcase_add_test(t, test_json_says_what_is_known);
    tcase_add_test(t, test_json_says_how_far_it_can_be_trusted);
    tcase_add_test(t, test_json_tells_the_agents_health);
    tcase_add_test(t, test_json_has_the_warmup_apart);
    tcase_add_test(t, test_json_has_stages_and_requests);
    tcase_add_test(t, test_json_hides_credentials);
    return check_main(s);
}
