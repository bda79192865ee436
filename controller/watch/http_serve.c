/* SPDX-License-Identifier: MIT */
#include "controller/watch/http_serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/watch/http_request.h"

#define TEXT_MAX 80

struct client {
    struct http_serve *serve; /* NULL = nobody's: the slot is free */
    int fd;
    struct event *event;
    uint64_t until_ns;
    char *out; /* owned: the answer; NULL = the request is still being read */
    size_t out_len, sent;
    size_t len;
    char in[HTTP_REQUEST_MAX];
};

struct http_serve {
    struct http_serve_config cfg;
    int fd;
    struct event *event;
    size_t n;
    char where[TEXT_MAX];
    struct client clients[HTTP_SERVE_CONNECTIONS];
};

/* --- the address ---------------------------------------------------------------------------- */

static bool parse_port(const char *text, uint16_t *port)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 5)
        return false;
    unsigned long n = strtoul(text, &end, 10);
    *port = (uint16_t)n;
    return *end == '\0' && n <= 65535;
}

enum err http_serve_address(const char *text, struct sockaddr_storage *out, struct errmsg *msg)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    char host[TEXT_MAX] = "127.0.0.1", shown[UNITS_SHOWN];
    const char *colon = strrchr(text, ':');
    uint16_t port;
    bool ok = parse_port(colon != NULL ? colon + 1 : text, &port);
    *out = (struct sockaddr_storage){0};
    if (colon != NULL)
        snprintf(host, sizeof host, "%.*s",
                 (int)(colon - text < TEXT_MAX ? colon - text : TEXT_MAX), text);
    if (ok && strcmp(host, "[::1]") == 0) {
        v6->sin6_family = AF_INET6;
        v6->sin6_addr = in6addr_loopback;
        v6->sin6_port = htons(port);
        return ERR_OK;
    }
    if (strcmp(host, "localhost") == 0)
        snprintf(host, sizeof host, "127.0.0.1");
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    if (ok && inet_pton(AF_INET, host, &v4->sin_addr) == 1 &&
        ntohl(v4->sin_addr.s_addr) >> 24 == 127)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "%s: accepted is PORT or HOST:PORT with a host of this machine alone, "
                      "localhost, 127.x.x.x or [::1]: whoever reaches the port reads the figures",
                      units_format_shown(text, shown));
}

/* --- clients -------------------------------------------------------------------------------- */

static void listen_again(struct http_serve *s)
{
    if (s->n < HTTP_SERVE_CONNECTIONS)
        event_add(s->event, NULL);
}

