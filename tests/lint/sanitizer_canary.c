/* SPDX-License-Identifier: MIT */

/*
 * Does on purpose what a sanitizer must report: proves that the build that calls itself sanitized
 * is. Ends with 0 when nothing stops it.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void overflow_heap(void)
{
    volatile size_t size = 16, beyond = size; /* not known before it runs: that would be UBSan's */
    volatile char *p = malloc(size);
    p[beyond] = 1;
    free((void *)p);
}

static void overflow_int(void)
{
    volatile int n = INT_MAX;
    n = n + 1;
}

static void *count_up(void *counter)
{
    for (int i = 0; i < 100000; i++)
        (*(volatile int *)counter)++;
    return NULL;
}

static void race(void)
{
    int counter = 0;
    pthread_t other;
    if (pthread_create(&other, NULL, count_up, &counter) != 0)
        abort();
    count_up(&counter);
    pthread_join(other, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} deeds[] = {
    {"address", overflow_heap},
    {"undefined", overflow_int},
    {"thread", race},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof deeds / sizeof deeds[0]; i++) {
        if (strcmp(argv[1], deeds[i].name) == 0) {
            deeds[i].run();
            return EXIT_SUCCESS;
        }
    }
    fprintf(stderr, "sanitizer_canary: accepted is address, undefined or thread\n");
    return 2;
}
