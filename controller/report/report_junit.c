/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>

#include "common/clock.h"
#include "common/redact.h"
#include "common/units.h"
#include "controller/report/figures.h"
#include "controller/report/foreign.h"
#include "controller/report/report.h"

/*
 * JUnit's XML as Jenkins, GitLab and others read it: a test case for the verdict and one for each
 * objective. What the run should have been like and was not is a failure; that nothing can be said
 * of the server (the generator was the limit, data is missing) is an error.
 */

#define TEXT_MAX 256

enum outcome {
    PASSED,
    FAILED,
    BROKEN,
    SKIPPED
};

static const struct {
    enum outcome outcome;
    const char *type;
} outcomes[STATUS_COUNT] = {
    [STATUS_VALID] = {PASSED, NULL},
    [STATUS_SERVER_LIMITED] = {PASSED, NULL},
    [STATUS_SLO_FAILED] = {PASSED, NULL}, /* the objectives say it, each for itself */
    [STATUS_ABORTED] = {FAILED, "aborted"},
    [STATUS_GENERATOR_LIMITED] = {BROKEN, "generator-limited"},
    [STATUS_INCOMPLETE] = {BROKEN, "incomplete"},
    [STATUS_NO_DATA] = {BROKEN, "no-data"},
    [STATUS_UNREACHABLE] = {BROKEN, "unreachable"},
    [STATUS_INTERRUPTED] = {BROKEN, "interrupted"},
};

static enum outcome verdict_outcome(const struct result *r)
{
    return r->view.partial ? SKIPPED : outcomes[r->verdict.status].outcome;
}

static void attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    foreign_xml(out, value);
    fputc('"', out);
}

static void seconds(FILE *out, uint64_t ns)
{
    fprintf(out, " time=\"%" PRIu64 ".%03" PRIu64 "\"", ns / NS_PER_SEC,
            ns % NS_PER_SEC / NS_PER_MS);
}

/* --- properties ----------------------------------------------------------------------------- */

static void property(FILE *out, const char *name, const char *value)
{
    fputs("      <property", out);
    attribute(out, "name", name);
    attribute(out, "value", value);
    fputs("/>\n", out);
}

