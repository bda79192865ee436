/* SPDX-License-Identifier: MIT */
#include "controller/store/replay.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/units.h"
#include "controller/store/replay_core.h"
#include "controller/store/replay_merge.h"
#include "controller/store/replay_store.h"

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

static enum err find_run(struct store *s, const char *word, bool file, char id[33],
                         struct errmsg *msg)
{
    return store_find(s, file ? "latest" : word, id, msg);
}

enum err replay_open(const char *word, const char *db, struct replay_opened *o, struct errmsg *msg)
{
    char path[PATH_MAX], id[33];
    bool file = replay_is_file(word);
    *o = (struct replay_opened){0};
    if (file)
        snprintf(path, sizeof path, "%s", word);
    else if (db != NULL)
        snprintf(path, sizeof path, "%s", db);
    else if (!store_default_path(path, sizeof path))
        return errmsg_set(msg, ERR_NOT_FOUND,
                          "there is no home folder to look for the history in; accepted is --db");
    enum err e = store_open(path, STORE_READ, &o->store, msg);
    if (e == ERR_OK)
        e = find_run(o->store, word, file, id, msg);
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

/* The recordings' places in `all`, in the order in which they are merged. */
static void order(struct replay_opened *all, size_t n, struct replay_source *sources,
                  struct recording **recordings)
{
    for (size_t i = 0; i < n; i++)
        recordings[i] = all[i].recording;
    replay_merge_sort(recordings, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (all[k].recording == recordings[i])
                sources[i] = replay_opened_source(&all[k]);
}

enum err replay_merged(const char *const *words, size_t n, const struct replay_options *o,
                       struct replayed **out, struct errmsg *msg)
{
    struct replay_opened *all = mem_calloc(n, sizeof *all);
    struct replay_source *sources = mem_calloc(n, sizeof *sources);
    struct recording **recordings = mem_calloc(n, sizeof *recordings);
    enum err e = ERR_OK;
    *out = NULL;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = replay_open(words[i], o->db, &all[i], msg);
    if (e == ERR_OK) {
        order(all, n, sources, recordings);
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
    mem_free(recordings);
    return e;
}

enum err replay_run(const char *word, const struct replay_options *o, struct replayed **out,
                    struct errmsg *msg)
{
    return replay_merged(&word, 1, o, out, msg);
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
