/* SPDX-License-Identifier: MIT */
#include "tests/lib/truth.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hist.h"
#include "common/mem.h"
#include "tests/lib/process.h"
#include "tests/lib/tap_client.h"

static void take_line(const struct worker_rig *rig, const char *line, struct truth_sample *samples)
{
    uint64_t read_ns, written_ns, index, arrived_ns;
    if (sscanf(line, "%" SCNu64 " %" SCNu64 " /r/%" SCNu64 " 200 %" SCNu64, &read_ns, &written_ns,
               &index, &arrived_ns) != 4)
        ck_abort_msg("unexpected log line: %s", line);
    ck_assert_uint_lt(index, rig->tags);
    struct truth_sample *s = &samples[index];
    ck_assert_msg(s->written_ns == 0, "request %" PRIu64 " reached the server twice", index);
    const struct client_result *r = tap_result(index);
    ck_assert_msg(r != NULL && r->outcome == OUTCOME_OK, "request %" PRIu64 " has no answer",
                  index);
    *s = (struct truth_sample){
        .due_ns = r->due_ns,
        .arrived_ns = arrived_ns,
        .written_ns = written_ns,
        .sent_ns = r->sent_ns,
        /* Above 10 000 responses a second (a backlog that drains) only a sample is stamped. What
         * was not is between the server's write and our stamp at the most. */
        .receive_ns =
            r->receive_ns == UINT64_MAX ? clock_elapsed(written_ns, r->done_ns) : r->receive_ns,
    };
}

struct truth_sample *truth_load(const struct worker_rig *rig, const char *log)
{
    struct truth_sample *samples = mem_calloc(rig->tags, sizeof *samples);
    char *text = file_read(log), *save = NULL;
    size_t lines = 0;
    ck_assert_ptr_nonnull(text);
    for (char *l = strtok_r(text, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save), lines++)
        take_line(rig, l, samples);
    ck_assert_uint_eq(lines, rig->tags);
    mem_free(text);
    return samples;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t *truth_sorted(const struct truth_sample *s, size_t n, truth_fn fn)
{
    uint64_t *values = mem_calloc(n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = fn(&s[i]);
    qsort(values, n, sizeof *values, by_value);
    return values;
}

uint64_t truth_percentile(const uint64_t *sorted, size_t n, double percentile)
{
    return sorted[hist_rank(percentile, n) - 1];
}

uint64_t *truth_one_queue(const struct truth_sample *s, size_t n, uint32_t connections)
{
    uint64_t *values = mem_calloc(n, sizeof *values);
    uint64_t *free_ns = mem_calloc(connections, sizeof *free_ns);
    for (size_t i = 0; i < n; i++) {
        uint64_t *first = free_ns;
        for (uint32_t k = 1; k < connections; k++)
            first = free_ns[k] < *first ? &free_ns[k] : first;
        uint64_t from_ns = *first > s[i].due_ns ? *first : s[i].due_ns;
        *first = from_ns + clock_elapsed(s[i].arrived_ns, s[i].written_ns);
        values[i] = *first - s[i].due_ns;
    }
    mem_free(free_ns);
    qsort(values, n, sizeof *values, by_value);
    return values;
}
