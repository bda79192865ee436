/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_EXPIRY_H
#define HAMMER_CONTROLLER_PKI_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* Says in time that a certificate ends: afterwards every connection is refused. Main thread. */

#define PKI_WARN_DAYS 14

/* Is the end nearer than 14 days, or over? The warning is "WHAT expires in 9 days (INSTANT)". */
bool pki_expiry_near(const char *what, int64_t not_after_s, int64_t now_s, struct errmsg *warning);
/* The same for a PEM certificate; WHAT is the path and the name in it. A file that cannot be read
 * or is none gives no warning: whoever uses it says so better. */
bool pki_expiry_warning(const char *path, int64_t now_s, struct errmsg *warning);

#endif
