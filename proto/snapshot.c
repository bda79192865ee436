/* SPDX-License-Identifier: MIT */
#include "proto/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "proto/msg.h"

static const char *const kind_names[] = {
    [HIST_CORRECTED] = "corrected",
    [HIST_UNCORRECTED] = "uncorrected",
    [HIST_SEND_LAG] = "send",
    [HIST_WAIT] = "wait",
    [HIST_RECEIVE] = "receive",
    [HIST_TLS] = "tls",
    [HIST_DNS] = "dns",
    [HIST_CONNECT] = "connect",
    [HIST_UPLOAD] = "upload",
    [HIST_FIRST_BYTE] = "first_byte",
    [HIST_DOWNLOAD] = "download",
};
_Static_assert(sizeof kind_names / sizeof kind_names[0] == HIST_KINDS, "every kind has a name");

const char *hist_kind_name(enum hist_kind k)
{
    return (unsigned)k < HIST_KINDS ? kind_names[k] : "?";
}

/* --- life ------------------------------------------------------------------------------------ */

struct snapshot *snapshot_new(void)
{
    return mem_calloc(1, sizeof(struct snapshot));
}

void snapshot_free(struct snapshot *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n_series; i++)
        for (size_t k = 0; k < HIST_KINDS; k++)
            hist_free(s->series[i].hists[k]);
    mem_free(s->series);
    mem_free(s->debug);
    mem_free(s->errors);
    mem_free(s->suites);
    mem_free(s->addresses);
    mem_free(s);
}

static struct error_row *rows_copy(const struct error_row *rows, size_t n)
{
    return n > 0 ? mem_dup(rows, n * sizeof *rows) : NULL;
}

struct snapshot *snapshot_copy(const struct snapshot *s)
{
    struct snapshot *copy = snapshot_new();
    *copy = *s;
    copy->series = NULL;
    copy->debug = mem_strdup(s->debug);
    copy->errors = rows_copy(s->errors, s->n_errors);
    copy->suites = rows_copy(s->suites, s->n_suites);
    copy->addresses = rows_copy(s->addresses, s->n_addresses);
    if (s->n_series == 0)
        return copy;
    copy->series = mem_calloc(s->n_series, sizeof *copy->series);
    for (size_t i = 0; i < s->n_series; i++) {
        struct series *to = &copy->series[i];
        *to = s->series[i];
        for (size_t k = 0; k < HIST_KINDS; k++)
            to->hists[k] = to->hists[k] == NULL ? NULL : hist_copy(to->hists[k]);
    }
    return copy;
}

/* --- series and error rows ------------------------------------------------------------------- */

static int series_order(const struct series *s, uint32_t stage, const char *name)
{
    if (s->stage != stage)
        return s->stage < stage ? -1 : 1;
    return strcmp(s->name, name);
}

/* Place of the series, or where it belongs. */
static size_t find_series(const struct snapshot *s, uint32_t stage, const char *name, bool *found)
{
    size_t i = 0;
    int order = 1;
    while (i < s->n_series && (order = series_order(&s->series[i], stage, name)) < 0)
        i++;
    *found = i < s->n_series && order == 0;
    return i;
}

/* As it is kept and sent: cut to size, printable, valid UTF-8. The receiver does the same, so both
 * sides agree on which texts are equal. */
static void clean_text(char *to, size_t cap, const char *from)
{
    size_t len = strnlen(from, cap - 1);
    memcpy(to, from, len);
    to[len] = '\0';
    msg_sanitise(to);
}

struct series *snapshot_series(struct snapshot *s, uint32_t stage, const char *name)
{
    struct series fresh = {.stage = stage};
    clean_text(fresh.name, sizeof fresh.name, name);
    bool found;
    size_t i = find_series(s, stage, fresh.name, &found);
    if (found)
        return &s->series[i];
    if (s->n_series == SNAPSHOT_SERIES_MAX)
        return NULL;
    s->series = mem_realloc(s->series, s->n_series + 1, sizeof *s->series);
    memmove(&s->series[i + 1], &s->series[i], (s->n_series - i) * sizeof *s->series);
    s->series[i] = fresh;
    s->n_series++;
    return &s->series[i];
}

