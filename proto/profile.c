/* SPDX-License-Identifier: MIT */
#include "proto/profile.h"

#include <inttypes.h>

#include "common/clock.h"

typedef profile_u128 u128;

/* Keeps every product in 128 bits, with room: index (64) x 1e9 x den (63). */
#define DEN_MAX  RATE_DEN_MAX
/* Likewise for a ramp, whose largest product is twice its rates' sum x its length squared. */
#define RAMP_MAX ((u128)1 << 126)
#define UNITS    (2 * NS_PER_SEC)

/* --- a constant rate ---------------------------------------------------------------------------
 */

enum err profile_constant(struct profile *p, const struct rate *rate, struct errmsg *msg)
{
    if (rate->den == 0 || rate->den > DEN_MAX)
        return errmsg_set(msg, ERR_INVALID,
                          "rate %" PRIu64 "/%" PRIu64
                          ": accepted is a fraction with a denominator of 1 up to 2^33",
                          rate->num, rate->den);
    p->rate = *rate;
    p->plain = true;
    p->poisson = false;
    p->jitter = 0;
    p->n = 0;
    return ERR_OK;
}

/* --- stages, made ready ------------------------------------------------------------------------
 */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool is_sound(const struct rate *r)
{
    return r->den != 0 && r->den <= DEN_MAX && r->num <= (u128)RATE_MAX * r->den;
}

/* The common denominator grows to hold r's too. */
static bool add_denominator(uint64_t *common, const struct rate *r)
{
    u128 lcm = (u128)*common / gcd(*common, r->den) * r->den;
    if (lcm > DEN_MAX)
        return false;
    *common = (uint64_t)lcm;
    return true;
}

static enum err refuse(size_t number, const char *what, struct errmsg *msg)
{
    return errmsg_set(msg, ERR_INVALID, "stage %zu %s", number, what);
}

static enum err check_stage(const struct stage *s, size_t number, uint64_t *common,
                            struct errmsg *msg)
{
    if (s->duration_ns == 0 || s->duration_ns > (UINT64_C(1) << 55))
        return refuse(number, "has no length: accepted is more than 0, at most 365d", msg);
    if (!is_sound(&s->from) || !is_sound(&s->to))
        return refuse(number, "has a rate out of bounds: accepted is 0 to 1G/s", msg);
    if (s->from.num == 0 && s->to.num == 0)
        return refuse(number, "sends nothing: accepted is a rate above 0 at one end at least", msg);
    if (!add_denominator(common, &s->from) || !add_denominator(common, &s->to))
        return refuse(number,
                      "has a rate that has no common denominator with those before: accepted are "
                      "rates that are whole multiples of one rate, such as 1/s, 1/m or 1/h",
                      msg);
    return ERR_OK;
}

static uint64_t scaled(const struct rate *r, uint64_t common)
{
    return r->num * (common / r->den); /* at most RATE_MAX x DEN_MAX, below 2^63 */
}

static bool is_ramp(const struct profile_part *part)
{
    return part->from != part->to;
}

static enum err add_stage(struct profile *p, const struct stage *s, uint64_t common, u128 *fraction,
                          struct errmsg *msg)
{
    struct profile_part *part = &p->parts[p->n];
    *part = (struct profile_part){.index = p->total + (*fraction > 0),
                                  .start_ns = p->end_ns,
                                  .duration_ns = s->duration_ns,
                                  .from = scaled(&s->from, common),
                                  .to = scaled(&s->to, common),
                                  .before = p->total,
                                  .fraction = (uint64_t)*fraction};
    u128 units = ((u128)part->from + part->to) * s->duration_ns;
    if (is_ramp(part) && units > RAMP_MAX / s->duration_ns)
        return refuse(p->n + 1u,
                      "is too long for its rates to be exact: accepted is a shorter ramp (several "
                      "in a row will do), or rounder rates",
                      msg);
    *fraction += units;
    p->total += (uint64_t)(*fraction / p->unit);
    *fraction %= p->unit;
    p->end_ns += s->duration_ns;
    p->n++;
    return ERR_OK;
}

