/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_OPTION_H
#define HAMMER_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/*
 * One declaration per option: a row feeds the argv parser, the environment, --help, the man page
 * and the completions. Rows point into the caller's struct by offset. Errors name the flag, the
 * value and the accepted form, made from the row:
 *   "--connections 0: accepted is a whole number from 1 to 1000000"
 */

enum option_type {
    OPTION_FLAG,     /* bool, takes no value */
    OPTION_U32,      /* uint32_t, min..max */
    OPTION_COUNT,    /* uint64_t through units_parse_count, min..max */
    OPTION_DURATION, /* uint64_t ns through units_parse_duration, min..max */
    OPTION_RATE,     /* struct rate through units_parse_rate */
    OPTION_STRING,   /* char *, owned by the struct (mem_strdup); the last one wins */
    OPTION_LIST,     /* struct option_list, repeatable */
    OPTION_CUSTOM    /* parse(row, value, target, msg) decides; its message begins with the value,
                        the flag is put in front. No message = made from the row */
};

/* Strings in the order given; each and the array are owned. */
struct option_list {
    char **items;
    size_t n;
};

struct option_row {
    const char *name;    /* long name without the dashes: "connections" */
    const char *aliases; /* space-separated further spellings, dashes included: "-c", "-m -X", "" */
    enum option_type type;
    size_t offset;        /* of the member in the target struct */
    size_t set_offset;    /* of a bool set to true when given; OPTION_NO_SET = none */
    size_t given_offset;  /* of a list that keeps what was given as option_given says; 0 = none */
    uint64_t min, max;    /* U32, COUNT; DURATION in ns; STRING: at least min bytes */
    uint64_t bare_unit;   /* DURATION: what a bare number means, ns */
    const char *accepted; /* CUSTOM, STRING: accepted form for error texts ("HOST:PORT") */
    const char *meta;     /* placeholder in --help: "N", "TIME" */
    const char *text;     /* one help sentence, default included */
    enum err (*parse)(const struct option_row *row, const char *value, void *target,
                      struct errmsg *msg);
};

#define OPTION_NO_SET SIZE_MAX

/* Rows that belong together: a heading of --help and of the man page. Borrowed. */
struct option_group {
    const char *title; /* "The load"; NULL = no heading */
    const char *text;  /* a sentence for the heading, NULL = none */
    const struct option_row *rows;
    size_t n;
    const char *names; /* space-separated names of the rows that count, NULL = all */
    const char *word;  /* they go with this first argument ("init"), "" = with none of the command's
                          words, NULL = with any */
    bool elsewhere;    /* the manual has the rows at another command and does not repeat them */
};

/* Parses argv[1..] into *target. `--name=value`, `--name value`, `-nvalue`, `-n value`, flags in
 * one word (`-qv`); `--` ends the options. A repeated option: the last one wins; a list grows, but
 * what the environment put into it is replaced. Positional arguments are put, in order, into `rest`
 * (pointers into argv). Unknown flags are ERR_INVALID and suggest the nearest known one. A value is
 * required even if it begins with '-' (so `-r -5` says that -5 is not acceptable). On error the
 * target may be half filled: free it as usual. */
enum err option_parse(const struct option_row *rows, size_t n_rows, int argc, char *const *argv,
                      void *target, const char **rest, size_t rest_max, size_t *n_rest,
                      struct errmsg *msg) MUST_CHECK;

/* Options from the environment, HAMMER_<NAME> with '-' as '_'; used before argv, so flags win. An
 * empty variable counts as absent; a flag's is 1 or 0; a list's is one item and replaces what a
 * file put there. */
enum err option_environment(const struct option_row *rows, size_t n_rows, void *target,
                            struct errmsg *msg) MUST_CHECK;

/* Sets one option; `source` ("--rate ", "HAMMER_RATE=") goes in front of the value in errors. A
 * list grows. */
enum err option_apply(const struct option_row *row, const char *source, const char *value,
                      void *target, struct errmsg *msg) MUST_CHECK;

/* The row of that long name, NULL = none. */
const struct option_row *option_find(const struct option_row *rows, size_t n_rows,
                                     const char *name);

/* "--NAME VALUE: accepted is FORM", made from the row; returns e. For checks after the parsing. */
enum err option_refuse(const struct option_row *row, const char *value, enum err e,
                       struct errmsg *msg);

/* Writes what an error would say is accepted, made from the row: "a whole number from 1 to 64". */
void option_accepted(const struct option_row *row, char *buf, size_t size);

/* Prints aligned help lines for the rows, at most 100 columns. */
void option_help(const struct option_row *rows, size_t n_rows, FILE *out);
/* The same for groups, each under its title, in one column; one without a title goes on with the
 * one before. */
void option_help_groups(const struct option_group *groups, size_t n, FILE *out);

/* Frees OPTION_STRING and OPTION_LIST members of the target and zeroes them. */
void option_clear(const struct option_row *rows, size_t n_rows, void *target);

/* What was given, as it was written, is kept in the list at given_offset, each option once, in the
 * order they came: "name=value", "name" of a flag. Lists are not: they are there anyway. Long
 * values are cut to OPTION_GIVEN_VALUE bytes, and "..." says so. Takes an item apart; *value is ""
 * of a flag. */
#define OPTION_GIVEN_NAME  48
#define OPTION_GIVEN_VALUE 200
#define OPTION_GIVEN_TEXT  256 /* of an item, at most */
void option_given(const char *item, char name[OPTION_GIVEN_NAME], const char **value);

void option_list_add(struct option_list *l, const char *item);
void option_list_clear(struct option_list *l);

#endif
