/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_INVENTORY_H
#define HAMMER_CONTROLLER_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * The agents of a run, from --agents: "[name@]host[:port][*weight]" or nng URLs, comma-separated.
 * Loopback hosts are dialled by plain tcp, others and all with name@ by TLS, unless the URL says
 * which. The name is what the agent's certificate must show; without name@ it is the host's.
 */

#define INVENTORY_MAX          1024
#define INVENTORY_DEFAULT_PORT 7400
#define INVENTORY_WEIGHT_MAX   1000
#define INVENTORY_HOST_MAX     100 /* with brackets and port it fits an address */

struct inventory_agent {
    char address[128]; /* as printed: "127.0.0.1:7400", "tls+tcp://a:7400", "ipc:///tmp/a.sock" */
    char url[160];     /* for link_dial */
    char name[64];     /* given by name@, "" = none */
    char server_name[INVENTORY_HOST_MAX + 1]; /* that the certificate must have; "" = no TLS */
    uint32_t weight;
};

struct inventory {
    struct inventory_agent *agents;
    size_t n;
};

/* Fills *out (overwritten; empty on error). Duplicates, empty items, bad ports and weights are
 * errors that name the item, and so is an IP address for TLS without a name. Plain tcp to other
 * hosts only with `insecure` (--insecure-agents), which makes it what they get by default. */
enum err inventory_parse(const char *text, int insecure, struct inventory *out,
                         struct errmsg *msg) MUST_CHECK;
/* Appends an item whose parts are known to be good and to fit; name "". */
void inventory_add(struct inventory *inv, const char *address, const char *url, uint32_t weight);
/* Is any of them dialled by TLS? */
bool inventory_uses_tls(const struct inventory *inv);
void inventory_clear(struct inventory *inv);

#endif
