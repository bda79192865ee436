/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_HTML_PAGES_H
#define HAMMER_TESTS_HTML_PAGES_H

#include <stddef.h>

#include "tests/lib/report_fixture.h"

/* Runs that never were, of every kind that the HTML report must cope with. */

struct html_case {
    const char *name; /* of a file */
    void (*build)(struct report_fixture *f);
    bool heat, time; /* which charts it has */
    bool spectrum;
};

extern const struct html_case html_cases[];
extern const size_t html_cases_n;

/* What the attack says of itself wherever it can; each part would end or begin something. */
#define HTML_ATTACK "</script><script>alert(1)</script>\"'><img src=x onerror=f()>"

void html_case_free(struct report_fixture *f);

#endif
