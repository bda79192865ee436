/* SPDX-License-Identifier: MIT */
#include "controller/run/journal_list.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

static bool is_run(const char *name)
{
    return strlen(name) == 2 * MSG_ID_LEN &&
           strspn(name, "0123456789abcdef") == 2 * (size_t)MSG_ID_LEN;
}

static void read_entry(const char *folder, const char *name, struct journal_entry *e)
{
    struct errmsg msg;
    snprintf(e->name, sizeof e->name, "%.*s", 2 * MSG_ID_LEN, name);
    e->err = journal_peek(folder, name, &e->record, &e->running, &e->touched_wall_ns, &msg);
}

static int latest_first(const void *a, const void *b)
{
    uint64_t x = ((const struct journal_entry *)a)->record.wall_ns;
    uint64_t y = ((const struct journal_entry *)b)->record.wall_ns;
    return (x < y) - (x > y);
}

void journal_list_read(const char *folder, struct journal_list *l)
{
    struct dirent *d;
    *l = (struct journal_list){0};
    DIR *dir = opendir(folder);
    while (dir != NULL && l->n < JOURNAL_LIST_MAX && (d = readdir(dir)) != NULL) {
        if (!is_run(d->d_name))
            continue;
        l->entries = mem_realloc(l->entries, l->n + 1, sizeof *l->entries);
        l->entries[l->n] = (struct journal_entry){0};
        read_entry(folder, d->d_name, &l->entries[l->n++]);
    }
    if (dir != NULL)
        closedir(dir);
    if (l->n > 1)
        qsort(l->entries, l->n, sizeof *l->entries, latest_first);
}

void journal_list_clear(struct journal_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        journal_run_clear(&l->entries[i].record);
    mem_free(l->entries);
    *l = (struct journal_list){0};
}

/* "4f1d02aa, 99c0e1b2": as many as fit. */
static void name_all(const struct journal_list *l, const char *prefix, char *buf, size_t cap)
{
    size_t at = 0, skipped = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < l->n; i++) {
        if (strncmp(l->entries[i].name, prefix, strlen(prefix)) != 0)
            continue;
        if (at + 24 > cap)
            skipped++;
        else
            at += (size_t)snprintf(buf + at, cap - at, "%s%.12s", at > 0 ? ", " : "",
                                   l->entries[i].name);
    }
    if (skipped > 0)
        snprintf(buf + at, cap - at, ", ...");
}

enum err journal_list_find(const struct journal_list *l, const char *prefix, size_t *which,
                           struct errmsg *msg)
{
    size_t found = 0;
    char names[300];
    for (size_t i = 0; i < l->n; i++) {
        if (prefix[0] == '\0' || strncmp(l->entries[i].name, prefix, strlen(prefix)) != 0)
            continue;
        *which = i;
        found++;
    }
    if (found == 1)
        return ERR_OK;
    name_all(l, found > 1 ? prefix : "", names, sizeof names);
    if (found > 1)
        return errmsg_set(msg, ERR_INVALID, "%.32s: %zu runs begin so: %s", prefix, found, names);
    if (l->n == 0)
        return errmsg_set(msg, ERR_NOT_FOUND,
                          "%.32s: no such run; no hammer-ctl of this user has left one here",
                          prefix);
    return errmsg_set(msg, ERR_NOT_FOUND, "%.32s: no such run; there are %s", prefix, names);
}

void journal_list_prune(const char *folder, uint64_t wall_ns)
{
    struct journal_list l;
    journal_list_read(folder, &l);
    for (size_t i = 0; i < l.n; i++) {
        struct journal_entry *e = &l.entries[i];
        struct journal *j;
        struct journal_run run;
        struct errmsg msg;
        if (e->running || e->err != ERR_OK ||
            clock_add(e->touched_wall_ns, JOURNAL_OLD_NS) > wall_ns)
            continue;
        if (journal_take(folder, e->name, &j, &run, &msg) == ERR_OK)
            journal_close(j, false);
        journal_run_clear(&run);
    }
    journal_list_clear(&l);
}