enum err profile_stages(struct profile *p, const struct stage *stages, size_t n, struct errmsg *msg)
{
    uint64_t common = 1;
    u128 fraction = 0;
    if (n == 0 || n > PROFILE_STAGES_MAX)
        return errmsg_set(msg, ERR_INVALID, "%zu stages: accepted is 1 to %d", n,
                          PROFILE_STAGES_MAX);
    for (size_t i = 0; i < n; i++) {
        enum err e = check_stage(&stages[i], i + 1, &common, msg);
        if (e != ERR_OK)
            return e;
    }
    p->rate = stages[0].from;
    p->plain = p->poisson = false;
    p->jitter = 0;
    p->n = 0;
    p->unit = UNITS * common; /* below 2^64 */
    p->total = p->end_ns = 0;
    for (size_t i = 0; i < n; i++) {
        enum err e = add_stage(p, &stages[i], common, &fraction, msg);
        if (e != ERR_OK)
            return e;
    }
    p->whole = p->total;
    p->fraction = (uint64_t)fraction;
    p->total += fraction > 0;
    return ERR_OK;
}

/* --- when, and how many ------------------------------------------------------------------------
 */

/* The last part that begins at or before the index; one without requests never is. */
static const struct profile_part *part_of_index(const struct profile *p, uint64_t i)
{
    uint32_t low = 0, high = p->n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (p->parts[middle].index <= i)
            low = middle;
        else
            high = middle;
    }
    return &p->parts[low];
}

static const struct profile_part *part_at(const struct profile *p, uint64_t ns)
{
    uint32_t low = 0, high = p->n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (p->parts[middle].start_ns <= ns)
            low = middle;
        else
            high = middle;
    }
    return &p->parts[low];
}

/* Units that a ramp has sent x ns after its start, times its length:
 * 2 * from * length * x + (to - from) * x^2. Increases with x up to the length. */
static u128 ramp_units(const struct profile_part *part, uint64_t x)
{
    u128 linear = (u128)part->from * 2 * part->duration_ns * x;
    if (part->to >= part->from)
        return linear + (u128)(part->to - part->from) * x * x;
    return linear - (u128)(part->from - part->to) * x * x;
}

/* The root by floating point. It only has to be near: what is asked of it decides the cost of
 * ramp_root, not its result. The form that does not cancel for small x. */
static uint64_t ramp_guess(const struct profile_part *part, u128 target)
{
    double slope = (double)part->to - (double)part->from, t = (double)target;
    double half = (double)part->from * (double)part->duration_ns;
    double under = half * half + slope * t;
    double x = t / (half + (under > 0 ? __builtin_sqrt(under) : 0));
    return x >= 0 && x < (double)part->duration_ns ? (uint64_t)x : part->duration_ns - 1;
}

