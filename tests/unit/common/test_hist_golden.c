/* SPDX-License-Identifier: MIT */
/* The histogram against golden vectors written by Java's HdrHistogram: tests/data/golden. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/hist.h"
#include "common/hist_codec.h"
#include "tests/lib/check_main.h"
#include "tests/lib/golden.h"
#include "tests/lib/hist_bytes.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])
#define VECTORS     TEST_DATA_DIR "/golden/vectors.tsv"
#define N_VECTORS   28

/* Columns of vectors.tsv. */
enum vector_column {
    V_NAME,
    V_LOWEST,
    V_HIGHEST,
    V_DIGITS,
    V_COUNTS_LEN,
    V_TOTAL,
    V_MIN,
    V_MAX,
    V_MEAN,
    V_STDDEV,
    V_PERCENTILE,
    V_BYTES = BYTES_VECTOR_COLUMN,
    V_COLUMNS = BYTES_VECTOR_COLUMNS
};

static const double percentiles[] = {0, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 100};

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

static void close_to(const char *name, double got, const char *text)
{
    double want = strtod(text, NULL);
    ck_assert_msg(fabs(got - want) <= 1e-12 * want, "%s: %.17g is not %s", name, got, text);
}

static void check_vector(void *arg, char *const *f, size_t n)
{
    (void)arg;
    ck_assert_uint_eq(n, V_COLUMNS);
    struct bytes b;
    b.p = golden_base64(f[V_BYTES], &b.len);
    struct hist *h = bytes_decode(b);
    const struct hist_geometry *g = hist_geometry_of(h);
    ck_assert_uint_eq(g->lowest, number(f[V_LOWEST]));
    ck_assert_uint_eq(g->highest, number(f[V_HIGHEST]));
    ck_assert_uint_eq(g->digits, number(f[V_DIGITS]));
    ck_assert_uint_eq(g->counts_len, number(f[V_COUNTS_LEN]));
    ck_assert_uint_eq(hist_count(h), number(f[V_TOTAL]));
    ck_assert_uint_eq(hist_min_bucket(h), number(f[V_MIN]));
    ck_assert_uint_eq(hist_max_bucket(h), number(f[V_MAX]));
    ck_assert_uint_eq(hist_min(h), number(f[V_MIN]));
    ck_assert_uint_eq(hist_max(h), number(f[V_MAX]));
    close_to(f[V_NAME], hist_mean(h), f[V_MEAN]);
    close_to(f[V_NAME], hist_mean_exact(h), f[V_MEAN]);
    close_to(f[V_NAME], hist_stddev(h), f[V_STDDEV]);
    for (size_t i = 0; i < COUNT_OF(percentiles); i++)
        ck_assert_uint_eq(hist_value_at_percentile(h, percentiles[i]), number(f[V_PERCENTILE + i]));
    struct bytes again = bytes_encode(h);
    ck_assert_uint_eq(again.len, b.len);
    ck_assert_mem_eq(again.p, b.p, b.len);
    free(again.p);
    free(b.p);
    hist_free(h);
}

START_TEST(test_golden_vectors)
{
    ck_assert_uint_eq(golden_each(VECTORS, check_vector, NULL), N_VECTORS);
}
END_TEST

static void check_c_style(void *arg, char *const *f, size_t n)
{
    (void)arg;
    ck_assert_uint_eq(n, 2);
    struct bytes c_style, java = bytes_vector(VECTORS, f[0]);
    c_style.p = golden_base64(f[1], &c_style.len);
    struct hist *a = bytes_decode(c_style), *b = bytes_decode(java);
    ck_assert_uint_eq(c_style.len, java.len);
    ck_assert_int_ne(memcmp(c_style.p, java.p, java.len), 0);
    ck_assert(hist_equal(a, b));
    free(c_style.p);
    free(java.p);
    hist_free(a);
    hist_free(b);
}

START_TEST(test_a_zero_may_be_a_run_of_one)
{
    ck_assert_uint_eq(golden_each(TEST_DATA_DIR "/golden/c_style.tsv", check_c_style, NULL), 6);
}
END_TEST

/* A histogram and, where the geometry allows, the recorder beside it. */
struct sinks {
    struct hist *h;
    struct hist_rec *rec;
};

static void sink(struct sinks *s, uint64_t v, uint64_t count)
{
    hist_record(s->h, v, count);
    while (s->rec != NULL && count-- > 0)
        hist_rec_record(s->rec, v);
}

static void input_pairs(struct sinks *s, char *text)
{
    while (*text != '\0') {
        uint64_t v = strtoull(text, &text, 10);
        ck_assert_int_eq(*text++, ':');
        sink(s, v, strtoull(text, &text, 10));
        text += *text == ' ';
    }
}

