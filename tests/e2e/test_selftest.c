/* SPDX-License-Identifier: MIT */
/* The self-test of a host, and what a run says of it. How fast this machine is, is not tested. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

static char dir[64], state[96];
static struct target_process target;

static void setup(void)
{
    folder_make(dir);
    snprintf(state, sizeof state, "%s/selftest.json", dir);
}

static void teardown(void)
{
    if (target.process.pid != 0)
        target_stop(&target);
    folder_remove(dir);
}

/* A real self-test, as short as can be. */
static void selftest(struct process *p, const char *flag)
{
    const char *args[] = {"selftest", "--seconds", "1", "--state", state, flag, NULL};
    ck_assert_msg(process_run(p, "hammer-agent", args, 15000) == 0, "%s", p->err);
}

static void check_document(json_t *o)
{
    ck_assert_ptr_nonnull(o);
    ck_assert_str_eq(json_string_value(json_object_get(o, "schema")), "hammer.selftest/1");
    ck_assert_ptr_nonnull(json_string_value(json_object_get(o, "date")));
    ck_assert_ptr_nonnull(json_string_value(json_object_get(o, "boot_id")));
    ck_assert_int_ge(json_integer_value(json_object_get(o, "cores")), 1);
    ck_assert(json_is_integer(json_object_get(o, "tested_rate")));
    const json_t *first = json_array_get(json_object_get(o, "steps"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(first, "rate")), 1000);
    ck_assert_int_gt(json_integer_value(json_object_get(first, "completed")), 0);
}

START_TEST(test_bounded)
{
    struct process p;
    uint64_t from_ns = clock_mono_ns();
    selftest(&p, NULL);
    if (!process_sanitized())
        ck_assert_uint_le(clock_elapsed(from_ns, clock_mono_ns()), 6 * NS_PER_SEC);
    ck_assert_msg(strstr(p.out, "send lag p50") != NULL && strstr(p.out, "verdict") != NULL, "%s",
                  p.out);
    ck_assert_ptr_nonnull(strstr(p.out, "\n       1000 "));
    ck_assert_ptr_nonnull(strstr(p.out, state));
    process_end(&p);
    json_t *o = json_load_file(state, 0, NULL);
    check_document(o);
    json_decref(o);
}
END_TEST

START_TEST(test_json)
{
    struct process p;
    selftest(&p, "--json");
    json_t *o = json_loads(p.out, 0, NULL);
    json_t *stored = json_load_file(state, 0, NULL);
    check_document(o);
    ck_assert(json_equal(o, stored));
    json_decref(o);
    json_decref(stored);
    process_end(&p);
}
END_TEST

static void refused(const char *const *args, int code, const char *text)
{
    struct process p;
    ck_assert_int_eq(process_run(&p, "hammer-agent", args, 15000), code);
    ck_assert_msg(strstr(p.err, text) != NULL, "%s", p.err);
    process_end(&p);
}

START_TEST(test_bad_input)
{
    static const char *const zero[] = {"selftest", "--seconds", "0", NULL};
    static const char *const extra[] = {"selftest", "now", NULL};
    static const char *const unknown[] = {"selftest", "--second", "1", NULL};
    static const char *const nowhere[] = {"selftest", "--seconds",        "1",
                                          "--state",  "/dev/null/a.json", NULL};
    refused(zero, 1, "--seconds 0: accepted is");
    refused(extra, 1, "now: hammer-agent selftest takes no argument");
    refused(unknown, 1, "--seconds");
    refused(nowhere, 2, "--state /dev/null/a.json");
}
END_TEST

/* The stored result, made to say another rate, and another host. */
static void store(int rate, const char *host)
{
    struct process p;
    selftest(&p, NULL);
    process_end(&p);
    json_t *o = json_load_file(state, 0, NULL);
    json_object_set_new(o, "tested_rate", json_integer(rate));
    if (host != NULL)
        json_object_set_new(o, "host", json_string(host));
    ck_assert_int_eq(json_dump_file(o, state, 0), 0);
    json_decref(o);
}

/* Runs at a rate and tells whether a warning came. What the verdict is, is not the question. */
static bool warned(const char *agents, const char *rate, const char *text)
{
    struct process p;
    const char *args[] = {"run",  "-d", "200ms",
                          "-c",   "4",  target.url,
                          "-r",   rate, agents != NULL ? "--agents" : NULL,
                          agents, NULL};
    process_run(&p, "hammer-ctl", args, 20000);
    ck_assert_msg(strstr(p.out, "Requests/sec") != NULL, "%s%s", p.out, p.err);
    bool said = strstr(p.err, "its self-test has shown") != NULL;
    ck_assert_msg(!said || strstr(p.err, text) != NULL, "%s", p.err);
    process_end(&p);
    return said;
}

/* An agent that hammer-ctl starts itself reads the state of this host as any other. */
START_TEST(test_local_run_warns)
{
    static const char text[] =
        "agent local-1 is asked for 200 requests/s; its self-test has shown 150:";
    store(150, NULL);
    target_start(&target, NULL);
    setenv("HAMMER_STATE", state, 1);
    ck_assert(warned(NULL, "200", text));
    ck_assert(!warned(NULL, "150", text));
    store(150, "elsewhere.example");
    ck_assert(!warned(NULL, "200", text));
    setenv("HAMMER_STATE", "/dev/null/none", 1);
    ck_assert(!warned(NULL, "200", text));
}
END_TEST

/* Each agent is asked for its share only: a third and two thirds. */
START_TEST(test_share_of_each_agent)
{
    struct agent_process a, b;
    char agents[192], text[160];
    store(150, NULL);
    const char *args[] = {"--state", state, NULL};
    target_start(&target, NULL);
    agent_start(&a, args);
    agent_start(&b, args);
    snprintf(agents, sizeof agents, "%s,%s*2", a.address, b.address);
    snprintf(text, sizeof text, "%s is asked for 200 requests/s", b.address);
    ck_assert(warned(agents, "300", text));
    ck_assert(!warned(agents, "225", text));
    agent_stop(&a);
    agent_stop(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("selftest");
    TCase *t = tcase_create("selftest");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_bounded);
    tcase_add_test(t, test_json);
    tcase_add_test(t, test_bad_input);
    tcase_add_test(t, test_local_run_warns);
    tcase_add_test(t, test_share_of_each_agent);
    suite_add_tcase(s, t);
    return check_main(s);
}
