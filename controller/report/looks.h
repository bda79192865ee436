/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_LOOKS_H
#define HAMMER_CONTROLLER_LOOKS_H

#include "controller/report/report.h"

/* What a text may be made of where it is read: fills in o->unicode and o->colour from the user's
 * locale, TERM and NO_COLOR. Main thread, before the first report. */
void looks_settle(struct report_options *o);

#endif
