/* SPDX-License-Identifier: MIT */
#include "tests/target/conn.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/target/arrival.h"
#include "tests/target/behaviour.h"
#include "tests/target/request.h"

#define IN_FIRST  4096
#define OUT_LIMIT (1 << 20) /* bytes waiting for a slow reader before no more are added */
#define LINGER_NS NS_PER_SEC

enum conn_state {
    CONN_HEAD,   /* waits for a request head */
    CONN_BODY,   /* waits for the rest of a request body */
    CONN_HELD,   /* a response waits for its timer */
    CONN_ENDING, /* closes once everything is written */
    CONN_LINGER, /* our side is shut; waits for the client's end, so that no RST eats the response
                  */
};

struct httpd_conn {
    struct source source;     /* first: the event's pointer is the connection's */
    struct httpd_timer timer; /* HELD: when to answer; LINGER: when to give up */
    LIST_ENTRY(httpd_conn) entry;
    enum conn_state state;
    bool eof;    /* the client sends no more */
    bool abrupt; /* ENDING without having said so */
    uint32_t watched;
    uint64_t n_responses;
    char *in;
    size_t in_off, in_len, in_capacity;
    char *out;
    size_t out_off, out_len, out_capacity;
    /* The request being read or held. */
    uint64_t body_left;
    struct httpd_reqlog_times times;
    uint32_t status;
    bool is_head, http10, closes;
    char *path;
    size_t path_len, path_capacity;
};

static size_t out_pending(const struct httpd_conn *c)
{
    return c->out_len - c->out_off;
}

static void out_append(struct httpd_conn *c, const struct httpd_response_text *t)
{
    if (c->out_len + t->len > c->out_capacity) {
        c->out_capacity = (c->out_len + t->len) * 2;
        c->out = mem_realloc(c->out, c->out_capacity, 1);
    }
    memcpy(c->out + c->out_len, t->bytes, t->len);
    c->out_len += t->len;
}

