/* SPDX-License-Identifier: MIT */
#include "controller/compare/rank_test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

#define BOTH_MAX (2 * RANK_TEST_MAX)
/* Ranks are doubled, so that the mean rank of a tie is whole: 2 .. 2 * BOTH_MAX. */
#define SUM_MAX  (BOTH_MAX * (BOTH_MAX + 1))

/* ways[j][s]: to choose j of the figures so that their doubled ranks add up to s. At most
 * C(40, 20) = 1.4e11. */
struct ways {
    uint64_t n[RANK_TEST_MAX + 1][SUM_MAX + 1];
};

static struct ways *count_ways(const uint32_t *ranks, size_t n, size_t choose)
{
    struct ways *w = mem_calloc(1, sizeof *w);
    w->n[0][0] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = choose < i + 1 ? choose : i + 1; j > 0; j--)
            for (size_t s = ranks[i]; s <= SUM_MAX; s++)
                w->n[j][s] += w->n[j - 1][s - ranks[i]];
    return w;
}

/* Doubled midranks of all figures: ranks[i] of the candidate's i for i < k, then the baseline's. */
static void rank_all(const double *all, size_t n, uint32_t *ranks)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t below = 0, same = 0;
        for (size_t j = 0; j < n; j++) {
            below += all[j] < all[i];
            same += all[j] == all[i];
        }
        ranks[i] = 2 * below + same + 1;
    }
}

static double choose(size_t n, size_t k)
{
    double ways = 1;
    for (size_t i = 1; i <= k; i++)
        ways = ways * (double)(n - k + i) / (double)i;
    return ways;
}

struct rank_test rank_test(const double *candidate, size_t k, const double *baseline, size_t l)
{
    double all[BOTH_MAX];
    uint32_t ranks[BOTH_MAX];
    memcpy(all, candidate, k * sizeof *all);
    memcpy(all + k, baseline, l * sizeof *all);
    rank_all(all, k + l, ranks);
    int64_t sum = 0, mean = (int64_t)(k * (k + l + 1));
    for (size_t i = 0; i < k; i++)
        sum += ranks[i];
    int64_t far = sum > mean ? sum - mean : mean - sum;
    struct ways *w = count_ways(ranks, k + l, k);
    uint64_t total = 0, beyond = 0, up = 0, down = 0;
    for (int64_t s = 0; s <= SUM_MAX; s++) {
        uint64_t n = w->n[k][s];
        total += n;
        up += s >= sum ? n : 0;
        down += s <= sum ? n : 0;
        beyond += s - mean >= far || mean - s >= far ? n : 0;
    }
    mem_free(w);
    /* Doubled: the candidate's ranks add up to at least k (k + 1). */
    double wins = (double)(sum - (int64_t)(k * (k + 1))) / 2;
    return (struct rank_test){.p = (double)beyond / (double)total,
                              .greater = (double)up / (double)total,
                              .less = (double)down / (double)total,
                              .a12 = wins / (double)(k * l)};
}

double rank_test_least_p(size_t k, size_t l)
{
    double p = 2 / choose(k + l, k);
    return p < 1 ? p : 1;
}

/* How many of the ordered differences lie outside the interval on either side; -1 = it would need
 * more than there are. */
static int64_t differences_outside(size_t k, size_t l, double alpha)
{
    uint32_t ranks[BOTH_MAX];
    for (size_t i = 0; i < k + l; i++)
        ranks[i] = (uint32_t)(2 * (i + 1));
    struct ways *w = count_ways(ranks, k + l, k);
    double total = choose(k + l, k), below = 0;
    int64_t outside = -1;
    for (size_t s = k * (k + 1); s <= SUM_MAX; s += 2) {
        below += (double)w->n[k][s];
        if (below / total > alpha / 2)
            break;
        outside++;
    }
    mem_free(w);
    return outside;
}

/* Of an even number the mean of the middle two; that of 0 and infinity is infinity. */
static double middle(const double *sorted, size_t n)
{
    double low = sorted[(n - 1) / 2], high = sorted[n / 2];
    return low == high ? low : (low + high) / 2;
}

struct effect rank_test_effect(const double *candidate, size_t k, const double *baseline, size_t l,
                               enum effect_kind kind, double alpha)
{
    double all[RANK_TEST_MAX * RANK_TEST_MAX];
    struct effect e = effect_unknown(kind);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < l; j++) {
            double one = effect_of(kind, candidate[i], baseline[j]);
            if (isnan(one))
                return e;
            all[i * l + j] = one;
        }
    qsort(all, k * l, sizeof *all, effect_order);
    e.estimate = middle(all, k * l);
    int64_t outside = differences_outside(k, l, alpha);
    if (outside >= 0) {
        e.low = all[outside];
        e.high = all[k * l - 1 - (size_t)outside];
    }
    return e;
}

double rank_test_median(const double *values, size_t n)
{
    double sorted[BOTH_MAX];
    size_t kept = n < BOTH_MAX ? n : BOTH_MAX;
    memcpy(sorted, values, kept * sizeof *sorted);
    qsort(sorted, kept, sizeof *sorted, effect_order);
    return middle(sorted, kept);
}
