/* SPDX-License-Identifier: MIT */
#include "controller/cmd/runs_options.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/option_help.h"
#include "common/redact.h"
#include "controller/cmd/cmd.h"

_Static_assert(offsetof(struct runs_options, run) == 0, "run's rows use the same offsets");

#define ROWS_MAX   40
#define WORD_SHOWN 200
#define TLS        "tls-ca tls-cert tls-key tls-crl "

static const struct {
    const char *names; /* those of run's flags */
    const char *usage;
    const char *help, *codes;
} commands[] = {
    [RUNS_ATTACH] = {"wait-agents format json output latency metrics verbose quiet " TLS
                     "debug help",
                     "attach [flags] RUN",
                     "Takes over the run of a hammer-ctl that was killed: its agents go on for the "
                     "lease,\nthen stop by themselves and keep their results for 10 minutes. RUN "
                     "is the run's id\nor its first digits; hammer-ctl status lists them.",
                     "those of run; 3 also when agents had stopped before it was taken over"},
    [RUNS_STOP] = {"agents inventory insecure-agents " TLS "debug help", "stop [flags] [RUN]",
                   "Ends a run at once, whoever holds its agents: RUN of this user, on any of its "
                   "agents;\nwith --agents, from any machine that may connect, RUN or whatever "
                   "runs there. The\nrun's own hammer-ctl then makes its report.",
                   "0 nothing runs there any more, 1 bad input, 2 otherwise"},
    [RUNS_STATUS] = {TLS "debug help", "status [flags] [RUN]",
                     "Shows the runs of this user on this machine that are not over, and asks "
                     "their agents\nhow they are.",
                     "0 every agent was reached, 1 bad input, 2 otherwise"},
};

size_t runs_options_groups(enum runs_command command, struct option_group groups[])
{
    groups[0] = run_options_own();
    groups[0].names = commands[command].names;
    return 1;
}

static size_t list_rows(enum runs_command command, struct option_row rows[ROWS_MAX])
{
    struct option_group group;
    const struct option_row *row;
    size_t n = 0;
    runs_options_groups(command, &group);
    for (size_t at = 0; n < ROWS_MAX && (row = option_group_next(&group, &at)) != NULL;)
        rows[n++] = *row;
    return n;
}

static void print_help(enum runs_command command)
{
    struct option_row rows[ROWS_MAX];
    printf("usage: hammer-ctl %s\n\n%s\n\n", commands[command].usage, commands[command].help);
    option_help(rows, list_rows(command, rows), stdout);
    printf("\nExit codes: %s.\n", commands[command].codes);
}

/* --- parsing -------------------------------------------------------------------------------- */

static enum err take_which(struct runs_options *o, const char *word, struct errmsg *msg)
{
    char shown[WORD_SHOWN];
    size_t len = strspn(word, "0123456789abcdefABCDEF");
    redact_url(word, shown, sizeof shown);
    if (len == 0 || len >= sizeof o->which || word[len] != '\0')
        return errmsg_set(msg, ERR_INVALID,
                          "%s: accepted is the id of a run or its first digits (0-9, a-f)", shown);
    for (size_t i = 0; i <= len; i++)
        o->which[i] = (char)tolower((unsigned char)word[i]);
    return ERR_OK;
}

static enum err check(enum runs_command command, struct runs_options *o, const char *const *rest,
                      size_t n_rest, struct errmsg *msg)
{
    char shown[WORD_SHOWN];
    if (n_rest > 1) {
        redact_url(rest[1], shown, sizeof shown);
        return errmsg_set(msg, ERR_INVALID, "%s: accepted is hammer-ctl %s", shown,
                          commands[command].usage);
    }
    if (n_rest == 1) {
        enum err e = take_which(o, rest[0], msg);
        if (e != ERR_OK)
            return e;
    } else if (command == RUNS_ATTACH) {
        return errmsg_set(msg, ERR_INVALID,
                          "the run is missing: accepted is hammer-ctl attach [flags] RUN; "
                          "hammer-ctl status lists them");
    } else if (command == RUNS_STOP && !o->run.agents_set) {
        return errmsg_set(
            msg, ERR_INVALID,
            "nothing to stop: accepted is hammer-ctl stop RUN, or stop --agents LIST");
    }
    enum err e = run_options_metrics(&o->run, msg);
    return e == ERR_OK ? run_options_check_outputs(&o->run, msg) : e;
}

static enum err parse(enum runs_command command, int argc, char **argv, struct runs_options *o,
                      struct errmsg *msg)
{
    struct option_row rows[ROWS_MAX];
    size_t n = list_rows(command, rows), n_rest = 0;
    const char **rest = mem_calloc(argc > 0 ? (size_t)argc : 1, sizeof *rest);
    *o = (struct runs_options){.run = {.local = 1}};
    plan_defaults(&o->run.plan);
    enum err e = run_options_words(rows, n, argc, argv, &o->run, rest, &n_rest, msg);
    if (e == ERR_OK && !o->run.help)
        e = check(command, o, rest, n_rest, msg);
    mem_free(rest);
    return e;
}

int runs_options_exec(enum runs_command command, int argc, char **argv,
                      int (*fn)(struct runs_options *o, struct errmsg *msg))
{
    struct runs_options o;
    struct errmsg msg = {{0}};
    int code = EXIT_BAD_INPUT;
    enum err e = parse(command, argc, argv, &o, &msg);
    if (e == ERR_OK && o.run.help) {
        print_help(command);
        code = 0;
    } else if (e == ERR_OK) {
        log_open("hammer-ctl", o.run.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
        code = fn(&o, &msg);
    }
    if (msg.text[0] != '\0' && code != 0)
        fprintf(stderr, "hammer-ctl: %s\n", msg.text);
    run_options_clear(&o.run);
    return code;
}

/* --- journals ------------------------------------------------------------------------------- */

void runs_options_folder(char *buf, size_t cap)
{
    if (!journal_folder(buf, cap))
        buf[0] = '\0';
}

enum err runs_options_find(const struct runs_options *o, struct journal_list *l, size_t *index,
                           struct errmsg *msg)
{
    char folder[PATH_MAX];
    *index = SIZE_MAX;
    runs_options_folder(folder, sizeof folder);
    journal_list_read(folder, l);
    return o->which[0] != '\0' ? journal_list_find(l, o->which, index, msg) : ERR_OK;
}
