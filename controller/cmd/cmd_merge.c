/* SPDX-License-Identifier: MIT */
#include "controller/cmd/cmd.h"
#include "controller/cmd/stored_options.h"
#include "controller/cmd/stored_report.h"

static int exec(int argc, char **argv)
{
    return stored_options_exec(STORED_MERGE, argc, argv, stored_report);
}

static size_t options(struct option_group groups[])
{
    return stored_options_groups(STORED_MERGE, groups);
}

const struct cmd_entry cmd_merge = {.name = "merge",
                                    .usage = "merge [flags] RUN...",
                                    .text = "add stored runs up and print one report",
                                    .has_help = true,
                                    .exec = exec,
                                    .options = options};
