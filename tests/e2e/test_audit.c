/* SPDX-License-Identifier: MIT */
/* The audit file beside real runs: what it says is what happened, secrets are not in it, and
 * without it nothing is sent. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/raw_control.h"
#include "tests/lib/report.h"

#define CANARY "c4n4ry-7f3a"

static struct target_process target;
static struct agent_process agent;
static char dir[64], path[96];

static void setup(void)
{
    folder_make(dir);
    snprintf(path, sizeof path, "%s/audit.jsonl", dir);
    memset(&agent, 0, sizeof agent);
    target_start(&target, NULL);
}

static void teardown(void)
{
    if (agent.process.pid != 0)
        agent_stop(&agent);
    target_stop(&target);
    folder_remove(dir);
}

static void start_agent(const char *file)
{
    const char *args[] = {"--audit", file, NULL};
    agent_start(&agent, args);
}

static size_t requests_seen(void)
{
    process_signal(&target.process, SIGTERM);
    process_wait(&target.process, 10000);
    return target_logged(&target);
}

static void nap(void)
{
    clock_sleep_until(clock_mono_ns() + 5 * NS_PER_MS);
}

/* Line i, parsed; NULL = there is none (yet). */
static json_t *line(int i)
{
    char *text = file_read(path);
    const char *at = text;
    while (at != NULL && i-- > 0)
        at = (at = strchr(at, '\n')) != NULL ? at + 1 : NULL;
    const char *end = at != NULL ? strchr(at, '\n') : NULL;
    json_t *j = end != NULL ? json_loadb(at, (size_t)(end - at), 0, NULL) : NULL;
    mem_free(text);
    return j;
}

static json_t *wait_line(int i)
{
    uint64_t until = clock_mono_ns() + 20 * NS_PER_SEC;
    json_t *j;
    while ((j = line(i)) == NULL) {
        ck_assert_msg(clock_mono_ns() < until, "line %d of the audit file does not come", i);
        nap();
    }
    return j;
}

static void is(const json_t *j, const char *key, const char *want)
{
    const char *got = json_string_value(json_object_get(j, key));
    ck_assert_msg(got != NULL && strcmp(got, want) == 0, "%s: %s", key, got != NULL ? got : "none");
}

static int64_t sent_of(const json_t *j)
{
    return json_integer_value(json_object_get(json_object_get(j, "counts"), "sent"));
}

START_TEST(test_a_run)
{
    struct process p;
    char url[160], want[160];
    start_agent(path);
    snprintf(url, sizeof url, "%s?token=" CANARY, target.url);
    snprintf(want, sizeof want, "%s?token=REDACTED", target.url);
    const char *args[] = {"run", "--agents", agent.address, "-r",     "200", "-d",         "1",
                          "-c",  "4",        url,           "--json", "-H",  "X: " CANARY, NULL};
    int code = process_run(&p, "hammer-ctl", args, 20000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %s", code, p.err);
    json_t *r = report_parse(p.out), *begin = line(0), *end = wait_line(1);
    is(begin, "event", "begin");
    is(begin, "target", want);
    is(begin, "rate", "200/s");
    is(end, "event", "end");
    is(end, "outcome", "finished");
    is(end, "address", target.address);
    is(end, "run", json_string_value(json_object_get(begin, "run")));
    ck_assert_int_eq(sent_of(end), report_int(r, "totals.sent"));
    ck_assert_ptr_eq(strstr(json_string_value(json_object_get(end, "peer")), "tcp 127.0.0.1:"),
                     json_string_value(json_object_get(end, "peer")));
    char *all = file_read(path);
    ck_assert_ptr_null(strstr(all, CANARY));
    mem_free(all);
    ck_assert_ptr_null(line(2));
    json_decref(begin);
    json_decref(end);
    json_decref(r);
    process_end(&p);
}
END_TEST

/* The controller is killed: its run ends with the lease and is on record as such. */
START_TEST(test_a_killed_controller)
{
    struct process p;
    start_agent(path);
    const char *args[] = {"run", "--agents", agent.address, "-r",       "100", "-d",
                          "60",  "-c",       "4",           target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    json_decref(wait_line(0));
    uint64_t until = clock_mono_ns() + 20 * NS_PER_SEC;
    for (; target_logged(&target) == 0; nap())
        ck_assert_msg(clock_mono_ns() < until && process_alive(&p), "nothing is sent");
    process_signal(&p, SIGKILL);
    json_t *end = wait_line(1);
    is(end, "event", "end");
    is(end, "outcome", "lease");
    size_t seen = requests_seen();
    ck_assert_int_eq(sent_of(end), (int64_t)seen);
    json_decref(end);
    process_end(&p);
}
END_TEST

START_TEST(test_a_refusal)
{
    struct process p;
    start_agent(path);
    const char *args[] = {"run", "--agents", agent.address,       "-r", "10", "-d", "1",
                          "-c",  "4",        "http://192.0.2.1/", NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 20000), 2);
    json_t *end = wait_line(1);
    is(end, "event", "end");
    is(end, "outcome", "refused");
    const char *reason = json_string_value(json_object_get(end, "reason"));
    ck_assert_ptr_nonnull(strstr(reason, "192.0.2.1"));
    json_decref(end);
    process_end(&p);
}
END_TEST

START_TEST(test_no_record_no_load)
{
    struct process p;
    start_agent("/dev/full");
    const char *args[] = {"run", "--agents", agent.address, "-r",       "10", "-d",
                          "1",   "-c",       "4",           target.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 20000), 2);
    ck_assert_msg(strstr(p.err, "audit file /dev/full: No space left on device") != NULL, "%s",
                  p.err);
    process_end(&p);
    ck_assert_uint_eq(requests_seen(), 0);
}
END_TEST

