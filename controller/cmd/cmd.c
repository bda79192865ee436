/* SPDX-License-Identifier: MIT */
#include "controller/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

static const struct cmd_entry *const entries[] = {&cmd_run, &cmd_version, &cmd_help};

static void overview(FILE *out)
{
    fprintf(out,
            "usage: hammer-ctl COMMAND [flags]\n\n"
            "Runs an open-loop HTTP load on one or many hammer-agents and prints one report.\n\n");
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        fprintf(out, "  %-22s %s\n", entries[i]->usage, entries[i]->text);
    fprintf(out, "\n  hammer-ctl run -r 2000 -d 10 -c 20 http://127.0.0.1:8080/\n"
                 "  hammer-ctl run --help\n");
}

const struct cmd_entry *const *cmd_list(size_t *n)
{
    *n = sizeof entries / sizeof entries[0];
    return entries;
}

const struct cmd_entry *cmd_find(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i]->name, name) == 0)
            return entries[i];
    return NULL;
}

static const struct cmd_entry *by_flag(const char *name)
{
    if (strcmp(name, "--version") == 0)
        return &cmd_version;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return &cmd_help;
    return NULL;
}

static int unknown(const char *word)
{
    if (word[0] == '-' || strstr(word, "://") != NULL) /* as wrk and oha are called */
        fprintf(stderr, "hammer-ctl: %s: no command; did you mean hammer-ctl run [flags] URL?\n",
                word);
    else {
        fprintf(stderr, "hammer-ctl: %s: no such command; accepted are", word);
        for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
            fprintf(stderr, "%s %s", i == 0 ? "" : ",", entries[i]->name);
        fprintf(stderr, "\n");
    }
    return EXIT_BAD_INPUT;
}

int cmd_main(int argc, char **argv)
{
    if (argc < 2) {
        overview(stderr);
        return EXIT_BAD_INPUT;
    }
    const struct cmd_entry *e = by_flag(argv[1]);
    if (e == NULL)
        e = cmd_find(argv[1]);
    return e != NULL ? e->exec(argc - 1, argv + 1) : unknown(argv[1]);
}

static int exec_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("hammer-ctl %s\n", HAMMER_VERSION);
    return 0;
}

static int exec_help(int argc, char **argv)
{
    const struct cmd_entry *e = argc > 1 ? cmd_find(argv[1]) : NULL;
    if (e != NULL && e->options != NULL) {
        char *words[] = {argv[1], (char[]){"--help"}, NULL};
        return e->exec(2, words);
    }
    overview(stdout);
    return 0;
}

const struct cmd_entry cmd_version = {
    .name = "version", .usage = "version", .text = "print the version", .exec = exec_version};
const struct cmd_entry cmd_help = {.name = "help",
                                   .usage = "help [COMMAND]",
                                   .text = "print this overview, or a command's flags",
                                   .exec = exec_help};
