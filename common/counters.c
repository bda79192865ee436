/* SPDX-License-Identifier: MIT */
#include "common/counters.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
    size_t offset;
} rows[COUNTERS_N] = {
#define X(name, text) {#name, text, offsetof(struct counters, name)},
    COUNTERS(X)
#undef X
};

static uint64_t *at(struct counters *c, size_t i)
{
    return (uint64_t *)(void *)((char *)c + rows[i].offset);
}

uint64_t counters_get(const struct counters *c, size_t i)
{
    uint64_t v;
    memcpy(&v, (const char *)c + rows[i].offset, sizeof v);
    return v;
}

void counters_set(struct counters *c, size_t i, uint64_t value)
{
    *at(c, i) = value;
}

const char *counters_name(size_t i)
{
    return rows[i].name;
}

const char *counters_text(size_t i)
{
    return rows[i].text;
}

void counters_add(struct counters *a, const struct counters *b)
{
    for (size_t i = 0; i < COUNTERS_N; i++)
        *at(a, i) += counters_get(b, i);
}

bool counters_equal(const struct counters *a, const struct counters *b)
{
    for (size_t i = 0; i < COUNTERS_N; i++)
        if (counters_get(a, i) != counters_get(b, i))
            return false;
    return true;
}

uint64_t counters_unsent(const struct counters *c)
{
    return c->unsent_no_connection + c->unsent_stopped + c->unsent_dropped;
}

uint64_t counters_failed(const struct counters *c)
{
    return c->failed_connect + c->failed_tls + c->failed_read + c->failed_write +
           c->failed_protocol;
}

uint64_t counters_faults(const struct counters *c)
{
    return c->fault_fd_limit + c->fault_ports + c->fault_memory;
}

static enum err equal(const char *what, uint64_t left, uint64_t right, struct errmsg *msg)
{
    if (left == right)
        return ERR_OK;
    return errmsg_set(msg, ERR_CORRUPT, "%s does not hold: %" PRIu64 " against %" PRIu64, what,
                      left, right);
}

enum err counters_check(const struct counters *c, struct errmsg *msg)
{
    enum err e =
        equal("scheduled = sent + unsent", c->scheduled, c->sent + counters_unsent(c), msg);
    if (e == ERR_OK)
        e = equal("sent = completed + failed + timeouts + unfinished", c->sent,
                  c->completed + counters_failed(c) + c->timeouts + c->unfinished, msg);
    if (e == ERR_OK)
        e = equal("completed = ok + http_errors", c->completed, c->ok + c->http_errors, msg);
    return e;
}