struct hist *series_hist(struct series *s, enum hist_kind k)
{
    if (s->hists[k] == NULL)
        s->hists[k] = hist_new_default();
    return s->hists[k];
}

/* Rows of a snapshot, sorted by text; `other`: what has none. */
struct rows {
    struct error_row **items;
    size_t *n, max;
    uint64_t *other;
};

/* The rows kept are the first `max` in the order of their text, not those that came first: only so
 * does the result not depend on the order of adding. */
static void rows_add(const struct rows *r, const char *text, uint64_t count)
{
    struct error_row fresh = {.count = count};
    clean_text(fresh.text, sizeof fresh.text, text);
    if (count == 0)
        return;
    struct error_row *items = *r->items;
    size_t i = 0;
    int order = 1;
    while (i < *r->n && (order = strcmp(items[i].text, fresh.text)) < 0)
        i++;
    if (i < *r->n && order == 0) {
        items[i].count += count;
        return;
    }
    if (*r->n == r->max) {
        if (i == *r->n) {
            *r->other += count;
            return;
        }
        *r->other += items[--*r->n].count;
    }
    *r->items = items = mem_realloc(items, *r->n + 1, sizeof *items);
    memmove(&items[i + 1], &items[i], (*r->n - i) * sizeof items[0]);
    items[i] = fresh;
    ++*r->n;
}

void snapshot_add_error(struct snapshot *s, const char *text, uint64_t count)
{
    struct rows rows = {&s->errors, &s->n_errors, SNAPSHOT_ERRORS_MAX, &s->errors_other};
    rows_add(&rows, text, count);
}

void snapshot_add_suite(struct snapshot *s, const char *text, uint64_t count)
{
    uint64_t dropped = 0;
    struct rows rows = {&s->suites, &s->n_suites, SNAPSHOT_SUITES_MAX, &dropped};
    rows_add(&rows, text, count);
}

void snapshot_add_address(struct snapshot *s, const char *text, uint64_t count)
{
    uint64_t dropped = 0;
    struct rows rows = {&s->addresses, &s->n_addresses, SNAPSHOT_ADDRESSES_MAX, &dropped};
    rows_add(&rows, text, count);
}

/* Of two responses of the same instant the one with the smaller name, then length: the order of
 * adding must not matter. */
static bool comes_first(const struct snapshot *s, uint64_t first_ns, uint64_t document_bytes,
                        const char *server)
{
    if (s->first_ns == 0 || first_ns != s->first_ns)
        return s->first_ns == 0 || first_ns < s->first_ns;
    int order = strcmp(server, s->server);
    return order < 0 || (order == 0 && document_bytes < s->document_bytes);
}

void snapshot_note_first(struct snapshot *s, uint64_t first_ns, uint64_t document_bytes,
                         const char *server)
{
    char clean[SNAPSHOT_SERVER];
    clean_text(clean, sizeof clean, server);
    if (first_ns == 0 || !comes_first(s, first_ns, document_bytes, clean))
        return;
    s->first_ns = first_ns;
    s->document_bytes = document_bytes;
    memcpy(s->server, clean, sizeof clean);
}

void snapshot_note_debug(struct snapshot *s, const char *text)
{
    if (s->debug == NULL && text != NULL)
        s->debug = mem_dup(text, strnlen(text, SNAPSHOT_DEBUG));
}

/* --- adding ---------------------------------------------------------------------------------- */

static bool fits(uint64_t a, uint64_t b)
{
    return a <= SNAPSHOT_COUNT_MAX && b <= SNAPSHOT_COUNT_MAX - a;
}

