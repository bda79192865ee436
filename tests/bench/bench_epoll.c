/* SPDX-License-Identifier: MIT */
/*
 * The floor: a closed loop on bare epoll, one send and one recv a request, no epoll_ctl, no clock
 * but one a wake-up, nothing recorded. What a load generator costs beyond this is its own doing.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "tests/bench/lib/client.h"
#include "tests/bench/lib/self.h"

#define EVENTS  512
#define WAIT_MS 100

static void turn(struct client *c)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(c->epoll, events, EVENTS, WAIT_MS);
    if (n < 0 && errno != EINTR)
        self_die("epoll_wait");
    for (int i = 0; i < n; i++) {
        struct client_conn *conn = events[i].data.ptr;
        if (client_receive(c, conn) > 0)
            client_send(c, conn);
    }
}

int main(int argc, char **argv)
{
    struct client c;
    client_init(&c, false, argc, argv);
    client_open_all(&c);
    client_count_from_now(&c);
    for (uint32_t i = 0; i < c.o.connections; i++)
        client_send(&c, &c.conns[i]);
    uint64_t end_ns = c.from_ns + c.o.duration_ns;
    while (clock_mono_ns() < end_ns)
        turn(&c);
    client_finish(&c);
    return 0;
}
