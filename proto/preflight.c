/* SPDX-License-Identifier: MIT */
#include "proto/preflight.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"

/* For all that is no connection: logs, the control link, the loops of the threads. */
#define OTHER_DESCRIPTORS    64
/* TCP_TIMEWAIT_LEN of Linux, and what tcp_tw_reuse leaves of it on loopback. */
#define TIME_WAIT_S          60
#define TIME_WAIT_LOOPBACK_S 1

enum err preflight_descriptors(uint32_t connections, uint64_t limit, struct errmsg *msg)
{
    uint64_t needed = (uint64_t)connections + OTHER_DESCRIPTORS;
    if (needed <= limit)
        return ERR_OK;
    return errmsg_set(msg, ERR_REFUSED,
                      "%" PRIu32 " connections need %" PRIu64
                      " file descriptors, the limit here is %" PRIu64
                      " (raise LimitNOFILE= or ulimit -n)",
                      connections, needed, limit);
}

enum err preflight_part(const struct plan *p, const struct plan_part *part, uint64_t fd_limit,
                        struct errmsg *msg)
{
    enum err e = preflight_descriptors(plan_part_most(part), fd_limit, msg);
    return e == ERR_OK ? plan_check_rows(p, part->threads, msg) : e;
}

enum err preflight_ports(uint32_t connections, uint64_t addresses, uint32_t ports,
                         struct errmsg *msg)
{
    uint64_t needed = (connections + addresses - 1) / addresses;
    if (ports == 0 || needed <= ports)
        return ERR_OK;
    return errmsg_set(msg, ERR_REFUSED,
                      "%" PRIu64 " connections to one address need as many local ports, "
                      "net.ipv4.ip_local_port_range has %" PRIu32
                      " (widen it to '1024 65535', or use more agents or addresses)",
                      needed, ports);
}

/* "Connection: keep-alive, close" */
bool preflight_line_closes(const char *line)
{
    static const char name[] = "Connection:", separators[] = ", \t";
    if (strncasecmp(line, name, sizeof name - 1) != 0)
        return false;
    for (const char *p = line + sizeof name - 1; *p != '\0';) {
        p += strspn(p, separators);
        size_t len = strcspn(p, separators);
        if (len == 5 && strncasecmp(p, "close", 5) == 0)
            return true;
        p += len;
    }
    return false;
}

static bool any_closes(const struct option_list *headers)
{
    for (size_t i = 0; i < headers->n; i++)
        if (preflight_line_closes(headers->items[i]))
            return true;
    return false;
}

uint32_t preflight_per_connection(const struct plan *p)
{
    for (size_t i = 0; i < p->n_entries; i++)
        if (any_closes(&p->entries[i].headers))
            return 1;
    return any_closes(&p->headers) ? 1 : plan_per_connection(p);
}

/* Requests of the part that are due within the window, at most; UINT64_MAX when there are more. */
static uint64_t requests_within(const struct plan *p, const struct plan_part *part,
                                uint64_t window_ns)
{
    uint64_t ns = p->duration_ns < window_ns ? p->duration_ns : window_ns;
    unsigned __int128 all = (unsigned __int128)ns * p->rate.num / p->rate.den / NS_PER_SEC + 1;
    struct share whole = {.total = 1, .weight = 1, .threads = 1};
    struct schedule s;
    /* With stages the rate is their peak: at that rate all the time, more than there are. */
    if (p->n_stages > 0 && plan_schedule(p, &whole, p->requests, &s, NULL) == ERR_OK &&
        all > s.count)
        all = s.count;
    if (all > p->requests)
        all = p->requests;
    if (all > UINT64_MAX)
        return UINT64_MAX;
    return (uint64_t)((all * part->weight + part->total - 1) / part->total);
}

enum err preflight_fresh_ports(const struct plan *p, const struct plan_part *part,
                               uint64_t addresses, bool loopback, uint32_t ports,
                               struct errmsg *msg)
{
    uint32_t each = preflight_per_connection(p);
    if (ports == 0 || p->rate.num == 0 || each == 0)
        return ERR_OK;
    uint64_t seconds = loopback ? TIME_WAIT_LOOPBACK_S : TIME_WAIT_S;
    uint64_t requests = requests_within(p, part, seconds * NS_PER_SEC);
    uint64_t needed = requests / each + (requests % each != 0);
    needed = needed / addresses + (needed % addresses != 0);
    if (needed <= ports)
        return ERR_OK;
    return errmsg_set(msg, ERR_REFUSED,
                      "%" PRIu64 " connections in %" PRIu64 " s to one address, each closed after "
                      "%" PRIu32 " request%s, need as many local ports, for a closed one stays in "
                      "TIME_WAIT that long; net.ipv4.ip_local_port_range has %" PRIu32
                      " (keep connections open, lower the rate, widen it to '1024 65535', or use "
                      "more agents or addresses)",
                      needed, seconds, each, each == 1 ? "" : "s", ports);
}
