/* SPDX-License-Identifier: MIT */
/* The tables of the codec are static: it is included. */
#include "proto/snapshot_codec.c"

#include <stdio.h>

#include "tests/lib/check_main.h"
#include "tests/lib/mem_watch.h"
#include "tests/lib/pinned.h"
#include "tests/lib/random_snapshot.h"

/* From a copy of exactly that size, so that a sanitizer sees the first byte too many. */
static enum err decode(const uint8_t *buf, size_t len, struct snapshot **out)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    memcpy(copy, buf, len);
    enum err e = snapshot_decode(copy, len, out);
    free(copy);
    ck_assert_int_eq(*out == NULL, e != ERR_OK);
    return e;
}

START_TEST(test_the_wire_form_comes_back)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 60; turn++) {
        struct snapshot *s = random_snapshot(&rng), *back;
        uint8_t *buf, *again;
        size_t len, again_len;
        ck_assert_int_eq(snapshot_encode(s, &buf, &len), ERR_OK);
        ck_assert_int_eq(decode(buf, len, &back), ERR_OK);
        assert_same_snapshot(s, back);
        ck_assert_uint_eq(s->seq, back->seq);
        ck_assert_int_eq(s->cumulative, back->cumulative);
        ck_assert_uint_eq(s->n_series, back->n_series);
        ck_assert_int_eq(snapshot_encode(back, &again, &again_len), ERR_OK);
        ck_assert_uint_eq(len, again_len);
        ck_assert_int_eq(memcmp(buf, again, len), 0); /* one form only */
        mem_free(buf);
        mem_free(again);
        snapshot_free(s);
        snapshot_free(back);
    }
}
END_TEST

static struct snapshot *small_snapshot(void)
{
    struct snapshot *s = snapshot_new();
    s->seq = s->intervals = 1;
    s->to_ns = 1000;
    struct series *one = snapshot_series(s, 1, "a");
    one->counters.completed = one->counters.ok = 3;
    hist_record(series_hist(one, HIST_CORRECTED), 1234, 3);
    hist_record(series_hist(one, HIST_UNCORRECTED), HIST_HIGHEST + 1, 3);
    snapshot_series(s, 1, "b")->counters.late = 1;
    s->status[200] = 3;
    snapshot_add_error(s, "x", 1);
    snapshot_add_error(s, "y", 1);
    return s;
}

START_TEST(test_cut_bytes_are_refused_and_freed)
{
    struct snapshot *s = small_snapshot(), *back;
    uint8_t *buf;
    size_t len;
    ck_assert_int_eq(snapshot_encode(s, &buf, &len), ERR_OK);
    size_t live = mem_watch.live;
    for (size_t cut = 0; cut < len; cut++) {
        ck_assert_int_ne(decode(buf, cut, &back), ERR_OK);
        ck_assert_uint_eq(mem_watch.live, live);
    }
    buf = mem_realloc(buf, len + 1, 1);
    buf[len] = 0;
    ck_assert_int_eq(decode(buf, len + 1, &back), ERR_CORRUPT);
    mem_free(buf);
    snapshot_free(s);
}
END_TEST

START_TEST(test_mutants_are_refused_or_whole)
{
    uint64_t rng = check_seed();
    struct snapshot *s = small_snapshot(), *back;
    uint8_t *buf, *mutant;
    size_t len, live, accepted = 0;
    ck_assert_int_eq(snapshot_encode(s, &buf, &len), ERR_OK);
    mutant = mem_calloc(len, 1);
    live = mem_watch.live;
    for (int i = 0; i < 20000; i++) {
        memcpy(mutant, buf, len);
        for (uint64_t k = 1 + check_below(&rng, 3); k > 0; k--)
            mutant[check_below(&rng, len)] = (uint8_t)check_random(&rng);
        mem_watch_reset();
        if (decode(mutant, len, &back) == ERR_OK) {
            struct snapshot *sum = snapshot_new();
            accepted += snapshot_add(sum, back, false) == ERR_OK;
            for (size_t k = 0; k < back->n_series; k++) {
                const struct series *one = &back->series[k];
                ck_assert_uint_eq(one->counters.completed,
                                  one->hists[HIST_CORRECTED] == NULL
                                      ? 0
                                      : hist_count(one->hists[HIST_CORRECTED]));
            }
            snapshot_free(sum);
        }
        snapshot_free(back);
        ck_assert_uint_eq(mem_watch.live, live);
        ck_assert_uint_le(mem_watch.largest, 2 * HIST_COUNTS * sizeof(uint64_t));
    }
    ck_assert_uint_gt(accepted, 0); /* else the mutants prove nothing */
    mem_free(mutant);
    mem_free(buf);
    snapshot_free(s);
}
END_TEST

