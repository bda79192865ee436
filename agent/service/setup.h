/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_SETUP_H
#define HAMMER_AGENT_SETUP_H

#include <stdbool.h>
#include <stdio.h>

#include "agent/engine/placement.h"
#include "agent/service/agent_options.h"
#include "agent/service/listen.h"
#include "agent/service/policy.h"
#include "common/err.h"
#include "proto/link.h"

/*
 * What an agent's options and files amount to, before anything listens: opened once at the start,
 * shown by --check-config, and read again on SIGHUP. Main thread.
 */

struct setup {
    struct agent_options options;
    int argc; /* to read the options again */
    char *const *argv;
    enum listen_kind listen;
    struct placement placement;
    struct policy *policy; /* owned */
    struct link_tls *tls;  /* owned; NULL = not needed */
};

/* Reads everything; what it leaves is for setup_close also after an error. Where --help or
 * --version is asked for only the options are read. argv is borrowed. */
enum err setup_open(struct setup *s, int argc, char *const *argv, struct errmsg *msg) MUST_CHECK;
/* Accepts the zeroed object. */
void setup_close(struct setup *s);

/* What SIGHUP may change: each of log level, policy and certificates on its own. What cannot be
 * read is logged and stays as it was; false = something did. A policy that was replaced is given to
 * the caller, to be freed when nothing points to it any more; NULL = none was. */
bool setup_reload(struct setup *s, struct policy **replaced);

/* For --check-config: what the agent would do, one line a thing. */
void setup_describe(const struct setup *s, FILE *out);

#endif
