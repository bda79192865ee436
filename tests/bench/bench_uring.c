/* SPDX-License-Identifier: MIT */
/*
 * The floor with completions instead of readiness: a closed loop on bare io_uring as cheap as we
 * can make it. Multishot receives into a ring of buffers, sends that report failures only,
 * registered files, work deferred to the one system call a turn. What it saves beside bench-epoll
 * is the most that an io_uring backend could save. bench-uring --check   0 = this kernel lets us,
 * 77 = it does not, and why
 */
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/bench/lib/client.h"
#include "tests/bench/lib/self.h"

#define ENTRIES  4096u
#define BUFFERS  1024u /* a power of two */
#define BUFFER   4096u
#define GROUP    0
#define WAIT_NS  (100 * NS_PER_MS)
#define SEND_BIT UINT64_C(1)
#define SKIPPED  77
#define RING_FLAGS                                                                                 \
    (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN |         \
     IORING_SETUP_CQSIZE)

struct loop_uring {
    struct io_uring ring;
    struct io_uring_buf_ring *free; /* buffers the kernel may fill */
    char *bytes;
    struct client client;
};

/* 0 or -errno. */
static int ring_open(struct loop_uring *u)
{
    struct io_uring_params p = {.flags = RING_FLAGS, .cq_entries = 4 * ENTRIES};
    int error = io_uring_queue_init_params(ENTRIES, &u->ring, &p);
    if (error != 0)
        return error;
    size_t size = BUFFERS * sizeof(struct io_uring_buf);
    if (posix_memalign((void **)&u->free, (size_t)sysconf(_SC_PAGESIZE), size) != 0)
        return -ENOMEM;
    memset(u->free, 0, size);
    struct io_uring_buf_reg reg = {
        .ring_addr = (uint64_t)(uintptr_t)u->free, .ring_entries = BUFFERS, .bgid = GROUP};
    return io_uring_register_buf_ring(&u->ring, &reg, 0);
}

static int check(void)
{
    struct loop_uring u = {.bytes = NULL};
    int error = ring_open(&u);
    if (error == 0)
        return 0;
    printf("io_uring with deferred work and buffer rings: %s\n", strerror(-error));
    return SKIPPED;
}

static void give_buffer(struct loop_uring *u, uint32_t index)
{
    io_uring_buf_ring_add(u->free, u->bytes + (size_t)index * BUFFER, BUFFER, (uint16_t)index,
                          io_uring_buf_ring_mask(BUFFERS), 0);
    io_uring_buf_ring_advance(u->free, 1);
}

static struct io_uring_sqe *entry(struct loop_uring *u)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
    if (sqe == NULL) {
        io_uring_submit(&u->ring);
        sqe = io_uring_get_sqe(&u->ring);
    }
    errno = 0;
    if (sqe == NULL)
        self_die("no room in the ring");
    return sqe;
}

static void arm(struct loop_uring *u, uint32_t index)
{
    struct io_uring_sqe *sqe = entry(u);
    io_uring_prep_recv_multishot(sqe, (int)index, NULL, 0, 0);
    sqe->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
    sqe->buf_group = GROUP;
    io_uring_sqe_set_data64(sqe, (uint64_t)index << 1);
}

static void submit_request(struct loop_uring *u, uint32_t index)
{
    struct io_uring_sqe *sqe = entry(u);
    io_uring_prep_send(sqe, (int)index, u->client.request, u->client.request_len, MSG_NOSIGNAL);
    sqe->flags |= IOSQE_FIXED_FILE | IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(sqe, ((uint64_t)index << 1) | SEND_BIT);
    u->client.sent++;
}

static void received(struct loop_uring *u, uint32_t index, const struct io_uring_cqe *cqe)
{
    struct client_conn *conn = &u->client.conns[index];
    size_t done = 0;
    if (cqe->res > 0) {
        uint32_t buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
        done = reader_feed(&conn->reader, u->bytes + (size_t)buffer * BUFFER, (size_t)cqe->res);
        give_buffer(u, buffer);
    } else if (cqe->res != -ENOBUFS) {
        errno = -cqe->res;
        self_die("receiving");
    }
    errno = 0;
    if (done == READER_BAD)
        self_die("a response without Content-Length, or with a long header");
    u->client.completed += done;
    if ((cqe->flags & IORING_CQE_F_MORE) == 0)
        arm(u, index);
    if (done > 0)
        submit_request(u, index);
}

static void turn(struct loop_uring *u)
{
    struct __kernel_timespec wait = {.tv_nsec = WAIT_NS};
    struct io_uring_cqe *cqe;
    unsigned head, n = 0;
    int error = io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, &wait, NULL);
    errno = -error;
    if (error < 0 && error != -ETIME && error != -EINTR)
        self_die("io_uring_enter");
    io_uring_for_each_cqe(&u->ring, head, cqe)
    {
        uint64_t data = io_uring_cqe_get_data64(cqe);
        errno = -cqe->res;
        if ((data & SEND_BIT) != 0)
            self_die("sending a request");
        received(u, (uint32_t)(data >> 1), cqe);
        n++;
    }
    io_uring_cq_advance(&u->ring, n);
}

static void open_all(struct loop_uring *u)
{
    struct client *c = &u->client;
    client_open_all(c);
    close(c->epoll); /* or each arrival would be queued there, too */
    c->epoll = -1;
    int *fds = mem_calloc(c->o.connections, sizeof *fds);
    for (uint32_t i = 0; i < c->o.connections; i++)
        fds[i] = c->conns[i].fd;
    int error = io_uring_register_files(&u->ring, fds, c->o.connections);
    errno = -error;
    if (error != 0)
        self_die("registering the connections");
    mem_free(fds);
    for (uint32_t i = 0; i < c->o.connections; i++)
        arm(u, i);
    io_uring_submit(&u->ring);
}

int main(int argc, char **argv)
{
    static struct loop_uring u;
    if (argc == 2 && strcmp(argv[1], "--check") == 0)
        return check();
    client_init(&u.client, false, argc, argv);
    int error = ring_open(&u);
    errno = -error;
    if (error != 0)
        self_die("io_uring");
    io_uring_register_ring_fd(&u.ring);
    u.bytes = mem_calloc(BUFFERS, BUFFER);
    for (uint32_t i = 0; i < BUFFERS; i++)
        give_buffer(&u, i);
    open_all(&u);
    client_count_from_now(&u.client);
    for (uint32_t i = 0; i < u.client.o.connections; i++)
        submit_request(&u, i);
    uint64_t end_ns = u.client.from_ns + u.client.o.duration_ns;
    while (clock_mono_ns() < end_ns)
        turn(&u);
    io_uring_queue_exit(&u.ring);
    client_finish(&u.client);
    mem_free(u.bytes);
    free(u.free);
    return 0;
}
