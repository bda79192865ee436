/* SPDX-License-Identifier: MIT */
/*
 * A number of requests and nothing else, for callgrind to count the instructions of; see
 * instructions beside it.
 *   null   the engine on a virtual clock, open loop, no sockets
 *   h1     one load thread, one real connection, closed loop; the server is another process
 *   h1-new the same, but no two header blocks in a row are the same
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/client/client_h1.h"
#include "agent/client/client_null.h"
#include "agent/engine/engine.h"
#include "agent/engine/worker.h"
#include "common/clock.h"
#include "common/loop.h"
#include "common/mailbox.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "proto/url.h"
#include "tests/bench/lib/net.h"

#define RATE       1000
#define ANSWER_NS  (300 * NS_PER_US)
#define TIMEOUT_NS (30 * NS_PER_SEC)
#define INTERVAL   (3600 * NS_PER_SEC)

static void must(enum err e, const struct errmsg *msg)
{
    if (e == ERR_OK)
        return;
    fprintf(stderr, "bench-instructions: %s\n", msg->text);
    exit(1);
}

static struct schedule schedule(uint64_t rate, uint64_t requests)
{
    struct schedule s;
    struct errmsg msg;
    struct rate r = {.num = rate, .den = 1};
    struct share all = {.total = 1, .weight = 1, .threads = 1};
    must(schedule_init(&s, &r, &all, NS_NEVER, requests, &msg), &msg);
    return s;
}

/* --- null ------------------------------------------------------------------------------------- */

struct answer {
    uint64_t tag, at_ns; /* NS_NEVER = nothing in flight */
};

static void on_submitted(void *arg, uint64_t tag, uint64_t due_ns, uint64_t sent_ns)
{
    (void)due_ns;
    *(struct answer *)arg = (struct answer){tag, sent_ns + ANSWER_NS};
}

static uint64_t run_null(uint64_t requests)
{
    struct errmsg msg;
    struct engine *e;
    struct answer next = {0, NS_NEVER};
    struct client_null_hooks hooks = {.arg = &next, .submitted = on_submitted};
    struct recorder *recorder = recorder_new(0, series_map_one());
    struct engine_config cfg = {.schedule = schedule(RATE, requests),
                                .ops = client_null_ops(),
                                .env = {.connections = 10},
                                .recorder = recorder,
                                .timeout_ns = TIMEOUT_NS};
    must(engine_new(&cfg, &e, &msg), &msg);
    client_null_set_hooks(engine_client(e), &hooks);
    engine_open(e, 1);
    engine_pump(e, 1);
    engine_start(e, NS_PER_SEC);
    while (engine_phase(e) != ENGINE_ENDED) {
        uint64_t wake_ns = engine_wake(e), at_ns = next.at_ns;
        if (at_ns < wake_ns) {
            next.at_ns = NS_NEVER;
            client_null_complete(engine_client(e), next.tag, 200, at_ns);
        } else {
            engine_pump(e, wake_ns);
        }
    }
    uint64_t ok = recorder_take(recorder, true)->rows[0].counters.ok;
    engine_free(e);
    recorder_free(recorder);
    return ok;
}

/* --- h1 --------------------------------------------------------------------------------------- */

#define ANSWER(server)                                                                             \
    "HTTP/1.1 200 OK\r\nServer: " server "\r\nContent-Type: text/plain\r\n"                        \
    "Content-Length: 13\r\n\r\nHello, world!"

/* One connection, one answer a request, until the client hangs up. */
static _Noreturn void serve(int listener, bool changing)
{
    static const char answers[2][sizeof ANSWER("bench")] = {ANSWER("bench"), ANSWER("other")};
    unsigned n = 0;
    char buf[4096];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd;
    do /* the listener does not block */
        fd = accept(listener, NULL, NULL);
    while (fd < 0 && usleep(1000) == 0);
    while (recv(fd, buf, sizeof buf, 0) > 0) {
        const char *answer = answers[changing ? n++ % 2 : 0];
        if (send(fd, answer, sizeof answers[0] - 1, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

struct boss {
    struct worker *worker;
    uint64_t ok;
    bool ended;
};

static void on_report(void *arg, struct letter *l)
{
    struct boss *b = arg;
    if (l->kind == WORKER_PREPARED)
        worker_arm(b->worker, clock_mono_ns());
    if (l->kind != WORKER_PART)
        return;
    struct part *p = (struct part *)(void *)l;
    b->ok += p->rows[0].counters.ok;
    b->ended |= p->final;
    worker_give(b->worker, p);
}

static struct request compile(const char *url)
{
    struct plan plan = {.method = mem_strdup("GET")};
    struct url_parts parts;
    struct request request;
    struct errmsg msg;
    must(url_parse(url, &parts, &msg), &msg);
    must(request_compile(&plan, &parts, &request, &msg), &msg);
    url_clear(&parts);
    mem_free(plan.method);
    return request;
}

static uint64_t run_h1(uint64_t requests, bool changing)
{
    struct errmsg msg;
    struct boss boss = {0};
    struct loop *loop;
    struct mailbox *reports;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = net_listen(&address, false);
    pid_t server = fork();
    if (server == 0)
        serve(listener, changing);
    struct target target = {.n = 1};
    memcpy(&target.addrs[0].sa, &address, sizeof address);
    target.addrs[0].len = sizeof address;
    struct request request = compile("http://127.0.0.1/");
    must(loop_new(&loop, &msg), &msg);
    must(mailbox_new(loop, on_report, &boss, &reports, &msg), &msg);
    const struct target *items[] = {&target};
    struct targets targets = {1, items};
    struct reqset set = {.n = 1, .requests = &request};
    struct worker_config cfg = {.schedule = schedule(0, requests),
                                .ops = client_h1_ops(),
                                .targets = &targets,
                                .requests = &set,
                                .connections = 1,
                                .timeout_ns = TIMEOUT_NS,
                                .interval_ns = INTERVAL,
                                .reports = reports};
    must(worker_start(&cfg, &boss.worker, &msg), &msg);
    while (!boss.ended)
        loop_turn(loop, 1);
    worker_join(boss.worker);
    mailbox_free(reports);
    worker_free(boss.worker);
    loop_free(loop);
    request_clear(&request);
    waitpid(server, NULL, 0);
    return boss.ok;
}

static uint64_t run_h1_same(uint64_t requests)
{
    return run_h1(requests, false);
}

static uint64_t run_h1_new(uint64_t requests)
{
    return run_h1(requests, true);
}

static const struct {
    const char *name;
    uint64_t (*run)(uint64_t requests); /* how many were answered */
} kinds[] = {{"null", run_null}, {"h1", run_h1_same}, {"h1-new", run_h1_new}};

int main(int argc, char **argv)
{
    uint64_t requests = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (requests == 0 || requests > 1000000 || strcmp(argv[1], kinds[i].name) != 0)
            continue;
        uint64_t ok = kinds[i].run(requests);
        if (ok == requests)
            return 0;
        fprintf(stderr, "bench-instructions: %lu of %lu requests were answered\n",
                (unsigned long)ok, (unsigned long)requests);
        return 1;
    }
    fprintf(stderr, "usage: bench-instructions null|h1|h1-new REQUESTS (1 to 1000000)\n");
    return 1;
}
