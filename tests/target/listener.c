/* SPDX-License-Identifier: MIT */
#include "tests/target/listener.h"

#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096

enum err httpd_listener_open(const struct httpd_address *address, int *fd, struct errmsg *msg)
{
    int on = 1;
    char text[HTTPD_ADDRESS_TEXT];
    *fd = socket(address->sa.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(*fd, &address->sa.any, address->len) == 0 && listen(*fd, BACKLOG) == 0)
        return ERR_OK;
    httpd_address_format(address, text);
    return errmsg_set(msg, ERR_SYSTEM, "--listen %s: %s", text, strerror(errno));
}

int httpd_listener_accept(int listen_fd)
{
    int on = 1;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static enum err own_address(int fd, char text[HTTPD_ADDRESS_TEXT])
{
    struct httpd_address own = {.len = sizeof own.sa};
    if (getsockname(fd, &own.sa.any, &own.len) != 0)
        return ERR_SYSTEM;
    httpd_address_format(&own, text);
    return ERR_OK;
}

static enum err write_text(const char *file, const char *text)
{
    FILE *f = fopen(file, "we");
    if (f == NULL)
        return ERR_SYSTEM;
    int bad = fprintf(f, "%s\n", text) < 0;
    bad |= fclose(f) != 0;
    return bad ? ERR_SYSTEM : ERR_OK;
}

enum err httpd_listener_write_port(int listen_fd, const char *file, struct errmsg *msg)
{
    char text[HTTPD_ADDRESS_TEXT], other[PATH_MAX];
    if (own_address(listen_fd, text) != ERR_OK)
        return errmsg_set(msg, ERR_SYSTEM, "getsockname: %s", strerror(errno));
    fprintf(stderr, "hammer-target: listening on %s\n", text);
    if (file == NULL)
        return ERR_OK;
    if ((size_t)snprintf(other, sizeof other, "%s.new", file) >= sizeof other)
        return errmsg_set(msg, ERR_INVALID, "--port-file: the name is too long");
    if (write_text(other, text) == ERR_OK && rename(other, file) == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_SYSTEM, "--port-file %s: %s", file, strerror(errno));
}
