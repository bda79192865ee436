/* SPDX-License-Identifier: MIT */
#include "controller/run/fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/link.h"

#define DIAL_MS            3000
#define SILENCE_MS         70000 /* the coordinator judges silence; this only frees dead sockets */
#define FLUSH_MS           1000
#define INTERRUPT_DRAIN_NS (500 * NS_PER_MS)
#define GRACE_NS           (2 * NS_PER_SEC) /* an interval waits this long for its last agent */

struct member {
    struct fleet *fleet;
    size_t number;
    struct link *link;
    bool checked;
    uint64_t kept; /* fleet.flushes when something of it was put into the journal */
    struct errmsg problem;
};

struct fleet {
    struct fleet_config cfg;
    struct coordinator *coordinator;
    struct loop_timer *timer;
    size_t n;
    struct member *members;
    uint8_t run[MSG_ID_LEN];
    char run_hex[2 * MSG_ID_LEN + 1];
    bool replaying;       /* from the journal */
    const uint8_t *frame; /* being handled */
    size_t frame_len;
    uint64_t flushes; /* of the journal, and 1 */
    struct snapshot_reader *reader;
    bool finished;
    char abort_reason[512]; /* "" = none, or said */
};

static void step_once(struct fleet *f, struct coord_event *ev)
{
    ev->now_ns = clock_mono_ns();
    coordinator_step(f->coordinator, ev);
    uint64_t t0 = coordinator_t0(f->coordinator);
    if (t0 != 0 && ev->now_ns > t0)
        merge_tick(f->cfg.merge, ev->now_ns - t0, GRACE_NS);
}

/* Whatever is merged in a step may meet the user's condition. */
static void step(struct fleet *f, struct coord_event ev)
{
    if (f->finished)
        return;
    step_once(f, &ev);
    if (f->abort_reason[0] != '\0' && !f->finished) {
        char reason[sizeof f->abort_reason];
        memcpy(reason, f->abort_reason, sizeof reason);
        f->abort_reason[0] = '\0';
        step_once(f, &(struct coord_event){.kind = COORD_EV_CONDITION, .reason = reason});
    }
    if (!f->finished)
        loop_timer_at(f->timer, coordinator_deadline(f->coordinator));
}

static void on_link(void *arg, struct link *l, enum link_event ev, const struct link_info *info)
{
    struct member *m = arg;
    struct coord_event ce = {.agent = m->number};
    struct msg msg;
    if (ev == LINK_UP) {
        ce.kind = COORD_EV_UP;
    } else if (ev == LINK_DOWN) {
        char reason[384];
        snprintf(reason, sizeof reason, "%s", info->reason);
        link_close(l, 0);
        m->link = NULL;
        ce.kind = COORD_EV_DOWN;
        ce.reason = reason;
        step(m->fleet, ce);
        return;
    } else {
        m->fleet->frame = info->frame;
        m->fleet->frame_len = info->len;
        enum err e = msg_decode(info->frame, info->len, &msg);
        if (e == ERR_NOT_FOUND)
            return;
        ce.kind = COORD_EV_MESSAGE;
        ce.msg = &msg;
        ce.rx_ns = info->rx_ns;
        if (e != ERR_OK) {
            link_close(l, 0);
            m->link = NULL;
            ce.kind = COORD_EV_DOWN;
            ce.reason = "it sent bytes that are not a hammer message";
        }
    }
    step(m->fleet, ce);
}

/* --- actions -------------------------------------------------------------------------------- */

static void do_dial(struct fleet *f, struct member *m)
{
    struct errmsg msg = {{0}};
    link_close(m->link, 0);
    m->link = NULL;
    const struct inventory_agent *agent = &f->cfg.inventory->agents[m->number];
    struct link_options o = {.tls = f->cfg.tls, .server_name = agent->server_name};
    enum err e = link_dial(f->cfg.loop, agent->url, &o, DIAL_MS, on_link, m, &m->link, &msg);
    if (e == ERR_OK) {
        link_set_frame_max(m->link, MSG_FRAME_MAX);
        link_set_silence(m->link, SILENCE_MS);
        return;
    }
    /* A URL that cannot be dialled at all ends as an agent that cannot be reached. */
    log_debug("fleet", "%s", msg.text);
}

