/* SPDX-License-Identifier: MIT */
#include "agent/service/preflight.h"

#include <inttypes.h>

/* For all that is no connection: logs, the control link, the loops of the threads. */
#define OTHER_DESCRIPTORS 64

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
