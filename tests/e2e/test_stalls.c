/* SPDX-License-Identifier: MIT */
/* Who saw a stall tells whose it is: the whole server froze, or one agent did. And which clock
 * shows it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define AGENTS   3
#define RATE     "900"
#define INTERVAL (100 * (int64_t)NS_PER_MS)

static struct target_process target;
static struct agent_process agents[AGENTS];
static char agent_list[256];

static void start(const char *const *target_args)
{
    target_start(&target, target_args);
    agents_start(agents, AGENTS, agent_list, sizeof agent_list);
}

static void stop(void)
{
    for (size_t i = 0; i < AGENTS; i++)
        agent_stop(&agents[i]);
    target_stop(&target);
}

static void run_start(struct process *p)
{
    const char *args[] = {"run", "--agents", agent_list, "-r",         RATE,       "-d",
                          "4",   "-c",       "12",       "--interval", "100ms",    "--json",
                          "-t",  "1",        "--lease",  "10s",        target.url, NULL};
    process_start(p, "hammer-ctl", args);
}

/* Whatever the verdict: this machine has other things to do. */
static json_t *run_end(struct process *p)
{
    int code = process_wait(p, 40000);
    printf("%s", code == 0 || code == 4 ? "" : p->err);
    ck_assert_msg(code == 0 || code == 4, "exit code %d", code);
    json_t *r = report_parse(p->out);
    report_check_ledger(r);
    process_end(p);
    return r;
}

static int64_t member(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static bool near(int64_t a, int64_t b, int64_t distance)
{
    return llabs(a - b) <= distance;
}

/* The longest one: where others use the machine too there may be short ones more. */
static json_t *longest(json_t *r)
{
    json_t *stalls = report_at(r, "stalls"), *longest = json_array_get(stalls, 0);
    ck_assert_msg(longest != NULL, "no stall was found");
    for (size_t i = 1; i < json_array_size(stalls); i++)
        if (member(json_array_get(stalls, i), "length_ns") > member(longest, "length_ns"))
            longest = json_array_get(stalls, i);
    char *text = json_dumps(stalls, 0);
    printf("%s\n", text);
    fflush(stdout);
    free(text);
    return longest;
}

START_TEST(test_the_server_freezes)
{
    const char *freeze[] = {"--freeze-at", "2s", "--freeze-for", "500ms", NULL};
    struct process p;
    start(freeze);
    run_start(&p);
    json_t *r = run_end(&p), *s = longest(r);
    ck_assert(near(member(s, "begin_ns"), 2000 * (int64_t)NS_PER_MS, INTERVAL));
    ck_assert(near(member(s, "length_ns"), 500 * (int64_t)NS_PER_MS, INTERVAL));
    ck_assert(near(member(s, "due"), 450, 90));
    ck_assert_int_eq(member(s, "seen_by"), AGENTS);
    ck_assert_int_eq(member(s, "of"), AGENTS);
    json_decref(r);
    stop();
}
END_TEST

static void wait_first_request(void)
{
    uint64_t until = clock_mono_ns() + 20 * NS_PER_SEC;
    for (;;) {
        char *text = file_read(target.log);
        bool any = text != NULL && text[0] != '\0';
        mem_free(text);
        if (any)
            return;
        ck_assert_msg(clock_mono_ns() < until, "no request came");
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

START_TEST(test_one_agent_freezes)
{
    struct process p;
    start(NULL);
    run_start(&p);
    wait_first_request();
    uint64_t begin = clock_mono_ns();
    process_signal(&agents[1].process, SIGSTOP);
    nanosleep(&(struct timespec){0, 700000000}, NULL);
    process_signal(&agents[1].process, SIGCONT);
    int64_t length = (int64_t)(clock_mono_ns() - begin);
    json_t *r = run_end(&p), *s = longest(r);
    ck_assert_msg(near(member(s, "length_ns"), length, INTERVAL), "%ld ns, not %ld",
                  (long)member(s, "length_ns"), (long)length);
    ck_assert_int_eq(member(s, "seen_by"), 1);
    ck_assert_int_eq(member(s, "of"), AGENTS);
    json_t *agent = json_array_get(json_object_get(s, "agents"), 0);
    ck_assert_str_eq(json_string_value(agent), agents[1].address);
    json_decref(r);
    stop();
}
END_TEST

/* A freeze of 700 ms: corrected shows it at p90, uncorrected does not. */
START_TEST(test_freeze_shows_in_corrected_only)
{
    static const char *const freeze[] = {"--freeze-at", "1002ms", "--freeze-for", "700ms", NULL};
    struct process p;
    start(freeze);
    const char *args[] = {"run", "--agents", agent_list, "-r",       "500",    "-d",
                          "3",   "-c",       "10",       target.url, "--json", NULL};
    process_start(&p, "hammer-ctl", args);
    json_t *r = run_end(&p);
    int64_t corrected = report_int(r, "latency.corrected.percentiles.95");
    int64_t service = report_int(r, "latency.uncorrected.percentiles.95");
    ck_assert_int_ge(corrected, 350 * (int64_t)NS_PER_MS);
    ck_assert_int_lt(service * 50, corrected);
    ck_assert_int_ge(report_int(r, "latency.corrected.max"), 650 * (int64_t)NS_PER_MS);
    ck_assert_int_ge(report_int(r, "latency.uncorrected.max"), 600 * (int64_t)NS_PER_MS);
    ck_assert_int_eq(report_int(r, "totals.ok"), 1500);
    json_decref(r);
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stalls");
    TCase *t = tcase_create("stalls");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_the_server_freezes);
    tcase_add_test(t, test_one_agent_freezes);
    tcase_add_test(t, test_freeze_shows_in_corrected_only);
    suite_add_tcase(s, t);
    return check_main(s);
}
