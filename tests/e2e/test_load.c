/* SPDX-License-Identifier: MIT */
/* --warmup, --on-full, --closed-loop with a rate, --think and rows of stages, as the server sees
 * it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

static struct target_process target;

/* What the server saw: requests in its log, and connections. */
struct seen {
    int64_t requests, connections;
};

static struct seen stop_target(void)
{
    struct seen s = {0};
    process_signal(&target.process, SIGTERM); /* writes its log */
    process_wait(&target.process, 10000);
    const char *on = strstr(target.process.err, "requests on ");
    ck_assert_msg(on != NULL, "%s", target.process.err);
    s.connections = strtoll(on + strlen("requests on "), NULL, 10);
    char *text = file_read(target.log);
    for (const char *l = text; l != NULL && *l != '\0'; l++)
        s.requests += *l == '\n';
    mem_free(text);
    target_stop(&target);
    return s;
}

static json_t *run(const char *const *flags)
{
    const char *args[PROCESS_ARGS_MAX] = {"run", "--json"};
    struct process p;
    size_t n = 2;
    for (; *flags != NULL; flags++)
        args[n++] = *flags;
    args[n] = target.url;
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    json_t *r = report_parse(p.out);
    process_end(&p);
    return r;
}

/* Sent and answered as all others, and in no figure but their own: over two agents. */
START_TEST(test_warmup)
{
    target_start(&target, NULL);
    json_t *r = run((const char *[]){"-r200", "-d2", "-c20", "--warmup=500ms", "--local=2", NULL});
    struct seen seen = stop_target();
    ck_assert_int_eq(seen.requests, 400);
    ck_assert_int_eq(report_int(r, "warmup.totals.scheduled"), 100);
    ck_assert_int_eq(report_int(r, "warmup.totals.ok"), 100);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 300);
    ck_assert_int_eq(report_int(r, "totals.ok"), 300);
    ck_assert_int_eq(report_int(r, "status_codes.200"), 300);
    ck_assert_int_eq(report_int(r, "latency.corrected.count"), 300);
    ck_assert_int_eq(report_int(r, "lag.send.count") + report_int(r, "lag.wait.count"), 300);
    json_decref(r);
}
END_TEST

/* A server that does nothing for a second: what is due then is never sent, and nothing is late. */
START_TEST(test_drop)
{
    target_start(&target, (const char *[]){"--freeze-at=500ms", "--freeze-for=1s", NULL});
    json_t *r = run((const char *[]){"-r200", "-d2", "-c4", "--on-full=drop", NULL});
    int64_t dropped = report_int(r, "totals.unsent_by.dropped"),
            sent = report_int(r, "totals.sent");
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 400);
    ck_assert_int_eq(sent + dropped, 400);
    ck_assert_int_ge(dropped, 150); /* 200 less the four that are in flight, and a margin */
    ck_assert_int_le(dropped, 300);
    ck_assert_int_eq(report_int(r, "lag.wait.count"), 0);
    ck_assert_int_eq(stop_target().requests, sent);
    json_decref(r);
}
END_TEST

/* Each answer takes 100 ms, so that 20 are in flight: two connections would never do. */
START_TEST(test_grow)
{
    target_start(&target, (const char *[]){"--delay=100ms", NULL});
    json_t *r = run((const char *[]){"-r200", "-d1", "-c2", "-t1", "--on-full=grow",
                                     "--max-connections=200", NULL});
    struct seen seen = stop_target();
    ck_assert_int_eq(report_int(r, "totals.ok"), 200);
    ck_assert_int_eq(report_int(r, "lag.wait.count"), 0);
    ck_assert_int_ge(seen.connections, 18);
    ck_assert_int_le(seen.connections, 200);
    ck_assert_int_eq(report_int(r, "totals.connects"), seen.connections);
    json_decref(r);
}
END_TEST