/* Bytes made by hand: a snapshot around one piece. */
enum piece {
    PIECE_NONE,
    PIECE_SCALARS,
    PIECE_SERIES,
    PIECE_STATUS,
    PIECE_ERRORS,
    PIECE_SUITES
};
typedef void (*put_piece)(struct wire_out *w);

static enum err decode_with(enum piece which, put_piece put)
{
    struct snapshot plain = {.intervals = 1}, *back;
    struct wire_out *w = wire_out_new();
    wire_put_map(w, 5);
    for (unsigned key = SNAPSHOT_SCALARS; key <= SNAPSHOT_SUITES; key++) {
        wire_put_u64(w, key);
        if (key == which)
            put(w);
        else if (key == SNAPSHOT_SCALARS)
            wire_put_fields(w, scalars, N(scalars), &plain);
        else if (key == SNAPSHOT_SERIES)
            wire_put_array(w, 0);
        else
            wire_put_map(w, 0);
    }
    size_t len;
    uint8_t *buf = wire_out_take(w, &len);
    size_t live = mem_watch.live;
    enum err e = decode(buf, len, &back);
    snapshot_free(back);
    ck_assert_uint_eq(mem_watch.live, live);
    mem_free(buf);
    wire_out_free(w);
    return e;
}

static void one_series(struct wire_out *w, uint32_t stage, const char *name, uint64_t completed,
                       const struct hist *corrected)
{
    wire_put_map(w, 4);
    wire_put_u64(w, SERIES_STAGE);
    wire_put_u64(w, stage);
    wire_put_u64(w, SERIES_NAME);
    wire_put_str(w, name);
    wire_put_u64(w, SERIES_COUNTERS);
    wire_put_map(w, 2);
    wire_put_u64(w, COUNTER_completed);
    wire_put_u64(w, completed);
    wire_put_u64(w, 60); /* of the future */
    wire_put_str(w, "?");
    wire_put_u64(w, SERIES_HISTS);
    wire_put_map(w, corrected == NULL ? 1 : 2);
    if (corrected != NULL) {
        wire_put_u64(w, HIST_CORRECTED);
        ck_assert_int_eq(put_hist(w, corrected), ERR_OK);
    }
    wire_put_u64(w, 77); /* of the future */
    wire_put_array(w, 0);
}

static void series_fine(struct wire_out *w)
{
    struct hist *h = hist_new_default();
    hist_record(h, 5, 2);
    wire_put_array(w, 2);
    one_series(w, 1, "a", 2, h);
    one_series(w, 1, "b", 0, NULL);
    hist_free(h);
}

static void series_twice(struct wire_out *w)
{
    wire_put_array(w, 2);
    one_series(w, 1, "a", 0, NULL);
    one_series(w, 1, "a", 0, NULL);
}

static void series_unsorted(struct wire_out *w)
{
    wire_put_array(w, 2);
    one_series(w, 1, "b", 0, NULL);
    one_series(w, 1, "a", 0, NULL);
}

static void series_twice_when_clean(struct wire_out *w)
{
    wire_put_array(w, 2);
    one_series(w, 1, "a\x01", 0, NULL);
    one_series(w, 1, "a\x02", 0, NULL);
}

static void series_too_many(struct wire_out *w)
{
    wire_put_array(w, SNAPSHOT_SERIES_MAX + 1);
    for (uint32_t i = 0; i <= SNAPSHOT_SERIES_MAX; i++)
        one_series(w, i, "", 0, NULL);
}

static void series_without_hist(struct wire_out *w)
{
    wire_put_array(w, 1);
    one_series(w, 1, "a", 1, NULL);
}

static void series_other_count(struct wire_out *w)
{
    struct hist *h = hist_new_default();
    hist_record(h, 5, 2);
    wire_put_array(w, 1);
    one_series(w, 1, "a", 3, h);
    hist_free(h);
}

static void series_empty_hist(struct wire_out *w)
{
    struct hist *h = hist_new_default();
    wire_put_array(w, 1);
    one_series(w, 1, "a", 0, h);
    hist_free(h);
}

