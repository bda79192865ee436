/* SPDX-License-Identifier: MIT */
#include "controller/cmd/run_store.h"

#include <stdio.h>
#include <unistd.h>

#include "common/mem.h"
#include "controller/cmd/output_file.h"
#include "controller/cmd/outputs.h"
#include "controller/store/store.h"

#define PASSING ".recording"

/* The first file RUN.hammer; "" = there is none. */
static enum err first_file(const struct run_options *o, char path[PATH_MAX], struct errmsg *msg)
{
    struct outputs *outputs;
    enum err e = run_options_outputs(o, &outputs, msg);
    path[0] = '\0';
    if (e != ERR_OK)
        return e;
    const char **paths = mem_calloc(outputs_n(outputs), sizeof *paths);
    if (outputs_stores(outputs, paths) > 0 &&
        (size_t)snprintf(path, PATH_MAX, "%s", paths[0]) + sizeof PASSING > PATH_MAX)
        e = errmsg_set(msg, ERR_INVALID, "--output %.200s...: the name is too long", paths[0]);
    mem_free(paths);
    outputs_free(outputs);
    return e;
}

enum err run_store_find(const struct run_options *o, struct run_store *out, struct errmsg *msg)
{
    char file[PATH_MAX];
    *out = (struct run_store){.kind = RUN_STORE_NONE};
    if (o->plan.debug_request)
        return ERR_OK;
    enum err e = first_file(o, file, msg);
    if (e != ERR_OK || (o->results.no_save && file[0] == '\0'))
        return e;
    out->kind = o->results.no_save ? RUN_STORE_PASSING : RUN_STORE_HISTORY;
    out->asked_for = file[0] != '\0' || o->results.db != NULL;
    int len = 0;
    if (o->results.no_save)
        len = snprintf(out->path, PATH_MAX, "%s" PASSING, file);
    else if (o->results.db != NULL)
        len = snprintf(out->path, PATH_MAX, "%s", o->results.db);
    else if (!store_default_path(out->path, PATH_MAX))
        return errmsg_set(msg, ERR_NOT_FOUND, "no home folder");
    return len < PATH_MAX ? ERR_OK : errmsg_set(msg, ERR_NOT_FOUND, "the name is too long");
}

enum err run_store_export(const struct run_options *o, const char *run_id, const char *path,
                          struct errmsg *msg)
{
    struct run_store from;
    struct store *store = NULL;
    enum err e = output_file_check_beside(path, msg); /* a device would be gone */
    if (e == ERR_OK)
        e = run_store_find(o, &from, msg);
    if (e == ERR_OK && from.kind == RUN_STORE_NONE)
        e = errmsg_set(msg, ERR_STATE, "nothing of the run is kept");
    if (e == ERR_OK)
        e = store_open(from.path, STORE_READ, &store, msg);
    if (e == ERR_OK)
        e = store_export(store, run_id, path, msg);
    store_close(store);
    return e;
}

void run_store_remove(const struct run_store *s)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char path[PATH_MAX + 8];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(path, sizeof path, "%s%s", s->path, ends[i]);
        unlink(path);
    }
}