/* No further than allowed: the others wait. */
START_TEST(test_grow_is_bounded)
{
    target_start(&target, (const char *[]){"--delay=100ms", NULL});
    json_t *r = run((const char *[]){"-r200", "-d1", "-c2", "-t1", "--local=2", "--on-full=grow",
                                     "--max-connections=9", NULL});
    ck_assert_int_eq(stop_target().connections, 9);
    ck_assert_int_ge(report_int(r, "lag.wait.count"), 100);
    json_decref(r);
}
END_TEST

/* The same schedule, and one clock. */
START_TEST(test_closed_loop_with_a_rate)
{
    struct process p;
    target_start(&target, NULL);
    json_t *r = run((const char *[]){"-r200", "-d1", "-c4", "--closed-loop", NULL});
    ck_assert_int_eq(report_int(r, "totals.ok"), 200);
    ck_assert_int_eq(report_int(r, "latency.corrected.count"), 0);
    ck_assert_int_eq(report_int(r, "latency.uncorrected.count"), 200);
    json_decref(r);
    const char *args[] = {"run", "-r200", "-d1", "-c4", "--closed-loop", target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err); /* a busy machine */
    ck_assert_msg(strstr(p.out, "corrected") == NULL, "%s", p.out);
    process_end(&p);
    ck_assert_int_eq(stop_target().requests, 400);
}
END_TEST

/* Four connections, each with a rest of 100 to 120 ms after each answer. */
START_TEST(test_think)
{
    target_start(&target, NULL);
    json_t *r = run((const char *[]){"-d2", "-c4", "--think=100ms..120ms", "--seed=9", NULL});
    struct seen seen = stop_target();
    ck_assert_int_le(seen.requests, 4 * 20);
    ck_assert_int_ge(seen.requests, 4 * 8); /* on a busy machine */
    ck_assert_int_eq(report_int(r, "totals.ok"), seen.requests);
    ck_assert_int_eq(seen.connections, 4);
    json_decref(r);
}
END_TEST

START_TEST(test_stages_have_rows)
{
    target_start(&target, NULL);
    json_t *r = run(
        (const char *[]){"--stages=500ms@100,500ms@300,500ms@0..200", "-c20", "--local=2", NULL});
    static const int64_t requests[] = {50, 150, 50};
    for (int i = 0; i < 3; i++) {
        char scheduled[] = "stages.0.totals.scheduled",
             count[] = "stages.0.latency.corrected.count";
        scheduled[7] = count[7] = (char)('0' + i);
        ck_assert_int_eq(report_int(r, scheduled), requests[i]);
        ck_assert_int_eq(report_int(r, count), requests[i]);
    }
    ck_assert_int_eq(report_int(r, "totals.ok"), 250);
    json_decref(r);
    stop_target();
}
END_TEST

/* Only who asks for it gets it. */
START_TEST(test_phases)
{
    target_start(&target, (const char *[]){"--delay=20ms", NULL});
    json_t *r = run((const char *[]){"-r100", "-d1", "-c10", "--latency", NULL});
    ck_assert_int_eq(report_int(r, "phases.first_byte.count"), 100);
    ck_assert_int_ge(report_int(r, "phases.first_byte.min"), 15 * (int64_t)NS_PER_MS);
    ck_assert_int_eq(report_int(r, "phases.upload.count"), 100);
    ck_assert_int_eq(report_int(r, "phases.download.count"), 100);
    ck_assert_int_eq(report_int(r, "phases.connect.count"), 10);
    json_decref(r);
    r = run((const char *[]){"-r100", "-d1", "-c10", NULL});
    ck_assert(!json_is_object(json_object_get(r, "phases")));
    json_decref(r);
    stop_target();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("load");
    TCase *t = tcase_create("load");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, test_warmup);
    tcase_add_test(t, test_drop);
    tcase_add_test(t, test_grow);
    tcase_add_test(t, test_grow_is_bounded);
    tcase_add_test(t, test_closed_loop_with_a_rate);
    tcase_add_test(t, test_think);
    tcase_add_test(t, test_stages_have_rows);
    tcase_add_test(t, test_phases);
    suite_add_tcase(s, t);
    return check_main(s);
}
