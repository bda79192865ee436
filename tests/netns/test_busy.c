/* SPDX-License-Identifier: MIT */
/* All cores taken by busy loops: whatever that does to the load, the control channel lives. Runs
 * alone: it would spoil what others measure. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/check_main.h"
#include "tests/lib/report.h"
#include "tests/netns/rig.h"
#include "tests/netns/spread.h"

#define LOOPS_MAX 64
#define PER_CORE  3
#define BUSY      "5" /* seconds */

START_TEST(test_all_cores_busy)
{
    struct rig r;
    struct rig_seen s;
    struct process loops[LOOPS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cores * PER_CORE < LOOPS_MAX ? (size_t)(cores * PER_CORE) : LOOPS_MAX;
    const char *args[] = {BUSY, "/bin/sh", "-c", "while :; do :; done", NULL};
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = spread_repetition() % 2 == 0});
    rig_run(&r, &(struct rig_load){"400", "7", "3s", {"--interval", "200ms"}});
    rig_wait_requests(&r, 100);
    for (size_t i = 0; i < n; i++)
        process_start(&loops[i], "/usr/bin/timeout", args);
    int code = rig_wait(&r, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.2000s%.2000s", code, r.ctl.out,
                  r.ctl.err);
    ck_assert_msg(strstr(r.ctl.err, " is late") == NULL, "%s", r.ctl.err);
    for (size_t i = 0; i < n; i++)
        process_end(&loops[i]);
    json_t *report = rig_report(&r);
    ck_assert_int_eq(report_int(report, "totals.scheduled"), 2800);
    rig_check_next(&r, 0);
    rig_seen_load(&r, &s, 2800);
    ck_assert_int_eq(report_int(report, "totals.sent"), (int64_t)s.total);
    rig_seen_free(&s);
    json_decref(report);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    const struct spread_case cases[] = {{"busy", test_all_cores_busy, 1}};
    return spread_main(cases, 1, argc, argv);
}
