/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/host.h"
#include "common/mem.h"
#include "controller/cmd/asking.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/runs_options.h"

#define EXIT_INTERRUPTED 130

/* Does nothing run there any more? Agents answer when the end is under way. */
static bool say(const struct inventory_agent *at, const struct survey_agent *a)
{
    const struct msg_info *i = &a->info;
    bool runs = i->state != AGENT_IDLE && i->state != AGENT_HELD && i->state != AGENT_DRAINING &&
                i->state != AGENT_ENDED;
    if (!a->reached)
        printf("%s: not stopped: %s\n", at->address, a->problem);
    else if (runs)
        printf("%s: not stopped: %s (run %.8s of %s)\n", at->address, i->problem, i->run,
               i->holder);
    else if (i->problem[0] != '\0')
        printf("%s: nothing to stop: %s\n", at->address, i->problem);
    else
        printf("%s: run %.8s of %s is stopped\n", at->address, i->run, i->holder);
    return a->reached && !runs;
}

static int stop_all(const struct runs_options *o, const struct inventory *inv, struct errmsg *msg)
{
    struct msg_halt halt = {.reason = ""};
    struct survey_agent *agents = mem_calloc(inv->n + 1, sizeof *agents);
    snprintf(halt.run, sizeof halt.run, "%s", o->which);
    host_who(halt.controller, sizeof halt.controller);
    enum err e = asking_run(inv, &o->run.tls, &halt, agents, msg);
    bool all = e == ERR_OK;
    for (size_t i = 0; i < inv->n && (e == ERR_OK || e == ERR_CLOSED); i++) {
        msg_sanitise(agents[i].info.holder);
        msg_sanitise(agents[i].info.problem);
        all = say(&inv->agents[i], &agents[i]) && all;
    }
    mem_free(agents);
    if (e == ERR_CLOSED)
        return EXIT_INTERRUPTED;
    return all && fflush(stdout) == 0 ? 0 : EXIT_COULD_NOT;
}

/* The agents that are named; else those that the run's journal names. */
static int stop(struct runs_options *o, struct errmsg *msg)
{
    struct journal_list l = {0};
    struct inventory inv = {0};
    size_t index = SIZE_MAX;
    int code = EXIT_BAD_INPUT;
    enum err e = o->run.agents_set ? run_options_agents(&o->run, &inv, msg)
                                   : runs_options_find(o, &l, &index, msg);
    if (e == ERR_OK && index != SIZE_MAX) {
        memcpy(o->which, l.entries[index].name, sizeof o->which);
        if (l.entries[index].err != ERR_OK)
            e = errmsg_set(msg, l.entries[index].err, "run %.8s: its journal cannot be read",
                           o->which);
    } else if (e == ERR_NOT_FOUND && !o->run.agents_set) {
        struct errmsg why = *msg;
        errmsg_set(msg, e, "%.400s; from another machine: --agents LIST", why.text);
    }
    if (e == ERR_OK)
        code = stop_all(o, index != SIZE_MAX ? &l.entries[index].record.inventory : &inv, msg);
    inventory_clear(&inv);
    journal_list_clear(&l);
    return code;
}

static int exec(int argc, char **argv)
{
    return runs_options_exec(RUNS_STOP, argc, argv, stop);
}

static size_t options(struct option_group groups[])
{
    return runs_options_groups(RUNS_STOP, groups);
}

const struct cmd_entry cmd_stop = {.name = "stop",
                                   .usage = "stop [flags] [RUN]",
                                   .text = "end a run, from any machine",
                                   .has_help = true,
                                   .exec = exec,
                                   .options = options};
