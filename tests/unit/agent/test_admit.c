/* SPDX-License-Identifier: MIT */
/* From PREPARE to the end of a run: what the policy refuses, and what is on record when. Control is
 * the real one, the run behind it is scripted. */
#include "agent/service/admit.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/service/control.h"
#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

struct run {
    run_fn fn;
    void *arg;
};

static char folder[64], path[96];
static struct policy policy;
static struct audit *audit;
static struct control *control;
static struct run the_run;
static struct msg last;
static unsigned prepares;
static char *at_prepare; /* the audit file when the run was told to open its connections */
static char peer[200], name[96];
static struct plan plan;
static int conn;

static enum err fake_prepare(const struct run_env *env, const struct plan *p,
                             const struct plan_part *part, run_fn fn, void *arg, struct run **out,
                             struct errmsg *msg)
{
    (void)env, (void)p, (void)part, (void)msg;
    prepares++;
    at_prepare = file_read(path);
    the_run = (struct run){fn, arg};
    *out = &the_run;
    return ERR_OK;
}

static void fake_u64(struct run *r, uint64_t ns)
{
    (void)r, (void)ns;
}

static void fake_free(struct run *r)
{
    (void)r;
}

static const struct run_ops fake_ops = {.prepare = fake_prepare,
                                        .arm = fake_u64,
                                        .halt = fake_u64,
                                        .lease = fake_u64,
                                        .free = fake_free};

static bool on_send(void *arg, void *c, const struct msg *m)
{
    (void)arg, (void)c;
    last = *m;
    return true;
}

static void on_close(void *arg, void *c)
{
    (void)arg, (void)c;
}

static uint64_t on_now(void *arg)
{
    (void)arg;
    return 1000 * NS_PER_SEC;
}

static const char *on_peer(void *arg, void *c)
{
    (void)arg;
    ck_assert_ptr_eq(c, &conn);
    return peer;
}

static void hear(const struct msg *m)
{
    control_message(control, &conn, m, on_now(NULL));
}

static void begin(const char *file)
{
    struct msg m = {.type = MSG_HELLO};
    ck_assert_int_eq(audit_open(file, &audit, NULL), ERR_OK);
    struct control_config cfg = {.env = {.policy = &policy},
                                 .audit = audit,
                                 .run = &fake_ops,
                                 .agent = "a1",
                                 .lease_ns = 10 * NS_PER_SEC,
                                 .send = on_send,
                                 .close = on_close,
                                 .now = on_now,
                                 .peer = on_peer};
    control = control_new(&cfg);
    m.hello.version_min = MSG_VERSION_MIN;
    m.hello.version_max = MSG_VERSION_MAX;
    m.hello.owner[0] = 1;
    memcpy(m.hello.controller, name, sizeof m.hello.controller);
    hear(&m);
    ck_assert_int_eq(last.type, MSG_WELCOME);
}

static void prepare(uint64_t command)
{
    struct msg m = {.type = MSG_PREPARE};
    uint8_t *blob;
    size_t len;
    ck_assert_int_eq(plan_encode(&plan, &blob, &len), ERR_OK);
    m.prepare.command = command;
    memset(m.prepare.run, 0xab, sizeof m.prepare.run);
    m.prepare.plan = (struct wire_blob){blob, len};
    m.prepare.total = 4;
    m.prepare.weight = 1;
    m.prepare.connections = 8;
    m.prepare.threads = 2;
    hear(&m);
    mem_free(blob);
}

static void tell(enum run_event ev, struct run_info *info)
{
    the_run.fn(the_run.arg, ev, info);
}

static void run_to_start(void)
{
    struct run_info prepared = {.connections = 8, .threads = 2, .address = "127.0.0.1:8080"};
    struct run_info started = {.started_ns = on_now(NULL) + 1};
    struct msg arm = {.type = MSG_ARM, .arm = {.command = 6, .at_ns = on_now(NULL) + 1}};
    prepare(5);
    ck_assert_msg(prepares == 1, "%s", last.error.text);
    tell(RUN_PREPARED, &prepared);
    hear(&arm);
    tell(RUN_STARTED, &started);
}

