/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_RESULT_OPTIONS_H
#define HAMMER_CONTROLLER_RESULT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/err.h"
#include "common/option.h"

/*
 * Flags about what becomes of a run's figures: formats, history, metrics. Embed struct
 * result_options in the command's own struct and splice the rows into its table with
 * RESULT_OPTION_ROWS(struct run_options, results), or single ones with their own macros.
 */

#define REPEAT_MAX 100

struct result_options {
    char *db, *description, *format, *metrics, *dump_requests, *interleave_with;
    struct option_list tags;
    bool no_save;
    uint64_t every_ns; /* 0 = not given */
    uint32_t repeat;   /* 0 = not given */
};

#define RESULT_OPTION_DB(owner, member)                                                            \
    {                                                                                              \
        .name = "db", .aliases = "", .type = OPTION_STRING, .offset = offsetof(owner, member.db),  \
        .set_offset = OPTION_NO_SET, .min = 1, .meta = "FILE", .accepted = "a file name",          \
        .text = "database of the run history (default: runs.db in ~/.local/share/hammer)"          \
    }
#define RESULT_OPTION_NO_SAVE(owner, member)                                                       \
    {                                                                                              \
        .name = "no-save", .aliases = "", .type = OPTION_FLAG,                                     \
        .offset = offsetof(owner, member.no_save), .set_offset = OPTION_NO_SET,                    \
        .text = "keep nothing of this run in the history"                                          \
    }
#define RESULT_OPTION_DESCRIPTION(owner, member)                                                   \
    {                                                                                              \
        .name = "description", .aliases = "", .type = OPTION_STRING,                               \
        .offset = offsetof(owner, member.description), .set_offset = OPTION_NO_SET,                \
        .meta = "TEXT", .accepted = "a text",                                                      \
        .text = "what the run is about, kept in the history and the report"                        \
    }
#define RESULT_OPTION_TAG(owner, member)                                                           \
    {                                                                                              \
        .name = "tag", .aliases = "", .type = OPTION_LIST, .offset = offsetof(owner, member.tags), \
        .set_offset = OPTION_NO_SET, .meta = "WORD",                                               \
        .accepted = "a word of letters, digits and . _ -",                                         \
        .text = "tag of the run, to find it by (repeatable)"                                       \
    }
#define RESULT_OPTION_FORMAT(owner, member)                                                        \
    {                                                                                              \
        .name = "format", .aliases = "", .type = OPTION_STRING,                                    \
        .offset = offsetof(owner, member.format), .set_offset = OPTION_NO_SET, .meta = "NAME",     \
        .accepted = "a format that --help lists",                                                  \
        .text = "print the report as text (default), json, csv, csv-percentiles, csv-summary, "    \
                "hlog, hgrm, hgrm-uncorrected, html, junit or markdown"                            \
    }
#define RESULT_OPTION_EVERY(owner, member)                                                         \
    {                                                                                              \
        .name = "every", .aliases = "", .type = OPTION_DURATION,                                   \
        .offset = offsetof(owner, member.every_ns), .set_offset = OPTION_NO_SET,                   \
        .min = 100 * NS_PER_MS, .max = 24 * 3600 * NS_PER_SEC, .bare_unit = NS_PER_SEC,            \
        .meta = "TIME",                                                                            \
        .text = "the timeline in steps of TIME, whole intervals added together (default: one row " \
                "per --interval)"                                                                  \
    }
#define RESULT_OPTION_METRICS(owner, member)                                                       \
    {                                                                                              \
        .name = "metrics", .aliases = "", .type = OPTION_STRING,                                   \
        .offset = offsetof(owner, member.metrics), .set_offset = OPTION_NO_SET,                    \
        .meta = "HOST:PORT", .accepted = "HOST:PORT of this machine",                              \
        .text = "serve the running figures as OpenMetrics text at http://HOST:PORT/metrics "       \
                "(loopback only)"                                                                  \
    }
#define RESULT_OPTION_DUMP_REQUESTS(owner, member)                                                 \
    {                                                                                              \
        .name = "dump-requests", .aliases = "", .type = OPTION_STRING,                             \
        .offset = offsetof(owner, member.dump_requests), .set_offset = OPTION_NO_SET,              \
        .meta = "FILE", .accepted = "a file name",                                                 \
        .text =                                                                                    \
            "write a line per request to FILE (CSV): due, sent, latency, status, bytes, error, "   \
            "agent; what cannot be written in time is counted, and the load does not wait"         \
    }
#define RESULT_OPTION_REPEAT(owner, member)                                                        \
    {                                                                                              \
        .name = "repeat", .aliases = "", .type = OPTION_U32,                                       \
        .offset = offsetof(owner, member.repeat), .set_offset = OPTION_NO_SET, .min = 1,           \
        .max = REPEAT_MAX, .meta = "N",                                                            \
        .text = "do the run N times, each a run of its own in the history"                         \
    }
#define RESULT_OPTION_INTERLEAVE_WITH(owner, member)                                               \
    {                                                                                              \
        .name = "interleave-with", .aliases = "", .type = OPTION_STRING,                           \
        .offset = offsetof(owner, member.interleave_with), .set_offset = OPTION_NO_SET,            \
        .meta = "RUN", .accepted = "a run of the history",                                         \
        .text = "with --repeat: in turn with the plan of RUN (A B B A ...), so that compare can "  \
                "tell the two apart"                                                               \
    }
#define RESULT_OPTION_ROWS(owner, member)                                                          \
    RESULT_OPTION_DB(owner, member), RESULT_OPTION_NO_SAVE(owner, member),                         \
        RESULT_OPTION_DESCRIPTION(owner, member), RESULT_OPTION_TAG(owner, member),                \
        RESULT_OPTION_FORMAT(owner, member), RESULT_OPTION_EVERY(owner, member),                   \
        RESULT_OPTION_METRICS(owner, member), RESULT_OPTION_DUMP_REQUESTS(owner, member),          \
        RESULT_OPTION_REPEAT(owner, member), RESULT_OPTION_INTERLEAVE_WITH(owner, member)

/* ERR_INVALID unless --every was not given or is made of whole intervals. */
enum err result_options_check_every(uint64_t every_ns, uint64_t interval_ns,
                                    struct errmsg *msg) MUST_CHECK;
/* --tag, --description: what the history takes. */
#define DESCRIPTION_MAX 4096
enum err result_options_check_words(const struct result_options *o, struct errmsg *msg) MUST_CHECK;

#endif
