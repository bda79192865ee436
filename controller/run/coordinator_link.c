/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"
#include "controller/run/coordinator_impl.h"

/*
 * One agent's connection: how it comes up, and what it means when it breaks. While the agent's
 * lease lasts its load goes on and it is merely late; after that the load has ended by itself and
 * the agent is lost. Its results may still be had.
 */

void coord_release(struct coordinator *c, size_t i)
{
    struct coord_agent *a = &c->agents[i];
    struct msg bye = {.type = MSG_BYE};
    a->salvage = false;
    if (a->closed)
        return;
    if (a->up)
        coord_send(c, i, &bye);
    a->closed = true;
    coord_emit_agent(c, COORD_CLOSE, i, NULL);
}

/* A HELLO that arrives renews the lease, whether we hear of it or not: from then on it keeps its
 * results for so long. */
static void keeps_results(const struct coordinator *c, struct coord_agent *a, uint64_t now_ns)
{
    a->give_up_ns = clock_add(now_ns, clock_add(c->cfg.patience.lease_ns, COORD_KEPT_NS));
}

void coord_hello(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    struct msg m = {.type = MSG_HELLO};
    if (a->salvage)
        keeps_results(c, a, now_ns);
    a->hello_ns = clock_add(now_ns, COORD_REPEAT_NS);
    m.hello.version_min = MSG_VERSION_MIN;
    m.hello.version_max = MSG_VERSION_MAX;
    snprintf(m.hello.build, sizeof m.hello.build, "%s", HAMMER_VERSION);
    memcpy(m.hello.controller, c->cfg.controller, sizeof m.hello.controller);
    memcpy(m.hello.owner, c->cfg.owner, MSG_ID_LEN);
    m.hello.ack_seq = a->info.last_seq;
    m.hello.lease_ms = c->cfg.patience.lease_ns / NS_PER_MS;
    m.hello.force = c->cfg.patience.force && a->info.state < COORD_HELD;
    coord_send(c, i, &m);
}

void coord_up(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    if (a->up || a->attempt_ns == NS_NEVER)
        return; /* an old attempt's */
    if (a->info.state == COORD_DIALING)
        coord_move(a, COORD_GREETING);
    a->up = true;
    a->greeted = false;
    coord_hello(c, i, now_ns);
}

/* Not before its load has ended: a HELLO that arrives renews the lease. */
static void later_to_salvage(struct coord_agent *a, uint64_t now_ns)
{
    a->redial_ns = clock_add(now_ns, COORD_SALVAGE_NS);
    if (a->redial_ns < a->load_ns)
        a->redial_ns = a->load_ns;
}

static void back_off(struct coord_agent *a, uint64_t now_ns)
{
    a->backoff_ns = 2 * a->backoff_ns;
    if (a->backoff_ns < COORD_BACKOFF_MIN_NS)
        a->backoff_ns = COORD_BACKOFF_MIN_NS;
    if (a->backoff_ns > COORD_BACKOFF_MAX_NS)
        a->backoff_ns = COORD_BACKOFF_MAX_NS;
    a->redial_ns = clock_add(now_ns, a->backoff_ns);
    if (a->salvage)
        later_to_salvage(a, now_ns);
}

/* What was sent until now may have arrived: the lease counts from here. */
static void late(struct coordinator *c, size_t i, uint64_t now_ns, const char *why)
{
    struct coord_agent_info *info = &c->agents[i].info;
    if (info->late_since_ns != 0 || info->state == COORD_LOST)
        return;
    info->late_since_ns = now_ns;
    info->times_late++;
    c->agents[i].silence_ns = clock_add(now_ns, clock_add(c->cfg.patience.lease_ns, COORD_LOST_NS));
    coord_note(c, "agent %s is late: %s; trying to reach it again", coord_address(c, i), why);
}

void coord_down(struct coordinator *c, size_t i, uint64_t now_ns, const char *reason)
{
    struct coord_agent *a = &c->agents[i];
    char text[200];
    const char *why = reason != NULL ? reason : "the connection closed";
    a->up = false;
    a->attempt_ns = a->hello_ns = a->quiet_ns = a->deaf_ns = NS_NEVER;
    if (a->info.state > COORD_GREETING) {
        snprintf(text, sizeof text, "its connection broke: %.150s", why);
        late(c, i, now_ns, text);
    } else {
        if (a->info.problem[0] == '\0')
            coord_note(c, "agent %s: %s; trying again", coord_address(c, i), why);
        snprintf(a->info.problem, sizeof a->info.problem, "%s", why);
        if (a->info.state == COORD_GREETING)
            coord_move(a, COORD_DIALING);
    }
    back_off(a, now_ns);
}

