/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/bench/lib/net.h"
#include "tests/bench/lib/self.h"

#define BUFFER          (256u << 10)
#define DURATION_MAX_NS (10 * 60 * NS_PER_SEC)

#define AT(member) .offset = offsetof(struct client_options, member), .set_offset = OPTION_NO_SET

/* --rate is the last: a closed loop leaves it out. */
static const struct option_row rows[] = {
    {.name = "connections",
     .aliases = "-c",
     .type = OPTION_U32,
     AT(connections),
     .min = 1,
     .max = 60000,
     .meta = "N",
     .text = "connections (default: 50)"},
    {.name = "duration",
     .aliases = "-d",
     .type = OPTION_DURATION,
     AT(duration_ns),
     .min = NS_PER_MS,
     .max = DURATION_MAX_NS,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "how long to send (default: 1s)"},
    {.name = "cpu",
     .aliases = "",
     .type = OPTION_U32,
     AT(cpu),
     .max = 1023,
     .meta = "N",
     .text = "run on this CPU only"},
    {.name = "rate",
     .aliases = "-r",
     .type = OPTION_RATE,
     AT(rate),
     .meta = "RATE",
     .text = "requests per second (required)"},
};

#define ROWS (sizeof rows / sizeof rows[0])

static _Noreturn void bad_use(const char *text)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    exit(1);
}

void client_init(struct client *c, bool needs_rate, int argc, char **argv)
{
    const char *address;
    struct errmsg msg;
    *c = (struct client){.o = {NS_PER_SEC, {0, 1}, 50, SELF_NO_CPU}};
    self_options("[flags] 127.0.0.1:PORT", rows, needs_rate ? ROWS : ROWS - 1, argc, argv, &c->o,
                 &address, 1);
    if (net_parse(address, &c->server, &msg) != ERR_OK)
        bad_use(msg.text);
    if (needs_rate && c->o.rate.num == 0)
        bad_use("--rate is missing: accepted is e.g. 2000, 1.5k, 100/s");
    self_pin(c->o.cpu);
    self_raise_files();
    prctl(PR_SET_TIMERSLACK, 1);
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->conns = mem_calloc(c->o.connections, sizeof *c->conns);
    for (uint32_t i = 0; i < c->o.connections; i++)
        c->conns[i].fd = -1;
    c->buf = mem_calloc(1, BUFFER);
    c->request_len = (size_t)snprintf(c->request, sizeof c->request,
                                      "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", address);
    c->corrected = hist_new_default();
    c->uncorrected = hist_new_default();
}

void client_open(struct client *c, struct client_conn *conn)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = conn};
    conn->fd = net_connect(&c->server);
    if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, conn->fd, &ev) != 0)
        self_die("epoll_ctl");
}

void client_open_all(struct client *c)
{
    for (uint32_t i = 0; i < c->o.connections; i++)
        client_open(c, &c->conns[i]);
}

void client_count_from_now(struct client *c)
{
    c->cpu_from_ns = self_cpu_ns();
    c->from_ns = clock_mono_ns();
    c->sent = c->completed = 0;
}

void client_send(struct client *c, struct client_conn *conn)
{
    ssize_t n = send(conn->fd, c->request, c->request_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n != (ssize_t)c->request_len)
        self_die("sending a request");
    c->sent++;
}

size_t client_receive(struct client *c, struct client_conn *conn)
{
    ssize_t n = recv(conn->fd, c->buf, BUFFER, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        self_die("receiving");
    errno = 0;
    if (n == 0)
        self_die("the server closed a connection");
    size_t done = reader_feed(&conn->reader, c->buf, (size_t)n);
    if (done == READER_BAD)
        self_die("a response without Content-Length, or with a long header");
    c->completed += done;
    return done;
}

void client_record(struct client *c, const struct client_conn *conn, uint64_t now_ns)
{
    hist_record(c->corrected, clock_elapsed(conn->due_ns, now_ns), 1);
    hist_record(c->uncorrected, clock_elapsed(conn->sent_ns, now_ns), 1);
}

static void print_percentiles(const char *name, const struct hist *h)
{
    static const double percentiles[] = {50, 90, 99, 99.9};
    for (size_t i = 0; i < sizeof percentiles / sizeof percentiles[0]; i++)
        printf(" %s_p%g_us=%.1f", name, percentiles[i],
               (double)hist_value_at_percentile(h, percentiles[i]) / 1e3);
    printf(" %s_max_us=%.1f", name, (double)hist_max(h) / 1e3);
}

void client_finish(struct client *c)
{
    uint64_t wall_ns = clock_elapsed(c->from_ns, clock_mono_ns());
    double cpu_us = (double)(self_cpu_ns() - c->cpu_from_ns) / 1e3;
    printf("requests=%" PRIu64 " sent=%" PRIu64 " seconds=%.3f cpu_us_per_request=%.3f cpu=%.3f",
           c->completed, c->sent, (double)wall_ns / 1e9,
           c->completed > 0 ? cpu_us / (double)c->completed : 0, cpu_us * 1e3 / (double)wall_ns);
    if (c->o.rate.num > 0) {
        printf(" t0_ns=%" PRIu64, c->from_ns);
        print_percentiles("corrected", c->corrected);
        print_percentiles("uncorrected", c->uncorrected);
    }
    printf("\n");
    for (uint32_t i = 0; i < c->o.connections; i++)
        if (c->conns[i].fd >= 0)
            close(c->conns[i].fd);
    close(c->epoll);
    hist_free(c->corrected);
    hist_free(c->uncorrected);
    mem_free(c->conns);
    mem_free(c->buf);
}
