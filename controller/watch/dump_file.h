/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_DUMP_FILE_H
#define HAMMER_CONTROLLER_DUMP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/watch/dump_csv.h"
#include "proto/msg.h"

/*
 * The file of --dump-requests. A thread of its own makes lines of what agents have sent and writes
 * them; whoever hands it over never waits. What is not yet written takes DUMP_FILE_QUEUE bytes at
 * most: what comes while there is no room is left out, and counted. All calls on the main thread.
 */

#define DUMP_FILE_QUEUE (16u << 20)

struct dump_file;

/* Could it be written? Found out before anything is done, and nothing is. */
enum err dump_file_check(const char *path, struct errmsg *msg) MUST_CHECK;
/* Creates or empties the file. Of a FIFO that nobody reads yet it waits for the reader, in its own
 * thread. `queue`: DUMP_FILE_QUEUE. */
enum err dump_file_open(const char *path, const struct plan *plan, size_t queue,
                        struct dump_file **out, struct errmsg *msg) MUST_CHECK;
/* Takes a copy. false = there is no room, or the file cannot be written any more. */
bool dump_file_add(struct dump_file *f, const char *agent, const struct msg_requests *m);
/* Why nothing more is written, "" = all is well; the first reason stays. */
const char *dump_file_problem(const struct dump_file *f);
/* Is it one of the file, not of who reads it? */
bool dump_file_failed(const struct dump_file *f);
/* Nothing follows: waits until all is written, but not for a reader that takes nothing for two
 * seconds, and never longer than half a minute. Once. */
void dump_file_finish(struct dump_file *f);
/* Lines in the file, all of them whole; after dump_file_finish. */
uint64_t dump_file_lines(const struct dump_file *f);
/* NULL is fine. */
void dump_file_close(struct dump_file *f);

#endif
