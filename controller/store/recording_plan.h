/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RECORDING_PLAN_H
#define HAMMER_CONTROLLER_RECORDING_PLAN_H

#include "controller/store/recording.h"
#include "proto/plan.h"

/*
 * PURE: the plan as the history keeps it. Values of secret headers, of --env's variables, passwords
 * and tokens of URLs, and the client's key are replaced or left out; what is left is still a plan
 * that can be decoded. Bodies and the files that {{line}} reads are kept: they are the load.
 */

/* Fills in plan, plan_id and secrets (what a run of the same plan has to be given anew:
 * "header NAME", "env NAME", "cert", "key", "proxy", "URL", "requests"). `secret_headers`: see
 * redact_header. What *r held of them is overwritten, not freed. */
enum err recording_take_plan(struct recording *r, const struct plan *p,
                             const char *secret_headers) MUST_CHECK;

#endif
