/* SPDX-License-Identifier: MIT */
#include "agent/engine/recorder.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/client/expectation.h"
#include "agent/engine/pacer.h"
#include "common/clock.h"
#include "common/mem.h"

struct recorder {
    uint32_t worker;
    uint32_t warmup;       /* its row */
    bool closed;           /* closed loop */
    bool from_send;        /* no corrected latency */
    uint64_t late_ns;      /* a send lag above it is late */
    struct part *now;      /* recorded into; NULL after a final part without a spare */
    struct part_row *rows; /* now's */
    const struct series_map *series;
    struct part *spare[RECORDER_PARTS];
    size_t n_spare;
    struct part *parts; /* all of them: the memory */
};

static void part_init(struct part *p, const struct recorder *r, struct part_row *rows)
{
    memset(p, 0, offsetof(struct part, hists));
    p->worker = r->worker;
    p->series = r->series;
    p->rows = rows;
}

static void use(struct recorder *r, struct part *p)
{
    r->now = p;
    r->rows = p != NULL ? p->rows : NULL;
}

/* What every run records into is in memory before it starts; the rest's pages come as they are
 * touched, for of most of them few are. It was zeroed when it was allocated. */
static void build_part(const struct recorder *r, struct part *p)
{
    uint32_t n = r->series->n;
    part_init(p, r, mem_calloc(n, sizeof *p->rows));
    for (size_t k = HIST_SEND_LAG; k < HIST_KINDS; k++)
        hist_rec_reset(&p->hists[k]);
    hist_rec_init(&p->hists[HIST_SEND_LAG]);
    hist_rec_init(&p->hists[HIST_WAIT]);
    hist_rec_init(&p->hists[HIST_RECEIVE]);
    hist_rec_init(&p->rows[0].corrected);
    hist_rec_init(&p->rows[0].uncorrected);
    for (uint32_t i = 1; i < n; i++) {
        hist_rec_reset(&p->rows[i].corrected);
        hist_rec_reset(&p->rows[i].uncorrected);
    }
}

struct recorder *recorder_new(uint32_t worker, const struct series_map *series)
{
    struct recorder *r = mem_calloc(1, sizeof *r);
    r->worker = worker;
    r->series = series;
    r->warmup = series->warmup;
    r->late_ns = PACER_LATE_NS;
    r->parts = mem_calloc(RECORDER_PARTS, sizeof *r->parts);
    for (size_t i = 0; i < RECORDER_PARTS; i++) {
        build_part(r, &r->parts[i]);
        r->spare[r->n_spare++] = &r->parts[i];
    }
    use(r, r->spare[--r->n_spare]);
    return r;
}

void recorder_free(struct recorder *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < RECORDER_PARTS; i++) {
        mem_free(r->parts[i].debug);
        mem_free(r->parts[i].rows);
    }
    mem_free(r->parts);
    mem_free(r);
}

const struct series_map *recorder_series(const struct recorder *r)
{
    return r->series;
}

void recorder_closed_loop(struct recorder *r, bool closed)
{
    r->closed = r->from_send = closed;
}

void recorder_from_send(struct recorder *r)
{
    r->from_send = true;
}

void recorder_late_beyond(struct recorder *r, uint64_t late_ns)
{
    r->late_ns = late_ns;
}

void recorder_due(struct recorder *r, uint32_t row, uint64_t n)
{
    r->rows[row].counters.scheduled += n;
}

