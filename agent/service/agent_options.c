/* SPDX-License-Identifier: MIT */
#include "agent/service/agent_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/service/policy_file.h"
#include "common/mem.h"
#include "common/option_file.h"
#include "common/redact.h"

#define PATH_CAP 4096

#define FLAG(member, long_name, alias, help)                                                       \
    {                                                                                              \
        .name = long_name, .aliases = alias, .type = OPTION_FLAG,                                  \
        .offset = offsetof(struct agent_options, member), .set_offset = OPTION_NO_SET,             \
        .text = help                                                                               \
    }
#define TEXT(member, long_name, alias, meta_name, form, help)                                      \
    {                                                                                              \
        .name = long_name, .aliases = alias, .type = OPTION_STRING,                                \
        .offset = offsetof(struct agent_options, member), .set_offset = OPTION_NO_SET,             \
        .meta = meta_name, .accepted = form, .text = help                                          \
    }
#define A_FILE(member, long_name, help) TEXT(member, long_name, "", "FILE", "a file name", help)

static enum err parse_log_level(const struct option_row *row, const char *value, void *target,
                                struct errmsg *msg)
{
    (void)row, (void)msg;
    struct agent_options *o = target;
    enum log_level level;
    if (!log_level_parse(value, &level))
        return ERR_INVALID;
    o->log_level = level;
    return ERR_OK;
}

static enum err parse_log_format(const struct option_row *row, const char *value, void *target,
                                 struct errmsg *msg)
{
    (void)row, (void)msg;
    struct agent_options *o = target;
    o->log_json = strcmp(value, "json") == 0;
    return o->log_json || strcmp(value, "text") == 0 ? ERR_OK : ERR_INVALID;
}

static const struct option_row rows[] = {
    TEXT(listen, "listen", "", "URL", "ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT",
         "where controllers connect: ipc://PATH, tls+tcp://HOST:PORT, or tcp://HOST:PORT on "
         "loopback (default: " AGENT_LISTEN_DEFAULT ")"),
    A_FILE(port_file, "port-file", "write the URL really listened on to FILE (for port 0)"),
    TEXT(name, "name", "", "NAME", "a name", "this agent's name in reports (default: host name)"),
    A_FILE(policy, "policy",
           "what load may be sent: targets, rates, sizes (default: " AGENT_POLICY_DEFAULT
           " if there is one, else loopback targets only)"),
    {.name = "allow-target",
     .aliases = "",
     .type = OPTION_LIST,
     .offset = offsetof(struct agent_options, allow),
     .set_offset = OPTION_NO_SET,
     .meta = "CIDR",
     .accepted = "an address, ADDRESS/BITS, or any",
     .text = "allow load to these addresses too (repeatable; default: loopback only)"},
    A_FILE(audit, "audit",
           "append who ran what to FILE, one JSON object a line (default: audit.jsonl in "
           "$STATE_DIRECTORY, which systemd sets; else the log)"),
    A_FILE(tls_ca, "tls-ca",
           "certificates trusted to sign controllers (the four: $CREDENTIALS_DIRECTORY first, "
           "then " AGENT_PKI_DEFAULT "; default: ca.crt)"),
    A_FILE(tls_cert, "tls-cert", "this agent's certificate (default: agent.crt)"),
    A_FILE(tls_key, "tls-key", "its private key (default: agent.key)"),
    A_FILE(tls_crl, "tls-crl", "revoked certificates (default: crl.pem, if there is one)"),
    FLAG(insecure_listen, "insecure-listen", "",
         "allow tcp:// on an address that other machines reach: whoever connects commands the "
         "load; every report will say so"),
    TEXT(cpu, "cpu", "", "LIST", "a list of CPUs such as 1 or 0,2-3",
         "put the load threads on these CPUs, in turn: 1, or 0,2-3 (default: on any)"),
    FLAG(realtime, "realtime", "",
         "run the load threads at real-time priority (SCHED_FIFO 1); where that is not allowed, "
         "warn and go on"),
    A_FILE(state, "state", "result of hammer-agent selftest (default: where selftest stores it)"),
    {.name = "log-level",
     .aliases = "",
     .type = OPTION_CUSTOM,
     .set_offset = offsetof(struct agent_options, log_level_set),
     .meta = "LEVEL",
     .accepted = "error, warning, info or debug",
     .text = "what to log: error, warning, info or debug (default: info)",
     .parse = parse_log_level},
    {.name = "log-format",
     .aliases = "",
     .type = OPTION_CUSTOM,
     .set_offset = OPTION_NO_SET,
     .meta = "FORMAT",
     .accepted = "text or json",
     .text = "how to log on stderr: text, or json, one object a line (default: text)",
     .parse = parse_log_format},
    FLAG(verbose, "verbose", "-v", "log every event: --log-level debug"),
    /* From here on not in a file. */
    A_FILE(config, "config",
           "YAML file with any of the flags above as keys (default: " AGENT_CONFIG_DEFAULT
           " if there is one); SIGHUP reads it again"),
    FLAG(check_config, "check-config", "",
         "read all files, say what the agent would do, and exit: 0 = it would start"),
    FLAG(once, "once", "",
         "end when the first controller is gone (used by hammer-ctl run); reads no default files"),
    FLAG(help, "help", "-h", "print this help and exit"),
    FLAG(version, "version", "", "print the version and exit"),
};

#define ROWS (sizeof rows / sizeof rows[0])

const struct option_row *agent_options(size_t *n)
{
    *n = ROWS;
    return rows;
}

/* Rows that may stand in a file: those before --config. */
static size_t rows_of_file(void)
{
    return (size_t)(option_find(rows, ROWS, "config") - rows);
}