static void do_send(struct member *m, const struct msg *msg)
{
    uint8_t *frame;
    size_t len;
    if (m->link == NULL || msg_encode(msg, &frame, &len) != ERR_OK)
        return;
    /* A queue that is full loses this one: the coordinator repeats what is not answered. */
    if (link_send(m->link, frame, len) != ERR_OK)
        log_debug("fleet", "agent %zu: %s not sent", m->number, msg_type_name(msg->type));
    mem_free(frame);
}

/* Shown in the report, which calls the run incomplete; here for those who follow along. */
static void note_problem(const struct member *m)
{
    log_debug("fleet", "agent %zu: %s", m->number, m->problem.text);
}

/* --- the journal ---------------------------------------------------------------------------- */

static void note_journal(struct fleet *f, const struct errmsg *msg)
{
    char text[sizeof msg->text + 64];
    snprintf(text, sizeof text, "%s; the run goes on, but no other hammer-ctl could take it over",
             msg->text);
    f->cfg.note(f->cfg.arg, text);
}

static void keep(struct fleet *f, struct member *m)
{
    struct errmsg why;
    if (f->cfg.journal == NULL || f->replaying)
        return;
    m->kept = f->flushes;
    if (journal_append(f->cfg.journal, m->number, f->frame, f->frame_len, &why) != ERR_OK)
        note_journal(f, &why);
}

/* Before anything leaves for an agent that may acknowledge what is kept of it: it then forgets it.
 * What came of all agents since is written at once. */
static void write_kept(struct fleet *f, const struct member *m)
{
    struct errmsg why;
    if (m->kept != f->flushes)
        return;
    f->flushes++;
    if (journal_flush(f->cfg.journal, &why) != ERR_OK)
        note_journal(f, &why);
}

/* The plan as it was settled when it was known who takes part. */
static void keep_plan(struct fleet *f)
{
    struct journal_run *r = f->cfg.record;
    const struct plan *p = coordinator_plan(f->coordinator);
    uint8_t *bytes;
    size_t len;
    if (p->rate_per_agent.num == 0 || plan_encode(p, &bytes, &len) != ERR_OK)
        return;
    mem_free(r->bytes);
    r->bytes = bytes;
    r->plan = (struct wire_blob){bytes, len};
}

static void keep_record(struct fleet *f)
{
    struct journal_run *r = f->cfg.record;
    struct errmsg why;
    if (r == NULL || r->agents == NULL)
        return;
    coordinator_record(f->coordinator, r->agents);
    if (journal_save(f->cfg.journal, r, &why) != ERR_OK)
        note_journal(f, &why);
}

/* Before the first ARM leaves: no agent starts in a run that nobody could take over. */
static void keep_armed(struct fleet *f)
{
    struct journal_run *r = f->cfg.record;
    uint64_t t0_ns = coordinator_t0(f->coordinator);
    if (r == NULL || r->t0_ns != 0)
        return;
    keep_plan(f);
    r->t0_ns = t0_ns;
    r->t0_wall_ns = clock_wall_ns() + (t0_ns - clock_mono_ns());
    r->agents = mem_calloc(f->n, sizeof *r->agents);
    keep_record(f);
}

/* --- what agents have counted --------------------------------------------------------------- */

static void pass_on(const struct fleet *f, const struct member *m, const struct msg *msg)
{
    if (f->cfg.message != NULL)
        f->cfg.message(f->cfg.arg, m->number, msg);
}

static void do_snapshot(struct fleet *f, struct member *m, const struct msg *msg)
{
    const struct msg_snapshot *s = &msg->snapshot;
    const struct snapshot *snap;
    keep(f, m);
    pass_on(f, m, msg);
    enum err e = snapshot_read(f->reader, s->data.data, s->data.len, &snap);
    if (e == ERR_OK && snap->seq != s->seq)
        e = ERR_CORRUPT;
    if (e != ERR_OK)
        errmsg_set(&m->problem, e, "snapshot %llu is not readable (%s)", (unsigned long long)s->seq,
                   err_str(e));
    else
        e = merge_add(f->cfg.merge, m->number, snap, &m->problem);
    if (e != ERR_OK)
        note_problem(m);
}

