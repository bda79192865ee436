/* SPDX-License-Identifier: MIT */
#include "controller/store/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/store/recording_plan.h"
#include "controller/store/recording_result.h"
#include "controller/store/replay_store.h"

#define REPORT_MAX (256u << 20)
#define LINE       700

struct verify {
    verify_fn fn;
    void *arg;
};

static void say(const struct verify *v, bool holds, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void say(const struct verify *v, bool holds, const char *fmt, ...)
{
    char text[LINE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    v->fn(v->arg, holds, text);
}

/* What is wrong with an agent's rows; the first of each kind is told. */
struct strand {
    struct snapshot *sum, *final;
    uint64_t last_seq, rows, missing;
    uint64_t covered; /* intervals from the start on */
    bool gap;         /* between intervals */
    uint64_t gap_seq;
};

/* Rows that cannot be what was stored. */
struct damage {
    uint64_t n;
    char first[LINE - 100];
};

struct reading {
    const struct recording *r;
    struct strand *strands; /* one an agent */
    struct snapshot_reader *reader;
    uint64_t rows;
    struct damage bytes, counts;
};

/* --- row by row ------------------------------------------------------------------------------- */

static void damage(struct reading *d, struct damage *what, const struct store_row *row,
                   const char *why)
{
    const char *agent = row->agent < d->r->n_agents ? replay_agent_label(&d->r->agents[row->agent])
                                                    : "that the run does not have";
    char seq[40] = "the totals";
    if (row->seq > 0)
        snprintf(seq, sizeof seq, "snapshot %" PRIu64, row->seq);
    if (what->n++ == 0)
        snprintf(what->first, sizeof what->first, "%s of agent %.100s: %.300s", seq, agent, why);
}

/* Beside what decoding asks for: with both clocks, each answer has a sample on each. */
static void check_counts(struct reading *d, const struct store_row *row, const struct snapshot *s)
{
    char why[160];
    for (size_t i = 0; i < s->n_series; i++) {
        const struct series *one = &s->series[i];
        const struct hist *h = one->hists[HIST_UNCORRECTED];
        uint64_t n = h != NULL ? hist_count(h) : 0;
        if (n == one->counters.completed)
            continue;
        snprintf(why, sizeof why, "%" PRIu64 " complete responses, %" PRIu64 " uncorrected samples",
                 one->counters.completed, n);
        damage(d, &d->counts, row, why);
        return;
    }
}

static void follow(struct reading *d, struct strand *s, const struct snapshot *snap)
{
    uint64_t step = d->r->interval_ns;
    uint64_t first = (snap->from_ns + step / 2) / step;
    uint64_t last = first + (snap->intervals > 1 ? snap->intervals - 1 : 0);
    if (s->rows > 1 && first > s->covered && !s->gap) {
        s->gap = true;
        s->gap_seq = snap->seq;
    }
    if (last + 1 > s->covered)
        s->covered = last + 1;
}

static enum err take(void *arg, const struct store_row *row, struct errmsg *msg)
{
    struct reading *d = arg;
    const struct snapshot *snap;
    (void)msg;
    d->rows++;
    if (row->agent >= d->r->n_agents) {
        damage(d, &d->bytes, row, "there is no such agent");
        return ERR_OK;
    }
    struct strand *s = &d->strands[row->agent];
    if (row->seq > 0) {
        s->missing += row->seq > s->last_seq + 1 ? row->seq - s->last_seq - 1 : 0;
        s->last_seq = row->seq;
        s->rows++;
    }
    if (row->altered) {
        damage(d, &d->bytes, row, REPLAY_ALTERED);
        return ERR_OK;
    }
    enum err e = snapshot_read(d->reader, row->bytes, row->len, &snap);
    if (e != ERR_OK || snap->seq != row->seq || snap->cumulative != (row->seq == 0)) {
        damage(d, &d->bytes, row, e != ERR_OK ? err_str(e) : "it says that it is another one");
        return ERR_OK;
    }
    check_counts(d, row, snap);
    if (row->seq == 0) {
        snapshot_free(s->final);
        s->final = snapshot_copy(snap);
        return ERR_OK;
    }
    follow(d, s, snap);
    if (snapshot_add(s->sum, snap, true) != ERR_OK)
        damage(d, &d->bytes, row, "it cannot be added to those before");
    return ERR_OK;
}

/* --- agent by agent --------------------------------------------------------------------------- */

static void say_rows(const struct verify *v, const struct reading *d)
{
    if (d->bytes.n > 0)
        say(v, false, "%" PRIu64 " of %" PRIu64 " snapshots are damaged: %s", d->bytes.n, d->rows,
            d->bytes.first);
    else
        say(v, true, "%" PRIu64 " snapshots of %zu agent%s can be read", d->rows, d->r->n_agents,
            d->r->n_agents == 1 ? "" : "s");
    if (d->counts.n > 0)
        say(v, false, "%s", d->counts.first);
    else
        say(v, true, "every histogram has as many samples as its counter says");
}

static void say_sequence(const struct verify *v, const char *name, const struct strand *s)
{
    if (s->missing > 0)
        say(v, false, "agent %s: %" PRIu64 " of its %" PRIu64 " snapshots are missing", name,
            s->missing, s->rows + s->missing);
    else
        say(v, true, "agent %s: %" PRIu64 " snapshots, none is missing", name, s->rows);
    if (s->gap)
        say(v, false,
            "agent %s: its intervals do not follow each other: there is a gap before snapshot "
            "%" PRIu64,
            name, s->gap_seq);
    else if (s->rows > 0)
        say(v, true, "agent %s: its intervals follow each other", name);
}

/* Figures that add up as counters do, but are not among those that must not be lost. */
static const struct {
    const char *name;
    size_t offset;
} gauges[] = {
    {"CPU time", offsetof(struct snapshot, cpu_ns)},
    {"time spent spinning", offsetof(struct snapshot, spin_ns)},
    {"context switches", offsetof(struct snapshot, context_switches)},
    {"preemptions", offsetof(struct snapshot, preemptions)},
};

static uint64_t gauge(const struct snapshot *s, size_t i)
{
    uint64_t value;
    memcpy(&value, (const char *)s + gauges[i].offset, sizeof value);
    return value;
}

static bool same_totals(const struct strand *s, struct errmsg *why)
{
    if (!snapshot_same_data(s->sum, s->final, why))
        return false;
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++)
        if (gauge(s->sum, i) != gauge(s->final, i)) {
            errmsg_set(why, ERR_CORRUPT, "%s: %" PRIu64 " in sum, %" PRIu64, gauges[i].name,
                       gauge(s->sum, i), gauge(s->final, i));
            return false;
        }
    return true;
}

/* An agent that came to its end has sent its totals. */
static bool owes_totals(const struct recording *r, const struct result_agent *a)
{
    return r->ended_wall_ns != 0 && a->checked;
}

static void say_totals(const struct verify *v, const struct recording *r,
                       const struct result_agent *a, const char *name, const struct strand *s)
{
    struct errmsg why = {{0}};
    struct counters c;
    if (s->final == NULL) {
        say(v, !owes_totals(r, a), "agent %s: its own totals are not there%s", name,
            owes_totals(r, a) ? "" : ", as the report says");
        return;
    }
    if (same_totals(s, &why))
        say(v, true, "agent %s: its own totals are the sum of its snapshots, bucket for bucket",
            name);
    else
        say(v, false, "agent %s: its own totals differ from the sum of its snapshots: %.300s", name,
            why.text);
    c = snapshot_counters(s->final);
    if (counters_check(&c, &why) == ERR_OK)
        say(v, true, "agent %s: its ledger adds up: %" PRIu64 " scheduled", name, c.scheduled);
    else
        say(v, false, "agent %s: its ledger does not add up: %.300s", name, why.text);
}

static void say_agents(const struct verify *v, const struct reading *d)
{
    for (size_t i = 0; i < d->r->n_agents; i++) {
        char name[UNITS_SHOWN];
        const struct result_agent *a = &d->r->agents[i];
        if (d->strands[i].rows == 0 && d->strands[i].final == NULL && !owes_totals(d->r, a))
            continue; /* it took no part */
        units_format_shown(replay_agent_label(a), name);
        say_sequence(v, name, &d->strands[i]);
        say_totals(v, d->r, a, name, &d->strands[i]);
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static void say_plan(const struct verify *v, const struct recording *r)
{
    struct errmsg why = {{0}};
    struct replay_parts parts;
    struct recording again = {0};
    enum err e = replay_parts_read(&parts, r, &why);
    if (e == ERR_OK)
        e = recording_take_plan(&again, &parts.plan, r->redact);
    if (e != ERR_OK)
        say(v, false, "%.400s", why.text[0] != '\0' ? why.text : err_str(e));
    else
        say(v, strcmp(again.plan_id, r->plan_id) == 0, "the plan is the one with the id %.16s",
            r->plan_id);
    mem_free(again.plan);
    mem_free(again.secrets);
    replay_parts_clear(&parts);
}

static void say_sums(const struct verify *v, const struct reading *d, const struct result *r)
{
    struct counters sum = {0}, total = result_counters(r), shown = snapshot_counters(r->total);
    uint64_t completed = 0, sent = 0;
    for (size_t i = 0; i < d->r->n_agents; i++) {
        struct counters c = snapshot_counters(d->strands[i].sum);
        counters_add(&sum, &c);
    }
    say(v, counters_equal(&sum, &total), "the run's counters are the sum over its agents");
    for (size_t i = 0; i < r->n_intervals; i++) {
        completed += r->intervals[i].completed;
        sent += r->intervals[i].sent;
    }
    say(v, completed == shown.completed && sent == shown.sent,
        "the timeline adds up: %zu intervals, %" PRIu64 " sent, %" PRIu64 " completed",
        r->n_intervals, sent, completed);
}

/* What was reported when the run ended. */
static void say_reported(const struct verify *v, const struct recording *r,
                         const struct result *again)
{
    const char *status = result_status_name(again->verdict.status);
    if (r->ended_wall_ns == 0) {
        say(v, true, "nothing was reported: the run has no end");
        return;
    }
    if (strcmp(r->status, status) == 0 && r->exit_code == again->verdict.exit_code)
        say(v, true, "the verdict is what it was: %s, exit code %d", status, r->exit_code);
    else
        say(v, false, "the verdict was %.23s, exit code %d; made anew it is %s, exit code %d",
            r->status, r->exit_code, status, again->verdict.exit_code);
}

/* The figures that lists show. */
static void say_shown(const struct verify *v, const struct recording *r, const struct result *again)
{
    struct recording *now = mem_calloc(1, sizeof *now);
    recording_take_result(now, again);
    json_t *was = r->totals != NULL ? json_loads(r->totals, 0, NULL) : NULL;
    json_t *is = json_loads(now->totals, 0, NULL);
    if (r->ended_wall_ns != 0)
        say(v, json_equal(was, is) == 1,
            "totals, rates and percentiles that were reported come out again");
    json_decref(was);
    json_decref(is);
    recording_free(now);
}

static void say_whole(const struct verify *v, const struct reading *d,
                      const struct replay_source *source)
{
    const struct replay_options none = {0};
    struct replayed *again;
    struct errmsg why = {{0}};
    if (replay_sources(source, 1, &none, &again, &why) != ERR_OK) {
        say(v, false, "the report cannot be made anew: %.400s", why.text);
        return;
    }
    say_sums(v, d, again->result);
    say_reported(v, d->r, again->result);
    say_shown(v, d->r, again->result);
    replayed_clear(again);
    mem_free(again);
}

enum err verify_source(const struct replay_source *source, verify_fn fn, void *arg,
                       struct errmsg *msg)
{
    const struct verify v = {fn, arg};
    struct reading d = {.r = source->recording, .reader = snapshot_reader_new()};
    d.strands = mem_calloc(d.r->n_agents + 1, sizeof *d.strands);
    for (size_t i = 0; i < d.r->n_agents; i++)
        d.strands[i].sum = snapshot_new();
    enum err e = d.r->interval_ns > 0
                     ? source->rows(source->arg, take, &d, msg)
                     : errmsg_set(msg, ERR_CORRUPT, "run %.8s has no interval", d.r->run_id);
    if (e == ERR_OK) {
        say_plan(&v, d.r);
        say_rows(&v, &d);
        if (d.r->lost_rows > 0)
            say(&v, false,
                "%" PRIu64 " snapshot%s could not be stored: figures made anew lack them",
                d.r->lost_rows, d.r->lost_rows == 1 ? "" : "s");
        say_agents(&v, &d);
        say_whole(&v, &d, source);
    }
    for (size_t i = 0; i < d.r->n_agents; i++) {
        snapshot_free(d.strands[i].sum);
        snapshot_free(d.strands[i].final);
    }
    snapshot_reader_free(d.reader);
    mem_free(d.strands);
    return e;
}

/* --- files ------------------------------------------------------------------------------------ */

static enum err read_file(const char *path, char **text, size_t *len, struct errmsg *msg)
{
    FILE *f = fopen(path, "re");
    size_t cap = 0, got;
    *text = NULL;
    *len = 0;
    if (f == NULL)
        return errmsg_set(msg, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%.300s: %s", path,
                          strerror(errno));
    do {
        if (*len + 65536 > cap) {
            cap = cap * 2 + 65536;
            *text = mem_realloc(*text, cap, 1);
        }
        got = fread(*text + *len, 1, cap - *len, f);
        *len += got;
    } while (got > 0 && *len < REPORT_MAX);
    bool bad = ferror(f) != 0;
    fclose(f);
    if (bad)
        return errmsg_set(msg, ERR_SYSTEM, "%.300s: %s", path, strerror(errno));
    if (*len >= REPORT_MAX)
        return errmsg_set(msg, ERR_TOO_BIG, "%.300s: accepted is a report below %u MiB", path,
                          REPORT_MAX >> 20);
    return ERR_OK;
}

static bool is_report(const char *word)
{
    size_t len = strlen(word);
    return len > 5 && strcmp(word + len - 5, ".json") == 0;
}

enum err verify_word(const char *word, const char *db, verify_fn fn, void *arg, struct errmsg *msg)
{
    struct replay_opened o = {0};
    struct errmsg why = {{0}};
    char *text = NULL;
    size_t len;
    enum err e;
    if (is_report(word)) {
        e = read_file(word, &text, &len, msg);
        if (e == ERR_OK && verify_report(text, len, fn, arg, &why) != ERR_OK)
            e = errmsg_set(msg, ERR_INVALID, "%.200s: %.250s", word, why.text);
        mem_free(text);
        return e;
    }
    e = replay_open(word, db, &o, msg);
    if (e == ERR_OK) {
        struct replay_source source = replay_opened_source(&o);
        e = verify_source(&source, fn, arg, msg);
    }
    replay_close(&o);
    return e;
}