static void property_f(FILE *out, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void property_f(FILE *out, const char *name, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    property(out, name, text);
}

static void latency_properties(FILE *out, const struct result *r, enum hist_kind kind,
                               const char *clock)
{
    struct hist *h = snapshot_hist(r->total, kind);
    struct figures f = figures_of(h);
    char name[TEXT_MAX];
    for (size_t i = 0; i < FIGURES_PERCENTILES && f.count > 0; i++) {
        snprintf(name, sizeof name, "latency.%s.p%s_ns", clock, figures_percentiles[i].key);
        property_f(out, name, "%" PRIu64, f.at[i]);
    }
    snprintf(name, sizeof name, "latency.%s.max_ns", clock);
    if (f.count > 0)
        property_f(out, name, "%" PRIu64, f.max);
    hist_free(h);
}

static void properties(FILE *out, const struct result *r)
{
    struct counters c = snapshot_counters(r->total);
    char url[TEXT_MAX];
    fputs("    <properties>\n", out);
    property(out, "run", r->run_id);
    property(out, "hammer", HAMMER_VERSION);
    property(out, "verdict", result_status_name(r->verdict.status));
    if (r->plan != NULL && r->plan->url != NULL) {
        redact_url(r->plan->url, url, sizeof url);
        property(out, "url", url);
    }
    if (r->tags != NULL)
        property(out, "tags", r->tags);
    property_f(out, "agents", "%zu", r->n_agents);
    property_f(out, "requests.scheduled", "%" PRIu64, c.scheduled);
    property_f(out, "requests.completed", "%" PRIu64, c.completed);
    property_f(out, "requests.ok", "%" PRIu64, c.ok);
    if (figures_target(r) > 0)
        property_f(out, "rate.target", "%.3f", figures_target(r));
    property_f(out, "rate.achieved", "%.3f", figures_achieved(r));
    latency_properties(out, r, HIST_CORRECTED, "corrected");
    latency_properties(out, r, HIST_UNCORRECTED, "uncorrected");
    fputs("    </properties>\n", out);
}

/* --- test cases ----------------------------------------------------------------------------- */

static void begin_case(FILE *out, const struct result *r, const char *class, const char *name)
{
    fputs("    <testcase", out);
    attribute(out, "classname", class);
    attribute(out, "name", name);
    seconds(out, figures_elapsed_ns(r));
}

static void verdict_problem(FILE *out, const struct result *r, const char *element)
{
    const struct verdict *v = &r->verdict;
    fprintf(out, ">\n      <%s", element);
    attribute(out, "message", v->n_reasons > 0 ? v->reasons[0] : result_status_name(v->status));
    attribute(out, "type", outcomes[v->status].type);
    fputc('>', out);
    for (size_t i = 0; i < v->n_reasons; i++) {
        foreign_xml(out, v->reasons[i]);
        fputc('\n', out);
    }
    fprintf(out, "</%s>\n    </testcase>\n", element);
}

static void verdict_case(FILE *out, const struct result *r)
{
    enum outcome outcome = verdict_outcome(r);
    begin_case(out, r, "hammer.run", "verdict");
    if (outcome == PASSED)
        fputs("/>\n", out);
    else if (outcome == SKIPPED)
        fputs(">\n      <skipped message=\"a part of a run is not judged\"/>\n    </testcase>\n",
              out);
    else
        verdict_problem(out, r, outcome == FAILED ? "failure" : "error");
}

static void objective_case(FILE *out, const struct result *r, const struct objective *o)
{
    char said[CONDITION_SAID], text[CONDITION_TEXT + CONDITION_SAID + 16];
    begin_case(out, r, "hammer.slo", o->condition->text);
    if (o->held) {
        fputs("/>\n", out);
        return;
    }
    snprintf(text, sizeof text, "%s: %s", o->condition->text, objective_say(o, said));
    fputs(">\n      <failure", out);
    attribute(out, "message", text);
    fputs(" type=\"slo\"/>\n    </testcase>\n", out);
}

static void warnings(FILE *out, const struct verdict *v)
{
    if (v->n_warnings == 0)
        return;
    fputs("    <system-out>", out);
    for (size_t i = 0; i < v->n_warnings; i++) {
        foreign_xml(out, v->warnings[i]);
        fputc('\n', out);
    }
    fputs("</system-out>\n", out);
}

static void sums(FILE *out, const struct result *r)
{
    enum outcome outcome = verdict_outcome(r);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%d\"", r->n_objectives + 1,
            objectives_missed(r) + (outcome == FAILED), outcome == BROKEN);
    seconds(out, figures_elapsed_ns(r));
}

static enum err write_junit(const struct result *r, const struct report_options *o, FILE *out)
{
    char started[UNITS_TEXT];
    (void)o;
    units_format_utc(r->started_wall_ns, started);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
    sums(out, r);
    fputs(">\n  <testsuite", out);
    attribute(out, "name", r->name[0] != '\0' ? r->name : "hammer");
    sums(out, r);
    /* xs:dateTime without a zone, as Jenkins' own schema has it; it is UTC. */
    fprintf(out, " skipped=\"%d\" timestamp=\"%.19s\">\n", r->view.partial, started);
    properties(out, r);
    verdict_case(out, r);
    for (size_t i = 0; i < r->n_objectives; i++)
        objective_case(out, r, &r->objectives[i]);
    warnings(out, &r->verdict);
    fputs("  </testsuite>\n</testsuites>\n", out);
    return fflush(out) == 0 && !ferror(out) ? ERR_OK : ERR_SYSTEM;
}

const struct report_format report_junit = {
    .name = "junit",
    .suffix = ".xml",
    .text = "JUnit's XML for build servers: a test case for the verdict and for each objective",
    .write = write_junit};
