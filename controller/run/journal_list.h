/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_JOURNAL_LIST_H
#define HAMMER_CONTROLLER_JOURNAL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "controller/run/journal.h"

/* The journals of a folder. Main thread. */

#define JOURNAL_LIST_MAX 1000
#define JOURNAL_OLD_NS   (7 * UINT64_C(86400) * NS_PER_SEC)

struct journal_entry {
    char name[2 * MSG_ID_LEN + 1];
    bool running; /* by record.pid */
    uint64_t touched_wall_ns;
    enum err err; /* not ERR_OK: the file `run` cannot be read, record is empty */
    struct journal_run record;
};

struct journal_list {
    struct journal_entry *entries; /* owned; the latest run first */
    size_t n;
};

/* No folder is an empty list. */
void journal_list_read(const char *folder, struct journal_list *l);
void journal_list_clear(struct journal_list *l);
/* The one whose id begins with `prefix` (hex digits). Errors name what there is. */
enum err journal_list_find(const struct journal_list *l, const char *prefix, size_t *which,
                           struct errmsg *msg) MUST_CHECK;
/* Removes what nobody runs and nothing has changed for JOURNAL_OLD_NS: plans hold secrets. */
void journal_list_prune(const char *folder, uint64_t wall_ns);

#endif
