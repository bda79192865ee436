/* SPDX-License-Identifier: MIT */
#include "controller/run/condition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

typedef unsigned __int128 u128;

#define BILLION UINT64_C(1000000000)

/* --- what can be measured ----------------------------------------------------------------------
 */

/* Of the condition's scope. */
struct sums {
    struct counters counters;
    const uint64_t *status;
};

enum kind {
    KIND_LATENCY,
    KIND_RATE,
    KIND_COUNT,
    KIND_SHARE /* a count that is only meant as a percentage */
};

struct condition_metric {
    const char *name; /* of a status without what follows the point */
    enum kind kind;
    uint64_t (*part)(const struct condition *, const struct sums *);
    uint64_t (*whole)(const struct sums *); /* 100 % */
};

static uint64_t errors(const struct condition *c, const struct sums *s)
{
    (void)c;
    return s->counters.http_errors + counters_failed(&s->counters) + s->counters.timeouts;
}

static uint64_t http_errors(const struct condition *c, const struct sums *s)
{
    (void)c;
    return s->counters.http_errors;
}

static uint64_t failed(const struct condition *c, const struct sums *s)
{
    (void)c;
    return counters_failed(&s->counters);
}

static uint64_t timeouts(const struct condition *c, const struct sums *s)
{
    (void)c;
    return s->counters.timeouts;
}

static uint64_t unexpected(const struct condition *c, const struct sums *s)
{
    (void)c;
    return s->counters.unexpected;
}

static uint64_t connect_errors(const struct condition *c, const struct sums *s)
{
    (void)c;
    return s->counters.connect_errors + s->counters.handshake_errors + s->counters.failed_connect;
}

static uint64_t unsent(const struct condition *c, const struct sums *s)
{
    (void)c;
    return s->counters.unsent_no_connection + s->counters.unsent_dropped;
}

static uint64_t statuses(const struct condition *c, const struct sums *s)
{
    uint64_t n = 0;
    for (uint32_t i = c->status; i <= c->status_last; i++)
        n += s->status[i];
    return n;
}

static uint64_t completed(const struct condition *c, const struct sums *s)
{
    (void)c;
    return s->counters.completed;
}

/* Requests of which it is known how they ended. */
static uint64_t ended(const struct sums *s)
{
    return s->counters.completed + counters_failed(&s->counters) + s->counters.timeouts;
}

static uint64_t due(const struct sums *s)
{
    return s->counters.scheduled;
}

static uint64_t attempts(const struct sums *s)
{
    return s->counters.connects + connect_errors(NULL, s);
}

static const struct condition_metric metrics[] = {
    {"p", KIND_LATENCY, NULL, NULL},
    {"status.", KIND_COUNT, statuses, ended},
    {"rate", KIND_RATE, completed, due},
    {"errors", KIND_COUNT, errors, ended},
    {"error-rate", KIND_SHARE, errors, ended},
    {"http-errors", KIND_COUNT, http_errors, ended},
    {"failed", KIND_COUNT, failed, ended},
    {"timeouts", KIND_COUNT, timeouts, ended},
    {"unexpected", KIND_COUNT, unexpected, ended},
    {"connect-errors", KIND_COUNT, connect_errors, attempts},
    {"unsent", KIND_COUNT, unsent, due},
};

#define N_METRICS (sizeof metrics / sizeof metrics[0])

/* --- from the user's text ----------------------------------------------------------------------
 */

/* A text in pieces, all of them without the spaces around them. */
struct pieces {
    char text[CONDITION_TEXT];
    char *scope; /* NULL = none, like lasting */
    char *metric, *value, *lasting;
};

static enum err refuse(const char *text, enum err e, const char *why, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    return errmsg_set(msg, e, "%s: %s", units_format_shown(text, shown), why);
}

static char *trim(char *s)
{
    while (*s == ' ')
        s++;
    size_t len = strlen(s);
    while (len > 0 && s[len - 1] == ' ')
        s[--len] = '\0';
    return s;
}

static enum condition_op take_op(char *at, char **behind)
{
    bool below = *at == '<', equal = at[1] == '=';
    *at = '\0';
    *behind = at + 1 + equal;
    if (below)
        return equal ? CONDITION_AT_MOST : CONDITION_BELOW;
    return equal ? CONDITION_AT_LEAST : CONDITION_ABOVE;
}

