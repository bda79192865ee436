/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/service/agent_options.h"
#include "agent/service/endpoint.h"
#include "agent/service/listen.h"
#include "agent/service/selftest.h"
#include "common/host.h"
#include "common/log.h"
#include "common/loop.h"
#include "proto/link.h"

#define EXIT_BAD_INPUT 1
#define EXIT_COULD_NOT 2

static void usage(void)
{
    size_t n;
    const struct option_row *rows = agent_options(&n);
    printf(
        "usage: hammer-agent [flags]\n"
        "       hammer-agent selftest [flags]\n\n"
        "Waits for hammer-ctl and sends the load it is told to send; selftest finds out how much\n"
        "this host can send on time.\n\n");
    option_help(rows, n, stdout);
}

/* Written beside and renamed, so that a reader never sees half a line. */
static enum err write_port_file(const char *path, const char *url, struct errmsg *msg)
{
    char tmp[4096];
    int n = snprintf(tmp, sizeof tmp, "%s.tmp", path);
    if (n < 0 || (size_t)n >= sizeof tmp)
        return errmsg_set(msg, ERR_INVALID, "--port-file %s: the name is too long", path);
    FILE *f = fopen(tmp, "w");
    if (f == NULL)
        return errmsg_set(msg, ERR_SYSTEM, "--port-file %s: %s", path, strerror(errno));
    fprintf(f, "%s\n", url);
    if (fclose(f) != 0 || rename(tmp, path) != 0)
        return errmsg_set(msg, ERR_SYSTEM, "--port-file %s: %s", path, strerror(errno));
    return ERR_OK;
}

/* A signal may still come while the last frames leave: then the endpoint is gone already. */
static void on_signal(int signo, void *arg)
{
    struct endpoint *const *endpoint = arg;
    log_info("main", "%s: shutting down", strsignal(signo));
    if (*endpoint != NULL)
        endpoint_shutdown(*endpoint);
}

/* What the self-test of this host has shown. That there was none is nothing to speak of. */
static uint64_t tested_rate(const struct agent_options *o)
{
    char path[4096];
    struct errmsg msg = {{0}};
    if (o->state != NULL)
        snprintf(path, sizeof path, "%s", o->state);
    else if (selftest_state_path(path, sizeof path, NULL) != ERR_OK)
        return 0;
    uint64_t rate = selftest_state_load(path, &msg);
    if (msg.text[0] != '\0')
        log_warn("selftest", "%s", msg.text);
    return rate;
}

static enum err serve(const struct agent_options *o, const struct policy *policy,
                      const struct placement *placement, struct errmsg *msg)
{
    struct loop *loop = NULL;
    struct endpoint *endpoint = NULL;
    char name[64];
    host_name(name, sizeof name);
    enum err e = loop_new(&loop, msg);
    if (e != ERR_OK)
        return e;
    struct endpoint_config cfg = {.loop = loop,
                                  .policy = policy,
                                  .placement = placement,
                                  .url = o->listen,
                                  .name = o->name != NULL ? o->name : name,
                                  .tested_rate = tested_rate(o),
                                  .once = o->once};
    e = endpoint_new(&cfg, &endpoint, msg);
    if (e == ERR_OK)
        e = loop_signal(loop, SIGTERM, on_signal, &endpoint);
    if (e == ERR_OK)
        e = loop_signal(loop, SIGINT, on_signal, &endpoint);
    if (e == ERR_OK && o->port_file != NULL)
        e = write_port_file(o->port_file, endpoint_url(endpoint), msg);
    if (e == ERR_OK) {
        log_info("main", "version %s listens on %s", HAMMER_VERSION, endpoint_url(endpoint));
        if (o->insecure_listen)
            log_warn("main", "--insecure-listen: whoever connects commands the load");
        loop_run(loop);
    }
    endpoint_free(endpoint);
    endpoint = NULL;
    loop_finish(loop); /* what was just sent may still have to leave */
    loop_free(loop);
    return e;
}

int main(int argc, char **argv)
{
    struct agent_options o = {0};
    struct policy policy;
    struct placement placement;
    struct errmsg msg = {{0}};
    enum listen_kind kind = LISTEN_IPC;
    host_std_fds();
    if (argc > 1 && strcmp(argv[1], "selftest") == 0)
        return selftest_main(argc - 1, argv + 1);
    enum err e = agent_options_read(&o, argc, argv, &msg);
    if (e == ERR_OK && (o.help || o.version)) {
        if (o.help)
            usage();
        else
            printf("hammer-agent %s\n", HAMMER_VERSION);
        agent_options_clear(&o);
        return 0;
    }
    if (e == ERR_OK)
        e = agent_options_policy(&o, &policy, &msg);
    if (e == ERR_OK)
        e = agent_options_placement(&o, &placement, &msg);
    if (e == ERR_OK)
        e = listen_check(o.listen, o.insecure_listen, &kind, &msg);
    int code = EXIT_BAD_INPUT;
    if (e == ERR_OK) {
        log_open("hammer-agent", agent_options_log_level(&o));
        log_use_json(o.log_json);
        if (o.once)
            prctl(PR_SET_PDEATHSIG, SIGTERM); /* a spawned agent goes with its controller */
        signal(SIGPIPE, SIG_IGN);
        link_block_signals();
        code = EXIT_COULD_NOT;
        e = serve(&o, &policy, &placement, &msg);
    }
    if (e != ERR_OK)
        fprintf(stderr, "hammer-agent: %s\n", msg.text[0] != '\0' ? msg.text : err_str(e));
    agent_options_clear(&o);
    return e == ERR_OK ? 0 : code;
}
