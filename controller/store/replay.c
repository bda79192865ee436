/* SPDX-License-Identifier: MIT */
#include "controller/store/replay.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/units.h"
#include "controller/store/replay_core.h"
#include "controller/store/replay_merge.h"
#include "controller/store/replay_store.h"
#include "controller/store/store_impl.h"

/* A store stays open as long as its rows may be asked for. */
static enum err rows_of(void *arg, store_row_fn fn, void *fn_arg, struct errmsg *msg)
{
    const struct replay_opened *o = arg;
    return store_rows(o->store, o->recording->run_id, fn, fn_arg, msg);
}

struct replay_source replay_opened_source(struct replay_opened *o)
{
    return (struct replay_source){.recording = o->recording, .rows = rows_of, .arg = o};
}

bool replay_is_file(const char *word)
{
    size_t len = strlen(word), suffix = sizeof STORE_SUFFIX - 1;
    return strchr(word, '/') != NULL ||
           (len > suffix && strcmp(word + len - suffix, STORE_SUFFIX) == 0);
}

enum err replay_path(const char *word, const char *db, char *buf, size_t cap, struct errmsg *msg)
{
    const char *path = replay_is_file(word) ? word : db;
    if (path != NULL && strlen(path) >= cap)
        return errmsg_set(msg, ERR_INVALID, "%.300s: the name is too long", path);
    if (path != NULL)
        snprintf(buf, cap, "%s", path);
    else if (!store_default_path(buf, cap))
        return errmsg_set(msg, ERR_NOT_FOUND,
                          "there is no home folder to look for the history in; accepted is --db");
    return ERR_OK;
}

enum err replay_open(const char *word, const char *db, struct replay_opened *o, struct errmsg *msg)
{
    char path[PATH_MAX], id[33];
    *o = (struct replay_opened){0};
    enum err e = replay_path(word, db, path, sizeof path, msg);
    if (e == ERR_OK)
        e = store_open(path, STORE_READ, &o->store, msg);
    if (e == ERR_OK)
        e = store_find(o->store, replay_is_file(word) ? "latest" : word, id, msg);
    if (e == ERR_OK)
        e = store_load(o->store, id, &o->recording, msg);
    if (e != ERR_OK)
        replay_close(o);
    return e;
}

void replay_close(struct replay_opened *o)
{
    store_close(o->store);
    recording_free(o->recording);
    *o = (struct replay_opened){0};
}

/* --- results ---------------------------------------------------------------------------------- */

/* In the order in which they are merged. */
static void order(struct replay_opened *all, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct replay_opened one = all[i];
        size_t at = i;
        for (; at > 0 && replay_merge_before(one.recording, all[at - 1].recording); at--)
            all[at] = all[at - 1];
        all[at] = one;
    }
}

enum err replay_merged(const char *const *words, size_t n, const struct replay_options *o,
                       struct replayed **out, struct errmsg *msg)
{
    struct replay_opened *all = mem_calloc(n, sizeof *all);
    struct replay_source *sources = mem_calloc(n, sizeof *sources);
    enum err e = ERR_OK;
    *out = NULL;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = replay_open(words[i], o->db, &all[i], msg);
    if (e == ERR_OK) {
        order(all, n);
        for (size_t i = 0; i < n; i++)
            sources[i] = replay_opened_source(&all[i]);
        e = replay_sources(sources, n, o, out, msg);
    }
    if (e == ERR_OK) {
        (*out)->opened = all;
        (*out)->n = n;
    }
    for (size_t i = 0; i < n && e != ERR_OK; i++)
        replay_close(&all[i]);
    if (e != ERR_OK)
        mem_free(all);
    mem_free(sources);
    return e;
}

enum err replay_run(const char *word, const struct replay_options *o, struct replayed **out,
                    struct errmsg *msg)
{
    return replay_merged(&word, 1, o, out, msg);
}

/* --- saving ----------------------------------------------------------------------------------- */

#define BATCH_ROWS  256
#define BATCH_BYTES (4u << 20)

/* Rows on their way into another store: as many at once as fit. */
struct saving {
    struct store *to;
    const char *run_id;
    size_t first; /* number of the source's first agent */
    size_t n, bytes;
    struct store_row rows[BATCH_ROWS]; /* bytes are owned */
};

static enum err save_batch(struct saving *s, struct errmsg *msg)
{
    enum err e = store_add(s->to, s->run_id, s->rows, s->n, msg);
    for (size_t i = 0; i < s->n; i++)
        mem_free((void *)(uintptr_t)s->rows[i].bytes);
    s->n = s->bytes = 0;
    return e;
}

static enum err save_row(void *arg, const struct store_row *row, struct errmsg *msg)
{
    struct saving *s = arg;
    if (row->altered)
        return errmsg_set(msg, ERR_CORRUPT, "a snapshot is damaged: " REPLAY_ALTERED);
    s->rows[s->n] = *row;
    s->rows[s->n].agent += s->first;
    s->rows[s->n++].bytes = mem_dup(row->bytes, row->len);
    s->bytes += row->len;
    if (s->n < BATCH_ROWS && s->bytes < BATCH_BYTES)
        return ERR_OK;
    return save_batch(s, msg);
}

static enum err save_all(const struct replayed *r, const struct recording *rec, struct store *to,
                         struct errmsg *msg)
{
    struct saving *s = mem_calloc(1, sizeof *s);
    s->to = to;
    s->run_id = rec->run_id;
    enum err e = store_begin(to, rec, msg), last = ERR_OK;
    for (size_t i = 0; i < r->n && e == ERR_OK; i++) {
        struct replay_source source = replay_opened_source(&r->opened[i]);
        e = source.rows(source.arg, save_row, s, msg);
        s->first += source.recording->n_agents;
    }
    if (e == ERR_OK)
        e = save_batch(s, msg);
    else
        last = save_batch(s, NULL); /* frees what is on its way */
    (void)last;
    if (e == ERR_OK && rec->ended_wall_ns != 0)
        e = store_end(to, rec, msg);
    mem_free(s);
    return e;
}

static enum err save_merged(const struct replayed *r, const char *path, struct errmsg *msg)
{
    struct store *to;
    enum err e = store_create(path, STORE_FILE, &to, msg);
    if (e != ERR_OK)
        return e;
    e = save_all(r, r->merged, to, msg);
    store_close(to);
    return e;
}

enum err replayed_save(const struct replayed *r, const char *path, struct errmsg *msg)
{
    if (r->merged == NULL)
        return store_export(r->opened[0].store, r->opened[0].recording->run_id, path, msg);
    size_t size = strlen(path) + 32;
    char *part = mem_calloc(size, 1);
    snprintf(part, size, "%s.%ld.part", path, (long)getpid());
    unlink(part); /* of an earlier process with our number */
    enum err e = save_merged(r, part, msg);
    if (e == ERR_OK && rename(part, path) != 0)
        e = errmsg_set(msg, ERR_SYSTEM, "%.300s: %s", path, strerror(errno));
    if (e != ERR_OK)
        unlink(part);
    mem_free(part);
    return e;
}

const struct result *replayed_result(const struct replayed *r)
{
    return r->result;
}

const struct recording *replayed_recording(const struct replayed *r)
{
    return r->merged != NULL ? r->merged : r->opened[0].recording;
}

void replayed_free(struct replayed *r)
{
    if (r == NULL)
        return;
    replayed_clear(r);
    for (size_t i = 0; i < r->n; i++)
        replay_close(&r->opened[i]);
    mem_free(r->opened);
    mem_free(r);
}
