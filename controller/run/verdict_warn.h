/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_VERDICT_WARN_H
#define HAMMER_CONTROLLER_VERDICT_WARN_H

#include "controller/run/result.h"

/*
 * PURE: what is worth knowing of a run and decides nothing: a delay of ours that is still far from
 * spoiling it but may be read as the server's, clocks that went apart, agents that were left out, a
 * run that was not the same throughout. Part of the verdict, which calls it; nobody else does.
 */
void verdict_warn(struct result *r);

#endif
