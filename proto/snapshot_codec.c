/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/hist_codec.h"
#include "common/mem.h"
#include "proto/msg.h"
#include "proto/snapshot.h"
#include "proto/wire.h"

/* Keys of the hand-made maps; docs/protocol.md lists them. */
enum snapshot_key {
    SNAPSHOT_SCALARS = 1,
    SNAPSHOT_SERIES,
    SNAPSHOT_STATUS,
    SNAPSHOT_ERRORS,
    SNAPSHOT_SUITES,
    SNAPSHOT_FIRST,
    SNAPSHOT_SHOWN,
    SNAPSHOT_ADDRESSES
};
enum series_key {
    SERIES_STAGE = 1,
    SERIES_NAME,
    SERIES_COUNTERS,
    SERIES_HISTS
};

/* 9 bytes a counter is LEB128-64b9B's worst case. */
#define BLOB_MAX (HIST_V2_HEADER + 9 * HIST_COUNTS)

#define SCALAR(key, type, member)                                                                  \
    {                                                                                              \
        key, #member, type, offsetof(struct snapshot, member), 0, true                             \
    }
/* Came later: an older agent does not send it. */
#define LATER(key, type, member)                                                                   \
    {                                                                                              \
        key, #member, type, offsetof(struct snapshot, member), 0, false                            \
    }

static const struct wire_field scalars[] = {
    SCALAR(1, WIRE_U64, seq),
    SCALAR(2, WIRE_U64, from_ns),
    SCALAR(3, WIRE_U64, to_ns),
    SCALAR(4, WIRE_U32, intervals),
    SCALAR(5, WIRE_BOOL, cumulative),
    SCALAR(6, WIRE_U64, backlog),
    SCALAR(7, WIRE_U64, in_flight),
    SCALAR(8, WIRE_U64, cpu_ns),
    SCALAR(9, WIRE_U64, cpu_busy_ppm),
    SCALAR(10, WIRE_U64, censored_age_ns),
    SCALAR(11, WIRE_U64, errors_other),
    LATER(12, WIRE_U64, spin_ns),
    LATER(13, WIRE_U64, context_switches),
    LATER(14, WIRE_U64, preemptions),
};

/* The first response; not sent while there was none. */
static const struct wire_field first_fields[] = {
    SCALAR(1, WIRE_U64, first_ns),
    SCALAR(2, WIRE_U64, document_bytes),
    {3, "server", WIRE_STR, offsetof(struct snapshot, server), SNAPSHOT_SERVER, true},
};

/* A histogram on the wire: V2 bytes and the exact figures V2 has no room for. */
struct hist_form {
    struct hist_exact exact;
    struct wire_blob v2;
};

#define FORM(key, type, name, member, size)                                                        \
    {                                                                                              \
        key, name, type, offsetof(struct hist_form, member), size, true                            \
    }

static const struct wire_field hist_fields[] = {
    FORM(1, WIRE_U64, "min", exact.min, 0),
    FORM(2, WIRE_U64, "max", exact.max, 0),
    FORM(3, WIRE_U64, "sum_hi", exact.sum_hi, 0),
    FORM(4, WIRE_U64, "sum_lo", exact.sum_lo, 0),
    FORM(5, WIRE_U64, "saturated", exact.saturated, 0),
    FORM(6, WIRE_BLOB, "v2", v2, BLOB_MAX),
};

#define N(table) (sizeof(table) / sizeof(table)[0])

/* --- encoding -------------------------------------------------------------------------------- */

static bool has_samples(const struct hist *h)
{
    return h != NULL && hist_count(h) > 0;
}

static enum err put_hist(struct wire_out *w, const struct hist *h)
{
    struct hist_form f = {
        .exact = {.min = hist_min(h), .max = hist_max(h), .saturated = hist_saturated(h)}};
    hist_sum128(h, &f.exact.sum_hi, &f.exact.sum_lo);
    size_t cap = hist_encode_max(h);
    uint8_t *bytes = mem_calloc(cap, 1);
    f.v2.data = bytes;
    enum err e = hist_encode(h, bytes, cap, &f.v2.len);
    if (e == ERR_OK)
        wire_put_fields(w, hist_fields, N(hist_fields), &f);
    mem_free(bytes);
    return e;
}

