/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/bench/lib/self.h"

#define BACKLOG         16384
#define CONNECT_SECONDS 5

enum err net_parse(const char *text, struct sockaddr_in *out, struct errmsg *msg)
{
    char host[INET_ADDRSTRLEN];
    char *end;
    const char *colon = text != NULL ? strrchr(text, ':') : NULL;
    size_t len = colon != NULL ? (size_t)(colon - text) : sizeof host;
    *out = (struct sockaddr_in){.sin_family = AF_INET};
    if (len < sizeof host && colon[1] >= '0' && colon[1] <= '9') {
        memcpy(host, text, len);
        host[len] = '\0';
        unsigned long port = strtoul(colon + 1, &end, 10);
        out->sin_port = htons((uint16_t)port);
        if (*end == '\0' && port <= UINT16_MAX && inet_pton(AF_INET, host, &out->sin_addr) == 1 &&
            (ntohl(out->sin_addr.s_addr) >> 24) == 127)
            return ERR_OK;
    }
    return errmsg_set(msg, ERR_INVALID, "%s: accepted is 127.0.0.1:PORT (loopback only)",
                      text != NULL ? text : "the address is missing");
}

int net_listen(struct sockaddr_in *address, bool shared)
{
    int on = 1;
    socklen_t len = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) ||
        bind(fd, (struct sockaddr *)address, sizeof *address) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &len) != 0)
        self_die("listening");
    return fd;
}

int net_connect(const struct sockaddr_in *address)
{
    int on = 1;
    struct timeval limit = {.tv_sec = CONNECT_SECONDS};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
        connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        self_die("connecting");
    return fd;
}

void net_write_address(const char *file, const struct sockaddr_in *address)
{
    char text[INET_ADDRSTRLEN], temporary[4096];
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    snprintf(temporary, sizeof temporary, "%s.new", file);
    FILE *out = fopen(temporary, "we");
    if (out == NULL || fprintf(out, "%s:%u\n", text, ntohs(address->sin_port)) < 0 ||
        fclose(out) != 0 || rename(temporary, file) != 0)
        self_die("%s", file);
}
