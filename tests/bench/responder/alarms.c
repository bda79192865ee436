/* SPDX-License-Identifier: MIT */
#include "tests/bench/responder/alarms.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/bench/lib/self.h"

#define HELD_MAX 65536u

void alarms_init(struct alarms *a, uint64_t end_ns)
{
    *a = (struct alarms){.set_ns = NS_NEVER, .freeze_ns = NS_NEVER, .end_ns = end_ns};
    a->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (a->timer < 0)
        self_die("timerfd_create");
    a->ring = mem_calloc(HELD_MAX, sizeof *a->ring);
}

void alarms_freeze(struct alarms *a, uint64_t first_ns, uint64_t for_ns, uint64_t every_ns)
{
    a->freeze_ns = first_ns;
    a->freeze_for_ns = for_ns;
    a->freeze_every_ns = every_ns;
}

void alarms_hold(struct alarms *a, const struct held *h)
{
    if (a->n == HELD_MAX)
        self_die("--slow: more than %u responses are held back", HELD_MAX);
    a->ring[(a->head + a->n++) % HELD_MAX] = *h;
}

bool alarms_release(struct alarms *a, uint64_t now_ns, struct held *out)
{
    if (a->n == 0 || a->ring[a->head].due_ns > now_ns)
        return false;
    *out = a->ring[a->head];
    a->head = (a->head + 1) % HELD_MAX;
    a->n--;
    return true;
}

void alarms_stand_still(struct alarms *a, uint64_t now_ns)
{
    if (now_ns < a->freeze_ns)
        return;
    clock_sleep_until(a->freeze_ns + a->freeze_for_ns);
    a->freeze_ns = a->freeze_every_ns > 0 ? a->freeze_ns + a->freeze_every_ns : NS_NEVER;
}

static uint64_t earliest(const struct alarms *a)
{
    uint64_t first = a->end_ns < a->freeze_ns ? a->end_ns : a->freeze_ns;
    if (a->n > 0 && a->ring[a->head].due_ns < first)
        first = a->ring[a->head].due_ns;
    return first;
}

void alarms_set(struct alarms *a)
{
    uint64_t first = earliest(a);
    if (first == a->set_ns)
        return;
    struct itimerspec at = {.it_value = {.tv_sec = (time_t)(first / NS_PER_SEC),
                                         .tv_nsec = (long)(first % NS_PER_SEC)}};
    if (timerfd_settime(a->timer, TFD_TIMER_ABSTIME, &at, NULL) != 0)
        self_die("timerfd_settime");
    a->set_ns = first;
}

void alarms_fini(struct alarms *a)
{
    close(a->timer);
    mem_free(a->ring);
}
