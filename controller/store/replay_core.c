/* SPDX-License-Identifier: MIT */
#include "controller/store/replay_core.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/host.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/run/merge.h"
#include "controller/run/result_build.h"
#include "controller/store/recording_result.h"
#include "controller/store/replay_merge.h"
#include "controller/store/replay_view.h"

/* One agent of one source: what is in its rows, known before any is looked into. */
struct strand {
    uint64_t last_seq, rows;
    uint64_t taken; /* given to the merge */
    bool final;
};

struct replay {
    const struct replay_source *sources;
    size_t n_sources;
    size_t at;              /* the source whose rows come */
    size_t first;           /* number of its first agent */
    size_t n_agents;        /* of all sources */
    struct strand *strands; /* one an agent */
    struct replay_cut cut;
    struct merge *merge;
    struct snapshot_reader *reader;
};

const char *replay_agent_label(const struct result_agent *a)
{
    return a->address[0] != '\0' ? a->address : a->name;
}

/* --- the recording ---------------------------------------------------------------------------- */

static enum err read_conditions(const char *lines, const char *flag, struct condition_list *l,
                                struct errmsg *msg)
{
    char *text = mem_strdup(lines != NULL ? lines : ""), *save = NULL;
    enum err e = ERR_OK;
    for (char *at = strtok_r(text, "\n", &save); at != NULL && e == ERR_OK;
         at = strtok_r(NULL, "\n", &save))
        e = condition_list_add(l, flag, at, msg);
    mem_free(text);
    return e;
}

enum err replay_parts_read(struct replay_parts *p, const struct recording *r, struct errmsg *msg)
{
    struct errmsg why = {{0}};
    *p = (struct replay_parts){0};
    enum err e = plan_decode(r->plan, r->plan_len, &p->plan, &why);
    if (e == ERR_OK)
        e = read_conditions(r->abort_on, "--abort-on", &p->abort_on, &why);
    if (e == ERR_OK)
        e = read_conditions(r->slo, "--slo", &p->slo, &why);
    if (e == ERR_OK)
        return ERR_OK;
    return errmsg_set(msg, e, "run %.8s: what is stored of its plan is damaged: %.400s", r->run_id,
                      why.text[0] != '\0' ? why.text : err_str(e));
}

void replay_parts_clear(struct replay_parts *p)
{
    plan_clear(&p->plan);
    condition_list_clear(&p->abort_on);
    condition_list_clear(&p->slo);
}

static bool still_there(const struct recording *r)
{
    char boot_id[sizeof r->boot_id];
    host_boot_id(boot_id, sizeof boot_id);
    return boot_id[0] != '\0' && strcmp(boot_id, r->boot_id) == 0 && r->pid > 0 &&
           (kill((pid_t)r->pid, 0) == 0 || errno == EPERM);
}

void replay_unended(const struct recording *r, char *buf, size_t cap)
{
    buf[0] = '\0';
    if (r->ended_wall_ns != 0)
        return;
    if (still_there(r))
        snprintf(buf, cap, "the run is still going on: these are its figures so far");
    else
        snprintf(buf, cap,
                 "its hammer-ctl was gone before the end: these are the figures up to then");
}

/* --- rows ------------------------------------------------------------------------------------- */

static enum err damaged(const struct replay *r, const struct store_row *row, const char *why,
                        struct errmsg *msg)
{
    const struct recording *rec = r->sources[r->at].recording;
    return errmsg_set(msg, ERR_CORRUPT,
                      "run %.8s: snapshot %" PRIu64 " of agent %.100s is damaged: %.200s",
                      rec->run_id, row->seq,
                      row->agent < rec->n_agents ? replay_agent_label(&rec->agents[row->agent])
                                                 : "(none of the run's)",
                      why);
}

static enum err scan_row(void *arg, const struct store_row *row, struct errmsg *msg)
{
    struct replay *r = arg;
    if (row->agent >= r->sources[r->at].recording->n_agents)
        return damaged(r, row, "the run has no such agent", msg);
    struct strand *s = &r->strands[r->first + row->agent];
    if (row->seq == 0) {
        s->final = true;
        return ERR_OK;
    }
    if (row->seq <= s->last_seq)
        return damaged(r, row, "it is out of order", msg);
    s->last_seq = row->seq;
    s->rows++;
    return ERR_OK;
}

/* A part has the totals of an agent only where nothing of the agent is left out. */
static bool whole_agents(const struct replay_cut *c)
{
    return !replay_cut_by_row(c) && c->view.from_ns == 0 && c->view.to_ns == 0;
}

static enum err take_final(struct replay *r, size_t agent, const struct snapshot *s)
{
    struct errmsg why;
    if (!whole_agents(&r->cut))
        return ERR_OK;
    /* What differs is told by the agent's `problem` and by the verdict. */
    enum err differs = merge_final(r->merge, agent, s, &why);
    (void)differs;
    return ERR_OK;
}

