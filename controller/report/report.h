/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_REPORT_H
#define HAMMER_CONTROLLER_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/err.h"
#include "controller/run/result.h"

/* Report formats: one file each, ending in its const entry; numbers come from the result only. */

struct report_options {
    bool spectrum; /* --latency: the full percentile spectrum */
    bool verbose;  /* -v: all error texts */
    /* Further header names whose values are shown to nobody, comma-separated; NULL = none. */
    const char *secret_headers;
    bool unicode; /* the reader can be shown more than ASCII, see looks.h */
    bool colour;  /* where it goes to a terminal */
};

struct report_format {
    const char *name;   /* "text", "json" */
    const char *suffix; /* of a file's name: ".txt"; NULL = no file's name means it */
    const char *text;   /* what it is, one line for the help */
    /* NULL = it is not made of the result: see report_hlog and report_store. */
    enum err (*write)(const struct result *r, const struct report_options *o, FILE *out);
};

extern const struct report_format report_text;
extern const struct report_format report_json;
extern const struct report_format report_csv;
extern const struct report_format report_csv_percentiles;
extern const struct report_format report_csv_summary;
extern const struct report_format report_hgrm;
extern const struct report_format report_hgrm_uncorrected;
extern const struct report_format report_html;
extern const struct report_format report_junit;
extern const struct report_format report_markdown;
/* Made of the timeline's rows as they come (hlog.h), and of the history (store_export). */
extern const struct report_format report_hlog;
extern const struct report_format report_store;
/* --debug-request: the request with its response. */
extern const struct report_format report_debug;
/* Was it answered as expected? */
bool report_debug_answered(const struct result *r);

#endif
