/* SPDX-License-Identifier: MIT */
#include "agent/service/agent_options.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#define FLAG(member, long_name, alias, help)                                                       \
    {                                                                                              \
        .name = long_name, .aliases = alias, .type = OPTION_FLAG,                                  \
        .offset = offsetof(struct agent_options, member), .set_offset = OPTION_NO_SET,             \
        .text = help                                                                               \
    }
#define TEXT(member, long_name, alias, meta_name, form, help)                                      \
    {                                                                                              \
        .name = long_name, .aliases = alias, .type = OPTION_STRING,                                \
        .offset = offsetof(struct agent_options, member), .set_offset = OPTION_NO_SET,             \
        .meta = meta_name, .accepted = form, .text = help                                          \
    }

static const struct option_row rows[] = {
    TEXT(listen, "listen", "", "URL", "ipc://PATH or tcp://HOST:PORT",
         "where controllers connect: ipc://PATH or tcp://HOST:PORT (required)"),
    TEXT(port_file, "port-file", "", "FILE", "a file name",
         "write the URL really listened on to FILE (for port 0)"),
    TEXT(name, "name", "", "NAME", "a name", "this agent's name in reports (default: host name)"),
    TEXT(state, "state", "", "FILE", "a file name",
         "result of hammer-agent selftest (default: where selftest stores it)"),
    {.name = "allow-target",
     .aliases = "",
     .type = OPTION_LIST,
     .offset = offsetof(struct agent_options, allow),
     .set_offset = OPTION_NO_SET,
     .meta = "CIDR",
     .accepted = "an address, ADDRESS/BITS, or any",
     .text = "allow load to these addresses too (repeatable; default: loopback only)"},
    FLAG(
        insecure_listen, "insecure-listen", "",
        "allow tcp:// on an address that other machines reach: whoever connects commands the load"),
    TEXT(cpu, "cpu", "", "LIST", "a list of CPUs such as 1 or 0,2-3",
         "put the load threads on these CPUs, in turn: 1, or 0,2-3 (default: on any)"),
    FLAG(realtime, "realtime", "",
         "run the load threads at real-time priority (SCHED_FIFO 1); where that is not allowed, "
         "warn and go on"),
    FLAG(once, "once", "", "end when the first controller is gone (used by hammer-ctl run)"),
    FLAG(verbose, "verbose", "-v", "log every event"),
    FLAG(help, "help", "-h", "print this help and exit"),
    FLAG(version, "version", "", "print the version and exit"),
};

const struct option_row *agent_options(size_t *n)
{
    *n = sizeof rows / sizeof rows[0];
    return rows;
}

void agent_options_clear(struct agent_options *o)
{
    option_clear(rows, sizeof rows / sizeof rows[0], o);
}

/* Every address the host resolves to must be loopback. */
static bool host_is_loopback(const char *host)
{
    struct policy loopback;
    struct target t;
    policy_loopback_only(&loopback);
    return host[0] != '\0' && target_resolve(host, "1", &t, NULL) == ERR_OK &&
           policy_check(&loopback, &t, NULL) == ERR_OK;
}

static enum err check_tcp(const struct agent_options *o, struct errmsg *msg)
{
    const char *at = o->listen + strlen("tcp://");
    const char *colon = strrchr(at, ':');
    char host[256];
    if (colon == NULL || (size_t)(colon - at) >= sizeof host)
        return errmsg_set(msg, ERR_INVALID, "--listen %s: accepted is tcp://HOST:PORT", o->listen);
    size_t len = (size_t)(colon - at);
    if (len >= 2 && at[0] == '[' && at[len - 1] == ']') {
        at++;
        len -= 2;
    }
    memcpy(host, at, len);
    host[len] = '\0';
    if (o->insecure_listen || host_is_loopback(host))
        return ERR_OK;
    return errmsg_set(msg, ERR_REFUSED,
                      "--listen %s: other machines reach this address and the control link is not "
                      "encrypted, so whoever connects commands the load. Accepted is loopback "
                      "(tcp://127.0.0.1:7400) or ipc://PATH; --insecure-listen overrides this on a "
                      "network you trust",
                      o->listen);
}

enum err agent_options_placement(const struct agent_options *o, struct placement *p,
                                 struct errmsg *msg)
{
    *p = (struct placement){.realtime = o->realtime};
    return o->cpu != NULL ? placement_parse(p, o->cpu, msg) : ERR_OK;
}

enum err agent_options_check(const struct agent_options *o, struct policy *policy,
                             struct errmsg *msg)
{
    policy_loopback_only(policy);
    for (size_t i = 0; i < o->allow.n; i++) {
        enum err e = policy_allow(policy, o->allow.items[i], msg);
        if (e != ERR_OK)
            return e;
    }
    if (o->listen == NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "--listen is required: accepted is tcp://127.0.0.1:7400 or ipc://PATH");
    if (strncmp(o->listen, "ipc://", 6) == 0 && o->listen[6] != '\0')
        return ERR_OK;
    if (strncmp(o->listen, "tcp://", 6) == 0)
        return check_tcp(o, msg);
    return errmsg_set(msg, ERR_INVALID, "--listen %s: accepted is tcp://HOST:PORT or ipc://PATH",
                      o->listen);
}
