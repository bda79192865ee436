/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/mem.h"
#include "controller/cmd/asking.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/runs_options.h"

#define EXIT_INTERRUPTED 130

static void print_run(const struct journal_entry *e)
{
    char started[24], away[UNITS_TEXT];
    time_t at = (time_t)(e->record.wall_ns / NS_PER_SEC);
    struct tm tm;
    if (e->err != ERR_OK) {
        printf("%.8s: its journal cannot be read (%s)\n", e->name, err_str(e->err));
        return;
    }
    strftime(started, sizeof started, "%F %T", gmtime_r(&at, &tm));
    printf("%.8s%s%s, started %s UTC: ", e->name, e->record.name[0] != '\0' ? " " : "",
           e->record.name, started);
    if (e->running)
        printf("hammer-ctl runs it (pid %" PRIu32 ")\n", e->record.pid);
    else if (e->record.t0_ns == 0)
        printf("its hammer-ctl ended before anything was sent\n");
    else
        printf("its hammer-ctl has been gone for %s; hammer-ctl attach %.8s finishes the report\n",
               units_format_duration(clock_elapsed(e->touched_wall_ns, clock_wall_ns()) /
                                         NS_PER_SEC * NS_PER_SEC,
                                     away),
               e->name);
}

static void print_agent(const struct journal_entry *e, const struct inventory_agent *at,
                        const struct survey_agent *a)
{
    const struct msg_info *i = &a->info;
    if (!a->reached)
        printf("  %s: not reached: %s\n", at->address, a->problem);
    else if (strcmp(i->run, e->name) != 0)
        printf("  %s: no longer has the run (%s)\n", at->address, agent_state_name(i->state));
    else if (i->orphan)
        printf("  %s: stopped by itself, keeps its results\n", at->address);
    else
        printf("  %s: %s, lease ends in %" PRIu64 " s unless hammer-ctl is there\n", at->address,
               agent_state_name(i->state), (i->lease_left_ms + 999) / 1000);
}

/* One run's agents after the other's: each within its deadlines. */
static enum err ask(const struct runs_options *o, const struct journal_entry *e, bool *all,
                    struct errmsg *msg)
{
    const struct inventory *inv = &e->record.inventory;
    struct survey_agent *agents = mem_calloc(inv->n + 1, sizeof *agents);
    enum err err = inv->n > 0 ? asking_run(inv, &o->run.tls, NULL, agents, msg) : ERR_OK;
    for (size_t i = 0; i < inv->n && err == ERR_OK; i++) {
        print_agent(e, &inv->agents[i], &agents[i]);
        *all = *all && agents[i].reached;
    }
    mem_free(agents);
    return err;
}

static int status(struct runs_options *o, struct errmsg *msg)
{
    struct journal_list l;
    size_t index;
    bool all = true;
    enum err e = runs_options_find(o, &l, &index, msg);
    int code = e == ERR_OK ? 0 : EXIT_BAD_INPUT;
    if (e == ERR_OK && l.n == 0)
        printf("no runs: none of this user's is under way here or waits to be taken over\n");
    for (size_t i = 0; i < l.n && e == ERR_OK; i++) {
        if (index != SIZE_MAX && index != i)
            continue;
        print_run(&l.entries[i]);
        e = ask(o, &l.entries[i], &all, msg);
        if (e != ERR_OK)
            code = e == ERR_CLOSED ? EXIT_INTERRUPTED : EXIT_COULD_NOT;
    }
    journal_list_clear(&l);
    if (code == 0 && (!all || fflush(stdout) != 0))
        code = EXIT_COULD_NOT;
    return code;
}

static int exec(int argc, char **argv)
{
    return runs_options_exec(RUNS_STATUS, argc, argv, status);
}

static size_t options(struct option_group groups[])
{
    return runs_options_groups(RUNS_STATUS, groups);
}

const struct cmd_entry cmd_status = {.name = "status",
                                     .usage = "status [flags] [RUN]",
                                     .text = "show the runs that are not over, and their agents",
                                     .has_help = true,
                                     .exec = exec,
                                     .options = options};