/* False = the connection is broken. */
static bool out_flush(struct httpd_conn *c)
{
    while (out_pending(c) > 0) {
        ssize_t n = send(c->source.fd, c->out + c->out_off, out_pending(c), MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        c->out_off += (size_t)n;
    }
    c->out_off = c->out_len = 0;
    return true;
}

static void respond(struct httpd *srv, struct httpd_conn *c)
{
    bool closes = c->closes;
    c->n_responses++;
    if (httpd_behaviour_closes(srv->options, c->n_responses)) {
        c->abrupt = !srv->options->announce_close && !closes;
        closes = true;
    }
    out_append(c, httpd_responses_get(&srv->responses, (struct httpd_response_kind){
                                                           .status = c->status,
                                                           .no_body = c->is_head,
                                                           .closes = closes && !c->abrupt,
                                                           .plain = c->http10,
                                                       }));
    c->state = closes ? CONN_ENDING : CONN_HEAD;
    httpd_count_response(srv);
    c->times.written_ns = clock_mono_ns();
    httpd_reqlog_add(&srv->log, &c->times, c->path, c->path_len, c->status);
}

/* The request is read completely: answer it now or set the timer that will. */
static void complete(struct httpd *srv, struct httpd_conn *c)
{
    uint64_t n = httpd_count_request(srv, c->times.read_ns);
    struct httpd_behaviour b = httpd_behaviour_of(srv->options, n);
    c->status = b.status;
    if (b.pause_ns > 0) {
        /* What was answered before must not suffer; a broken connection shows on the next write. */
        (void)out_flush(c);
        clock_sleep_until(clock_add(clock_mono_ns(), b.pause_ns));
    }
    if (b.delay_ns == 0) {
        respond(srv, c);
        return;
    }
    c->state = CONN_HELD;
    httpd_timers_set(&srv->timers, &c->timer, clock_add(c->times.read_ns, b.delay_ns));
}

static void take_request(struct httpd *srv, struct httpd_conn *c, const struct httpd_request *r)
{
    if (r->path_len > c->path_capacity) {
        c->path_capacity = r->path_len * 2;
        c->path = mem_realloc(c->path, c->path_capacity, 1);
    }
    memcpy(c->path, r->path, r->path_len);
    c->path_len = r->path_len;
    c->is_head = r->is_head;
    c->http10 = r->http10;
    c->closes = r->closes;
    c->body_left = r->body_len;
    c->in_off += r->head_len;
    c->state = CONN_BODY;
    if (r->expects && r->body_len > 0)
        out_append(c, &srv->responses.go_on);
}

/* False = more bytes are needed. */
static bool step_head(struct httpd *srv, struct httpd_conn *c)
{
    struct httpd_request r;
    enum httpd_request_found found =
        httpd_request_find(c->in + c->in_off, c->in_len - c->in_off, &r);
    if (found == HTTPD_REQUEST_PARTIAL)
        return false;
    if (found == HTTPD_REQUEST_HEAD) {
        take_request(srv, c, &r);
        return true;
    }
    out_append(c, &srv->responses.bad);
    c->state = CONN_ENDING;
    return true;
}

static bool step_body(struct httpd *srv, struct httpd_conn *c)
{
    size_t have = c->in_len - c->in_off;
    size_t used = have < c->body_left ? have : (size_t)c->body_left;
    c->in_off += used;
    c->body_left -= used;
    if (c->body_left > 0)
        return false;
    complete(srv, c);
    return true;
}

/* Handles the requests at hand; true = stopped at the output limit, there may be more of them. */
static bool step_all(struct httpd *srv, struct httpd_conn *c)
{
    bool more = true;
    while (more && !srv->stop && out_pending(c) < OUT_LIMIT) {
        if (c->state == CONN_HEAD)
            more = step_head(srv, c);
        else if (c->state == CONN_BODY)
            more = step_body(srv, c);
        else
            more = false;
    }
    if (c->state == CONN_ENDING || c->state == CONN_LINGER)
        c->in_off = c->in_len = 0;
    memmove(c->in, c->in + c->in_off, c->in_len - c->in_off);
    c->in_len -= c->in_off;
    c->in_off = 0;
    return more && !srv->stop;
}

/* The client's end has come and nothing is owed, or ours has. */
static bool is_over(const struct httpd_conn *c)
{
    if (out_pending(c) > 0 || c->state == CONN_HELD)
        return false;
    return c->eof || (c->state == CONN_ENDING && c->abrupt);
}

static void update_watch(struct httpd *srv, struct httpd_conn *c)
{
    uint32_t events = out_pending(c) > 0 ? EPOLLOUT : 0;
    if (!c->eof && c->in_len < HTTPD_REQUEST_HEAD_MAX && out_pending(c) < OUT_LIMIT)
        events |= EPOLLIN;
    if (events == c->watched)
        return;
    c->watched = events;
    httpd_rewatch(srv, &c->source, events);
}

/* Does all that can be done with the bytes at hand; the connection may be gone afterwards. */
static void advance(struct httpd *srv, struct httpd_conn *c)
{
    bool more;
    do {
        more = step_all(srv, c);
        if (!out_flush(c)) {
            httpd_conn_close(srv, c);
            return;
        }
    } while (more && out_pending(c) == 0);
    if (is_over(c)) {
        httpd_conn_close(srv, c);
        return;
    }
    if (c->state == CONN_ENDING && out_pending(c) == 0) {
        shutdown(c->source.fd, SHUT_WR);
        c->state = CONN_LINGER;
        httpd_timers_set(&srv->timers, &c->timer, clock_add(clock_mono_ns(), LINGER_NS));
    }
    update_watch(srv, c);
}

/* False = the connection is broken. Nothing is wrong with reading nothing. */
static bool fill(struct httpd_conn *c)
{
    uint64_t arrived_ns;
    if (c->in_len == c->in_capacity && c->in_capacity < HTTPD_REQUEST_HEAD_MAX) {
        c->in_capacity = c->in_capacity == 0 ? IN_FIRST : c->in_capacity * 4;
        c->in = mem_realloc(c->in, c->in_capacity, 1);
    }
    if (c->in_len == c->in_capacity)
        return true;
    ssize_t n = httpd_arrival_recv(c->source.fd, c->in + c->in_len, c->in_capacity - c->in_len,
                                   &arrived_ns);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (c->state != CONN_HELD)
        c->times = (struct httpd_reqlog_times){arrived_ns, clock_mono_ns(), 0};
    c->eof = n == 0;
    c->in_len += (size_t)n;
    return true;
}

static void conn_ready(struct source *s, struct httpd *srv, uint32_t events)
{
    struct httpd_conn *c = (struct httpd_conn *)s;
    bool alive = (events & EPOLLERR) == 0;
    if (alive && (events & (EPOLLIN | EPOLLHUP)) != 0)
        alive = fill(c);
    if (alive)
        advance(srv, c);
    else
        httpd_conn_close(srv, c);
}

static void conn_timer(struct httpd_timer *t, void *arg)
{
    struct httpd *srv = arg;
    struct httpd_conn *c = (struct httpd_conn *)((char *)t - offsetof(struct httpd_conn, timer));
    if (c->state == CONN_LINGER) {
        httpd_conn_close(srv, c);
        return;
    }
    respond(srv, c);
    /* Requests that came meanwhile count as read now: only here are they looked at. */
    uint64_t now_ns = clock_mono_ns();
    c->times = (struct httpd_reqlog_times){now_ns, now_ns, 0};
    advance(srv, c);
}

void httpd_conn_open(struct httpd *srv, int fd)
{
    struct httpd_conn *c = mem_calloc(1, sizeof *c);
    c->source = (struct source){.ready = conn_ready, .fd = fd};
    c->timer.fire = conn_timer;
    c->watched = EPOLLIN;
    LIST_INSERT_HEAD(&srv->conns, c, entry);
    if (httpd_watch(srv, &c->source, c->watched) != ERR_OK)
        httpd_conn_close(srv, c);
}

void httpd_conn_close(struct httpd *srv, struct httpd_conn *c)
{
    if (c->state == CONN_HELD)
        httpd_reqlog_add(&srv->log, &c->times, c->path, c->path_len, 0);
    httpd_timers_clear(&srv->timers, &c->timer);
    LIST_REMOVE(c, entry);
    close(c->source.fd);
    mem_free(c->in);
    mem_free(c->out);
    mem_free(c->path);
    mem_free(c);
    httpd_descriptor_freed(srv);
}
