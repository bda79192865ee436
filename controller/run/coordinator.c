/* SPDX-License-Identifier: MIT */
#include "controller/run/coordinator.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/host.h"
#include "common/mem.h"
#include "controller/run/coordinator_impl.h"
#include "proto/schedule.h"

#define FROM_ANY (SM_BIT(COORD_REFUSED) | SM_BIT(COORD_LOST))

static const struct sm_state states[COORD_STATES] = {
    [COORD_DIALING] = {"dialing", FROM_ANY | SM_BIT(COORD_GREETING)},
    [COORD_GREETING] = {"greeting", FROM_ANY | SM_BIT(COORD_DIALING) | SM_BIT(COORD_HELD) |
                                        SM_BIT(COORD_ARMED) | SM_BIT(COORD_RUNNING)},
    [COORD_HELD] = {"held", FROM_ANY | SM_BIT(COORD_PREPARING)},
    [COORD_PREPARING] = {"preparing", FROM_ANY | SM_BIT(COORD_PREPARED)},
    [COORD_PREPARED] = {"prepared", FROM_ANY | SM_BIT(COORD_PROBING) | SM_BIT(COORD_PROBED)},
    [COORD_PROBING] = {"probing", FROM_ANY | SM_BIT(COORD_PROBED)},
    [COORD_PROBED] = {"probed", FROM_ANY | SM_BIT(COORD_ARMING)},
    [COORD_ARMING] = {"arming", FROM_ANY | SM_BIT(COORD_ARMED) | SM_BIT(COORD_STOPPING)},
    [COORD_ARMED] = {"armed", FROM_ANY | SM_BIT(COORD_RUNNING) | SM_BIT(COORD_STOPPING)},
    [COORD_RUNNING] = {"running", FROM_ANY | SM_BIT(COORD_STOPPING) | SM_BIT(COORD_DONE)},
    [COORD_STOPPING] = {"stopping", FROM_ANY | SM_BIT(COORD_DONE)},
    [COORD_DONE] = {"done", 0},
    [COORD_REFUSED] = {"refused", 0},
    [COORD_LOST] = {"lost", 0},
};

const char *coord_state_name(enum coord_agent_state s)
{
    return s < COORD_STATES ? states[s].name : "?";
}

const char *coord_address(const struct coordinator *c, size_t i)
{
    return c->cfg.inventory->agents[i].address;
}

bool coord_terminal(const struct coord_agent *a)
{
    return a->info.state >= COORD_DONE;
}

static void emit(struct coordinator *c, enum coord_action_kind kind, const char *text)
{
    struct coord_action a = {.kind = kind, .agent = SIZE_MAX, .text = text};
    c->cfg.emit(c->cfg.arg, &a);
}

void coord_note(struct coordinator *c, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    emit(c, COORD_NOTE, text);
}

void coord_record(struct coordinator *c)
{
    c->unrecorded = false;
    emit(c, COORD_RECORD, NULL);
}

/* --- how a run ends --------------------------------------------------------------------------- */

static void finish(struct coordinator *c, enum coord_outcome outcome)
{
    c->phase = PHASE_OVER;
    c->outcome = outcome;
    for (size_t i = 0; i < c->n; i++)
        coord_release(c, i);
    emit(c, COORD_FINISHED, NULL);
}

/* Could an agent have begun to send? From then on the run is stopped, not withdrawn. */
static bool begun(const struct coordinator *c, uint64_t now_ns)
{
    return c->resumed || (c->t0_ns != 0 && now_ns > c->t0_ns - c->margin_ns / 2);
}

static void stop_all(struct coordinator *c, uint64_t now_ns, uint64_t drain_ns, uint64_t answer_ns,
                     const char *reason)
{
    c->stopping = true;
    for (size_t i = 0; i < c->n; i++)
        if (c->agents[i].info.state <= COORD_GREETING)
            coord_stop_absent(c, i, now_ns, answer_ns);
        else if (!coord_terminal(&c->agents[i]))
            coord_stop(c, i, now_ns, drain_ns, answer_ns, reason);
}

static void spoiled(struct coordinator *c, uint64_t now_ns, const char *why)
{
    if (c->phase == PHASE_OVER)
        return;
    if (c->reason[0] == '\0')
        snprintf(c->reason, sizeof c->reason, "%s", why);
    c->damaged = true;
    if (c->interrupted)
        return; /* everything is being stopped already */
    if (!begun(c, now_ns)) {
        finish(c, COORD_COULD_NOT);
    } else if (!c->stopping) {
        coord_note(c, "%s; stopping the run", why);
        stop_all(c, now_ns, c->cfg.plan->timeout_ns, COORD_STOP_NS, "the run lost an agent");
    }
}