/* A question about a target is on record, and is not followed up where it cannot be. */
START_TEST(test_a_lookup)
{
    struct process p;
    start_agent(path);
    const char *args[] = {"agents", "--agents", agent.address, "--target", target.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 20000), 0);
    process_end(&p);
    json_t *j = line(0);
    is(j, "event", "lookup");
    char want[160];
    snprintf(want, sizeof want, "http://%s", target.address);
    is(j, "target", want);
    ck_assert_ptr_nonnull(json_object_get(j, "peer"));
    ck_assert_ptr_nonnull(json_object_get(j, "controller"));
    ck_assert_ptr_null(line(1));
    json_decref(j);
    agent_stop(&agent);
    start_agent("/dev/full");
    args[2] = agent.address;
    ck_assert_int_ne(process_run(&p, "hammer-ctl", args, 20000), 0);
    ck_assert_msg(strstr(p.out, "audit file /dev/full: No space") != NULL, "%s%s", p.out, p.err);
    process_end(&p);
}
END_TEST

/* A share that the controller changes on the way: asked for, refused or not, and what holds at the
 * end. */
START_TEST(test_another_share)
{
    struct raw_control r;
    struct msg m;
    struct plan plan;
    uint8_t *bytes;
    size_t len;
    start_agent(path);
    plan_defaults(&plan);
    plan.url = mem_strdup(target.url);
    plan.rate = (struct rate){100, 1};
    plan.rate_set = plan.duration_set = true;
    plan.duration_ns = 60 * NS_PER_SEC;
    ck_assert_int_eq(plan_check(&plan, NULL), ERR_OK);
    ck_assert_int_eq(plan_encode(&plan, &bytes, &len), ERR_OK);
    raw_dial(&r, agent.address);
    ck_assert(raw_hello(&r, 1, MSG_VERSION_MAX) && raw_read(&r, &m));
    const struct msg prepare = {.type = MSG_PREPARE,
                                .prepare = {.command = 1,
                                            .plan = {bytes, len},
                                            .total = 4,
                                            .weight = 1,
                                            .connections = 1,
                                            .threads = 1}};
    ck_assert(raw_send(&r, &prepare) && raw_read(&r, &m) && m.type == MSG_PREPARED);
    const struct msg arm = {.type = MSG_ARM,
                            .arm = {.command = 2, .at_ns = clock_mono_ns() + NS_PER_SEC}};
    ck_assert(raw_send(&r, &arm) && raw_read(&r, &m) && m.type == MSG_ARMED);
    for (uint32_t total = 1; total != UINT32_MAX; total--) { /* 1/1, and a total of nothing */
        const struct msg other = {
            .type = MSG_RESHARE,
            .reshare = {.command = 3 + total, .from_index = 5000, .total = total, .weight = 1}};
        ck_assert(raw_send(&r, &other) && raw_read(&r, &m) && m.type == MSG_RESHARED);
        ck_assert_int_eq(m.reshared.problem[0] == '\0', total == 1);
    }
    ck_assert(raw_send(&r, &(struct msg){.type = MSG_BYE}));
    static const struct {
        const char *event, *share;
    } lines[] = {{"begin", "1/4"}, {"reshare", "1/1"}, {"reshare", "1/0"}, {"end", "1/1"}};
    for (int i = 0; i < 4; i++) {
        json_t *j = wait_line(i);
        is(j, "event", lines[i].event);
        is(j, "share", lines[i].share);
        ck_assert((json_object_get(j, "from_index") != NULL) == (i == 1 || i == 2));
        json_decref(j);
    }
    raw_close(&r);
    mem_free(bytes);
    plan_clear(&plan);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("audit");
    TCase *t = tcase_create("audit");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_a_run);
    tcase_add_test(t, test_a_killed_controller);
    tcase_add_test(t, test_a_refusal);
    tcase_add_test(t, test_no_record_no_load);
    tcase_add_test(t, test_a_lookup);
    tcase_add_test(t, test_another_share);
    suite_add_tcase(s, t);
    return check_main(s);
}