void agent_options_clear(struct agent_options *o)
{
    option_clear(rows, ROWS, o);
}

/* --- where values come from ----------------------------------------------------------------- */

static enum err read_argv(struct agent_options *o, int argc, char *const *argv, struct errmsg *msg)
{
    const char *rest[1];
    char shown[200];
    size_t n_rest = 0;
    enum err e = option_environment(rows, ROWS, o, msg);
    if (e == ERR_OK)
        e = option_parse(rows, ROWS, argc, argv, o, rest, 1, &n_rest, msg);
    if (e == ERR_OK && n_rest > 0) {
        redact_url(rest[0], shown, sizeof shown);
        e = errmsg_set(msg, ERR_INVALID, "%s: hammer-agent takes no argument", shown);
    }
    return e;
}

/* A named file must be there, the default one need not. A spawned agent obeys its controller's
 * flags alone. */
static enum err read_file(const struct agent_options *first, struct agent_options *o,
                          struct errmsg *msg)
{
    const char *path = first->config != NULL ? first->config : AGENT_CONFIG_DEFAULT;
    if (first->config == NULL && first->once)
        return ERR_OK;
    enum err e = option_file(rows, rows_of_file(), path, o, msg);
    return e == ERR_NOT_FOUND && first->config == NULL ? ERR_OK : e;
}

/* --- defaults ------------------------------------------------------------------------------- */

/* The unit gives a blank line for a file that is not there (see deploy/systemd). */
static bool is_credential(const char *path)
{
    char text[64];
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    bool any = false;
    for (size_t n; !any && (n = fread(text, 1, sizeof text - 1, f)) > 0;) {
        text[n] = '\0';
        any = strspn(text, " \t\r\n") < n;
    }
    fclose(f);
    return any;
}

/* systemd's credentials are readable to the service alone, which the files they came from are not.
 */
static void default_pki(char **member, const char *name)
{
    char path[PATH_CAP];
    const char *dir = getenv("CREDENTIALS_DIRECTORY");
    if (*member != NULL)
        return;
    int n = dir != NULL ? snprintf(path, sizeof path, "%s/%s", dir, name) : -1;
    if (n < 0 || (size_t)n >= sizeof path || !is_credential(path))
        snprintf(path, sizeof path, "%s/%s", AGENT_PKI_DEFAULT, name);
    *member = mem_strdup(path);
}

static void default_audit(struct agent_options *o)
{
    char path[PATH_CAP];
    const char *dir = getenv("STATE_DIRECTORY");
    if (o->audit != NULL || dir == NULL || dir[0] == '\0' || strchr(dir, ':') != NULL)
        return;
    int n = snprintf(path, sizeof path, "%s/audit.jsonl", dir);
    if (n > 0 && (size_t)n < sizeof path)
        o->audit = mem_strdup(path);
}

static void fill_defaults(struct agent_options *o)
{
    if (o->listen == NULL)
        o->listen = mem_strdup(AGENT_LISTEN_DEFAULT);
    default_pki(&o->tls_ca, "ca.crt");
    default_pki(&o->tls_cert, "agent.crt");
    default_pki(&o->tls_key, "agent.key");
    default_pki(&o->tls_crl, "crl.pem");
    if (o->once)
        return;
    if (o->policy == NULL && access(AGENT_POLICY_DEFAULT, F_OK) == 0)
        o->policy = mem_strdup(AGENT_POLICY_DEFAULT);
    default_audit(o);
}

/* Whoever names a list wants it to count; the default one may be missing. */
static enum err check_crl(const struct agent_options *o, struct errmsg *msg)
{
    if (o->tls_crl == NULL || access(o->tls_crl, F_OK) == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_NOT_FOUND, "--tls-crl %.200s: %s", o->tls_crl, strerror(errno));
}

enum err agent_options_read(struct agent_options *o, int argc, char *const *argv,
                            struct errmsg *msg)
{
    struct agent_options first = {0}; /* says which file, and whether one is needed */
    enum err e = read_argv(&first, argc, argv, msg);
    *o = (struct agent_options){0};
    if (e == ERR_OK && !first.help && !first.version)
        e = read_file(&first, o, msg);
    if (e == ERR_OK)
        e = read_argv(o, argc, argv, msg);
    if (e == ERR_OK)
        e = check_crl(o, msg);
    if (e == ERR_OK)
        fill_defaults(o);
    agent_options_clear(&first);
    return e;
}

/* --- what they mean ------------------------------------------------------------------------- */

enum err agent_options_placement(const struct agent_options *o, struct placement *p,
                                 struct errmsg *msg)
{
    *p = (struct placement){.realtime = o->realtime};
    return o->cpu != NULL ? placement_parse(p, o->cpu, msg) : ERR_OK;
}

enum err agent_options_policy(const struct agent_options *o, struct policy *policy,
                              struct errmsg *msg)
{
    enum err e = ERR_OK;
    if (o->policy != NULL)
        e = policy_load(o->policy, policy, msg);
    else
        policy_loopback_only(policy);
    for (size_t i = 0; e == ERR_OK && i < o->allow.n; i++)
        e = policy_allow(policy, o->allow.items[i], msg);
    return e;
}

enum log_level agent_options_log_level(const struct agent_options *o)
{
    if (o->verbose)
        return LOG_LEVEL_DEBUG;
    if (o->log_level_set)
        return (enum log_level)o->log_level;
    return o->once ? LOG_LEVEL_ERROR /* its controller tells the rest */ : LOG_LEVEL_INFO;
}
