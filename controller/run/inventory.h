/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_INVENTORY_H
#define HAMMER_CONTROLLER_INVENTORY_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/* The agents of a run, from --agents: "[name@]host[:port][*weight]" or nng URLs, comma-separated.
 */

#define INVENTORY_MAX          1024
#define INVENTORY_DEFAULT_PORT 7400
#define INVENTORY_WEIGHT_MAX   1000

struct inventory_agent {
    char address[128]; /* as printed: "127.0.0.1:7400", "ipc:///tmp/a.sock" */
    char url[160];     /* for link_dial */
    char name[64];     /* certificate's name, "" = none given */
    uint32_t weight;
};

struct inventory {
    struct inventory_agent *agents;
    size_t n;
};

/* Fills *out (overwritten; empty on error). Duplicates, empty items, bad ports and weights are
 * errors that name the item. A non-loopback host needs TLS, which is not there yet: allowed only
 * with `insecure` (--insecure-agents). */
enum err inventory_parse(const char *text, int insecure, struct inventory *out,
                         struct errmsg *msg) MUST_CHECK;
/* Appends an item whose parts are known to be good and to fit; name "". */
void inventory_add(struct inventory *inv, const char *address, const char *url, uint32_t weight);
void inventory_clear(struct inventory *inv);

#endif
