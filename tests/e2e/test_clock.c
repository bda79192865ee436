/* SPDX-License-Identifier: MIT */
/*
 * An agent whose CLOCK_MONOTONIC is an hour ahead (a time namespace) stands for another machine:
 * its offset is measured, the bound holds, and it starts and ends with an agent that shares the
 * controller's clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define AHEAD_S      3600
#define AHEAD_S_TEXT "3600"
#define UNSHARE      "/usr/bin/unshare" /* util-linux: on every Debian */

static bool can_enter_future(void)
{
    struct process p;
    const char *args[] = {"-T", "--monotonic", AHEAD_S_TEXT, "/bin/true", NULL};
    bool can = process_run(&p, UNSHARE, args, 5000) == 0;
    if (!can)
        printf("skipped: no time namespace here: %s", p.err);
    process_end(&p);
    return can;
}

/* unshare becomes the agent: the same process. */
static void start_ahead(struct agent_process *a)
{
    char port_file[96];
    *a = (struct agent_process){0};
    folder_make(a->dir);
    snprintf(port_file, sizeof port_file, "%s/port", a->dir);
    const char *args[] = {
        "-T",       "--monotonic",       AHEAD_S_TEXT,  TEST_BIN_DIR "/hammer-agent",
        "--listen", "tcp://127.0.0.1:0", "--port-file", port_file,
        NULL};
    process_start(&a->process, UNSHARE, args);
    char *line = file_wait_line(port_file, 10000);
    snprintf(a->address, sizeof a->address, "%s", line + strlen("tcp://"));
    mem_free(line);
}

static void check_agents(json_t *r)
{
    int64_t offset = report_int(r, "agents.0.clock.offset_ns");
    int64_t error = report_int(r, "agents.0.clock.error_ns");
    int64_t wrong = offset - AHEAD_S * (int64_t)NS_PER_SEC;
    ck_assert(json_is_false(report_at(r, "agents.0.clock.same_clock")));
    ck_assert_int_gt(error, 0);
    ck_assert_int_lt(error, 200 * (int64_t)NS_PER_MS);
    ck_assert_msg(llabs(wrong) <= error, "offset %ld ns wrong, bound %ld ns", (long)wrong,
                  (long)error);
    /* The namespace's clock runs as ours does. */
    int64_t change = report_int(r, "agents.0.clock.change_ns");
    int64_t bound = report_int(r, "agents.0.clock.change_error_ns");
    ck_assert_msg(bound > 0 && llabs(change) <= bound, "moved %ld ns, bound %ld ns", (long)change,
                  (long)bound);
    ck_assert(json_is_null(report_at(r, "agents.1.clock.change_ns")));
    ck_assert(json_is_true(report_at(r, "agents.1.clock.same_clock")));
    ck_assert_int_eq(report_int(r, "agents.1.clock.offset_ns"), 0);
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "agents.%d.start_error_ns", i);
        ck_assert_int_ge(report_int(r, path), 0);
        ck_assert_int_lt(report_int(r, path), (int64_t)NS_PER_SEC);
        snprintf(path, sizeof path, "agents.%d.totals.ok", i);
        ck_assert_int_eq(report_int(r, path), 200);
    }
}

START_TEST(test_agent_an_hour_ahead)
{
    struct target_process target;
    struct agent_process ahead, here;
    struct process p;
    char list[160];
    if (!can_enter_future())
        return;
    target_start(&target, NULL);
    start_ahead(&ahead);
    agent_start(&here, NULL);
    snprintf(list, sizeof list, "%s,%s", ahead.address, here.address);
    const char *args[] = {"run", "--agents", list, "-r",       "200",    "-d",
                          "2",   "-c",       "8",  target.url, "--json", NULL};
    int code = process_run(&p, "hammer-ctl", args, 30000);
    printf("%s", code == 0 || code == 4 ? "" : p.err);
    ck_assert_msg(code == 0 || code == 4, "exit code %d", code);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    check_agents(r);
    json_decref(r);
    process_end(&p);
    agent_stop(&ahead);
    agent_stop(&here);
    target_stop(&target);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("clock");
    TCase *t = tcase_create("clock");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_agent_an_hour_ahead);
    suite_add_tcase(s, t);
    return check_main(s);
}
