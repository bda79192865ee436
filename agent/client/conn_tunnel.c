/* SPDX-License-Identifier: MIT */
#include "agent/client/conn_tunnel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define REQUEST_MAX  700
#define RESPONSE_MAX 8192 /* of a header block */
#define INTERIM_MAX  16   /* one who sends them faster than they are read would never be done */
#define STATUS_AT    9    /* "HTTP/1.1 " */
#define STATUS_END   (STATUS_AT + 3)

static int send_request(struct conn_tunnel *t, int fd, const char *authority)
{
    char request[REQUEST_MAX];
    int len =
        snprintf(request, sizeof request,
                 "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: hammer/" HAMMER_VERSION "\r\n\r\n",
                 authority, authority);
    ssize_t n;
    do
        n = send(fd, request + t->written, (size_t)len - t->written, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        return -errno;
    t->written = (uint16_t)(t->written + (n > 0 ? n : 0));
    return t->written < len ? CONN_TUNNEL_WRITE : CONN_TUNNEL_READ;
}

/* False: this is no status line. */
static bool take_byte(struct conn_tunnel *t, char c)
{
    static const char begin[] = "HTTP/1.";
    unsigned at = t->seen++;
    if (at < sizeof begin - 1)
        return c == begin[at];
    if (at == sizeof begin - 1)
        return c == '0' || c == '1';
    if (at == STATUS_AT - 1)
        return c == ' ';
    if (at < STATUS_END) {
        t->status = (uint16_t)(t->status * 10 + (c - '0'));
        return c >= '0' && c <= '9';
    }
    if (c == '\n')
        t->newlines++;
    else if (c != '\r')
        t->newlines = 0;
    return t->seen < RESPONSE_MAX;
}

/* An interim response (RFC 9110 section 15.2) is followed by another one. */
static int judge(struct conn_tunnel *t)
{
    unsigned status = t->status;
    t->seen = t->status = t->newlines = 0;
    if (status / 100 == 1)
        return ++t->interim <= INTERIM_MAX ? CONN_TUNNEL_READ : -CONN_PROXY_BROKEN;
    if (status / 100 != 2)
        return -(CONN_PROXY_STATUS + (int)status);
    t->open = true;
    return CONN_TUNNEL_DONE;
}

/* One byte at a time: what comes after the response is the server's. The kernel has them all in one
 * place, and there are few, once a connection. */
static int read_response(struct conn_tunnel *t, int fd)
{
    for (;;) {
        char c;
        ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? CONN_TUNNEL_READ : -errno;
        if (n == 0 || !take_byte(t, c))
            return -CONN_PROXY_BROKEN;
        if (t->newlines < 2)
            continue;
        int step = judge(t);
        if (step != CONN_TUNNEL_READ)
            return step;
    }
}

int conn_tunnel_step(struct conn_tunnel *t, int fd, const char *authority)
{
    if (t->open)
        return CONN_TUNNEL_DONE;
    int step = CONN_TUNNEL_READ;
    if (t->seen == 0 && t->status == 0)
        step = send_request(t, fd, authority);
    return step == CONN_TUNNEL_READ ? read_response(t, fd) : step;
}

bool conn_tunnel_text(int code, char *buf, unsigned long cap)
{
    if (code == CONN_PROXY_BROKEN)
        snprintf(buf, cap, "the proxy did not answer CONNECT as RFC 9110 wants");
    else if (code > CONN_PROXY_STATUS && code < CONN_PROXY_STATUS + 1000)
        snprintf(buf, cap, "the proxy answered %d to CONNECT", code - CONN_PROXY_STATUS);
    else
        return false;
    return true;
}
