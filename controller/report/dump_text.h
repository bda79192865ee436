/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_DUMP_TEXT_H
#define HAMMER_CONTROLLER_DUMP_TEXT_H

#include <stddef.h>

#include "controller/run/result.h"

/* "FILE: 11000 of 12000 requests written (900 dropped by agents, 100 not written in time)". */
#define DUMP_TEXT_LINE 512
void dump_text(const struct result_dump *d, char *buf, size_t cap);

#endif
