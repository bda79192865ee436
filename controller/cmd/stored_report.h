/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_STORED_REPORT_H
#define HAMMER_CONTROLLER_STORED_REPORT_H

#include "controller/cmd/stored_options.h"

/* What report and merge have in common: the report of stored runs, as the flags want it. Returns
 * the exit code. */
int stored_report(const struct stored_options *o, struct errmsg *msg);

#endif
