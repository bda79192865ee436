/* SPDX-License-Identifier: MIT */
#include "tests/lib/report.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *report_parse(const char *text)
{
    json_error_t error;
    json_t *r = text != NULL ? json_loads(text, 0, &error) : NULL;
    if (r == NULL)
        ck_abort_msg("not a JSON report: %s", text != NULL ? text : "(nothing)");
    ck_assert_str_eq(report_text_at(r, "schema"), "hammer.report/1");
    return r;
}

/* Longest key first, so that "percentiles.99.9" finds "99.9" and not "99". */
static json_t *walk(json_t *node, const char *path)
{
    if (json_is_array(node)) {
        char *end;
        size_t i = strtoul(path, &end, 10);
        json_t *child = json_array_get(node, i);
        return *end == '\0' || child == NULL ? child : walk(child, end + 1);
    }
    for (size_t len = strlen(path); len > 0; len--) {
        if (path[len] != '\0' && path[len] != '.')
            continue;
        char key[128];
        snprintf(key, sizeof key, "%.*s", (int)len, path);
        json_t *child = json_object_get(node, key);
        if (child != NULL)
            return path[len] == '\0' ? child : walk(child, path + len + 1);
    }
    return NULL;
}

/* The whole report goes to stdout: check refuses messages over 8 KiB. */
static void complain(json_t *report, const char *path, const char *what)
{
    json_dumpf(report, stdout, JSON_INDENT(1));
    fflush(stdout);
    ck_abort_msg("%s is %s", path, what);
}

json_t *report_at(json_t *report, const char *path)
{
    json_t *v = walk(report, path);
    if (v == NULL)
        complain(report, path, "missing");
    return v;
}

int64_t report_int(json_t *report, const char *path)
{
    json_t *v = report_at(report, path);
    if (!json_is_integer(v))
        complain(report, path, "not an integer");
    return json_integer_value(v);
}

const char *report_text_at(json_t *report, const char *path)
{
    json_t *v = report_at(report, path);
    ck_assert_msg(json_is_string(v), "%s is not a string", path);
    return json_string_value(v);
}

/* `open`: due, and how they ended is not known. */
static void check_totals(json_t *t, int64_t open)
{
    int64_t sent = report_int(t, "sent"), completed = report_int(t, "completed");
    int64_t ended = completed + report_int(t, "failed") + report_int(t, "timeouts") +
                    report_int(t, "unfinished");
    ck_assert_int_eq(report_int(t, "scheduled"), ended + report_int(t, "unsent") + open);
    ck_assert_int_le(ended, sent);
    ck_assert_int_le(sent, ended + open);
    ck_assert_int_eq(completed, report_int(t, "ok") + report_int(t, "http_errors"));
    ck_assert_int_eq(report_int(t, "failed"),
                     report_int(t, "errors.own_connect") + report_int(t, "errors.tls") +
                         report_int(t, "errors.read") + report_int(t, "errors.write") +
                         report_int(t, "errors.protocol"));
}

/* Of a lost agent whose last word never came: those that waited or were in flight at the end of its
 * last interval. */
static int64_t open_at(json_t *agent)
{
    return json_is_object(json_object_get(agent, "loss")) ? report_int(agent, "loss.open") : 0;
}

void report_check_ledger(json_t *report)
{
    static const char *const summed[] = {"scheduled", "sent",     "unsent",   "completed",
                                         "ok",        "failed",   "timeouts", "unfinished",
                                         "bytes_in",  "bytes_out"};
    json_t *agents = report_at(report, "agents"), *totals = report_at(report, "totals");
    int64_t open = 0;
    for (size_t i = 0; i < json_array_size(agents); i++) {
        json_t *agent = json_array_get(agents, i);
        check_totals(report_at(agent, "totals"), open_at(agent));
        open += open_at(agent);
    }
    check_totals(totals, open);
    for (size_t k = 0; k < sizeof summed / sizeof summed[0]; k++) {
        int64_t sum = 0;
        for (size_t i = 0; i < json_array_size(agents); i++)
            sum += report_int(report_at(json_array_get(agents, i), "totals"), summed[k]);
        ck_assert_msg(sum == report_int(totals, summed[k]), "%s: agents sum %ld", summed[k],
                      (long)sum);
    }
    if (strcmp(report_text_at(report, "plan.stopwatch"), "due") == 0)
        ck_assert_int_eq(report_int(report, "latency.corrected.count"),
                         report_int(totals, "completed"));
    ck_assert_int_eq(report_int(report, "latency.uncorrected.count"),
                     report_int(totals, "completed"));
}

json_t *report_wait(struct process *ctl, int code_a, int code_b, uint64_t timeout_ms)
{
    int code = process_wait(ctl, timeout_ms);
    if (code != code_a && code != code_b) {
        printf("%s%s", ctl->out, ctl->err);
        fflush(stdout);
        ck_abort_msg("exit code %d", code);
    }
    json_t *r = report_parse(ctl->out);
    report_check_ledger(r);
    return r;
}
