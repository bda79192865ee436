/* SPDX-License-Identifier: MIT */
#include "controller/cmd/history_options.h"

#include <limits.h>
#include <string.h>

#include "common/mem.h"
#include "common/option_help.h"
#include "common/redact.h"
#include "controller/cmd/tags.h"
#include "controller/cmd/when.h"

#define AT(member) .offset = offsetof(struct history_options, member), .set_offset = OPTION_NO_SET
#define WHEN       "an instant: 2d or 1w (ago), yesterday, 24.02.2026, 02/24/2026, 2026-02-24_10:00 ..."

/* Two options may have a name: each command takes one of them. */
static const struct option_row flags[] = {
    {.name = "from",
     .aliases = "",
     .type = OPTION_STRING,
     AT(from),
     .meta = "WHEN",
     .accepted = WHEN,
     .text = "runs that began at WHEN or later: 1h, 2d, 1w (ago), today, yesterday, HH:MM, "
             "DD.MM.YYYY, MM/DD/YYYY, YYYY-MM-DD, each also with HH:MM behind it"},
    {.name = "to",
     .aliases = "",
     .type = OPTION_STRING,
     AT(to),
     .meta = "WHEN",
     .accepted = WHEN,
     .text = "runs that began at WHEN at the latest; a date without a time is its end"},
    {.name = "name",
     .aliases = "",
     .type = OPTION_STRING,
     AT(name),
     .meta = "TEXT",
     .accepted = "a text",
     .text = "runs whose name has TEXT in it"},
    {.name = "description",
     .aliases = "",
     .type = OPTION_STRING,
     AT(results.description),
     .meta = "TEXT",
     .accepted = "a text",
     .text = "runs whose description has TEXT in it"},
    {.name = "tag",
     .aliases = "",
     .type = OPTION_STRING,
     AT(tag),
     .meta = "WORD",
     .accepted = "a tag",
     .text = "runs that have the tag"},
    {.name = "plan",
     .aliases = "",
     .type = OPTION_STRING,
     AT(plan),
     .meta = "ID",
     .accepted = "the id of a plan or its first digits",
     .text = "runs of that plan, the oldest first: how its figures went over time"},
    {.name = "latest",
     .aliases = "",
     .type = OPTION_U32,
     AT(latest),
     .min = 1,
     .max = 1000000,
     .meta = "N",
     .text = "the last N of them (default: all)"},
};

static const struct option_row note_flags[] = {
    {.name = "name",
     .aliases = "",
     .type = OPTION_STRING,
     AT(name),
     .meta = "TEXT",
     .accepted = "a text",
     .text = "call the run so from now on; \"\" = no name"},
    {.name = "description",
     .aliases = "",
     .type = OPTION_STRING,
     AT(results.description),
     .meta = "TEXT",
     .accepted = "a text",
     .text = "say what it is about; \"\" = nothing"},
    {.name = "tag",
     .aliases = "",
     .type = OPTION_LIST,
     AT(results.tags),
     .meta = "WORD",
     .accepted = "a word of letters, digits and . _ -",
     .text = "add a tag (repeatable)"},
    {.name = "untag",
     .aliases = "",
     .type = OPTION_LIST,
     AT(untag),
     .meta = "WORD",
     .accepted = "a tag",
     .text = "take a tag away (repeatable)"},
};

static const struct option_row common_flags[] = {
    RESULT_OPTION_DB(struct history_options, results),
    {.name = "json",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(json),
     .text = "print JSON (schema hammer.runs/1) instead of text"},
    {.name = "yes", .aliases = "-y", .type = OPTION_FLAG, AT(yes), .text = "do not ask"},
    {.name = "help", .aliases = "-h", .type = OPTION_FLAG, AT(help), .text = "print this help"},
};

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define ROWS_MAX    (N_OF(flags) + N_OF(note_flags) + N_OF(common_flags))

static const struct {
    const char *name, *usage, *text, *help, *common;
    const struct option_row *own;
    size_t n_own;
    size_t runs_min, runs_max;
} commands[HISTORY_COMMANDS] = {
    [HISTORY_LIST] = {"", "runs [flags]", "list the runs of the history",
                      "Lists the runs of the history, the latest first. Latencies are the "
                      "corrected ones.",
                      "db json help", flags, N_OF(flags), 0, 0},
    [HISTORY_SHOW] = {"show", "runs show [flags] RUN", "show all that is known of a run",
                      "Shows a run, its plan as it was given, where it ran, and its agents. RUN is "
                      "latest, an\nid, its first digits, or a name.",
                      "db json help", NULL, 0, 1, 1},
    [HISTORY_NOTE] = {"note", "runs note [flags] RUN", "change its name, description and tags",
                      "Changes what a run is called and what is said of it.", "db help", note_flags,
                      N_OF(note_flags), 1, 1},
    [HISTORY_RM] = {"rm", "runs rm [flags] RUN ...", "remove runs from the history",
                    "Removes runs and all that was recorded of them.", "db yes help", NULL, 0, 1,
                    1000},
};

bool history_command_find(const char *name, enum history_command *out)
{
    for (enum history_command c = HISTORY_SHOW; c < HISTORY_COMMANDS; c++) {
        if (strcmp(commands[c].name, name) != 0)
            continue;
        *out = c;
        return true;
    }
    return false;
}

static size_t add_rows(const struct option_group *g, struct option_row *rows, size_t n)
{
    const struct option_row *row;
    size_t at = 0;
    while (g->n > 0 && (row = option_group_next(g, &at)) != NULL)
        rows[n++] = *row;
    return n;
}

