/* SPDX-License-Identifier: MIT */
#include "controller/store/replay_merge.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/store/recording_plan.h"
#include "controller/store/replay_core.h"

#define SOURCES     "merged_from" /* in the environment */
#define SOURCES_MAX 4096
#define MERGED_TAG  "merged"
#define ID_DIGITS   32
#define PREFIX      8

/* --- order and sources ------------------------------------------------------------------------ */

bool replay_merge_before(const struct recording *a, const struct recording *b)
{
    if (a->started_wall_ns != b->started_wall_ns)
        return a->started_wall_ns < b->started_wall_ns;
    return strcmp(a->run_id, b->run_id) < 0;
}

char (*replay_merge_sources(const struct recording *r, size_t *n))[33]
{
    json_t *env = r->environment != NULL ? json_loads(r->environment, 0, NULL) : NULL;
    json_t *list = json_object_get(env, SOURCES);
    size_t count = json_array_size(list) < SOURCES_MAX ? json_array_size(list) : SOURCES_MAX;
    char(*ids)[33] = mem_calloc(count + 1, sizeof *ids);
    *n = 0;
    for (size_t i = 0; i < count; i++) {
        const char *id = json_string_value(json_array_get(list, i));
        if (id != NULL && strlen(id) == ID_DIGITS)
            memcpy(ids[(*n)++], id, ID_DIGITS + 1);
    }
    if (*n == 0)
        snprintf(ids[(*n)++], sizeof *ids, "%s", r->run_id);
    json_decref(env);
    return ids;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The ids of all that is in the merged run, sorted; each once. */
static enum err list_sources(struct recording *const *all, size_t n, struct recording *into,
                             struct errmsg *msg)
{
    char(*ids)[33] = NULL;
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        size_t more;
        char(*some)[33] = replay_merge_sources(all[i], &more);
        ids = mem_realloc(ids, total + more, sizeof *ids);
        memcpy(ids + total, some, more * sizeof *ids);
        total += more;
        mem_free(some);
    }
    qsort(ids, total, sizeof *ids, by_id);
    enum err e = ERR_OK;
    json_t *env = json_object(), *list = json_array();
    for (size_t i = 0; i < total && e == ERR_OK; i++) {
        json_array_append_new(list, json_string(ids[i]));
        if (i > 0 && strcmp(ids[i - 1], ids[i]) == 0)
            e = errmsg_set(msg, ERR_INVALID,
                           "run %.8s is among them twice: its figures would count twice", ids[i]);
    }
    json_object_set_new(env, SOURCES, list);
    char *text = json_dumps(env, JSON_COMPACT);
    into->environment = mem_strdup(text);
    free(text); /* jansson's */
    json_decref(env);
    mem_free(ids);
    return e;
}

static int digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c >= 'A' ? c - 'A' + 10 : c - '0';
}

/* Random ids stay random when they are combined bit by bit, and no order is in it. */
static void combine_ids(struct recording *const *all, size_t n, char id[33])
{
    memset(id, '0', ID_DIGITS);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ID_DIGITS && all[i]->run_id[k] != '\0'; k++)
            id[k] = "0123456789abcdef"[(digit(id[k]) ^ digit(all[i]->run_id[k])) & 15];
    id[ID_DIGITS] = '\0';
}

/* --- the load --------------------------------------------------------------------------------- */

struct differences {
    char text[REPLAY_DIFFER - 100];
};