/* Before half of the lease is over another connection has to be tried. */
uint64_t coord_quiet_ns(const struct coordinator *c)
{
    uint64_t half = c->cfg.patience.lease_ns / 2;
    return half < COORD_QUIET_NS ? half : COORD_QUIET_NS;
}

void coord_heard(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    a->quiet_ns = clock_add(now_ns, coord_quiet_ns(c));
    if (a->info.late_since_ns == 0)
        a->silence_ns = clock_add(now_ns, clock_add(c->cfg.patience.lease_ns, COORD_LOST_NS));
}

/* A peer that is gone never says so; a new connection may reach it all the same. */
void coord_quiet(struct coordinator *c, size_t i, uint64_t now_ns)
{
    char text[UNITS_TEXT], why[64];
    snprintf(why, sizeof why, "nothing was heard of it for %s",
             units_format_duration(coord_quiet_ns(c), text));
    late(c, i, now_ns, why);
    coord_dial(c, i, now_ns);
}

/* As long as it was quiet would be too hasty: on a slow link a PONG waits behind snapshots. */
void coord_ponged(struct coordinator *c, size_t i, uint64_t now_ns)
{
    c->agents[i].deaf_ns = clock_add(now_ns, c->cfg.patience.lease_ns / 2);
}

/* Its lease counts from the last word that it did hear. */
void coord_deaf(struct coordinator *c, size_t i, uint64_t now_ns)
{
    late(c, i, now_ns, "it does not answer");
    c->agents[i].silence_ns =
        clock_add(now_ns, c->cfg.patience.lease_ns / 2 + COORD_PING_NS + COORD_LOST_NS);
    coord_dial(c, i, now_ns);
}

void coord_salvage(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    a->salvage = a->info.uncollected = true;
    a->deadline_ns = a->repeat_ns = a->ping_ns = a->quiet_ns = NS_NEVER;
    a->silence_ns = a->deaf_ns = NS_NEVER;
    a->reshare_ns = a->reshare_by_ns = NS_NEVER;
    keeps_results(c, a, now_ns);
    later_to_salvage(a, now_ns);
    coord_stop_now(c, i);
}

/* Lost with all it had: there is nothing to ask for. */
static void forgot(struct coordinator *c, size_t i, uint64_t now_ns, const char *why)
{
    coord_release(c, i);
    coord_fail(c, i, COORD_LOST, now_ns, "%s", why);
}

/* --- WELCOME and REFUSE ----------------------------------------------------------------------- */

void coord_describe(struct coordinator *c, size_t i, const struct msg_welcome *w)
{
    struct coord_agent *a = &c->agents[i];
    memcpy(a->epoch, w->epoch, MSG_ID_LEN);
    snprintf(a->info.name, sizeof a->info.name, "%s", w->agent);
    snprintf(a->info.build, sizeof a->info.build, "%s", w->build);
    msg_sanitise(a->info.name);
    msg_sanitise(a->info.build);
    a->info.problem[0] = '\0';
    a->info.cores = w->cores;
    a->info.tested_rate = w->tested_rate;
    a->info.insecure = w->insecure != 0;
    a->info.fd_limit = w->fd_limit;
    a->info.ports = w->ports;
}

static void greeted(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_welcome *w = &ev->msg->welcome;
    coord_describe(c, i, w);
    snprintf(a->boot_id, sizeof a->boot_id, "%s", w->boot_id);
    a->info.same_clock = w->boot_id[0] != '\0' && strcmp(w->boot_id, c->cfg.boot_id) == 0;
    coord_move(a, COORD_HELD);
    a->give_up_ns = NS_NEVER;
    a->ping_ns = clock_add(ev->now_ns, COORD_PING_NS);
}