/* Names may hold anything but a colon; what is behind them does not. */
static bool cut(struct pieces *p, enum condition_op *op)
{
    char *rest = p->text, *colon = strrchr(rest, ':');
    if (colon != NULL) {
        *colon = '\0';
        p->scope = trim(rest);
        rest = colon + 1;
    }
    char *at = strpbrk(rest, "<>");
    if (at == NULL)
        return false;
    *op = take_op(at, &p->value);
    p->metric = trim(rest);
    char *lasting = strstr(p->value, " for ");
    if (lasting != NULL) {
        *lasting = '\0';
        p->lasting = trim(lasting + strlen(" for "));
    }
    p->value = trim(p->value);
    return *p->metric != '\0' && *p->value != '\0';
}

static bool parse_percentile(const char *text, struct condition *c)
{
    uint64_t ppb;
    if (strchr(text, '%') != NULL || units_parse_percent(text, &ppb, NULL) != ERR_OK)
        return false;
    c->percentile = (double)ppb / 1e7;
    return ppb > 0 && ppb <= 100 * UINT64_C(10000000);
}

static bool parse_status(const char *text, struct condition *c)
{
    if (strlen(text) != 3 || text[0] < '1' || text[0] > '5')
        return false;
    c->status = (uint32_t)(text[0] - '0') * 100;
    c->status_last = c->status + 99;
    if (strcmp(text + 1, "xx") == 0)
        return true;
    if (strspn(text, "0123456789") != 3)
        return false;
    c->status += (uint32_t)((text[1] - '0') * 10 + text[2] - '0');
    c->status_last = c->status;
    return true;
}

static bool starts_with(const char **text, const char *start)
{
    size_t len = strlen(start);
    if (strncmp(*text, start, len) != 0)
        return false;
    *text += len;
    return true;
}

static bool parse_metric(const char *text, struct condition *c)
{
    bool clock = starts_with(&text, "corrected.");
    c->uncorrected = !clock && starts_with(&text, "uncorrected.");
    for (size_t i = 0; i < N_METRICS; i++) {
        c->metric = &metrics[i];
        if (strcmp(text, metrics[i].name) == 0 && metrics[i].part != NULL &&
            metrics[i].part != statuses)
            return !clock && !c->uncorrected;
    }
    c->metric = &metrics[0];
    if (starts_with(&text, c->metric->name))
        return parse_percentile(text, c);
    c->metric = &metrics[1];
    return !clock && !c->uncorrected && starts_with(&text, c->metric->name) &&
           parse_status(text, c);
}

static enum err parse_value(const char *text, struct condition *c, struct errmsg *why)
{
    enum kind kind = c->metric->kind;
    if (kind == KIND_LATENCY) {
        c->unit = CONDITION_TIME;
        return units_parse_duration(text, 0, &c->value, why);
    }
    if (strchr(text, '%') != NULL || kind == KIND_SHARE) {
        c->unit = CONDITION_PERCENT;
        return strchr(text, '%') != NULL
                   ? units_parse_percent(text, &c->value, why)
                   : errmsg_set(why, ERR_INVALID, "accepted is a percentage such as 5%%");
    }
    c->unit = kind == KIND_RATE ? CONDITION_RATE : CONDITION_NUMBER;
    return kind == KIND_RATE ? units_parse_rate(text, &c->rate, why)
                             : units_parse_count(text, &c->value, why);
}

static bool parse_stage(const char *text, uint32_t *stage)
{
    uint64_t n;
    if (!starts_with(&text, "stage ") || units_parse_count(text, &n, NULL) != ERR_OK || n == 0 ||
        n > UINT32_MAX)
        return false; /* whether there is such a one condition_check knows */
    *stage = (uint32_t)n;
    return true;
}

static const char *scope_problem(const char *text, struct condition *c)
{
    if (text == NULL || parse_stage(text, &c->stage))
        return NULL;
    if (*text == '\0' || strlen(text) >= sizeof c->name)
        return "before the colon accepted is stage N or the name of a request, at most 63 bytes";
    snprintf(c->name, sizeof c->name, "%s", text);
    return NULL;
}

