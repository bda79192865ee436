/* SPDX-License-Identifier: MIT */
/* How often `compare` is wrong, and how often it sees what is there, by simulation with a fixed
 * seed: the table in docs/compare.md. bench-gate [TRIALS] */
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/gate_trials.h"

static double percent(size_t n, const struct gate_counts *c)
{
    return 100.0 * (double)n / (double)c->trials;
}

static void row(const struct gate_world *w, double percentile, double slower, size_t trials)
{
    struct gate_counts n = gate_trials(w, percentile, slower, trials, 20261201);
    printf("| %s | p%g | +%.0f %% | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", w->name,
           percentile, 100 * (slower - 1), percent(n.pair_differs, &n),
           percent(n.pair_regression, &n), percent(n.pair_pass, &n), percent(n.sets_differ, &n),
           percent(n.sets_regression, &n), percent(n.sets_pass, &n));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const double percentiles[] = {50, 99}, slower[] = {1, 1.2};
    long trials = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    if (trials < 1 || trials > 100000) {
        fprintf(stderr, "bench-gate [TRIALS]: accepted is 1 to 100000\n");
        return 1;
    }
    printf("Percent of %ld trials; a pair is 1 run a side, a set 5.\n\n"
           "| runs | figure | slower by | pair: differs | pair: REGRESSION | pair: PASS | sets: "
           "differ | sets: REGRESSION | sets: PASS |\n|---|---|---|---|---|---|---|---|---|\n",
           trials);
    for (size_t s = 0; s < 2; s++)
        for (size_t w = 0; w < GATE_WORLDS; w++)
            for (size_t p = 0; p < 2; p++)
                row(&gate_worlds[w], percentiles[p], slower[s], (size_t)trials);
    return 0;
}
