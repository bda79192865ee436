/* SPDX-License-Identifier: MIT */
#include "tests/lib/worker_rig.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/engine/recorder.h"
#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "tests/lib/tap_client.h"

static void on_letter(void *arg, struct letter *l)
{
    struct worker_rig *r = arg;
    if (r->dropping)
        return;
    if (l->kind == WORKER_PREPARED)
        r->prepared++;
    if (l->kind == WORKER_PART) {
        struct part *p = (struct part *)(void *)((char *)l - offsetof(struct part, letter));
        r->finals += p->final;
        ck_assert_int_eq(part_add_to(p, r->total), ERR_OK);
        worker_give(r->workers[p->worker], p);
    }
}

static void turn_until(struct worker_rig *r, const uint32_t *value, uint32_t wanted, uint64_t ms)
{
    uint64_t until = clock_mono_ns() + ms * NS_PER_MS;
    while (*value < wanted) {
        ck_assert_msg(clock_mono_ns() < until, "%u of %u", *value, wanted);
        struct timespec nap = {0, 1000000};
        loop_turn(r->loop, 0);
        nanosleep(&nap, NULL);
    }
}

static void compile_request(struct worker_rig *r, const char *url)
{
    struct plan plan;
    struct url_parts parts;
    struct errmsg msg = {{0}};
    plan_defaults(&plan);
    plan.url = mem_strdup(url);
    plan.rate = (struct rate){1, 1};
    plan.rate_set = true;
    setenv("HAMMER_TEST_INDEX", "1", 1);
    ck_assert_msg(plan_check(&plan, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(url_parse(url, &parts, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(target_resolve(parts.host, parts.port, &r->target, &msg) == ERR_OK, "%s",
                  msg.text);
    ck_assert_msg(request_compile(&plan, &parts, &r->request, &msg) == ERR_OK, "%s", msg.text);
    r->items[0] = &r->target;
    r->targets = (struct targets){1, r->items};
    r->requests = (struct reqset){.n = 1, .requests = &r->request};
    url_clear(&parts);
    plan_clear(&plan);
}

/* Worker i's part of the whole. */
static struct share share_of(const struct worker_rig_plan *plan, uint32_t i)
{
    if (plan->workers == 1)
        return (struct share){1, 0, 1, 1, 0};
    return (struct share){3, i < 2 ? 0 : 1, i < 2 ? 1 : 2, 2, i % 2};
}

static void start_worker(struct worker_rig *r, const struct worker_rig_plan *plan, uint32_t i)
{
    struct errmsg msg = {{0}};
    struct share share = share_of(plan, i);
    struct worker_config cfg = {.number = i,
                                .ops = tap_ops(),
                                .targets = &r->targets,
                                .requests = &r->requests,
                                .connections = plan->connections,
                                .timeout_ns = plan->timeout_ns,
                                .interval_ns = 100 * NS_PER_MS,
                                .reports = r->reports};
    ck_assert_int_eq(
        schedule_init(&cfg.schedule, &plan->rate, &share, plan->duration_ns, UINT64_MAX, &msg),
        ERR_OK);
    ck_assert_msg(worker_start(&cfg, &r->workers[i], &msg) == ERR_OK, "%s", msg.text);
}

static size_t count_tags(const struct worker_rig_plan *plan)
{
    struct share whole = {1, 0, 1, 1, 0};
    struct schedule single;
    ck_assert_int_eq(
        schedule_init(&single, &plan->rate, &whole, plan->duration_ns, UINT64_MAX, NULL), ERR_OK);
    return single.count;
}

/* "<ran> <runnable but not running> <slices>" of a thread, ns. */
static uint64_t stolen_from(const char *task)
{
    char path[96];
    unsigned long ran, waited = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", task);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%lu %lu", &ran, &waited) != 2)
        waited = 0;
    fclose(f);
    return waited;
}

/* Of every thread but this one. */
static uint64_t stolen_from_workers(void)
{
    uint64_t sum_ns = 0;
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *d;
    while (tasks != NULL && (d = readdir(tasks)) != NULL)
        if (d->d_name[0] != '.' && atol(d->d_name) != (long)getpid())
            sum_ns += stolen_from(d->d_name);
    if (tasks != NULL)
        closedir(tasks);
    return sum_ns;
}

void worker_rig_run(struct worker_rig *r, const char *url, const struct worker_rig_plan *plan)
{
    struct errmsg msg = {{0}};
    *r = (struct worker_rig){.total = snapshot_new(), .n = plan->workers, .tags = count_tags(plan)};
    ck_assert(r->n == 1 || r->n == WORKER_RIG_MAX);
    ck_assert_int_eq(loop_new(&r->loop, &msg), ERR_OK);
    ck_assert_int_eq(mailbox_new(r->loop, on_letter, r, &r->reports, &msg), ERR_OK);
    compile_request(r, url);
    tap_begin(r->tags);
    for (uint32_t i = 0; i < r->n; i++)
        start_worker(r, plan, i);
    turn_until(r, &r->prepared, r->n, 20000);
    r->t0 = clock_mono_ns() + 50 * NS_PER_MS;
    for (uint32_t i = 0; i < r->n; i++)
        worker_arm(r->workers[i], r->t0);
    turn_until(r, &r->finals, r->n, plan->duration_ns / NS_PER_MS + 60000);
    r->stolen_ns = stolen_from_workers();
}

void worker_rig_close(struct worker_rig *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        worker_join(r->workers[i]);
    r->dropping = true;
    mailbox_free(r->reports);
    for (uint32_t i = 0; i < r->n; i++)
        worker_free(r->workers[i]);
    loop_free(r->loop);
    request_clear(&r->request);
    snapshot_free(r->total);
    tap_end();
}