static void differs(struct differences *d, const char *what)
{
    size_t len = strlen(d->text);
    if (strstr(d->text, what) == NULL)
        snprintf(d->text + len, sizeof d->text - len, "%s%s", len > 0 ? ", " : "", what);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* false: the sum is no rate that a plan may have. */
static bool add_rate(struct rate *a, const struct rate *b)
{
    unsigned __int128 den = (unsigned __int128)a->den * b->den;
    unsigned __int128 num = (unsigned __int128)a->num * b->den + (unsigned __int128)b->num * a->den;
    uint64_t shared = common_divisor(a->den, b->den);
    den /= shared;
    num /= shared;
    if (den > RATE_DEN_MAX || num > (unsigned __int128)RATE_MAX * den)
        return false;
    uint64_t again = common_divisor((uint64_t)num, (uint64_t)den);
    *a = (struct rate){(uint64_t)num / again, (uint64_t)den / again};
    return true;
}

/* What remains is the load but for how much of it there is. */
static enum err shape(const struct plan *p, uint8_t **bytes, size_t *len)
{
    struct plan copy;
    const struct rate one = {1, 1};
    enum err e = plan_copy(&copy, p);
    if (e != ERR_OK)
        return e;
    option_list_clear(&copy.given);
    copy.rate_per_agent = (struct rate){0, 1};
    if (copy.rate.num > 0)
        copy.rate = one;
    for (uint32_t i = 0; i < copy.n_stages; i++)
        copy.stages[i].from = copy.stages[i].to = one;
    if (copy.requests != UINT64_MAX)
        copy.requests = 1;
    copy.connections = copy.threads = copy.max_connections = 0;
    copy.seed = PLAN_SEED_DEFAULT;
    e = plan_encode(&copy, bytes, len);
    plan_clear(&copy);
    return e;
}

static bool same_shape(const struct plan *a, const struct plan *b)
{
    uint8_t *x = NULL, *y = NULL;
    size_t x_len = 0, y_len = 0;
    bool same = shape(a, &x, &x_len) == ERR_OK && shape(b, &y, &y_len) == ERR_OK &&
                x_len == y_len && memcmp(x, y, x_len) == 0;
    mem_free(x);
    mem_free(y);
    return same;
}

static bool same_stages(const struct plan *a, const struct plan *b)
{
    bool same = a->n_stages == b->n_stages;
    for (uint32_t i = 0; same && i < a->n_stages; i++)
        same = a->stages[i].duration_ns == b->stages[i].duration_ns;
    return same;
}

static void name_differences(const struct plan *a, const struct plan *b, struct differences *d)
{
    size_t before = strlen(d->text);
    if (!same_text(a->url, b->url))
        differs(d, "URL");
    if (!same_text(a->method, b->method))
        differs(d, "method");
    if ((a->rate.num == 0) != (b->rate.num == 0))
        differs(d, "open or closed loop");
    if (!same_stages(a, b))
        differs(d, "stages");
    if (a->duration_ns != b->duration_ns)
        differs(d, "duration");
    if ((a->requests == UINT64_MAX) != (b->requests == UINT64_MAX))
        differs(d, "number of requests");
    if (a->arrivals != b->arrivals || a->jitter != b->jitter)
        differs(d, "arrivals");
    if (a->timeout_ns != b->timeout_ns)
        differs(d, "timeout");
    if (a->warmup_ns != b->warmup_ns)
        differs(d, "warm-up");
    if (a->n_entries != b->n_entries)
        differs(d, "requests");
    if (a->body_len != b->body_len ||
        (a->body_len > 0 && memcmp(a->body, b->body, a->body_len) != 0))
        differs(d, "body");
    if (a->headers.n != b->headers.n)
        differs(d, "headers");
    if (strlen(d->text) == before)
        differs(d, "options");
}

/* Equal loads add up. */
static void add_plan(struct plan *into, const struct plan *p, struct differences *d)
{
    bool fits = same_stages(into, p);
    if (!same_shape(into, p))
        name_differences(into, p, d);
    if ((into->rate.num == 0) != (p->rate.num == 0) || !fits)
        return;
    if (into->rate.num > 0 && !add_rate(&into->rate, &p->rate))
        differs(d, "rate");
    for (uint32_t i = 0; i < into->n_stages; i++)
        if (!add_rate(&into->stages[i].from, &p->stages[i].from) ||
            !add_rate(&into->stages[i].to, &p->stages[i].to))
            differs(d, "rate");
    if (into->n_stages > 0)
        into->rate = plan_stages_peak(into);
    if (into->requests != UINT64_MAX && p->requests != UINT64_MAX)
        into->requests = clock_add(into->requests, p->requests);
    if (p->duration_ns > into->duration_ns && into->n_stages == 0)
        into->duration_ns = p->duration_ns;
}

static enum err merge_plans(struct recording *const *all, size_t n, struct recording *into,
                            struct differences *d, struct errmsg *msg)
{
    struct replay_parts sum;
    enum err e = replay_parts_read(&sum, all[0], msg);
    for (size_t i = 1; i < n && e == ERR_OK; i++) {
        struct replay_parts one;
        e = replay_parts_read(&one, all[i], msg);
        if (e == ERR_OK)
            add_plan(&sum.plan, &one.plan, d);
        replay_parts_clear(&one);
    }
    sum.plan.rate_per_agent = (struct rate){0, 1};
    if (e == ERR_OK) {
        e = recording_take_plan(into, &sum.plan, into->redact);
        if (e != ERR_OK)
            errmsg_set(msg, e, "the plan of the merged run: %s", err_str(e));
    }
    replay_parts_clear(&sum);
    return e;
}

/* --- agents ----------------------------------------------------------------------------------- */

static bool taken(struct recording *const *all, size_t n, size_t i, const char *name)
{
    for (size_t k = 0; k < n; k++)
        for (size_t a = 0; k != i && a < all[k]->n_agents; a++)
            if (strcmp(all[k]->agents[a].name, name) == 0)
                return true;
    return false;
}

static void merge_agents(struct recording *const *all, size_t n, struct recording *into)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += all[i]->n_agents;
    into->agents = mem_calloc(total + 1, sizeof *into->agents);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < all[i]->n_agents; k++) {
            struct result_agent *a = &into->agents[into->n_agents++];
            const char *name = all[i]->agents[k].name;
            *a = all[i]->agents[k];
            if (taken(all, n, i, name))
                snprintf(a->name, sizeof a->name, "%.*s/%.*s", PREFIX, all[i]->run_id,
                         (int)sizeof a->name - PREFIX - 2, name);
        }
}

