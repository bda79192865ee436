/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HISTORY_WRITER_H
#define HAMMER_CONTROLLER_HISTORY_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/loop.h"
#include "controller/store/store.h"

/*
 * Writes a run into the history on a thread of its own: a disk that is slow, full or locked never
 * holds the run up. Rows are collected and handed over many at a time; up to HISTORY_QUEUE_MAX
 * bytes wait for the disk, what comes beyond is counted as lost. What fails is tried again with the
 * next batch or after a second, and once more at the end. Main thread, but for the writing.
 */

#define HISTORY_QUEUE_MAX ((size_t)64 << 20)
#define HISTORY_BATCH_MAX ((size_t)512 << 10)

struct history_writer;

struct history_config {
    struct store *store; /* for writing; taken over in any case, also on error */
    struct loop *loop;   /* of the main thread */
    size_t queue_max;    /* 0 = HISTORY_QUEUE_MAX */
    /* What went wrong, for the first time. */
    void (*trouble)(void *arg, const char *text);
    void *arg;
};

enum err history_writer_new(const struct history_config *cfg, struct history_writer **out,
                            struct errmsg *msg) MUST_CHECK;
/* The run is there from now on. The recording is taken over. */
void history_writer_begin(struct history_writer *w, struct recording *r);
/* Copies. */
void history_writer_add(struct history_writer *w, size_t agent, uint64_t seq, const uint8_t *bytes,
                        size_t len);
/* Hands over what was added. */
void history_writer_flush(struct history_writer *w);
/* The run has ended: its recording is taken over, and its lost_rows are counted here. */
void history_writer_end(struct history_writer *w, struct recording *r);
/* Waits for what is handed over, at most so long, and lets go of everything. NULL is fine. */
void history_writer_close(struct history_writer *w, uint64_t patience_ns);
/* So far, by what is known here. */
uint64_t history_writer_lost(const struct history_writer *w);

#endif
