/* SPDX-License-Identifier: MIT */
#include "tests/lib/engine_rig.h"

#include <inttypes.h>

#include "agent/client/client_null.h"
#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/client_tap.h"

#define RING 4096u
#define REST (1u << 20) /* rows of what was never sent that are looked at one by one */

/* Reads what the ring has now, at most `most`. */
static void drain(struct rig *r, uint64_t most)
{
    const struct dump_record *d;
    for (; most > 0 && (d = dump_ring_peek(r->dump)) != NULL; most--) {
        enum dump_outcome o = (enum dump_outcome)d->outcome;
        CHECK_MUST(d->due_ns >= RIG_T0 && (d->sent_ns != 0) == dump_was_sent(o));
        r->dumped[o]++;
        if (dump_was_completed(o)) {
            r->dumped_corrected += d->done_ns - d->due_ns;
            r->dumped_uncorrected += d->done_ns - d->sent_ns;
        }
        if (d->index < r->capacity && ++r->dumped_index[d->index] > 1)
            ck_abort_msg("two rows of request %" PRIu64, d->index);
        dump_ring_next(r->dump);
    }
}

static void on_submitted(void *arg, uint64_t tag, uint64_t due_ns, uint64_t sent_ns)
{
    struct rig *r = arg;
    drain(r, RING);
    CHECK_MUST(engine_phase(r->engine) == ENGINE_SENDING);
    if (r->drop ? tag < r->next : tag != r->next)
        ck_abort_msg("request %" PRIu64 " sent instead of %" PRIu64, tag, r->next);
    r->next = tag + 1;
    CHECK_MUST(r->drop ? sent_ns == due_ns : sent_ns >= due_ns);
    CHECK_MUST(sent_ns >= r->last_sent_ns);
    r->last_sent_ns = sent_ns;
    r->sent++;
    if (tag < r->capacity) {
        r->requests[tag].due_ns = due_ns;
        r->requests[tag].sent_ns = sent_ns;
    }
    if (r->answer != NULL)
        r->answer(r, tag, sent_ns);
}

static void on_result(void *arg, const struct client_result *res)
{
    struct rig *r = arg;
    drain(r, RING);
    CHECK_MUST(engine_phase(r->engine) != ENGINE_ENDED);
    CHECK_MUST(res->tag < r->next);
    CHECK_MUST(res->done_ns >= res->sent_ns);
    r->done++;
    if (res->tag >= r->capacity)
        return;
    struct rig_request *q = &r->requests[res->tag];
    if (q->outcome != OUTCOMES)
        ck_abort_msg("request %" PRIu64 " done twice", res->tag);
    CHECK_MUST(q->due_ns == res->due_ns);
    CHECK_MUST(q->sent_ns == res->sent_ns);
    q->outcome = res->outcome;
    q->done_ns = res->done_ns;
}

struct rig *rig_new(const struct rig_config *cfg)
{
    struct rig *r = mem_calloc(1, sizeof *r);
    struct share all = {1, 0, 1, 1, 0};
    struct engine_config ec = {
        .timeout_ns = cfg->timeout_ns, .quantum_ns = cfg->quantum_ns, .now = cfg->now};
    ec.drop = r->drop = cfg->drop;
    ec.from_send = r->from_send = cfg->from_send;
    ec.env.rules = cfg->rules;
    struct errmsg msg = {{0}};
    r->ops = client_tap_ops();
    ec.ops = &r->ops;
    ec.recorder = r->recorder =
        recorder_new(0, cfg->series != NULL ? cfg->series : series_map_one());
    ec.dump = r->dump = dump_ring_new(RING);
    ec.env.connections = cfg->connections;
    enum err e =
        cfg->plan != NULL
            ? plan_schedule(cfg->plan, &all, cfg->plan->requests, &ec.schedule, &msg)
            : schedule_init(&ec.schedule, &cfg->rate, &all, cfg->duration_ns, cfg->requests, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    ck_assert_int_eq(engine_new(&ec, &r->engine, &msg), ERR_OK);
    r->closed = schedule_is_closed(&ec.schedule);
    r->capacity = cfg->capacity;
    r->requests = mem_calloc(cfg->capacity, sizeof *r->requests);
    r->dumped_index = mem_calloc(cfg->capacity, 1);
    for (uint64_t i = 0; i < cfg->capacity; i++)
        r->requests[i] = (struct rig_request){UINT64_MAX, UINT64_MAX, UINT64_MAX, OUTCOMES};
    struct client_null_hooks hooks = {r, on_submitted, cfg->reconnect_ns};
    client_null_set_hooks(engine_client(r->engine), &hooks);
    client_tap_watch(engine_client(r->engine), on_result, r);
    engine_open(r->engine, RIG_T0 - NS_PER_SEC);
    engine_pump(r->engine, RIG_T0 - NS_PER_SEC);
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_READY);
    engine_start(r->engine, RIG_T0);
    return r;
}