static void drop(struct client *c)
{
    struct http_serve *s = c->serve;
    event_free(c->event);
    close(c->fd);
    mem_free(c->out);
    memset(c, 0, offsetof(struct client, in));
    s->n--;
    listen_again(s);
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {{200, "OK"},
                 {400, "Bad Request"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {431, "Request Header Fields Too Large"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Error";
}

static void answer(struct client *c, const struct http_request *r)
{
    char text[TEXT_MAX], head[512];
    const char *type = "text/plain; charset=utf-8", *body = text;
    size_t len = (size_t)snprintf(text, sizeof text, "%s: GET /metrics\n", reason_of(r->status));
    if (r->status == 200)
        body = c->serve->cfg.page(c->serve->cfg.arg, r->plain, &type, &len);
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s"
                     "Connection: close\r\n\r\n",
                     r->status, reason_of(r->status), type, len,
                     r->status == 405 ? "Allow: GET, HEAD\r\n" : "");
    size_t head_len = (size_t)n;
    c->out_len = head_len + (r->head ? 0 : len);
    c->out = mem_calloc(c->out_len, 1);
    memcpy(c->out, head, head_len);
    if (!r->head)
        memcpy(c->out + head_len, body, len);
}

/* false = the connection is done with. */
static bool send_some(struct client *c)
{
    while (c->sent < c->out_len) {
        ssize_t k = send(c->fd, c->out + c->sent, c->out_len - c->sent, MSG_NOSIGNAL);
        if (k > 0)
            c->sent += (size_t)k;
        else if (k < 0 && errno == EINTR)
            continue;
        else
            return k < 0 && errno == EAGAIN;
    }
    shutdown(c->fd, SHUT_WR); /* and wait until the client goes: a reset would take the answer */
    return true;
}

static bool receive_some(struct client *c)
{
    struct http_request r;
    char rest[1024];
    bool reading = c->out == NULL;
    ssize_t k = recv(c->fd, reading ? c->in + c->len : rest,
                     reading ? sizeof c->in - c->len : sizeof rest, 0);
    if (k < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (k <= 0)
        return false;
    if (!reading)
        return true; /* until it has taken all that it was sent */
    c->len += (size_t)k;
    if (!http_request_parse(c->in, c->len, &r))
        return true;
    answer(c, &r);
    return send_some(c);
}

static void wait_for(struct client *c);

static void on_client(evutil_socket_t fd, short what, void *arg)
{
    struct client *c = arg;
    (void)fd;
    bool on = clock_mono_ns() < c->until_ns;
    if (on && (what & EV_WRITE) != 0)
        on = send_some(c);
    else if (on && (what & EV_READ) != 0)
        on = receive_some(c);
    if (on)
        wait_for(c);
    else
        drop(c);
}

static void wait_for(struct client *c)
{
    uint64_t us = clock_elapsed(clock_mono_ns(), c->until_ns) / NS_PER_US + 1;
    struct timeval tv = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)};
    short what = c->out != NULL && c->sent < c->out_len ? EV_WRITE : EV_READ;
    event_assign(c->event, loop_base(c->serve->cfg.loop), c->fd, what, on_client, c);
    event_add(c->event, &tv);
}

static void on_listen(evutil_socket_t fd, short what, void *arg)
{
    struct http_serve *s = arg;
    (void)what;
    int client = accept4((int)fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    for (size_t i = 0; client >= 0 && i < HTTP_SERVE_CONNECTIONS; i++) {
        struct client *c = &s->clients[i];
        if (c->serve != NULL)
            continue;
        c->serve = s;
        c->fd = client;
        c->until_ns = clock_add(clock_mono_ns(), HTTP_SERVE_SECONDS * NS_PER_SEC);
        c->event = event_new(loop_base(s->cfg.loop), client, EV_READ, on_client, c);
        s->n++;
        wait_for(c);
        break;
    }
    listen_again(s); /* else once one of them is done: the kernel keeps some more in line */
}

/* --- the server ----------------------------------------------------------------------------- */

static void describe(struct http_serve *s)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char host[INET6_ADDRSTRLEN] = "";
    getsockname(s->fd, (struct sockaddr *)&a, &len);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
    bool six = a.ss_family == AF_INET6;
    if (six)
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
    else
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
    snprintf(s->where, sizeof s->where, "%s%s%s:%d", six ? "[" : "", host, six ? "]" : "",
             ntohs(six ? v6->sin6_port : v4->sin_port));
}

static bool open_socket(struct http_serve *s)
{
    const struct sockaddr *a = (const struct sockaddr *)&s->cfg.address;
    int one = 1;
    s->fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0)
        return false;
    socklen_t len =
        a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    return bind(s->fd, a, len) == 0 && listen(s->fd, HTTP_SERVE_CONNECTIONS) == 0;
}

enum err http_serve_new(const struct http_serve_config *cfg, struct http_serve **out,
                        struct errmsg *msg)
{
    struct http_serve *s = mem_calloc(1, sizeof *s);
    s->cfg = *cfg;
    if (open_socket(s))
        s->event = event_new(loop_base(cfg->loop), s->fd, EV_READ, on_listen, s);
    if (s->event == NULL) {
        enum err e = errmsg_set(msg, ERR_SYSTEM, "%s", strerror(errno));
        http_serve_free(s);
        return e;
    }
    describe(s);
    event_add(s->event, NULL);
    *out = s;
    return ERR_OK;
}

const char *http_serve_where(const struct http_serve *s)
{
    return s->where;
}

void http_serve_free(struct http_serve *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < HTTP_SERVE_CONNECTIONS; i++)
        if (s->clients[i].serve != NULL)
            drop(&s->clients[i]);
    if (s->event != NULL)
        event_free(s->event);
    if (s->fd >= 0)
        close(s->fd);
    mem_free(s);
}
