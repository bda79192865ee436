/* SPDX-License-Identifier: MIT */
#include "controller/store/replay_view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"

#define NAMED_MAX 12 /* of what there is, in an error */

/* --- what there is, in errors ----------------------------------------------------------------- */

struct list {
    char text[360];
    size_t len, n;
};

static void put(struct list *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void put(struct list *l, const char *fmt, ...)
{
    va_list ap;
    if (l->n++ >= NAMED_MAX || l->len + 40 > sizeof l->text) {
        if (l->text[l->len] == '\0' && l->len > 0 && strcmp(l->text + l->len - 3, "...") != 0)
            l->len += (size_t)snprintf(l->text + l->len, sizeof l->text - l->len, ", ...");
        return;
    }
    if (l->len > 0)
        l->len += (size_t)snprintf(l->text + l->len, sizeof l->text - l->len, ", ");
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->len, sizeof l->text - l->len - 6, fmt, ap);
    va_end(ap);
    l->len = strlen(l->text);
    (void)n;
}

/* --- what is meant ---------------------------------------------------------------------------- */

static enum err find_agent(struct replay_cut *c, const char *name,
                           const struct result_agent *agents, size_t n, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    struct list all = {{0}, 0, 0}, fits = {{0}, 0, 0};
    c->agent = SIZE_MAX;
    if (name[0] == '\0')
        return ERR_OK;
    units_format_shown(name, shown);
    for (size_t i = 0; i < n; i++) {
        const struct result_agent *a = &agents[i];
        bool address = strcmp(a->address, name) == 0;
        put(&all, "%.60s (%.60s)", a->name, a->address);
        if (!address && strcmp(a->name, name) != 0)
            continue;
        c->agent = i;
        if (address)
            return ERR_OK;
        put(&fits, "%.60s", a->address);
    }
    if (fits.n == 0)
        return errmsg_set(msg, ERR_NOT_FOUND, "--agent %s: the run has %s", shown,
                          all.n > 0 ? all.text : "no agents");
    if (fits.n > 1)
        return errmsg_set(msg, ERR_INVALID,
                          "--agent %s: several go by that name; accepted is the address of one: %s",
                          shown, fits.text);
    return ERR_OK;
}

static enum err check_stage(const struct result_view *v, const struct plan *p, struct errmsg *msg)
{
    struct list all = {{0}, 0, 0};
    if (!v->one_stage || (p->n_stages > 0 && v->stage < p->n_stages))
        return ERR_OK;
    if (p->n_stages == 0)
        return errmsg_set(msg, ERR_NOT_FOUND, "--stage %" PRIu64 ": the run has no stages",
                          (uint64_t)v->stage + 1);
    for (uint32_t i = 0; i < p->n_stages; i++) {
        char text[PLAN_STAGE_TEXT];
        put(&all, "%" PRIu32 " (%.40s)", i + 1, plan_stage_text(&p->stages[i], text));
    }
    return errmsg_set(msg, ERR_NOT_FOUND, "--stage %" PRIu64 ": the run has %s",
                      (uint64_t)v->stage + 1, all.text);
}

static enum err check_request(const struct result_view *v, const struct plan *p, struct errmsg *msg)
{
    const char *names[SNAPSHOT_SERIES_MAX];
    char shown[UNITS_SHOWN];
    struct list all = {{0}, 0, 0};
    size_t n = 0;
    if (v->request[0] == '\0')
        return ERR_OK;
    units_format_shown(v->request, shown);
    if (plan_names(p, SNAPSHOT_SERIES_MAX, names, &n, NULL) != ERR_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], v->request) == 0)
            return ERR_OK;
        if (names[i][0] != '\0')
            put(&all, "%.63s", names[i]);
    }
    return errmsg_set(msg, ERR_NOT_FOUND, "--request %s: the run has %s", shown,
                      all.n > 0 ? all.text : "no requests with names");
}

/* Outwards to whole intervals. */
static enum err settle_window(struct replay_cut *c, struct errmsg *msg)
{
    struct result_view *v = &c->view;
    char from[UNITS_TEXT], to[UNITS_TEXT];
    if (v->to_ns != 0 && v->to_ns <= v->from_ns)
        return errmsg_set(msg, ERR_RANGE, "--from %s --to %s: accepted is a --to after --from",
                          units_format_duration(v->from_ns, from),
                          units_format_duration(v->to_ns, to));
    v->from_ns -= v->from_ns % c->interval_ns;
    if (v->to_ns % c->interval_ns != 0)
        v->to_ns = clock_add(v->to_ns, c->interval_ns - v->to_ns % c->interval_ns);
    return ERR_OK;
}

