/* SPDX-License-Identifier: MIT */
#include "controller/run/fleet.h"

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
    bool finished;
};

static void step(struct fleet *f, struct coord_event ev)
{
    if (f->finished)
        return;
    ev.now_ns = clock_mono_ns();
    coordinator_step(f->coordinator, &ev);
    uint64_t t0 = coordinator_t0(f->coordinator);
    if (t0 != 0 && ev.now_ns > t0)
        merge_tick(f->cfg.merge, ev.now_ns - t0, GRACE_NS);
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

static void do_snapshot(struct fleet *f, struct member *m, const struct msg_snapshot *s)
{
    struct snapshot *snap = NULL;
    enum err e = snapshot_decode(s->data.data, s->data.len, &snap);
    if (e == ERR_OK && snap->seq != s->seq)
        e = ERR_CORRUPT;
    if (e != ERR_OK)
        errmsg_set(&m->problem, e, "snapshot %llu is not readable (%s)", (unsigned long long)s->seq,
                   err_str(e));
    else
        e = merge_add(f->cfg.merge, m->number, snap, &m->problem);
    snapshot_free(snap);
    if (e != ERR_OK)
        note_problem(m);
}

static void do_final(struct fleet *f, struct member *m, const struct msg_final *final)
{
    struct snapshot *snap = NULL;
    enum err e = snapshot_decode(final->data.data, final->data.len, &snap);
    if (e != ERR_OK)
        errmsg_set(&m->problem, e, "the final snapshot is not readable (%s)", err_str(e));
    else
        e = merge_final(f->cfg.merge, m->number, snap, &m->problem);
    snapshot_free(snap);
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
        do_send(m, a->msg);
        break;
    case COORD_CLOSE:
        link_close(m->link, FLUSH_MS);
        m->link = NULL;
        merge_gone(f->cfg.merge, m->number);
        break;
    case COORD_SNAPSHOT:
        do_snapshot(f, m, &a->msg->snapshot);
        break;
    case COORD_FINAL:
        do_final(f, m, &a->msg->final);
        break;
    case COORD_NOTE:
        f->cfg.note(f->cfg.arg, a->text);
        break;
    case COORD_ALL_RUNNING:
        break;
    case COORD_FINISHED:
        f->finished = true;
        loop_stop(f->cfg.loop);
        break;
    }
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
    host_random(cc.owner, sizeof cc.owner);
    host_random(f->run, sizeof f->run);
    memcpy(cc.run, f->run, sizeof cc.run);
    host_hex(f->run, sizeof f->run, f->run_hex);
    host_who(cc.controller, sizeof cc.controller);
    host_boot_id(cc.boot_id, sizeof cc.boot_id);
    enum err e = coordinator_new(&cc, &f->coordinator, msg);
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
    mem_free(f->members);
    mem_free(f);
}
