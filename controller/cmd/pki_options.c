/* SPDX-License-Identifier: MIT */
#include "controller/cmd/pki_options.h"

#include <string.h>

#include "common/mem.h"
#include "common/option_help.h"
#include "common/redact.h"

#define AT(member) .offset = offsetof(struct pki_options, member), .set_offset = OPTION_NO_SET
#define COMMON     "dir help"
#define ISSUING    " dns days out force"

static const struct {
    const char *name, *usage, *text;
    const char *argument; /* what the one argument is called, NULL = there is none */
    const char *flags;    /* names of the rows below that it accepts */
    const char *more;     /* for its own help */
} commands[PKI_CMD_COUNT] = {
    [PKI_CMD_INIT] = {"init", "init", "make the CA that signs all other certificates (10 years)",
                      NULL, COMMON,
                      "Makes the folder, a P-256 key that only you can read, the CA's certificate, "
                      "and an empty\nlist of revoked certificates. A CA is never replaced.\n"},
    [PKI_CMD_AGENT] = {"agent", "agent NAME", "issue a certificate for an agent's host", "NAME",
                       COMMON ISSUING,
                       "NAME is a DNS host name; --agents NAME@HOST checks for it. To renew, issue "
                       "again with\n--force: the old certificate stays good until its end or until "
                       "it is revoked.\n"},
    [PKI_CMD_CONTROLLER] = {"controller", "controller NAME",
                            "issue a certificate for whoever runs hammer-ctl", "NAME",
                            COMMON ISSUING,
                            "The first one becomes controller.crt, which hammer-ctl run shows to "
                            "agents. To renew, issue\nagain with --force: the old certificate "
                            "stays good until its end or until it is revoked.\n"},
    [PKI_CMD_REVOKE] = {"revoke", "revoke NAME|SERIAL",
                        "end a certificate before its time (all that NAME was issued)",
                        "NAME|SERIAL", COMMON " role",
                        "Adds the certificates to crl.pem. Agents refuse them once they have the "
                        "new list.\n"},
    [PKI_CMD_SHOW] = {"show", "show", "list the certificates", NULL, COMMON " json",
                      "State: valid, expired or revoked. A certificate without a file was replaced "
                      "by a later one.\n"},
};

static const struct option_row flags[] = {
    {.name = "dir",
     .aliases = "",
     .type = OPTION_STRING,
     AT(dir_given),
     .meta = "DIR",
     .accepted = "the name of a folder",
     .text = "the CA's folder (default: $XDG_CONFIG_HOME/hammer/pki, else ~/.config/hammer/pki)"},
    {.name = "dns",
     .aliases = "",
     .type = OPTION_LIST,
     AT(dns),
     .meta = "NAME",
     .accepted = "a DNS host name",
     .text = "a further DNS name of the host (repeatable; a renewal without it keeps the names)"},
    {.name = "days",
     .aliases = "",
     .type = OPTION_U32,
     AT(days),
     .min = 1,
     .max = PKI_DAYS_MAX,
     .meta = "N",
     .text = "how long it is good (default: 90, at most 825)"},
    {.name = "out",
     .aliases = "",
     .type = OPTION_STRING,
     AT(out),
     .meta = "DIR",
     .accepted = "the name of a folder",
     .text = "also make a folder with all the files that the other host needs"},
    {.name = "force",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(force),
     .text = "replace the certificate and key of that name, and the files in --out"},
    {.name = "role",
     .aliases = "",
     .type = OPTION_STRING,
     AT(role_text),
     .meta = "ROLE",
     .accepted = "agent or controller",
     .text = "agent or controller, where both have the name"},
    {.name = "json",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(json),
     .text = "as JSON (schema hammer.pki/1)"},
    {.name = "help",
     .aliases = "-h",
     .type = OPTION_FLAG,
     AT(help),
     .text = "print this help and exit"},
};

#define FLAGS_N (sizeof flags / sizeof flags[0])

bool pki_command_find(const char *name, enum pki_command *out)
{
    for (enum pki_command c = PKI_CMD_INIT; c < PKI_CMD_COUNT; c++)
        if (strcmp(commands[c].name, name) == 0) {
            *out = c;
            return true;
        }
    return false;
}

const char *pki_command_name(enum pki_command c)
{
    return commands[c].name;
}

