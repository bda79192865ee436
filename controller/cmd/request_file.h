/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_REQUEST_FILE_H
#define HAMMER_CONTROLLER_REQUEST_FILE_H

#include "common/err.h"
#include "common/option.h"
#include "proto/plan.h"

/*
 * The plan file of -f/--file: options by their long names, as in the file of defaults, `url`, and
 * under `requests` a list of requests, each with url, method, headers, data or body, weight and
 * name. Set-up only.
 */

#define REQUEST_FILE_MAX (4u << 20)

/* rows: those of the command; target: their struct, which begins with the plan *p. Requests become
 * entries of the plan; their bodies are read. Errors are "FILE:LINE:COLUMN: ...". */
enum err request_file_read(const struct option_row *rows, size_t n_rows, const char *path,
                           struct plan *p, struct errmsg *msg) MUST_CHECK;

/* The whole of a body's file; in all no more than a plan may have. */
enum err request_body_read(const char *path, const struct plan *p, struct plan_entry *e,
                           struct errmsg *msg) MUST_CHECK;

/* A URL that is a path ("/login") is one on `base`: what stands before the path, and base's own
 * path in front. ERR_INVALID when there is no base, or it has a query. */
enum err request_urls_settle(struct plan *p, const char *base, struct errmsg *msg) MUST_CHECK;
/* Is there such a URL? */
bool request_urls_need_base(const struct plan *p);

#endif
