/* SPDX-License-Identifier: MIT */
#include "controller/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"

#define WORD_SHOWN 200

static const struct cmd_entry *const entries[] = {
    &cmd_run,    &cmd_status,  &cmd_attach, &cmd_stop, &cmd_runs,    &cmd_report, &cmd_merge,
    &cmd_verify, &cmd_compare, &cmd_agents, &cmd_pki,  &cmd_version, &cmd_help};

static void overview(FILE *out)
{
    fprintf(out,
            "usage: hammer-ctl COMMAND [flags]\n\n"
            "Runs an open-loop HTTP load on one or many hammer-agents and prints one report.\n\n");
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        fprintf(out, "  %-22s %s\n", entries[i]->usage, entries[i]->text);
    fprintf(out, "\n  hammer-ctl run -r 2000 -d 10 -c 20 http://127.0.0.1:8080/\n"
                 "  hammer-ctl help run\n");
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

/* Whatever stands in a command's place is shown without the secrets that it may hold: a URL's, and
 * what is behind the name of a flag. */
static void show_word(const char *word, char *buf, size_t cap)
{
    size_t len = word[0] == '-' ? strcspn(word, "=: ") : strlen(word);
    char *name = mem_calloc(len + 1, 1);
    memcpy(name, word, len);
    redact_url(name, buf, cap);
    mem_free(name);
}

static int unknown(const char *word)
{
    char shown[WORD_SHOWN];
    show_word(word, shown, sizeof shown);
    if (word[0] == '-' || strstr(word, "://") != NULL) /* as wrk and oha are called */
        fprintf(stderr, "hammer-ctl: %s: no command; did you mean hammer-ctl run [flags] URL?\n",
                shown);
    else {
        fprintf(stderr, "hammer-ctl: %s: no such command; accepted are", shown);
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

/* What comes after the command goes with it: `help pki revoke` is `pki revoke --help`. */
static int exec_help(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        overview(stdout);
        return 0;
    }
    const struct cmd_entry *e = cmd_find(argv[1]);
    if (e == NULL)
        return unknown(argv[1]);
    if (!e->has_help) {
        printf("usage: hammer-ctl %s\n\n%s.\n", e->usage, e->text);
        return 0;
    }
    char flag[] = "--help", **words = mem_calloc((size_t)argc + 1, sizeof *words);
    memcpy(words, argv + 1, (size_t)(argc - 1) * sizeof *words);
    words[argc - 1] = flag;
    int code = e->exec(argc, words);
    mem_free(words);
    return code;
}

const struct cmd_entry cmd_version = {
    .name = "version", .usage = "version", .text = "print the version", .exec = exec_version};
const struct cmd_entry cmd_help = {.name = "help",
                                   .usage = "help [COMMAND]",
                                   .text = "print this overview, or what a command accepts",
                                   .exec = exec_help};
