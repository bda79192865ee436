/* SPDX-License-Identifier: MIT */
#include "tests/lib/notify_socket.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"

void notify_socket_open(struct notify_socket *s, const char *dir)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    *s = (struct notify_socket){0};
    snprintf(s->path, sizeof s->path, "%s/notify", dir);
    snprintf(sa.sun_path, sizeof sa.sun_path, "%.90s/notify", dir);
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(s->fd, 0);
    ck_assert_int_eq(bind(s->fd, (const struct sockaddr *)&sa, sizeof sa), 0);
    setenv("NOTIFY_SOCKET", s->path, 1);
}

void notify_socket_close(struct notify_socket *s)
{
    unsetenv("NOTIFY_SOCKET");
    close(s->fd);
    unlink(s->path);
}

bool notify_socket_take(struct notify_socket *s)
{
    char text[2048];
    ssize_t n = recv(s->fd, text, sizeof text - 1, 0);
    if (n < 0)
        return false;
    size_t len = strlen(s->log);
    text[n] = '\0';
    int m = snprintf(s->log + len, sizeof s->log - len, "%s\n--\n", text);
    ck_assert_msg(m > 0 && (size_t)m < sizeof s->log - len, "too much was told: %s", s->log);
    return true;
}

const char *notify_socket_wait(struct notify_socket *s, const char *from, const char *text,
                               uint64_t timeout_ms)
{
    uint64_t until = clock_mono_ns() + timeout_ms * NS_PER_MS;
    const char *found;
    from = from != NULL ? from : s->log;
    while ((found = strstr(from, text)) == NULL) {
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        uint64_t now = clock_mono_ns();
        ck_assert_msg(now < until, "\"%s\" was not told within %lu ms, but:\n%s", text,
                      (unsigned long)timeout_ms, from);
        (void)poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1);
        while (notify_socket_take(s))
            ;
    }
    return found;
}
