/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "controller/store/verify.h"

#define SCHEMA "hammer.report/1"
#define PLACE  128

struct checking {
    verify_fn fn;
    void *arg;
    json_t *report;
};

static void say(const struct checking *c, bool holds, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void say(const struct checking *c, bool holds, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->fn(c->arg, holds, text);
}

static int64_t number(json_t *o, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(o, key));
}

/* --- the ledger ------------------------------------------------------------------------------- */

static const struct {
    const char *whole;
    const char *parts[5];
} ledger[] = {
    {"scheduled", {"sent", "unsent"}},
    {"sent", {"completed", "failed", "timeouts", "unfinished"}},
    {"completed", {"ok", "http_errors"}},
};

/* `open`: requests with an end that nobody knows, of an agent that was lost. */
static void check_ledger(const struct checking *c, const char *place, json_t *totals, int64_t open)
{
    for (size_t i = 0; i < sizeof ledger / sizeof ledger[0]; i++) {
        int64_t whole = number(totals, ledger[i].whole), sum = 0;
        for (size_t k = 0; k < 5 && ledger[i].parts[k] != NULL; k++)
            sum += number(totals, ledger[i].parts[k]);
        bool holds = whole >= sum && whole <= sum + open;
        if (!holds)
            say(c, false,
                "%s: the ledger does not add up: %s is %" PRId64 ", its parts are %" PRId64, place,
                ledger[i].whole, whole, sum);
        if (!holds)
            return;
    }
    say(c, true, "%s: the ledger adds up", place);
}

/* Lost, or of an unknown end. */
static int64_t open_of(json_t *agent)
{
    json_t *loss = json_object_get(agent, "loss");
    const char *state = json_string_value(json_object_get(agent, "state"));
    if (json_is_object(loss))
        return number(loss, "open");
    return state != NULL && strcmp(state, "unknown") == 0
               ? number(json_object_get(agent, "totals"), "scheduled")
               : 0;
}

static void check_ledgers(const struct checking *c)
{
    json_t *agents = json_object_get(c->report, "agents"), *agent;
    int64_t open = 0;
    size_t i;
    json_array_foreach(agents, i, agent)
    {
        char place[PLACE];
        const char *name = json_string_value(json_object_get(agent, "address"));
        snprintf(place, sizeof place, "agent %.100s", name != NULL ? name : "?");
        check_ledger(c, place, json_object_get(agent, "totals"), open_of(agent));
        open += open_of(agent);
    }
    check_ledger(c, "totals", json_object_get(c->report, "totals"), open);
}

/* --- sums ------------------------------------------------------------------------------------- */

static const char *const summed[] = {"scheduled",  "sent",    "unsent",      "completed",
                                     "ok",         "failed",  "http_errors", "timeouts",
                                     "unfinished", "retries", "bytes_in",    "bytes_out"};

/* Every row of `rows` has "totals": they add up to the whole's, where the row has the key. */
static void check_sum(const struct checking *c, const char *list)
{
    json_t *rows = json_object_get(c->report, list), *row;
    json_t *totals = json_object_get(c->report, "totals");
    if (json_array_size(rows) == 0)
        return;
    for (size_t k = 0; k < sizeof summed / sizeof summed[0]; k++) {
        int64_t sum = 0;
        bool has = true;
        size_t i;
        json_array_foreach(rows, i, row)
        {
            json_t *value = json_object_get(json_object_get(row, "totals"), summed[k]);
            has = has && value != NULL;
            sum += (int64_t)json_integer_value(value);
        }
        if (has && sum != number(totals, summed[k])) {
            say(c, false, "%s: %s adds up to %" PRId64 ", the totals say %" PRId64, list, summed[k],
                sum, number(totals, summed[k]));
            return;
        }
    }
    say(c, true, "%s: they add up to the totals", list);
}