static size_t rows_of(enum pki_command c, struct option_row rows[FLAGS_N])
{
    struct option_group g = {.rows = flags, .n = FLAGS_N, .names = commands[c].flags};
    const struct option_row *row;
    size_t n = 0, at = 0;
    while ((row = option_group_next(&g, &at)) != NULL)
        rows[n++] = *row;
    return n;
}

size_t pki_options_groups(struct option_group groups[])
{
    for (enum pki_command c = PKI_CMD_INIT; c < PKI_CMD_COUNT; c++)
        groups[c] = (struct option_group){.title = commands[c].usage,
                                          .text = commands[c].text,
                                          .rows = flags,
                                          .n = FLAGS_N,
                                          .names = commands[c].flags,
                                          .word = commands[c].name};
    return PKI_CMD_COUNT;
}

static enum err check_argument(enum pki_command c, const char *const *rest, size_t n,
                               struct pki_options *o, struct errmsg *msg)
{
    const char *argument = commands[c].argument;
    size_t wanted = argument != NULL ? 1 : 0;
    if (n < wanted)
        return errmsg_set(msg, ERR_INVALID, "%s is missing: accepted is hammer-ctl pki %s [flags]",
                          argument, commands[c].usage);
    if (n > wanted) {
        char shown[80];
        redact_url(rest[wanted], shown, sizeof shown);
        return errmsg_set(msg, ERR_INVALID,
                          "%s: one argument too many; accepted is hammer-ctl pki %s [flags]", shown,
                          commands[c].usage);
    }
    o->name = wanted > 0 ? rest[0] : NULL;
    return ERR_OK;
}

static enum err check_values(struct pki_options *o, struct errmsg *msg)
{
    static const enum pki_role roles[] = {PKI_AGENT, PKI_CONTROLLER};
    for (size_t i = 0; i < 2 && o->role_text != NULL; i++)
        if (strcmp(o->role_text, pki_role_name(roles[i])) == 0)
            o->role = &roles[i];
    if (o->role_text != NULL && o->role == NULL)
        return errmsg_set(msg, ERR_INVALID, "--role %.80s: accepted is agent or controller",
                          o->role_text);
    if (o->dir_given == NULL)
        return pki_default_dir(o->dir, msg);
    if (strlen(o->dir_given) >= sizeof o->dir)
        return errmsg_set(msg, ERR_INVALID, "--dir: accepted is the name of a folder");
    memcpy(o->dir, o->dir_given, strlen(o->dir_given) + 1);
    return ERR_OK;
}

enum err pki_options_parse(enum pki_command c, int argc, char **argv, struct pki_options *o,
                           struct errmsg *msg)
{
    struct option_row rows[FLAGS_N];
    size_t n_rows = rows_of(c, rows), n_rest = 0, words = (size_t)argc;
    const char **rest = mem_calloc(words, sizeof *rest);
    *o = (struct pki_options){.days = PKI_DAYS_DEFAULT};
    enum err e = option_parse(rows, n_rows, argc, argv, o, rest, words, &n_rest, msg);
    if (e == ERR_OK && !o->help)
        e = check_argument(c, rest, n_rest, o, msg);
    if (e == ERR_OK && !o->help)
        e = check_values(o, msg);
    mem_free(rest);
    return e;
}

void pki_options_clear(struct pki_options *o)
{
    option_clear(flags, FLAGS_N, o);
}

void pki_help_overview(FILE *out)
{
    fprintf(out, "usage: hammer-ctl pki COMMAND [flags]\n\n"
                 "Certificates for agents on other machines: who may command an agent, and which "
                 "agent answers.\n\n");
    for (size_t i = 0; i < PKI_CMD_COUNT; i++)
        fprintf(out, "  %-20s %s\n", commands[i].usage, commands[i].text);
    fprintf(out, "\n  hammer-ctl pki init\n"
                 "  hammer-ctl pki controller $(hostname)\n"
                 "  hammer-ctl pki agent load1.example.org\n"
                 "  hammer-ctl pki agent --help\n");
}

void pki_help_command(enum pki_command c, FILE *out)
{
    struct option_row rows[FLAGS_N];
    size_t n = rows_of(c, rows);
    fprintf(out, "usage: hammer-ctl pki %s [flags]\n\n%s.\n%s\n", commands[c].usage,
            commands[c].text, commands[c].more);
    option_help(rows, n, out);
}
