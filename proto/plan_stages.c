/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "proto/plan.h"

/* --stages, --arrivals and --jitter: from the user's text and back, and what follows from it for
 * the rest of the plan. */

#define JITTER_MAX 1000000000
#define YEAR_NS    (UINT64_C(365) * 24 * 3600 * NS_PER_SEC)

/* --- text -------------------------------------------------------------------------------------
 */

/* One "DUR@RATE" or "DUR@A..B", cut out of the list. */
struct piece {
    char text[UNITS_SHOWN];
    size_t number; /* from 1 */
};

static enum err refuse(const struct piece *p, enum err e, const char *why, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    return errmsg_set(msg, e, "%s (stage %zu): %s", units_format_shown(p->text, shown), p->number,
                      why);
}

static bool is_zero(const char *text)
{
    return strspn(text, "0") == strlen(text) && *text != '\0';
}

/* As -r takes it, and 0 at one end of a ramp. */
static enum err parse_rate(const struct piece *p, const char *text, bool ramp, struct rate *out,
                           struct errmsg *msg)
{
    struct errmsg why = {{0}};
    if (ramp && is_zero(text)) {
        *out = (struct rate){0, 1};
        return ERR_OK;
    }
    enum err e = units_parse_rate(text, out, &why);
    return e == ERR_OK ? e : refuse(p, e, why.text, msg);
}

static enum err parse_stage(struct piece *p, struct stage *out, struct errmsg *msg)
{
    static const char form[] = "accepted is TIME@RATE or TIME@RATE..RATE, such as 30s@200 or "
                               "60s@100..2000";
    struct errmsg why = {{0}};
    char text[UNITS_SHOWN];
    memcpy(text, p->text, sizeof text);
    char *rate = strchr(text, '@');
    if (rate == NULL)
        return refuse(p, ERR_INVALID, form, msg);
    *rate++ = '\0';
    enum err e = units_parse_duration(text, NS_PER_SEC, &out->duration_ns, &why);
    if (e != ERR_OK)
        return refuse(p, e, why.text, msg);
    if (out->duration_ns < NS_PER_MS || out->duration_ns > YEAR_NS)
        return refuse(p, ERR_RANGE, "accepted is a time of 1ms to 365d", msg);
    char *to = strstr(rate, "..");
    if (to != NULL) {
        *to = '\0';
        to += 2;
    }
    e = parse_rate(p, rate, to != NULL, &out->from, msg);
    if (e != ERR_OK)
        return e;
    out->to = out->from;
    if (to != NULL)
        e = parse_rate(p, to, true, &out->to, msg);
    if (e == ERR_OK && out->from.num == 0 && out->to.num == 0)
        e = refuse(p, ERR_RANGE, "sends nothing; accepted is a rate above 0 at one end", msg);
    return e;
}

enum err plan_parse_stages(const struct option_row *row, const char *value, void *target,
                           struct errmsg *msg)
{
    (void)row;
    struct plan *plan = target;
    struct piece p = {.number = 0};
    for (const char *at = value;; at++) {
        size_t len = strcspn(at, ",");
        size_t cut = len < sizeof p.text ? len : sizeof p.text - 1;
        memcpy(p.text, at, cut);
        p.text[cut] = '\0';
        if (p.number++ == PROFILE_STAGES_MAX)
            return refuse(&p, ERR_RANGE, "too many; accepted are at most 64 stages", msg);
        if (len >= sizeof p.text)
            return refuse(&p, ERR_INVALID, "too long; accepted is such as 60s@100..2000", msg);
        enum err e = parse_stage(&p, &plan->stages[p.number - 1], msg);
        if (e != ERR_OK)
            return e;
        at += len;
        if (*at == '\0')
            break;
    }
    plan->n_stages = (uint32_t)p.number;
    return ERR_OK;
}

static const char *rate_text(const struct rate *r, char buf[UNITS_TEXT])
{
    if (r->den != 1)
        return units_format_rate(r, buf);
    snprintf(buf, UNITS_TEXT, "%" PRIu64, r->num);
    return buf;
}

const char *plan_stage_text(const struct stage *s, char buf[PLAN_STAGE_TEXT])
{
    char time[UNITS_TEXT], from[UNITS_TEXT], to[UNITS_TEXT];
    bool ramp = s->from.num != s->to.num || s->from.den != s->to.den;
    snprintf(buf, PLAN_STAGE_TEXT, "%s@%s%s%s", units_format_duration(s->duration_ns, time),
             rate_text(&s->from, from), ramp ? ".." : "", ramp ? rate_text(&s->to, to) : "");
    return buf;
}

/* --- arrivals ----------------------------------------------------------------------------------
 */

static const char *const arrivals_names[] = {"constant", "poisson"};

enum err plan_parse_arrivals(const struct option_row *row, const char *value, void *target,
                             struct errmsg *msg)
{
    (void)row, (void)msg; /* the row says what is accepted */
    for (uint32_t i = 0; i <= PLAN_POISSON; i++) {
        if (strcmp(value, arrivals_names[i]) != 0)
            continue;
        ((struct plan *)target)->arrivals = i;
        return ERR_OK;
    }
    return ERR_INVALID;
}

const char *plan_arrivals_name(const struct plan *p)
{
    return arrivals_names[p->arrivals == PLAN_POISSON];
}