/* What the part must hold if it is true to what was seen at the client. */
struct seen {
    uint64_t outcomes[OUTCOMES + 1];
    uint64_t corrected_sum, uncorrected_sum;
    uint64_t wait_sum, oldest_ns; /* but for the warm-up */
};

static bool is_warm(const struct rig *r, const struct rig_request *q, uint64_t tag)
{
    const struct series_map *m = r->part->series;
    return series_map_row(m, tag, q->due_ns - RIG_T0) == m->warmup;
}

static struct seen look(const struct rig *r)
{
    struct seen s = {0};
    for (uint64_t i = 0; i < r->next; i++) {
        const struct rig_request *q = &r->requests[i];
        if (q->sent_ns == UINT64_MAX)
            continue;
        bool warm = is_warm(r, q, i);
        s.outcomes[q->outcome]++;
        s.wait_sum += warm ? 0 : q->sent_ns - q->due_ns;
        if (q->outcome == OUTCOME_OK) {
            s.corrected_sum += q->done_ns - q->due_ns;
            s.uncorrected_sum += q->done_ns - q->sent_ns;
        } else if (!warm && q->done_ns - q->due_ns > s.oldest_ns) {
            s.oldest_ns = q->done_ns - q->due_ns;
        }
    }
    return s;
}

struct counters rig_counters(const struct rig *r)
{
    struct counters sum = {0};
    for (uint32_t i = 0; i < r->part->series->n; i++)
        counters_add(&sum, &r->part->rows[i].counters);
    return sum;
}

static void check_followed(const struct rig *r)
{
    const struct part *p = r->part;
    struct seen s = look(r);
    struct counters c = rig_counters(r);
    uint64_t corrected_sum = 0, uncorrected_sum = 0;
    for (uint32_t i = 0; i < p->series->n; i++) {
        corrected_sum += (uint64_t)p->rows[i].corrected.sum;
        uncorrected_sum += (uint64_t)p->rows[i].uncorrected.sum;
    }
    ck_assert_uint_eq(s.outcomes[OUTCOMES], 0);
    ck_assert_uint_eq(c.ok, s.outcomes[OUTCOME_OK]);
    ck_assert_uint_eq(c.timeouts, s.outcomes[OUTCOME_TIMEOUT]);
    ck_assert_uint_eq(c.unfinished, s.outcomes[OUTCOME_UNFINISHED]);
    ck_assert_uint_eq(corrected_sum, r->closed || r->from_send ? 0 : s.corrected_sum);
    ck_assert_uint_eq(uncorrected_sum, s.uncorrected_sum);
    ck_assert_uint_eq((uint64_t)(p->hists[HIST_WAIT].sum + p->hists[HIST_SEND_LAG].sum),
                      s.wait_sum);
    if (counters_unsent(&c) == 0)
        ck_assert_uint_eq(p->censored_age_ns, s.oldest_ns);
    else
        ck_assert_uint_ge(p->censored_age_ns, s.oldest_ns);
}

static void check_row(const struct rig *r, uint32_t row)
{
    struct errmsg msg = {{0}};
    const struct part_row *q = &r->part->rows[row];
    const struct counters *c = &q->counters;
    ck_assert_msg(counters_check(c, &msg) == ERR_OK, "row %" PRIu32 ": %s", row, msg.text);
    ck_assert_uint_eq(q->corrected.total, r->closed || r->from_send ? 0 : c->completed);
    ck_assert_uint_eq(q->uncorrected.total, c->completed);
}

