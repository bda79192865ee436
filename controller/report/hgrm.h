/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_HGRM_H
#define HAMMER_CONTROLLER_HGRM_H

#include <stdio.h>

#include "common/err.h"
#include "common/hist.h"

/* Any histogram of ns as a percentile distribution in ms. ERR_SYSTEM: could not be written. */
enum err hgrm_write(FILE *out, const struct hist *h) MUST_CHECK;

#endif