/* Until then its own word counts: what was sent twice is known by its number. */
static void resumed(struct coordinator *c, size_t i, uint64_t now_ns)
{
    struct coord_agent *a = &c->agents[i];
    char text[UNITS_TEXT];
    if (a->info.late_since_ns == 0)
        return;
    uint64_t away_ns = clock_elapsed(a->info.late_since_ns, now_ns);
    if (away_ns > a->info.longest_late_ns)
        a->info.longest_late_ns = away_ns;
    a->info.late_since_ns = 0;
    if (a->info.state >= COORD_ARMED && !c->interrupted &&
        a->deadline_ns < clock_add(now_ns, COORD_STOP_NS))
        a->deadline_ns = clock_add(now_ns, COORD_STOP_NS); /* time to say what it has to */
    coord_note(c, "agent %s is back after %s", coord_address(c, i),
               units_format_duration(away_ns, text));
    a->ping_ns = now_ns;
    if (a->repeat_ns != NS_NEVER)
        a->repeat_ns = now_ns;
}

/* What it kept is gone. */
static void give_up(struct coordinator *c, size_t i)
{
    c->agents[i].info.uncollected = false;
    coord_release(c, i);
}

void coord_forget(struct coordinator *c, size_t i)
{
    coord_note(c, "agent %s was not reached for so long that it has let go of its results",
               coord_address(c, i));
    give_up(c, i);
}

/* Does the agent that answers still have what we left there? */
static const char *lost_memory(const struct coordinator *c, const struct coord_agent *a,
                               const struct msg_welcome *w)
{
    if (memcmp(a->epoch, w->epoch, MSG_ID_LEN) != 0)
        return "it was restarted";
    if (a->info.state > COORD_PREPARING && strcmp(w->run, c->run_hex) != 0)
        return "it has given up the run";
    return NULL;
}

void coord_welcome(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_welcome *w = &ev->msg->welcome;
    a->attempt_ns = a->hello_ns = NS_NEVER;
    a->greeted = true;
    a->backoff_ns = 0;
    if (a->info.state != COORD_GREETING) {
        const char *problem = lost_memory(c, a, w);
        if (problem == NULL && a->salvage)
            coord_stop_now(c, i);
        else if (problem == NULL)
            resumed(c, i, ev->now_ns);
        else if (a->salvage)
            give_up(c, i);
        else
            forgot(c, i, ev->now_ns, problem);
    } else if (w->version < MSG_VERSION_MIN || w->version > MSG_VERSION_MAX) {
        coord_fail(c, i, COORD_REFUSED, ev->now_ns,
                   "it speaks protocol %" PRIu32 " (build %s), this hammer-ctl %d to %d",
                   w->version, w->build, MSG_VERSION_MIN, MSG_VERSION_MAX);
    } else if (c->resumed) {
        coord_welcome_back(c, i, ev);
    } else if (c->cfg.plan->dump && (w->abilities & ABILITY_REQUESTS) == 0) {
        coord_fail(c, i, COORD_REFUSED, ev->now_ns,
                   "it is too old (build %s) to tell of single requests: --dump-requests needs a "
                   "later hammer-agent there",
                   w->build);
    } else {
        greeted(c, i, ev);
    }
}

static void describe_busy(const struct msg_refuse *r, char *buf, size_t cap)
{
    if (r->orphan)
        snprintf(buf, cap,
                 "it keeps the results of run %.8s for %.95s, who has been gone too long: "
                 "hammer-ctl attach %.8s there finishes its report, --force drops them",
                 r->run, r->holder, r->run);
    else
        snprintf(buf, cap,
                 "it is busy: held by %.95s for %" PRIu64 " s (free in at most %" PRIu64
                 " s when that one is gone)",
                 r->holder, r->held_ms / 1000, (r->lease_left_ms + 999) / 1000);
}

void coord_refuse(struct coordinator *c, size_t i, const struct coord_event *ev)
{
    struct coord_agent *a = &c->agents[i];
    const struct msg_refuse *r = &ev->msg->refuse;
    char why[400];
    if (r->code == REFUSE_BUSY) {
        a->info.uncollected = false; /* somebody else's by now */
        describe_busy(r, why, sizeof why);
    } else {
        snprintf(why, sizeof why, "it refuses: %s", r->text);
    }
    if (a->salvage)
        give_up(c, i);
    else if (a->info.state < COORD_HELD)
        coord_not_there(c, i, c->resumed ? COORD_LOST : COORD_REFUSED, ev->now_ns, why);
    else
        coord_fail(c, i, a->info.state < COORD_ARMING ? COORD_REFUSED : COORD_LOST, ev->now_ns,
                   "%s", why);
}
