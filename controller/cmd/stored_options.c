/* SPDX-License-Identifier: MIT */
#include "controller/cmd/stored_options.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/option_help.h"
#include "common/units.h"
#include "controller/cmd/cmd.h"
#include "proto/profile.h"

#define ROWS_MAX 32
#define TIME_MAX (366 * 24 * 3600 * NS_PER_SEC)

#define ROW(kind, key, member)                                                                     \
    .name = key, .type = kind, .offset = offsetof(struct stored_options, member),                  \
    .set_offset = OPTION_NO_SET

static const struct option_row own_rows[] = {
    {ROW(OPTION_DURATION, "from", from_ns), .aliases = "", .max = TIME_MAX, .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "only what was measured from TIME after the start on, outwards to whole intervals"},
    {.name = "to",
     .type = OPTION_DURATION,
     .offset = offsetof(struct stored_options, to_ns),
     .set_offset = offsetof(struct stored_options, to_set),
     .aliases = "",
     .min = 1,
     .max = TIME_MAX,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "only what was measured until TIME after the start"},
    {ROW(OPTION_STRING, "agent", agent), .aliases = "", .meta = "NAME",
     .accepted = "an agent's name or address, as the report has it",
     .text = "only what this agent measured"},
    {ROW(OPTION_U32, "stage", stage), .aliases = "", .min = 1, .max = PROFILE_STAGES_MAX,
     .meta = "N", .text = "only the requests that were due in stage N, from 1"},
    {ROW(OPTION_STRING, "request", request), .aliases = "", .meta = "NAME",
     .accepted = "the name of a request", .text = "only the requests of this name"},
    RESULT_OPTION_FORMAT(struct stored_options, results),
    {ROW(OPTION_FLAG, "json", json), .aliases = "", .text = "the same as --format json"},
    {ROW(OPTION_LIST, "output", outputs), .aliases = "-o", .meta = "FILE",
     .accepted = "a file name that ends as a format's do, NAME:FILE, or -",
     .text = "write the report to FILE too, in the format that its name ends in (repeatable)"},
    RESULT_OPTION_EVERY(struct stored_options, results),
    {ROW(OPTION_FLAG, "latency", spectrum), .aliases = "-L",
     .text = "print the whole latency spectrum, and where the time went"},
    RESULT_OPTION_DB(struct stored_options, results),
    {ROW(OPTION_FLAG, "verbose", verbose), .aliases = "-v", .text = "print all error texts"},
    {ROW(OPTION_FLAG, "quiet", quiet), .aliases = "-q", .text = "print only what failed"},
    {ROW(OPTION_FLAG, "debug", debug), .aliases = "", .text = "write debug messages to stderr"},
    {ROW(OPTION_FLAG, "help", help), .aliases = "-h", .text = "print this help"},
};
#define OWN_N (sizeof own_rows / sizeof own_rows[0])

static const struct {
    const char *names, *usage, *help, *codes;
    size_t words_min, words_max;
    const char *missing;
} commands[] = {
    [STORED_REPORT] =
        {"from to agent stage request format json output every latency db verbose debug help",
         "report [flags] RUN|FILE",
         "Prints the report of a stored run again, in any format, whole or a part of it: RUN is a\n"
         "run's id, its first digits, its name, or latest; FILE one that --output wrote\n"
         "(RUN.hammer). All figures are made anew from the stored histograms.",
         "0 the report was written, whatever it says; 1 bad input; 2 the run could not be read", 1,
         1, "the run is missing"},
    [STORED_MERGE] =
        {"format json output every latency db verbose debug help",
         "merge [flags] RUN|FILE RUN|FILE...",
         "Adds runs up exactly, histogram by histogram: those of one experiment that "
         "several\nhammer-ctl held, or its parts. Agents stand side by side, intervals "
         "lie over each other\nby the time since each start. --output FILE.hammer "
         "keeps the sum as a run of its own.",
         "0 the report was written, whatever it says; 1 bad input; 2 a run could not "
         "be read",
         2, SIZE_MAX, "merging takes two runs at least"},
    [STORED_VERIFY] = {"db quiet debug help", "verify [flags] RUN|FILE...",
                       "Works every figure of stored runs out again, from their histograms and "
                       "ledgers, and\ncompares. FILE may be a report too (REPORT.json): then what "
                       "is in it is checked\nagainst itself.",
                       "0 everything holds; 1 bad input; 2 a run could not be read; 3 something "
                       "does not hold",
                       1, SIZE_MAX, "the run is missing"},
};

