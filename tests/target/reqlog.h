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

struct httpd_reqlog {
    FILE *file; /* NULL = no log is kept */
};

/* `name` NULL = no log. The file is emptied. */
enum err httpd_reqlog_open(struct httpd_reqlog *log, const char *name,
                           struct errmsg *msg) MUST_CHECK;
void httpd_reqlog_add(struct httpd_reqlog *log, uint64_t read_ns, uint64_t written_ns,
                      const char *path, size_t path_len, uint32_t status);
void httpd_reqlog_flush(struct httpd_reqlog *log);
/* ERR_SYSTEM when a line could not be written. */
enum err httpd_reqlog_close(struct httpd_reqlog *log) MUST_CHECK;

#endif