static enum err parse_pieces(const struct pieces *p, struct condition *c, struct errmsg *msg)
{
    struct errmsg why = {{0}};
    const char *problem = scope_problem(p->scope, c);
    if (problem == NULL && !parse_metric(p->metric, c))
        problem = "accepted to be measured is one of p50 to p99.99 (or uncorrected.p50 and so on), "
                  "rate, errors, error-rate, http-errors, failed, timeouts, unexpected, "
                  "connect-errors, unsent, status.503 and status.5xx";
    if (problem == NULL && p->scope != NULL && c->metric->part == statuses)
        problem = "status codes are counted for the whole run; accepted is without what is before "
                  "the colon";
    if (problem == NULL && p->scope != NULL && c->metric->part == connect_errors)
        problem = "connections are not of one request or stage; accepted is without what is before "
                  "the colon";
    if (problem != NULL)
        return refuse(c->text, ERR_INVALID, problem, msg);
    enum err e = parse_value(p->value, c, &why);
    if (e == ERR_OK && p->lasting != NULL)
        e = units_parse_duration(p->lasting, NS_PER_SEC, &c->for_ns, &why);
    if (e != ERR_OK)
        return refuse(c->text, e, why.text, msg);
    if (p->lasting == NULL)
        return ERR_OK;
    if (c->for_ns == 0)
        return refuse(c->text, ERR_RANGE, "after \"for\" accepted is a time above 0", msg);
    if (c->unit == CONDITION_NUMBER)
        return refuse(c->text, ERR_INVALID,
                      "a number counts up over the run, it does not hold for a time; accepted is "
                      "without \"for\", or with a percentage in place of the number",
                      msg);
    return ERR_OK;
}

enum err condition_parse(const char *text, struct condition *out, struct errmsg *msg)
{
    struct pieces p = {.scope = NULL};
    *out = (struct condition){.value = 0};
    size_t len = strlen(text);
    if (len >= sizeof p.text)
        return refuse(text, ERR_INVALID, "too long; accepted are at most 127 bytes", msg);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return refuse(text, ERR_INVALID, "control characters are not accepted", msg);
    memcpy(p.text, text, len + 1);
    snprintf(out->text, sizeof out->text, "%s", trim(p.text));
    memcpy(p.text, out->text, sizeof p.text);
    if (!cut(&p, &out->op))
        return refuse(text, ERR_INVALID,
                      "accepted is METRIC > >= < or <= VALUE such as errors>100, error-rate<=5% "
                      "or p99<2s, with --abort-on also 'p99>2s for 10s'",
                      msg);
    return parse_pieces(&p, out, msg);
}

enum err condition_list_add(struct condition_list *l, const char *flag, const char *text,
                            struct errmsg *msg)
{
    struct errmsg why = {{0}};
    struct condition c;
    if (l->n == CONDITIONS_MAX)
        return errmsg_set(msg, ERR_RANGE, "%s given too often: accepted are at most %d", flag,
                          CONDITIONS_MAX);
    enum err e = condition_parse(text, &c, &why);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "%s %s", flag, why.text);
    l->items = mem_realloc(l->items, l->n + 1, sizeof *l->items);
    l->items[l->n++] = c;
    return ERR_OK;
}

void condition_list_clear(struct condition_list *l)
{
    mem_free(l->items);
    *l = (struct condition_list){0};
}

enum err condition_check(const struct condition *c, const struct plan *p, struct errmsg *msg)
{
    char shown[UNITS_SHOWN], text[UNITS_TEXT];
    struct plan_request r;
    if (c->stage > 0 && (p->n_stages == 0 || c->stage > p->n_stages))
        return errmsg_set(msg, ERR_INVALID,
                          "%s: there is no stage %" PRIu32 ", the run has %" PRIu32 "; accepted is "
                          "one of --stages",
                          units_format_shown(c->text, shown), c->stage, p->n_stages);
    if (c->for_ns > p->duration_ns)
        return errmsg_set(msg, ERR_INVALID,
                          "%s: the run is no longer than %s, it could never be met; accepted is a "
                          "shorter time",
                          units_format_shown(c->text, shown),
                          units_format_duration(p->duration_ns, text));
    if (c->unit == CONDITION_PERCENT && c->metric->kind == KIND_RATE && p->rate.num == 0)
        return refuse(c->text, ERR_INVALID,
                      "without a rate there is none to have a part of; accepted is with -r/--rate, "
                      "or a number in place of the percentage",
                      msg);
    if (c->unit == CONDITION_RATE && c->stage > 0)
        return refuse(c->text, ERR_INVALID,
                      "a stage has no rate of its own; accepted is a percentage of what was due",
                      msg);
    if (c->name[0] == '\0')
        return ERR_OK;
    for (size_t i = 0; i < plan_request_count(p); i++) {
        plan_request_at(p, i, &r);
        if (strcmp(r.name, c->name) == 0)
            return ERR_OK;
    }
    return refuse(c->text, ERR_INVALID,
                  "there is no request of that name; accepted is a name of the plan, or stage N",
                  msg);
}

/* --- is it so? ---------------------------------------------------------------------------------
 */

static bool is_meant(const struct condition *c, const struct series *s)
{
    return s->stage != SERIES_STAGE_WARMUP && (c->stage == 0 || s->stage + 1 == c->stage) &&
           (c->name[0] == '\0' || strcmp(s->name, c->name) == 0);
}

