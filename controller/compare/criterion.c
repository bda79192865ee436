/* SPDX-License-Identifier: MIT */
#include "controller/compare/criterion.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"

#define PPB 1e9

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

static bool starts_with(const char **text, const char *start)
{
    size_t len = strlen(start);
    if (strncmp(*text, start, len) != 0)
        return false;
    *text += len;
    return true;
}

/* --- the pieces ------------------------------------------------------------------------------- */

static const char *take_scope(const char *text, struct criterion *c)
{
    const char *number = text;
    uint64_t n;
    if (starts_with(&number, "stage ") && units_parse_count(number, &n, NULL) == ERR_OK && n > 0 &&
        n <= UINT32_MAX) {
        c->stage = (uint32_t)n;
        return NULL;
    }
    if (*text == '\0' || strlen(text) >= sizeof c->name)
        return "before the colon accepted is stage N or the name of a request, at most 63 bytes";
    snprintf(c->name, sizeof c->name, "%s", text);
    return NULL;
}

static const struct {
    const char *name;
    enum criterion_metric metric;
    bool latency;
} metrics[] = {{"mean", CRITERION_MEAN, true},
               {"max", CRITERION_MAX, true},
               {"errors", CRITERION_ERRORS, false},
               {"rate", CRITERION_RATE, false}};

static bool take_percentile(const char *text, struct criterion *c)
{
    uint64_t ppb;
    c->metric = CRITERION_PERCENTILE;
    if (!starts_with(&text, "p") || strchr(text, '%') != NULL ||
        units_parse_percent(text, &ppb, NULL) != ERR_OK)
        return false;
    c->percentile = (double)ppb / 1e7;
    return ppb > 0 && ppb <= 100 * UINT64_C(10000000);
}

static const char *take_metric(const char *text, struct criterion *c)
{
    bool clock = starts_with(&text, "corrected.");
    c->uncorrected = !clock && starts_with(&text, "uncorrected.");
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        c->metric = metrics[i].metric;
        if (strcmp(text, metrics[i].name) == 0 &&
            (metrics[i].latency || !(clock || c->uncorrected)))
            return NULL;
    }
    if (take_percentile(text, c))
        return NULL;
    return "accepted to be compared is one of p50 to p99.99, mean, max (or uncorrected.p50 and so "
           "on), errors and rate";
}

/* The sign is part of the form: "p99>+10%" cannot be mistaken for a limit of p99 itself. */
static const char *take_value(const char *text, char op, struct criterion *c)
{
    bool less = criterion_less_is_worse(c);
    uint64_t value;
    struct errmsg ignored;
    if (op != (less ? '<' : '>') || text[0] != (less ? '-' : '+'))
        return less ? "accepted is rate<-X%, so many percent less than the baseline"
                    : "accepted is METRIC>+X% (more than the baseline by so much), and for "
                      "latencies METRIC>+TIME";
    text++;
    if (strchr(text, '%') == NULL) {
        c->kind = EFFECT_DIFFERENCE;
        c->limit = 0;
        if (c->metric == CRITERION_ERRORS || less ||
            units_parse_duration(text, 0, &value, &ignored) != ERR_OK)
            return less || c->metric == CRITERION_ERRORS
                       ? "accepted after the sign is a percentage such as 0.1%"
                       : "accepted after the sign is a percentage such as 10%, or a time such as "
                         "5ms";
        c->limit = (double)value;
        return NULL;
    }
    if (units_parse_percent(text, &value, &ignored) != ERR_OK || (less && value >= (uint64_t)PPB))
        return "accepted after the sign is a percentage such as 10%, below 100% for rate";
    double share = (double)value / PPB;
    c->kind = c->metric == CRITERION_ERRORS ? EFFECT_DIFFERENCE : EFFECT_RATIO;
    c->limit = c->kind == EFFECT_DIFFERENCE ? share : less ? 1 - share : 1 + share;
    return NULL;
}

/* Names may hold anything but a colon; what is behind them does not. */
static const char *take_pieces(char *text, struct criterion *c)
{
    char *colon = strrchr(text, ':'), *rest = colon != NULL ? colon + 1 : text;
    char *at = strpbrk(rest, "<>");
    if (at == NULL)
        return "accepted is METRIC>+X% such as p99>+10%, errors>+0.1% or uncorrected.p50>+2ms, or "
               "rate<-5%";
    char op = *at;
    *at = '\0';
    snprintf(c->label, sizeof c->label, "%s", trim(text));
    const char *problem = NULL;
    if (colon != NULL) {
        *colon = '\0';
        problem = take_scope(trim(text), c);
    }
    if (problem == NULL)
        problem = take_metric(trim(rest), c);
    return problem != NULL ? problem : take_value(trim(at + 1), op, c);
}

enum err criterion_parse(const char *text, struct criterion *out, struct errmsg *msg)
{
    char copy[CRITERION_TEXT];
    *out = (struct criterion){.limit = 0};
    size_t len = strlen(text);
    if (len >= sizeof copy)
        return refuse(text, ERR_INVALID, "too long; accepted are at most 127 bytes", msg);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return refuse(text, ERR_INVALID, "control characters are not accepted", msg);
    memcpy(copy, text, len + 1);
    snprintf(out->text, sizeof out->text, "%s", trim(copy));
    memcpy(copy, out->text, sizeof copy);
    const char *problem = take_pieces(copy, out);
    return problem == NULL ? ERR_OK : refuse(text, ERR_INVALID, problem, msg);
}

enum err criterion_check(const struct criterion *c, const struct plan *p, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    struct plan_request r;
    if (c->stage > 0 && c->stage > p->n_stages)
        return errmsg_set(msg, ERR_INVALID,
                          "%s: there is no stage %" PRIu32 ", the runs have %" PRIu32,
                          units_format_shown(c->text, shown), c->stage, p->n_stages);
    if (c->name[0] == '\0')
        return ERR_OK;
    for (size_t i = 0; i < plan_request_count(p); i++) {
        plan_request_at(p, i, &r);
        if (strcmp(r.name, c->name) == 0)
            return ERR_OK;
    }
    return refuse(c->text, ERR_INVALID,
                  "the runs have no request of that name; accepted is a name of the plan, or "
                  "stage N",
                  msg);
}

bool criterion_less_is_worse(const struct criterion *c)
{
    return c->metric == CRITERION_RATE;
}

bool criterion_same_figure(const struct criterion *a, const struct criterion *b)
{
    return a->metric == b->metric && a->uncorrected == b->uncorrected && a->stage == b->stage &&
           (a->metric != CRITERION_PERCENTILE || fabs(a->percentile - b->percentile) < 1e-9) &&
           strcmp(a->name, b->name) == 0;
}
