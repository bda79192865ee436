/* SPDX-License-Identifier: MIT */
/* Agent and controller killed, and frozen for shorter and longer than the lease, in each state of
 * the protocol. The cable takes 40 ms each way and the clocks differ, as between machines: no
 * state is over before the fault. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report.h"
#include "tests/netns/rig.h"
#include "tests/netns/spread.h"

#define WAY_NS   (40 * NS_PER_MS)
#define LEASE    "3s"
#define LEASE_MS 3000
#define BRIEF_MS 1500
#define LONG_MS  6000
#define PLANNED  300 /* 100 a second for 3 s */
#define SLACK_NS (1500 * NS_PER_MS)

enum victim {
    AGENT,
    CONTROLLER
};

enum fault {
    KILL,
    BRIEF, /* frozen for less than the lease and the silence that closes a connection */
    LONG   /* for more than the lease and what is added to it */
};

static const struct state {
    const char *log;
    bool started;   /* the load may have begun */
    bool interrupt; /* Ctrl-C brings it about */
} states[] = {
    {"control: idle -> held", false, false},          {"control: held -> preparing", false, false},
    {"control: preparing -> prepared", false, false}, {"control: prepared -> armed", false, false},
    {"control: armed -> running", true, false},       {"control: running -> draining", true, true},
    {"control: running -> ended", true, false},
};

enum {
    STATES = sizeof states / sizeof states[0],
    FAULTS = 3
};

struct scene {
    struct rig r;
    enum victim victim;
    enum fault fault;
    const struct state *state;
    uint64_t fault_ns;
};

static struct process *victim(struct scene *s)
{
    return s->victim == AGENT ? &s->r.agents[0].process : &s->r.ctl;
}

/* Brings it to the state and does it. */
static void play(struct scene *s)
{
    struct rig *r = &s->r;
    cable_delay(r->cables[0], CABLE_THERE, WAY_NS);
    cable_delay(r->cables[0], CABLE_BACK, WAY_NS);
    rig_run(r, &(struct rig_load){"100", "3", LEASE, {"--interval", "200ms"}});
    if (s->state->interrupt) {
        rig_wait_requests(r, 20);
        process_signal(&r->ctl, SIGINT);
    }
    rig_wait_log(r, 0, s->state->log);
    process_signal(victim(s), s->fault == KILL ? SIGKILL : SIGSTOP);
    s->fault_ns = clock_mono_ns();
    if (s->fault == KILL)
        return;
    rig_sleep(s->fault == BRIEF ? BRIEF_MS : LONG_MS);
    process_signal(victim(s), SIGCONT);
}

/* --- what may come of it -------------------------------------------------------------------- */

static bool code_allowed(const struct scene *s, int code)
{
    if (s->fault == KILL && s->victim == CONTROLLER)
        return code == 128 + SIGKILL;
    if (s->state->interrupt) /* it was to end anyway */
        return code == 130 || code == 3;
    if (s->fault == BRIEF && s->state->started)
        return code == 0 || code == 4;
    if (s->fault == KILL && s->state != &states[STATES - 1])
        return code == 2 || code == 3;
    /* It goes on where nothing was given up; but the instant to start may have passed. */
    return code == 0 || code == 4 || code == 2 || code == 3;
}

static void check_report(struct scene *s, int code)
{
    json_t *report = rig_report(&s->r);
    if (code == 0 || code == 4) {
        ck_assert_ptr_nonnull(report);
        ck_assert_int_eq(report_int(report, "totals.scheduled"), PLANNED);
        ck_assert_int_eq(report_int(report, "totals.ok"), PLANNED);
    } else if (code == 3) {
        ck_assert_ptr_nonnull(report);
        ck_assert_str_eq(report_text_at(report, "verdict.status"), "incomplete");
    }
    json_decref(report);
}

/* Every request at most once; all of them when the run was whole; none after the lease. */
static void check_target(struct scene *s, int code)
{
    struct rig_seen seen;
    rig_seen_load(&s->r, &seen, PLANNED);
    for (size_t i = 0; i < PLANNED; i++)
        ck_assert_uint_le(seen.times[i], 1);
    if (code == 0 || code == 4)
        ck_assert_uint_eq(seen.total, PLANNED);
    uint64_t last_ns = seen.last_ns[0] > seen.last_ns[1] ? seen.last_ns[0] : seen.last_ns[1];
    if (s->fault == KILL && last_ns != 0) {
        uint64_t lease_ns = s->victim == CONTROLLER ? LEASE_MS * NS_PER_MS : 0;
        ck_assert_uint_lt(last_ns, s->fault_ns + lease_ns + SLACK_NS);
    }
    rig_seen_free(&seen);
}

static void run_scene(enum victim victim_is, int i)
{
    struct scene s = {.victim = victim_is, .fault = (enum fault)(i % FAULTS)};
    s.state = &states[i / FAULTS];
    bool tls = (i + spread_repetition()) % 2 == 0; /* each in turn */
    const struct rig_config cfg = {.tls = tls, .target_args = {"--delay", "300ms"}};
    const struct rig_config quick = {.tls = tls};
    rig_open(&s.r, s.state->interrupt ? &cfg : &quick);
    play(&s);
    int code = rig_wait(&s.r, 40000);
    ck_assert_msg(code_allowed(&s, code), "exit code %d: %.2000s%.2000s", code, s.r.ctl.out,
                  s.r.ctl.err);
    check_report(&s, code);
    if (s.victim == CONTROLLER || s.fault != KILL)
        rig_check_next(&s.r, LEASE_MS + 4000);
    check_target(&s, code);
    rig_close(&s.r);
}

START_TEST(test_agent)
{
    run_scene(AGENT, _i);
}
END_TEST

START_TEST(test_controller)
{
    run_scene(CONTROLLER, _i);
}
END_TEST

int main(int argc, char **argv)
{
    const struct spread_case cases[] = {
        {"agent", test_agent, STATES * FAULTS},
        {"controller", test_controller, STATES * FAULTS},
    };
    return spread_main(cases, sizeof cases / sizeof cases[0], argc, argv);
}
