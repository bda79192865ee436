/* SPDX-License-Identifier: MIT */
/* Foreign bytes as an encoded histogram: refused without a trace, or read without loss. */
#include "common/hist.h"
#include "common/hist_codec.h"
#include "tests/fuzz/fuzz.h"

/* Geometries above this cost milliseconds per input; their code is the same. */
#define COUNTS_FULLY_CHECKED 65536

static void check_figures(const struct hist *h)
{
    FUZZ_CHECK(hist_count(h) <= HIST_TOTAL_MAX);
    FUZZ_CHECK(hist_top_index(h) < hist_geometry_of(h)->counts_len);
    FUZZ_CHECK(hist_value_at_percentile(h, 0) == hist_min_bucket(h));
    FUZZ_CHECK(hist_value_at_percentile(h, 100) == hist_max_bucket(h));
    FUZZ_CHECK(hist_value_at_percentile(h, 50) <= hist_value_at_percentile(h, 99));
    /* Doubles are rounded: counts near 2^63 give a mean an ulp above the largest value. */
    double max = (double)hist_max_bucket(h) * (1 + 1e-12);
    FUZZ_CHECK(hist_mean(h) <= max && hist_mean_exact(h) <= max);
    FUZZ_CHECK(hist_stddev(h) >= 0 && hist_stddev(h) <= max);
    FUZZ_CHECK(hist_count_above(h, 0) == hist_count(h) - hist_count_at(h, 0));
}

static void check_round_trip(const struct hist *h)
{
    size_t cap = hist_encode_max(h), len = 0;
    uint8_t *bytes = malloc(cap);
    struct hist *back = NULL, *sum = hist_new(hist_geometry_of(h));
    FUZZ_CHECK(bytes != NULL);
    FUZZ_CHECK(hist_encode(h, bytes, cap, &len) == ERR_OK);
    FUZZ_CHECK(hist_decode(bytes, len, &back) == ERR_OK);
    FUZZ_CHECK(hist_equal(h, back));
    FUZZ_CHECK(hist_decode_add(bytes, len, sum) == ERR_OK);
    FUZZ_CHECK(hist_equal(h, sum));
    hist_free(back);
    hist_free(sum);
    free(bytes);
}

/* Adding to a used histogram of the default geometry: all or nothing. The two histograms live as
 * long as the process: allocating them for each input would take most of the time. */
static void check_add(const uint8_t *data, size_t size, enum err decoded, const struct hist *h)
{
    static struct hist *into, *want;
    if (into == NULL) {
        into = hist_new_default();
        want = hist_new_default();
    }
    hist_reset(into);
    hist_reset(want);
    hist_record(into, 250000, 3);
    hist_record(into, 260000, 1);
    FUZZ_CHECK(hist_add(want, into) == ERR_OK);
    enum err e = decoded == ERR_OK ? hist_add(want, h) : decoded;
    FUZZ_CHECK(hist_decode_add(data, size, into) == e);
    FUZZ_CHECK(hist_equal(into, want));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hist *h = NULL;
    enum err e = hist_decode(data, size, &h);
    FUZZ_CHECK((e == ERR_OK) == (h != NULL));
    if (h == NULL || hist_geometry_of(h)->counts_len <= COUNTS_FULLY_CHECKED)
        check_add(data, size, e, h);
    if (h != NULL && hist_geometry_of(h)->counts_len <= COUNTS_FULLY_CHECKED) {
        check_figures(h);
        check_round_trip(h);
    }
    hist_free(h);
    return 0;
}
