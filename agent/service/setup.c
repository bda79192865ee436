/* SPDX-License-Identifier: MIT */
#include "agent/service/setup.h"

#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "proto/link_tls.h"

/* --- policy --------------------------------------------------------------------------------- */

static enum err open_policy(const struct agent_options *o, struct policy **out, struct errmsg *msg)
{
    struct policy *p = mem_calloc(1, sizeof *p);
    enum err e = agent_options_policy(o, p, msg);
    if (e == ERR_OK)
        *out = p;
    else
        mem_free(p);
    return e;
}

/* --- certificates --------------------------------------------------------------------------- */

/* The files' own sentence says what is wrong with them, not how one gets there. */
static enum err open_tls(struct setup *s, struct errmsg *msg)
{
    const struct agent_options *o = &s->options;
    struct link_tls_files files = {
        .ca = o->tls_ca, .cert = o->tls_cert, .key = o->tls_key, .crl = o->tls_crl};
    struct errmsg why = {{0}};
    if (s->listen != LISTEN_TLS)
        return ERR_OK;
    enum err e = link_tls_new(LINK_TLS_AGENT, &files, &s->tls, &why);
    if (e == ERR_NOT_FOUND)
        return errmsg_set(msg, e,
                          "--listen %.60s: %.200s. hammer-ctl pki init, then hammer-ctl pki agent "
                          "NAME --out DIR make what is needed; copy DIR to " AGENT_PKI_DEFAULT
                          " or name its files with --tls-ca, --tls-cert and --tls-key",
                          o->listen, why.text);
    return e == ERR_OK ? e : errmsg_set(msg, e, "--listen %.60s: %s", o->listen, why.text);
}

/* --- life ----------------------------------------------------------------------------------- */

enum err setup_open(struct setup *s, int argc, char *const *argv, struct errmsg *msg)
{
    struct agent_options *o = &s->options;
    *s = (struct setup){.argc = argc, .argv = argv};
    enum err e = agent_options_read(o, argc, argv, msg);
    if (e != ERR_OK || o->help || o->version)
        return e;
    e = open_policy(o, &s->policy, msg);
    if (e == ERR_OK)
        e = agent_options_placement(o, &s->placement, msg);
    if (e == ERR_OK)
        e = listen_check(o->listen, o->insecure_listen, &s->listen, msg);
    if (e == ERR_OK)
        e = open_tls(s, msg);
    return e;
}

void setup_close(struct setup *s)
{
    link_tls_free(s->tls);
    mem_free(s->policy);
    agent_options_clear(&s->options);
    *s = (struct setup){0};
}

/* --- reload --------------------------------------------------------------------------------- */

static bool keep(const char *what, const struct errmsg *msg)
{
    log_error("reload", "%s; the old %s in use", msg->text, what);
    return false;
}

static bool reload_options(struct setup *s)
{
    struct agent_options fresh;
    struct errmsg msg = {{0}};
    if (agent_options_read(&fresh, s->argc, s->argv, &msg) != ERR_OK) {
        agent_options_clear(&fresh);
        return keep("configuration stays", &msg);
    }
    if (strcmp(fresh.listen, s->options.listen) != 0 ||
        fresh.insecure_listen != s->options.insecure_listen)
        log_warn("reload", "where to listen changes with a restart only");
    agent_options_clear(&s->options);
    s->options = fresh;
    log_set_level(agent_options_log_level(&fresh));
    return true;
}

static bool reload_policy(struct setup *s, struct policy **replaced)
{
    struct errmsg msg = {{0}};
    struct policy *fresh;
    *replaced = NULL;
    if (open_policy(&s->options, &fresh, &msg) != ERR_OK)
        return keep("policy stays", &msg);
    *replaced = s->policy;
    s->policy = fresh;
    return true;
}

/* The names of the files do not change: link_tls keeps those of the start. */
static bool reload_tls(struct setup *s)
{
    struct errmsg msg = {{0}};
    if (s->tls != NULL && link_tls_reload(s->tls, &msg) != ERR_OK)
        return keep("certificates stay", &msg);
    return true;
}

bool setup_reload(struct setup *s, struct policy **replaced)
{
    bool options = reload_options(s), policy = reload_policy(s, replaced), tls = reload_tls(s);
    return options && policy && tls;
}

/* --- --check-config ------------------------------------------------------------------------- */

void setup_describe(const struct setup *s, FILE *out)
{
    static const char *const kinds[] = {
        [LISTEN_IPC] = ("root, the agent's user and group " LISTEN_GROUP),
        [LISTEN_LOOPBACK] = "this machine only",
        [LISTEN_TLS] = "controllers with a certificate",
        [LISTEN_INSECURE] = "everybody who reaches it: --insecure-listen",
    };
    const struct agent_options *o = &s->options;
    char policy[POLICY_SUMMARY_MAX];
    policy_summary(s->policy, policy, sizeof policy);
    fprintf(out, "listen   %s (%s)\n", o->listen, kinds[s->listen]);
    fprintf(out, "policy   %s (%s)\n", policy, o->policy != NULL ? o->policy : "no file");
    if (s->tls != NULL)
        fprintf(out, "tls      %s, key %s, signed by %s, revoked %s\n", o->tls_cert, o->tls_key,
                o->tls_ca, o->tls_crl);
    fprintf(out, "audit    %s\n", o->audit != NULL ? o->audit : "the log");
}
