/* SPDX-License-Identifier: MIT */
/*
 * Paired end-to-end test: every request carries its index, hammer-target logs when it was read and
 * answered on the same CLOCK_MONOTONIC. Per request: written - due <= corrected, written - read <=
 * uncorrected, sent <= read; every logged request is accounted for once. Immune to noise.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/tap_client.h"
#include "tests/lib/worker_rig.h"

struct pair_stats {
    uint64_t lines, answered, slack_over_5ms;
};

/* One log line: read_ns written_ns path status. */
static void check_line(const struct worker_rig *rig, struct rate rate, const char *line,
                       uint8_t *seen, size_t tags, struct pair_stats *st)
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
    ck_assert_uint_eq(r->due_ns, rig->t0 + schedule_due_of_index(&rate, index));
    ck_assert_uint_ge(r->sent_ns, r->due_ns);
    ck_assert_uint_le(r->sent_ns, read_ns);
    if (r->outcome != OUTCOME_OK)
        return;
    st->answered++;
    ck_assert_uint_ge(r->done_ns, written_ns);
    if (r->done_ns - written_ns > 5 * NS_PER_MS)
        st->slack_over_5ms++;
}

static struct pair_stats check_log(const struct worker_rig *rig, struct rate rate, const char *log,
                                   size_t tags)
{
    struct pair_stats st = {0};
    uint8_t *seen = mem_calloc(tags, 1);
    char *text = file_read(log), *save = NULL;
    ck_assert_ptr_nonnull(text);
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        check_line(rig, rate, line, seen, tags, &st);
    mem_free(text);
    mem_free(seen);
    return st;
}

/* The recorder's histograms must be exactly what the tap saw, bucket for bucket. */
static void check_histograms(const struct worker_rig *rig, size_t tags)
{
    struct hist *corrected = hist_new_default(), *uncorrected = hist_new_default();
    for (size_t i = 0; i < tags; i++) {
        const struct client_result *r = tap_result(i);
        if (r == NULL || r->outcome != OUTCOME_OK)
            continue;
        hist_record(corrected, r->done_ns - r->due_ns, 1);
        hist_record(uncorrected, r->done_ns - r->sent_ns, 1);
    }
    struct hist *c = snapshot_hist(rig->total, HIST_CORRECTED);
    struct hist *u = snapshot_hist(rig->total, HIST_UNCORRECTED);
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
    struct worker_rig rig;
    char url[160];
    target_start(&target, target_args);
    snprintf(url, sizeof url, "%sr/{i}", target.url);
    struct worker_rig_plan plan = {rate, duration_ns, timeout_ns, WORKER_RIG_MAX, 5};
    worker_rig_run(&rig, url, &plan);
    struct counters c = snapshot_counters(rig.total);
    struct errmsg msg = {{0}};
    ck_assert_msg(counters_check(&c, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(c.scheduled, rig.tags);
    process_signal(&target.process, 15);
    process_wait(&target.process, 10000);
    *st = check_log(&rig, rate, target.log, rig.tags);
    check_histograms(&rig, rig.tags);
    *out = c;
    worker_rig_close(&rig);
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
