/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_OPTIONS_H
#define HAMMER_CONTROLLER_PKI_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/option.h"
#include "controller/pki/pki.h"

/* Flags of `hammer-ctl pki`: each of its commands accepts some of them. They are not read from the
 * environment: HAMMER_FORCE and HAMMER_OUTPUT would mean `run`'s. */

enum pki_command {
    PKI_CMD_INIT,
    PKI_CMD_AGENT,
    PKI_CMD_CONTROLLER,
    PKI_CMD_REVOKE,
    PKI_CMD_SHOW,
    PKI_CMD_COUNT
};

struct pki_options {
    char *dir_given, *out, *role_text;
    uint32_t days;
    struct option_list dns;
    bool force, json, help;
    char dir[PATH_MAX];        /* the folder meant */
    const enum pki_role *role; /* --role, NULL = none */
    const char *name;          /* NAME, or NAME|SERIAL; points into argv */
};

/* false = no such command. */
bool pki_command_find(const char *name, enum pki_command *out);
const char *pki_command_name(enum pki_command c);

/* argv[0] is the command's name. */
enum err pki_options_parse(enum pki_command c, int argc, char **argv, struct pki_options *o,
                           struct errmsg *msg) MUST_CHECK;
void pki_options_clear(struct pki_options *o);

/* The flags of each command, a group each (PKI_CMD_COUNT). */
size_t pki_options_groups(struct option_group groups[]);

/* Of all commands / of one. */
void pki_help_overview(FILE *out);
void pki_help_command(enum pki_command c, FILE *out);

#endif