enum err replay_cut_init(struct replay_cut *c, const struct result_view *asked,
                         const struct plan *p, const struct result_agent *agents, size_t n_agents,
                         uint64_t interval_ns, struct errmsg *msg)
{
    *c = (struct replay_cut){.view = *asked, .interval_ns = interval_ns, .agent = SIZE_MAX};
    struct result_view *v = &c->view;
    v->partial = v->from_ns > 0 || v->to_ns > 0 || v->agent[0] != '\0' || v->request[0] != '\0' ||
                 v->one_stage;
    enum err e = settle_window(c, msg);
    if (e == ERR_OK)
        e = find_agent(c, v->agent, agents, n_agents, msg);
    if (e == ERR_OK)
        e = check_stage(v, p, msg);
    if (e == ERR_OK)
        e = check_request(v, p, msg);
    return e;
}

/* --- the part --------------------------------------------------------------------------------- */

bool replay_cut_by_row(const struct replay_cut *c)
{
    return c->view.one_stage || c->view.request[0] != '\0';
}

static bool in_window(const struct replay_cut *c, const struct snapshot *s)
{
    uint64_t begin_ns = (s->from_ns + c->interval_ns / 2) / c->interval_ns * c->interval_ns;
    return begin_ns >= c->view.from_ns && (c->view.to_ns == 0 || begin_ns < c->view.to_ns);
}

/* What belongs to a connection rather than to a request is in the first row, whatever it is. */
static void drop_what_is_no_row(struct counters *c)
{
    static const int those[] = {
        COUNTER_connect_errors, COUNTER_connects,         COUNTER_fault_fd_limit,
        COUNTER_fault_ports,    COUNTER_fault_memory,     COUNTER_handshakes,
        COUNTER_resumed,        COUNTER_handshake_errors, COUNTER_lookups,
        COUNTER_lookup_errors,  COUNTER_bytes_in,         COUNTER_bytes_out,
        COUNTER_head_bytes,     COUNTER_body_bytes,       COUNTER_retries,
        COUNTER_reused,         COUNTER_redirects,
    };
    for (size_t i = 0; i < sizeof those / sizeof those[0]; i++)
        counters_set(c, (size_t)those[i], 0);
}

static bool wanted(const struct result_view *v, const struct series *s)
{
    if (s->stage == SERIES_STAGE_WARMUP)
        return false;
    return (!v->one_stage || s->stage == v->stage) &&
           (v->request[0] == '\0' || strcmp(s->name, v->request) == 0);
}

static void take_rows(struct replay_cut *c, const struct snapshot *s)
{
    struct snapshot *t = &c->taken;
    *t = (struct snapshot){.seq = s->seq,
                           .from_ns = s->from_ns,
                           .to_ns = s->to_ns,
                           .intervals = s->intervals,
                           .cumulative = s->cumulative,
                           .series = c->series};
    for (size_t i = 0; i < s->n_series && t->n_series < SNAPSHOT_SERIES_MAX; i++) {
        if (!wanted(&c->view, &s->series[i]))
            continue;
        struct series *one = &c->series[t->n_series++];
        *one = s->series[i];
        drop_what_is_no_row(&one->counters);
        for (size_t k = 0; k < HIST_KINDS; k++)
            if (k != HIST_CORRECTED && k != HIST_UNCORRECTED)
                one->hists[k] = NULL;
    }
}

const struct snapshot *replay_cut_take(struct replay_cut *c, const struct snapshot *s, uint64_t seq)
{
    if (s->to_ns > c->end_ns)
        c->end_ns = s->to_ns;
    if (!s->cumulative && !in_window(c, s))
        return NULL;
    if (replay_cut_by_row(c))
        take_rows(c, s);
    else
        c->taken = *s;
    c->taken.seq = seq;
    return &c->taken;
}

enum err replay_cut_end(struct replay_cut *c, struct errmsg *msg)
{
    char from[UNITS_TEXT], end[UNITS_TEXT];
    struct result_view *v = &c->view;
    if (v->from_ns > 0 && v->from_ns >= c->end_ns)
        return errmsg_set(msg, ERR_NOT_FOUND, "--from %s: the run ended %s after its start",
                          units_format_duration(v->from_ns, from),
                          units_format_latency(c->end_ns, end));
    if (v->to_ns > c->end_ns)
        v->to_ns = c->end_ns;
    return ERR_OK;
}
