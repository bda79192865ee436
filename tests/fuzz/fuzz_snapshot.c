/* SPDX-License-Identifier: MIT */
/* Foreign bytes as a snapshot: refused without a trace, or one that adds up and comes back whole.
 */
#include <string.h>

#include "common/mem.h"
#include "proto/msg.h"
#include "proto/snapshot.h"
#include "tests/fuzz/fuzz.h"

static void check_series(const struct snapshot *s)
{
    FUZZ_CHECK(s->n_series <= SNAPSHOT_SERIES_MAX && s->n_errors <= SNAPSHOT_ERRORS_MAX);
    for (size_t i = 0; i < s->n_series; i++) {
        const struct series *one = &s->series[i];
        const struct hist *corrected = one->hists[HIST_CORRECTED];
        FUZZ_CHECK(one->counters.completed == (corrected == NULL ? 0 : hist_count(corrected)));
        for (size_t k = 0; k < COUNTERS_N; k++)
            FUZZ_CHECK(counters_get(&one->counters, k) <= SNAPSHOT_COUNT_MAX);
    }
}

static void check_round_trip(const struct snapshot *s)
{
    uint8_t *bytes;
    size_t len;
    struct snapshot *back;
    enum err e = snapshot_encode(s, &bytes, &len);
    FUZZ_CHECK(e == ERR_OK || e == ERR_TOO_BIG);
    if (e != ERR_OK)
        return;
    FUZZ_CHECK(len <= MSG_BLOB_MAX);
    FUZZ_CHECK(snapshot_decode(bytes, len, &back) == ERR_OK);
    FUZZ_CHECK(snapshot_same_data(s, back, NULL));
    mem_free(bytes);
    snapshot_free(back);
}

/* Twice itself; the sum may be refused, but then nothing of it is there. */
static void check_adding(const struct snapshot *s)
{
    struct snapshot *sum = snapshot_copy(s);
    uint64_t before = snapshot_counters(s).sent;
    enum err e = snapshot_add(sum, s, false);
    FUZZ_CHECK(e == ERR_OK || e == ERR_RANGE);
    FUZZ_CHECK(snapshot_counters(sum).sent == (e == ERR_OK ? 2 * before : before));
    if (e != ERR_OK)
        FUZZ_CHECK(snapshot_same_data(s, sum, NULL));
    for (int k = 0; k < HIST_KINDS; k++)
        hist_free(snapshot_hist(sum, (enum hist_kind)k));
    snapshot_free(sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct snapshot *s = NULL;
    enum err e = snapshot_decode(data, size, &s);
    FUZZ_CHECK((e == ERR_OK) == (s != NULL));
    if (s != NULL) {
        check_series(s);
        check_round_trip(s);
        check_adding(s);
    }
    snapshot_free(s);
    return 0;
}
