/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/store/replay_core.h"
#include "controller/store/replay_merge.h"
#include "tests/lib/check_main.h"
#include "tests/lib/random_snapshot.h"
#include "tests/lib/stored_world.h"

static uint64_t rng;

static void seed(void)
{
    rng = check_seed();
    check_random(&rng);
}

static struct replayed *replay_all(struct stored_world *const *worlds, size_t n,
                                   const struct replay_options *o)
{
    struct replay_source sources[STORED_AGENTS];
    const struct replay_options none = {0};
    struct replayed *r;
    struct errmsg msg = {{0}};
    for (size_t i = 0; i < n; i++)
        sources[i] = stored_world_source(worlds[i]);
    enum err e = replay_sources(sources, n, o != NULL ? o : &none, &r, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    return r;
}

static struct replayed *replay(struct stored_world *w, const struct result_view *view)
{
    struct replay_options o = {0};
    if (view != NULL)
        o.view = *view;
    return replay_all(&w, 1, &o);
}

static enum err refused(struct stored_world *w, const struct result_view *view, char text[512])
{
    struct replay_source source = stored_world_source(w);
    const struct replay_options o = {.view = *view};
    struct replayed *r;
    struct errmsg msg = {{0}};
    enum err e = replay_sources(&source, 1, &o, &r, &msg);
    ck_assert_int_ne(e, ERR_OK);
    ck_assert_ptr_null(r);
    memcpy(text, msg.text, sizeof msg.text);
    return e;
}

static void end(struct replayed *r)
{
    replayed_clear(r);
    mem_free(r);
}

/* The sum of the snapshots, added without any of the code under test. */
static struct snapshot *sum_of(const struct stored_world *w)
{
    struct snapshot *sum = snapshot_new();
    for (size_t i = 0; i < w->n_rows; i++) {
        struct snapshot *s;
        ck_assert_int_eq(snapshot_decode(w->rows[i].bytes, w->rows[i].len, &s), ERR_OK);
        if (!s->cumulative)
            ck_assert_int_eq(snapshot_add(sum, s, false), ERR_OK);
        snapshot_free(s);
    }
    return sum;
}

/* --- whole runs ------------------------------------------------------------------------------- */

START_TEST(test_a_run_comes_back)
{
    struct stored_world w;
    stored_world_make(&w, &rng, 1, 3, false);
    struct replayed *r = replay(&w, NULL);
    struct snapshot *sum = sum_of(&w);
    assert_same_data(r->result->total, sum);
    ck_assert_uint_eq(r->result->n_intervals, STORED_SLOTS);
    for (size_t i = 0; i < 3; i++)
        ck_assert(r->result->agents[i].checked);
    ck_assert_int_eq(r->result->verdict.status, STATUS_VALID);
    ck_assert_str_eq(r->result->run_id, w.recording->run_id);
    ck_assert(!r->result->view.partial);
    snapshot_free(sum);
    end(r);
    stored_world_clear(&w);
}
END_TEST

/* Nobody saw its end: what came is there, and the verdict says what is missing. */
START_TEST(test_a_run_without_an_end)
{
    struct stored_world w;
    stored_world_make(&w, &rng, 1, 2, false);
    w.recording->ended_wall_ns = 0;
    w.recording->status[0] = '\0';
    w.n_rows -= 4; /* both totals, the last snapshots */
    struct replayed *r = replay(&w, NULL);
    ck_assert_int_eq(r->result->verdict.status, STATUS_INCOMPLETE);
    ck_assert_ptr_nonnull(strstr(r->result->verdict.reasons[0], "gone before the end"));
    ck_assert_int_eq(r->result->agents[0].state, RESULT_UNKNOWN);
    ck_assert_uint_eq(r->result->n_intervals, STORED_SLOTS - 1);
    end(r);
    w.n_rows += 4;
    stored_world_clear(&w);
}
END_TEST

static void drop_row(struct stored_world *w, size_t at)
{
    mem_free(w->rows[at].bytes);
    memmove(&w->rows[at], &w->rows[at + 1], (w->n_rows - at - 1) * sizeof w->rows[0]);
    w->n_rows--;
}

START_TEST(test_lost_rows_are_counted)
{
    struct stored_world w;
    stored_world_make(&w, &rng, 1, 2, false);
    drop_row(&w, 6);
    drop_row(&w, 8);
    struct replayed *r = replay(&w, NULL);
    ck_assert_int_eq(r->result->verdict.status, STATUS_INCOMPLETE);
    ck_assert_uint_eq(r->result->lost_rows, 2);
    ck_assert_ptr_nonnull(strstr(r->result->verdict.reasons[0], "2 snapshots"));
    end(r);
    stored_world_clear(&w);
}
END_TEST

START_TEST(test_damage_is_named)
{
    struct stored_world w;
    const struct result_view all = {0};
    char text[512];
    stored_world_make(&w, &rng, 1, 2, false);
    w.rows[5].len /= 2;
    refused(&w, &all, text);
    ck_assert_msg(strstr(text, "snapshot 3 of agent 10.0.1.1:7400") != NULL, "%s", text);
    stored_world_clear(&w);
}
END_TEST

/* --- parts ------------------------------------------------------------------------------------ */

START_TEST(test_windows_add_up)
{
    struct stored_world w;
    stored_world_make(&w, &rng, 1, 2, false);
    uint64_t cut = 1 + check_below(&rng, STORED_SLOTS - 1);
    const struct result_view before = {.to_ns = cut * STORED_INTERVAL};
    const struct result_view after = {.from_ns = cut * STORED_INTERVAL};
    struct replayed *a = replay(&w, &before), *b = replay(&w, &after);
    struct snapshot *sum = sum_of(&w), *both = snapshot_copy(a->result->total);
    ck_assert_int_eq(snapshot_add(both, b->result->total, false), ERR_OK);
    assert_same_data(both, sum);
    ck_assert(a->result->view.partial && b->result->view.partial);
    ck_assert_uint_eq(a->result->n_intervals, cut);
    ck_assert_uint_eq(b->result->n_intervals, STORED_SLOTS - cut);
    ck_assert_uint_eq(b->result->intervals[0].from_ns, cut * STORED_INTERVAL);
    ck_assert_uint_eq(b->result->n_objectives, 0);
    ck_assert_int_eq(b->result->verdict.status, STATUS_VALID);
    snapshot_free(sum);
    snapshot_free(both);
    end(a);
    end(b);
    stored_world_clear(&w);
}
END_TEST

START_TEST(test_a_window_goes_outwards)
{
    struct stored_world w;
    stored_world_make(&w, &rng, 1, 1, false);
    const struct result_view asked = {.from_ns = 700 * NS_PER_MS, .to_ns = 1100 * NS_PER_MS};
    struct replayed *r = replay(&w, &asked);
    ck_assert_uint_eq(r->result->view.from_ns, STORED_INTERVAL);
    ck_assert_uint_eq(r->result->view.to_ns, 3 * STORED_INTERVAL);
    ck_assert_uint_eq(r->result->n_intervals, 2);
    end(r);
    const struct result_view late = {.from_ns = NS_PER_SEC, .to_ns = 3600 * NS_PER_SEC};
    r = replay(&w, &late);
    ck_assert_uint_eq(r->result->view.to_ns, STORED_SLOTS * STORED_INTERVAL);
    end(r);
    stored_world_clear(&w);
}
END_TEST

START_TEST(test_agents_add_up)
{
    struct stored_world w;
    stored_world_make(&w, &rng, 1, 3, false);
    struct snapshot *sum = sum_of(&w), *all = snapshot_new();
    for (size_t i = 0; i < 3; i++) {
        struct result_view v = {0};
        snprintf(v.agent, sizeof v.agent, i == 2 ? "10.0.1.2:7400" : "%c", (int)('a' + i));
        struct replayed *r = replay(&w, &v);
        ck_assert_uint_eq(r->result->n_agents, 1);
        ck_assert(r->result->agents[0].checked);
        ck_assert_int_eq(snapshot_add(all, r->result->total, false), ERR_OK);
        end(r);
    }
    assert_same_data(all, sum);
    snapshot_free(all);
    snapshot_free(sum);
    stored_world_clear(&w);
}
END_TEST

/* By stage and name there are the two clocks and the ledger, and nothing of what is kept once. */
START_TEST(test_rows_add_up)
{
    struct stored_world w;
    stored_world_make(&w, &rng, 1, 2, false);
    struct snapshot *sum = sum_of(&w), *all = snapshot_new();
    for (uint32_t stage = 0; stage < 2; stage++)
        for (int k = 0; k < 2; k++) {
            struct result_view v = {.one_stage = true, .stage = stage};
            snprintf(v.request, sizeof v.request, k == 0 ? "login" : "cart");
            struct replayed *r = replay(&w, &v);
            ck_assert_uint_eq(r->result->total->n_series, 1);
            ck_assert_uint_eq(r->result->total->status[200], 0);
            ck_assert_uint_eq(snapshot_counters(r->result->total).connects, 0);
            ck_assert_int_eq(snapshot_add(all, r->result->total, false), ERR_OK);
            end(r);
        }
    for (int k = HIST_CORRECTED; k <= HIST_UNCORRECTED; k++) {
        struct hist *a = snapshot_hist(all, (enum hist_kind)k);
        struct hist *b = snapshot_hist(sum, (enum hist_kind)k);
        ck_assert(hist_equal(a, b));
        hist_free(a);
        hist_free(b);
    }
    struct hist *lag = snapshot_hist(all, HIST_SEND_LAG);
    ck_assert_uint_eq(hist_count(lag), 0);
    hist_free(lag);
    struct counters a = snapshot_counters(all), b = snapshot_counters(sum);
    b.connects = b.bytes_in = 0;
    ck_assert(counters_equal(&a, &b));
    snapshot_free(all);
    snapshot_free(sum);
    stored_world_clear(&w);
}
END_TEST

START_TEST(test_what_is_not_there_is_named)
{
    static const struct {
        struct result_view view;
        const char *say;
    } cases[] = {
        {{.agent = "z"}, "--agent z: the run has a (10.0.1.0:7400), b (10.0.1.1:7400)"},
        {{.request = "x"}, "--request x: the run has login, cart"},
        {{.one_stage = true, .stage = 6}, "--stage 7: the run has 1 (2s@100), 2 (2s@100)"},
        {{.from_ns = 60 * NS_PER_SEC}, "--from 1m: the run ended 4.00s after its start"},
        {{.from_ns = 2 * NS_PER_SEC, .to_ns = NS_PER_SEC}, "--from 2s --to 1s: accepted is"},
    };
    struct stored_world w;
    stored_world_make(&w, &rng, 1, 2, false);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        refused(&w, &cases[i].view, text);
        ck_assert_msg(strstr(text, cases[i].say) != NULL, "%s", text);
    }
    stored_world_clear(&w);
}
END_TEST

