/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "common/log.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/repeat.h"
#include "controller/cmd/run_options.h"
#include "controller/cmd/session.h"

static int run(struct run_options *o, struct inventory *inventory, struct errmsg *msg)
{
    if (repeat_check(o, msg) != ERR_OK)
        return EXIT_BAD_INPUT;
    if (o->results.repeat > 0)
        return repeat_run(o, inventory, msg);
    struct session_config cfg = {.options = o, .inventory = inventory};
    return session_run(&cfg, msg);
}

static int exec(int argc, char **argv)
{
    struct run_options options;
    struct inventory inventory = {0};
    struct errmsg msg = {{0}};
    int code = EXIT_BAD_INPUT;
    enum err e = run_options_parse(argc, argv, &options, &inventory, &msg);
    if (e == ERR_OK && options.help) {
        run_options_help();
        code = 0;
    } else if (e == ERR_OK) {
        log_open("hammer-ctl", options.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
        code = run(&options, &inventory, &msg);
    }
    if (msg.text[0] != '\0' && code != 0)
        fprintf(stderr, "hammer-ctl: %s\n", msg.text);
    inventory_clear(&inventory);
    run_options_clear(&options);
    return code;
}

const struct cmd_entry cmd_run = {.name = "run",
                                  .usage = "run [flags] URL",
                                  .text = "send a load and print the merged report",
                                  .has_help = true,
                                  .exec = exec,
                                  .options = run_options_groups};
