/* SPDX-License-Identifier: MIT */
#include "tests/lib/request_trap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_MS 20

struct conn {
    int fd; /* -1 = free */
    char *bytes;
    size_t len;
    bool told; /* to go on with its body */
};

struct request_trap {
    int listener;
    uint16_t port;
    pthread_t thread;
    atomic_bool stop;
    pthread_mutex_t lock; /* of what is kept */
    char **kept;
    size_t n_kept;
    atomic_uint_fast64_t held_back;
    struct conn conns[REQUEST_TRAP_CONNS];
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* --- one request ---------------------------------------------------------------------------- */

static const char *header(const char *head, const char *name)
{
    for (const char *l = strstr(head, "\r\n"); l != NULL; l = strstr(l + 2, "\r\n"))
        if (strncasecmp(l + 2, name, strlen(name)) == 0)
            return l + 2 + strlen(name);
    return NULL;
}

/* Length of the chunks, their end included; 0 = not all of them are there. */
static size_t chunks_length(const char *from)
{
    const char *at = from;
    for (;;) {
        char *end;
        size_t n = strtoul(at, &end, 16);
        if (strncmp(end, "\r\n", 2) != 0 || strlen(end) < n + 4)
            return 0;
        at = end + 2 + n + 2;
        if (n == 0)
            return (size_t)(at - from);
    }
}

/* Length of the whole request at the beginning of the bytes; 0 = there is more to come. */
static size_t request_length(const char *bytes, size_t len, const char **body)
{
    const char *end = strstr(bytes, "\r\n\r\n");
    *body = end != NULL ? end + 4 : NULL;
    if (end == NULL)
        return 0;
    size_t head = (size_t)(*body - bytes), size = 0;
    const char *length = header(bytes, "Content-Length:"),
               *coding = header(bytes, "Transfer-Encoding:");
    if (coding != NULL && coding < end) {
        size = chunks_length(*body);
        return size > 0 ? head + size : 0;
    }
    if (length != NULL && length < end)
        size = strtoul(length, NULL, 10);
    return len >= head + size ? head + size : 0;
}

static void keep(struct request_trap *t, const char *bytes, size_t len)
{
    pthread_mutex_lock(&t->lock);
    must(t->n_kept < REQUEST_TRAP_MAX);
    char *copy = calloc(len + 1, 1);
    memcpy(copy, bytes, len);
    t->kept[t->n_kept++] = copy;
    pthread_mutex_unlock(&t->lock);
}

static void say(const struct conn *c, const char *text)
{
    (void)!send(c->fd, text, strlen(text), MSG_NOSIGNAL);
}

static void tell_to_go_on(struct request_trap *t, struct conn *c, const char *body)
{
    if (c->told || body == NULL || header(c->bytes, "Expect:") == NULL)
        return;
    t->held_back += *body == '\0';
    c->told = true;
    say(c, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void take_requests(struct request_trap *t, struct conn *c)
{
    for (;;) {
        const char *body;
        size_t n = request_length(c->bytes, c->len, &body);
        tell_to_go_on(t, c, body);
        if (n == 0)
            return;
        keep(t, c->bytes, n);
        c->len -= n;
        memmove(c->bytes, c->bytes + n, c->len + 1);
        c->told = false;
        say(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
}

/* --- connections ---------------------------------------------------------------------------- */

static void take_conn(struct request_trap *t)
{
    int fd = accept(t->listener, NULL, NULL);
    for (size_t i = 0; fd >= 0 && i < REQUEST_TRAP_CONNS; i++) {
        if (t->conns[i].fd >= 0)
            continue;
        t->conns[i] = (struct conn){.fd = fd, .bytes = calloc(REQUEST_TRAP_BYTES + 1, 1)};
        return;
    }
    if (fd >= 0)
        close(fd);
}

static void drop(struct conn *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->bytes);
    *c = (struct conn){.fd = -1};
}

static void read_conn(struct request_trap *t, struct conn *c)
{
    ssize_t n = recv(c->fd, c->bytes + c->len, REQUEST_TRAP_BYTES - c->len, 0);
    if (n <= 0) {
        drop(c);
        return;
    }
    c->len += (size_t)n;
    c->bytes[c->len] = '\0';
    take_requests(t, c);
    must(c->len < REQUEST_TRAP_BYTES);
}

static void *serve(void *arg)
{
    struct request_trap *t = arg;
    while (!t->stop) {
        struct pollfd fds[1 + REQUEST_TRAP_CONNS] = {{.fd = t->listener, .events = POLLIN}};
        for (size_t i = 0; i < REQUEST_TRAP_CONNS; i++)
            fds[1 + i] = (struct pollfd){.fd = t->conns[i].fd, .events = POLLIN};
        if (poll(fds, 1 + REQUEST_TRAP_CONNS, TURN_MS) <= 0)
            continue;
        for (size_t i = 0; i < REQUEST_TRAP_CONNS; i++)
            if (fds[1 + i].revents != 0)
                read_conn(t, &t->conns[i]);
        if (fds[0].revents != 0)
            take_conn(t);
    }
    return NULL;
}

/* --- outside -------------------------------------------------------------------------------- */

struct request_trap *request_trap_start(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    struct request_trap *t = calloc(1, sizeof *t);
    t->kept = calloc(REQUEST_TRAP_MAX, sizeof *t->kept);
    t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(bind(t->listener, (struct sockaddr *)&sa, len) == 0);
    must(listen(t->listener, REQUEST_TRAP_CONNS) == 0);
    must(getsockname(t->listener, (struct sockaddr *)&sa, &len) == 0);
    t->port = ntohs(sa.sin_port);
    for (size_t i = 0; i < REQUEST_TRAP_CONNS; i++)
        t->conns[i].fd = -1;
    must(pthread_mutex_init(&t->lock, NULL) == 0);
    must(pthread_create(&t->thread, NULL, serve, t) == 0);
    return t;
}

void request_trap_stop(struct request_trap *t)
{
    t->stop = true;
    pthread_join(t->thread, NULL);
    for (size_t i = 0; i < REQUEST_TRAP_CONNS; i++)
        drop(&t->conns[i]);
    close(t->listener);
    request_trap_forget(t);
    pthread_mutex_destroy(&t->lock);
    free(t->kept);
    free(t);
}

uint16_t request_trap_port(const struct request_trap *t)
{
    return t->port;
}

size_t request_trap_count(struct request_trap *t)
{
    pthread_mutex_lock(&t->lock);
    size_t n = t->n_kept;
    pthread_mutex_unlock(&t->lock);
    return n;
}

const char *request_trap_get(const struct request_trap *t, size_t i)
{
    must(i < t->n_kept);
    return t->kept[i];
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void request_trap_sort(struct request_trap *t)
{
    pthread_mutex_lock(&t->lock);
    qsort(t->kept, t->n_kept, sizeof *t->kept, by_text);
    pthread_mutex_unlock(&t->lock);
}

uint64_t request_trap_held_back(const struct request_trap *t)
{
    return t->held_back;
}

void request_trap_forget(struct request_trap *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->n_kept > 0)
        free(t->kept[--t->n_kept]);
    pthread_mutex_unlock(&t->lock);
    t->held_back = 0;
}
