/* SPDX-License-Identifier: MIT */
#include "tests/lib/check_main.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/log.h"

uint64_t check_seed(void)
{
    const char *given = getenv("HAMMER_TEST_SEED");
    if (given != NULL)
        return strtoull(given, NULL, 0);
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    uint64_t seed = (uint64_t)ts.tv_sec * UINT64_C(1000000007) ^ (uint64_t)ts.tv_nsec;
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, seed);
    setenv("HAMMER_TEST_SEED", text, 1);
    return seed;
}

int check_main(Suite *s)
{
    log_open("test", LOG_LEVEL_ERROR);
    printf("seed: HAMMER_TEST_SEED=%" PRIu64 "\n", check_seed());
    fflush(stdout);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

uint64_t check_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t check_below(uint64_t *state, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)check_random(state) * n) >> 64);
}
