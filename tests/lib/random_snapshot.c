/* SPDX-License-Identifier: MIT */
#include "tests/lib/random_snapshot.h"

#include <stdio.h>

#include "tests/lib/check_main.h"

static void random_hist(uint64_t *rng, struct hist *h, uint64_t count)
{
    while (count > 0) {
        uint64_t n = 1 + check_below(rng, count);
        uint64_t v = check_random(rng);
        hist_record(h, v >> (20 + check_below(rng, 44)), n);
        count -= n;
    }
}

static void random_series(uint64_t *rng, struct snapshot *s)
{
    static const char *const names[] = {"", "login", "cart", "gr\xc3\xbc\xc3\x9f"};
    uint32_t stage = (uint32_t)check_below(rng, 4);
    stage = stage == 3 ? SERIES_STAGE_WARMUP : stage;
    struct series *one = snapshot_series(s, stage, names[check_below(rng, 4)]);
    for (size_t i = 0; i < COUNTERS_N; i++) {
        uint64_t n = check_random(rng) >> 24;
        if (n % 2 == 0)
            counters_set(&one->counters, i, n >> check_below(rng, 40));
    }
    for (size_t k = 0; k < HIST_KINDS; k++)
        if (check_below(rng, 2) == 0)
            random_hist(rng, series_hist(one, (enum hist_kind)k), check_below(rng, 1000));
    one->counters.completed =
        one->hists[HIST_CORRECTED] == NULL ? 0 : hist_count(one->hists[HIST_CORRECTED]);
}

struct snapshot *random_snapshot(uint64_t *rng)
{
    struct snapshot *s = snapshot_new();
    s->seq = 1 + check_below(rng, 1000);
    s->from_ns = check_below(rng, 3); /* often at the same instant */
    s->to_ns = s->from_ns + check_below(rng, 3);
    s->intervals = 1;
    s->cumulative = check_below(rng, 2);
    s->backlog = check_below(rng, 100);
    s->in_flight = check_below(rng, 100);
    s->cpu_ns = check_below(rng, 1000000);
    s->cpu_busy_ppm = check_below(rng, 1000000);
    s->spin_ns = check_below(rng, 1000000);
    s->context_switches = check_below(rng, 1000000);
    s->preemptions = check_below(rng, 1000000);
    s->censored_age_ns = check_below(rng, 1000000);
    for (uint64_t i = check_below(rng, 2); i > 0; i--) /* often at the same instant */
        snapshot_note_first(s, check_below(rng, 3), check_below(rng, 2),
                            &"nginx\x1b"[check_below(rng, 3)]);
    if (check_below(rng, 4) == 0)
        snapshot_note_debug(s, "> GET / HTTP/1.1\n\x1b");
    for (uint64_t i = check_below(rng, 3); i > 0; i--)
        random_series(rng, s);
    for (uint64_t i = check_below(rng, 4); i > 0; i--)
        s->status[SNAPSHOT_STATUS_MIN + check_below(rng, 500)] = i;
    for (uint64_t i = check_below(rng, 30); i > 0; i--) {
        char text[32];
        snprintf(text, sizeof text, "error %u", (unsigned)check_below(rng, 60));
        snapshot_add_error(s, text, check_below(rng, 9));
    }
    for (uint64_t i = check_below(rng, 2) * check_below(rng, 10); i > 0; i--) {
        char text[32];
        snprintf(text, sizeof text, "TLSv1.3 SUITE_%u", (unsigned)check_below(rng, 12));
        snapshot_add_suite(s, text, check_below(rng, 9));
    }
    for (uint64_t i = check_below(rng, 2) * check_below(rng, 50); i > 0; i--) {
        char text[32];
        snprintf(text, sizeof text, "127.0.0.%u:80", (unsigned)check_below(rng, 60));
        snapshot_add_address(s, text, check_below(rng, 9));
    }
    s->errors_other += check_below(rng, 3);
    return s;
}

void assert_same_data(const struct snapshot *a, const struct snapshot *b)
{
    struct errmsg msg = {""};
    ck_assert_msg(snapshot_same_data(a, b, &msg), "%s", msg.text);
    ck_assert_str_eq(msg.text, "");
}

/* Everything that adding is about. */
void assert_same_snapshot(const struct snapshot *a, const struct snapshot *b)
{
    assert_same_data(a, b);
    ck_assert_uint_eq(a->from_ns, b->from_ns);
    ck_assert_uint_eq(a->to_ns, b->to_ns);
    ck_assert_uint_eq(a->intervals, b->intervals);
    ck_assert_uint_eq(a->backlog, b->backlog);
    ck_assert_uint_eq(a->in_flight, b->in_flight);
    ck_assert_uint_eq(a->cpu_ns, b->cpu_ns);
    ck_assert_uint_eq(a->cpu_busy_ppm, b->cpu_busy_ppm);
    ck_assert_uint_eq(a->spin_ns, b->spin_ns);
    ck_assert_uint_eq(a->context_switches, b->context_switches);
    ck_assert_uint_eq(a->preemptions, b->preemptions);
    ck_assert_uint_eq(a->censored_age_ns, b->censored_age_ns);
    ck_assert_uint_eq(a->n_errors, b->n_errors);
    ck_assert_uint_eq(a->first_ns, b->first_ns);
    ck_assert_uint_eq(a->document_bytes, b->document_bytes);
    ck_assert_str_eq(a->server, b->server);
    ck_assert_int_eq(a->debug != NULL, b->debug != NULL);
    ck_assert(a->debug == NULL || strcmp(a->debug, b->debug) == 0);
}
