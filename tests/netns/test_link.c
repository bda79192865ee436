/* SPDX-License-Identifier: MIT */
/* Runs over a cable that is pulled, loses packets or takes its time. Each over TLS and plain. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report.h"
#include "tests/netns/rig.h"
#include "tests/netns/spread.h"

/* What a machine that does other things too may be late by. */
#define SLACK_NS (1500 * NS_PER_MS)

static void done(struct rig *r, json_t *report)
{
    json_decref(report);
    rig_close(r);
}

/* The report after exit code 0 (or 4: this machine was too slow to be exact). */
static json_t *good_report(struct rig *r)
{
    int code = rig_wait(r, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.2000s%.2000s", code, r->ctl.out,
                  r->ctl.err);
    return rig_report(r);
}

/* All of the plan's requests were answered, and the target has seen each of them once. */
static void check_whole(struct rig *r, json_t *report, size_t planned)
{
    struct rig_seen s;
    ck_assert_int_eq(report_int(report, "totals.scheduled"), (int64_t)planned);
    ck_assert_int_eq(report_int(report, "totals.ok"), (int64_t)planned);
    rig_seen_load(r, &s, planned);
    ck_assert_uint_eq(s.total, planned);
    for (size_t i = 0; i < planned; i++)
        ck_assert_uint_eq(s.times[i], 1);
    rig_seen_free(&s);
}

static void finish_whole(struct rig *r, size_t planned)
{
    json_t *report = good_report(r);
    rig_check_next(r, 0);
    check_whole(r, report, planned);
    done(r, report);
}

/* --- the cable itself ----------------------------------------------------------------------- */

struct echo {
    struct rig r; /* of it only the namespaces and one cable */
    int near, far;
    struct sockaddr_in at;
};

static void echo_open(struct echo *e)
{
    *e = (struct echo){.at = {.sin_family = AF_INET, .sin_port = htons(7)}};
    netns_open(&e->r.ns);
    e->r.cables[0] = cable_new(&e->r.ns, 0, check_seed());
    ck_assert_int_eq(inet_pton(AF_INET, cable_far_address(e->r.cables[0]), &e->at.sin_addr), 1);
    netns_enter(&e->r.ns, NETNS_FAR);
    e->far = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(e->far, (struct sockaddr *)&e->at, sizeof e->at), 0);
    netns_enter(&e->r.ns, NETNS_NEAR);
    e->near = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(connect(e->near, (struct sockaddr *)&e->at, sizeof e->at), 0);
}

/* How long a datagram takes there; UINT64_MAX = it does not come within half a second. */
static uint64_t echo_once(const struct echo *e)
{
    uint64_t begin_ns = clock_mono_ns();
    char byte = 'x';
    (void)!send(e->near, &byte, 1, 0);
    while (recv(e->far, &byte, 1, 0) < 0)
        if (clock_mono_ns() - begin_ns > NS_PER_SEC / 2)
            return UINT64_MAX;
        else
            clock_sleep_until(clock_mono_ns() + 50 * NS_PER_US);
    return clock_mono_ns() - begin_ns;
}

/* The others believe what it says of itself. */
START_TEST(test_cable)
{
    struct echo e;
    size_t lost = 0;
    echo_open(&e);
    ck_assert_uint_lt(echo_once(&e), 200 * NS_PER_MS);
    cable_delay(e.r.cables[0], CABLE_THERE, 120 * NS_PER_MS);
    uint64_t took_ns = echo_once(&e);
    ck_assert(took_ns >= 120 * NS_PER_MS && took_ns < 400 * NS_PER_MS);
    cable_delay(e.r.cables[0], CABLE_THERE, 0);
    cable_pull(e.r.cables[0]);
    ck_assert_uint_eq(echo_once(&e), UINT64_MAX);
    cable_plug(e.r.cables[0]);
    ck_assert_uint_ne(echo_once(&e), UINT64_MAX);
    cable_loss(e.r.cables[0], 20);
    uint64_t before = cable_lost(e.r.cables[0]);
    for (int i = 0; i < 500; i++)
        (void)!send(e.near, "x", 1, 0);
    rig_sleep(200);
    lost = cable_lost(e.r.cables[0]) - before;
    ck_assert_msg(lost > 60 && lost < 140, "%zu of 500 packets lost, wanted about 100", lost);
    close(e.near);
    close(e.far);
    cable_free(e.r.cables[0]);
    netns_close(&e.r.ns);
}
END_TEST

/* --- pulled --------------------------------------------------------------------------------- */

