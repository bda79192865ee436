/* SPDX-License-Identifier: MIT */
#include "controller/cmd/compare_options.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/units.h"

#define FLAG(key, member, sentence)                                                                \
    {                                                                                              \
        .name = key, .aliases = "", .type = OPTION_FLAG,                                           \
        .offset = offsetof(struct compare_options, member), .set_offset = OPTION_NO_SET,           \
        .text = sentence                                                                           \
    }

static const struct option_row rows[] = {
    {.name = "fail-if",
     .aliases = "",
     .type = OPTION_LIST,
     .offset = offsetof(struct compare_options, fail_if),
     .set_offset = OPTION_NO_SET,
     .meta = "CHANGE",
     .accepted = "a change such as p99>+10%, p50>+2ms, errors>+0.1% or rate<-5%",
     .text = "a regression is a change of the candidate against the baseline such as p99>+10%, "
             "p50>+2ms, errors>+0.1% (points) or rate<-5%, also uncorrected.p50>+10%, "
             "'stage 2: p99>+10%' or 'login: p99>+10%' (repeatable; default: p50>+10%, p99>+10% "
             "and errors>+0.1%)"},
    FLAG("against", against,
         "the runs before it are the candidate's, those behind it the baseline's"),
    FLAG("anyway", anyway,
         "compare runs whose load differs or that are not valid; the verdict is then inconclusive"),
    {.name = "format",
     .aliases = "",
     .type = OPTION_STRING,
     .offset = offsetof(struct compare_options, results.format),
     .set_offset = OPTION_NO_SET,
     .meta = "NAME",
     .accepted = "text, json, markdown or junit",
     .text = "print the comparison as text (default), json, markdown or junit"},
    FLAG("json", json, "the same as --format json"),
    RESULT_OPTION_DB(struct compare_options, results),
    FLAG("debug", debug, "write debug messages to stderr"),
    {.name = "help",
     .aliases = "-h",
     .type = OPTION_FLAG,
     .offset = offsetof(struct compare_options, help),
     .set_offset = OPTION_NO_SET,
     .text = "print this help"},
};
#define N_ROWS (sizeof rows / sizeof rows[0])

size_t compare_options_groups(struct option_group groups[])
{
    groups[0] = (struct option_group){.rows = rows, .n = N_ROWS};
    return 1;
}

void compare_options_help(void)
{
    printf(
        "usage: hammer-ctl " COMPARE_USAGE "\n"
        "       hammer-ctl compare [flags] CANDIDATE... --against BASELINE...\n\n"
        "Has the candidate become worse than the baseline? Each is a run of the history (its id,\n"
        "its first digits, its name, or latest) or a file that --output wrote (RUN.hammer); with\n"
        "--against each is a set of up to 20 runs, 5 or more for a verdict worth having. Two\n"
        "runs are judged by a block bootstrap, which does not know how much runs of the same\n"
        "thing differ; sets by an exact rank test over runs. hammer-ctl run --repeat makes "
        "sets.\n\n");
    option_help(rows, N_ROWS, stdout);
    printf(
        "\nExit codes: 0 PASS, 99 REGRESSION, 5 INCONCLUSIVE, 1 bad input, 2 the runs cannot be\n"
        "compared: they could not be read, their load differs, or one is not valid.\n");
}

/* --- words ------------------------------------------------------------------------------------ */

/* Where argv has --against; argc = nowhere. */
static int find_against(int argc, char **argv)
{
    int i = 1;
    while (i < argc && strcmp(argv[i], "--against") != 0)
        i++;
    return i;
}

static bool is_before(const char *word, char **argv, int end)
{
    for (int i = 1; i < end; i++)
        if (argv[i] == word)
            return true;
    return false;
}

static enum err add_word(const char **side, size_t *n, const char *word, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    if (*n == RANK_TEST_MAX)
        return errmsg_set(msg, ERR_RANGE, "%s: accepted are at most %d runs a side",
                          units_format_shown(word, shown), RANK_TEST_MAX);
    side[(*n)++] = word;
    return ERR_OK;
}

