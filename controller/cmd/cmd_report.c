/* SPDX-License-Identifier: MIT */
#include "controller/cmd/cmd.h"
#include "controller/cmd/stored_options.h"
#include "controller/cmd/stored_report.h"

static int exec(int argc, char **argv)
{
    return stored_options_exec(STORED_REPORT, argc, argv, stored_report);
}

static size_t options(struct option_group groups[])
{
    return stored_options_groups(STORED_REPORT, groups);
}

const struct cmd_entry cmd_report = {.name = "report",
                                     .usage = "report [flags] RUN|FILE",
                                     .text = "print the report of a stored run, or of a part of it",
                                     .has_help = true,
                                     .exec = exec,
                                     .options = options};