void coord_spoil(struct coordinator *c, uint64_t now_ns, const char *fmt, ...)
{
    char why[sizeof c->reason];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    spoiled(c, now_ns, why);
}

/* Of those that are to take part. */
static size_t present(const struct coordinator *c)
{
    return c->n - c->in_state[COORD_REFUSED] - c->in_state[COORD_LOST];
}

void coord_lost(struct coordinator *c, size_t i, uint64_t now_ns, const char *why)
{
    bool its_own = c->agents[i].info.taken_over_from == UINT64_MAX;
    if (c->cfg.patience.on_loss == COORD_LOSS_ABORT || !begun(c, now_ns) || c->stopping) {
        coord_spoil(c, now_ns, "agent %s: %s", coord_address(c, i), why);
        return;
    }
    if (c->reason[0] == '\0')
        snprintf(c->reason, sizeof c->reason, "agent %s: %.300s", coord_address(c, i), why);
    c->damaged = true;
    coord_note(c, "agent %s: %s; the others go on", coord_address(c, i), why);
    if (c->cfg.patience.on_loss == COORD_LOSS_REDISTRIBUTE && its_own)
        c->reshare_wanted = true;
}

void coord_fail(struct coordinator *c, size_t i, enum coord_agent_state to, uint64_t now_ns,
                const char *fmt, ...)
{
    struct coord_agent *a = &c->agents[i];
    if (coord_terminal(a))
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(a->info.problem, sizeof a->info.problem, fmt, ap);
    va_end(ap);
    msg_sanitise(a->info.problem);
    a->info.lost_at_ns = now_ns;
    a->load_ns = clock_add(now_ns, clock_add(c->cfg.patience.lease_ns, COORD_LOST_NS));
    if (a->closed || now_ns >= a->silence_ns)
        a->load_ns = now_ns;
    bool has_run = a->info.state >= COORD_ARMED || (c->resumed && a->info.uncollected);
    bool keeps = to == COORD_LOST && has_run && !a->closed;
    coord_move(a, to);
    c->unrecorded = true;
    if (keeps && begun(c, now_ns))
        coord_salvage(c, i, now_ns);
    else
        coord_release(c, i);
    coord_lost(c, i, now_ns, a->info.problem);
}

void coord_not_there(struct coordinator *c, size_t i, enum coord_agent_state to, uint64_t now_ns,
                     const char *why)
{
    struct coord_agent *a = &c->agents[i];
    size_t left = present(c) - 1;
    if (c->cfg.patience.min_agents == 0 || left < c->cfg.patience.min_agents) {
        if (c->cfg.patience.min_agents != 0)
            coord_note(c, "--min-agents %" PRIu32 ": only %zu of %zu agents are left",
                       c->cfg.patience.min_agents, left, c->n);
        coord_fail(c, i, to, now_ns, "%s", why);
        return;
    }
    snprintf(a->info.problem, sizeof a->info.problem, "%s", why);
    msg_sanitise(a->info.problem);
    a->info.lost_at_ns = now_ns;
    coord_move(a, COORD_REFUSED);
    coord_release(c, i);
    coord_note(c, "agent %s: %s; going on without it", coord_address(c, i), a->info.problem);
}

/* Its FINAL may have waited for us for minutes. */
static uint64_t ended_at(const struct coordinator *c, size_t i, uint64_t now_ns)
{
    const struct coord_agent *a = &c->agents[i];
    uint64_t at_ns = clock_add(c->t0_ns, clock_elapsed(a->info.at_ns, a->ended_ns));
    return a->ended_ns != 0 && at_ns < now_ns ? at_ns : now_ns;
}

void coord_ended_early(struct coordinator *c, size_t i, uint64_t now_ns, uint32_t end_reason)
{
    const struct coord_agent_info *info = &c->agents[i].info;
    char why[sizeof info->problem + 32];
    snprintf(why, sizeof why, "ended early: %s",
             info->problem[0] != '\0' ? info->problem : "no reason given");
    c->agents[i].info.lost_at_ns = ended_at(c, i, now_ns);
    if (end_reason == END_STOPPED) /* somebody stops the run, not this agent alone */
        coord_spoil(c, now_ns, "agent %s %s", coord_address(c, i), why);
    else
        coord_lost(c, i, now_ns, why);
}

