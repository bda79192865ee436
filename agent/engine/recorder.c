/* SPDX-License-Identifier: MIT */
#include "agent/engine/recorder.h"

#include <stddef.h>
#include <string.h>

#include "agent/engine/pacer.h"
#include "common/clock.h"
#include "common/mem.h"

struct recorder {
    uint32_t worker;
    bool closed;      /* closed loop */
    uint64_t late_ns; /* a send lag above it is late */
    struct part *now; /* recorded into; NULL after a final part without a spare */
    struct part *spare[RECORDER_PARTS];
    size_t n_spare;
    struct part *parts; /* all of them: the memory */
};

static void part_init(struct part *p, uint32_t worker)
{
    memset(p, 0, offsetof(struct part, hists));
    p->worker = worker;
}

struct recorder *recorder_new(uint32_t worker)
{
    struct recorder *r = mem_calloc(1, sizeof *r);
    r->worker = worker;
    r->late_ns = PACER_LATE_NS;
    r->parts = mem_calloc(RECORDER_PARTS, sizeof *r->parts);
    for (size_t i = 0; i < RECORDER_PARTS; i++) {
        part_init(&r->parts[i], worker);
        for (size_t k = 0; k < HIST_KINDS; k++)
            hist_rec_init(&r->parts[i].hists[k]);
        r->spare[r->n_spare++] = &r->parts[i];
    }
    r->now = r->spare[--r->n_spare];
    return r;
}

void recorder_free(struct recorder *r)
{
    if (r == NULL)
        return;
    mem_free(r->parts);
    mem_free(r);
}

void recorder_closed_loop(struct recorder *r, bool closed)
{
    r->closed = closed;
}

void recorder_late_beyond(struct recorder *r, uint64_t late_ns)
{
    r->late_ns = late_ns;
}

void recorder_due(struct recorder *r, uint64_t n)
{
    r->now->counters.scheduled += n;
}

void recorder_sent(struct recorder *r, uint64_t due_ns, uint64_t sent_ns, bool waited)
{
    struct part *p = r->now;
    uint64_t lag_ns = clock_elapsed(due_ns, sent_ns);
    p->counters.sent++;
    if (r->closed)
        return;
    if (waited) {
        p->counters.waited++;
        hist_rec_record(&p->hists[HIST_WAIT], lag_ns);
        return;
    }
    if (lag_ns > r->late_ns)
        p->counters.late++;
    hist_rec_record(&p->hists[HIST_SEND_LAG], lag_ns);
}

/* First come, first kept: the rows of a part are few, the rest is only counted. */
static void note_error(struct part *p, int source, int code)
{
    for (uint32_t i = 0; i < p->n_errors; i++) {
        if (p->errors[i].source == source && p->errors[i].code == code) {
            p->errors[i].count++;
            return;
        }
    }
    if (p->n_errors == RECORDER_ERRORS)
        p->errors_other++;
    else
        p->errors[p->n_errors++] = (struct part_error){source, code, 1};
}

static void note_age(struct part *p, uint64_t age_ns)
{
    if (age_ns > p->censored_age_ns)
        p->censored_age_ns = age_ns;
}

static void completed(struct part *p, const struct client_result *res, bool closed)
{
    struct counters *c = &p->counters;
    uint64_t first_ns = closed ? res->sent_ns : res->due_ns;
    uint64_t latency_ns = clock_elapsed(first_ns, res->done_ns);
    c->completed++;
    if (res->status < 400)
        c->ok++;
    else
        c->http_errors++;
    if (res->status >= SNAPSHOT_STATUS_MIN && res->status <= SNAPSHOT_STATUS_MAX)
        p->status[res->status]++;
    if (latency_ns > HIST_HIGHEST)
        c->saturated++;
    if (!closed)
        hist_rec_record(&p->hists[HIST_CORRECTED], latency_ns);
    hist_rec_record(&p->hists[HIST_UNCORRECTED], clock_elapsed(res->sent_ns, res->done_ns));
    if (res->receive_ns != UINT64_MAX)
        hist_rec_record(&p->hists[HIST_RECEIVE], res->receive_ns);
}