size_t stored_options_groups(enum stored_command command, struct option_group groups[])
{
    groups[0] =
        (struct option_group){.rows = own_rows, .n = OWN_N, .names = commands[command].names};
    return 1;
}

static size_t list_rows(enum stored_command command, struct option_row rows[ROWS_MAX])
{
    struct option_group group;
    const struct option_row *row;
    size_t n = 0;
    stored_options_groups(command, &group);
    for (size_t at = 0; n < ROWS_MAX && (row = option_group_next(&group, &at)) != NULL;)
        rows[n++] = *row;
    return n;
}

static void print_help(enum stored_command command)
{
    struct option_row rows[ROWS_MAX];
    printf("usage: hammer-ctl %s\n\n%s\n\n", commands[command].usage, commands[command].help);
    option_help(rows, list_rows(command, rows), stdout);
    printf("\nExit codes: %s.\n", commands[command].codes);
}

static enum err check_words(enum stored_command command, const struct stored_options *o,
                            struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    if (o->n_words < commands[command].words_min)
        return errmsg_set(msg, ERR_INVALID,
                          "%s: accepted is hammer-ctl %s; hammer-ctl runs lists what there is",
                          commands[command].missing, commands[command].usage);
    if (o->n_words > commands[command].words_max)
        return errmsg_set(msg, ERR_INVALID, "%s: accepted is hammer-ctl %s",
                          units_format_shown(o->words[commands[command].words_max], shown),
                          commands[command].usage);
    return ERR_OK;
}

static enum err parse(enum stored_command command, int argc, char **argv, struct stored_options *o,
                      struct errmsg *msg)
{
    struct option_row rows[ROWS_MAX];
    size_t n = list_rows(command, rows);
    o->words = mem_calloc((size_t)argc + 1, sizeof *o->words);
    enum err e = option_environment(rows, n, o, msg);
    if (e == ERR_OK)
        e = option_parse(rows, n, argc, argv, o, o->words, (size_t)argc, &o->n_words, msg);
    if (e == ERR_OK && !o->help)
        e = check_words(command, o, msg);
    return e;
}

int stored_options_exec(enum stored_command command, int argc, char **argv,
                        int (*fn)(const struct stored_options *o, struct errmsg *msg))
{
    struct stored_options o = {0};
    struct errmsg msg = {{0}};
    int code = EXIT_BAD_INPUT;
    enum err e = parse(command, argc, argv, &o, &msg);
    if (e == ERR_OK && o.help) {
        print_help(command);
        code = 0;
    } else if (e == ERR_OK) {
        log_open("hammer-ctl", o.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
        code = fn(&o, &msg);
    }
    if (msg.text[0] != '\0' && code != 0)
        fprintf(stderr, "hammer-ctl: %s\n", msg.text);
    mem_free(o.words);
    option_clear(own_rows, OWN_N, &o);
    return code;
}

struct result_view stored_options_view(const struct stored_options *o)
{
    struct result_view v = {.from_ns = o->from_ns, .to_ns = o->to_ns};
    snprintf(v.agent, sizeof v.agent, "%s", o->agent != NULL ? o->agent : "");
    snprintf(v.request, sizeof v.request, "%s", o->request != NULL ? o->request : "");
    v.one_stage = o->stage > 0;
    v.stage = o->stage > 0 ? o->stage - 1 : 0;
    return v;
}
