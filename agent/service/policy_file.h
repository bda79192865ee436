/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_POLICY_FILE_H
#define HAMMER_AGENT_POLICY_FILE_H

#include <stddef.h>

#include "agent/service/policy.h"
#include "common/err.h"

/*
 * The policy file: YAML, one mapping. docs/policy.md has a commented example.
 *
 *   targets          list of {cidr: CIDR, host: NAME or *.NAME, ports: PORT, FROM-TO or a list};
 *                    an entry has a cidr, a host or both; without the key: loopback only
 *   deny             list of CIDR, stronger than targets
 *   max_rate         requests per second of this agent, as --rate takes it
 *   max_connections  of this agent
 *   max_duration     from the start of a run to its last request, as --duration takes it
 *   max_body         bytes of a request's body; 4096, 64k (thousand), 64KiB, 4MiB
 *   methods          list of methods
 *   scripts          true or false: may a plan bring code? (default: false)
 *
 * Strict: what is unknown, repeated, mistyped, empty or out of range is ERR_INVALID
 * "FILE:LINE:COLUMN: KEY ...: accepted is ...". A policy that is read in part is none.
 */

#define POLICY_FILE_MAX (1u << 20)

/* Reads and checks the file; *out is written on success only. It must be a regular file of root's
 * or of this process's user that neither group nor others may write: else ERR_REFUSED. ERR_SYSTEM:
 * cannot be read. */
enum err policy_load(const char *path, struct policy *out, struct errmsg *msg) MUST_CHECK;
/* The same from memory; `name` stands for the file in messages and in the policy's source. */
enum err policy_parse(const char *name, const void *text, size_t len, struct policy *out,
                      struct errmsg *msg) MUST_CHECK;

#endif
