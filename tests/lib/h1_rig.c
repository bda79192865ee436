/* SPDX-License-Identifier: MIT */
#include "tests/lib/h1_rig.h"

#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/client/client_h1.h"
#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/process.h"

/* check's own assertions allocate and write to a pipe each time; these run per request. */
#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond))                                                                               \
            ck_abort_msg("does not hold: %s", #cond);                                              \
    } while (0)

struct target h1_rig_target(const uint16_t *ports, size_t n)
{
    struct target t = {.n = n};
    for (size_t i = 0; i < n; i++) {
        struct sockaddr_in sa = {.sin_family = AF_INET,
                                 .sin_port = htons(ports[i]),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        memcpy(&t.addrs[i].sa, &sa, sizeof sa);
        t.addrs[i].len = sizeof sa;
    }
    return t;
}

struct request h1_rig_request(const char *method, const char *path, size_t body)
{
    struct plan p = {.method = mem_strdup(method)};
    char url[256];
    struct url_parts u;
    struct request r;
    struct errmsg msg;
    snprintf(url, sizeof url, "http://localhost%s", path);
    ck_assert_int_eq(url_parse(url, &u, &msg), ERR_OK);
    if (body > 0) {
        p.body = mem_calloc(body, 1);
        p.body_len = body;
        memset(p.body, 'b', body);
    }
    ck_assert_int_eq(request_compile(&p, &u, &r, &msg), ERR_OK);
    url_clear(&u);
    mem_free(p.body);
    mem_free(p.method);
    return r;
}

static void check_result(const struct h1_rig *r, const struct client_result *res)
{
    MUST(r->started);
    MUST(res->tag < r->submitted);
    MUST(res->due_ns == res->tag + 1);
    MUST(res->sent_ns > 1000);
    MUST(res->done_ns >= res->sent_ns);
    MUST(res->attempts == 1 || res->attempts == 2);
    MUST((res->outcome == OUTCOME_OK) == (res->status != 0));
    if (r->env.rules.phases && res->outcome == OUTCOME_OK)
        MUST(res->handed_ns >= res->sent_ns && res->done_ns >= res->first_byte_ns &&
             res->first_byte_ns >= res->handed_ns);
    MUST(res->receive_ns == UINT64_MAX || res->receive_ns < 20 * NS_PER_SEC);
}

static void on_done(void *arg, const struct client_result *res)
{
    struct h1_rig *r = arg;
    check_result(r, res);
    uint32_t slots = r->env.connections;
    if (slots < r->env.rules.max_connections)
        slots = r->env.rules.max_connections;
    MUST(r->ops->idle(r->client) + r->ops->in_flight(r->client) < slots);
    if (res->tag < RIG_RESULTS_MAX) {
        MUST(r->results[res->tag].sent_ns == 0); /* exactly once */
        r->results[res->tag] = *res;
    }
    r->last = *res;
    r->outcomes[res->outcome]++;
    r->completed++;
}

static void on_ready(void *arg, uint64_t now_ns)
{
    struct h1_rig *r = arg;
    MUST(r->started);
    MUST(now_ns > 0);
    MUST(r->ops->idle(r->client) > 0);
    r->readies++;
}

static void on_fault(void *arg, enum client_fault f, int code)
{
    struct h1_rig *r = arg;
    MUST(r->started);
    r->faults[f]++;
    r->fault_code = code;
}

static void on_shaken(void *arg, const struct conn_handshake *h)
{
    struct h1_rig *r = arg;
    MUST(r->started);
    MUST(h->took_ns > 0 && h->version != NULL && h->cipher != NULL);
    r->handshakes++;
    r->resumed += h->resumed;
    r->handshake = *h;
}

static void on_opened(void *arg, uint64_t took_ns)
{
    struct h1_rig *r = arg;
    MUST(r->started && r->env.rules.phases);
    r->opened++;
    r->opened_ns = took_ns;
}

static void on_first(void *arg, uint64_t done_ns, uint64_t body_bytes, const char *server)
{
    struct h1_rig *r = arg;
    MUST(r->started && r->firsts == 0 && done_ns > 0);
    r->firsts++;
    r->document_bytes = body_bytes;
    snprintf(r->server, sizeof r->server, "%s", server);
}

static void on_timer(void *arg)
{
    (void)arg;
}

void h1_rig_init(struct h1_rig *r, const struct h1_rig_config *cfg)
{
    struct errmsg msg;
    memset(r, 0, sizeof *r);
    r->request = cfg->request;
    r->target = cfg->target;
    r->target.tls = cfg->tls;
    MUST(cfg->n_others < RIG_TARGETS_MAX);
    for (size_t i = 0; i <= cfg->n_others; i++) {
        r->items[i] = i == 0 ? &r->target : &cfg->others[i - 1];
        r->aimed[i] = r->request;
        r->aimed[i].origin = (uint32_t)i;
    }
    r->targets = (struct targets){1 + cfg->n_others, r->items};
    r->requests = (struct reqset){.n = 1 + cfg->n_others, .requests = r->aimed};
    r->requests.origins = cfg->origins;
    r->requests.n_origins = cfg->origins != NULL ? 1 + cfg->n_others : 0;
    r->requests.pick.n = (uint32_t)r->requests.n;
    r->ops = client_h1_ops();
    ck_assert_int_eq(loop_new(&r->loop, &msg), ERR_OK);
    r->timer = loop_timer_new(r->loop, on_timer, r);
    r->env = (struct client_env){
        .loop = r->loop,
        .targets = &r->targets,
        .requests = &r->requests,
        .connections = cfg->connections == 0 ? 1 : cfg->connections,
        .timeout_ns = (cfg->timeout_ms == 0 ? 10 * RIG_LIMIT_MS : cfg->timeout_ms) * NS_PER_MS,
        .arg = r,
        .done = on_done,
        .ready = on_ready,
        .fault = on_fault,
        .shaken = on_shaken,
        .opened = on_opened,
        .first = on_first,
        .rules = cfg->rules,
    };
    r->client = mem_calloc(1, r->ops->state_size);
    ck_assert_int_eq(r->ops->init(r->client, &r->env, &msg), ERR_OK);
    r->started = true;
}

void h1_rig_open(struct h1_rig *r, const struct h1_rig_config *cfg)
{
    h1_rig_init(r, cfg);
    r->ops->open(r->client, clock_mono_ns());
}

void h1_rig_close(struct h1_rig *r)
{
    r->ops->stop(r->client, clock_mono_ns());
    ck_assert_uint_eq(r->completed, r->submitted);
    ck_assert_uint_eq(r->ops->in_flight(r->client), 0);
    ck_assert_uint_eq(r->ops->idle(r->client), 0);
    ck_assert_uint_eq(r->ops->connected(r->client), 0);
    ck_assert_uint_eq(r->ops->deadline(r->client), NS_NEVER);
    r->started = false;
    h1_rig_turn(r, 0); /* no callback afterwards */
    r->ops->fini(r->client);
    mem_free(r->client);
    loop_timer_free(r->timer);
    loop_free(r->loop);
    request_clear(&r->request);
}

void h1_rig_turn(struct h1_rig *r, uint64_t ms)
{
    uint64_t now = clock_mono_ns(), wake = now + ms * NS_PER_MS;
    uint64_t deadline = r->ops->deadline(r->client);
    if (deadline <= now)
        r->ops->expire(r->client, now);
    deadline = r->ops->deadline(r->client);
    MUST(deadline > now); /* expire leaves nothing behind */
    loop_timer_at(r->timer, deadline < wake ? deadline : wake);
    loop_turn(r->loop, ms > 0);
    r->ops->traffic(r->client, &r->traffic);
}

void h1_rig_expire(struct h1_rig *r)
{
    r->ops->expire(r->client, r->ops->deadline(r->client));
}

static uint64_t wait_limit(void)
{
    return clock_mono_ns() + (process_sanitized() ? 4u : 1u) * RIG_LIMIT_MS * NS_PER_MS;
}

void h1_rig_wait(struct h1_rig *r, const uint64_t *value, uint64_t at_least)
{
    uint64_t limit = wait_limit();
    while (*value < at_least) {
        if (clock_mono_ns() >= limit)
            ck_abort_msg("still %lu, not %lu", (unsigned long)*value, (unsigned long)at_least);
        h1_rig_turn(r, 100);
    }
}

void h1_rig_wait_idle(struct h1_rig *r, uint32_t idle)
{
    uint64_t limit = wait_limit();
    while (r->ops->idle(r->client) < idle) {
        if (clock_mono_ns() >= limit)
            ck_abort_msg("never %u idle", idle);
        h1_rig_turn(r, 100);
    }
}

void h1_rig_submit(struct h1_rig *r)
{
    uint64_t tag = r->submitted++;
    MUST(r->ops->idle(r->client) > 0);
    r->ops->submit(r->client, tag, tag + 1, clock_mono_ns());
}

void h1_rig_run(struct h1_rig *r, uint64_t n)
{
    uint64_t limit = wait_limit(), end = r->submitted + n;
    while (r->completed < end) {
        while (r->submitted < end && r->ops->idle(r->client) > 0)
            h1_rig_submit(r);
        if (clock_mono_ns() >= limit)
            ck_abort_msg("%lu of %lu results", (unsigned long)r->completed, (unsigned long)end);
        h1_rig_turn(r, 100);
    }
}
