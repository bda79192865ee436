/* SPDX-License-Identifier: MIT */
/*
 * Paces the way wrk2 does, which is not packaged: a schedule for each connection, counted from its
 * own start, the starts 5 ms apart; timers in whole milliseconds, the wait rounded up by half a
 * one; a connection that is behind catches up at no more than twice its rate. Its corrected latency
 * counts from the connection's schedule, as wrk2's does. It keeps an array of timers instead of a
 * list.
 */
#include <errno.h>
#include <math.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/bench/lib/client.h"
#include "tests/bench/lib/self.h"

#define EVENTS     64
#define STAGGER_MS 5
#define CATCH_UP   2.0

/* Schedule and timer of one connection; the same index as in client.conns. */
struct pace {
    double per_ns;     /* requests per ns */
    uint64_t start_ns; /* 0 = not opened yet */
    uint64_t complete;
    uint64_t catch_up_ns; /* 0 = not behind */
    uint64_t catch_up_complete;
    uint64_t timer_ms; /* NS_NEVER = none */
};

struct wrk2 {
    struct client c;
    struct pace *paces;
};

static uint64_t now_ms(void)
{
    return clock_mono_ns() / NS_PER_MS;
}

static uint64_t expected_ns(const struct pace *p)
{
    return p->start_ns + (uint64_t)((double)p->complete / p->per_ns);
}

/* wrk2's usec_to_next_send: 0 = now. */
static uint64_t wait_ns(struct pace *p, uint64_t now_ns)
{
    uint64_t next_ns = expected_ns(p);
    if (next_ns > now_ns) {
        p->catch_up_ns = 0;
        return next_ns - now_ns;
    }
    if (p->catch_up_ns == 0) {
        p->catch_up_ns = now_ns;
        p->catch_up_complete = p->complete;
    }
    uint64_t since = p->complete - p->catch_up_complete;
    next_ns = p->catch_up_ns + (uint64_t)((double)since / (p->per_ns * CATCH_UP));
    return clock_elapsed(now_ns, next_ns);
}

/* Sends if the connection's schedule says so, else sets its timer. */
static void send_or_wait(struct wrk2 *w, uint32_t i)
{
    struct pace *p = &w->paces[i];
    struct client_conn *conn = &w->c.conns[i];
    uint64_t now_ns = clock_mono_ns();
    uint64_t wait = wait_ns(p, now_ns);
    if (wait > 0) {
        p->timer_ms = now_ms() + (uint64_t)round((double)wait / 1e6 + 0.5);
        return;
    }
    p->timer_ms = NS_NEVER;
    conn->due_ns = expected_ns(p);
    conn->sent_ns = now_ns;
    client_send(&w->c, conn);
}

static void timer_fires(struct wrk2 *w, uint32_t i)
{
    struct pace *p = &w->paces[i];
    if (p->start_ns == 0) {
        p->start_ns = clock_mono_ns();
        client_open(&w->c, &w->c.conns[i]);
    }
    send_or_wait(w, i);
}

static void run_timers(struct wrk2 *w)
{
    uint64_t now = now_ms();
    for (uint32_t i = 0; i < w->c.o.connections; i++)
        if (w->paces[i].timer_ms <= now)
            timer_fires(w, i);
}

static int wait_ms(const struct wrk2 *w)
{
    uint64_t now = now_ms(), first = now + 100;
    for (uint32_t i = 0; i < w->c.o.connections; i++)
        if (w->paces[i].timer_ms < first)
            first = w->paces[i].timer_ms;
    return (int)clock_elapsed(now, first);
}

static void receive(struct wrk2 *w)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(w->c.epoll, events, EVENTS, wait_ms(w));
    if (n < 0 && errno != EINTR)
        self_die("epoll_wait");
    for (int i = 0; i < n; i++) {
        struct client_conn *conn = events[i].data.ptr;
        uint32_t index = (uint32_t)(conn - w->c.conns);
        if (client_receive(&w->c, conn) == 0)
            continue;
        client_record(&w->c, conn, clock_mono_ns());
        w->paces[index].complete++;
        send_or_wait(w, index);
    }
}

int main(int argc, char **argv)
{
    struct wrk2 w = {0};
    client_init(&w.c, true, argc, argv);
    const struct client_options *o = &w.c.o;
    w.paces = mem_calloc(o->connections, sizeof *w.paces);
    client_count_from_now(&w.c);
    uint64_t start_ms = now_ms();
    for (uint32_t i = 0; i < o->connections; i++) {
        w.paces[i].timer_ms = start_ms + (uint64_t)STAGGER_MS * i;
        w.paces[i].per_ns =
            (double)o->rate.num / (double)o->rate.den / (double)o->connections / (double)NS_PER_SEC;
    }
    uint64_t end_ns = w.c.from_ns + o->duration_ns;
    while (clock_mono_ns() < end_ns) {
        receive(&w);
        run_timers(&w);
    }
    client_finish(&w.c);
    mem_free(w.paces);
    return 0;
}
