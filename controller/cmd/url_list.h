/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_URL_LIST_H
#define HAMMER_CONTROLLER_URL_LIST_H

#include <stddef.h>

#include "common/err.h"
#include "proto/plan.h"

/*
 * The file of --urls: requests one after another, in the form of siege's urls.txt or of vegeta's
 * text targets. The first line that is no comment says which: vegeta's begins with a method.
 *
 *   siege    HOST = www.example.org        a variable, ${HOST} or $(HOST) further down
 *            http://${HOST}/a
 *            http://${HOST}/b POST x=1     a body: a form, by its content type
 *            http://${HOST}/c PUT <FILE
 *
 *   vegeta   GET http://www.example.org/a
 *            Name: value                   headers, then the body
 *            @FILE
 *
 * Empty lines and those with # are skipped. Set-up only.
 */

#define URL_LIST_MAX   (4u << 20)
#define URL_LIST_NAMED 20 /* with more requests they share one row of the report */
#define URL_LIST_VARS  64

/* Adds the requests of the file to the plan, and reads their bodies' files. Errors are
 * "--urls FILE: line N: ...". */
enum err url_list_read(const char *path, struct plan *p, struct errmsg *msg) MUST_CHECK;
/* PURE but for bodies in files: the same for a text. */
enum err url_list_parse(const char *text, size_t len, struct plan *p,
                        struct errmsg *msg) MUST_CHECK;

#endif
