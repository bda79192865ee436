/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_OBSERVER_H
#define HAMMER_CONTROLLER_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/loop.h"
#include "controller/cmd/run_options.h"
#include "controller/run/coordinator.h"
#include "controller/run/journal_run.h"
#include "controller/run/merge.h"
#include "controller/run/result.h"
#include "proto/msg.h"

/*
 * Whoever looks on while a run goes on: the screen, the history, files that are written line by
 * line, the metrics. One kind = one file observe_NAME.c ending in its const entry; observers.c has
 * the list. An observer never holds the run up and never changes it: what it cannot write it counts
 * and says. Main thread.
 */

/* What an observer may look at; outlives it. */
struct observer_run {
    const struct run_options *options;
    const struct journal_run *record; /* ids, name, and what is known of the agents once armed */
    const struct inventory *inventory;
    const struct coordinator *coordinator; /* NULL until the agents are dialled */
    const char *secret_headers;            /* comma-separated; NULL = none */
    struct loop *loop;
    bool resumed;                              /* another hammer-ctl began the run */
    void (*note)(void *arg, const char *text); /* for the user's eyes; may come back to `note` */
    void *arg;
};

/* Every function but `open` and `close` may be NULL. */
struct observer_kind {
    const char *name;
    /* Before the agents are dialled. *self NULL = not wanted with these options. An error ends the
     * run before it begins. */
    enum err (*open)(const struct observer_run *run, void **self, struct errmsg *msg);
    /* A snapshot or a final, in the agent's order, exactly once; as it came (msg->snapshot.data,
     * msg->final.data), valid during the call. Of a run that is taken over, those of its journal
     * come first. */
    void (*message)(void *self, size_t agent, const struct msg *msg);
    /* Single requests, where the plan has agents send them: as they came, some may be missing. */
    void (*requests)(void *self, size_t agent, const struct msg_requests *m);
    /* The same snapshots, decoded and taken. */
    void (*snapshot)(void *self, const struct snapshot *s);
    /* An interval was closed, or is final: see merge_on_interval and merge_on_settled. */
    void (*interval)(void *self, const struct merge_view *v);
    void (*settled)(void *self, const struct merge_view *v);
    /* true = it has shown the text on stderr itself. */
    bool (*note)(void *self, const char *text);
    /* Nothing more comes; the result is being made: adds what it knows. */
    void (*fill)(void *self, struct result *r);
    /* The result stands, no report is written yet. false = what it writes is not whole, and it has
     * said so: the exit code tells. */
    bool (*finish)(void *self, const struct result *r);
    void (*close)(void *self);
};

extern const struct observer_kind observe_live;
extern const struct observer_kind observe_lines;
extern const struct observer_kind observe_store;
extern const struct observer_kind observe_metrics;
extern const struct observer_kind observe_dump;
extern const struct observer_kind observe_hlog;

struct observers;

/* Opens all that are wanted. On error nothing is left open. */
enum err observers_open(const struct observer_run *run, struct observers **out,
                        struct errmsg *msg) MUST_CHECK;
/* NULL is fine for all of them. */
/* REQUESTS, too: they go to `requests`. */
void observers_message(struct observers *o, size_t agent, const struct msg *msg);
void observers_snapshot(struct observers *o, const struct snapshot *s);
void observers_interval(struct observers *o, const struct merge_view *v);
void observers_settled(struct observers *o, const struct merge_view *v);
bool observers_note(struct observers *o, const char *text);
void observers_fill(struct observers *o, struct result *r);
bool observers_finish(struct observers *o, const struct result *r);
void observers_close(struct observers *o);

#endif