/* --- several ---------------------------------------------------------------------------------- */

/* A run in k parts is the run: totals, agents and timeline, whatever the order. */
START_TEST(test_parts_make_the_whole)
{
    struct stored_world w, parts[STORED_AGENTS], *order[STORED_AGENTS];
    rng += (uint64_t)_i;
    stored_world_make(&w, &rng, 1, STORED_AGENTS, false);
    size_t n = 0, first = 0;
    while (first < STORED_AGENTS) {
        size_t some = 1 + check_below(&rng, STORED_AGENTS - first);
        stored_world_part(&parts[n], &w, 2 + (unsigned)n, first, some);
        order[n] = &parts[n];
        first += some;
        n++;
    }
    struct replayed *whole = replay(&w, NULL), *sum = replay_all(order, n, NULL);
    assert_same_data(whole->result->total, sum->result->total);
    ck_assert_uint_eq(sum->result->n_agents, STORED_AGENTS);
    ck_assert_uint_eq(sum->result->n_intervals, whole->result->n_intervals);
    for (size_t i = 0; i < whole->result->n_intervals; i++) {
        const struct result_interval *a = &whole->result->intervals[i];
        const struct result_interval *b = &sum->result->intervals[i];
        ck_assert_mem_eq(&a->corrected, &b->corrected, sizeof a->corrected);
        ck_assert_mem_eq(&a->uncorrected, &b->uncorrected, sizeof a->uncorrected);
        ck_assert_uint_eq(a->sent, b->sent);
        ck_assert_uint_eq(a->backlog, b->backlog);
        ck_assert_uint_eq(b->agents_late, 0);
        ck_assert_uint_eq(a->agents_reporting, b->agents_reporting);
    }
    ck_assert_uint_eq(sum->parts.plan.stages[0].from.num, 100 * n);
    ck_assert_uint_eq(sum->result->verdict.n_warnings, 0);
    end(whole);
    end(sum);
    for (size_t i = 0; i < n; i++)
        stored_world_clear(&parts[i]);
    stored_world_clear(&w);
}
END_TEST