static void series_strange_geometry(struct wire_out *w)
{
    struct hist_geometry g;
    ck_assert_int_eq(hist_geometry_init(&g, 1, HIST_HIGHEST, 2), ERR_OK);
    struct hist *h = hist_new(&g);
    hist_record(h, 5, 2);
    wire_put_array(w, 1);
    one_series(w, 1, "a", 2, h);
    hist_free(h);
}

static void series_counter_twice(struct wire_out *w)
{
    wire_put_array(w, 1);
    wire_put_map(w, 3);
    wire_put_u64(w, SERIES_STAGE);
    wire_put_u64(w, 0);
    wire_put_u64(w, SERIES_NAME);
    wire_put_str(w, "");
    wire_put_u64(w, SERIES_COUNTERS);
    wire_put_map(w, 2);
    for (int i = 0; i < 2; i++) {
        wire_put_u64(w, COUNTER_sent);
        wire_put_u64(w, 1);
    }
}

static void series_huge_counter(struct wire_out *w)
{
    wire_put_array(w, 1);
    one_series(w, 0, "", SNAPSHOT_COUNT_MAX + 1, NULL);
}

/* A series of three keys but one; 0 = of all three. */
static void series_lacks(struct wire_out *w, unsigned lacking, uint64_t stage)
{
    wire_put_array(w, 1);
    wire_put_map(w, lacking == 0 ? 3 : 2);
    for (unsigned key = SERIES_STAGE; key <= SERIES_COUNTERS; key++) {
        if (key == lacking)
            continue;
        wire_put_u64(w, key);
        if (key == SERIES_STAGE)
            wire_put_u64(w, stage);
        else if (key == SERIES_NAME)
            wire_put_str(w, "");
        else
            wire_put_map(w, 0);
    }
}

static void series_without_stage(struct wire_out *w)
{
    series_lacks(w, SERIES_STAGE, 0);
}

static void series_without_name(struct wire_out *w)
{
    series_lacks(w, SERIES_NAME, 0);
}

static void series_without_counters(struct wire_out *w)
{
    series_lacks(w, SERIES_COUNTERS, 0);
}

static void series_huge_stage(struct wire_out *w)
{
    series_lacks(w, 0, UINT64_C(1) << 32);
}

static void status_pair(struct wire_out *w, uint64_t a, uint64_t b)
{
    wire_put_map(w, 2);
    wire_put_u64(w, a);
    wire_put_u64(w, 1);
    wire_put_u64(w, b);
    wire_put_u64(w, 1);
}

static void status_fine(struct wire_out *w)
{
    status_pair(w, 100, 599);
}

static void status_twice(struct wire_out *w)
{
    status_pair(w, 200, 200);
}

static void status_low(struct wire_out *w)
{
    status_pair(w, 99, 200);
}

static void status_high(struct wire_out *w)
{
    status_pair(w, 200, 600);
}

static void errors_pair(struct wire_out *w, const char *a, const char *b)
{
    wire_put_map(w, 2);
    wire_put_str(w, a);
    wire_put_u64(w, 1);
    wire_put_str(w, b);
    wire_put_u64(w, 1);
}

static void errors_fine(struct wire_out *w)
{
    errors_pair(w, "a\x1b", "b");
}

static void errors_twice(struct wire_out *w)
{
    errors_pair(w, "a", "a");
}

static void errors_zero(struct wire_out *w)
{
    wire_put_map(w, 1);
    wire_put_str(w, "a");
    wire_put_u64(w, 0);
}

static void errors_too_many(struct wire_out *w)
{
    wire_put_map(w, SNAPSHOT_ERRORS_MAX + 1);
    for (uint32_t i = 0; i <= SNAPSHOT_ERRORS_MAX; i++) {
        char text[8];
        snprintf(text, sizeof text, "e%02u", i);
        wire_put_str(w, text);
        wire_put_u64(w, 1);
    }
}

static void errors_long(struct wire_out *w)
{
    char text[SNAPSHOT_ERROR_TEXT + 1] = "";
    memset(text, 'e', SNAPSHOT_ERROR_TEXT);
    errors_pair(w, "a", text);
}

static void scalars_backwards(struct wire_out *w)
{
    struct snapshot s = {.intervals = 1, .from_ns = 5, .to_ns = 4};
    wire_put_fields(w, scalars, N(scalars), &s);
}

static void scalars_of_nothing(struct wire_out *w)
{
    struct snapshot s = {.to_ns = 4};
    wire_put_fields(w, scalars, N(scalars), &s);
}

static void scalars_huge(struct wire_out *w)
{
    struct snapshot s = {.backlog = SNAPSHOT_COUNT_MAX + 1};
    wire_put_fields(w, scalars, N(scalars), &s);
}