enum err plan_parse_jitter(const struct option_row *row, const char *value, void *target,
                           struct errmsg *msg)
{
    (void)row, (void)msg; /* the row says what is accepted */
    uint64_t ppb;
    enum err e = units_parse_percent(value, &ppb, NULL);
    if (e == ERR_OK && ppb > JITTER_MAX)
        e = ERR_RANGE;
    if (e == ERR_OK)
        ((struct plan *)target)->jitter = (uint32_t)ppb;
    return e;
}

bool plan_is_random(const struct plan *p)
{
    return p->arrivals == PLAN_POISSON || p->jitter > 0 || p->think_min_ns < p->think_max_ns;
}

static enum err check_jitter(const struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT];
    if (p->jitter == 0)
        return ERR_OK;
    units_format_percent(p->jitter, text);
    if (p->jitter > JITTER_MAX)
        return errmsg_set(msg, ERR_RANGE, "--jitter %s: accepted is a percentage from 0 to 100",
                          text);
    if (p->rate.num == 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--jitter %s without a rate: in a closed loop nothing is due at an "
                          "instant; accepted is with -r/--rate or --stages",
                          text);
    if (p->arrivals == PLAN_POISSON)
        return errmsg_set(msg, ERR_INVALID,
                          "--jitter %s with --arrivals poisson: those are random already; accepted "
                          "is one of the two",
                          text);
    return ERR_OK;
}

enum err plan_check_arrivals(const struct plan *p, struct errmsg *msg)
{
    if (p->arrivals > PLAN_POISSON)
        return errmsg_set(msg, ERR_INVALID,
                          "--arrivals %" PRIu32 ": accepted is constant or poisson", p->arrivals);
    if (p->arrivals == PLAN_POISSON && p->rate.num == 0)
        return errmsg_set(
            msg, ERR_INVALID,
            "--arrivals poisson without a rate: in a closed loop nothing is due at an "
            "instant; accepted is with -r/--rate or --stages");
    return check_jitter(p, msg);
}

/* --- what follows ------------------------------------------------------------------------------
 */

static bool is_above(const struct rate *a, const struct rate *b)
{
    return (unsigned __int128)a->num * b->den > (unsigned __int128)b->num * a->den;
}

struct rate plan_stages_peak(const struct plan *p)
{
    struct rate peak = {0, 1};
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const struct stage *s = &p->stages[i];
        if (is_above(&s->from, &peak))
            peak = s->from;
        if (is_above(&s->to, &peak))
            peak = s->to;
    }
    return peak;
}

enum err plan_settle_stages(struct plan *p, struct errmsg *msg)
{
    char text[UNITS_TEXT];
    if (p->n_stages == 0)
        return ERR_OK;
    if (p->rate_set)
        return errmsg_set(msg, ERR_INVALID,
                          "--stages with -r/--rate %s: accepted is one of the two",
                          units_format_rate(&p->rate, text));
    if (p->duration_set)
        return errmsg_set(
            msg, ERR_INVALID,
            "--stages with -d/--duration %s: the stages say how long; accepted is one "
            "of the two",
            units_format_duration(p->duration_ns, text));
    if (p->forever)
        return errmsg_set(msg, ERR_INVALID, "--stages with --forever: accepted is one of the two");
    p->duration_ns = 0;
    for (uint32_t i = 0; i < p->n_stages; i++)
        p->duration_ns = clock_add(p->duration_ns, p->stages[i].duration_ns);
    p->rate = plan_stages_peak(p);
    return ERR_OK;
}

enum err plan_check_stages(const struct plan *p, struct errmsg *msg)
{
    struct profile profile;
    struct errmsg why = {{0}};
    char text[UNITS_TEXT];
    if (p->n_stages == 0)
        return ERR_OK;
    enum err e = profile_stages(&profile, p->stages, p->n_stages, &why);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "--stages: %s", why.text);
    struct rate peak = plan_stages_peak(p);
    if (profile.end_ns == p->duration_ns && !is_above(&peak, &p->rate) &&
        !is_above(&p->rate, &peak))
        return ERR_OK;
    return errmsg_set(
        msg, ERR_INVALID,
        "--stages take %s: accepted is no other duration and no other rate than theirs",
        units_format_duration(profile.end_ns, text));
}

static enum err make_profile(const struct plan *p, struct profile *out, struct errmsg *msg)
{
    enum err e = p->n_stages > 0 ? profile_stages(out, p->stages, p->n_stages, msg)
                                 : profile_constant(out, &p->rate, msg);
    if (e == ERR_OK && p->arrivals == PLAN_POISSON)
        profile_poisson(out, p->seed);
    else if (e == ERR_OK && p->jitter > 0)
        profile_jitter(out, p->seed, p->jitter);
    return e;
}

enum err plan_schedule(const struct plan *p, const struct share *share, uint64_t requests,
                       struct schedule *s, struct errmsg *msg)
{
    struct profile profile;
    enum err e = make_profile(p, &profile, msg);
    if (e == ERR_OK)
        e = schedule_init_profile(s, &profile, share, p->duration_ns, requests, msg);
    return e;
}

uint64_t plan_due_of_index(const struct plan *p, uint64_t i)
{
    struct profile profile;
    if (make_profile(p, &profile, NULL) != ERR_OK)
        return UINT64_MAX; /* no plan that was checked */
    return profile_due(&profile, i);
}

size_t plan_stage_at(const struct plan *p, uint64_t ns)
{
    size_t i = 0;
    for (uint64_t end_ns = 0; i + 1 < p->n_stages; i++) {
        end_ns = clock_add(end_ns, p->stages[i].duration_ns);
        if (ns < end_ns)
            break;
    }
    return i;
}
