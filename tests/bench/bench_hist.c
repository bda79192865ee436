/* SPDX-License-Identifier: MIT */
/* CPU time of the histogram's operations: the best of several rounds, so that noise drops out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/hist.h"
#include "common/hist_codec.h"

#define VALUES (1u << 16)
#define ROUNDS 15
#define REPEAT 20

struct bench {
    uint64_t *corrected, *uncorrected; /* VALUES each */
    struct hist_rec *rec_a, *rec_b;
    struct hist *sample, *into; /* sample: what one interval brings */
    uint8_t *bytes;
    size_t cap, len;
};

static void must(enum err e)
{
    if (e != ERR_OK)
        exit(EXIT_FAILURE);
}

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

static uint64_t next_random(uint64_t *s)
{
    uint64_t z = *s += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Spread like a log-normal with sigma 0.6 around `base` << 3. */
static uint64_t latency(uint64_t *s, uint64_t base)
{
    static const uint64_t q[] = {65536, 77936, 92682, 110218};
    uint32_t e = (uint32_t)__builtin_popcountll(next_random(s) & 0xffffff);
    uint64_t low = ((base * q[e & 3]) >> 16) << (e >> 2);
    return low + (((next_random(s) >> 32) * (low * 3 / 16)) >> 32);
}

static void record_pairs(struct bench *b)
{
    for (uint32_t i = 0; i < VALUES; i++) {
        hist_rec_record(b->rec_a, b->corrected[i]);
        hist_rec_record(b->rec_b, b->uncorrected[i]);
    }
}

static void record_u64(struct bench *b)
{
    for (uint32_t i = 0; i < VALUES; i++)
        hist_record(b->into, b->corrected[i], 1);
}

static void rec_add(struct bench *b)
{
    hist_rec_add_to(b->rec_a, b->into);
}

static void rec_reset(struct bench *b)
{
    hist_rec_record(b->rec_b, 1000); /* dirties the same range again */
    hist_rec_record(b->rec_b, 5000000);
    hist_rec_reset(b->rec_b);
}

static void add(struct bench *b)
{
    must(hist_add(b->into, b->sample));
}

static void encode(struct bench *b)
{
    must(hist_encode(b->sample, b->bytes, b->cap, &b->len));
}

static void decode(struct bench *b)
{
    struct hist *h;
    must(hist_decode(b->bytes, b->len, &h));
    hist_free(h);
}

static void decode_add(struct bench *b)
{
    must(hist_decode_add(b->bytes, b->len, b->into));
}

static void set_exact(struct bench *b)
{
    uint64_t hi, lo;
    hist_sum128(b->sample, &hi, &lo);
    must(hist_set_exact(b->sample, hist_min(b->sample), hist_max(b->sample), hi, lo, 0));
}

static void percentile(struct bench *b)
{
    if (hist_value_at_percentile(b->sample, 99) == 0)
        exit(EXIT_FAILURE);
}

static double best_of(void (*run)(struct bench *b), struct bench *b)
{
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = cpu_ns();
        for (int i = 0; i < REPEAT; i++)
            run(b);
        uint64_t took = cpu_ns() - start;
        if (took < best)
            best = took;
    }
    return (double)best / REPEAT;
}

static const struct {
    const char *name;
    void (*run)(struct bench *b);
} per_value[] = {{"hist_rec_record, a pair", record_pairs}, {"hist_record", record_u64}},
  per_interval[] = {{"hist_rec_add_to", rec_add},
                    {"hist_rec_reset", rec_reset},
                    {"hist_add", add},
                    {"hist_encode", encode},
                    {"hist_decode", decode},
                    {"hist_decode_add", decode_add},
                    {"hist_set_exact", set_exact},
                    {"value_at_percentile", percentile}};

static void bench_interval(struct bench *b, uint32_t samples)
{
    hist_reset(b->sample);
    hist_rec_reset(b->rec_a);
    for (uint32_t i = 0; i < samples; i++) {
        hist_record(b->sample, b->corrected[i % VALUES], 1);
        hist_rec_record(b->rec_a, b->corrected[i % VALUES]);
    }
    encode(b);
    printf("interval of %" PRIu32 " samples, %zu bytes encoded:\n", samples, b->len);
    for (size_t i = 0; i < sizeof per_interval / sizeof per_interval[0]; i++)
        printf("  %-24s %9.0f ns\n", per_interval[i].name, best_of(per_interval[i].run, b));
}

int main(void)
{
    uint64_t seed = 42;
    struct bench b = {.corrected = malloc(VALUES * sizeof *b.corrected),
                      .uncorrected = malloc(VALUES * sizeof *b.uncorrected),
                      .rec_a = malloc(sizeof *b.rec_a),
                      .rec_b = malloc(sizeof *b.rec_b),
                      .sample = hist_new_default(),
                      .into = hist_new_default()};
    if (!b.corrected || !b.uncorrected || !b.rec_a || !b.rec_b)
        return EXIT_FAILURE;
    hist_rec_init(b.rec_a);
    hist_rec_init(b.rec_b);
    for (uint32_t i = 0; i < VALUES; i++) {
        b.uncorrected[i] = latency(&seed, 250000);
        b.corrected[i] = b.uncorrected[i] + latency(&seed, 2500);
        hist_record(b.sample, b.corrected[i], 1);
    }
    b.cap = hist_encode_max(b.sample);
    b.bytes = malloc(b.cap);
    if (b.bytes == NULL)
        return EXIT_FAILURE;
    for (size_t i = 0; i < sizeof per_value / sizeof per_value[0]; i++)
        printf("%-26s %9.2f ns\n", per_value[i].name, best_of(per_value[i].run, &b) / VALUES);
    for (uint32_t samples = 10; samples <= 100000; samples *= 10)
        bench_interval(&b, samples);
    hist_free(b.sample);
    hist_free(b.into);
    free(b.corrected);
    free(b.uncorrected);
    free(b.rec_a);
    free(b.rec_b);
    free(b.bytes);
    return EXIT_SUCCESS;
}