static enum err take_delta(struct replay *r, size_t agent, struct strand *strand,
                           const struct snapshot *s, struct errmsg *msg)
{
    const struct snapshot *part = replay_cut_take(&r->cut, s, strand->taken + 1);
    enum err e = ERR_OK;
    if (part != NULL) {
        e = merge_add(r->merge, agent, part, msg);
        strand->taken += e == ERR_OK;
        /* What the sources behind may still add to is kept packed. */
        if (e == ERR_OK && r->at + 1 < r->n_sources)
            merge_tick(r->merge, s->from_ns, 0);
    }
    if (e == ERR_OK && s->seq == strand->last_seq)
        merge_gone(r->merge, agent);
    return e;
}

static enum err take_row(void *arg, const struct store_row *row, struct errmsg *msg)
{
    struct replay *r = arg;
    size_t number = r->first + row->agent;
    bool one = r->cut.agent != SIZE_MAX;
    if (row->agent >= r->sources[r->at].recording->n_agents)
        return damaged(r, row, "the run has no such agent", msg);
    if (one && number != r->cut.agent)
        return ERR_OK;
    if (row->altered)
        return damaged(r, row, REPLAY_ALTERED, msg);
    const struct snapshot *s;
    struct errmsg why = {{0}};
    enum err e = snapshot_read(r->reader, row->bytes, row->len, &s);
    if (e != ERR_OK)
        return damaged(r, row, err_str(e), msg);
    if (s->seq != row->seq || s->cumulative != (row->seq == 0))
        return damaged(r, row, "it says that it is another one", msg);
    size_t agent = one ? 0 : number;
    e = row->seq == 0 ? take_final(r, agent, s)
                      : take_delta(r, agent, &r->strands[number], s, &why);
    return e == ERR_OK ? ERR_OK : damaged(r, row, why.text, msg);
}

static enum err each_source(struct replay *r, store_row_fn fn, struct errmsg *msg)
{
    enum err e = ERR_OK;
    r->first = 0;
    for (r->at = 0; r->at < r->n_sources && e == ERR_OK; r->at++) {
        e = r->sources[r->at].rows(r->sources[r->at].arg, fn, r, msg);
        r->first += r->sources[r->at].recording->n_agents;
    }
    return e;
}

/* Agents of which there is nothing do not hold the others up. */
static void let_go(struct replay *r)
{
    for (size_t i = 0; i < r->n_agents; i++)
        if (r->strands[i].rows == 0 && (r->cut.agent == SIZE_MAX || r->cut.agent == i))
            merge_gone(r->merge, r->cut.agent == SIZE_MAX ? i : 0);
}

static uint64_t missing_rows(const struct replay *r, const struct recording *whole)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->n_agents; i++)
        n += r->strands[i].last_seq - r->strands[i].rows;
    return n > whole->lost_rows ? n : whole->lost_rows;
}

/* --- the result ------------------------------------------------------------------------------- */

static void fill_run(struct result *r, const struct recording *rec, const struct replay *replay,
                     struct replay_parts *parts)
{
    snprintf(r->run_id, sizeof r->run_id, "%s", rec->run_id);
    snprintf(r->name, sizeof r->name, "%s", rec->name);
    r->description = mem_strdup(rec->description);
    r->tags = mem_strdup(rec->tags);
    r->plan = &parts->plan;
    r->abort_on = &parts->abort_on;
    r->started_wall_ns = rec->started_wall_ns;
    r->interrupted = rec->interrupted;
    r->no_target = rec->no_target;
    r->takeover_late = rec->takeover_late;
    snprintf(r->aborted, sizeof r->aborted, "%s", rec->aborted != NULL ? rec->aborted : "");
    snprintf(r->takeover, sizeof r->takeover, "%s", rec->takeover != NULL ? rec->takeover : "");
    replay_unended(rec, r->unended, sizeof r->unended);
    r->lost_rows = missing_rows(replay, rec);
}

/* What only the controller knew; the figures are the merge's. */
static void fill_agent(struct result_agent *a, const struct result_agent *known, bool ended,
                       bool whole)
{
    struct result_agent merged = *a;
    *a = *known;
    a->total = merged.total;
    a->warmup = merged.warmup;
    a->outlier = merged.outlier;
    a->checked = whole ? merged.checked : known->checked;
    if (a->problem[0] == '\0')
        memcpy(a->problem, merged.problem, sizeof a->problem);
    if (!ended && !a->checked)
        a->state = RESULT_UNKNOWN;
}

static void fill_agents(struct result *r, const struct replay *replay, const struct recording *rec)
{
    bool whole = whole_agents(&replay->cut);
    for (size_t i = 0; i < r->n_agents; i++)
        fill_agent(&r->agents[i],
                   &rec->agents[replay->cut.agent == SIZE_MAX ? i : replay->cut.agent],
                   rec->ended_wall_ns != 0, whole);
}

