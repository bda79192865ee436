/* SPDX-License-Identifier: MIT */
#include "agent/service/notify.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/mem.h"

#ifdef HAMMER_SYSTEMD
#include <systemd/sd-daemon.h>

static void to_systemd(const char *text)
{
    (void)sd_notify(0, text); /* systemd itself sees what is missing */
}

static uint64_t watchdog_us(void)
{
    uint64_t us = 0;
    return sd_watchdog_enabled(0, &us) > 0 ? us : 0;
}
#else
static void to_systemd(const char *text)
{
    (void)text;
}

static uint64_t watchdog_us(void)
{
    return 0;
}
#endif

struct notify {
    struct loop_timer *timer;
    uint64_t period_ns;
};

static void tell(const struct notify *n, const char *text)
{
    if (n != NULL)
        to_systemd(text);
}

static void feed(void *arg)
{
    struct notify *n = arg;
    tell(n, "WATCHDOG=1");
    loop_timer_at(n->timer, clock_add(clock_mono_ns(), n->period_ns));
}

struct notify *notify_new(struct loop *loop)
{
    struct notify *n = mem_calloc(1, sizeof *n);
    n->timer = loop_timer_new(loop, feed, n);
    n->period_ns = watchdog_us() / 2 * NS_PER_US;
    if (n->period_ns > 0)
        loop_timer_at(n->timer, clock_add(clock_mono_ns(), n->period_ns));
    return n;
}

void notify_free(struct notify *n)
{
    if (n == NULL)
        return;
    loop_timer_free(n->timer);
    mem_free(n);
}

void notify_ready(struct notify *n)
{
    tell(n, "READY=1");
}

/* A newline would begin another assignment, MAINPID= for example. */
void notify_status(struct notify *n, const char *text)
{
    char line[256];
    snprintf(line, sizeof line, "STATUS=%s", text);
    for (char *p = line; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
            *p = '?';
    tell(n, line);
}

void notify_reloading(struct notify *n)
{
    char text[64];
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
             clock_mono_ns() / NS_PER_US);
    tell(n, text);
}

void notify_stopping(struct notify *n)
{
    tell(n, "STOPPING=1");
}