/* One row for each request that was due, and the figures of the rows are those of the counters. */
static void check_dump(struct rig *r)
{
    uint64_t rows = 0;
    struct counters c = rig_counters(r);
    drain(r, REST);
    dump_ring_drop(r->dump);
    uint64_t dropped = dump_ring_dropped(r->dump);
    for (size_t o = 0; o < DUMP_OUTCOMES; o++)
        rows += r->dumped[o];
    ck_assert_uint_eq(rows + dropped, c.scheduled);
    if (dropped > 0)
        return;
    ck_assert_uint_eq(r->dumped[DUMP_OK], c.ok);
    ck_assert_uint_eq(r->dumped[DUMP_HTTP_ERROR], c.http_errors);
    ck_assert_uint_eq(r->dumped[DUMP_TIMEOUT], c.timeouts);
    ck_assert_uint_eq(r->dumped[DUMP_UNFINISHED], c.unfinished);
    ck_assert_uint_eq(r->dumped[DUMP_UNSENT_NO_CONNECTION], c.unsent_no_connection);
    ck_assert_uint_eq(r->dumped[DUMP_UNSENT_STOPPED], c.unsent_stopped);
    ck_assert_uint_eq(r->dumped[DUMP_UNSENT_DROPPED], c.unsent_dropped);
    uint64_t corrected_sum = 0, uncorrected_sum = 0;
    for (uint32_t i = 0; i < r->part->series->n; i++) {
        corrected_sum += (uint64_t)r->part->rows[i].corrected.sum;
        uncorrected_sum += (uint64_t)r->part->rows[i].uncorrected.sum;
    }
    ck_assert_uint_eq(uncorrected_sum, r->dumped_uncorrected);
    if (!r->closed && !r->from_send)
        ck_assert_uint_eq(corrected_sum, r->dumped_corrected);
}

void rig_close(struct rig *r)
{
    ck_assert_int_eq(engine_phase(r->engine), ENGINE_ENDED);
    ck_assert_uint_eq(engine_wake(r->engine), NS_NEVER);
    ck_assert_uint_eq(engine_backlog(r->engine), 0);
    ck_assert_uint_eq(engine_in_flight(r->engine), 0);
    struct part *p = r->part = recorder_take(r->recorder, true);
    struct counters told = {0}; /* what has a lag */
    for (uint32_t i = 0; i < p->series->n; i++) {
        check_row(r, i);
        if (i != p->series->warmup)
            counters_add(&told, &p->rows[i].counters);
    }
    ck_assert_uint_eq(rig_counters(r).sent, r->sent);
    ck_assert_uint_eq(r->done, r->sent);
    ck_assert_uint_eq(p->hists[HIST_WAIT].total, told.waited);
    uint64_t prompt = r->closed ? 0 : told.sent - told.waited;
    ck_assert_uint_eq(p->hists[HIST_SEND_LAG].total, prompt);
    if (r->next <= r->capacity)
        check_followed(r);
    check_dump(r);
}

void rig_free(struct rig *r)
{
    client_tap_watch(engine_client(r->engine), NULL, NULL);
    engine_free(r->engine);
    recorder_free(r->recorder);
    dump_ring_free(r->dump);
    mem_free(r->dumped_index);
    mem_free(r->requests);
    mem_free(r);
}

bool rig_complete(struct rig *r, uint64_t tag, uint64_t now_ns)
{
    return client_null_complete(engine_client(r->engine), tag, 200, now_ns);
}

void rig_run(struct rig *r, uint64_t until_ns)
{
    uint64_t now_ns = 0;
    for (int turns = 0; engine_wake(r->engine) <= until_ns; turns++) {
        if (engine_wake(r->engine) > now_ns)
            now_ns = engine_wake(r->engine);
        engine_pump(r->engine, now_ns);
        if (turns > 10000000)
            ck_abort_msg("the engine does not come to rest");
    }
    engine_pump(r->engine, until_ns);
}
