/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/redact.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/pki_options.h"
#include "controller/cmd/pki_show.h"
#include "controller/pki/pki.h"

#define AGENT_DIR      "/etc/hammer/pki"
#define CONTROLLER_DIR ".config/hammer/pki"

/* --- what is printed ------------------------------------------------------------------------ */

/* So that a line can be pasted into a shell, whatever the folder is called. */
static void print_quoted(const char *dir, const char *file)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:@%";
    if (dir[0] == '-' || (dir[0] != '/' && strchr(dir, ':') != NULL)) /* no flag, no scp host */
        fputs("./", stdout);
    if (dir[strspn(dir, plain)] == '\0') {
        printf("%s%s", dir, file);
        return;
    }
    putchar('\'');
    for (; *dir != '\0'; dir++)
        if (*dir == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*dir);
    printf("'%s", file);
}

/* " --dir DIR" where it was given: the next command needs it too. */
static void print_dir_flag(const struct pki_options *o)
{
    if (o->dir_given == NULL)
        return;
    fputs(" --dir ", stdout);
    print_quoted(o->dir, "");
}

static void print_entry(const struct pki_entry *e)
{
    char until[PKI_TIME_TEXT];
    printf("%s %s: serial %s, good until %s, DNS names: %s\n", pki_role_name(e->role), e->name,
           e->serial, pki_time_text(e->not_after_s, until), e->dns);
}

static void print_copy(const char *dir, const char *file, const char *host, const char *to)
{
    printf("  scp -p ");
    print_quoted(dir, file);
    printf(" %s:%s\n", host, to);
}

/* The files have other names here than where they are used. */
static void print_copies(const struct pki *p, const struct pki_entry *e, const char *host,
                         const char *to)
{
    char from[PKI_FILE_TEXT + 8], path[128];
    const char *role = pki_role_name(e->role);
    size_t stem = strlen(e->file) - strlen(".crt");
    static const char *const common[] = {"ca.crt", "crl.pem"};
    static const char *const own[] = {"crt", "key"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "/%s", common[i]);
        snprintf(path, sizeof path, "%s/%s", to, common[i]);
        print_copy(pki_dir(p), from, host, path);
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "/%.*s.%s", (int)stem, e->file, own[i]);
        snprintf(path, sizeof path, "%s/%s.%s", to, role, own[i]);
        print_copy(pki_dir(p), from, host, path);
    }
}

static void print_next(const struct pki *p, const struct pki_options *o, const struct pki_entry *e)
{
    char host[PKI_NAME_MAX + 16];
    bool agent = e->role == PKI_AGENT;
    const char *to = agent ? AGENT_DIR : CONTROLLER_DIR;
    snprintf(host, sizeof host, "%s%s", agent ? "root@" : "", agent ? e->name : "HOST");
    printf(agent ? "\nBring them to the agent's host (here by the name of %s):\n"
                 : "\nTo use %s on another machine:\n",
           e->name);
    /* The service reads crl.pem as a user of its own; the key is protected by its own mode. */
    printf("  ssh %s install -d -m %s %s\n", host, agent ? "0755" : "0700", to);
    if (o->out != NULL)
        print_copy(o->out, "/*", host, agent ? AGENT_DIR "/" : CONTROLLER_DIR "/");
    else
        print_copies(p, e, host, to);
    if (agent)
        printf("  ssh %s systemctl restart hammer-agent\n"
               "and name it in a run as %s@HOST, or as HOST where that is one of its DNS names.\n",
               host, e->name);
}

/* --- the commands --------------------------------------------------------------------------- */

static int64_t now_s(void)
{
    return (int64_t)(clock_wall_ns() / NS_PER_SEC);
}

static enum err exec_init(const struct pki_options *o, struct errmsg *msg)
{
    struct pki *p;
    char until[PKI_TIME_TEXT];
    enum err e = pki_init(o->dir, now_s(), &p, msg);
    if (e != ERR_OK)
        return e;
    const struct pki_info *ca = pki_authority(p);
    printf("%s: %s, good until %s\n\n"
           "  ca.crt   the certificate that agents and controllers need\n"
           "  ca.key   its key: who has it can command every agent; it never leaves this folder\n"
           "  crl.pem  the list of revoked certificates, empty\n\n"
           "Next, for this machine and for each agent:\n  hammer-ctl pki controller NAME",
           pki_dir(p), ca->name, pki_time_text(ca->not_after_s, until));
    print_dir_flag(o);
    printf("\n  hammer-ctl pki agent NAME");
    print_dir_flag(o);
    printf("\n");
    pki_close(p);
    return ERR_OK;
}

/* Says where controller.crt stands. */
static void print_used(const struct pki *p, const struct pki_entry *e, bool used)
{
    if (e->role == PKI_CONTROLLER && used)
        printf("%s/controller.crt and controller.key are now a copy: hammer-ctl run uses them\n",
               pki_dir(p));
    else if (e->role == PKI_CONTROLLER)
        printf("%s/controller.crt, which hammer-ctl run uses, stays another controller's\n",
               pki_dir(p));
}

