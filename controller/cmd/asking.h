/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_ASKING_H
#define HAMMER_CONTROLLER_ASKING_H

#include "common/err.h"
#include "controller/cmd/tls_options.h"
#include "controller/run/survey.h"

/* survey_run for a command that does nothing else: loop, signals, certificates. Main thread. */

/* Fills agents[inv->n]; `halt` NULL = asks. ERR_CLOSED: a signal ended it. */
enum err asking_run(const struct inventory *inv, const struct tls_options *tls,
                    const struct msg_halt *halt, struct survey_agent *agents,
                    struct errmsg *msg) MUST_CHECK;

#endif