static void interrupt(struct coordinator *c, uint64_t now_ns)
{
    if (c->interrupted) { /* once more: they stop without us waiting for it */
        finish(c, COORD_INTERRUPTED);
        return;
    }
    c->interrupted = true;
    snprintf(c->reason, sizeof c->reason, "interrupted");
    uint64_t drain = c->cfg.interrupt_drain_ns;
    if (!begun(c, now_ns))
        finish(c, COORD_INTERRUPTED);
    else
        stop_all(c, now_ns, drain,
                 drain < COORD_INTERRUPT_NS ? COORD_INTERRUPT_NS - drain : COORD_INTERRUPT_NS,
                 "interrupted");
}

/* As Ctrl-C, but nobody is in a hurry. */
static void abort_run(struct coordinator *c, uint64_t now_ns, const char *reason)
{
    if (c->stopping)
        return;
    c->aborted = true;
    if (c->reason[0] == '\0')
        snprintf(c->reason, sizeof c->reason, "%s", reason);
    if (!begun(c, now_ns)) {
        finish(c, COORD_COULD_NOT);
        return;
    }
    coord_note(c, "%s; stopping the run", reason);
    stop_all(c, now_ns, c->cfg.interrupt_drain_ns, COORD_STOP_NS, "a condition to abort is met");
}

/* --- barriers --------------------------------------------------------------------------------- */

static void after_gather(struct coordinator *c, uint64_t now_ns)
{
    struct errmsg msg = {{0}};
    if (c->in_state[COORD_HELD] < present(c))
        return;
    if (coord_cut_parts(c, &msg) != ERR_OK) {
        coord_spoil(c, now_ns, "%s", msg.text);
        return;
    }
    c->phase = PHASE_PREPARE;
    for (size_t i = 0; i < c->n && c->phase == PHASE_PREPARE; i++)
        if (!coord_terminal(&c->agents[i]))
            coord_prepare(c, i, now_ns);
}

static void no_target(struct coordinator *c)
{
    size_t i = 0;
    while (i + 1 < c->n && coord_terminal(&c->agents[i]))
        i++;
    const struct coord_agent_info *first = &c->agents[i].info;
    snprintf(c->reason, sizeof c->reason, "no agent could open a connection to %s: %s",
             first->address[0] != '\0' ? first->address : "the target",
             first->problem[0] != '\0' ? first->problem : "no reason given");
    finish(c, COORD_NO_TARGET);
}

static void after_prepare(struct coordinator *c, uint64_t now_ns)
{
    (void)now_ns;
    if (c->in_state[COORD_PREPARED] < present(c))
        return;
    uint64_t open = 0, asked = 0;
    for (size_t i = 0; i < c->n; i++) {
        open += c->agents[i].info.connections_open;
        asked += c->agents[i].info.part.connections;
    }
    bool none_asked = plan_per_connection(c->cfg.plan) == 1; /* each is opened for a request */
    if (open == 0 && !none_asked) {
        no_target(c);
        return;
    }
    if (open < asked && !none_asked)
        coord_note(c, "%" PRIu64 " of %" PRIu64 " connections are open", open, asked);
    c->phase = PHASE_PROBE;
}

uint64_t coord_planned_end(const struct coordinator *c)
{
    uint64_t planned = c->cfg.plan->duration_ns;
    if (c->cfg.plan->requests != UINT64_MAX && c->cfg.plan->rate.num != 0) {
        uint64_t counted = plan_due_of_index(c->cfg.plan, c->cfg.plan->requests);
        planned = counted < planned ? counted : planned;
    }
    /* What is late is still sent until T + timeout and then has its own timeout. */
    uint64_t end_ns = clock_add(clock_add(c->t0_ns, planned), COORD_STOP_NS);
    return clock_add(end_ns, clock_add(c->cfg.plan->timeout_ns, c->cfg.plan->timeout_ns));
}

static void arm_all(struct coordinator *c, uint64_t now_ns)
{
    c->t0_ns = now_ns + coord_lead(c);
    c->end_ns = coord_planned_end(c);
    c->phase = PHASE_ARM;
    for (size_t i = 0; i < c->n && c->phase == PHASE_ARM; i++)
        if (!coord_terminal(&c->agents[i]))
            coord_arm(c, i, now_ns);
}

static void after_probe(struct coordinator *c, uint64_t now_ns)
{
    for (size_t i = 0; i < c->n && c->in_state[COORD_PREPARED] > 0 &&
                       c->in_state[COORD_PROBING] < COORD_PROBES_AT_ONCE;
         i++)
        if (c->agents[i].info.state == COORD_PREPARED)
            coord_probe(c, i, now_ns);
    if (c->phase == PHASE_PROBE && c->in_state[COORD_PROBED] == present(c)) {
        coord_share_clocks(c);
        arm_all(c, now_ns);
    }
}