static enum err issue(struct pki *p, const struct pki_options *o, enum pki_role role,
                      struct errmsg *msg)
{
    struct pki_request r = {.role = role,
                            .name = o->name,
                            .dns = (const char *const *)o->dns.items,
                            .n_dns = o->dns.n,
                            .days = o->days,
                            .replace = o->force};
    const struct pki_entry *entry;
    struct pki_store *out = NULL;
    bool used;
    enum err e = ERR_OK;
    if (o->out != NULL)
        e = pki_export_open(o->out, role, o->force, &out, msg);
    if (e == ERR_OK)
        e = pki_issue(p, &r, now_s(), &entry, &used, msg);
    if (e == ERR_OK) {
        print_entry(entry);
        printf("%s/%s and its .key are written\n", pki_dir(p), entry->file);
        print_used(p, entry, used);
        if (out != NULL)
            e = pki_export(p, entry, out, msg);
    }
    if (e == ERR_OK && out != NULL)
        printf("%s has all files for the other host\n", o->out);
    if (e == ERR_OK)
        print_next(p, o, entry);
    pki_store_close(out);
    return e;
}

static enum err exec_issue(const struct pki_options *o, enum pki_role role, struct errmsg *msg)
{
    struct pki *p;
    enum err e = pki_open(o->dir, &p, msg);
    if (e == ERR_OK)
        e = issue(p, o, role, msg);
    if (e == ERR_OK)
        pki_show_warnings(p, o->dir_given, now_s(), stderr);
    pki_close(p);
    return e;
}

static enum err exec_agent(const struct pki_options *o, struct errmsg *msg)
{
    return exec_issue(o, PKI_AGENT, msg);
}

static enum err exec_controller(const struct pki_options *o, struct errmsg *msg)
{
    return exec_issue(o, PKI_CONTROLLER, msg);
}

static enum err exec_revoke(const struct pki_options *o, struct errmsg *msg)
{
    struct pki *p;
    size_t *which = NULL, n = 0;
    enum err e = pki_open(o->dir, &p, msg);
    if (e == ERR_OK)
        e = pki_revoke(p, o->name, o->role, now_s(), &which, &n, msg);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        printf("revoked: ");
        print_entry(&pki_certificates(p)->entries[which[i]]);
    }
    if (e == ERR_OK) {
        printf("%s/crl.pem is written; hammer-ctl run uses it from here at once.\n\n"
               "Until an agent has the new list it still accepts what was revoked. For each:\n",
               pki_dir(p));
        print_copy(pki_dir(p), "/crl.pem", "root@HOST", AGENT_DIR "/");
        printf("  ssh root@HOST systemctl reload hammer-agent    (SIGHUP)\n"
               "and copy it to other machines that have a controller's certificate. A connection "
               "that is open\nstays open; the list is asked when one begins.\n");
    }
    mem_free(which);
    pki_close(p);
    return e;
}

static enum err exec_show(const struct pki_options *o, struct errmsg *msg)
{
    struct pki *p;
    enum err e = pki_open(o->dir, &p, msg);
    if (e != ERR_OK)
        return e;
    int64_t now = now_s();
    if (o->json)
        pki_show_json(p, now, stdout);
    else
        pki_show_table(p, now, stdout);
    pki_show_warnings(p, o->dir_given, now, stderr);
    pki_close(p);
    return ERR_OK;
}

static enum err (*const execs[PKI_CMD_COUNT])(const struct pki_options *, struct errmsg *) = {
    [PKI_CMD_INIT] = exec_init,
    [PKI_CMD_AGENT] = exec_agent,
    [PKI_CMD_CONTROLLER] = exec_controller,
    [PKI_CMD_REVOKE] = exec_revoke,
    [PKI_CMD_SHOW] = exec_show,
};

/* The user's mistake, or something that failed? */
static int exit_code(enum err e)
{
    if (e == ERR_OK)
        return 0;
    return e == ERR_SYSTEM || e == ERR_BUSY || e == ERR_CORRUPT ? EXIT_COULD_NOT : EXIT_BAD_INPUT;
}

static int unknown(const char *word)
{
    char shown[80];
    redact_url(word, shown, sizeof shown);
    fprintf(stderr, "hammer-ctl: pki %s: no such command; accepted are", shown);
    for (enum pki_command c = PKI_CMD_INIT; c < PKI_CMD_COUNT; c++)
        fprintf(stderr, "%s %s", c == PKI_CMD_INIT ? "" : ",", pki_command_name(c));
    fputc('\n', stderr);
    return EXIT_BAD_INPUT;
}

static int exec_one(enum pki_command c, int argc, char **argv)
{
    struct pki_options o;
    struct errmsg msg = {{0}};
    enum err e = pki_options_parse(c, argc, argv, &o, &msg);
    if (e == ERR_OK && o.help)
        pki_help_command(c, stdout);
    else if (e == ERR_OK)
        e = execs[c](&o, &msg);
    if (e == ERR_OK && (fflush(stdout) != 0 || ferror(stdout)))
        e = errmsg_set(&msg, ERR_SYSTEM, "the output could not be written: %s", strerror(errno));
    if (e != ERR_OK)
        fprintf(stderr, "hammer-ctl: %s\n", msg.text);
    pki_options_clear(&o);
    return exit_code(e);
}

static int exec(int argc, char **argv)
{
    enum pki_command c;
    if (argc < 2) {
        pki_help_overview(stderr);
        return EXIT_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        pki_help_overview(stdout);
        return 0;
    }
    return pki_command_find(argv[1], &c) ? exec_one(c, argc - 1, argv + 1) : unknown(argv[1]);
}

const struct cmd_entry cmd_pki = {.name = "pki",
                                  .usage = "pki COMMAND [flags]",
                                  .text = "certificates for agents on other machines",
                                  .has_help = true,
                                  .exec = exec,
                                  .options = pki_options_groups,
                                  .words = "init agent controller revoke show"};
