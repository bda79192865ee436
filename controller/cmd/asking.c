/* SPDX-License-Identifier: MIT */
#include "controller/cmd/asking.h"

#include <signal.h>

#include "common/host.h"
#include "common/loop.h"
#include "proto/link.h"

static void on_signal(int signo, void *arg)
{
    (void)signo;
    loop_stop(arg);
}

static enum err ask(struct loop *loop, const struct inventory *inv, const struct tls_options *tls,
                    const struct msg_halt *halt, struct survey_agent *agents, struct errmsg *msg)
{
    struct link_tls *certificates = NULL;
    enum err e = loop_signal(loop, SIGINT, on_signal, loop);
    if (e == ERR_OK)
        e = loop_signal(loop, SIGTERM, on_signal, loop);
    if (e == ERR_OK)
        e = tls_options_open(tls, inventory_uses_tls(inv), NULL, NULL, &certificates, msg);
    if (e == ERR_OK) {
        struct link_options link = {.tls = certificates};
        struct survey_config cfg = {.loop = loop, .inventory = inv, .link = &link, .halt = halt};
        e = survey_run(&cfg, agents);
    }
    loop_finish(loop);
    link_tls_free(certificates);
    return e;
}

enum err asking_run(const struct inventory *inv, const struct tls_options *tls,
                    const struct msg_halt *halt, struct survey_agent *agents, struct errmsg *msg)
{
    struct loop *loop;
    host_fd_limit(); /* one an agent */
    link_block_signals();
    signal(SIGPIPE, SIG_IGN);
    enum err e = loop_new(&loop, msg);
    if (e != ERR_OK)
        return e;
    e = ask(loop, inv, tls, halt, agents, msg);
    loop_free(loop);
    return e;
}
