/* SPDX-License-Identifier: MIT */
/* The history: what the agents send goes into the database while the run goes on. */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/mem.h"
#include "controller/cmd/run_store.h"
#include "controller/store/environment.h"
#include "controller/store/history_writer.h"
#include "controller/store/recording_plan.h"
#include "controller/store/recording_result.h"
#include "controller/store/store.h"
#include "controller/watch/observer.h"

#define FLUSH_NS    NS_PER_SEC
#define PATIENCE_NS (30 * NS_PER_SEC)

struct history {
    const struct observer_run *run;
    struct history_writer *writer;
    struct loop_timer *timer;
    struct recording *recording; /* NULL = handed over */
    char run_id[33];
    bool begun, ended;
    struct run_store where;
};

static void say(const struct observer_run *run, const char *what, const char *why, const char *hint)
{
    char text[sizeof(struct errmsg) + 128];
    snprintf(text, sizeof text, "%s: %s%s", what, why, hint);
    run->note(run->arg, text);
}

/* --- what is known of the run ----------------------------------------------------------------- */

static char *blob_text(const struct wire_blob *b)
{
    return b->len > 0 ? mem_dup(b->data, b->len) : NULL;
}

static enum err describe(const struct observer_run *run, struct recording *r, struct errmsg *msg)
{
    const struct journal_run *record = run->record;
    host_hex(record->run, MSG_ID_LEN, r->run_id);
    snprintf(r->name, sizeof r->name, "%s", record->name);
    r->description = blob_text(&record->description);
    r->tags = blob_text(&record->tags);
    r->started_wall_ns = record->wall_ns;
    snprintf(r->version, sizeof r->version, "%s", HAMMER_VERSION);
    host_boot_id(r->boot_id, sizeof r->boot_id);
    r->pid = record->pid;
    r->environment = environment_json();
    r->redact = mem_strdup(run->secret_headers);
    r->abort_on = blob_text(&record->abort_on);
    r->slo = blob_text(&record->slo);
    r->interval_ns = run->options->plan.interval_ns;
    enum err e = recording_take_plan(r, &run->options->plan, run->secret_headers);
    return e == ERR_OK ? ERR_OK : errmsg_set(msg, e, "the plan: %s", err_str(e));
}

/* Once something has come of them: names are theirs by then. */
static void describe_agents(const struct observer_run *run, struct recording *r)
{
    const struct inventory *inv = run->inventory;
    r->n_agents = inv->n;
    r->agents = mem_calloc(inv->n + 1, sizeof *r->agents);
    for (size_t i = 0; i < inv->n; i++) {
        const struct coord_agent_info *info =
            run->coordinator != NULL ? coordinator_agent(run->coordinator, i) : NULL;
        snprintf(r->agents[i].name, sizeof r->agents[i].name, "%s",
                 info != NULL ? info->name : inv->agents[i].name);
        snprintf(r->agents[i].address, sizeof r->agents[i].address, "%s", inv->agents[i].address);
        r->agents[i].weight = inv->agents[i].weight;
    }
}

/* Of fewer agents than were asked, a rate per agent makes another one. */
static void settle_plan(const struct observer_run *run, struct recording *r)
{
    const struct plan *p = run->coordinator != NULL ? coordinator_plan(run->coordinator) : NULL;
    const struct plan *asked = &run->options->plan;
    if (p == NULL || (p->rate.num == asked->rate.num && p->rate.den == asked->rate.den))
        return;
    mem_free(r->plan);
    mem_free(r->secrets);
    r->plan = NULL;
    r->secrets = NULL;
    if (recording_take_plan(r, p, run->secret_headers) != ERR_OK)
        r->plan_len = 0; /* not: the other one could be encoded */
}

static void begin(struct history *h)
{
    if (h->begun)
        return;
    h->begun = true;
    settle_plan(h->run, h->recording);
    describe_agents(h->run, h->recording);
    history_writer_begin(h->writer, h->recording);
    h->recording = NULL;
}

/* --- while it goes on ----------------------------------------------------------------------- */

static void on_trouble(void *arg, const char *text)
{
    const struct history *h = arg;
    bool passing = h->where.kind == RUN_STORE_PASSING;
    say(h->run,
        passing ? "what --output is made from is incomplete"
                : "the history of this run is incomplete",
        text, "");
}