static void do_final(struct fleet *f, struct member *m, const struct msg *msg)
{
    const struct msg_final *final = &msg->final;
    const struct snapshot *snap;
    keep(f, m);
    pass_on(f, m, msg);
    enum err e = snapshot_read(f->reader, final->data.data, final->data.len, &snap);
    if (e != ERR_OK)
        errmsg_set(&m->problem, e, "the final snapshot is not readable (%s)", err_str(e));
    else
        e = merge_final(f->cfg.merge, m->number, snap, &m->problem);
    m->checked = e == ERR_OK && m->problem.text[0] == '\0';
    if (e != ERR_OK)
        note_problem(m);
    merge_gone(f->cfg.merge, m->number);
}

static void on_action(void *arg, const struct coord_action *a)
{
    struct fleet *f = arg;
    struct member *m = a->agent < f->n ? &f->members[a->agent] : NULL;
    switch (a->kind) {
    case COORD_DIAL:
        do_dial(f, m);
        break;
    case COORD_SEND:
        if (a->msg->type == MSG_ARM)
            keep_armed(f);
        write_kept(f, m);
        do_send(m, a->msg);
        break;
    case COORD_CLOSE:
        link_close(m->link, FLUSH_MS);
        m->link = NULL;
        merge_gone(f->cfg.merge, m->number);
        break;
    case COORD_SNAPSHOT:
        do_snapshot(f, m, a->msg);
        break;
    case COORD_FINAL:
        do_final(f, m, a->msg);
        break;
    case COORD_REQUESTS:
        pass_on(f, m, a->msg);
        break;
    case COORD_NOTE:
        f->cfg.note(f->cfg.arg, a->text);
        break;
    case COORD_ALL_RUNNING:
        break;
    case COORD_RECORD:
        keep_record(f);
        break;
    case COORD_FINISHED:
        f->finished = true;
        loop_stop(f->cfg.loop);
        break;
    }
}

/* --- a run that another hammer-ctl began ---------------------------------------------------- */

static void replay_final(struct fleet *f, struct member *m, struct coord_resume_agent *a,
                         const struct msg *msg)
{
    a->over = true;
    a->end_reason = msg->final.reason;
    a->started_ns = msg->final.started_ns;
    a->ended_ns = msg->final.ended_ns;
    if (a->lost_after_ns == 0)
        snprintf(a->problem, sizeof a->problem, "%s", msg->final.text);
    msg_sanitise(a->problem);
    do_final(f, m, msg);
}

/* Only what follows; a repetition would be counted twice. */
static void on_record(void *arg, size_t agent, const uint8_t *bytes, size_t len)
{
    struct fleet *f = arg;
    struct coord_resume_agent *a = &f->cfg.record->agents[agent];
    struct msg msg;
    if (!a->armed || a->over || msg_decode(bytes, len, &msg) != ERR_OK)
        return;
    if (msg.type == MSG_FINAL && msg.final.last_seq == a->last_seq) {
        replay_final(f, &f->members[agent], a, &msg);
    } else if (msg.type == MSG_SNAPSHOT && msg.snapshot.seq == a->last_seq + 1) {
        a->last_seq++;
        do_snapshot(f, &f->members[agent], &msg);
    }
}

/* The instant on this boot's clock. After a reboot it can only be told by the wall clock, and may
 * lie before the boot: then the earliest there is. */
static uint64_t start_instant(const struct journal_run *r, const char *boot_id)
{
    if (boot_id[0] != '\0' && strcmp(r->boot_id, boot_id) == 0)
        return r->t0_ns;
    uint64_t ago_ns = clock_elapsed(r->t0_wall_ns, clock_wall_ns()), now_ns = clock_mono_ns();
    return now_ns > ago_ns ? now_ns - ago_ns : 1;
}

/* What the agents are asked for again they may have forgotten. */
static void note_dropped(struct fleet *f, uint64_t bytes)
{
    char text[128];
    if (bytes == 0)
        return;
    snprintf(text, sizeof text,
             "the journal is damaged: its last %" PRIu64 " bytes, from a broken record on, are "
             "not read",
             bytes);
    f->cfg.note(f->cfg.arg, text);
}

