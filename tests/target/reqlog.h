/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_REQLOG_H
#define HAMMER_TARGET_REQLOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/*
 * One line per request: "read_ns written_ns path status arrived_ns". arrived_ns is when its last
 * byte came in at the kernel, read_ns is taken right after the read(2) that completed it,
 * written_ns right before the write(2) of its response, all on CLOCK_MONOTONIC: for a client on the
 * same machine, written_ns - due never exceeds the corrected latency. A server that stood still
 * read late: written_ns - arrived_ns has that wait, written_ns - read_ns has not. A request whose
 * client left before it was answered has 0 for written_ns and status. One that came while another
 * on its connection was held back counts as arrived and read when that one was answered.
 */

struct httpd_reqlog_times {
    uint64_t arrived_ns, read_ns, written_ns;
};

struct httpd_reqlog {
    FILE *file; /* NULL = no log is kept */
};

/* `name` NULL = no log. The file is emptied. */
enum err httpd_reqlog_open(struct httpd_reqlog *log, const char *name,
                           struct errmsg *msg) MUST_CHECK;
void httpd_reqlog_add(struct httpd_reqlog *log, const struct httpd_reqlog_times *t,
                      const char *path, size_t path_len, uint32_t status);
void httpd_reqlog_flush(struct httpd_reqlog *log);
/* ERR_SYSTEM when a line could not be written. */
enum err httpd_reqlog_close(struct httpd_reqlog *log) MUST_CHECK;

#endif
