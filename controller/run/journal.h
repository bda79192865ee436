/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_JOURNAL_H
#define HAMMER_CONTROLLER_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "controller/run/journal_run.h"

/*
 * What a run has received, on disk before it is acknowledged: after a kill -9 of hammer-ctl another
 * one finishes the report with exact totals. A folder FOLDER/RUN (32 hex digits, 0700) with two
 * files of 0600: `run` (see journal_run.h, replaced as a whole) and `journal` (records, appended).
 * Whoever writes it holds a lock on `journal`. Not synced to the disk: it survives the process, not
 * a power cut. Removed at an orderly end. Main thread; every call is a few system calls at most
 * on a local disk.
 *
 * A record: agent u32, length u32, crc32 u32 of the two and the bytes (all little-endian), bytes =
 * the agent's message, as it came.
 */

struct journal;

/* Where journals of this user are: $XDG_STATE_HOME/hammer/runs, else ~/.local/state/hammer/runs.
 * false = there is no home, or the path does not fit. */
bool journal_folder(char *buf, size_t cap);

/* Makes the folders and files of a new run. */
enum err journal_create(const char *folder, const struct journal_run *run, struct journal **out,
                        struct errmsg *msg) MUST_CHECK;
/* Opens another one's to go on with it; `name` is the run's 32 hex digits. ERR_BUSY: a living
 * hammer-ctl has it, *run says which. *run is the caller's (journal_run_clear), also on ERR_BUSY.
 */
enum err journal_take(const char *folder, const char *name, struct journal **out,
                      struct journal_run *run, struct errmsg *msg) MUST_CHECK;
/* Only looks; *run is the caller's on ERR_OK. `touched_ns` as journal_touched_ns. */
enum err journal_peek(const char *folder, const char *name, struct journal_run *run, bool *running,
                      uint64_t *touched_ns, struct errmsg *msg) MUST_CHECK;
/* The file `run` anew, whole or not at all. An error of this and of the next two is said once:
 * the journal is then given up and removed (with a part of it nobody could tell exact totals), and
 * all further calls do nothing. Only a journal_save of one that was taken leaves it as it was. NULL
 * is fine. */
enum err journal_save(struct journal *j, const struct journal_run *run,
                      struct errmsg *msg) MUST_CHECK;
/* Records are collected and written many at a time: on disk, and safe from the end of this process,
 * after journal_flush. */
enum err journal_append(struct journal *j, size_t agent, const uint8_t *bytes, size_t len,
                        struct errmsg *msg) MUST_CHECK;
enum err journal_flush(struct journal *j, struct errmsg *msg) MUST_CHECK;

typedef void (*journal_record_fn)(void *arg, size_t agent, const uint8_t *bytes, size_t len);

/* Every whole record in order; what comes after the first one that is torn or damaged is dropped.
 * Afterwards records are appended there. */
enum err journal_replay(struct journal *j, size_t n_agents, journal_record_fn fn, void *arg,
                        struct errmsg *msg) MUST_CHECK;
/* The same of any stream: PURE but for reading it. Returns how many bytes are whole records. */
uint64_t journal_read(FILE *in, size_t n_agents, journal_record_fn fn, void *arg);

/* How many bytes that was, after journal_replay. */
uint64_t journal_dropped(const struct journal *j);
/* Last change before it was taken: when its hammer-ctl was last alive. Wall clock. */
uint64_t journal_touched_ns(const struct journal *j);
/* Lets go of it; flushed if `keep`, else removed. NULL is fine. */
void journal_close(struct journal *j, bool keep);

#endif
