/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_CORE_THIEF_H
#define HAMMER_TESTS_CORE_THIEF_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Takes a CPU away from everybody else on it, two thirds of the time: one process at real-time
 * priority where that is allowed, else several ordinary ones that never rest. They end with the
 * test, and by themselves after THIEF_SECONDS.
 */

#define THIEF_MAX     8
#define THIEF_SECONDS 30

struct core_thief {
    pid_t pids[THIEF_MAX];
    size_t n;
    bool realtime;
};

void core_thief_start(struct core_thief *t, int cpu);
void core_thief_stop(struct core_thief *t);

/* The last CPU this process may use; -1 when there is only one. */
int core_spare(void);
/* Keeps a process off that CPU. */
void core_avoid(pid_t pid, int cpu);

#endif