static void put_counters(struct wire_out *w, const struct counters *c)
{
    uint32_t n = 0;
    for (size_t i = 0; i < COUNTERS_N; i++)
        n += counters_get(c, i) != 0;
    wire_put_map(w, n);
    for (size_t i = 0; i < COUNTERS_N; i++) {
        if (counters_get(c, i) == 0)
            continue;
        wire_put_u64(w, i);
        wire_put_u64(w, counters_get(c, i));
    }
}

static enum err put_series(struct wire_out *w, const struct series *s)
{
    wire_put_map(w, 4);
    wire_put_u64(w, SERIES_STAGE);
    wire_put_u64(w, s->stage);
    wire_put_u64(w, SERIES_NAME);
    wire_put_str(w, s->name);
    wire_put_u64(w, SERIES_COUNTERS);
    put_counters(w, &s->counters);
    uint32_t n = 0;
    for (size_t k = 0; k < HIST_KINDS; k++)
        n += has_samples(s->hists[k]);
    wire_put_u64(w, SERIES_HISTS);
    wire_put_map(w, n);
    enum err e = ERR_OK;
    for (size_t k = 0; k < HIST_KINDS && e == ERR_OK; k++) {
        if (!has_samples(s->hists[k]))
            continue;
        wire_put_u64(w, k);
        e = put_hist(w, s->hists[k]);
    }
    return e;
}

static void put_status(struct wire_out *w, const struct snapshot *s)
{
    uint32_t n = 0;
    for (size_t i = SNAPSHOT_STATUS_MIN; i <= SNAPSHOT_STATUS_MAX; i++)
        n += s->status[i] != 0;
    wire_put_map(w, n);
    for (size_t i = SNAPSHOT_STATUS_MIN; i <= SNAPSHOT_STATUS_MAX; i++) {
        if (s->status[i] == 0)
            continue;
        wire_put_u64(w, i);
        wire_put_u64(w, s->status[i]);
    }
}

static void put_rows(struct wire_out *w, const struct error_row *rows, size_t n)
{
    wire_put_map(w, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        wire_put_str(w, rows[i].text);
        wire_put_u64(w, rows[i].count);
    }
}

enum err snapshot_encode(const struct snapshot *s, uint8_t **buf, size_t *len)
{
    struct wire_out *w = wire_out_new();
    enum err e = ERR_OK;
    wire_put_map(w, 4u + (s->n_suites > 0) + (s->first_ns > 0) + (s->debug != NULL) +
                        (s->n_addresses > 0));
    wire_put_u64(w, SNAPSHOT_SCALARS);
    wire_put_fields(w, scalars, N(scalars), s);
    wire_put_u64(w, SNAPSHOT_SERIES);
    wire_put_array(w, (uint32_t)s->n_series);
    for (size_t i = 0; i < s->n_series && e == ERR_OK; i++)
        e = put_series(w, &s->series[i]);
    wire_put_u64(w, SNAPSHOT_STATUS);
    put_status(w, s);
    wire_put_u64(w, SNAPSHOT_ERRORS);
    put_rows(w, s->errors, s->n_errors);
    if (s->n_suites > 0) { /* none is the same as no TLS */
        wire_put_u64(w, SNAPSHOT_SUITES);
        put_rows(w, s->suites, s->n_suites);
    }
    if (s->first_ns > 0) {
        wire_put_u64(w, SNAPSHOT_FIRST);
        wire_put_fields(w, first_fields, N(first_fields), s);
    }
    if (s->debug != NULL) {
        wire_put_u64(w, SNAPSHOT_SHOWN);
        wire_put_bin(w, s->debug, strlen(s->debug));
    }
    if (s->n_addresses > 0) {
        wire_put_u64(w, SNAPSHOT_ADDRESSES);
        put_rows(w, s->addresses, s->n_addresses);
    }
    *buf = wire_out_take(w, len);
    wire_out_free(w);
    if (e == ERR_OK && *len > MSG_BLOB_MAX)
        e = ERR_TOO_BIG;
    if (e == ERR_OK)
        return ERR_OK;
    mem_free(*buf);
    *buf = NULL;
    *len = 0;
    return e;
}