static struct recording *merged(struct recording *a, struct recording *b)
{
    struct recording *all[2] = {a, b}, *out;
    char differ[REPLAY_DIFFER];
    struct errmsg msg = {{0}};
    if (replay_merge_before(b, a)) {
        all[0] = b;
        all[1] = a;
    }
    enum err e = replay_merge(all, 2, &out, differ, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    return out;
}

/* The id and the sources of the sum are the same, whoever came first. */
START_TEST(test_merging_is_associative)
{
    struct stored_world w[3];
    for (unsigned i = 0; i < 3; i++)
        stored_world_make(&w[i], &rng, i + 1, 1, false);
    struct recording *ab = merged(w[0].recording, w[1].recording);
    struct recording *bc = merged(w[2].recording, w[1].recording);
    struct recording *left = merged(ab, w[2].recording), *right = merged(bc, w[0].recording);
    ck_assert_str_eq(left->run_id, right->run_id);
    ck_assert_str_eq(left->environment, right->environment);
    ck_assert_uint_eq(left->plan_len, right->plan_len);
    ck_assert_mem_eq(left->plan, right->plan, left->plan_len);
    ck_assert_uint_eq(left->started_wall_ns, right->started_wall_ns);
    ck_assert_str_eq(left->tags, "merged");
    struct recording *const list[] = {ab, bc, left, right};
    struct recording *twice[] = {w[0].recording, ab}, *none;
    char differ[REPLAY_DIFFER];
    struct errmsg msg;
    ck_assert_int_eq(replay_merge(twice, 2, &none, differ, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "twice"));
    for (size_t i = 0; i < 4; i++)
        recording_free(list[i]);
    for (size_t i = 0; i < 3; i++)
        stored_world_clear(&w[i]);
}
END_TEST

START_TEST(test_names_stay_apart)
{
    struct stored_world w[2];
    struct stored_world *both[] = {&w[0], &w[1]};
    for (unsigned i = 0; i < 2; i++)
        stored_world_make(&w[i], &rng, i + 1, 2, true);
    struct replayed *r = replay_all(both, 2, NULL);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(r->result->agents[i].name, r->result->agents[k].name);
    end(r);
    stored_world_clear(&w[0]);
    stored_world_clear(&w[1]);
}
END_TEST

START_TEST(test_what_cannot_be_merged)
{
    struct stored_world w[2];
    struct errmsg msg = {{0}};
    struct replayed *r;
    const struct replay_options none = {0};
    for (unsigned i = 0; i < 2; i++)
        stored_world_make(&w[i], &rng, i + 1, 1, false);
    struct replay_source sources[] = {stored_world_source(&w[0]), stored_world_source(&w[0])};
    ck_assert_int_eq(replay_sources(sources, 2, &none, &r, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "twice"));
    sources[1] = stored_world_source(&w[1]);
    w[1].recording->interval_ns = NS_PER_SEC;
    ck_assert_int_eq(replay_sources(sources, 2, &none, &r, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "their intervals are 500ms and 1s"));
    stored_world_clear(&w[0]);
    stored_world_clear(&w[1]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("replay");
    TCase *t = tcase_create("replay");
    tcase_add_checked_fixture(t, seed, NULL);
    tcase_add_test(t, test_a_run_comes_back);
    tcase_add_test(t, test_a_run_without_an_end);
    tcase_add_test(t, test_lost_rows_are_counted);
    tcase_add_test(t, test_damage_is_named);
    tcase_add_test(t, test_windows_add_up);
    tcase_add_test(t, test_a_window_goes_outwards);
    tcase_add_test(t, test_agents_add_up);
    tcase_add_test(t, test_rows_add_up);
    tcase_add_test(t, test_what_is_not_there_is_named);
    tcase_add_loop_test(t, test_parts_make_the_whole, 0, 8);
    tcase_add_test(t, test_merging_is_associative);
    tcase_add_test(t, test_names_stay_apart);
    tcase_add_test(t, test_what_cannot_be_merged);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
