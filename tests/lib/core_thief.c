/* SPDX-License-Identifier: MIT */
#include "tests/lib/core_thief.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define BURN_NS (20 * NS_PER_MS)
#define REST_NS (10 * NS_PER_MS)

/* Whatever goes wrong, this process ends. */
static void steal(bool rest)
{
    uint64_t end_ns = clock_mono_ns() + THIEF_SECONDS * NS_PER_SEC;
    struct timespec nap = {.tv_nsec = REST_NS};
    for (uint64_t now_ns = clock_mono_ns(); now_ns < end_ns;) {
        uint64_t until_ns = now_ns + BURN_NS;
        while ((now_ns = clock_mono_ns()) < until_ns)
            ;
        if (rest)
            nanosleep(&nap, NULL);
    }
    _exit(0);
}

static pid_t spawn(int cpu, bool realtime)
{
    pid_t pid = fork();
    CHECK_MUST(pid >= 0);
    if (pid > 0)
        return pid;
    struct rlimit cpu_seconds = {THIEF_SECONDS, THIEF_SECONDS};
    struct sched_param priority = {.sched_priority = 10};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CPU, &cpu_seconds);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        _exit(1);
    if (realtime && sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        _exit(1);
    steal(realtime);
    return 0;
}

static bool realtime_allowed(void)
{
    pid_t pid = fork();
    CHECK_MUST(pid >= 0);
    if (pid == 0) {
        struct sched_param priority = {.sched_priority = 10};
        _exit(sched_setscheduler(0, SCHED_FIFO, &priority) == 0 ? 0 : 1);
    }
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void core_thief_start(struct core_thief *t, int cpu)
{
    *t = (struct core_thief){.realtime = realtime_allowed()};
    size_t n = t->realtime ? 1 : THIEF_MAX;
    while (t->n < n)
        t->pids[t->n++] = spawn(cpu, t->realtime);
}

void core_thief_stop(struct core_thief *t)
{
    for (size_t i = 0; i < t->n; i++)
        kill(t->pids[i], SIGKILL);
    for (size_t i = 0; i < t->n; i++)
        waitpid(t->pids[i], NULL, 0);
    t->n = 0;
}

int core_spare(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
        return -1;
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET((unsigned)last, &set))
        last--;
    return last;
}

void core_avoid(pid_t pid, int cpu)
{
    cpu_set_t set;
    CHECK_MUST(sched_getaffinity(pid, sizeof set, &set) == 0);
    CPU_CLR((unsigned)cpu, &set);
    CHECK_MUST(sched_setaffinity(pid, sizeof set, &set) == 0);
}