/* No FIN, no RST, for less than the lease: resumed, nothing lost. Two seconds TCP may get over by
 * itself; after four both ends have given the connection up. */
START_TEST(test_pulled_shorter_than_the_lease)
{
    static const struct {
        uint64_t ms;
        const char *lease, *duration;
        size_t requests;
    } rows[] = {{2000, "5s", "5", 1000}, {4000, "8s", "8", 1600}};
    const size_t k = (size_t)_i / 2;
    struct rig r;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    rig_run(&r,
            &(struct rig_load){"200", rows[k].duration, rows[k].lease, {"--interval", "200ms"}});
    rig_wait_requests(&r, 100);
    cable_pull(r.cables[1]);
    rig_sleep(rows[k].ms);
    cable_plug(r.cables[1]);
    ck_assert_uint_gt(cable_lost(r.cables[1]), 0);
    json_t *report = good_report(&r);
    if (k == 1)
        ck_assert_msg(strstr(r.ctl.err, "is back after") != NULL, "%s", r.ctl.err);
    rig_check_next(&r, 0);
    check_whole(&r, report, rows[k].requests);
    done(&r, report);
}
END_TEST

/* Agent 1 is out of reach from now on until the run is over. Returns when the cable was pulled. */
static uint64_t lose_agent(struct rig *r, const char *duration, const char *on_loss)
{
    rig_run(r, &(struct rig_load){
                   "200", duration, "3s", {"--interval", "200ms", "--on-agent-loss", on_loss}});
    rig_wait_requests(r, 100);
    cable_pull(r->cables[1]);
    uint64_t at = clock_mono_ns();
    int code = rig_wait(r, 60000);
    ck_assert_msg(code == 3, "exit code %d: %.2000s%.2000s", code, r->ctl.out, r->ctl.err);
    return at;
}

static void check_lost(json_t *report)
{
    ck_assert_str_eq(report_text_at(report, "verdict.status"), "incomplete");
    ck_assert_str_eq(report_text_at(report, "agents.1.state"), "lost");
}

/* The load of agent 1 ended within the lease, not at once and not when the cable came back. */
static void check_lease(const struct rig_seen *s, uint64_t pulled_ns)
{
    ck_assert_uint_gt(s->last_ns[1], pulled_ns + NS_PER_SEC);
    ck_assert_uint_lt(s->last_ns[1], pulled_ns + 3 * NS_PER_SEC + SLACK_NS);
}

START_TEST(test_pulled_and_abort)
{
    struct rig r;
    struct rig_seen s;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    uint64_t pulled_ns = lose_agent(&r, "60", "abort");
    ck_assert_uint_lt(clock_mono_ns() - pulled_ns, 15 * NS_PER_SEC);
    json_t *report = rig_report(&r);
    check_lost(report);
    ck_assert_str_eq(report_text_at(report, "agents.0.state"), "stopped");
    rig_check_next(&r, 5000);
    rig_seen_load(&r, &s, 12000);
    check_lease(&s, pulled_ns);
    rig_seen_free(&s);
    done(&r, report);
}
END_TEST

START_TEST(test_pulled_and_continue)
{
    struct rig r;
    struct rig_seen s;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    uint64_t pulled_ns = lose_agent(&r, "9", "continue");
    json_t *report = rig_report(&r);
    check_lost(report);
    ck_assert_int_eq(report_int(report, "agents.0.totals.ok"), 900);
    rig_check_next(&r, 5000);
    rig_seen_load(&r, &s, 1800);
    check_lease(&s, pulled_ns);
    for (size_t i = 0; i < 1800; i += 2)
        ck_assert_uint_eq(s.times[i], 1);
    rig_seen_free(&s);
    done(&r, report);
}
END_TEST

/* From some index on, soon after the loss, every one is sent, on time, exactly once. */
START_TEST(test_pulled_and_redistribute)
{
    struct rig r;
    struct rig_seen s;
    size_t from = 2000;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    uint64_t pulled_ns = lose_agent(&r, "10", "redistribute");
    json_t *report = rig_report(&r);
    check_lost(report);
    rig_check_next(&r, 5000);
    rig_seen_load(&r, &s, 2000);
    for (size_t i = 0; i < 2000; i++)
        ck_assert_uint_le(s.times[i], 1);
    while (from > 0 && s.times[from - 1] == 1)
        from--;
    ck_assert_uint_gt(from, 300); /* there is a gap */
    uint64_t begin_ns = s.arrived_ns[0];
    ck_assert_msg(begin_ns + from * 5 * NS_PER_MS < pulled_ns + 7 * NS_PER_SEC + SLACK_NS,
                  "whole only from index %zu on: %s", from, r.ctl.err);
    for (size_t i = from; i < 2000; i++)
        ck_assert_uint_lt(s.arrived_ns[i], begin_ns + i * 5 * NS_PER_MS + SLACK_NS);
    rig_seen_free(&s);
    done(&r, report);
}
END_TEST