static enum err sort_words(struct compare_options *o, int argc, char **argv, const char **words,
                           size_t n, struct errmsg *msg)
{
    int against = find_against(argc, argv);
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        bool baseline = o->against ? !is_before(words[i], argv, against) : i == 0;
        e = baseline ? add_word(o->baseline, &o->n_baseline, words[i], msg)
                     : add_word(o->candidate, &o->n_candidate, words[i], msg);
    }
    if (e != ERR_OK)
        return e;
    if (o->n_baseline == 0 || o->n_candidate == 0)
        return errmsg_set(msg, ERR_INVALID,
                          "%s: accepted is hammer-ctl %s, or CANDIDATE... --against BASELINE...",
                          o->n_baseline == 0 ? "the baseline is missing"
                                             : "the candidate is missing",
                          COMPARE_USAGE);
    if (!o->against && n > 2)
        return errmsg_set(msg, ERR_INVALID,
                          "%zu runs: accepted are two, or sets: CANDIDATE... --against BASELINE...",
                          n);
    return ERR_OK;
}

/* A run against itself says nothing; nor does one twice in a set. */
static enum err check_twice(const struct compare_options *o, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    const char *all[2 * RANK_TEST_MAX];
    memcpy(all, o->baseline, o->n_baseline * sizeof *all);
    memcpy(all + o->n_baseline, o->candidate, o->n_candidate * sizeof *all);
    for (size_t i = 0; i < o->n_baseline + o->n_candidate; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(all[i], all[j]) == 0)
                return errmsg_set(msg, ERR_INVALID, "%s: given twice; accepted is each run once",
                                  units_format_shown(all[i], shown));
    return ERR_OK;
}

/* --- flags ------------------------------------------------------------------------------------ */

static enum err find_format(struct compare_options *o, struct errmsg *msg)
{
    static const struct comparison_format *const formats[] = {
        &comparison_text, &comparison_json, &comparison_markdown, &comparison_junit};
    char shown[UNITS_SHOWN];
    const char *name = o->results.format != NULL ? o->results.format : o->json ? "json" : "text";
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            o->format = formats[i];
    if (o->format == NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "--format %s: accepted is text, json, markdown or junit",
                          units_format_shown(name, shown));
    if (o->json && strcmp(name, "json") != 0)
        return errmsg_set(msg, ERR_INVALID, "--json and --format %s: accepted is one of the two",
                          name);
    return ERR_OK;
}

static enum err take_criteria(struct compare_options *o, struct errmsg *msg)
{
    size_t n = o->fail_if.n > 0 ? o->fail_if.n : comparison_n_default_criteria;
    if (n > CRITERIA_MAX)
        return errmsg_set(msg, ERR_RANGE, "--fail-if given too often: accepted are at most %d",
                          CRITERIA_MAX);
    for (size_t i = 0; i < n; i++) {
        struct errmsg why = {{0}};
        const char *text = o->fail_if.n > 0 ? o->fail_if.items[i] : comparison_default_criteria[i];
        enum err e = criterion_parse(text, &o->criteria[i], &why);
        if (e != ERR_OK)
            return errmsg_set(msg, e, "--fail-if %s", why.text);
    }
    o->n_criteria = n;
    return ERR_OK;
}

enum err compare_options_parse(int argc, char **argv, struct compare_options *o, struct errmsg *msg)
{
    size_t n = 0;
    const char **words = mem_calloc((size_t)argc + 1, sizeof *words);
    *o = (struct compare_options){.n_criteria = 0};
    enum err e = option_environment(rows, N_ROWS, o, msg);
    o->against = false; /* it is a place between words */
    if (e == ERR_OK)
        e = option_parse(rows, N_ROWS, argc, argv, o, words, (size_t)argc, &n, msg);
    if (e == ERR_OK && !o->help)
        e = sort_words(o, argc, argv, words, n, msg);
    if (e == ERR_OK && !o->help)
        e = check_twice(o, msg);
    if (e == ERR_OK && !o->help)
        e = find_format(o, msg);
    if (e == ERR_OK && !o->help)
        e = take_criteria(o, msg);
    mem_free(words);
    return e;
}

void compare_options_clear(struct compare_options *o)
{
    option_clear(rows, N_ROWS, o);
}