static enum err replay(struct fleet *f, struct coord_resume *resume, const char *boot_id,
                       struct errmsg *msg)
{
    const struct journal_run *r = f->cfg.record;
    if (r->agents == NULL)
        return errmsg_set(msg, ERR_STATE,
                          "the run had not been started, there is nothing to take "
                          "over");
    resume->t0_ns = start_instant(r, boot_id);
    resume->first_command = clock_wall_ns();
    resume->agents = r->agents;
    for (size_t i = 0; i < f->n; i++)
        if (!r->agents[i].armed)
            merge_gone(f->cfg.merge, i); /* no interval waits for it */
    f->replaying = true;
    enum err e = journal_replay(f->cfg.journal, f->n, on_record, f, msg);
    f->replaying = false;
    if (e == ERR_OK)
        note_dropped(f, journal_dropped(f->cfg.journal));
    return e;
}

static void on_timer(void *arg)
{
    step(arg, (struct coord_event){.kind = COORD_EV_TICK});
}

/* --- life ----------------------------------------------------------------------------------- */

enum err fleet_new(const struct fleet_config *cfg, struct fleet **out, struct errmsg *msg)
{
    struct fleet *f = mem_calloc(1, sizeof *f);
    f->cfg = *cfg;
    f->n = cfg->inventory->n;
    f->flushes = 1;
    f->reader = snapshot_reader_new();
    f->members = mem_calloc(f->n, sizeof *f->members);
    for (size_t i = 0; i < f->n; i++)
        f->members[i] = (struct member){.fleet = f, .number = i};
    struct coord_config cc = {
        .inventory = cfg->inventory,
        .plan = cfg->plan,
        .patience = cfg->patience,
        .interrupt_drain_ns = INTERRUPT_DRAIN_NS,
        .emit = on_action,
        .arg = f,
    };
    struct coord_resume resume = {0};
    host_random(cc.owner, sizeof cc.owner);
    host_random(f->run, sizeof f->run);
    if (cfg->record != NULL) {
        memcpy(cc.owner, cfg->record->owner, sizeof cc.owner);
        memcpy(f->run, cfg->record->run, sizeof f->run);
    }
    memcpy(cc.run, f->run, sizeof cc.run);
    host_hex(f->run, sizeof f->run, f->run_hex);
    host_who(cc.controller, sizeof cc.controller);
    host_boot_id(cc.boot_id, sizeof cc.boot_id);
    cc.resume = cfg->resume ? &resume : NULL;
    enum err e = cfg->resume ? replay(f, &resume, cc.boot_id, msg) : ERR_OK;
    if (e == ERR_OK)
        e = coordinator_new(&cc, &f->coordinator, msg);
    if (e != ERR_OK) {
        fleet_free(f);
        return e;
    }
    f->timer = loop_timer_new(cfg->loop, on_timer, f);
    *out = f;
    return ERR_OK;
}

void fleet_run(struct fleet *f)
{
    step(f, (struct coord_event){.kind = COORD_EV_BEGIN});
    if (!f->finished)
        loop_run(f->cfg.loop);
}

void fleet_interrupt(struct fleet *f)
{
    step(f, (struct coord_event){.kind = COORD_EV_INTERRUPT});
}

void fleet_abort(struct fleet *f, const char *reason)
{
    snprintf(f->abort_reason, sizeof f->abort_reason, "%s", reason);
}

const struct coordinator *fleet_coordinator(const struct fleet *f)
{
    return f->coordinator;
}

const char *fleet_run_id(const struct fleet *f)
{
    return f->run_hex;
}

const char *fleet_check_problem(const struct fleet *f, size_t agent)
{
    return f->members[agent].problem.text;
}

bool fleet_checked(const struct fleet *f, size_t agent)
{
    return f->members[agent].checked;
}

void fleet_free(struct fleet *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->n; i++)
        link_close(f->members[i].link, 0);
    loop_timer_free(f->timer);
    coordinator_free(f->coordinator);
    snapshot_reader_free(f->reader);
    mem_free(f->members);
    mem_free(f);
}