void recorder_sent(struct recorder *r, uint32_t row, uint64_t due_ns, uint64_t sent_ns, bool waited)
{
    struct counters *c = &r->rows[row].counters;
    uint64_t lag_ns = clock_elapsed(due_ns, sent_ns);
    c->sent++;
    if (r->closed)
        return;
    if (waited)
        c->waited++;
    else if (lag_ns > r->late_ns)
        c->late++;
    if (row != r->warmup)
        hist_rec_record(&r->now->hists[waited ? HIST_WAIT : HIST_SEND_LAG], lag_ns);
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

/* Where the time went, as far as the client took it down. */
static void phases(struct part *p, const struct client_result *res)
{
    uint64_t first_ns = res->first_byte_ns;
    if (res->written_ns != 0) {
        hist_rec_record(&p->hists[HIST_UPLOAD], clock_elapsed(res->handed_ns, res->written_ns));
        hist_rec_record(&p->hists[HIST_FIRST_BYTE], clock_elapsed(res->written_ns, first_ns));
    }
    hist_rec_record(&p->hists[HIST_DOWNLOAD], clock_elapsed(first_ns, res->done_ns));
}

/* What there is once for all rows. */
static void completed_once(struct part *p, const struct client_result *res)
{
    if (res->status >= SNAPSHOT_STATUS_MIN && res->status <= SNAPSHOT_STATUS_MAX)
        p->status[res->status]++;
    if (res->receive_ns != UINT64_MAX)
        hist_rec_record(&p->hists[HIST_RECEIVE], res->receive_ns);
    if (res->first_byte_ns != 0)
        phases(p, res);
}

static void unexpected(struct recorder *r, uint32_t row, int what)
{
    r->rows[row].counters.unexpected++;
    if (row != r->warmup)
        note_error(r->now, PART_ERROR_EXPECT, what);
}

static void completed(struct recorder *r, uint32_t row, const struct client_result *res)
{
    struct part_row *q = &r->rows[row];
    struct counters *c = &q->counters;
    uint64_t first_ns = r->from_send ? res->sent_ns : res->due_ns;
    uint64_t latency_ns = clock_elapsed(first_ns, res->done_ns);
    c->completed++;
    if (res->status < 400)
        c->ok++;
    else
        c->http_errors++;
    if (latency_ns > HIST_HIGHEST)
        c->saturated++;
    if (!r->from_send)
        hist_rec_record(&q->corrected, latency_ns);
    hist_rec_record(&q->uncorrected, clock_elapsed(res->sent_ns, res->done_ns));
    if (row != r->warmup)
        completed_once(r->now, res);
    if (res->error != EXPECT_MET)
        unexpected(r, row, res->error);
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

void recorder_result(struct recorder *r, uint32_t row, const struct client_result *res)
{
    struct part *p = r->now;
    if (res->outcome == OUTCOME_OK) {
        completed(r, row, res);
        return;
    }
    count(&r->rows[row].counters, lost_counter[res->outcome], 1);
    if (row == r->warmup)
        return;
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
    if (f != FAULT_EXTRA_BYTES && f != FAULT_POLICY &&
        f != FAULT_REDIRECT) /* neither ours nor a connection attempt: a text only */
        count(&r->rows[0].counters, fault_counter[f], 1);
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
    r->rows[0].counters.handshakes++;
    r->rows[0].counters.resumed += h->resumed;
    hist_rec_record(&p->hists[HIST_TLS], h->took_ns);
    note_suite(p, h);
}

void recorder_first(struct recorder *r, uint64_t done_ns, uint64_t body_bytes, const char *server)
{
    struct part *p = r->now;
    p->first_ns = done_ns;
    p->document_bytes = body_bytes;
    snprintf(p->server, sizeof p->server, "%s", server);
}

void recorder_debug(struct recorder *r, const char *text, size_t len)
{
    mem_free(r->now->debug);
    r->now->debug = mem_dup(text, len);
}

/* More addresses than rows: they are still counted as connects. */
void recorder_reached(struct recorder *r, const struct target_addr *to)
{
    uint32_t i = 0;
    struct part *p = r->now;
    while (i < p->n_addresses && (p->addresses[i].to.len != to->len ||
                                  memcmp(&p->addresses[i].to.sa, &to->sa, to->len) != 0))
        i++;
    if (i == RECORDER_ADDRESSES)
        return;
    if (i == p->n_addresses)
        p->addresses[p->n_addresses++] = (struct part_address){*to, 0};
    p->addresses[i].count++;
}

void recorder_connect(struct recorder *r, uint64_t took_ns)
{
    hist_rec_record(&r->now->hists[HIST_CONNECT], took_ns);
}

void recorder_traffic(struct recorder *r, uint32_t row, const struct client_traffic *t)
{
    struct counters *c = &r->rows[row].counters;
    r->rows[0].counters.connects += t->connects;
    c->bytes_in += t->bytes_in;
    c->bytes_out += t->bytes_out;
    c->retries += t->retries;
    c->reused += t->reused;
    c->head_bytes += t->head_bytes;
    c->body_bytes += t->body_bytes;
    c->redirects += t->redirects;
}

void recorder_limit(struct recorder *r, uint32_t row, uint64_t ns)
{
    r->rows[row].counters.limit_ns += ns;
}

static void unsent(struct recorder *r, uint32_t row, size_t counter, uint64_t n, uint64_t age_ns)
{
    count(&r->rows[row].counters, counter, n);
    if (row != r->warmup)
        note_age(r->now, age_ns);
}

void recorder_unsent_no_connection(struct recorder *r, uint32_t row, uint64_t n, uint64_t age_ns)
{
    unsent(r, row, COUNTER_unsent_no_connection, n, age_ns);
}

void recorder_unsent_stopped(struct recorder *r, uint32_t row, uint64_t n, uint64_t age_ns)
{
    unsent(r, row, COUNTER_unsent_stopped, n, age_ns);
}

void recorder_unsent_dropped(struct recorder *r, uint32_t row, uint64_t n, uint64_t age_ns)
{
    unsent(r, row, COUNTER_unsent_dropped, n, age_ns);
}

struct part *recorder_take(struct recorder *r, bool final)
{
    if (r->n_spare == 0 && !final)
        return NULL;
    struct part *taken = r->now;
    taken->final = final;
    use(r, r->n_spare > 0 ? r->spare[--r->n_spare] : NULL);
    return taken;
}

void recorder_give(struct recorder *r, struct part *p)
{
    mem_free(p->debug);
    part_init(p, r, p->rows);
    for (size_t k = HIST_SEND_LAG; k < HIST_KINDS; k++)
        hist_rec_reset(&p->hists[k]);
    for (uint32_t i = 0; i < r->series->n; i++) {
        p->rows[i].counters = (struct counters){0};
        hist_rec_reset(&p->rows[i].corrected);
        hist_rec_reset(&p->rows[i].uncorrected);
    }
    if (r->now == NULL)
        use(r, p);
    else
        r->spare[r->n_spare++] = p;
}