/* --- decoding -------------------------------------------------------------------------------- */

#define SPARES_MAX 16

struct snapshot_reader {
    struct snapshot *s; /* what was decoded last */
    size_t n_spares;
    struct hist *spares[SPARES_MAX]; /* of the ones before */
};

static struct hist *take_hist(struct snapshot_reader *from)
{
    return from->n_spares > 0 ? from->spares[--from->n_spares] : hist_new_default();
}

static void give_back(struct snapshot_reader *to, struct hist *h)
{
    if (h != NULL && to->n_spares < SPARES_MAX)
        to->spares[to->n_spares++] = h;
    else
        hist_free(h);
}

/* Key of a sparse map: they ascend, so that a duplicate needs no memory to be seen. */
static uint64_t get_ascending(struct wire_in *r, uint32_t i, uint64_t *last)
{
    uint64_t key = wire_get_u64(r);
    if (i > 0 && key <= *last)
        wire_fail(r, ERR_CORRUPT);
    *last = key;
    return key;
}

static uint64_t get_count(struct wire_in *r)
{
    uint64_t n = wire_get_u64(r);
    if (n <= SNAPSHOT_COUNT_MAX)
        return n;
    wire_fail(r, ERR_RANGE);
    return 0;
}

static struct hist *get_hist(struct wire_in *r, struct snapshot_reader *reader)
{
    struct hist_form f = {0};
    wire_get_fields(r, hist_fields, N(hist_fields), &f);
    if (r->err != ERR_OK)
        return NULL;
    struct hist *h = take_hist(reader);
    enum err e = hist_decode_exact(f.v2.data, f.v2.len, &f.exact, h);
    if (e == ERR_OK && hist_count(h) == 0)
        e = ERR_CORRUPT; /* an empty one is not sent */
    if (e == ERR_OK && hist_count(h) > SNAPSHOT_COUNT_MAX)
        e = ERR_RANGE;
    if (e == ERR_OK)
        return h;
    wire_fail(r, e);
    give_back(reader, h);
    return NULL;
}

static void get_hists(struct wire_in *r, struct snapshot_reader *reader, struct series *s)
{
    uint64_t last = 0;
    uint32_t n = wire_get_map(r, WIRE_PAIRS_MAX);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        uint64_t kind = get_ascending(r, i, &last);
        if (r->err != ERR_OK)
            return;
        if (kind < HIST_KINDS)
            s->hists[kind] = get_hist(r, reader);
        else
            wire_skip(r); /* a kind of a later version */
    }
}

static void get_counters(struct wire_in *r, struct counters *c)
{
    uint64_t last = 0;
    uint32_t n = wire_get_map(r, 4 * COUNTERS_N);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        uint64_t index = get_ascending(r, i, &last);
        if (index < COUNTERS_N)
            counters_set(c, index, get_count(r));
        else
            wire_skip(r); /* a counter of a later version */
    }
}

static uint64_t samples(const struct series *s, enum hist_kind k)
{
    return s->hists[k] == NULL ? 0 : hist_count(s->hists[k]);
}

/* Every complete response is a corrected sample; a closed loop, without due times, has only the
 * other clock. */
static void check_series(struct wire_in *r, const struct series *s, uint64_t seen)
{
    uint64_t needed = 1u << SERIES_STAGE | 1u << SERIES_NAME | 1u << SERIES_COUNTERS;
    if ((seen & needed) != needed)
        wire_fail(r, ERR_CORRUPT);
    bool closed = samples(s, HIST_CORRECTED) == 0 && s->counters.completed > 0;
    if (s->counters.completed != samples(s, closed ? HIST_UNCORRECTED : HIST_CORRECTED))
        wire_fail(r, ERR_CORRUPT);
}