static struct snapshot *counted(uint64_t sent)
{
    struct snapshot *s = snapshot_new();
    s->intervals = 1;
    snapshot_series(s, 0, "")->counters.sent = sent;
    return s;
}

static void run_to_end(struct run_info info)
{
    info.snapshot = counted(42);
    info.snapshot->cumulative = true;
    tell(RUN_ENDED, &info);
    ck_assert_int_eq(last.type, MSG_FINAL);
}

/* Line i of a text, parsed; NULL = there is none. */
static json_t *line(const char *text, int i)
{
    json_error_t error;
    while (text != NULL && i-- > 0)
        text = (text = strchr(text, '\n')) != NULL ? text + 1 : NULL;
    if (text == NULL || *text == '\0')
        return NULL;
    const char *end = strchr(text, '\n');
    ck_assert_ptr_nonnull(end);
    json_t *j = json_loadb(text, (size_t)(end - text), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(j != NULL, "%s: %.500s", error.text, text);
    return j;
}

static void is(const json_t *j, const char *key, const char *want)
{
    const char *got = json_string_value(json_object_get(j, key));
    ck_assert_msg(got != NULL && strcmp(got, want) == 0, "%s: %s, not %s", key,
                  got != NULL ? got : "none", want);
}

static json_int_t sent_of(const json_t *j)
{
    return json_integer_value(json_object_get(json_object_get(j, "counts"), "sent"));
}

static void setup(void)
{
    folder_make(folder);
    snprintf(path, sizeof path, "%s/audit.jsonl", folder);
    snprintf(peer, sizeof peer, "tcp 192.0.2.1:7");
    snprintf(name, sizeof name, "perf@host:1");
    policy_loopback_only(&policy);
    prepares = 0;
    at_prepare = NULL;
    plan_defaults(&plan);
    plan.url = mem_strdup("http://127.0.0.1:8080/?token=hunter2&x=1");
    plan.rate = (struct rate){2000, 1};
    plan.rate_set = true;
    plan.duration_ns = 10 * NS_PER_SEC;
    plan.duration_set = true;
    ck_assert_int_eq(plan_check(&plan, NULL), ERR_OK);
}

static void teardown(void)
{
    control_free(control);
    audit_close(audit);
    control = NULL;
    audit = NULL;
    mem_free(at_prepare);
    plan_clear(&plan);
    folder_remove(folder);
}

/* Two lines a run: one on the disk before anything is opened, one when it is over. */
START_TEST(test_a_run_on_record)
{
    begin(path);
    run_to_start();
    ck_assert_ptr_nonnull(at_prepare);
    json_t *j = line(at_prepare, 0);
    is(j, "event", "begin");
    is(j, "peer", "tcp 192.0.2.1:7");
    is(j, "controller", "perf@host:1");
    is(j, "run", "abababababababababababababababab");
    is(j, "target", "http://127.0.0.1:8080/?token=REDACTED&x=1");
    is(j, "method", "GET");
    is(j, "rate", "2000/s");
    is(j, "share", "1/4");
    is(j, "duration", "10s");
    is(j, "policy", "targets loopback");
    ck_assert_int_eq(json_integer_value(json_object_get(j, "connections")), 8);
    ck_assert(json_is_null(json_object_get(j, "requests")));
    const char *hash = json_string_value(json_object_get(j, "plan_sha256"));
    ck_assert_uint_eq(strlen(hash), 64);
    const char *time = json_string_value(json_object_get(j, "time"));
    int ms, used = 0;
    ck_assert_int_eq(sscanf(time, "%*4d-%*2d-%*2dT%*2d:%*2d:%*2d.%3dZ%n", &ms, &used), 1);
    ck_assert_int_eq(time[used], '\0');
    json_decref(j);
    run_to_end((struct run_info){0});
    char *text = file_read(path);
    ck_assert_int_eq(strncmp(text, at_prepare, strlen(at_prepare)), 0);
    j = line(text, 1);
    is(j, "event", "end");
    is(j, "outcome", "finished");
    is(j, "address", "127.0.0.1:8080");
    is(j, "run", "abababababababababababababababab");
    ck_assert_int_eq(sent_of(j), 42);
    json_decref(j);
    struct msg bye = {.type = MSG_BYE};
    hear(&bye);
    ck_assert_ptr_null(line(text, 2));
    mem_free(text);
}
END_TEST

/* Who falls silent or is closed leaves what was counted so far. */
/* All whom the requests of a plan go to, not only the first. */
START_TEST(test_every_target_is_on_record)
{
    static const char *const urls[] = {"http://127.0.0.1:8080/a?token=x", "https://[::1]/{{seq}}",
                                       "http://127.0.0.1:8080/b"};
    for (size_t i = 0; i < 3; i++)
        plan_add_entry(&plan)->url = mem_strdup(urls[i]);
    begin(path);
    run_to_start();
    json_t *j = line(at_prepare, 0), *origins = json_object_get(j, "origins");
    is(j, "target", "http://127.0.0.1:8080/a?token=REDACTED");
    ck_assert_int_eq(json_integer_value(json_object_get(j, "entries")), 3);
    ck_assert_uint_eq(json_array_size(origins), 2);
    ck_assert_str_eq(json_string_value(json_array_get(origins, 0)), "http://127.0.0.1:8080");
    ck_assert_str_eq(json_string_value(json_array_get(origins, 1)), "https://[::1]:443");
    json_decref(j);
}
END_TEST

START_TEST(test_an_abandoned_run_is_on_record)
{
    struct run_info first = {.snapshot = counted(10)}, second = {.snapshot = counted(7)};
    begin(path);
    run_to_start();
    tell(RUN_SNAPSHOT, &first);
    tell(RUN_SNAPSHOT, &second);
    control_free(control);
    control = NULL;
    char *text = file_read(path);
    json_t *j = line(text, 1);
    is(j, "event", "end");
    is(j, "outcome", "abandoned");
    ck_assert_int_eq(sent_of(j), 17);
    json_decref(j);
    mem_free(text);
}
END_TEST

START_TEST(test_the_policy_ends_a_run)
{
    begin(path);
    run_to_start();
    run_to_end((struct run_info){.policy = true, .problem = "policy p.yml:3: too much"});
    ck_assert_uint_eq(last.final.reason, END_ERROR);
    ck_assert_str_eq(last.final.text, "policy p.yml:3: too much");
    char *text = file_read(path);
    json_t *j = line(text, 1);
    is(j, "outcome", "error");
    is(j, "reason", "policy p.yml:3: too much");
    json_decref(j);
    mem_free(text);
}
END_TEST

/* Caps are refused before anything is opened, with the code of a policy, and that is on record. */
START_TEST(test_refused_by_a_cap)
{
    policy.unlimited_rate = false;
    policy.max_rate = (struct rate){400, 1};
    begin(path);
    ck_assert_ptr_nonnull(strstr(last.welcome.policy, "at most 400/s"));
    prepare(5);
    ck_assert_uint_eq(prepares, 0);
    ck_assert_int_eq(last.type, MSG_ERROR);
    ck_assert_uint_eq(last.error.code, REFUSE_POLICY);
    ck_assert_str_eq(last.error.text,
                     "this agent's policy: max_rate 400/s, the plan asks this agent for 500/s");
    ck_assert_int_eq(control_state(control), AGENT_HELD);
    char *text = file_read(path);
    json_t *j = line(text, 0);
    is(j, "event", "refused");
    is(j, "outcome", "refused");
    is(j, "reason", last.error.text);
    is(j, "target", "http://127.0.0.1:8080/?token=REDACTED&x=1");
    ck_assert_ptr_null(json_object_get(j, "counts"));
    ck_assert_ptr_null(line(text, 1));
    json_decref(j);
    mem_free(text);
    policy.max_rate.num = 500; /* another policy, another answer */
    prepare(6);
    ck_assert_uint_eq(prepares, 1);
}
END_TEST

START_TEST(test_refused_by_an_address)
{
    struct run_info info = {.policy = true, .problem = "policy p.yml: targets does not allow"};
    begin(path);
    prepare(5);
    tell(RUN_REFUSED, &info);
    ck_assert_uint_eq(last.error.code, REFUSE_POLICY);
    char *text = file_read(path);
    json_t *j = line(text, 1);
    is(j, "event", "end");
    is(j, "outcome", "refused");
    is(j, "reason", info.problem);
    json_decref(j);
    mem_free(text);
}
END_TEST

START_TEST(test_refused_for_another_reason)
{
    struct run_info info = {.problem = "cannot resolve"};
    begin(path);
    prepare(5);
    tell(RUN_REFUSED, &info);
    ck_assert_uint_eq(last.error.code, REFUSE_PLAN);
}
END_TEST

START_TEST(test_no_record_no_run)
{
    begin("/dev/full");
    prepare(5);
    ck_assert_uint_eq(prepares, 0);
    ck_assert_int_eq(last.type, MSG_ERROR);
    ck_assert_str_eq(last.error.text, "audit file /dev/full: No space left on device");
    ck_assert_int_eq(control_state(control), AGENT_HELD);
}
END_TEST

/* Whatever a controller calls itself, or sends for a plan: a line is a line, and not a long one. */
START_TEST(test_hostile_names)
{
    static const char *const names[] = {"\",\"event\":\"begin\"}\n{\"x\":\"", "\xff\xfe\x80",
                                        "\n\r\t\x1b[2J", "\xe2\x80\xa8line", "\xed\xa0\x80"};
    snprintf(name, sizeof name, "%s", names[_i]);
    memset(peer, 'p', sizeof peer - 1);
    begin(path);
    struct msg m = {.type = MSG_PREPARE};
    m.prepare.command = 7;
    m.prepare.plan = (struct wire_blob){(const uint8_t *)"junk", 4};
    hear(&m);
    ck_assert_uint_eq(last.error.code, REFUSE_PLAN);
    prepare(8);
    char *text = file_read(path);
    for (const char *c = text; *c != '\0'; c++)
        ck_assert((*c >= ' ' && *c < 0x7f) || *c == '\n');
    json_t *first = line(text, 0), *second = line(text, 1);
    is(first, "event", "refused");
    ck_assert_ptr_null(json_object_get(first, "target"));
    ck_assert_uint_eq(strlen(json_string_value(json_object_get(first, "plan_sha256"))), 64);
    is(second, "event", "begin");
    ck_assert_ptr_null(line(text, 2));
    ck_assert_uint_lt(strlen(text), 4000);
    json_decref(first);
    json_decref(second);
    mem_free(text);
}
END_TEST

START_TEST(test_a_long_target_is_cut)
{
    mem_free(plan.url);
    plan.url = mem_calloc(PLAN_URL_MAX, 1);
    memset(plan.url, 'a', PLAN_URL_MAX - 1);
    memcpy(plan.url, "http://h/", 9);
    begin(path);
    prepare(5);
    ck_assert_uint_eq(prepares, 1);
    ck_assert_uint_lt(strlen(at_prepare), 2000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("admit");
    TCase *t = tcase_create("admit");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_a_run_on_record);
    tcase_add_test(t, test_every_target_is_on_record);
    tcase_add_test(t, test_an_abandoned_run_is_on_record);
    tcase_add_test(t, test_the_policy_ends_a_run);
    tcase_add_test(t, test_refused_by_a_cap);
    tcase_add_test(t, test_refused_by_an_address);
    tcase_add_test(t, test_refused_for_another_reason);
    tcase_add_test(t, test_no_record_no_run);
    tcase_add_loop_test(t, test_hostile_names, 0, 5);
    tcase_add_test(t, test_a_long_target_is_cut);
    suite_add_tcase(s, t);
    return check_main(s);
}