/* The counter of each way not to complete. */
static const size_t lost_counter[OUTCOMES] = {
    [OUTCOME_TLS] = COUNTER_failed_tls,         [OUTCOME_READ] = COUNTER_failed_read,
    [OUTCOME_WRITE] = COUNTER_failed_write,     [OUTCOME_PROTOCOL] = COUNTER_failed_protocol,
    [OUTCOME_TIMEOUT] = COUNTER_timeouts,       [OUTCOME_UNFINISHED] = COUNTER_unfinished,
    [OUTCOME_CONNECT] = COUNTER_failed_connect,
};

static void count(struct counters *c, size_t counter, uint64_t n)
{
    counters_set(c, counter, counters_get(c, counter) + n);
}

void recorder_result(struct recorder *r, const struct client_result *res)
{
    struct part *p = r->now;
    if (res->outcome == OUTCOME_OK) {
        completed(p, res, r->closed);
        return;
    }
    count(&p->counters, lost_counter[res->outcome], 1);
    note_age(p, clock_elapsed(res->due_ns, res->done_ns));
    if (res->outcome != OUTCOME_UNFINISHED) /* our end, not an error of the target */
        note_error(p, (int)res->outcome, res->error);
}

static const size_t fault_counter[FAULTS] = {
    [FAULT_CONNECT] = COUNTER_connect_errors, [FAULT_FD_LIMIT] = COUNTER_fault_fd_limit,
    [FAULT_PORTS] = COUNTER_fault_ports,      [FAULT_MEMORY] = COUNTER_fault_memory,
    [FAULT_TLS] = COUNTER_handshake_errors,
};

void recorder_fault(struct recorder *r, enum client_fault f, int code)
{
    if (f != FAULT_EXTRA_BYTES &&
        f != FAULT_POLICY) /* neither ours nor a connection attempt: a text only */
        count(&r->now->counters, fault_counter[f], 1);
    note_error(r->now, PART_ERROR_FAULT + (int)f, code);
}

/* More kinds than rows: they are still counted as handshakes. */
static void note_suite(struct part *p, const struct conn_handshake *h)
{
    uint32_t i = 0;
    while (i < p->n_suites &&
           (p->suites[i].version != h->version || p->suites[i].cipher != h->cipher))
        i++;
    if (i == RECORDER_SUITES)
        return;
    if (i == p->n_suites)
        p->suites[p->n_suites++] = (struct part_suite){h->version, h->cipher, 0};
    p->suites[i].count++;
}

void recorder_handshake(struct recorder *r, const struct conn_handshake *h)
{
    struct part *p = r->now;
    p->counters.handshakes++;
    p->counters.resumed += h->resumed;
    hist_rec_record(&p->hists[HIST_TLS], h->took_ns);
    note_suite(p, h);
}

void recorder_traffic(struct recorder *r, const struct client_traffic *t)
{
    struct counters *c = &r->now->counters;
    c->bytes_in += t->bytes_in;
    c->bytes_out += t->bytes_out;
    c->connects += t->connects;
    c->retries += t->retries;
}

void recorder_unsent_no_connection(struct recorder *r, uint64_t n, uint64_t age_ns)
{
    r->now->counters.unsent_no_connection += n;
    note_age(r->now, age_ns);
}

void recorder_unsent_stopped(struct recorder *r, uint64_t n, uint64_t age_ns)
{
    r->now->counters.unsent_stopped += n;
    note_age(r->now, age_ns);
}

struct part *recorder_take(struct recorder *r, bool final)
{
    if (r->n_spare == 0 && !final)
        return NULL;
    struct part *taken = r->now;
    taken->final = final;
    r->now = r->n_spare > 0 ? r->spare[--r->n_spare] : NULL;
    return taken;
}

void recorder_give(struct recorder *r, struct part *p)
{
    part_init(p, r->worker);
    for (size_t k = 0; k < HIST_KINDS; k++)
        hist_rec_reset(&p->hists[k]);
    if (r->now == NULL)
        r->now = p;
    else
        r->spare[r->n_spare++] = p;
}
