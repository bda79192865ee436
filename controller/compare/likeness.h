/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_LIKENESS_H
#define HAMMER_CONTROLLER_LIKENESS_H

#include "common/option.h"
#include "controller/run/result.h"

/*
 * PURE: may two runs be compared? Only where both were sent the same load, and each is sound in
 * itself: else what differs is not the server.
 */

/* A sentence to the list for each thing in which the load of `b` differs from that of `a`: rate,
 * stages, arrivals, connections, length, requests and so on. The server's address is not load. */
void likeness_of_load(const struct result *a, const struct result *b, const char *name_a,
                      const char *name_b, struct option_list *differences);
/* One for what makes the run no base of a comparison: its status, or that it is a part only. */
void likeness_of_validity(const struct result *r, const char *name, struct option_list *problems);

#endif
