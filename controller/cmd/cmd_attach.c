/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>

#include "common/host.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/runs_options.h"
#include "controller/cmd/session.h"

/* What `run` would have found on its command line. */
static enum err take_plan(struct run_options *o, const struct journal_run *record,
                          struct errmsg *msg)
{
    plan_clear(&o->plan);
    enum err e = plan_decode(record->plan.data, record->plan.len, &o->plan, msg);
    if (e == ERR_OK && o->plan.headers.n > 0)
        host_no_core_files();
    return e;
}

static int take_over(struct run_options *o, const char *folder, const char *name,
                     struct errmsg *msg)
{
    struct journal *journal;
    struct journal_run record;
    int code = EXIT_COULD_NOT;
    enum err e = journal_take(folder, name, &journal, &record, msg);
    if (e == ERR_OK && record.t0_ns == 0) {
        e = errmsg_set(msg, ERR_STATE,
                       "run %.8s had not been started when its hammer-ctl ended: nothing was sent, "
                       "there is nothing to report",
                       name);
        journal_close(journal, false);
    } else if (e == ERR_OK) {
        e = take_plan(o, &record, msg);
        if (e != ERR_OK)
            journal_close(journal, true);
    }
    if (e == ERR_OK) {
        struct session_config cfg = {
            .options = o, .inventory = &record.inventory, .journal = journal, .record = &record};
        code = session_run(&cfg, msg);
    }
    journal_run_clear(&record);
    return code;
}

static int attach(struct runs_options *o, struct errmsg *msg)
{
    char folder[PATH_MAX];
    struct journal_list l;
    size_t index;
    int code = EXIT_BAD_INPUT;
    runs_options_folder(folder, sizeof folder);
    if (runs_options_find(o, &l, &index, msg) == ERR_OK)
        code = take_over(&o->run, folder, l.entries[index].name, msg);
    journal_list_clear(&l);
    return code;
}

static int exec(int argc, char **argv)
{
    return runs_options_exec(RUNS_ATTACH, argc, argv, attach);
}

static size_t options(struct option_group groups[])
{
    return runs_options_groups(RUNS_ATTACH, groups);
}

const struct cmd_entry cmd_attach = {.name = "attach",
                                     .usage = "attach [flags] RUN",
                                     .text = "take over the run of a hammer-ctl that was killed",
                                     .has_help = true,
                                     .exec = exec,
                                     .options = options};
