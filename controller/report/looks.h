/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_LOOKS_H
#define HAMMER_CONTROLLER_LOOKS_H

#include "controller/report/report.h"

/* What a text may be made of where it is read, from the user's environment. Main thread. */

/* Is the user's locale one of UTF-8? By its name: it need not be installed. */
bool looks_unicode(void);
/* Neither NO_COLOR nor CLICOLOR=0 (https://no-color.org, https://bixense.com/clicolors). */
bool looks_colour(void);
/* Fills in o->unicode and o->colour: of these two, and of TERM. Before the first report. */
void looks_settle(struct report_options *o);

#endif
