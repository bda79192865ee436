/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_REQLOG_H
#define HAMMER_TARGET_REQLOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/*
 * One line per request: "read_ns written_ns path status". read_ns is taken right after the read(2)
 * that completed the request, written_ns right before the write(2) of its response, both on
 * CLOCK_MONOTONIC: for a client on the same machine, written_ns - due never exceeds the corrected
 * latency. A request whose client left before it was answered ends in "0 path 0".
 */

struct reqlog {
    FILE *file; /* NULL = no log is kept */
};

/* `name` NULL = no log. The file is emptied. */
enum err reqlog_open(struct reqlog *log, const char *name, struct errmsg *msg) MUST_CHECK;
void reqlog_add(struct reqlog *log, uint64_t read_ns, uint64_t written_ns, const char *path,
                size_t path_len, uint32_t status);
void reqlog_flush(struct reqlog *log);
/* ERR_SYSTEM when a line could not be written. */
enum err reqlog_close(struct reqlog *log) MUST_CHECK;

#endif