static void check_timeline(const struct checking *c)
{
    static const char *const keys[] = {"sent", "completed"};
    json_t *rows = json_object_get(c->report, "timeline"), *row;
    json_t *totals = json_object_get(c->report, "totals");
    int64_t to = 0;
    size_t i;
    for (size_t k = 0; k < 2; k++) {
        int64_t sum = 0;
        json_array_foreach(rows, i, row) sum += number(row, keys[k]);
        if (sum != number(totals, keys[k])) {
            say(c, false, "timeline: %s adds up to %" PRId64 ", the totals say %" PRId64, keys[k],
                sum, number(totals, keys[k]));
            return;
        }
    }
    json_array_foreach(rows, i, row)
    {
        if (number(row, "to_ns") < number(row, "from_ns") ||
            (i > 0 && number(row, "from_ns") < to)) {
            say(c, false, "timeline: row %zu does not follow the one before", i);
            return;
        }
        to = number(row, "to_ns");
    }
    say(c, true, "timeline: %zu intervals add up to the totals", json_array_size(rows));
}

/* --- distributions ---------------------------------------------------------------------------- */

static bool rises(json_t *figures)
{
    static const char *const keys[] = {"50", "75", "90", "95", "99", "99.9", "99.99"};
    json_t *percentiles = json_object_get(figures, "percentiles");
    int64_t last = number(figures, "min"), most = number(figures, "max");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *value = json_object_get(percentiles, keys[i]);
        if (!json_is_integer(value))
            continue;
        int64_t at = (int64_t)json_integer_value(value);
        if (at < last || (json_is_integer(json_object_get(figures, "max")) && at > most))
            return false;
        last = at;
    }
    return true;
}

static bool has_due_times(const struct checking *c)
{
    json_t *plan = json_object_get(c->report, "plan");
    const char *stopwatch = json_string_value(json_object_get(plan, "stopwatch"));
    return stopwatch != NULL && strcmp(stopwatch, "due") == 0;
}

static void check_latency(const struct checking *c, const char *place, json_t *holder)
{
    static const char *const clocks[] = {"corrected", "uncorrected", "all_due"};
    json_t *latency = json_object_get(holder, "latency");
    for (size_t i = 0; i < 3; i++) {
        json_t *figures = json_object_get(latency, clocks[i]);
        if (json_is_object(figures) && !rises(figures)) {
            say(c, false, "%s: percentiles of %s do not rise from min to max", place, clocks[i]);
            return;
        }
    }
    int64_t completed = number(json_object_get(holder, "totals"), "completed");
    for (size_t i = has_due_times(c) ? 0 : 1; i < 2; i++) {
        int64_t n = number(json_object_get(latency, clocks[i]), "count");
        if (n != completed) {
            say(c, false, "%s: %" PRId64 " completed, %" PRId64 " %s samples", place, completed, n,
                clocks[i]);
            return;
        }
    }
    say(c, true, "%s: percentiles rise, and there is a sample for each response", place);
}

static void check_lists(const struct checking *c)
{
    static const char *const lists[] = {"agents", "stages", "requests"};
    check_latency(c, "latency", c->report);
    for (size_t k = 0; k < 3; k++) {
        json_t *rows = json_object_get(c->report, lists[k]), *row;
        size_t i;
        json_array_foreach(rows, i, row)
        {
            char place[PLACE];
            snprintf(place, sizeof place, "%s[%zu]", lists[k], i);
            check_latency(c, place, row);
        }
    }
}

enum err verify_report(const char *text, size_t len, verify_fn fn, void *arg, struct errmsg *msg)
{
    json_error_t where;
    json_t *report = json_loadb(text, len, 0, &where);
    const char *schema = json_string_value(json_object_get(report, "schema"));
    enum err e = ERR_OK;
    if (report == NULL)
        e = errmsg_set(msg, ERR_INVALID, "it is no JSON: line %d: %.150s", where.line, where.text);
    else if (schema == NULL || strcmp(schema, SCHEMA) != 0)
        e = errmsg_set(msg, ERR_INVALID, "accepted is a report of schema " SCHEMA);
    if (e == ERR_OK) {
        json_t *view = json_object_get(report, "view");
        bool window = json_is_integer(json_object_get(view, "from_ns"));
        struct checking c = {fn, arg, report};
        if (!window)
            check_ledgers(&c);
        check_sum(&c, "agents");
        check_sum(&c, "stages");
        check_sum(&c, "requests");
        check_timeline(&c);
        check_lists(&c);
    }
    json_decref(report);
    return e;
}
