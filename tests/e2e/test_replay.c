/* SPDX-License-Identifier: MIT */
/* A stored run's report is the one that it gave when it ended; parts of it, several as one, and
 * whether all of it holds. */
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

#define LONG_MS 40000

static struct target_process target;
static char home[64];

static void set_up(void)
{
    folder_make(home);
    setenv("XDG_DATA_HOME", home, 1);
    target_start(&target, NULL);
}

static void tear_down(void)
{
    target_stop(&target);
    struct process p;
    const char *args[] = {"-rf", home, NULL};
    ck_assert_int_eq(process_run(&p, "/bin/rm", args, 10000), 0);
    process_end(&p);
}

/* The output, which the caller frees. */
static char *ctl(int code, const char *const *args)
{
    struct process p;
    int got = process_run(&p, "hammer-ctl", args, LONG_MS);
    ck_assert_msg(got == code, "exit code %d in place of %d: %s%s", got, code, p.out, p.err);
    char *out = mem_strdup(p.out);
    process_end(&p);
    return out;
}

#define CTL(code, ...) ctl(code, (const char *const[]){__VA_ARGS__, NULL})

/* --- the same document ------------------------------------------------------------------------ */

/* When an interval arrived is not stored: whoever replays it has not waited. */
static bool may_differ(const char *key)
{
    return strcmp(key, "agents_late") == 0;
}

static void same(const char *path, json_t *live, json_t *again);

static void same_objects(const char *path, json_t *live, json_t *again)
{
    const char *key;
    json_t *value;
    ck_assert_msg(json_object_size(live) == json_object_size(again), "%s: other keys", path);
    json_object_foreach(live, key, value)
    {
        char below[512];
        snprintf(below, sizeof below, "%.400s.%.100s", path, key);
        if (!may_differ(key))
            same(below, value, json_object_get(again, key));
    }
}

static void same(const char *path, json_t *live, json_t *again)
{
    ck_assert_msg(again != NULL && json_typeof(live) == json_typeof(again), "%s: another type",
                  path);
    if (json_is_object(live)) {
        same_objects(path, live, again);
    } else if (json_is_array(live)) {
        ck_assert_msg(json_array_size(live) == json_array_size(again), "%s: %zu elements, then %zu",
                      path, json_array_size(live), json_array_size(again));
        for (size_t i = 0; i < json_array_size(live); i++) {
            char below[512];
            snprintf(below, sizeof below, "%.480s[%zu]", path, i);
            same(below, json_array_get(live, i), json_array_get(again, i));
        }
    } else if (!json_equal(live, again)) {
        char *a = json_dumps(live, JSON_ENCODE_ANY), *b = json_dumps(again, JSON_ENCODE_ANY);
        ck_abort_msg("%s: %s, then %s", path, a, b);
    }
}

/* The last run's report once more, and its figures worked out again. */
static void check_again(const char *live_text)
{
    json_t *live = report_parse(live_text);
    char *text = CTL(0, "report", "latest", "--format", "json");
    json_t *again = report_parse(text);
    ck_assert(json_is_null(report_at(again, "view")));
    same("report", live, again);
    free(CTL(0, "verify", "latest"));
    json_decref(live);
    json_decref(again);
    free(text);
}

static int end_of(struct process *p)
{
    int code = process_wait(p, LONG_MS);
    if (p->out[0] != '{')
        ck_abort_msg("exit code %d: %s", code, p->err);
    check_again(p->out);
    process_end(p);
    return code;
}

static int run(const char *const *flags)
{
    struct process p;
    const char *args[32] = {"run", "--json", "--interval", "250ms", target.url};
    size_t n = 5;
    for (size_t i = 0; flags[i] != NULL; i++)
        args[n++] = flags[i];
    process_start(&p, "hammer-ctl", args);
    return end_of(&p);
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

/* Its line of blocks; the caller frees it. */
static char *rate_line(const char *text)
{
    const char *line = strstr(text, "    requests/sec ");
    ck_assert_msg(line != NULL, "%s", text);
    char *copy = mem_strdup(line);
    copy[strcspn(copy, "\n")] = '\0';
    return copy;
}

/* The text is made of the same characters as that of the run. */
START_TEST(test_text)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", "xterm", 1);
    struct process p;
    const char *args[] = {"run", "-r", "100", "-d", "2", "--interval", "250ms", target.url, NULL};
    int code = process_run(&p, "hammer-ctl", args, LONG_MS);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, p.err);
    char *again = CTL(0, "report", "latest"), *line = rate_line(p.out), *second = rate_line(again);
    ck_assert_ptr_nonnull(strstr(line, "\xe2\x96"));
    ck_assert_str_eq(line, second);
    mem_free(line);
    mem_free(second);
    mem_free(again);
    process_end(&p);
}
END_TEST