static size_t rows_of(enum history_command c, struct option_row rows[ROWS_MAX])
{
    const struct option_group own = {.rows = commands[c].own, .n = commands[c].n_own};
    const struct option_group common = {
        .rows = common_flags, .n = N_OF(common_flags), .names = commands[c].common};
    return add_rows(&common, rows, add_rows(&own, rows, 0));
}

size_t history_options_groups(struct option_group groups[])
{
    size_t n = 0;
    for (enum history_command c = HISTORY_LIST; c < HISTORY_COMMANDS; c++) {
        struct option_group g = {.title = commands[c].usage + strlen("runs "),
                                 .text = commands[c].text,
                                 .rows = commands[c].own,
                                 .n = commands[c].n_own,
                                 .word = commands[c].name};
        if (g.n > 0) {
            groups[n++] = g;
            g.title = g.text = NULL;
        }
        g.rows = common_flags;
        g.n = N_OF(common_flags);
        g.names = commands[c].common;
        groups[n++] = g;
    }
    return n;
}

void history_help(enum history_command c, FILE *out)
{
    struct option_row rows[ROWS_MAX];
    size_t n = rows_of(c, rows);
    fprintf(out, "usage: hammer-ctl %s\n\n%s\n\n", commands[c].usage, commands[c].help);
    option_help(rows, n, out);
    for (enum history_command k = HISTORY_SHOW; c == HISTORY_LIST && k < HISTORY_COMMANDS; k++)
        fprintf(out, "%s  %-24s %s\n", k == HISTORY_SHOW ? "\n" : "", commands[k].usage,
                commands[k].text);
    fprintf(out, "\nExit codes: 0 done, 1 bad input or no such run, 2 otherwise.\n");
}

/* --- parsing -------------------------------------------------------------------------------- */

static enum err check_count(enum history_command c, size_t n, const char *const *rest,
                            struct errmsg *msg)
{
    char shown[80];
    if (n < commands[c].runs_min)
        return errmsg_set(msg, ERR_INVALID, "the run is missing: accepted is hammer-ctl %s",
                          commands[c].usage);
    if (n <= commands[c].runs_max)
        return ERR_OK;
    redact_url(rest[commands[c].runs_max], shown, sizeof shown);
    return errmsg_set(msg, ERR_INVALID, "%s: one argument too many; accepted is hammer-ctl %s%s",
                      shown, commands[c].usage,
                      c == HISTORY_LIST ? ", or runs show, note or rm" : "");
}

static enum err read_when(const char *flag, const char *text, bool end, uint64_t now_ns,
                          uint64_t *ns, struct errmsg *msg)
{
    struct errmsg why;
    enum err e = text != NULL ? when_parse(text, end, now_ns, &when_local, ns, &why) : ERR_OK;
    return e == ERR_OK ? ERR_OK : errmsg_set(msg, e, "--%s %.480s", flag, why.text);
}

static enum err check_values(enum history_command c, uint64_t now_ns, struct history_options *o,
                             struct errmsg *msg)
{
    enum err e = read_when("from", o->from, false, now_ns, &o->from_ns, msg);
    if (e == ERR_OK)
        e = read_when("to", o->to, true, now_ns, &o->to_ns, msg);
    if (e == ERR_OK && o->to_ns != 0 && o->from_ns > o->to_ns)
        e = errmsg_set(msg, ERR_INVALID, "--from %.80s --to %.80s: the end is before the beginning",
                       o->from, o->to);
    if (e == ERR_OK && c == HISTORY_NOTE)
        e = result_options_check_words(&o->results, msg);
    if (e == ERR_OK)
        e = tags_check("untag", &o->untag, msg);
    if (e == ERR_OK && c == HISTORY_NOTE && o->name == NULL && o->results.description == NULL &&
        o->results.tags.n + o->untag.n == 0)
        e = errmsg_set(msg, ERR_INVALID,
                       "nothing to note: accepted is --name, --description, --tag or --untag");
    return e;
}

enum err history_options_parse(enum history_command c, int argc, char **argv, uint64_t now_ns,
                               struct history_options *o, struct errmsg *msg)
{
    static const struct option_row db = RESULT_OPTION_DB(struct history_options, results);
    struct option_row rows[ROWS_MAX];
    size_t n_rows = rows_of(c, rows);
    *o = (struct history_options){0};
    o->rest = mem_calloc((size_t)argc, sizeof *o->rest);
    o->runs = o->rest;
    enum err e = option_environment(&db, 1, o, msg);
    if (e == ERR_OK)
        e = option_parse(rows, n_rows, argc, argv, o, o->rest, (size_t)argc, &o->n_runs, msg);
    if (e == ERR_OK && !o->help)
        e = check_count(c, o->n_runs, o->rest, msg);
    if (e == ERR_OK && !o->help)
        e = check_values(c, now_ns, o, msg);
    return e;
}

void history_options_clear(struct history_options *o)
{
    option_clear(flags, N_OF(flags), o);
    option_clear(note_flags, N_OF(note_flags), o);
    option_clear(common_flags, N_OF(common_flags), o);
    mem_free(o->rest);
    *o = (struct history_options){0};
}

enum err history_open(const struct history_options *o, enum store_mode mode, struct store **out,
                      struct errmsg *msg)
{
    char path[PATH_MAX];
    *out = NULL;
    if (o->results.db == NULL && !store_default_path(path, sizeof path))
        return errmsg_set(msg, ERR_NOT_FOUND,
                          "there is no home folder, so no history: accepted is "
                          "--db FILE");
    return store_open(o->results.db != NULL ? o->results.db : path, mode, out, msg);
}