/* --- the rest --------------------------------------------------------------------------------- */

static bool same_everywhere(struct recording *const *all, size_t n, size_t offset)
{
    for (size_t i = 1; i < n; i++)
        if (!same_text(*(char *const *)((const char *)all[0] + offset),
                       *(char *const *)((const char *)all[i] + offset)))
            return false;
    return true;
}

/* What one of them keeps secret stays so. */
static void join_redact(struct recording *const *all, size_t n, struct recording *into)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        len += all[i]->redact != NULL ? strlen(all[i]->redact) + 1 : 0;
    char *text = len > 0 ? mem_calloc(len + 1, 1) : NULL;
    for (size_t i = 0; i < n; i++)
        if (all[i]->redact != NULL && strcmp(text, all[i]->redact) != 0)
            sprintf(text + strlen(text), "%s%s", text[0] != '\0' ? "," : "", all[i]->redact);
    into->redact = text;
}

static void merge_texts(struct recording *const *all, size_t n, struct recording *into,
                        struct differences *d)
{
    bool named = true;
    for (size_t i = 1; i < n; i++)
        named = named && strcmp(all[i]->name, all[0]->name) == 0;
    if (named)
        snprintf(into->name, sizeof into->name, "%s", all[0]->name);
    if (same_everywhere(all, n, offsetof(struct recording, slo)))
        into->slo = mem_strdup(all[0]->slo);
    else
        differs(d, "--slo, so none is judged");
    if (same_everywhere(all, n, offsetof(struct recording, abort_on)))
        into->abort_on = mem_strdup(all[0]->abort_on);
    into->tags = mem_strdup(MERGED_TAG);
}

/* What happened to one of them happened to the whole. */
static void merge_ends(struct recording *const *all, size_t n, struct recording *into)
{
    into->no_target = true;
    into->ended_wall_ns = 1;
    for (size_t i = 0; i < n; i++) {
        const struct recording *r = all[i];
        into->interrupted = into->interrupted || r->interrupted;
        into->no_target = into->no_target && r->no_target;
        into->takeover_late = into->takeover_late || r->takeover_late;
        into->lost_rows += r->lost_rows;
        if (into->aborted == NULL && r->aborted != NULL)
            into->aborted = mem_strdup(r->aborted);
        if (into->takeover == NULL && r->takeover != NULL)
            into->takeover = mem_strdup(r->takeover);
        if (r->ended_wall_ns == 0 || into->ended_wall_ns == 0)
            into->ended_wall_ns = 0;
        else if (r->ended_wall_ns > into->ended_wall_ns)
            into->ended_wall_ns = r->ended_wall_ns;
    }
}

static enum err check_intervals(struct recording *const *all, size_t n, struct errmsg *msg)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    for (size_t i = 1; i < n; i++)
        if (all[i]->interval_ns != all[0]->interval_ns)
            return errmsg_set(msg, ERR_INVALID,
                              "runs %.8s and %.8s cannot be merged: their intervals are %s and %s",
                              all[0]->run_id, all[i]->run_id,
                              units_format_duration(all[0]->interval_ns, a),
                              units_format_duration(all[i]->interval_ns, b));
    return ERR_OK;
}

enum err replay_merge(struct recording *const *all, size_t n, struct recording **out,
                      char differ[REPLAY_DIFFER], struct errmsg *msg)
{
    struct differences d = {{0}};
    struct recording *r = mem_calloc(1, sizeof *r);
    enum err e = check_intervals(all, n, msg);
    join_redact(all, n, r);
    if (e == ERR_OK)
        e = list_sources(all, n, r, msg);
    if (e == ERR_OK)
        e = merge_plans(all, n, r, &d, msg);
    combine_ids(all, n, r->run_id);
    r->started_wall_ns = all[0]->started_wall_ns;
    r->interval_ns = all[0]->interval_ns;
    snprintf(r->version, sizeof r->version, "%s", HAMMER_VERSION);
    if (e == ERR_OK) {
        merge_agents(all, n, r);
        merge_texts(all, n, r, &d);
        merge_ends(all, n, r);
    }
    differ[0] = '\0';
    if (d.text[0] != '\0')
        snprintf(differ, REPLAY_DIFFER,
                 "the merged runs differ in %s: what is said of the plan is the first one's",
                 d.text);
    if (e != ERR_OK) {
        recording_free(r);
        r = NULL;
    }
    *out = r;
    return e;
}
