/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "agent/service/selftest.h"
#include "agent/service/service.h"
#include "agent/service/setup.h"
#include "common/host.h"
#include "common/log.h"
#include "proto/link.h"

#define EXIT_BAD_INPUT 1
#define EXIT_COULD_NOT 2

/* A run's figures are megabytes of zeros of which little is ever touched: from the kernel, not from
 * what an earlier run has left, they cost only that. Said once, or glibc moves its threshold up. */
#define FRESH_MEMORY (256 << 10)

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

/* What is asked for instead of an agent; false = an agent is wanted. */
static bool answered(const struct setup *s)
{
    const struct agent_options *o = &s->options;
    if (o->help)
        usage();
    else if (o->version)
        printf("hammer-agent %s\n", HAMMER_VERSION);
    else if (o->check_config)
        setup_describe(s, stdout);
    return o->help || o->version || o->check_config;
}

static enum err serve(struct setup *s, struct errmsg *msg)
{
    const struct agent_options *o = &s->options;
    mallopt(M_MMAP_THRESHOLD, FRESH_MEMORY);
    log_open("hammer-agent", agent_options_log_level(o));
    log_use_json(o->log_json);
    if (o->once)
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a spawned agent goes with its controller */
    signal(SIGPIPE, SIG_IGN);
    link_block_signals();
    return service_run(s, msg);
}

int main(int argc, char **argv)
{
    struct setup setup;
    struct errmsg msg = {{0}};
    int code = EXIT_BAD_INPUT;
    host_std_fds();
    if (argc > 1 && strcmp(argv[1], "selftest") == 0)
        return selftest_main(argc - 1, argv + 1);
    enum err e = setup_open(&setup, argc, argv, &msg);
    if (e == ERR_OK && !answered(&setup)) {
        code = EXIT_COULD_NOT;
        e = serve(&setup, &msg);
    }
    if (e != ERR_OK)
        fprintf(stderr, "hammer-agent: %s\n", msg.text[0] != '\0' ? msg.text : err_str(e));
    setup_close(&setup);
    return e == ERR_OK ? 0 : code;
}
