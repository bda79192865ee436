/* SPDX-License-Identifier: MIT */
#include "tests/lib/raw_control.h"

#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"
#include "proto/wire.h"

void raw_dial(struct raw_control *r, const char *address)
{
    const char *colon = strrchr(address, ':');
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = RAW_WAIT_MS / 1000};
    int on = 1;
    ck_assert_ptr_nonnull(colon);
    sa.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    *r = (struct raw_control){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    ck_assert_int_ge(r->fd, 0);
    setsockopt(r->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(r->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(r->fd, (struct sockaddr *)&sa, sizeof sa) != 0)
        ck_abort_msg("%s: %s", address, strerror(errno));
}

void raw_close(struct raw_control *r)
{
    if (r->fd >= 0)
        close(r->fd);
    mem_free(r->frame);
    *r = (struct raw_control){.fd = -1};
}

bool raw_send_bytes(struct raw_control *r, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = send(r->fd, at, len, MSG_NOSIGNAL);
        if (n <= 0) {
            ck_assert_int_ne(errno, EAGAIN);
            return false;
        }
        at += n;
        len -= (size_t)n;
    }
    return true;
}

bool raw_send(struct raw_control *r, const struct msg *m)
{
    uint8_t *body;
    size_t len;
    ck_assert_int_eq(msg_encode(m, &body, &len), ERR_OK);
    uint8_t head[4] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                       (uint8_t)len};
    bool sent = raw_send_bytes(r, head, sizeof head) && raw_send_bytes(r, body, len);
    mem_free(body);
    return sent;
}

bool raw_hello(struct raw_control *r, uint8_t id, uint32_t version)
{
    struct msg m = {.type = MSG_HELLO};
    m.hello.version_min = m.hello.version_max = version;
    m.hello.lease_ms = 10000;
    memset(m.hello.owner, id, sizeof m.hello.owner);
    strcpy(m.hello.build, "test");
    strcpy(m.hello.controller, "raw@test:1");
    return raw_send(r, &m);
}

/* false = closed before all of it came. */
static bool read_all(int fd, uint8_t *to, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, to, len, 0);
        if (n <= 0) {
            ck_assert_msg(n == 0 || errno != EAGAIN, "the peer says nothing");
            return false;
        }
        to += n;
        len -= (size_t)n;
    }
    return true;
}

bool raw_read(struct raw_control *r, struct msg *m)
{
    uint8_t head[4];
    if (!read_all(r->fd, head, sizeof head))
        return false;
    size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    ck_assert_uint_le(len, MSG_FRAME_MAX);
    r->frame = mem_realloc(r->frame, len + 1, 1);
    if (!read_all(r->fd, r->frame, len))
        return false;
    ck_assert_int_eq(msg_decode(r->frame, len, m), ERR_OK);
    return true;
}

void raw_wait_closed(struct raw_control *r)
{
    uint8_t sink;
    while (read_all(r->fd, &sink, 1))
        ;
}