static void get_series(struct wire_in *r, struct snapshot_reader *reader, struct series *s)
{
    uint64_t seen = 0, stage = 0;
    uint32_t n = wire_get_map(r, WIRE_PAIRS_MAX);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        switch (wire_get_key(r, &seen)) {
        case SERIES_STAGE:
            stage = wire_get_u64(r);
            break;
        case SERIES_NAME:
            wire_get_str(r, s->name, sizeof s->name);
            msg_sanitise(s->name);
            break;
        case SERIES_COUNTERS:
            get_counters(r, &s->counters);
            break;
        case SERIES_HISTS:
            get_hists(r, reader, s);
            break;
        default:
            wire_skip(r);
        }
    }
    if (stage > UINT32_MAX)
        wire_fail(r, ERR_RANGE);
    s->stage = (uint32_t)stage;
    check_series(r, s, seen);
}

/* Strictly ascending by (stage, name): sorted and without duplicates at once. */
static bool in_order(const struct snapshot *s, const struct series *next)
{
    if (s->n_series == 0)
        return true;
    const struct series *last = &s->series[s->n_series - 1];
    if (last->stage != next->stage)
        return last->stage < next->stage;
    return strcmp(last->name, next->name) < 0;
}

static void get_all_series(struct wire_in *r, struct snapshot_reader *reader)
{
    struct snapshot *s = reader->s;
    uint32_t n = wire_get_array(r, SNAPSHOT_SERIES_MAX);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct series next = {0};
        get_series(r, reader, &next);
        if (!in_order(s, &next))
            wire_fail(r, ERR_CORRUPT);
        if (r->err == ERR_OK) {
            *snapshot_series(s, next.stage, next.name) = next;
            continue;
        }
        for (size_t k = 0; k < HIST_KINDS; k++)
            give_back(reader, next.hists[k]);
    }
}

static void get_status(struct wire_in *r, struct snapshot *s)
{
    uint64_t last = 0;
    uint32_t n = wire_get_map(r, SNAPSHOT_STATUS_MAX - SNAPSHOT_STATUS_MIN + 1);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        uint64_t code = get_ascending(r, i, &last);
        if (code >= SNAPSHOT_STATUS_MIN && code <= SNAPSHOT_STATUS_MAX)
            s->status[code] = get_count(r);
        else
            wire_fail(r, ERR_RANGE);
    }
}

static size_t get_rows(struct wire_in *r, struct error_row **rows, uint32_t max)
{
    size_t got = 0;
    uint32_t n = wire_get_map(r, max);
    if (n > 0 && r->err == ERR_OK)
        *rows = mem_realloc(*rows, n, sizeof **rows);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct error_row *row = &(*rows)[i];
        wire_get_str(r, row->text, sizeof row->text);
        msg_sanitise(row->text);
        row->count = get_count(r);
        if (row->count == 0 || (i > 0 && strcmp(row[-1].text, row->text) >= 0))
            wire_fail(r, ERR_CORRUPT);
        got = i + 1;
    }
    return got;
}

static void check_scalars(struct wire_in *r, const struct snapshot *s)
{
    bool nothing = s->intervals == 0 && (s->from_ns != 0 || s->to_ns != 0);
    bool no_first = s->first_ns == 0 && (s->document_bytes > 0 || s->server[0] != '\0');
    if (s->from_ns > s->to_ns || nothing || no_first)
        wire_fail(r, ERR_CORRUPT);
    if (s->backlog > SNAPSHOT_COUNT_MAX || s->in_flight > SNAPSHOT_COUNT_MAX ||
        s->cpu_ns > SNAPSHOT_COUNT_MAX || s->spin_ns > SNAPSHOT_COUNT_MAX ||
        s->context_switches > SNAPSHOT_COUNT_MAX || s->preemptions > SNAPSHOT_COUNT_MAX ||
        s->errors_other > SNAPSHOT_COUNT_MAX || s->document_bytes > SNAPSHOT_COUNT_MAX)
        wire_fail(r, ERR_RANGE);
}

