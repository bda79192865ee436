/* SPDX-License-Identifier: MIT */
/* Peers killed under traffic, again and again, in one process that lives on: what breaks nng's SP
 * sockets (docs/decisions/0001) must not break the link. */
#include "proto/link.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/check_main.h"
#include "tests/lib/link_end.h"
#include "tests/lib/loop_wait.h"
#include "tests/lib/test_pki.h"

#define VICTIMS 12
#define FRAME   4000

enum transport {
    TCP,
    IPC,
    TLS,
    TRANSPORTS
};

struct victim {
    pid_t pid;
    char url[128];
};

static void echo(struct link_end *e, const struct link_info *info)
{
    if (link_send(e->link, info->frame, info->len) == ERR_CLOSED)
        _exit(1);
}

/* The victim's whole life: listen, tell where, echo until killed. */
static void be_victim(const char *url, struct link_tls *tls, int report)
{
    struct link_server s = {.model = {.on_frame = echo}, .listen = {.tls = tls}};
    struct loop *loop = loop_wait_new();
    link_server_open(&s, loop, url);
    dprintf(report, "%s", link_listener_url(s.listener));
    close(report);
    alarm(50);
    loop_run(loop);
    _exit(0);
}

/* All are forked before this process makes its first call to nng. */
static struct victim new_victim(int transport, int i, const struct test_pki *pki)
{
    static const char *const urls[] = {
        [TCP] = "tcp://127.0.0.1:0", [IPC] = "ipc://", [TLS] = "tls+tcp://127.0.0.1:0"};
    struct victim v = {0};
    char url[96];
    int report[2];
    snprintf(url, sizeof url, "%s", urls[transport]);
    if (transport == IPC)
        snprintf(url, sizeof url, "ipc:///tmp/hammer-test-kill-%d-%d.sock", (int)getpid(), i);
    ck_assert_int_eq(pipe(report), 0);
    v.pid = fork();
    ck_assert_int_ge(v.pid, 0);
    if (v.pid == 0) {
        close(report[0]);
        be_victim(url, test_pki_tls(pki, LINK_TLS_AGENT, "agent"), report[1]);
    }
    close(report[1]);
    ck_assert_int_gt(read(report[0], v.url, sizeof v.url - 1), 0);
    close(report[0]);
    return v;
}

static void flood(struct link *l)
{
    static const uint8_t frame[FRAME];
    while (link_send(l, frame, sizeof frame) == ERR_OK)
        ;
}

static void kill_under_traffic(struct loop *loop, const struct victim *v,
                               const struct link_options *o, int frames)
{
    struct link_end e = {0};
    ck_assert_int_eq(link_dial(loop, v->url, o, 5000, link_end_event, &e, &e.link, NULL), ERR_OK);
    LOOP_WAIT(loop, e.ups == 1);
    flood(e.link);
    LOOP_WAIT(loop, e.frames >= frames);
    kill(v->pid, SIGKILL);
    uint64_t limit = clock_mono_ns() + LOOP_WAIT_LIMIT_NS;
    while (e.downs == 0) {
        ck_assert_uint_lt(clock_mono_ns(), limit);
        flood(e.link);
        loop_wait_turn(loop);
    }
    ck_assert_int_eq(waitpid(v->pid, NULL, 0), v->pid);
    if (strncmp(v->url, "ipc://", 6) == 0)
        unlink(v->url + 6);
}

START_TEST(test_peers_killed_under_traffic)
{
    struct victim v[VICTIMS];
    uint64_t rng = check_seed();
    struct test_pki *pki = test_pki_new();
    struct link_options o = {.server_name = "agent-1"};
    for (int i = 0; i < VICTIMS; i++)
        v[i] = new_victim(_i, i, pki);
    link_block_signals();
    struct link_tls *tls = NULL;
    if (_i == TLS)
        o.tls = tls = test_pki_tls(pki, LINK_TLS_CONTROLLER, "controller");
    struct loop *loop = loop_wait_new();
    for (int i = 0; i < VICTIMS; i++)
        kill_under_traffic(loop, &v[i], &o, 1 + (int)check_below(&rng, LINK_QUEUE_MAX / 2));
    loop_finish(loop);
    loop_free(loop);
    link_tls_free(tls);
    test_pki_remove(pki);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link_kill");
    TCase *t = tcase_create("link_kill");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_peers_killed_under_traffic, 0, TRANSPORTS);
    suite_add_tcase(s, t);
    return check_main(s);
}