static void on_message(void *self, size_t agent, const struct msg *msg)
{
    struct history *h = self;
    begin(h);
    if (msg->type == MSG_SNAPSHOT)
        history_writer_add(h->writer, agent, msg->snapshot.seq, msg->snapshot.data.data,
                           msg->snapshot.data.len);
    else if (msg->type == MSG_FINAL)
        history_writer_add(h->writer, agent, 0, msg->final.data.data, msg->final.data.len);
}

static void on_interval(void *self, const struct merge_view *v)
{
    (void)v;
    history_writer_flush(((const struct history *)self)->writer);
}

/* Where intervals are long, or do not close as an agent is late. */
static void on_timer(void *arg)
{
    struct history *h = arg;
    if (h->writer == NULL)
        return;
    history_writer_flush(h->writer);
    loop_timer_at(h->timer, clock_mono_ns() + FLUSH_NS);
}

/* --- its end -------------------------------------------------------------------------------- */

static bool on_finish(void *self, const struct result *result)
{
    struct history *h = self;
    struct recording *r = mem_calloc(1, sizeof *r);
    begin(h);
    snprintf(r->run_id, sizeof r->run_id, "%s", h->run_id);
    recording_take_result(r, result);
    r->ended_wall_ns = clock_wall_ns();
    history_writer_end(h->writer, r);
    h->ended = true;
    /* Its files are made from the database, which has to be whole then. */
    if (h->where.asked_for) {
        history_writer_close(h->writer, PATIENCE_NS);
        h->writer = NULL;
    }
    return true; /* the report is whole without it */
}

static void close_store(void *self)
{
    struct history *h = self;
    if (h->timer != NULL)
        loop_timer_free(h->timer);
    history_writer_close(h->writer, PATIENCE_NS);
    if (h->where.kind == RUN_STORE_PASSING)
        run_store_remove(&h->where);
    recording_free(h->recording);
    mem_free(h);
}

/* --- its beginning -------------------------------------------------------------------------- */

/* Takes the store over. */
static enum err start(const struct observer_run *run, struct store *store, struct history **out,
                      struct errmsg *msg)
{
    struct history *h = *out = mem_calloc(1, sizeof *h);
    struct history_config cfg = {
        .store = store, .loop = run->loop, .trouble = on_trouble, .arg = h};
    h->run = run;
    h->recording = mem_calloc(1, sizeof *h->recording);
    enum err e = describe(run, h->recording, msg);
    memcpy(h->run_id, h->recording->run_id, sizeof h->run_id);
    if (e == ERR_OK)
        e = history_writer_new(&cfg, &h->writer, msg);
    else
        store_close(store);
    if (e != ERR_OK) {
        close_store(h);
        *out = NULL;
        return e;
    }
    h->timer = loop_timer_new(run->loop, on_timer, h);
    loop_timer_at(h->timer, clock_mono_ns() + FLUSH_NS);
    return ERR_OK;
}

/* What of the command line needs it. */
static const char *asked_by(const struct observer_run *run, const struct run_store *where)
{
    if (where->kind == RUN_STORE_PASSING)
        return "--output ";
    return run->options->results.db != NULL ? "--db " : "the history: ";
}

static enum err open_store(const struct observer_run *run, void **self, struct errmsg *msg)
{
    struct errmsg why = {{0}};
    struct store *store = NULL;
    struct history *h = NULL;
    struct run_store where;
    enum err e = run_store_find(run->options, &where, &why);
    if (e == ERR_OK && where.kind == RUN_STORE_NONE)
        return ERR_OK;
    if (e == ERR_OK && where.kind == RUN_STORE_PASSING)
        run_store_remove(&where); /* of a run that was killed */
    if (e == ERR_OK)
        e = store_open(where.path, STORE_WRITE, &store, &why);
    if (e == ERR_OK)
        e = start(run, store, &h, &why);
    if (e == ERR_OK)
        h->where = where;
    *self = h;
    if (e != ERR_OK && where.kind == RUN_STORE_PASSING)
        run_store_remove(&where);
    if (e != ERR_OK && where.asked_for)
        return errmsg_set(msg, e, "%s%s", asked_by(run, &where), why.text);
    if (e != ERR_OK)
        say(run, "the run is not kept in the history", why.text,
            " (--db FILE puts it elsewhere, --no-save does without)");
    return ERR_OK;
}

const struct observer_kind observe_store = {.name = "store",
                                            .open = open_store,
                                            .message = on_message,
                                            .interval = on_interval,
                                            .finish = on_finish,
                                            .close = close_store};