static void after_arm(struct coordinator *c, uint64_t now_ns)
{
    if (c->in_state[COORD_ARMING] == 0) {
        c->phase = PHASE_RUN;
        return;
    }
    if (now_ns < c->t0_ns - c->margin_ns)
        return;
    for (size_t i = 0; i < c->n && c->phase == PHASE_ARM; i++)
        if (c->agents[i].info.state == COORD_ARMING)
            coord_fail(c, i, COORD_LOST, now_ns,
                       "it did not confirm the start instant in time (should it begin all the "
                       "same, its lease ends it)");
    if (c->phase == PHASE_ARM)
        c->phase = PHASE_RUN; /* too late to withdraw: the others are being stopped */
}

/* Lost agents that may still give their results get a last moment for it. */
static bool salvaging(struct coordinator *c, uint64_t now_ns)
{
    uint64_t least_ns = clock_add(now_ns, COORD_SALVAGE_NS);
    if (c->over_ns == NS_NEVER)
        c->over_ns = least_ns > c->salvage_ns ? least_ns : c->salvage_ns;
    if (c->interrupted || now_ns >= c->over_ns)
        return false;
    for (size_t i = 0; i < c->n; i++)
        if (c->agents[i].salvage && /* and it will be or is being reached before that */
            (c->agents[i].redial_ns == NS_NEVER || c->agents[i].redial_ns < c->over_ns))
            return true;
    return false;
}

static void after_run(struct coordinator *c, uint64_t now_ns)
{
    size_t over = c->n - present(c) + c->in_state[COORD_DONE];
    if (c->n_started == c->n && !c->all_running) {
        c->all_running = true;
        emit(c, COORD_ALL_RUNNING, NULL);
    }
    if (over < c->n && c->reshare_wanted && !c->stopping)
        coord_reshare(c, now_ns);
    if (over < c->n || salvaging(c, now_ns))
        return;
    if (c->interrupted)
        finish(c, COORD_INTERRUPTED);
    else if (c->damaged)
        finish(c, COORD_PARTIAL);
    else
        finish(c, c->aborted ? COORD_ABORTED : COORD_COMPLETE);
}

static void advance(struct coordinator *c, uint64_t now_ns)
{
    static void (*const barrier[])(struct coordinator *, uint64_t) = {
        [PHASE_GATHER] = after_gather, [PHASE_PREPARE] = after_prepare, [PHASE_PROBE] = after_probe,
        [PHASE_ARM] = after_arm,       [PHASE_RUN] = after_run,
    };
    enum coord_phase before;
    do {
        before = c->phase;
        if (c->phase != PHASE_OVER)
            barrier[c->phase](c, now_ns);
    } while (c->phase != before);
}

/* --- events ----------------------------------------------------------------------------------- */

static void begin(struct coordinator *c, uint64_t now_ns)
{
    if (c->resumed)
        coord_resume_begin(c, now_ns);
    for (size_t i = 0; i < c->n; i++)
        if (!coord_terminal(&c->agents[i]))
            coord_dial(c, i, now_ns);
}

static void handle(struct coordinator *c, const struct coord_event *ev)
{
    bool known = ev->agent < c->n &&
                 (!coord_terminal(&c->agents[ev->agent]) || c->agents[ev->agent].salvage);
    if (known)
        coord_touch(&c->agents[ev->agent]);
    switch (ev->kind) {
    case COORD_EV_BEGIN:
        begin(c, ev->now_ns);
        break;
    case COORD_EV_UP:
        if (known)
            coord_up(c, ev->agent, ev->now_ns);
        break;
    case COORD_EV_DOWN:
        if (known)
            coord_down(c, ev->agent, ev->now_ns, ev->reason);
        break;
    case COORD_EV_MESSAGE:
        if (known)
            coord_message(c, ev->agent, ev);
        break;
    case COORD_EV_TICK:
        break;
    case COORD_EV_INTERRUPT:
        interrupt(c, ev->now_ns);
        break;
    case COORD_EV_CONDITION:
        abort_run(c, ev->now_ns, ev->reason);
        break;
    case COORD_EV_ABORT:
        coord_spoil(c, ev->now_ns, "%s", ev->reason != NULL ? ev->reason : "aborted");
        break;
    }
}

