/* SPDX-License-Identifier: MIT */
#include "agent/engine/placement.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/units.h"

_Static_assert(PLACEMENT_CPUS_MAX <= CPU_SETSIZE, "every number fits a cpu_set_t");

static enum err refuse(const char *text, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    return errmsg_set(msg, ERR_INVALID,
                      "--cpu %s: accepted is a list of CPUs below %d such as 1 or 0,2-3",
                      units_format_shown(text, shown), PLACEMENT_CPUS_MAX);
}

/* Digits only: strtoul alone would take signs and spaces. */
static bool read_cpu(const char **at, unsigned long *cpu)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *cpu = strtoul(*at, &end, 10);
    *at = end;
    return *cpu < PLACEMENT_CPUS_MAX;
}

static bool read_range(const char **at, unsigned long *first, unsigned long *last)
{
    if (!read_cpu(at, first))
        return false;
    *last = *first;
    if (**at != '-')
        return true;
    (*at)++;
    return read_cpu(at, last) && *last >= *first;
}

enum err placement_parse(struct placement *p, const char *text, struct errmsg *msg)
{
    const char *at = text;
    p->n = 0;
    for (;;) {
        unsigned long first, last;
        if (!read_range(&at, &first, &last) || p->n + (last - first) >= PLACEMENT_CPUS_MAX)
            return refuse(text, msg);
        for (unsigned long cpu = first; cpu <= last; cpu++)
            p->cpus[p->n++] = (uint16_t)cpu;
        if (*at == '\0')
            return ERR_OK;
        if (*at++ != ',')
            return refuse(text, msg);
    }
}

void placement_apply(const struct placement *p, uint32_t number)
{
    struct sched_param priority = {.sched_priority = 1};
    if (p->n > 0) {
        unsigned cpu = p->cpus[number % p->n];
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        int rc = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
        if (rc != 0)
            log_warn("worker", "--cpu: worker %u cannot be put on CPU %u: %s", (unsigned)number,
                     cpu, strerror(rc));
    }
    int rc = p->realtime ? pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) : 0;
    if (rc != 0)
        log_warn("worker", "--realtime: worker %u keeps its ordinary priority: %s",
                 (unsigned)number, strerror(rc));
}

uint32_t placement_cores(const struct placement *p, uint32_t allowed)
{
    cpu_set_t set;
    if (p->n == 0)
        return allowed;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < p->n; i++)
        CPU_SET(p->cpus[i], &set);
    return (uint32_t)CPU_COUNT(&set);
}
