/* SPDX-License-Identifier: MIT */
/*
 * Paired end-to-end test: every request carries its index, hammer-target logs when it was read and
 * answered on the same CLOCK_MONOTONIC. Per request: written - due <= corrected, written - read <=
 * uncorrected, sent <= read; every logged request is accounted for once. Immune to noise.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/client/request.h"
#include "agent/client/target.h"
#include "agent/engine/recorder.h"
#include "agent/engine/worker.h"
#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/tap_client.h"

#define WORKERS 4

struct bench {
    struct loop *loop;
    struct mailbox *reports;
    struct worker *workers[WORKERS];
    struct target target;
    struct request request;
    struct snapshot *total;
    uint32_t prepared, finals;
    bool dropping;
    uint64_t t0;
};

static void on_letter(void *arg, struct letter *l)
{
    struct bench *b = arg;
    if (b->dropping)
        return;
    if (l->kind == WORKER_PREPARED)
        b->prepared++;
    if (l->kind == WORKER_PART) {
        struct part *p = (struct part *)(void *)((char *)l - offsetof(struct part, letter));
        b->finals += p->final;
        ck_assert_int_eq(part_add_to(p, b->total), ERR_OK);
        worker_give(b->workers[p->worker], p);
    }
}

static void turn_until(struct bench *b, const uint32_t *value, uint32_t wanted, uint64_t ms)
{
    uint64_t until = clock_mono_ns() + ms * NS_PER_MS;
    while (*value < wanted) {
        ck_assert_msg(clock_mono_ns() < until, "%u of %u", *value, wanted);
        struct timespec nap = {0, 1000000};
        loop_turn(b->loop, 0);
        nanosleep(&nap, NULL);
    }
}

static void compile_request(struct bench *b, const char *url)
{
    struct plan plan;
    struct url_parts parts;
    struct errmsg msg = {{0}};
    plan_defaults(&plan);
    plan.url = mem_strdup(url);
    plan.rate = (struct rate){1, 1};
    plan.rate_set = true;
    setenv("HAMMER_TEST_INDEX", "1", 1);
    ck_assert_msg(plan_check(&plan, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(url_parse(url, &parts, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(target_resolve(parts.host, parts.port, &b->target, &msg) == ERR_OK, "%s",
                  msg.text);
    ck_assert_msg(request_compile(&plan, &parts, &b->request, &msg) == ERR_OK, "%s", msg.text);
    url_clear(&parts);
    plan_clear(&plan);
}

static void run_workers(struct bench *b, struct rate rate, uint64_t duration_ns, uint64_t timeout)
{
    struct errmsg msg = {{0}};
    for (uint32_t i = 0; i < WORKERS; i++) {
        /* two agents of weights 1 and 2, two threads each */
        struct share share = {3, i < 2 ? 0 : 1, i < 2 ? 1 : 2, 2, i % 2};
        struct worker_config cfg = {.number = i,
                                    .ops = tap_ops(),
                                    .target = &b->target,
                                    .request = &b->request,
                                    .connections = 5,
                                    .timeout_ns = timeout,
                                    .interval_ns = 100 * NS_PER_MS,
                                    .reports = b->reports};
        ck_assert_int_eq(schedule_init(&cfg.schedule, &rate, &share, duration_ns, UINT64_MAX, &msg),
                         ERR_OK);
        ck_assert_msg(worker_start(&cfg, &b->workers[i], &msg) == ERR_OK, "%s", msg.text);
    }
    turn_until(b, &b->prepared, WORKERS, 20000);
    b->t0 = clock_mono_ns() + 50 * NS_PER_MS;
    for (uint32_t i = 0; i < WORKERS; i++)
        worker_arm(b->workers[i], b->t0);
    turn_until(b, &b->finals, WORKERS, 60000);
}

static void bench_open(struct bench *b, const char *url)
{
    struct errmsg msg = {{0}};
    *b = (struct bench){.total = snapshot_new()};
    ck_assert_int_eq(loop_new(&b->loop, &msg), ERR_OK);
    ck_assert_int_eq(mailbox_new(b->loop, on_letter, b, &b->reports, &msg), ERR_OK);
    compile_request(b, url);
}

static void bench_close(struct bench *b)
{
    for (uint32_t i = 0; i < WORKERS; i++)
        worker_join(b->workers[i]);
    b->dropping = true;
    mailbox_free(b->reports);
    for (uint32_t i = 0; i < WORKERS; i++)
        worker_free(b->workers[i]);
    loop_free(b->loop);
    request_clear(&b->request);
    snapshot_free(b->total);
}

struct pair_stats {
    uint64_t lines, answered, slack_over_5ms;
};