/* Largest x with ramp_units(x) <= target; the target lies below that of the ramp's length. */
static uint64_t ramp_root(const struct profile_part *part, u128 target)
{
    uint64_t low = ramp_guess(part, target), high = low, step = 1;
    if (target == 0 && part->from > 0)
        return 0;
    while (ramp_units(part, low) > target) {
        high = low;
        low = low > step ? low - step : 0;
        step *= 2;
    }
    for (; high == low; step *= 2) {
        uint64_t next = part->duration_ns - low > step ? low + step : part->duration_ns;
        if (next == part->duration_ns || ramp_units(part, next) > target)
            high = next;
        else
            low = high = next;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (ramp_units(part, middle) <= target)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* How long after the part's start so many units are sent. */
static uint64_t part_offset(const struct profile_part *part, u128 units)
{
    if (is_ramp(part))
        return ramp_root(part, units * part->duration_ns);
    if (units <= UINT64_MAX)
        return (uint64_t)units / (2 * part->from);
    return (uint64_t)(units / (2 * part->from));
}

/* Units before the part's first x ns are over: part_offset(units) < x  <=>  units < part_units(x).
 */
static u128 part_units(const struct profile_part *part, uint64_t x)
{
    if (is_ramp(part))
        return (ramp_units(part, x) + part->duration_ns - 1) / part->duration_ns;
    return (u128)part->from * 2 * x;
}

static uint64_t stages_due(const struct profile *p, uint64_t i)
{
    if (i >= p->total)
        return UINT64_MAX;
    const struct profile_part *part = part_of_index(p, i);
    return part->start_ns + part_offset(part, (u128)(i - part->before) * p->unit - part->fraction);
}

/* As with a constant rate: due(i) <= ns  <=>  i < N(ns + 1). */
static uint64_t stages_until(const struct profile *p, uint64_t ns)
{
    if (ns >= p->end_ns)
        return p->total;
    const struct profile_part *part = part_at(p, ns);
    u128 units = part_units(part, ns + 1 - part->start_ns) + part->fraction + p->unit - 1;
    if (units <= UINT64_MAX)
        return part->before + (uint64_t)units / p->unit;
    return part->before + (uint64_t)(units / p->unit);
}

/* --- at random ---------------------------------------------------------------------------------
 */

#define PLACES_MAX (UINT64_C(1) << 62) /* requests; what is behind them is never due */

static bool is_closed(const struct profile *p)
{
    return p->n == 0 && p->rate.num == 0;
}

void profile_poisson(struct profile *p, uint64_t seed)
{
    if (is_closed(p))
        return;
    p->plain = false;
    p->poisson = true;
    p->seed = seed;
}

void profile_jitter(struct profile *p, uint64_t seed, uint32_t jitter)
{
    if (is_closed(p))
        return;
    p->plain = false;
    p->jitter = jitter;
    p->seed = seed;
}

/* The last part that begins at or before whole + fraction / unit. */
static const struct profile_part *part_of_place(const struct profile *p, uint64_t whole,
                                                uint64_t fraction)
{
    uint32_t i = p->n - 1;
    while (i > 0 && (p->parts[i].before > whole ||
                     (p->parts[i].before == whole && p->parts[i].fraction > fraction)))
        i--;
    return &p->parts[i];
}

/* The fraction is rounded down to a unit: place_due and place_reached must do so alike. */
static uint64_t place_due(const struct profile *p, arrivals_place place)
{
    uint64_t whole = (uint64_t)(place >> ARRIVALS_FRACTION);
    uint64_t unit = p->n == 0 ? NS_PER_SEC * p->rate.den : p->unit;
    uint64_t fraction = (uint64_t)((u128)(uint32_t)place * unit >> ARRIVALS_FRACTION);
    if (p->n == 0) {
        u128 due = ((u128)whole * unit + fraction) / p->rate.num;
        return due > UINT64_MAX ? UINT64_MAX : (uint64_t)due;
    }
    if (whole > p->whole || (whole == p->whole && fraction >= p->fraction))
        return UINT64_MAX;
    const struct profile_part *part = part_of_place(p, whole, fraction);
    u128 units = (u128)(whole - part->before) * unit + fraction - part->fraction;
    return part->start_ns + part_offset(part, units);
}

/* The last place that is due at or before ns. */
static arrivals_place place_reached(const struct profile *p, uint64_t ns)
{
    uint64_t before = 0, unit = NS_PER_SEC * p->rate.den;
    u128 units; /* place_due(place) <= ns  <=>  less than these after `before` */
    if (p->n == 0) {
        units = ((u128)ns + 1) * p->rate.num;
    } else {
        uint64_t at_ns = ns < p->end_ns ? ns : p->end_ns - 1;
        const struct profile_part *part = part_at(p, at_ns);
        units = part_units(part, at_ns + 1 - part->start_ns) + part->fraction;
        before = part->before;
        unit = p->unit;
    }
    u128 whole = before + units / unit, rest = units % unit;
    if (whole >= PLACES_MAX)
        return (arrivals_place)PLACES_MAX << ARRIVALS_FRACTION;
    if (rest == 0)
        return (whole << ARRIVALS_FRACTION) - 1;
    return whole << ARRIVALS_FRACTION | ((rest << ARRIVALS_FRACTION) - 1) / unit;
}

/* --- any of them -------------------------------------------------------------------------------
 */

uint64_t profile_any_due(const struct profile *p, uint64_t i)
{
    if (!p->poisson && p->jitter == 0)
        return p->n == 0 ? profile_rate_due(&p->rate, i) : stages_due(p, i);
    if (i >= PLACES_MAX)
        return UINT64_MAX;
    return place_due(p, p->poisson ? arrivals_at(p->seed, i)
                                   : arrivals_jittered_at(p->seed, p->jitter, i));
}

uint64_t profile_any_until(const struct profile *p, uint64_t ns)
{
    if (!p->poisson && p->jitter == 0)
        return p->n == 0 ? profile_rate_until(&p->rate, ns) : stages_until(p, ns);
    arrivals_place place = place_reached(p, ns);
    return p->poisson ? arrivals_until(p->seed, place)
                      : arrivals_jittered_until(p->seed, p->jitter, place);
}

uint64_t profile_total(const struct profile *p)
{
    return p->n == 0 ? UINT64_MAX : profile_any_until(p, p->end_ns);
}