static void input_geometric(struct sinks *s, char *text)
{
    uint64_t v = strtoull(text, &text, 10), div = strtoull(text, &text, 10);
    for (uint64_t limit = number(text); v <= limit; v += v / div + 1)
        sink(s, v, 1);
}

/* A number of the log-normal-like generator that all implementations share. */
static uint64_t logbinomial(uint64_t *rng, uint64_t base)
{
    static const uint64_t q[] = {65536, 77936, 92682, 110218};
    uint32_t e = (uint32_t)__builtin_popcountll(check_random(rng) & 0xffffff);
    uint64_t low = ((base * q[e & 3]) >> 16) << (e >> 2);
    return low + (((check_random(rng) >> 32) * (low * 3 / 16)) >> 32);
}

static void input_logbinomial(struct sinks *s, char *text)
{
    uint64_t x[8];
    for (size_t i = 0; i < COUNT_OF(x); i++)
        x[i] = strtoull(text, &text, 10);
    for (uint64_t i = 0; i < x[2]; i++)
        sink(s, logbinomial(&x[0], x[1]), 1);
    for (uint64_t i = 0; i < x[3]; i++)
        sink(s, i < x[6] ? x[4] - i * x[5] : x[7], 1);
}

static const struct {
    const char *kind;
    void (*run)(struct sinks *s, char *text);
} inputs[] = {
    {"pairs", input_pairs}, {"geometric", input_geometric}, {"logbinomial", input_logbinomial}};

static void check_input(void *arg, char *const *f, size_t n)
{
    (void)arg;
    ck_assert_uint_eq(n, 3);
    struct bytes want = bytes_vector(VECTORS, f[0]);
    struct hist *shape = bytes_decode(want), *from_rec = hist_new_default();
    struct hist_geometry d = hist_geometry_default();
    const struct hist_geometry *g = hist_geometry_of(shape);
    struct sinks s = {.h = hist_new(g)};
    bool recordable = g->highest == d.highest && g->lowest == d.lowest && g->digits == d.digits;
    if (recordable) {
        s.rec = malloc(sizeof *s.rec);
        ck_assert_ptr_nonnull(s.rec);
        hist_rec_init(s.rec);
    }
    size_t k = 0;
    while (strcmp(inputs[k].kind, f[1]) != 0)
        ck_assert_uint_lt(++k, COUNT_OF(inputs));
    inputs[k].run(&s, f[2]);
    struct bytes got = bytes_encode(s.h);
    ck_assert_msg(got.len == want.len && memcmp(got.p, want.p, got.len) == 0, "%s", f[0]);
    if (recordable) {
        hist_rec_add_to(s.rec, from_rec);
        ck_assert_msg(hist_equal(s.h, from_rec), "%s", f[0]);
    }
    free(got.p);
    free(want.p);
    free(s.rec);
    hist_free(s.h);
    hist_free(shape);
    hist_free(from_rec);
}

START_TEST(test_golden_inputs_recorded_here)
{
    ck_assert_uint_eq(golden_each(TEST_DATA_DIR "/golden/inputs.tsv", check_input, NULL), 25);
}
END_TEST

static void check_merge(const char *into, const char *from, const char *want)
{
    struct bytes a = bytes_vector(VECTORS, into), b = bytes_vector(VECTORS, from),
                 c = bytes_vector(VECTORS, want);
    struct hist *x = bytes_decode(a), *y = bytes_decode(a), *z = bytes_decode(b);
    if (strcmp(into, want) == 0) {
        hist_reset(x);
        hist_reset(y);
    }
    ck_assert_int_eq(hist_add(x, z), ERR_OK);
    ck_assert_int_eq(hist_decode_add(b.p, b.len, y), ERR_OK);
    ck_assert(hist_equal(x, y));
    struct bytes got = bytes_encode(x);
    ck_assert_uint_eq(got.len, c.len);
    ck_assert_mem_eq(got.p, c.p, c.len);
    free(a.p);
    free(b.p);
    free(c.p);
    free(got.p);
    hist_free(x);
    hist_free(y);
    hist_free(z);
}

START_TEST(test_golden_merges)
{
    check_merge("bimodal_pause_corrected", "bimodal_pause_uncorrected",
                "merge_corrected_plus_uncorrected");
    /* Its own geometry, emptied, is the target. */
    check_merge("merge_into_other_config", "bimodal_pause_corrected", "merge_into_other_config");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hist_golden");
    TCase *t = tcase_create("hist_golden");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_golden_vectors);
    tcase_add_test(t, test_a_zero_may_be_a_run_of_one);
    tcase_add_test(t, test_golden_inputs_recorded_here);
    tcase_add_test(t, test_golden_merges);
    suite_add_tcase(s, t);
    return check_main(s);
}
