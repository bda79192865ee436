/* SPDX-License-Identifier: MIT */
#include "tests/bench/responder/response.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/mem.h"

#define COPIES_BYTES (16u << 10)

void response_init(struct response *r, uint64_t body_size)
{
    char head[256];
    size_t head_len = (size_t)snprintf(head, sizeof head,
                                       "HTTP/1.1 200 OK\r\n"
                                       "Server: bench\r\n"
                                       "Content-Type: text/plain\r\n"
                                       "Cache-Control: no-store, no-cache\r\n"
                                       "Connection: keep-alive\r\n"
                                       "Content-Length: %" PRIu64 "\r\n\r\n",
                                       body_size);
    r->len = head_len + body_size;
    size_t copies = r->len < COPIES_BYTES ? COPIES_BYTES / r->len : 1;
    r->total = r->len * copies;
    r->bytes = mem_calloc(copies, r->len);
    for (char *at = r->bytes; at < r->bytes + r->total; at += r->len) {
        memcpy(at, head, head_len);
        memset(at + head_len, 'x', body_size);
    }
}

void response_fini(struct response *r)
{
    mem_free(r->bytes);
}

uint64_t response_send(const struct response *r, int fd, uint64_t pending)
{
    while (pending > 0) {
        size_t offset = (r->len - pending % r->len) % r->len;
        size_t len = r->total - offset < pending ? r->total - offset : pending;
        ssize_t n = send(fd, r->bytes + offset, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? pending : UINT64_MAX;
        pending -= (uint64_t)n;
        if ((size_t)n < len)
            break;
    }
    return pending;
}
