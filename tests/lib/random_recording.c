/* SPDX-License-Identifier: MIT */
#include "tests/lib/random_recording.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

static void text(uint64_t *rng, char *buf, size_t cap)
{
    static const char *const words[] = {"a", "\"", "'", "\\", ";--", "gr\xc3\xbc\xc3\x9f",
                                        " ", ","};
    size_t len = 0;
    buf[0] = '\0';
    for (uint64_t i = check_below(rng, 9); i > 0; i--) {
        const char *word = words[check_below(rng, sizeof words / sizeof words[0])];
        if (len + strlen(word) < cap)
            len += (size_t)snprintf(buf + len, cap - len, "%s", word);
    }
}

static char *owned(uint64_t *rng)
{
    char buf[100];
    if (check_below(rng, 3) == 0)
        return NULL;
    text(rng, buf, sizeof buf);
    if (buf[0] == '\0') /* in a database none and empty are told apart, in a form they need not */
        strcpy(buf, "x");
    return mem_strdup(buf);
}

/* Often at an end of what there is. */
static uint64_t number(uint64_t *rng)
{
    static const uint64_t ends[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    return check_below(rng, 2) == 0 ? ends[check_below(rng, 5)] : check_random(rng);
}

static double real(uint64_t *rng)
{
    return (double)check_random(rng) / (double)(1 + check_random(rng) / 3);
}

static void fill_drift(uint64_t *rng, struct drift *d)
{
    d->first = (struct drift_point){number(rng), (int64_t)number(rng), number(rng)};
    d->last = (struct drift_point){number(rng), (int64_t)number(rng), number(rng)};
    d->windows = (uint32_t)number(rng);
    d->max_ns = (int64_t)number(rng);
    d->max_error_ns = number(rng);
    d->window_ns = number(rng);
    d->open.rtt_ns = number(rng);
    d->open.offset_ns = (int64_t)number(rng);
    d->open.good = (uint32_t)number(rng);
    d->open_at_ns = number(rng);
}

static void fill_loss(uint64_t *rng, struct loss *l)
{
    uint64_t *const numbers[] = {&l->at_ns, &l->last_seq,        &l->last_to_ns, &l->scheduled,
                                 &l->open,  &l->first_index,     &l->last_index, &l->overlap,
                                 &l->count, &l->taken_over_from, &l->taken_ns};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        *numbers[i] = number(rng);
    l->any = check_below(rng, 2);
    l->collected = check_below(rng, 2);
    l->share = real(rng);
}

static void fill_agent(uint64_t *rng, struct result_agent *a)
{
    text(rng, a->name, sizeof a->name);
    text(rng, a->address, sizeof a->address);
    text(rng, a->version, sizeof a->version);
    text(rng, a->problem, sizeof a->problem);
    a->state = (enum result_agent_state)check_below(rng, RESULT_REFUSED + 1);
    a->weight = (uint32_t)number(rng);
    a->threads = (uint32_t)number(rng);
    a->clock = (uint32_t)number(rng);
    a->connections = (uint32_t)number(rng);
    bool *const flags[] = {&a->insecure, &a->same_clock,     &a->started,     &a->checked,
                           &a->left_out, &a->outlier.tested, &a->outlier.any, &a->outlier.pair};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        *flags[i] = check_below(rng, 2);
    a->clock_offset_ns = (int64_t)number(rng);
    a->clock_error_ns = number(rng);
    a->start_error_ns = (int64_t)number(rng);
    a->times_late = (uint32_t)number(rng);
    a->longest_late_ns = number(rng);
    a->outlier.percentile = real(rng);
    a->outlier.here_ns = number(rng);
    a->outlier.others_ns = number(rng);
    fill_drift(rng, &a->drift);
    fill_loss(rng, &a->loss);
}

struct recording *random_recording(uint64_t *rng, size_t n_agents)
{
    struct recording *r = mem_calloc(1, sizeof *r);
    snprintf(r->run_id, sizeof r->run_id, "%016lx%016lx", (unsigned long)check_random(rng),
             (unsigned long)check_random(rng));
    snprintf(r->plan_id, sizeof r->plan_id, "%016lx", (unsigned long)check_random(rng));
    text(rng, r->name, sizeof r->name);
    text(rng, r->boot_id, sizeof r->boot_id);
    strcpy(r->version, "0.1.0");
    strcpy(r->status, "valid");
    char **const texts[] = {&r->description, &r->tags,    &r->environment, &r->secrets, &r->redact,
                            &r->abort_on,    &r->aborted, &r->takeover,    &r->slo,     &r->totals};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = owned(rng);
    r->started_wall_ns = check_random(rng) >> 1;
    r->ended_wall_ns = check_random(rng) >> 1;
    r->interval_ns = check_random(rng) >> 1;
    r->lost_rows = check_random(rng) >> 1;
    r->pid = (uint32_t)check_random(rng);
    r->exit_code = (int)check_below(rng, 200);
    r->interrupted = check_below(rng, 2);
    r->no_target = check_below(rng, 2);
    r->takeover_late = check_below(rng, 2);
    r->plan_len = 1 + check_below(rng, 200);
    r->plan = mem_calloc(r->plan_len, 1);
    for (size_t i = 0; i < r->plan_len; i++)
        r->plan[i] = (uint8_t)check_random(rng);
    r->n_agents = n_agents;
    r->agents = mem_calloc(n_agents + 1, sizeof *r->agents);
    for (size_t i = 0; i < n_agents; i++)
        fill_agent(rng, &r->agents[i]);
    return r;
}

static void same_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        ck_assert_ptr_eq(a, b);
    else
        ck_assert_str_eq(a, b);
}

