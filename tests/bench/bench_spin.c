/* SPDX-License-Identifier: MIT */
/*
 * The other end of the trade: an open loop with one global schedule that never sleeps. It asks the
 * clock until a request is due and burns a whole core at any rate; no pacing can be nearer.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/bench/lib/client.h"
#include "tests/bench/lib/self.h"

#define EVENTS   64
#define LEAD_NS  (50 * NS_PER_MS)
#define DRAIN_NS (2 * NS_PER_SEC)

struct spin {
    struct client c;
    struct client_conn **idle; /* FIFO ring */
    uint64_t idle_head, idle_n;
    uint64_t next;  /* index of the next request */
    uint64_t total; /* requests of the run */
};

static uint64_t due_at(const struct spin *s, uint64_t i)
{
    const struct rate *r = &s->c.o.rate;
    return s->c.from_ns + (uint64_t)((unsigned __int128)i * NS_PER_SEC * r->den / r->num);
}

static void idle_push(struct spin *s, struct client_conn *conn)
{
    s->idle[(s->idle_head + s->idle_n++) % s->c.o.connections] = conn;
}

static struct client_conn *idle_pop(struct spin *s)
{
    s->idle_n--;
    return s->idle[s->idle_head++ % s->c.o.connections];
}

/* Sends what is due, oldest first, as far as connections are idle. */
static void pump(struct spin *s)
{
    while (s->next < s->total && s->idle_n > 0 && clock_mono_ns() >= due_at(s, s->next)) {
        struct client_conn *conn = idle_pop(s);
        conn->due_ns = due_at(s, s->next++);
        conn->sent_ns = clock_mono_ns();
        client_send(&s->c, conn);
    }
}

static void receive(struct spin *s)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(s->c.epoll, events, EVENTS, 0);
    if (n < 0 && errno != EINTR)
        self_die("epoll_wait");
    uint64_t now_ns = clock_mono_ns();
    for (int i = 0; i < n; i++) {
        struct client_conn *conn = events[i].data.ptr;
        if (client_receive(&s->c, conn) == 0)
            continue;
        client_record(&s->c, conn, now_ns);
        idle_push(s, conn);
        pump(s);
    }
}

/* The first index that is due at the end or later. */
static uint64_t count_due(const struct client_options *o)
{
    unsigned __int128 scaled = (unsigned __int128)o->duration_ns * o->rate.num;
    unsigned __int128 per = (unsigned __int128)NS_PER_SEC * o->rate.den;
    return (uint64_t)((scaled + per - 1) / per);
}

int main(int argc, char **argv)
{
    struct spin s = {0};
    client_init(&s.c, true, argc, argv);
    client_open_all(&s.c);
    s.idle = mem_calloc(s.c.o.connections, sizeof *s.idle);
    for (uint32_t i = 0; i < s.c.o.connections; i++)
        idle_push(&s, &s.c.conns[i]);
    s.total = count_due(&s.c.o);
    clock_sleep_until(clock_mono_ns() + LEAD_NS);
    client_count_from_now(&s.c);
    uint64_t end_ns = s.c.from_ns + s.c.o.duration_ns + DRAIN_NS;
    while (s.c.completed < s.total && clock_mono_ns() < end_ns) {
        pump(&s);
        receive(&s);
    }
    client_finish(&s.c);
    mem_free(s.idle);
    return 0;
}
