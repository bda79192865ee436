/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_OUTPUTS_H
#define HAMMER_CONTROLLER_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/option.h"
#include "controller/report/report.h"
#include "controller/run/merge.h"

/*
 * Where a report goes, and in which formats: what --format, --json and --output ask for, of a live
 * run and of a stored one alike. Main thread.
 */

struct outputs_config {
    const char *format; /* --format; NULL = not given */
    bool json;          /* --json */
    /* --output: a file whose name's end says the format, NAME:FILE, or "-", standard output. */
    const struct option_list *files;
};

struct output {
    const struct report_format *format;
    const char *path; /* NULL = standard output */
};

struct outputs;

/* Refuses what is not known, what contradicts itself, and files that cannot be written; the message
 * names the flag. Copies what it needs; creates nothing. */
enum err outputs_new(const struct outputs_config *c, struct outputs **out,
                     struct errmsg *msg) MUST_CHECK;
void outputs_free(struct outputs *o); /* NULL is fine */

/* What was asked for; that of standard output comes first. */
size_t outputs_n(const struct outputs *o);
const struct output *outputs_at(const struct outputs *o, size_t i);
/* The files that are databases of the run, at most outputs_n of them; returns how many. The paths
 * are the outputs'. */
size_t outputs_stores(const struct outputs *o, const char **paths);

/* A merge_view_fn (`outputs` is one): each row of a stored run, in order and before outputs_write.
 * A live run's are written as they come, by observe_hlog. */
void outputs_row(void *outputs, const struct merge_view *v);

struct outputs_run {
    const struct result *result;
    const struct report_options *options;
    /* Makes the file a database of the run, whole or not at all. */
    enum err (*store)(void *arg, const char *path, struct errmsg *msg);
    void *arg;
    bool live;  /* rows were not given to outputs_row, observe_hlog has written them */
    bool debug; /* --debug-request: standard output gets what was said */
};

/* Writes them all; what could not be written is said on stderr. ERR_CLOSED = nobody reads standard
 * output any more, and all else was written; ERR_SYSTEM = something is missing. */
enum err outputs_write(struct outputs *o, const struct outputs_run *run) MUST_CHECK;

#endif