/* What is in it is for the one who prints it to tame. */
static void get_debug(struct wire_in *r, struct snapshot *s)
{
    struct wire_blob b = wire_get_bin(r, SNAPSHOT_DEBUG);
    if (r->err == ERR_OK)
        s->debug = mem_dup(b.data, b.len);
}

static void get_snapshot(struct wire_in *r, struct snapshot_reader *reader)
{
    struct snapshot *s = reader->s;
    uint64_t seen = 0;
    uint32_t n = wire_get_map(r, WIRE_PAIRS_MAX);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        switch (wire_get_key(r, &seen)) {
        case SNAPSHOT_SCALARS:
            wire_get_fields(r, scalars, N(scalars), s);
            break;
        case SNAPSHOT_SERIES:
            get_all_series(r, reader);
            break;
        case SNAPSHOT_STATUS:
            get_status(r, s);
            break;
        case SNAPSHOT_ERRORS:
            s->n_errors = get_rows(r, &s->errors, SNAPSHOT_ERRORS_MAX);
            break;
        case SNAPSHOT_SUITES:
            s->n_suites = get_rows(r, &s->suites, SNAPSHOT_SUITES_MAX);
            break;
        case SNAPSHOT_FIRST:
            wire_get_fields(r, first_fields, N(first_fields), s);
            msg_sanitise(s->server);
            break;
        case SNAPSHOT_SHOWN:
            get_debug(r, s);
            break;
        case SNAPSHOT_ADDRESSES:
            s->n_addresses = get_rows(r, &s->addresses, SNAPSHOT_ADDRESSES_MAX);
            break;
        default:
            wire_skip(r);
        }
    }
    if ((seen >> SNAPSHOT_SCALARS & 1) == 0 || (seen >> SNAPSHOT_SERIES & 1) == 0)
        wire_fail(r, ERR_CORRUPT);
    check_scalars(r, s);
}

static void free_spares(struct snapshot_reader *reader)
{
    while (reader->n_spares > 0)
        hist_free(reader->spares[--reader->n_spares]);
}

struct snapshot_reader *snapshot_reader_new(void)
{
    struct snapshot_reader *reader = mem_calloc(1, sizeof *reader);
    reader->s = snapshot_new();
    return reader;
}

void snapshot_reader_free(struct snapshot_reader *reader)
{
    if (reader == NULL)
        return;
    snapshot_free(reader->s);
    free_spares(reader);
    mem_free(reader);
}

static void forget(struct snapshot_reader *reader)
{
    struct snapshot *s = reader->s;
    for (size_t i = 0; i < s->n_series; i++)
        for (size_t k = 0; k < HIST_KINDS; k++)
            give_back(reader, s->series[i].hists[k]);
    mem_free(s->debug);
    /* As large as they were. */
    *s = (struct snapshot){
        .series = s->series, .errors = s->errors, .suites = s->suites, .addresses = s->addresses};
}

enum err snapshot_read(struct snapshot_reader *reader, const uint8_t *buf, size_t len,
                       const struct snapshot **out)
{
    struct wire_in r;
    wire_in_init(&r, buf, len);
    forget(reader);
    get_snapshot(&r, reader);
    enum err e = wire_end(&r);
    *out = e == ERR_OK ? reader->s : NULL;
    return e;
}

enum err snapshot_decode(const uint8_t *buf, size_t len, struct snapshot **out)
{
    const struct snapshot *read;
    struct snapshot_reader reader = {.s = snapshot_new()};
    enum err e = snapshot_read(&reader, buf, len, &read);
    *out = e == ERR_OK ? reader.s : NULL;
    if (e != ERR_OK)
        snapshot_free(reader.s);
    free_spares(&reader);
    return e;
}