static struct sums add_up(const struct condition *c, const struct snapshot *s)
{
    struct sums sums = {.status = s->status};
    for (size_t i = 0; i < s->n_series; i++)
        if (is_meant(c, &s->series[i]))
            counters_add(&sums.counters, &s->series[i].counters);
    return sums;
}

/* NULL = no latency at all. The caller's. */
static struct hist *latencies(const struct condition *c, const struct snapshot *s,
                              enum hist_kind kind)
{
    struct hist *h = NULL;
    for (size_t i = 0; i < s->n_series; i++) {
        const struct hist *one = s->series[i].hists[kind];
        if (one == NULL || !is_meant(c, &s->series[i]))
            continue;
        if (h == NULL)
            h = hist_copy(one);
        else if (hist_add(h, one) != ERR_OK)
            break; /* 2^63 samples */
    }
    return h;
}

static bool measure_latency(const struct condition *c, const struct snapshot *s,
                            const struct sums *sums, struct condition_figure *out)
{
    struct hist *h = c->uncorrected ? NULL : latencies(c, s, HIST_CORRECTED);
    if (h == NULL)
        h = latencies(c, s, HIST_UNCORRECTED);
    uint64_t answered = h != NULL ? hist_count(h) : 0;
    uint64_t unanswered =
        counters_failed(&sums->counters) + sums->counters.timeouts + unsent(c, sums);
    out->part = unanswered;
    out->whole = answered + unanswered;
    uint64_t rank = hist_rank(c->percentile, out->whole);
    out->never = rank > answered;
    if (h != NULL && answered > 0 && !out->never) {
        uint64_t value = hist_value_at_rank(h, rank), max = hist_max(h);
        out->part = value < max ? value : max;
    }
    hist_free(h);
    return out->whole > 0;
}

bool condition_measure(const struct condition *c, const struct snapshot *s, uint64_t from_ns,
                       uint64_t to_ns, struct condition_figure *out)
{
    struct sums sums = add_up(c, s);
    *out = (struct condition_figure){.ns = clock_elapsed(from_ns, to_ns)};
    if (c->metric->kind == KIND_LATENCY)
        return measure_latency(c, s, &sums, out);
    out->part = c->metric->part(c, &sums);
    out->whole = c->metric->whole(&sums);
    if (c->unit == CONDITION_RATE)
        return out->ns > 0 && due(&sums) > 0;
    return c->unit == CONDITION_NUMBER || out->whole > 0;
}

static int compare(u128 a, u128 b)
{
    return (a > b) - (a < b);
}

/* Of the figure with the value. Counts stay below 2^62, rates within RATE_MAX: all fits. */
static int relation(const struct condition *c, const struct condition_figure *f)
{
    if (f->never)
        return 1;
    if (c->unit == CONDITION_PERCENT)
        return compare((u128)f->part * BILLION, (u128)c->value * f->whole);
    if (c->unit == CONDITION_RATE)
        return compare((u128)f->part * NS_PER_SEC * c->rate.den, (u128)c->rate.num * f->ns);
    return compare(f->part, c->value);
}

bool condition_holds(const struct condition *c, const struct condition_figure *f)
{
    int r = relation(c, f);
    if (c->op == CONDITION_ABOVE || c->op == CONDITION_AT_LEAST)
        return r > 0 || (r == 0 && c->op == CONDITION_AT_LEAST);
    return r < 0 || (r == 0 && c->op == CONDITION_AT_MOST);
}

const char *condition_say(const struct condition *c, const struct condition_figure *f,
                          char buf[CONDITION_SAID])
{
    char text[UNITS_TEXT];
    if (f->never)
        snprintf(buf, CONDITION_SAID,
                 "without an end, as %" PRIu64 " of %" PRIu64 " requests got no response", f->part,
                 f->whole);
    else if (c->unit == CONDITION_TIME)
        snprintf(buf, CONDITION_SAID, "%s", units_format_latency(f->part, text));
    else if (c->unit == CONDITION_PERCENT)
        snprintf(buf, CONDITION_SAID, "%.4g%% (%" PRIu64 " of %" PRIu64 ")",
                 100 * (double)f->part / (double)f->whole, f->part, f->whole);
    else if (c->unit == CONDITION_RATE)
        snprintf(buf, CONDITION_SAID, "%.6g/s", (double)f->part * 1e9 / (double)f->ns);
    else
        snprintf(buf, CONDITION_SAID, "%" PRIu64, f->part);
    return buf;
}