static void scalars_short(struct wire_out *w)
{
    struct snapshot s = {.intervals = 1};
    wire_put_fields(w, scalars, N(scalars) - 4, &s); /* the last 3 came later */
}

START_TEST(test_contradictions_are_refused)
{
    static const struct {
        enum piece which;
        put_piece put;
        enum err err;
    } rows[] = {
        {PIECE_NONE, NULL, ERR_OK},
        {PIECE_SERIES, series_fine, ERR_OK},
        {PIECE_SERIES, series_twice, ERR_CORRUPT},
        {PIECE_SERIES, series_unsorted, ERR_CORRUPT},
        {PIECE_SERIES, series_twice_when_clean, ERR_CORRUPT},
        {PIECE_SERIES, series_too_many, ERR_TOO_BIG},
        {PIECE_SERIES, series_without_hist, ERR_CORRUPT},
        {PIECE_SERIES, series_other_count, ERR_CORRUPT},
        {PIECE_SERIES, series_empty_hist, ERR_CORRUPT},
        {PIECE_SERIES, series_strange_geometry, ERR_CORRUPT},
        {PIECE_SERIES, series_counter_twice, ERR_CORRUPT},
        {PIECE_SERIES, series_huge_counter, ERR_RANGE},
        {PIECE_SERIES, series_huge_stage, ERR_RANGE},
        {PIECE_SERIES, series_without_stage, ERR_CORRUPT},
        {PIECE_SERIES, series_without_name, ERR_CORRUPT},
        {PIECE_SERIES, series_without_counters, ERR_CORRUPT},
        {PIECE_STATUS, status_fine, ERR_OK},
        {PIECE_STATUS, status_twice, ERR_CORRUPT},
        {PIECE_STATUS, status_low, ERR_RANGE},
        {PIECE_STATUS, status_high, ERR_RANGE},
        {PIECE_ERRORS, errors_fine, ERR_OK},
        {PIECE_SUITES, errors_fine, ERR_OK},
        {PIECE_ERRORS, errors_twice, ERR_CORRUPT},
        {PIECE_SUITES, errors_twice, ERR_CORRUPT},
        {PIECE_ERRORS, errors_zero, ERR_CORRUPT},
        {PIECE_SUITES, errors_zero, ERR_CORRUPT},
        {PIECE_ERRORS, errors_too_many, ERR_TOO_BIG},
        {PIECE_SUITES, errors_too_many, ERR_TOO_BIG},
        {PIECE_ERRORS, errors_long, ERR_TOO_BIG},
        {PIECE_SUITES, errors_long, ERR_TOO_BIG},
        {PIECE_SCALARS, scalars_backwards, ERR_CORRUPT},
        {PIECE_SCALARS, scalars_of_nothing, ERR_CORRUPT},
        {PIECE_SCALARS, scalars_huge, ERR_RANGE},
        {PIECE_SCALARS, scalars_short, ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum err e = decode_with(rows[i].which, rows[i].put);
        ck_assert_msg(e == rows[i].err, "row %zu: %s instead of %s", i, err_str(e),
                      err_str(rows[i].err));
    }
}
END_TEST

START_TEST(test_bombs_allocate_nothing)
{
    static const uint8_t bombs[][16] = {
        {0xdd, 0x0f, 0xff, 0xff, 0xff},
        {0xdf, 0x0f, 0xff, 0xff, 0xff},
        {0x81, SNAPSHOT_SERIES, 0xdd, 0x0f, 0xff, 0xff, 0xff},
        {0x81, SNAPSHOT_STATUS, 0xdf, 0x0f, 0xff, 0xff, 0xff},
        {0x81, SNAPSHOT_ERRORS, 0xdf, 0x0f, 0xff, 0xff, 0xff},
        {0x81, 60, 0xdd, 0x0f, 0xff, 0xff, 0xff},
        {0x81, SNAPSHOT_SERIES, 0x91, 0x81, SERIES_HISTS, 0x81, 0, 0x81, 6, 0xc6, 0x0f, 0xff, 0xff,
         0xff},
    };
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        struct snapshot *s;
        mem_watch_reset();
        ck_assert_int_ne(decode(bombs[i], sizeof bombs[i], &s), ERR_OK);
        ck_assert_uint_eq(mem_watch.bytes, sizeof(struct snapshot));
    }
}
END_TEST

