/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "controller/cmd/cmd.h"
#include "controller/cmd/stored_options.h"
#include "controller/store/verify.h"

#define EXIT_DOES_NOT_HOLD 3

struct shown {
    const struct stored_options *options;
    size_t failed, checks;
};

static void show(void *arg, bool holds, const char *text)
{
    struct shown *s = arg;
    s->checks++;
    s->failed += !holds;
    if (!holds || !s->options->quiet)
        printf("  %-6s  %s\n", holds ? "ok" : "FAILED", text);
}

static int verify(const struct stored_options *o, struct errmsg *msg)
{
    struct shown all = {.options = o};
    for (size_t i = 0; i < o->n_words; i++) {
        if (o->n_words > 1)
            printf("%s\n", o->words[i]);
        enum err e = verify_word(o->words[i], o->results.db, show, &all, msg);
        if (e != ERR_OK)
            return e == ERR_INVALID || e == ERR_NOT_FOUND ? EXIT_BAD_INPUT : EXIT_COULD_NOT;
    }
    if (!o->quiet || all.failed > 0)
        printf("%zu of %zu checks hold\n", all.checks - all.failed, all.checks);
    bool written = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (!written) /* a check that nobody could read has shown nothing */
        (void)errmsg_set(msg, ERR_SYSTEM, "the output could not be written: %s", strerror(errno));
    if (all.failed > 0)
        return EXIT_DOES_NOT_HOLD;
    return written ? 0 : EXIT_COULD_NOT;
}

static int exec(int argc, char **argv)
{
    return stored_options_exec(STORED_VERIFY, argc, argv, verify);
}

static size_t options(struct option_group groups[])
{
    return stored_options_groups(STORED_VERIFY, groups);
}

const struct cmd_entry cmd_verify = {.name = "verify",
                                     .usage = "verify [flags] RUN...",
                                     .text =
                                         "work the figures of stored runs out again, and compare",
                                     .has_help = true,
                                     .exec = exec,
                                     .options = options};
