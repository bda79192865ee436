/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/history_options.h"
#include "controller/cmd/history_row.h"
#include "controller/cmd/tags.h"

/* --- list ----------------------------------------------------------------------------------- */

struct rows {
    struct history_row *rows;
    size_t n, cap;
};

static bool keep_row(void *arg, const struct recording *r)
{
    struct rows *all = arg;
    if (all->n == all->cap) {
        all->cap = all->cap > 0 ? 2 * all->cap : 64;
        all->rows = mem_realloc(all->rows, all->cap, sizeof *all->rows);
    }
    history_row_fill(&all->rows[all->n++], r);
    return true;
}

/* 0 = no terminal, no limit. */
static unsigned terminal_width(void)
{
    struct winsize w = {0};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

static enum err print_rows(const struct history_options *o, const struct rows *all,
                           struct errmsg *msg)
{
    if (o->json && !history_print_json(all->rows, all->n, stdout))
        return errmsg_set(msg, ERR_SYSTEM, "the list could not be written: %s", strerror(errno));
    if (!o->json && all->n == 0)
        printf("no runs: the history has none%s\n", o->from_ns + o->to_ns > 0 || o->name != NULL ||
                                                            o->results.description != NULL ||
                                                            o->tag != NULL || o->plan != NULL
                                                        ? " that are like this"
                                                        : "");
    else if (!o->json)
        history_print_table(all->rows, all->n, terminal_width(), o->plan != NULL, stdout);
    return ERR_OK;
}

static enum err list(const struct history_options *o, struct errmsg *msg)
{
    struct store *s = NULL;
    struct rows all = {0};
    const struct store_filter f = {.from_ns = o->from_ns,
                                   .to_ns = o->to_ns,
                                   .name = o->name,
                                   .description = o->results.description,
                                   .tag = o->tag,
                                   .plan = o->plan,
                                   .latest = o->latest};
    enum err e = history_open(o, STORE_READ, &s, msg);
    if (e == ERR_OK)
        e = store_list(s, &f, keep_row, &all, msg);
    if (e == ERR_NOT_FOUND && o->results.db == NULL)
        e = ERR_OK; /* nothing was ever kept */
    if (e == ERR_OK)
        e = print_rows(o, &all, msg);
    for (size_t i = 0; i < all.n; i++)
        history_row_clear(&all.rows[i]);
    mem_free(all.rows);
    store_close(s);
    return e;
}

/* --- one run -------------------------------------------------------------------------------- */

static enum err load(struct store *s, const char *word, struct recording **out, struct errmsg *msg)
{
    char id[33];
    enum err e = store_find(s, word, id, msg);
    return e == ERR_OK ? store_load(s, id, out, msg) : e;
}

static enum err show(const struct history_options *o, struct errmsg *msg)
{
    struct store *s = NULL;
    struct recording *r = NULL;
    enum err e = history_open(o, STORE_READ, &s, msg);
    if (e == ERR_OK)
        e = load(s, o->runs[0], &r, msg);
    if (e == ERR_OK && !o->json)
        history_print_run(r, stdout);
    else if (e == ERR_OK && !history_print_run_json(r, stdout))
        e = errmsg_set(msg, ERR_SYSTEM, "it could not be written: %s", strerror(errno));
    recording_free(r);
    store_close(s);
    return e;
}

static enum err change(const struct history_options *o, struct store *s, const struct recording *r,
                       struct errmsg *msg)
{
    char *tags = NULL;
    enum err e = ERR_OK;
    if (o->results.tags.n + o->untag.n > 0)
        e = tags_change(r->tags, &o->results.tags, &o->untag, &tags, msg);
    if (e == ERR_OK)
        e = store_annotate(s, r->run_id, o->name, o->results.description, tags, msg);
    mem_free(tags);
    return e;
}

static enum err note(const struct history_options *o, struct errmsg *msg)
{
    struct store *s = NULL;
    struct recording *r = NULL;
    if (o->name != NULL && strlen(o->name) >= sizeof r->name)
        return errmsg_set(msg, ERR_RANGE, "--name: accepted are at most %zu bytes",
                          sizeof r->name - 1);
    enum err e = history_open(o, STORE_READ, &s, msg); /* nothing is made where nothing is */
    store_close(s);
    s = NULL;
    if (e == ERR_OK)
        e = history_open(o, STORE_WRITE, &s, msg);
    if (e == ERR_OK)
        e = load(s, o->runs[0], &r, msg);
    if (e == ERR_OK)
        e = change(o, s, r, msg);
    recording_free(r);
    store_close(s);
    return e;
}

/* --- removing ------------------------------------------------------------------------------- */

static enum err check_removable(const struct recording *r, struct errmsg *msg)
{
    if (!history_running(r))
        return ERR_OK;
    return errmsg_set(msg, ERR_BUSY, "%.8s: it is running (pid %u); hammer-ctl stop %.8s ends it",
                      r->run_id, r->pid, r->run_id);
}

static enum err ask(const struct history_options *o, struct errmsg *msg)
{
    char answer[16] = "";
    if (o->yes)
        return ERR_OK;
    if (isatty(STDIN_FILENO) == 0)
        return errmsg_set(msg, ERR_INVALID, "nobody can be asked here: accepted is --yes");
    fprintf(stderr, "remove %zu run%s for good? [y/N] ", o->n_runs, o->n_runs == 1 ? "" : "s");
    if (fgets(answer, sizeof answer, stdin) == NULL || (answer[0] != 'y' && answer[0] != 'Y'))
        return errmsg_set(msg, ERR_REFUSED, "nothing was removed");
    return ERR_OK;
}

/* All are looked for before the first is removed. */
static enum err remove_found(const struct history_options *o, struct store *s, struct errmsg *msg)
{
    enum err e = ERR_OK;
    char(*ids)[33] = mem_calloc(o->n_runs, sizeof *ids);
    for (size_t i = 0; i < o->n_runs && e == ERR_OK; i++) {
        struct recording *r = NULL;
        e = load(s, o->runs[i], &r, msg);
        if (e == ERR_OK)
            e = check_removable(r, msg);
        if (e == ERR_OK)
            memcpy(ids[i], r->run_id, sizeof ids[i]);
        recording_free(r);
    }
    if (e == ERR_OK)
        e = ask(o, msg);
    for (size_t i = 0; i < o->n_runs && e == ERR_OK; i++) {
        e = store_remove(s, ids[i], msg);
        if (e == ERR_NOT_FOUND && i > 0)
            e = ERR_OK; /* named twice */
    }
    mem_free(ids);
    return e;
}

static enum err rm(const struct history_options *o, struct errmsg *msg)
{
    struct store *s = NULL;
    enum err e = history_open(o, STORE_READ, &s, msg);
    store_close(s);
    s = NULL;
    if (e == ERR_OK)
        e = history_open(o, STORE_WRITE, &s, msg);
    if (e == ERR_OK)
        e = remove_found(o, s, msg);
    store_close(s);
    return e;
}

/* --- all of them ---------------------------------------------------------------------------- */

static enum err (*const execs[HISTORY_COMMANDS])(const struct history_options *,
                                                 struct errmsg *) = {
    [HISTORY_LIST] = list, [HISTORY_SHOW] = show, [HISTORY_NOTE] = note, [HISTORY_RM] = rm};

static int exit_code(enum err e)
{
    if (e == ERR_OK)
        return 0;
    return e == ERR_SYSTEM || e == ERR_BUSY || e == ERR_CORRUPT || e == ERR_VERSION
               ? EXIT_COULD_NOT
               : EXIT_BAD_INPUT;
}

static int exec(int argc, char **argv)
{
    enum history_command c = HISTORY_LIST;
    struct history_options o;
    struct errmsg msg = {{0}};
    int skip = argc > 1 && history_command_find(argv[1], &c) ? 1 : 0;
    enum err e = history_options_parse(c, argc - skip, argv + skip, clock_wall_ns(), &o, &msg);
    log_open("hammer-ctl", LOG_LEVEL_WARN);
    if (e == ERR_OK && o.help)
        history_help(c, stdout);
    else if (e == ERR_OK)
        e = execs[c](&o, &msg);
    if (e == ERR_OK && (fflush(stdout) != 0 || ferror(stdout)))
        e = errmsg_set(&msg, ERR_SYSTEM, "the output could not be written: %s", strerror(errno));
    if (e != ERR_OK)
        fprintf(stderr, "hammer-ctl: %s\n", msg.text);
    history_options_clear(&o);
    return exit_code(e);
}

const struct cmd_entry cmd_runs = {.name = "runs",
                                   .usage = "runs [COMMAND] [flags]",
                                   .text = "list, show, describe and remove runs of the history",
                                   .has_help = true,
                                   .exec = exec,
                                   .options = history_options_groups,
                                   .words = "show note rm"};
