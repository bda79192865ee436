/* SPDX-License-Identifier: MIT */
/*
 * Judges pacing by what the server saw. Ideal arrivals are offset + i/R. The error of arrival i is
 * its distance from that, with the offset that halves the arrivals: wherever the client's t0 was,
 * and whatever constant time the way took, does not count. With --truth also what the latencies
 * really were, from the server's stamps: written - due and written - arrived.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "tests/bench/lib/self.h"
#include "tests/bench/lib/stamps.h"

struct options {
    struct rate rate;
    uint64_t skip_ns;
    bool truth;
    bool user_stamps;
};

#define AT(member) .offset = offsetof(struct options, member), .set_offset = OPTION_NO_SET

static const struct option_row rows[] = {
    {.name = "rate",
     .aliases = "-r",
     .type = OPTION_RATE,
     AT(rate),
     .meta = "RATE",
     .text = "requests per second that were meant (required)"},
    {.name = "skip",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(skip_ns),
     .max = 3600 * NS_PER_SEC,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "leave out what came so soon after the first request (default: nothing)"},
    {.name = "truth",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(truth),
     .text = "also print the latencies that a client must have seen at least"},
    {.name = "user-stamps",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(user_stamps),
     .text = "use the time of reading even where there are kernel stamps"},
};

#define ROWS (sizeof rows / sizeof rows[0])

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* By arrival, which a use of kernel stamps has put into read_ns. */
static int by_arrival(const void *a, const void *b)
{
    return by_value(a, b);
}

_Static_assert(offsetof(struct stamp, read_ns) == 0, "by_arrival compares the first member");

/* Nearest rank, rounded up; values are sorted. */
static int64_t percentile(const int64_t *values, size_t n, double p)
{
    size_t rank = (size_t)ceil(p / 100 * (double)n);
    return values[rank > 0 ? rank - 1 : 0];
}

static void print_sorted(const char *name, int64_t *values, size_t n)
{
    static const double shown[] = {50, 90, 99, 99.9};
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        printf(" %s_p%g_us=%.2f", name, shown[i], (double)percentile(values, n, shown[i]) / 1e3);
    printf(" %s_max_us=%.2f", name, (double)values[n - 1] / 1e3);
}

/* Sorts by arrival and drops what is to be skipped. */
static void prepare(struct stamps *s, const struct options *o)
{
    size_t from = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].kernel_ns != 0 && !o->user_stamps)
            s->all[i].read_ns = s->all[i].kernel_ns;
    qsort(s->all, s->n, sizeof *s->all, by_arrival);
    while (from < s->n && s->all[from].read_ns - s->all[0].read_ns < o->skip_ns)
        from++;
    memmove(s->all, s->all + from, (s->n - from) * sizeof *s->all);
    s->n -= from;
    if (s->n < 3)
        self_die("%zu arrivals: at least 3 are needed", s->n);
}

/* When arrival i should have been, if the first had been at 0. */
static int64_t ideal(const struct rate *r, size_t i)
{
    return (int64_t)((unsigned __int128)i * NS_PER_SEC * r->den / r->num);
}

/* Arrivals relative to the first, less what the schedule says; the offset is the median of them, or
 * with `share` another percentile. values has room for all. */
static int64_t offset_of(const struct stamps *s, const struct rate *r, double share,
                         int64_t *values)
{
    for (size_t i = 0; i < s->n; i++)
        values[i] = (int64_t)(s->all[i].read_ns - s->all[0].read_ns) - ideal(r, i);
    qsort(values, s->n, sizeof *values, by_value);
    return percentile(values, s->n, share);
}

static double gap_cv(const struct stamps *s)
{
    double sum = 0, squares = 0, n = (double)(s->n - 1);
    for (size_t i = 1; i < s->n; i++) {
        double gap = (double)(s->all[i].read_ns - s->all[i - 1].read_ns);
        sum += gap;
        squares += gap * gap;
    }
    double mean = sum / n, variance = squares / n - mean * mean;
    return mean > 0 && variance > 0 ? sqrt(variance) / mean : 0;
}

static void print_error(const struct stamps *s, const struct rate *r, int64_t *values)
{
    int64_t offset = offset_of(s, r, 50, values);
    for (size_t i = 0; i < s->n; i++)
        values[i] = llabs((int64_t)(s->all[i].read_ns - s->all[0].read_ns) - ideal(r, i) - offset);
    printf("count=%zu first_ns=%" PRIu64 " offset_us=%.2f gap_cv=%.4f", s->n, s->all[0].read_ns,
           (double)offset / 1e3, gap_cv(s));
    print_sorted("error", values, s->n);
}

/* A frozen server makes arrivals late, never early: a low percentile finds the schedule. */
static void print_truth(const struct stamps *s, const struct rate *r, int64_t *values)
{
    int64_t offset = offset_of(s, r, 10, values);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].written_ns != 0)
            values[n++] =
                (int64_t)(s->all[i].written_ns - s->all[0].read_ns) - ideal(r, i) - offset;
    if (n == 0)
        self_die("no response was written");
    print_sorted("corrected", values, n);
    n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].written_ns != 0)
            values[n++] = (int64_t)(s->all[i].written_ns - s->all[i].read_ns);
    print_sorted("uncorrected", values, n);
}

int main(int argc, char **argv)
{
    struct options o = {.rate = {0, 1}};
    struct stamps s;
    const char *file;
    self_options("--rate RATE [flags] FILE", rows, ROWS, argc, argv, &o, &file, 1);
    if (file == NULL || o.rate.num == 0)
        self_die("--rate and a file of stamps are needed");
    stamps_read(&s, file);
    prepare(&s, &o);
    int64_t *values = mem_calloc(s.n, sizeof *values);
    print_error(&s, &o.rate, values);
    if (o.truth)
        print_truth(&s, &o.rate, values);
    printf("\n");
    mem_free(values);
    stamps_fini(&s);
    return 0;
}