/* A header that claims a hundred times our size must not be believed far enough to allocate. */
START_TEST(test_a_large_geometry_allocates_little)
{
    struct snapshot *s = small_snapshot(), *back;
    uint8_t *buf, *v2;
    size_t len;
    ck_assert_int_eq(snapshot_encode(s, &buf, &len), ERR_OK);
    const uint8_t cookie[] = {0x1c, 0x84, 0x93, 0x13};
    v2 = memmem(buf, len, cookie, sizeof cookie);
    ck_assert_ptr_nonnull(v2);
    v2[15] = 5; /* digits */
    mem_watch_reset();
    ck_assert_int_eq(decode(buf, len, &back), ERR_CORRUPT);
    ck_assert_uint_le(mem_watch.bytes, sizeof(struct snapshot) + 512); /* an empty one of ours */
    mem_free(buf);
    snapshot_free(s);
}
END_TEST

START_TEST(test_what_does_not_fit_a_frame_is_not_made)
{
    struct hist *h = hist_new_default();
    for (uint32_t i = 0; i < HIST_COUNTS; i++) /* 6 bytes each */
        hist_record(h, hist_low(hist_geometry_of(h), i), UINT64_C(1) << 36);
    struct snapshot *s = snapshot_new();
    for (uint32_t stage = 0; stage < 9; stage++)
        for (size_t k = 0; k < HIST_KINDS; k++)
            snapshot_series(s, stage, "")->hists[k] = hist_copy(h);
    uint8_t *buf;
    size_t len;
    ck_assert_int_eq(snapshot_encode(s, &buf, &len), ERR_TOO_BIG);
    ck_assert_ptr_null(buf);
    hist_free(h);
    snapshot_free(s);
}
END_TEST

static void pin(struct snapshot *s, const char *name)
{
    uint8_t *buf;
    size_t len;
    ck_assert_int_eq(snapshot_encode(s, &buf, &len), ERR_OK);
    pinned_check(TEST_DATA_DIR, name, buf, len);
    mem_free(buf);
    snapshot_free(s);
}

/* What older programs wrote must stay readable. */
START_TEST(test_encodings_are_pinned)
{
    pin(snapshot_new(), "snapshot/empty");
    pin(small_snapshot(), "snapshot/small");
    struct snapshot *all = snapshot_new(); /* every member, counter and kind */
    *all = (struct snapshot){.seq = 1000000,
                             .from_ns = 1000000000,
                             .to_ns = 2000000000,
                             .intervals = 2,
                             .cumulative = true,
                             .backlog = 1,
                             .in_flight = 2,
                             .cpu_ns = 3,
                             .cpu_busy_ppm = 4,
                             .censored_age_ns = 5,
                             .errors_other = 6};
    all->spin_ns = 7, all->context_switches = 8, all->preemptions = 9;
    struct series *one = snapshot_series(all, 3, "gr\xc3\xbc\xc3\x9f");
    for (size_t i = 0; i < COUNTERS_N; i++)
        counters_set(&one->counters, i, i + 1);
    for (size_t k = 0; k < HIST_KINDS; k++)
        for (uint64_t i = 0; i < one->counters.completed; i++)
            hist_record(series_hist(one, (enum hist_kind)k), UINT64_C(1000) << (3 * i), 1);
    for (size_t code = SNAPSHOT_STATUS_MIN; code <= SNAPSHOT_STATUS_MAX; code += 101)
        all->status[code] = code;
    for (int i = 0; i < 5; i++)
        snapshot_add_error(all, &"read: reset"[i], 1 + (unsigned)i);
    snapshot_add_suite(all, "TLSv1.3 TLS_AES_128_GCM_SHA256", 20);
    snapshot_add_suite(all, "TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256", 6);
    pin(all, "snapshot/all");
    struct snapshot *first = small_snapshot();
    snapshot_note_first(first, 777, 612, "nginx/1.22.1");
    pin(first, "snapshot/first");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("snapshot_codec");
    TCase *t = tcase_create("snapshot_codec");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_the_wire_form_comes_back);
    tcase_add_test(t, test_cut_bytes_are_refused_and_freed);
    tcase_add_test(t, test_mutants_are_refused_or_whole);
    tcase_add_test(t, test_contradictions_are_refused);
    tcase_add_test(t, test_bombs_allocate_nothing);
    tcase_add_test(t, test_a_large_geometry_allocates_little);
    tcase_add_test(t, test_what_does_not_fit_a_frame_is_not_made);
    tcase_add_test(t, test_encodings_are_pinned);
    suite_add_tcase(s, t);
    return check_main(s);
}