/* --- bad all the time ----------------------------------------------------------------------- */

/* Where the word that all start cannot be exchanged in time, nothing starts (exit 2): again, and by
 * force, for an agent may have got the order and not the word that it is withdrawn. */
START_TEST(test_loss)
{
    struct rig r;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    cable_loss(r.cables[0], 20);
    cable_loss(r.cables[1], 20);
    for (int tries = 1;; tries++) {
        rig_run(&r,
                &(struct rig_load){
                    "200", "5", "10s", {"--interval", "200ms", "--wait-agents", "30s", "--force"}});
        if (rig_wait(&r, 90000) != 2 || tries == 8)
            break;
        ck_assert_msg(strstr(r.ctl.err, "start instant in time") != NULL ||
                          strstr(r.ctl.err, "it is busy") != NULL,
                      "%s", r.ctl.err);
        rig_drop(&r);
        rig_sleep(2000); /* BYE is on its way too */
    }
    json_t *report = good_report(&r);
    ck_assert_uint_gt(cable_lost(r.cables[0]) + cable_lost(r.cables[1]), 5);
    rig_check_next(&r, 12000);
    check_whole(&r, report, 1000);
    done(&r, report);
}
END_TEST

/* A round trip of 200 ms, and one whose ways differ by 100 ms: no probe sees that, so the bound
 * must hold it. The agents' clock is an hour ahead of ours. */
START_TEST(test_delay)
{
    static const uint64_t ways_ms[][2] = {{100, 100}, {150, 50}};
    const uint64_t *way_ms = ways_ms[_i / 2];
    struct rig r;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    for (size_t i = 0; i < 2; i++) {
        cable_delay(r.cables[i], CABLE_THERE, way_ms[0] * NS_PER_MS);
        cable_delay(r.cables[i], CABLE_BACK, way_ms[1] * NS_PER_MS);
    }
    rig_run(&r, &(struct rig_load){"200", "3", "5s", {"--interval", "200ms"}});
    json_t *report = good_report(&r);
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "agents.%d.clock.offset_ns", i);
        int64_t wrong = report_int(report, path) - RIG_AHEAD_S * (int64_t)NS_PER_SEC;
        snprintf(path, sizeof path, "agents.%d.clock.error_ns", i);
        int64_t bound = report_int(report, path);
        int64_t skew = (int64_t)(way_ms[0] - way_ms[1]) / 2 * (int64_t)NS_PER_MS;
        ck_assert_msg(llabs(wrong) <= bound, "offset %ld ns wrong, bound %ld ns", (long)wrong,
                      (long)bound);
        ck_assert_int_ge(bound, 100 * (int64_t)NS_PER_MS);
        ck_assert_int_lt(bound, 250 * (int64_t)NS_PER_MS);
        ck_assert_int_lt(llabs(wrong - skew), 50 * (int64_t)NS_PER_MS);
    }
    rig_check_next(&r, 0);
    check_whole(&r, report, 600);
    done(&r, report);
}
END_TEST

/* A reset on every packet with data for two seconds: each new connection dies at its first word. */
START_TEST(test_resets)
{
    struct rig r;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    rig_run(&r, &(struct rig_load){"200", "5", "5s", {"--interval", "200ms"}});
    rig_wait_requests(&r, 100);
    cable_reset(r.cables[0], true);
    rig_sleep(2000);
    cable_reset(r.cables[0], false);
    ck_assert_uint_gt(cable_resets(r.cables[0]), 2);
    finish_whole(&r, 1000);
}
END_TEST

int main(int argc, char **argv)
{
    const struct spread_case cases[] = {
        {"redistribute", test_pulled_and_redistribute, 2},
        {"abort", test_pulled_and_abort, 2},
        {"continue", test_pulled_and_continue, 2},
        {"pulled", test_pulled_shorter_than_the_lease, 4},
        {"loss", test_loss, 2},
        {"delay", test_delay, 4},
        {"resets", test_resets, 2},
        {"cable", test_cable, 1},
    };
    return spread_main(cases, sizeof cases / sizeof cases[0], argc, argv);
}
