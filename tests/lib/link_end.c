/* SPDX-License-Identifier: MIT */
#include "tests/lib/link_end.h"

#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void close_end(struct link_end *e)
{
    link_close(e->link, e->flush_ms);
    e->link = NULL;
}

static void count_frame(struct link_end *e, const struct link_info *info)
{
    if (e->on_frame != NULL)
        e->on_frame(e, info);
    e->frames++;
    e->bytes += info->len;
    e->rx_ns = info->rx_ns;
}

void link_end_event(void *arg, struct link *l, enum link_event ev, const struct link_info *info)
{
    struct link_end *e = arg;
    ck_assert_ptr_eq(e->link, l);
    ck_assert(!e->last_was_down);
    if (ev == LINK_UP) {
        e->ups++;
    } else if (ev == LINK_FRAME) {
        count_frame(e, info);
    } else {
        e->downs++;
        e->last_was_down = true;
        snprintf(e->reason, sizeof e->reason, "%s", info->reason);
        close_end(e);
        return;
    }
    if ((ev == LINK_UP && e->close_when == CLOSE_IN_UP) ||
        (ev == LINK_FRAME && e->close_when == CLOSE_IN_FRAME))
        close_end(e);
}

static void server_accept(void *arg, struct link *l)
{
    struct link_server *s = arg;
    s->accepted++;
    if (s->count == LINK_ENDS) {
        link_close(l, 0);
        return;
    }
    struct link_end *e = &s->ends[s->count++];
    *e = s->model;
    e->link = l;
    link_set_handler(l, link_end_event, e);
}

void link_server_open(struct link_server *s, struct loop *loop, const char *url)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(link_listen(loop, url, &s->listen, server_accept, s, &s->listener, &msg) ==
                      ERR_OK,
                  "%s", msg.text);
}

void link_server_close(struct link_server *s)
{
    for (int i = 0; i < s->count; i++) {
        link_close(s->ends[i].link, 0);
        s->ends[i].link = NULL;
    }
    link_listener_close(s->listener);
    s->listener = NULL;
}

void link_end_dial(struct link_end *e, struct loop *loop, const struct link_server *s)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(link_dial(loop, link_listener_url(s->listener), &s->dial, 10000, link_end_event,
                            e, &e->link, &msg) == ERR_OK,
                  "%s", msg.text);
}

int raw_connect(const char *url)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    sin.sin_port = htons((uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&sin, sizeof sin), 0);
    return fd;
}

void raw_reset(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

void raw_write(int fd, const void *data, size_t len)
{
    ck_assert_int_eq(send(fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

int count_fds(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += e->d_name[0] != '.';
    closedir(dir);
    return n - 1; /* the directory itself */
}
