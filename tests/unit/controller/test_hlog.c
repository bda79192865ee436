/* SPDX-License-Identifier: MIT */
#include "controller/report/hlog.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hlog_reader.h"
#include "tests/lib/process.h"

#define STARTED (UINT64_C(1700000000123) * NS_PER_MS)

/* --- a log by Java -------------------------------------------------------------------------- */

/* What hdr-histogram-js says of the same file. */
static void check_java(const char *tag, uint64_t p50, uint64_t p99, uint64_t max)
{
    char *text = file_read(TEST_DATA_DIR "/hlog/two_tags.hlog");
    struct hist *h = hlog_merged(text, tag);
    ck_assert_uint_eq(hist_count(h), 3000);
    ck_assert_uint_eq(hist_value_at_percentile(h, 50), p50);
    ck_assert_uint_eq(hist_value_at_percentile(h, 99), p99);
    ck_assert_uint_eq(hist_value_at_percentile(h, 100), max);
    hist_free(h);
    mem_free(text);
}

START_TEST(test_java)
{
    check_java("corrected", 225663, 170262527, 200409087);
    check_java("uncorrected", 216831, 617983, 1038335);
}
END_TEST

/* --- our own -------------------------------------------------------------------------------- */

struct written {
    char *text;
    size_t len;
    FILE *out;
};

static void begin(struct written *w, bool one_clock)
{
    struct hlog_head head = {.run_id = "00112233445566778899aabbccddeeff",
                             .started_wall_ns = STARTED,
                             .one_clock = one_clock};
    w->out = open_memstream(&w->text, &w->len);
    ck_assert_int_eq(hlog_begin(w->out, &head), ERR_OK);
}

static void row(struct written *w, uint64_t from_ms, const struct hist *corrected,
                const struct hist *uncorrected)
{
    struct result_interval r = {.from_ns = from_ms * NS_PER_MS,
                                .to_ns = (from_ms + 1000) * NS_PER_MS};
    struct merge_view v = {.row = &r, .corrected = corrected, .uncorrected = uncorrected};
    ck_assert_int_eq(hlog_row(w->out, &v), ERR_OK);
}

static struct hist *random_hist(uint64_t *rng)
{
    struct hist *h = hist_new_default();
    for (size_t i = check_below(rng, 50); i < 60; i++)
        hist_record(h, check_below(rng, UINT64_C(1) << (5 + check_below(rng, 35))), 1);
    return h;
}

struct seen {
    uint64_t from_ms; /* of the next row */
    const char *tag;  /* of the next line */
};

static void check_order(void *arg, const struct hlog_line *line)
{
    struct seen *s = arg;
    ck_assert_str_eq(line->tag, s->tag);
    ck_assert_uint_eq(line->from_ms, s->from_ms);
    ck_assert_uint_eq(line->length_ms, 1000);
    if (line->tag[0] != '\0')
        s->from_ms += 1000;
    s->tag = line->tag[0] != '\0' ? "" : "uncorrected";
}

static bool same_buckets(const struct hist *a, const struct hist *b)
{
    for (uint32_t i = 0; i < HIST_COUNTS; i++)
        if (hist_count_at(a, i) != hist_count_at(b, i))
            return false;
    return true;
}

/* Whatever was recorded comes out bucket by bucket, and every line in its order. */
START_TEST(test_both_clocks)
{
    uint64_t rng = check_seed();
    struct written w;
    struct hist *sum = hist_new_default(), *other = hist_new_default();
    begin(&w, false);
    for (uint64_t i = 0; i < 20; i++) {
        struct hist *c = random_hist(&rng), *u = random_hist(&rng);
        row(&w, i * 1000, c, u);
        ck_assert_int_eq(hist_add(sum, c), ERR_OK);
        ck_assert_int_eq(hist_add(other, u), ERR_OK);
        hist_free(c);
        hist_free(u);
    }
    fclose(w.out);
    struct seen seen = {0, ""};
    ck_assert_uint_eq(hlog_read(w.text, check_order, &seen), 40);
    struct hist *back = hlog_merged(w.text, "");
    ck_assert(same_buckets(sum, back));
    hist_free(back);
    back = hlog_merged(w.text, "uncorrected");
    ck_assert(same_buckets(other, back));
    hist_free(back);
    hist_free(sum);
    hist_free(other);
    free(w.text);
}
END_TEST

/* Java's reader throws at a log without an untagged line. */
START_TEST(test_one_clock)
{
    struct written w;
    struct hist *u = hist_new_default(), *none = hist_new_default();
    hist_record(u, 250000, 7);
    begin(&w, true);
    row(&w, 0, NULL, u);
    row(&w, 1000, none, u);
    fclose(w.out);
    struct hist *back = hlog_merged(w.text, "");
    ck_assert_uint_eq(hist_count(back), 14);
    ck_assert_ptr_null(strstr(w.text, "Tag="));
    ck_assert_ptr_nonnull(strstr(w.text, "#[latencies in ns from the send, the only clock"));
    hist_free(back);
    hist_free(u);
    hist_free(none);
    free(w.text);
}
END_TEST

/* Nothing recorded, no line: HdrHistogram_c cannot read an empty histogram. */
START_TEST(test_nothing_recorded)
{
    struct written w;
    struct hist *none = hist_new_default();
    begin(&w, false);
    row(&w, 0, NULL, NULL);
    row(&w, 1000, none, none);
    fclose(w.out);
    struct seen seen = {0, ""};
    ck_assert_uint_eq(hlog_read(w.text, check_order, &seen), 0);
    hist_free(none);
    free(w.text);
}
END_TEST

START_TEST(test_head)
{
    static const char want[] =
        "#[Histogram log format version 1.3]\n"
        "#[BaseTime: 1700000000.123 (seconds since epoch)]\n"
        "#[StartTime: 1700000000.123 (seconds since epoch), Tue Nov 14 22:13:20 UTC 2023]\n";
    struct written w;
    begin(&w, false);
    fclose(w.out);
    ck_assert_msg(strstr(w.text, want) != NULL, "%s", w.text);
    free(w.text);
}
END_TEST

/* What does not reach the disk is an error at once, not at the end of the run. */
START_TEST(test_full_disk)
{
    struct hlog_head head = {.run_id = "00"};
    struct hist *h = hist_new_default();
    hist_record(h, 1000, 1);
    struct result_interval r = {.to_ns = NS_PER_SEC};
    struct merge_view v = {.row = &r, .corrected = h, .uncorrected = h};
    FILE *full = fopen("/dev/full", "w");
    ck_assert_ptr_nonnull(full);
    ck_assert_int_eq(hlog_begin(full, &head), ERR_SYSTEM);
    ck_assert_int_eq(hlog_row(full, &v), ERR_SYSTEM);
    fclose(full);
    hist_free(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hlog");
    TCase *t = tcase_create("hlog");
    tcase_add_test(t, test_java);
    tcase_add_test(t, test_both_clocks);
    tcase_add_test(t, test_one_clock);
    tcase_add_test(t, test_nothing_recorded);
    tcase_add_test(t, test_head);
    tcase_add_test(t, test_full_disk);
    suite_add_tcase(s, t);
    return check_main(s);
}