/* One log line: read_ns written_ns path status. */
static void check_line(const struct bench *b, struct rate rate, const char *line, uint8_t *seen,
                       size_t tags, struct pair_stats *st)
{
    uint64_t read_ns, written_ns, index;
    if (sscanf(line, "%" SCNu64 " %" SCNu64 " /r/%" SCNu64, &read_ns, &written_ns, &index) != 3)
        ck_abort_msg("unexpected log line: %s", line);
    ck_assert_uint_lt(index, tags);
    ck_assert_msg(!seen[index], "request %" PRIu64 " reached the server twice", index);
    seen[index] = 1;
    st->lines++;
    const struct client_result *r = tap_result(index);
    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(r->due_ns, b->t0 + schedule_due_of_index(&rate, index));
    ck_assert_uint_ge(r->sent_ns, r->due_ns);
    ck_assert_uint_le(r->sent_ns, read_ns);
    if (r->outcome != OUTCOME_OK)
        return;
    st->answered++;
    ck_assert_uint_ge(r->done_ns, written_ns);
    if (r->done_ns - written_ns > 5 * NS_PER_MS)
        st->slack_over_5ms++;
}

static struct pair_stats check_log(const struct bench *b, struct rate rate, const char *log,
                                   size_t tags)
{
    struct pair_stats st = {0};
    uint8_t *seen = mem_calloc(tags, 1);
    char *text = file_read(log), *save = NULL;
    ck_assert_ptr_nonnull(text);
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        check_line(b, rate, line, seen, tags, &st);
    mem_free(text);
    mem_free(seen);
    return st;
}

/* The recorder's histograms must be exactly what the tap saw, bucket for bucket. */
static void check_histograms(const struct bench *b, size_t tags)
{
    struct hist *corrected = hist_new_default(), *uncorrected = hist_new_default();
    for (size_t i = 0; i < tags; i++) {
        const struct client_result *r = tap_result(i);
        if (r == NULL || r->outcome != OUTCOME_OK)
            continue;
        hist_record(corrected, r->done_ns - r->due_ns, 1);
        hist_record(uncorrected, r->done_ns - r->sent_ns, 1);
    }
    struct hist *c = snapshot_hist(b->total, HIST_CORRECTED);
    struct hist *u = snapshot_hist(b->total, HIST_UNCORRECTED);
    ck_assert(hist_equal(c, corrected));
    ck_assert(hist_equal(u, uncorrected));
    hist_free(c);
    hist_free(u);
    hist_free(corrected);
    hist_free(uncorrected);
}

static void paired(const char *const *target_args, uint64_t timeout_ns, struct rate rate,
                   uint64_t duration_ns, struct counters *out, struct pair_stats *st)
{
    struct target_process target;
    struct bench b;
    char url[160];
    target_start(&target, target_args);
    snprintf(url, sizeof url, "%sr/{i}", target.url);
    bench_open(&b, url);
    struct share whole = {1, 0, 1, 1, 0};
    struct schedule single;
    ck_assert_int_eq(schedule_init(&single, &rate, &whole, duration_ns, UINT64_MAX, NULL), ERR_OK);
    tap_begin(single.count);
    run_workers(&b, rate, duration_ns, timeout_ns);
    struct counters c = snapshot_counters(b.total);
    struct errmsg msg = {{0}};
    ck_assert_msg(counters_check(&c, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(c.scheduled, single.count);
    process_signal(&target.process, 15);
    process_wait(&target.process, 10000);
    *st = check_log(&b, rate, target.log, single.count);
    check_histograms(&b, single.count);
    *out = c;
    tap_end();
    bench_close(&b);
    target_stop(&target);
}

START_TEST(test_healthy_server)
{
    struct counters c;
    struct pair_stats st;
    paired(NULL, 2 * NS_PER_SEC, (struct rate){900, 1}, 2 * NS_PER_SEC, &c, &st);
    ck_assert_uint_eq(c.sent, 1800);
    ck_assert_uint_eq(c.ok, 1800);
    ck_assert_uint_eq(st.lines, 1800);
    ck_assert_uint_eq(st.answered, 1800);
}
END_TEST

START_TEST(test_frozen_server)
{
    static const char *const freeze[] = {"--freeze-at", "502500us", "--freeze-for", "700ms", NULL};
    struct counters c;
    struct pair_stats st;
    paired(freeze, 5 * NS_PER_SEC, (struct rate){400, 1}, 2 * NS_PER_SEC, &c, &st);
    ck_assert_uint_eq(c.ok, 800);
    ck_assert_uint_eq(st.lines, 800);
    ck_assert_uint_ge(c.waited, 100);
}
END_TEST

/* Timed-out requests reach the server too, late; none of them may become a sample. */
START_TEST(test_timeouts_are_not_samples)
{
    static const char *const slow[] = {"--slow", "5%:700ms", NULL};
    struct counters c;
    struct pair_stats st;
    paired(slow, 300 * NS_PER_MS, (struct rate){200, 1}, 2 * NS_PER_SEC, &c, &st);
    ck_assert_uint_eq(c.scheduled, 400);
    ck_assert_uint_ge(c.timeouts, 10);
    ck_assert_uint_eq(c.completed, st.answered);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("paired");
    TCase *t = tcase_create("paired");
    tcase_set_timeout(t, 90);
    tcase_add_test(t, test_healthy_server);
    tcase_add_test(t, test_frozen_server);
    tcase_add_test(t, test_timeouts_are_not_samples);
    suite_add_tcase(s, t);
    return check_main(s);
}
