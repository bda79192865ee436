/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_DOCS_PROGRAM_H
#define HAMMER_DOCS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/option.h"
#include "common/option_help.h"
#include "controller/cmd/cmd.h"

/*
 * What a program's command line consists of, taken from the tables its parser and its --help use.
 * The manual pages and the completions are written from this and from nothing else. Used while
 * building only.
 */

#define DOC_COMMANDS_MAX 32

/* The program itself (name NULL), one of its commands ("pki"), or one of a command's own
 * ("pki agent", word "agent"). All borrowed from the programs' tables. */
struct doc_command {
    const char *name;
    char word[OPTION_WORD]; /* "" = none */
    const char *usage;      /* without the program's name: "run [flags] URL" */
    const char *text;
    const char *words; /* of the command without a word: what that may be; NULL = anything */
    struct option_group groups[CMD_GROUPS_MAX];
    size_t n_groups;
};

/* Where a walk over a command's rows is; begins zeroed. */
struct doc_walk {
    size_t group, at;
};

/* commands[0] is the program itself. */
struct doc_program {
    const char *name;
    struct doc_command commands[DOC_COMMANDS_MAX];
    size_t n_commands;
};

/* "hammer-ctl" or "hammer-agent"; false = no such program. */
bool doc_program_init(struct doc_program *p, const char *name);
/* The command itself, without a word; NULL when there is none. */
const struct doc_command *doc_command_find(const struct doc_program *p, const char *name);

/* Walks all rows that a command takes, those of its word included; NULL = no more. */
const struct option_row *doc_next_row(const struct doc_command *c, struct doc_walk *w);
/* Walks all spellings of an option, dashes included, letters first: start with *at = 0; false = no
 * more. */
bool doc_next_spelling(const struct option_row *row, size_t *at, char *buf, size_t size);
/* Does the option take a file name? */
bool doc_takes_file(const struct option_row *row);

/* Writes text with a backslash in front of every character of `special`. */
void doc_put_escaped(FILE *out, const char *text, const char *special);

/* One file each. */
bool doc_write_man(const char *template_path, FILE *out);
void doc_write_bash(const struct doc_program *p, FILE *out);
void doc_write_zsh(const struct doc_program *p, FILE *out);
void doc_write_fish(const struct doc_program *p, FILE *out);

#endif