START_TEST(test_one_agent)
{
    int code = RUN("-r", "200", "-d", "2", "--name", "one", "--description", "first", "--tag", "a");
    ck_assert_msg(code == 0 || code == 4, "%d", code);
    RUN("-c", "4", "-d", "1"); /* a closed loop */
}
END_TEST

START_TEST(test_stages_and_warmup)
{
    RUN("--local", "2", "--stages", "1s@200,1s@100..300", "--warmup", "500ms", "--latency");
}
END_TEST

START_TEST(test_named_requests)
{
    char plan[96], text[512];
    struct process p;
    snprintf(plan, sizeof plan, "%s/plan.yml", home);
    snprintf(text, sizeof text,
             "stages: 1s@100,1s@200\nlocal: 2\ninterval: 250ms\nrequests:\n"
             "  - name: login\n    url: %slogin\n    weight: 2\n"
             "  - name: cart\n    url: %scart\n",
             target.url, target.url);
    FILE *f = fopen(plan, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    const char *args[] = {"run", "--json", "-f", plan, NULL};
    process_start(&p, "hammer-ctl", args);
    end_of(&p);
    char *part = CTL(0, "report", "latest", "--request", "cart", "--stage", "2", "--json");
    json_t *r = report_parse(part);
    ck_assert_str_eq(report_text_at(r, "view.request"), "cart");
    ck_assert_int_eq(report_int(r, "view.stage"), 1);
    ck_assert_uint_eq(json_array_size(report_at(r, "requests")), 1);
    ck_assert_int_gt(report_int(r, "totals.completed"), 40);
    ck_assert_int_lt(report_int(r, "totals.completed"), 90);
    ck_assert(json_is_null(report_at(r, "lag")));
    json_decref(r);
    free(part);
}
END_TEST

START_TEST(test_objectives)
{
    ck_assert_int_ne(RUN("-r", "100", "-d", "1", "--slo", "p50<1us", "--slo", "errors<1%"), 0);
}
END_TEST

START_TEST(test_aborted)
{
    ck_assert_int_ne(RUN("-r", "100", "-d", "10", "--abort-on", "p50>1us for 500ms"), 0);
}
END_TEST

static void wait_requests(struct process *ctl, size_t n)
{
    uint64_t until = clock_mono_ns() + 30 * NS_PER_SEC;
    while (target_logged(&target) < n) {
        if (!process_alive(ctl) || clock_mono_ns() > until)
            ck_abort_msg("no requests: exit code %d: %s", process_wait(ctl, 1000), ctl->err);
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
}

START_TEST(test_interrupted)
{
    struct process p;
    const char *args[] = {"run", "--json",     "-r",    "200",      "-d",
                          "30",  "--interval", "250ms", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    wait_requests(&p, 200);
    process_signal(&p, SIGINT);
    ck_assert_int_eq(end_of(&p), 130);
}
END_TEST

START_TEST(test_an_agent_is_lost)
{
    struct agent_process agents[2];
    char list[256];
    struct process p;
    agents_start(agents, 2, list, sizeof list);
    const char *args[] = {"run",        "--json", "--agents",        list,       "-r",       "200",
                          "-d",         "6",      "--lease",         "3",        "-c",       "8",
                          "--interval", "250ms",  "--on-agent-loss", "continue", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    wait_requests(&p, 200);
    process_signal(&agents[1].process, SIGKILL);
    ck_assert_int_eq(end_of(&p), 3);
    for (size_t i = 0; i < 2; i++)
        agent_stop(&agents[i]);
}
END_TEST

/* All of them: rows that only the waiting has opened are no rows of the run. */
START_TEST(test_the_only_agent_is_lost)
{
    struct agent_process agent;
    char list[256];
    struct process p;
    agents_start(&agent, 1, list, sizeof list);
    const char *args[] = {"run", "--json",  "--agents", list,         "-r",    "200",      "-d",
                          "10",  "--lease", "3",        "--interval", "250ms", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    wait_requests(&p, 200);
    process_signal(&agent.process, SIGKILL);
    ck_assert_int_eq(end_of(&p), 3);
    agent_stop(&agent);
}
END_TEST

/* --- no end ----------------------------------------------------------------------------------- */

START_TEST(test_the_controller_is_killed)
{
    struct process p;
    const char *args[] = {"run", "-r", "200", "-d", "30", "--interval", "250ms", target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    wait_requests(&p, 200);
    char *running = CTL(0, "report", "latest", "--json");
    json_t *r = report_parse(running);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "incomplete");
    ck_assert_ptr_nonnull(strstr(report_text_at(r, "verdict.reasons.0"), "still going on"));
    json_decref(r);
    free(running);
    process_signal(&p, SIGKILL);
    process_wait(&p, 10000);
    char *dead = CTL(0, "report", "latest", "--json");
    r = report_parse(dead);
    ck_assert_str_eq(report_text_at(r, "verdict.status"), "incomplete");
    ck_assert_ptr_nonnull(strstr(report_text_at(r, "verdict.reasons.0"), "gone before the end"));
    ck_assert_str_eq(report_text_at(r, "agents.0.state"), "unknown");
    ck_assert_int_gt(report_int(r, "totals.completed"), 0);
    json_decref(r);
    free(dead);
    free(CTL(0, "verify", "latest"));
    process_end(&p);
}
END_TEST

/* --- parts, sums, files ----------------------------------------------------------------------- */

static int64_t completed(const char *text)
{
    json_t *r = report_parse(text);
    int64_t n = report_int(r, "totals.completed");
    json_decref(r);
    return n;
}

START_TEST(test_parts_and_sums)
{
    char file[96], word[128];
    RUN("--local", "2", "-r", "200", "-d", "2", "--name", "a");
    char *whole = CTL(0, "report", "a", "--json");
    char *first = CTL(0, "report", "a", "--json", "--to", "1100ms");
    char *rest = CTL(0, "report", "a", "--json", "--from", "1s250ms");
    char *agent = CTL(0, "report", "a", "--json", "--agent", "local-2");
    json_t *r = report_parse(first);
    ck_assert_int_eq(report_int(r, "view.to_ns"), 1250 * (int64_t)NS_PER_MS);
    ck_assert(json_is_false(report_at(r, "view.ledger_closed")));
    ck_assert_int_eq(completed(first) + completed(rest), completed(whole));
    ck_assert_int_eq(completed(agent) * 2, completed(whole));
    json_decref(r);
    char *text = CTL(0, "report", "a", "--from", "1s", "--agent", "local-2");
    ck_assert_ptr_nonnull(strstr(text, "Part of the run: 1.00s-"));
    ck_assert_ptr_nonnull(strstr(text, ", agent local-2\n"));
    ck_assert_ptr_nonnull(strstr(text, "a part of it is not"));

    RUN("-r", "100", "-d", "2", "--name", "b");
    char *other = CTL(0, "report", "b", "--json");
    snprintf(file, sizeof file, "%s/sum.hammer", home);
    snprintf(word, sizeof word, "%s", file);
    char *sum = CTL(0, "merge", "a", "b", "-o", file, "--json");
    char *again = CTL(0, "report", word, "--json"), *turned = CTL(0, "merge", "b", "a", "--json");
    ck_assert_int_eq(completed(sum), completed(whole) + completed(other));
    ck_assert_str_eq(sum, again);
    ck_assert_str_eq(sum, turned);
    free(CTL(0, "verify", word, "a", "b"));
    free(CTL(1, "merge", "a", "a"));
    free(CTL(1, "merge", "a", word));
    char *const all[] = {whole, first, rest, agent, text, other, sum, again, turned};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}
END_TEST

START_TEST(test_bad_input)
{
    RUN("-r", "100", "-d", "1", "--name", "a");
    free(CTL(1, "report"));
    free(CTL(1, "report", "a", "b"));
    free(CTL(1, "report", "no-such-run"));
    free(CTL(1, "report", "a", "--agent", "x"));
    free(CTL(1, "report", "a", "--stage", "1"));
    free(CTL(1, "report", "a", "--request", "x"));
    free(CTL(1, "report", "a", "--from", "1h"));
    free(CTL(1, "report", "a", "--every", "333ms"));
    free(CTL(1, "merge", "a"));
    free(CTL(1, "verify", "/nowhere/x.json"));
}
END_TEST

/* That all holds must not be what a script makes of a disk that was full. */
START_TEST(test_output_is_lost)
{
    static const char *const commands[] = {"verify", "report"};
    char line[512];
    RUN("-r", "100", "-d", "1", "--name", "a");
    for (size_t i = 0; i < 2; i++) {
        struct process p;
        snprintf(line, sizeof line, "'%s/hammer-ctl' %s a >/dev/full", TEST_BIN_DIR, commands[i]);
        const char *args[] = {"-c", line, NULL};
        ck_assert_int_eq(process_run(&p, "/bin/sh", args, LONG_MS), 2);
        ck_assert_msg(strstr(p.err, "could not be written: No space left") != NULL, "%s", p.err);
        process_end(&p);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("replay");
    TCase *t = tcase_create("replay");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 90);
    tcase_add_test(t, test_text);
    tcase_add_test(t, test_one_agent);
    tcase_add_test(t, test_stages_and_warmup);
    tcase_add_test(t, test_named_requests);
    tcase_add_test(t, test_objectives);
    tcase_add_test(t, test_aborted);
    tcase_add_test(t, test_interrupted);
    tcase_add_test(t, test_an_agent_is_lost);
    tcase_add_test(t, test_the_only_agent_is_lost);
    tcase_add_test(t, test_the_controller_is_killed);
    tcase_add_test(t, test_parts_and_sums);
    tcase_add_test(t, test_bad_input);
    tcase_add_test(t, test_output_is_lost);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