/* Did a timer come late, or a message wait for us? */
static bool overslept(const struct coordinator *c, const struct coord_event *ev)
{
    if (ev->kind == COORD_EV_MESSAGE && ev->now_ns > clock_add(ev->rx_ns, COORD_OVERSLEPT_NS))
        return true;
    return ev->now_ns > clock_add(coordinator_deadline(c), COORD_OVERSLEPT_NS);
}

void coordinator_step(struct coordinator *c, const struct coord_event *ev)
{
    if (c->phase == PHASE_OVER)
        return;
    if (overslept(c, ev))
        coord_overslept(c, ev->now_ns);
    handle(c, ev);
    advance(c, ev->now_ns);
    coord_tick(c, ev->now_ns);
    advance(c, ev->now_ns);
    if (c->unrecorded && c->phase == PHASE_RUN)
        coord_record(c);
    coord_dial_waiting(c, ev->now_ns);
    coord_settle(c);
}

uint64_t coordinator_deadline(const struct coordinator *c)
{
    if (c->phase == PHASE_OVER)
        return NS_NEVER;
    uint64_t next = c->phase == PHASE_ARM ? c->t0_ns - c->margin_ns : c->over_ns;
    next = c->place_ns < next ? c->place_ns : next;
    uint64_t agents = coord_next(c);
    return agents < next ? agents : next;
}

/* --- life ------------------------------------------------------------------------------------- */

enum err coordinator_new(const struct coord_config *cfg, struct coordinator **out,
                         struct errmsg *msg)
{
    if (cfg->inventory->n == 0 || cfg->inventory->n > INVENTORY_MAX)
        return errmsg_set(msg, ERR_INVALID, "%zu agents given, accepted are 1 to %d",
                          cfg->inventory->n, INVENTORY_MAX);
    uint8_t *bytes = NULL;
    size_t len = 0;
    enum err e = coord_encode_plan(cfg->plan, &bytes, &len, msg);
    if (e != ERR_OK)
        return e;
    struct coordinator *c = mem_calloc(1, sizeof *c);
    c->cfg = *cfg;
    c->plan = *cfg->plan;
    c->cfg.plan = &c->plan;
    c->n = cfg->inventory->n;
    c->agents = mem_calloc(c->n, sizeof *c->agents);
    coord_timers_new(c);
    c->in_state[COORD_DIALING] = (uint32_t)c->n;
    c->plan_bytes = bytes;
    c->plan_len = len;
    c->next_command = 1;
    if (c->cfg.patience.lease_ns == 0)
        c->cfg.patience.lease_ns = 10 * NS_PER_SEC;
    if (c->cfg.patience.wait_agents_ns == 0)
        c->cfg.patience.wait_agents_ns = COORD_DIAL_NS;
    c->over_ns = c->place_ns = NS_NEVER;
    host_hex(cfg->run, MSG_ID_LEN, c->run_hex);
    for (size_t i = 0; i < c->n; i++) {
        struct coord_agent *a = &c->agents[i];
        a->in_state = c->in_state;
        sm_init(&a->sm, states, COORD_STATES, COORD_DIALING, coord_address(c, i));
        a->deadline_ns = a->repeat_ns = a->ping_ns = a->silence_ns = a->redial_ns = NS_NEVER;
        a->give_up_ns = a->resend_ns = a->quiet_ns = a->attempt_ns = a->hello_ns = NS_NEVER;
        a->reshare_ns = a->reshare_by_ns = a->deaf_ns = NS_NEVER;
        a->info.taken_over_from = UINT64_MAX;
    }
    if (cfg->resume != NULL)
        coord_resume(c, cfg->resume);
    c->cfg.resume = NULL; /* the caller's again */
    *out = c;
    return ERR_OK;
}

void coordinator_free(struct coordinator *c)
{
    if (c == NULL)
        return;
    mem_free(c->plan_bytes);
    mem_free(c->agents);
    coord_timers_free(c);
    mem_free(c);
}

enum coord_outcome coordinator_outcome(const struct coordinator *c)
{
    return c->outcome;
}

const char *coordinator_reason(const struct coordinator *c)
{
    return c->reason;
}

size_t coordinator_agents(const struct coordinator *c)
{
    return c->n;
}

const struct coord_agent_info *coordinator_agent(const struct coordinator *c, size_t i)
{
    return &c->agents[i].info;
}

const struct plan *coordinator_plan(const struct coordinator *c)
{
    return &c->plan;
}

uint64_t coordinator_t0(const struct coordinator *c)
{
    return c->t0_ns;
}