static bool series_fit(const struct series *a, const struct series *b)
{
    for (size_t i = 0; i < COUNTERS_N; i++)
        if (!fits(counters_get(&a->counters, i), counters_get(&b->counters, i)))
            return false;
    for (size_t k = 0; k < HIST_KINDS; k++)
        if (a->hists[k] != NULL && b->hists[k] != NULL &&
            !fits(hist_count(a->hists[k]), hist_count(b->hists[k])))
            return false;
    return true;
}

static uint64_t rows_total(const struct error_row *rows, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += rows[i].count;
    return total;
}

static bool rows_fit(const struct snapshot *a, const struct snapshot *b)
{
    return fits(a->errors_other + rows_total(a->errors, a->n_errors),
                b->errors_other + rows_total(b->errors, b->n_errors)) &&
           fits(rows_total(a->suites, a->n_suites), rows_total(b->suites, b->n_suites)) &&
           fits(rows_total(a->addresses, a->n_addresses), rows_total(b->addresses, b->n_addresses));
}

/* Everything that could go wrong, before anything is touched. */
static enum err can_add(const struct snapshot *into, const struct snapshot *from)
{
    static const struct series empty;
    size_t n = into->n_series;
    for (size_t i = 0; i < from->n_series; i++) {
        const struct series *f = &from->series[i];
        bool found;
        size_t at = find_series(into, f->stage, f->name, &found);
        if (!series_fit(found ? &into->series[at] : &empty, f))
            return ERR_RANGE;
        n += found ? 0 : 1;
    }
    if (n > SNAPSHOT_SERIES_MAX)
        return ERR_NOMEM;
    for (size_t i = SNAPSHOT_STATUS_MIN; i <= SNAPSHOT_STATUS_MAX; i++)
        if (from->status[i] != 0 && !fits(into->status[i], from->status[i]))
            return ERR_RANGE;
    bool ok = rows_fit(into, from) && fits(into->cpu_ns, from->cpu_ns) &&
              fits(into->spin_ns, from->spin_ns) &&
              fits(into->context_switches, from->context_switches) &&
              fits(into->preemptions, from->preemptions) && fits(into->backlog, from->backlog) &&
              fits(into->in_flight, from->in_flight) &&
              into->intervals <= UINT32_MAX - from->intervals;
    return ok ? ERR_OK : ERR_RANGE;
}

