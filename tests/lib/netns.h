/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_NETNS_H
#define HAMMER_TESTS_NETNS_H

#include <stdbool.h>

/*
 * Two network namespaces of this test alone, near and far, each with its own loopback and nothing
 * else; tests/lib/cable.h joins them. Processes are started in the namespace that the calling
 * thread is in. Everything is gone with the process. Failures abort the check test.
 */

enum netns_side {
    NETNS_NEAR,
    NETNS_FAR
};

struct netns {
    int fds[2];
};

/* Why this machine cannot do it; NULL = it can. A sentence for the one who wonders. */
const char *netns_missing(void);
/* The calling thread is in the near one afterwards. */
void netns_open(struct netns *n);
void netns_close(struct netns *n); /* the thread stays where it is */
/* Moves the calling thread. */
void netns_enter(const struct netns *n, enum netns_side side);
/* A TUN device NAME in the namespace of the calling thread, up, with the IPv4 address LOCAL and
 * the only peer PEER. The descriptor reads and writes whole IP packets and does not block. */
int netns_tun(const char *name, const char *local, const char *peer);

#endif
