/* SPDX-License-Identifier: MIT */
#include "tests/bench/session/sessions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/service/endpoint.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/link_tls.h"
#include "tests/bench/lib/self.h"
#include "tests/bench/session/fake_run.h"

struct sessions {
    struct loop *loop;
    struct policy policy;
    struct link_tls *tls;
    struct snapshot *sum;
    struct endpoint **endpoints;
};

static void check(enum err e, const struct errmsg *msg)
{
    errno = 0;
    if (e != ERR_OK)
        self_die("%s", msg->text);
}

static void open_tls(struct sessions *s, const char *folder)
{
    char ca[256], cert[256], key[256];
    struct errmsg msg = {{0}};
    snprintf(ca, sizeof ca, "%s/ca.crt", folder);
    snprintf(cert, sizeof cert, "%s/agent.crt", folder);
    snprintf(key, sizeof key, "%s/agent.key", folder);
    struct link_tls_files files = {.ca = ca, .cert = cert, .key = key};
    check(link_tls_new(LINK_TLS_AGENT, &files, &s->tls, &msg), &msg);
}

static void listen_all(struct sessions *s, const struct sessions_config *cfg, FILE *addresses)
{
    struct errmsg msg = {{0}};
    s->endpoints = mem_calloc(cfg->n, sizeof(struct endpoint *));
    for (size_t i = 0; i < cfg->n; i++) {
        char name[32];
        snprintf(name, sizeof name, "sim%zu", cfg->first + i);
        struct endpoint_config ec = {.loop = s->loop,
                                     .policy = &s->policy,
                                     .url = s->tls != NULL ? "tls+tcp://127.0.0.1:0"
                                                           : "tcp://127.0.0.1:0",
                                     .name = name,
                                     .tls = s->tls,
                                     .run = fake_run_ops()};
        check(endpoint_new(&ec, &s->endpoints[i], &msg), &msg);
        fprintf(addresses, "%s\n", strstr(endpoint_url(s->endpoints[i]), "127."));
    }
}

/* Readers see it whole or not at all. */
static FILE *begin_file(const char *path, char *temporary, size_t cap)
{
    snprintf(temporary, cap, "%s.new", path);
    FILE *f = fopen(temporary, "we");
    if (f == NULL)
        self_die("%s", temporary);
    return f;
}

static void end_file(FILE *f, const char *temporary, const char *path)
{
    if (fclose(f) != 0 || rename(temporary, path) != 0)
        self_die("%s", path);
}

static void write_sum(const struct snapshot *sum, const char *path)
{
    char temporary[256];
    uint8_t *bytes;
    size_t len;
    if (snapshot_encode(sum, &bytes, &len) != ERR_OK)
        self_die("the sum cannot be encoded");
    FILE *f = begin_file(path, temporary, sizeof temporary);
    if (fwrite(bytes, len, 1, f) != 1)
        self_die("%s", temporary);
    end_file(f, temporary, path);
    mem_free(bytes);
}

static void on_signal(int signo, void *arg)
{
    (void)signo;
    loop_stop(((struct sessions *)arg)->loop);
}

_Noreturn void sessions_run(const struct sessions_config *cfg)
{
    struct sessions s = {.sum = snapshot_new()};
    struct errmsg msg = {{0}};
    char temporary[256];
    link_block_signals();
    log_open("bench-fleet", LOG_LEVEL_WARN);
    check(loop_new(&s.loop, &msg), &msg);
    check(loop_signal(s.loop, SIGTERM, on_signal, &s), &msg);
    policy_loopback_only(&s.policy);
    if (cfg->tls != NULL)
        open_tls(&s, cfg->tls);
    fake_run_init(cfg->board, s.sum, cfg->seed, cfg->distinct);
    FILE *addresses = begin_file(cfg->addresses, temporary, sizeof temporary);
    listen_all(&s, cfg, addresses);
    end_file(addresses, temporary, cfg->addresses);
    loop_run(s.loop);
    write_sum(s.sum, cfg->sum);
    for (size_t i = 0; i < cfg->n; i++)
        endpoint_free(s.endpoints[i]);
    mem_free(s.endpoints);
    loop_finish(s.loop);
    loop_free(s.loop);
    link_tls_free(s.tls);
    snapshot_free(s.sum);
    exit(0);
}
