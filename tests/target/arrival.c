/* SPDX-License-Identifier: MIT */
#include "tests/target/arrival.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/clock.h"

void httpd_arrival_watch(int listen_fd)
{
    int on = 1;
    (void)setsockopt(listen_fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

/* How long ago, on the wall clock the kernel stamps with: the difference of two near instants, so
 * that the clock's offset does not matter. */
static uint64_t age_ns(struct msghdr *m)
{
    struct timespec ts;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_TIMESTAMPNS)
            continue;
        memcpy(&ts, CMSG_DATA(h), sizeof ts);
        uint64_t at_ns = (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
        return clock_elapsed(at_ns, clock_wall_ns());
    }
    return 0;
}

ssize_t httpd_arrival_recv(int fd, void *buf, size_t cap, uint64_t *arrived_ns)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec iov = {.iov_base = buf, .iov_len = cap};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(fd, &m, 0);
    uint64_t now_ns = clock_mono_ns(); /* before the wall clock: a delay between makes it earlier */
    *arrived_ns = clock_elapsed(n > 0 ? age_ns(&m) : 0, now_ns);
    return n;
}
