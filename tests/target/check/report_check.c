/* SPDX-License-Identifier: MIT */

/*
 * hammer-demo-check REPORT.json SERVED: do the numbers of the demo's run hold? The report is that
 * of two agents with 3000 requests between them against a target that froze for a second and
 * counted SERVED requests. Prints a line per check; ends with 1 when one fails, 2 when it cannot
 * look.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEDULED 3000
#define AGENTS    2
#define MISSING   (-(INT64_C(1) << 40)) /* no count, and no sum of a few of them is one either */

struct checker {
    const json_t *report;
    unsigned failed;
};

__attribute__((format(printf, 3, 4))) static void check(struct checker *c, bool holds,
                                                        const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs(holds ? "  ok      " : "  FAILED  ", stdout);
    vprintf(format, ap);
    putchar('\n');
    va_end(ap);
    c->failed += !holds;
}

/* The member at a path such as "latency/corrected"; NULL = there is none. */
static const json_t *at(const json_t *value, const char *path)
{
    char key[64];
    while (value != NULL && *path != '\0') {
        size_t len = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)len, path);
        value = json_object_get(value, key);
        path += len + (path[len] == '/');
    }
    return value;
}

/* A number that is not there fails its check. */
static int64_t number(const json_t *value, const char *path)
{
    const json_t *n = at(value, path);
    return json_is_integer(n) ? (int64_t)json_integer_value(n) : MISSING;
}

static void check_ledger(struct checker *c, int64_t served)
{
    int64_t scheduled = number(c->report, "totals/scheduled");
    int64_t sent = number(c->report, "totals/sent");
    int64_t unsent = number(c->report, "totals/unsent");
    int64_t ended = number(c->report, "totals/completed") + number(c->report, "totals/failed") +
                    number(c->report, "totals/timeouts") + number(c->report, "totals/unfinished");
    check(c, scheduled == SCHEDULED, "scheduled %" PRId64 ", asked for %d", scheduled, SCHEDULED);
    check(c, scheduled == sent + unsent,
          "scheduled %" PRId64 " = sent %" PRId64 " + unsent %" PRId64, scheduled, sent, unsent);
    check(c, sent == ended,
          "sent %" PRId64 " = completed + failed + timeouts + unfinished %" PRId64, sent, ended);
    check(c, served == sent, "the target itself counted %" PRId64 " requests, sent %" PRId64,
          served, sent);
}

static void check_sum(struct checker *c, const char *path)
{
    int64_t sum = 0;
    size_t i;
    const json_t *agent;
    json_array_foreach(at(c->report, "agents"), i, agent)
    {
        sum += number(agent, path);
    }
    int64_t merged = number(c->report, path);
    check(c, merged >= 0 && merged == sum, "%s: merged %" PRId64 " = sum over the agents %" PRId64,
          path, merged, sum);
}

static void check_agents(struct checker *c)
{
    static const char *const sums[] = {
        "totals/scheduled",         "totals/sent", "totals/unsent",
        "totals/completed",         "totals/ok",   "latency/corrected/count",
        "latency/uncorrected/count"};
    const json_t *agents = at(c->report, "agents");
    size_t n = json_array_size(agents);
    check(c, n == AGENTS, "%zu agents, started %d", n, AGENTS);
    for (size_t i = 0; i < n; i++) {
        int64_t share = number(json_array_get(agents, i), "totals/scheduled");
        check(c, share == SCHEDULED / AGENTS, "agent %zu was given %" PRId64 " of %d", i + 1, share,
              SCHEDULED);
    }
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
        check_sum(c, sums[i]);
}

/* What the demo is there to show. */
static void check_clocks(struct checker *c)
{
    int64_t p99 = number(c->report, "latency/corrected/percentiles/99");
    int64_t p90 = number(c->report, "latency/uncorrected/percentiles/90");
    check(c, p99 > 300000000, "corrected p99 %.1f ms shows the freeze: over 300 ms",
          (double)p99 / 1e6);
    check(c, p90 > 0 && p99 / 50 > p90,
          "corrected p99 is %.0f times uncorrected p90 (%.3f ms): over 50",
          p90 > 0 ? (double)p99 / (double)p90 : 0.0, (double)p90 / 1e6);
}

static void check_verdict(struct checker *c)
{
    const char *status = json_string_value(at(c->report, "verdict/status"));
    if (status == NULL)
        status = "missing";
    check(c,
          strcmp(status, "valid") == 0 || strcmp(status, "server-limited") == 0 ||
              strcmp(status, "generator-limited") == 0,
          "complete, nothing lost (verdict: %s)", status);
}

static void conclude(const struct checker *c)
{
    const char *corrected = "latency/corrected/percentiles/95";
    const char *uncorrected = "latency/uncorrected/percentiles/95";
    printf("  The server stood still for 1 s. Timed from their sending, 95 %% of the requests\n"
           "  took %.2f ms or less: uncorrected, all that a closed-loop tool can see. Timed from\n"
           "  when they were due, %.2f ms or less: corrected, with the wait for the server.\n",
           (double)number(c->report, uncorrected) / 1e6,
           (double)number(c->report, corrected) / 1e6);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    long long served = argc == 3 ? strtoll(argv[2], &end, 10) : -1;
    if (served < 0 || end == argv[2] || *end != '\0') {
        fprintf(stderr, "usage: hammer-demo-check REPORT.json SERVED\n");
        return 2;
    }
    json_error_t error;
    json_t *report = json_load_file(argv[1], 0, &error);
    if (report == NULL) {
        fprintf(stderr, "hammer-demo-check: %s:%d: %s\n", argv[1], error.line, error.text);
        return 2;
    }
    struct checker c = {.report = report};
    check_ledger(&c, served);
    check_agents(&c);
    check_clocks(&c);
    check_verdict(&c);
    if (c.failed == 0)
        conclude(&c);
    json_decref(report);
    return c.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
