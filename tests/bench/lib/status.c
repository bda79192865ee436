/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "tests/bench/lib/net.h"
#include "tests/bench/lib/self.h"

#define LIMIT_S 5
#define ANSWER  1024

void status_open(struct status *s, const char *address)
{
    struct sockaddr_in to;
    struct errmsg msg;
    struct timeval limit = {.tv_sec = LIMIT_S};
    errno = 0;
    if (net_parse(address, &to, &msg) != ERR_OK)
        self_die("--status %s", msg.text);
    *s = (struct status){.fd = net_connect(&to)};
    if (setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
        self_die("SO_RCVTIMEO");
}

/* The last line of the three that are read: "Reading: 0 Writing: 1 Waiting: 0". */
static void read_answer(int fd, char *answer, size_t cap)
{
    size_t n = 0;
    while (strstr(answer, "Waiting:") == NULL) {
        ssize_t got = n + 1 < cap ? recv(fd, answer + n, cap - 1 - n, 0) : 0;
        if (got <= 0)
            self_die("no answer from /status");
        n += (size_t)got;
        answer[n] = '\0';
    }
}

uint64_t status_requests(struct status *s)
{
    static const char request[] = "GET /status HTTP/1.1\r\nHost: status\r\n\r\n";
    char answer[ANSWER] = "";
    uint64_t accepted, handled, requests;
    if (send(s->fd, request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)(sizeof request - 1))
        self_die("asking /status");
    s->asked++;
    read_answer(s->fd, answer, sizeof answer);
    const char *line = strstr(answer, "requests\n");
    errno = 0;
    if (line == NULL || sscanf(line, "requests\n %" SCNu64 " %" SCNu64 " %" SCNu64, &accepted,
                               &handled, &requests) != 3)
        self_die("/status is not stub_status");
    return requests - s->asked;
}