static void same_numbers(const struct recording *a, const struct recording *b)
{
    ck_assert_uint_eq(a->started_wall_ns, b->started_wall_ns);
    ck_assert_uint_eq(a->ended_wall_ns, b->ended_wall_ns);
    ck_assert_uint_eq(a->interval_ns, b->interval_ns);
    ck_assert_uint_eq(a->lost_rows, b->lost_rows);
    ck_assert_uint_eq(a->pid, b->pid);
    ck_assert_int_eq(a->exit_code, b->exit_code);
    ck_assert_int_eq(a->interrupted, b->interrupted);
    ck_assert_int_eq(a->no_target, b->no_target);
    ck_assert_int_eq(a->takeover_late, b->takeover_late);
}

/* All of them were zeroed before they were filled, so that the bytes between members agree too. */
static void same_agent(const struct result_agent *a, const struct result_agent *b)
{
    ck_assert_str_eq(a->name, b->name);
    ck_assert_str_eq(a->address, b->address);
    ck_assert_str_eq(a->version, b->version);
    ck_assert_str_eq(a->problem, b->problem);
    struct result_agent x = *a, y = *b;
    struct result_agent *const both[] = {&x, &y};
    for (size_t i = 0; i < 2; i++) {
        memset(both[i]->name, 0, sizeof x.name);
        memset(both[i]->address, 0, sizeof x.address);
        memset(both[i]->version, 0, sizeof x.version);
        memset(both[i]->problem, 0, sizeof x.problem);
    }
    ck_assert_mem_eq(&x, &y, sizeof x);
}

void assert_same_recording(const struct recording *a, const struct recording *b)
{
    const char *const left[] = {a->run_id,      a->name,    a->plan_id,     a->version,
                                a->boot_id,     a->status,  a->description, a->tags,
                                a->environment, a->secrets, a->redact,      a->abort_on,
                                a->slo,         a->aborted, a->takeover,    a->totals};
    const char *const right[] = {b->run_id,      b->name,    b->plan_id,     b->version,
                                 b->boot_id,     b->status,  b->description, b->tags,
                                 b->environment, b->secrets, b->redact,      b->abort_on,
                                 b->slo,         b->aborted, b->takeover,    b->totals};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        same_text(left[i], right[i]);
    same_numbers(a, b);
    ck_assert_uint_eq(a->plan_len, b->plan_len);
    if (a->plan_len > 0)
        ck_assert_mem_eq(a->plan, b->plan, a->plan_len);
    ck_assert_uint_eq(a->n_agents, b->n_agents);
    for (size_t i = 0; i < a->n_agents; i++)
        same_agent(&a->agents[i], &b->agents[i]);
}
