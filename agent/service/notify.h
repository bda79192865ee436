/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_NOTIFY_H
#define HAMMER_AGENT_NOTIFY_H

#include "common/loop.h"

/*
 * What systemd is told of a service (sd_notify(3)), and its watchdog. The watchdog is fed by a
 * timer of the loop that does the work: a loop that hangs is a service that hangs. Does nothing
 * without NOTIFY_SOCKET, or where libsystemd was not there to build with. Loop's thread. A NULL `n`
 * tells nothing: a spawned agent is not the service that its environment may speak of.
 */

struct notify;

/* Feeds the watchdog from now on, at half the interval that systemd asks for. */
struct notify *notify_new(struct loop *loop);
void notify_free(struct notify *n); /* NULL is fine */

void notify_ready(struct notify *n);
/* "idle", "running run 7f3a00c1 for X": one line, shown by systemctl status. Anything that is not
 * printable is replaced: part of it comes from the network. */
void notify_status(struct notify *n, const char *text);
/* Around a reload: notify_ready says that it is over. */
void notify_reloading(struct notify *n);
void notify_stopping(struct notify *n);

#endif
