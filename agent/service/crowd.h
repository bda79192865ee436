/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_CROWD_H
#define HAMMER_AGENT_CROWD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Which of the connections that have not said who they are makes room for another one: whoever
 * opens many must push out his own, not those of a controller that is still shaking hands.
 */

/* Do two peers (link_peer) stand for the same host? An IPv6 host is its /64: the rest costs nothing
 * to change. Of a local socket: the same user. */
bool crowd_same_host(const char *a, const char *b);

/* Index of the oldest peer of the host that has most of them; the oldest of all where several hosts
 * have as many. peers[0] is the newest; n > 0. */
size_t crowd_pick(const char *const *peers, size_t n);

#endif