static enum err add_series(struct snapshot *into, const struct series *from)
{
    struct series *to = snapshot_series(into, from->stage, from->name);
    if (to == NULL)
        return ERR_NOMEM;
    counters_add(&to->counters, &from->counters);
    for (size_t k = 0; k < HIST_KINDS; k++) {
        if (from->hists[k] == NULL)
            continue;
        enum err e = hist_add(series_hist(to, (enum hist_kind)k), from->hists[k]);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The later value stands; at the same instant the larger one, so that order does not matter. */
static uint64_t later(uint64_t a, uint64_t a_ns, uint64_t b, uint64_t b_ns)
{
    return a_ns == b_ns ? larger(a, b) : a_ns > b_ns ? a : b;
}

static void add_gauges(struct snapshot *into, const struct snapshot *from, bool same_agent)
{
    if (same_agent) {
        into->backlog = later(into->backlog, into->to_ns, from->backlog, from->to_ns);
        into->in_flight = later(into->in_flight, into->to_ns, from->in_flight, from->to_ns);
    } else {
        into->backlog += from->backlog;
        into->in_flight += from->in_flight;
    }
    into->cpu_ns += from->cpu_ns;
    into->spin_ns += from->spin_ns;
    into->context_switches += from->context_switches;
    into->preemptions += from->preemptions;
    into->cpu_busy_ppm = larger(into->cpu_busy_ppm, from->cpu_busy_ppm);
    into->censored_age_ns = larger(into->censored_age_ns, from->censored_age_ns);
}

/* A snapshot of no interval covers no time and does not stretch the bounds. */
static void add_bounds(struct snapshot *into, const struct snapshot *from)
{
    if (from->intervals == 0)
        return;
    if (into->intervals == 0 || from->from_ns < into->from_ns)
        into->from_ns = from->from_ns;
    if (into->intervals == 0 || from->to_ns > into->to_ns)
        into->to_ns = from->to_ns;
    into->intervals += from->intervals;
}

enum err snapshot_add(struct snapshot *into, const struct snapshot *from, bool same_agent)
{
    enum err e = can_add(into, from);
    for (size_t i = 0; i < from->n_series && e == ERR_OK; i++)
        e = add_series(into, &from->series[i]);
    if (e != ERR_OK)
        return e;
    for (size_t i = SNAPSHOT_STATUS_MIN; i <= SNAPSHOT_STATUS_MAX; i++)
        if (from->status[i] != 0) /* the others' memory stays untouched */
            into->status[i] += from->status[i];
    for (size_t i = 0; i < from->n_errors; i++)
        snapshot_add_error(into, from->errors[i].text, from->errors[i].count);
    into->errors_other += from->errors_other;
    for (size_t i = 0; i < from->n_suites; i++)
        snapshot_add_suite(into, from->suites[i].text, from->suites[i].count);
    for (size_t i = 0; i < from->n_addresses; i++)
        snapshot_add_address(into, from->addresses[i].text, from->addresses[i].count);
    snapshot_note_first(into, from->first_ns, from->document_bytes, from->server);
    snapshot_note_debug(into, from->debug);
    add_gauges(into, from, same_agent);
    add_bounds(into, from);
    return ERR_OK;
}

/* --- the warm-up ----------------------------------------------------------------------------- */

/* Its series are the last ones: its number is the highest of a stage. */
struct snapshot *snapshot_split_warmup(struct snapshot *s)
{
    size_t kept = s->n_series;
    while (kept > 0 && s->series[kept - 1].stage == SERIES_STAGE_WARMUP)
        kept--;
    if (kept == s->n_series)
        return NULL;
    struct snapshot *warmup = snapshot_new();
    warmup->n_series = s->n_series - kept;
    warmup->series = mem_calloc(warmup->n_series, sizeof *warmup->series);
    memcpy(warmup->series, &s->series[kept], warmup->n_series * sizeof *warmup->series);
    s->n_series = kept;
    return warmup;
}

/* --- totals ---------------------------------------------------------------------------------- */

struct counters snapshot_counters(const struct snapshot *s)
{
    struct counters total = {0};
    for (size_t i = 0; i < s->n_series; i++)
        counters_add(&total, &s->series[i].counters);
    return total;
}

struct hist *snapshot_hist(const struct snapshot *s, enum hist_kind k)
{
    struct hist *total = hist_new_default();
    for (size_t i = 0; i < s->n_series; i++)
        if (s->series[i].hists[k] != NULL && hist_add(total, s->series[i].hists[k]) != ERR_OK)
            break; /* cannot happen: 64 x SNAPSHOT_COUNT_MAX is below 2^64 */
    return total;
}

/* --- comparing ------------------------------------------------------------------------------- */

static bool same_number(uint64_t a, uint64_t b, const char *what, const char *name,
                        struct errmsg *msg)
{
    if (a != b)
        (void)errmsg_set(msg, ERR_CORRUPT, "%s%s: %" PRIu64 " against %" PRIu64, what, name, a, b);
    return a == b;
}

/* Names the first bucket that differs, else the exact figure. */
static bool same_hist(const struct hist *a, const struct hist *b, enum hist_kind k,
                      struct errmsg *msg)
{
    if (hist_equal(a, b))
        return true;
    const char *kind = hist_kind_name(k);
    if (!same_number(hist_count(a), hist_count(b), "samples of ", kind, msg))
        return false;
    for (uint32_t i = 0; i < HIST_COUNTS; i++)
        if (hist_count_at(a, i) != hist_count_at(b, i)) {
            (void)errmsg_set(
                msg, ERR_CORRUPT,
                "%s histogram, bucket from %" PRIu64 " ns: %" PRIu64 " against %" PRIu64, kind,
                hist_low(hist_geometry_of(a), i), hist_count_at(a, i), hist_count_at(b, i));
            return false;
        }
    if (same_number(hist_min(a), hist_min(b), "minimum of ", kind, msg) &&
        same_number(hist_max(a), hist_max(b), "maximum of ", kind, msg) &&
        same_number(hist_saturated(a), hist_saturated(b), "saturated values of ", kind, msg))
        (void)errmsg_set(msg, ERR_CORRUPT, "sum of %s: %.0f against %.0f", kind, hist_sum(a),
                         hist_sum(b));
    return false;
}

static bool same_series(const struct series *a, const struct series *b, struct errmsg *msg)
{
    for (size_t i = 0; i < COUNTERS_N; i++)
        if (!same_number(counters_get(&a->counters, i), counters_get(&b->counters, i),
                         counters_name(i), "", msg))
            return false;
    bool same = true;
    struct hist *empty = NULL;
    for (size_t k = 0; k < HIST_KINDS && same; k++) {
        if (a->hists[k] == b->hists[k])
            continue; /* both without */
        if (empty == NULL)
            empty = hist_new_default();
        same = same_hist(a->hists[k] == NULL ? empty : a->hists[k],
                         b->hists[k] == NULL ? empty : b->hists[k], (enum hist_kind)k, msg);
    }
    hist_free(empty);
    return same;
}

/* Every series of a against b's; one that is missing there counts as empty. With `flip` the two
 * change places in the message. */
static bool same_all_series(const struct snapshot *a, const struct snapshot *b, bool flip,
                            struct errmsg *msg)
{
    static const struct series empty;
    for (size_t i = 0; i < a->n_series; i++) {
        const struct series *own = &a->series[i];
        bool found;
        size_t at = find_series(b, own->stage, own->name, &found);
        const struct series *other = found ? &b->series[at] : &empty;
        struct errmsg why = {""};
        if (same_series(flip ? other : own, flip ? own : other, &why))
            continue;
        (void)errmsg_set(msg, ERR_CORRUPT, "stage %" PRIu32 "%s%s: %.400s", own->stage,
                         own->name[0] == '\0' ? "" : " ", own->name, why.text);
        return false;
    }
    return true;
}

static bool same_status(const struct snapshot *a, const struct snapshot *b, struct errmsg *msg)
{
    for (unsigned i = SNAPSHOT_STATUS_MIN; i <= SNAPSHOT_STATUS_MAX; i++) {
        if (a->status[i] == b->status[i])
            continue;
        char code[16];
        snprintf(code, sizeof code, "%u", i);
        if (!same_number(a->status[i], b->status[i], "status ", code, msg))
            return false;
    }
    return true;
}

static bool same_rows(const struct error_row *a, size_t n_a, const struct error_row *b, size_t n_b,
                      const char *what, struct errmsg *msg)
{
    for (size_t i = 0; i < larger(n_a, n_b); i++) {
        int order = i >= n_a ? 1 : i >= n_b ? -1 : strcmp(a[i].text, b[i].text);
        if (!same_number(order <= 0 ? a[i].count : 0, order >= 0 ? b[i].count : 0, what,
                         order <= 0 ? a[i].text : b[i].text, msg))
            return false;
    }
    return true;
}

static bool same_errors(const struct snapshot *a, const struct snapshot *b, struct errmsg *msg)
{
    return same_rows(a->errors, a->n_errors, b->errors, b->n_errors, "error ", msg) &&
           same_rows(a->suites, a->n_suites, b->suites, b->n_suites, "TLS ", msg) &&
           same_rows(a->addresses, a->n_addresses, b->addresses, b->n_addresses, "connections to ",
                     msg) &&
           same_number(a->errors_other, b->errors_other, "other errors", "", msg);
}

bool snapshot_same_data(const struct snapshot *a, const struct snapshot *b, struct errmsg *msg)
{
    return same_all_series(a, b, false, msg) && same_all_series(b, a, true, msg) &&
           same_status(a, b, msg) && same_errors(a, b, msg);
}
