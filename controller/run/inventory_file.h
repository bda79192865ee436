/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_INVENTORY_FILE_H
#define HAMMER_CONTROLLER_INVENTORY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/option.h"

/*
 * The file that knows one's agents, so that they need not be typed:
 *
 *   agents:
 *     - {name: a1, address: "192.0.2.11:7400", weight: 2, groups: [lab, fast]}
 *     - {address: "ipc:///run/hammer/agent.sock"}
 *
 * It is turned into items of --agents ("a1@192.0.2.11:7400*2"), which controller/run/inventory
 * reads as if they had been typed. Strict: an unknown or repeated key, a wrong type, an agent that
 * --agents would refuse: ERR_INVALID "FILE:LINE:COLUMN: ..." with what is accepted.
 */

#define INVENTORY_FILE_MAX  (1u << 20)
#define INVENTORY_GROUP_ALL "all"

struct inventory_entry {
    char *item; /* as --agents takes it */
    char *name; /* NULL = none given */
    struct option_list groups;
};

struct inventory_file {
    char *path; /* for messages */
    struct inventory_entry *entries;
    size_t n;
};

/* *out is overwritten, and empty on error. load: ERR_NOT_FOUND when there is no such file. */
enum err inventory_file_load(const char *path, struct inventory_file *out,
                             struct errmsg *msg) MUST_CHECK;
enum err inventory_file_parse(const char *path, const void *bytes, size_t len,
                              struct inventory_file *out, struct errmsg *msg) MUST_CHECK;
void inventory_file_clear(struct inventory_file *f);

/* The list with each "@GROUP" replaced by the agents of that group ("@all": every one); an agent
 * that two groups hold is taken once. ERR_INVALID names the group and those there are. *out is the
 * caller's (mem_free). */
enum err inventory_file_expand(const struct inventory_file *f, const char *list, char **out,
                               struct errmsg *msg) MUST_CHECK;
/* Does the list name a group? Then a file is needed. */
bool inventory_file_needed(const char *list);

#endif