static void warn(struct result *r, const char *text)
{
    struct verdict *v = &r->verdict;
    if (text != NULL && v->n_warnings < VERDICT_WARNINGS_MAX)
        snprintf(v->warnings[v->n_warnings++], sizeof v->warnings[0], "%s", text);
}

static void build(const struct replay *replay, const struct recording *rec, const char *differ,
                  struct replayed *out)
{
    struct result *r = out->result =
        result_new_bare(replay->cut.agent == SIZE_MAX ? replay->n_agents : 1);
    fill_run(r, rec, replay, &out->parts);
    merge_finish(replay->merge, r);
    fill_agents(r, replay, rec);
    r->view = replay->cut.view;
    if (r->view.partial)
        result_conclude_part(r, rec->status, rec->exit_code);
    else
        result_conclude(r, &out->parts.slo);
    warn(r, differ);
}

static size_t count_agents(const struct replay_source *sources, size_t n)
{
    size_t agents = 0;
    for (size_t i = 0; i < n; i++)
        agents += sources[i].recording->n_agents;
    return agents;
}

static enum err check_every(const struct replay_options *o, const struct recording *rec,
                            struct errmsg *msg)
{
    char every[UNITS_TEXT], interval[UNITS_TEXT];
    if (o->every_ns % rec->interval_ns == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "--every %s: accepted is a multiple of the run's interval, %s",
                      units_format_duration(o->every_ns, every),
                      units_format_duration(rec->interval_ns, interval));
}

static enum err pass(struct replay *r, const struct recording *rec, const struct replay_options *o,
                     struct replayed *out, struct errmsg *msg)
{
    enum err e = check_every(o, rec, msg);
    if (e == ERR_OK)
        e = replay_cut_init(&r->cut, &o->view, &out->parts.plan, rec->agents, rec->n_agents,
                            rec->interval_ns, msg);
    if (e == ERR_OK)
        e = each_source(r, scan_row, msg);
    if (e != ERR_OK)
        return e;
    r->merge = merge_new(r->cut.agent == SIZE_MAX ? r->n_agents : 1, rec->interval_ns);
    merge_stored(r->merge, (size_t)(r->cut.view.from_ns / rec->interval_ns));
    merge_every(r->merge, o->every_ns);
    merge_on_settled(r->merge, o->settled, o->arg);
    let_go(r);
    e = each_source(r, take_row, msg);
    return e == ERR_OK ? replay_cut_end(&r->cut, msg) : e;
}

static enum err core(const struct replay_source *sources, size_t n, const char *differ,
                     const struct replay_options *o, struct replayed *out, struct errmsg *msg)
{
    const struct recording *rec = out->merged != NULL ? out->merged : sources[0].recording;
    struct replay *r = mem_calloc(1, sizeof *r);
    r->sources = sources;
    r->n_sources = n;
    r->n_agents = count_agents(sources, n);
    r->strands = mem_calloc(r->n_agents + 1, sizeof *r->strands);
    r->reader = snapshot_reader_new();
    enum err e = rec->interval_ns > 0 && rec->n_agents == r->n_agents
                     ? replay_parts_read(&out->parts, rec, msg)
                     : errmsg_set(msg, ERR_CORRUPT, "run %.8s: what is stored of it is damaged",
                                  rec->run_id);
    if (e == ERR_OK)
        e = pass(r, rec, o, out, msg);
    if (e == ERR_OK)
        build(r, rec, differ, out);
    merge_free(r->merge);
    snapshot_reader_free(r->reader);
    mem_free(r->strands);
    mem_free(r);
    return e;
}

enum err replay_sources(const struct replay_source *sources, size_t n,
                        const struct replay_options *o, struct replayed **out, struct errmsg *msg)
{
    struct replayed *r = mem_calloc(1, sizeof *r);
    struct recording **all = mem_calloc(n, sizeof *all);
    char differ[REPLAY_DIFFER] = "";
    enum err e = ERR_OK;
    for (size_t i = 0; i < n; i++)
        memcpy(&all[i], &sources[i].recording, sizeof all[i]);
    if (n > 1)
        e = replay_merge(all, n, &r->merged, differ, msg);
    if (e == ERR_OK)
        e = core(sources, n, differ[0] != '\0' ? differ : NULL, o, r, msg);
    if (e == ERR_OK && r->merged != NULL && r->merged->ended_wall_ns != 0 &&
        !r->result->view.partial)
        recording_take_result(r->merged, r->result);
    mem_free(all);
    if (e != ERR_OK) {
        replayed_clear(r);
        mem_free(r);
        r = NULL;
    }
    *out = r;
    return e;
}

void replayed_clear(struct replayed *r)
{
    result_free(r->result);
    recording_free(r->merged);
    replay_parts_clear(&r->parts);
}
