/* SPDX-License-Identifier: MIT */
#include "proto/dump.h"

#include <string.h>

#include "proto/plan.h"
#include "proto/snapshot.h"

/* First byte of a row: its outcome, and what follows. */
#define OUTCOME_BITS 0x0f
#define HAS_ERROR    0x10
#define SAME_KIND    0x20 /* stage and request are the last row's */
#define KNOWN_BITS   (OUTCOME_BITS | HAS_ERROR | SAME_KIND)

#define VARINT_MAX 10
#define NUMBERS    9 /* of a row at most, each a varint */
#define ROW_MAX    (1 + NUMBERS * VARINT_MAX + DUMP_TEXT)
#define STATUS_MAX 999

static const struct {
    const char *name;
    bool sent, completed;
} outcomes[DUMP_OUTCOMES] = {
    [DUMP_OK] = {"ok", true, true},
    [DUMP_HTTP_ERROR] = {"http_error", true, true},
    [DUMP_TLS] = {"tls", true, false},
    [DUMP_READ] = {"read", true, false},
    [DUMP_WRITE] = {"write", true, false},
    [DUMP_PROTOCOL] = {"protocol", true, false},
    [DUMP_CONNECT] = {"connect", true, false},
    [DUMP_TIMEOUT] = {"timeout", true, false},
    [DUMP_UNFINISHED] = {"unfinished", true, false},
    [DUMP_UNSENT_NO_CONNECTION] = {"unsent_no_connection", false, false},
    [DUMP_UNSENT_STOPPED] = {"unsent_stopped", false, false},
    [DUMP_UNSENT_DROPPED] = {"unsent_dropped", false, false},
};
_Static_assert(DUMP_OUTCOMES <= OUTCOME_BITS + 1, "an outcome fits its bits");

const char *dump_outcome_name(enum dump_outcome o)
{
    return o < DUMP_OUTCOMES ? outcomes[o].name : "?";
}

bool dump_was_sent(enum dump_outcome o)
{
    return outcomes[o].sent;
}

bool dump_was_completed(enum dump_outcome o)
{
    return outcomes[o].completed;
}

/* --- writing -------------------------------------------------------------------------------- */

void dump_writer_clear(struct dump_writer *w)
{
    memset(w, 0, offsetof(struct dump_writer, bytes));
}

/* Seven bits a byte, the lowest first; the top bit says that more follow. */
static void put_number(struct dump_writer *w, uint64_t v)
{
    uint8_t *p = w->bytes + w->len;
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    w->len = (size_t)(p - w->bytes);
}

/* Of any two numbers; small ones either way stay small. */
static void put_difference(struct dump_writer *w, uint64_t from, uint64_t to)
{
    uint64_t d = to - from;
    put_number(w, d << 1 ^ (0 - (d >> 63)));
}

static uint32_t find_text(const struct dump_writer *w, const char *text, uint32_t len)
{
    uint32_t i = 0;
    while (i < w->n_texts &&
           (w->texts[i].len != len || memcmp(w->bytes + w->texts[i].at, text, len) != 0))
        i++;
    return i;
}

static uint32_t text_length(const struct dump_row *row)
{
    return row->error == NULL ? 0 : (uint32_t)strnlen(row->error, DUMP_TEXT - 1);
}

/* A new text comes after its number, which is one more than the last. */
static void put_text(struct dump_writer *w, const char *text, uint32_t len)
{
    uint32_t i = find_text(w, text, len);
    put_number(w, i);
    if (i < w->n_texts)
        return;
    put_number(w, len);
    w->texts[w->n_texts].at = (uint32_t)w->len;
    w->texts[w->n_texts++].len = len;
    memcpy(w->bytes + w->len, text, len);
    w->len += len;
}

static void put_kind(struct dump_writer *w, const struct dump_row *row)
{
    put_number(w, row->stage == SERIES_STAGE_WARMUP ? 0 : (uint64_t)row->stage + 1);
    put_number(w, row->request);
    w->stage = row->stage;
    w->request = row->request;
}

bool dump_put(struct dump_writer *w, const struct dump_row *row)
{
    uint32_t len = text_length(row);
    bool same = w->n > 0 && row->stage == w->stage && row->request == w->request;
    if (w->len + ROW_MAX > DUMP_BYTES_MAX ||
        (len > 0 && w->n_texts == DUMP_TEXTS_MAX && find_text(w, row->error, len) == w->n_texts))
        return false;
    w->bytes[w->len++] =
        (uint8_t)(row->outcome | (len > 0 ? HAS_ERROR : 0) | (same ? SAME_KIND : 0));
    put_difference(w, w->index, row->index);
    put_difference(w, w->due_ns, row->due_ns);
    if (!same)
        put_kind(w, row);
    if (outcomes[row->outcome].sent) {
        put_difference(w, row->due_ns, row->sent_ns);
        put_difference(w, row->sent_ns, row->done_ns);
        put_number(w, row->status);
        put_number(w, row->bytes);
    }
    if (len > 0)
        put_text(w, row->error, len);
    w->index = row->index;
    w->due_ns = row->due_ns;
    w->n++;
    return true;
}

/* --- reading -------------------------------------------------------------------------------- */

void dump_reader_init(struct dump_reader *r, const void *bytes, size_t len)
{
    *r = (struct dump_reader){.p = bytes, .end = (const uint8_t *)bytes + len};
    if (len > DUMP_BYTES_MAX)
        r->err = ERR_TOO_BIG;
}

static void fail(struct dump_reader *r, enum err e)
{
    if (r->err == ERR_OK)
        r->err = e;
    r->p = r->end;
}

/* As it was written, and no other way: neither with a 0 at its end nor over 64 bits. */
static uint64_t get_number(struct dump_reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 7 * VARINT_MAX; shift += 7) {
        if (r->p == r->end) {
            fail(r, ERR_TRUNCATED);
            return 0;
        }
        uint8_t b = *r->p++;
        bool last = (b & 0x80) == 0;
        if ((shift == 63 && b > 1) || (last && b == 0 && shift > 0))
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (last)
            return v;
    }
    fail(r, ERR_CORRUPT);
    return 0;
}

static uint64_t get_difference(struct dump_reader *r, uint64_t from)
{
    uint64_t z = get_number(r);
    return from + (z >> 1 ^ (0 - (z & 1)));
}

static uint32_t get_below(struct dump_reader *r, uint64_t limit)
{
    uint64_t v = get_number(r);
    if (v >= limit)
        fail(r, ERR_RANGE);
    return v < limit ? (uint32_t)v : 0;
}

/* It ends on terminals and in files that are read line by line. */
static bool printable(const uint8_t *p, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        if (p[i] < 0x20 || p[i] == 0x7f)
            return false;
    return true;
}

static void get_text(struct dump_reader *r, struct dump_row *row)
{
    uint32_t i = get_below(r, r->n_texts + (r->n_texts < DUMP_TEXTS_MAX));
    if (r->err == ERR_OK && i == r->n_texts) {
        uint32_t len = get_below(r, DUMP_TEXT);
        if (len == 0 || len > (size_t)(r->end - r->p) || !printable(r->p, len)) {
            fail(r, ERR_CORRUPT);
            return;
        }
        r->texts[i].at = (const char *)r->p;
        r->texts[i].len = len;
        r->n_texts++;
        r->p += len;
    }
    if (r->err != ERR_OK)
        return;
    row->error = r->texts[i].at;
    row->text = r->texts[i].len;
}

static void get_kind(struct dump_reader *r)
{
    r->stage = get_below(r, PROFILE_STAGES_MAX + 1) - 1; /* the warm-up's is all ones */
    r->request = get_below(r, PLAN_ENTRIES_MAX);
}
_Static_assert(SERIES_STAGE_WARMUP == UINT32_MAX, "one below the first stage");

static void get_sent(struct dump_reader *r, struct dump_row *row)
{
    row->sent_ns = get_difference(r, row->due_ns);
    row->done_ns = get_difference(r, row->sent_ns);
    row->status = get_below(r, STATUS_MAX + 1);
    row->bytes = get_number(r);
}

bool dump_get(struct dump_reader *r, struct dump_row *row)
{
    *row = (struct dump_row){0};
    if (r->err != ERR_OK || r->p == r->end)
        return false;
    uint8_t head = *r->p++;
    row->outcome = (enum dump_outcome)(head & OUTCOME_BITS);
    if (row->outcome >= DUMP_OUTCOMES || (head & ~KNOWN_BITS) != 0 ||
        (r->n == 0 && (head & SAME_KIND)))
        fail(r, ERR_CORRUPT);
    if (r->err != ERR_OK)
        return false;
    row->index = r->index = get_difference(r, r->index);
    row->due_ns = r->due_ns = get_difference(r, r->due_ns);
    if ((head & SAME_KIND) == 0)
        get_kind(r);
    row->stage = r->stage;
    row->request = r->request;
    if (outcomes[row->outcome].sent)
        get_sent(r, row);
    if ((head & HAS_ERROR) != 0)
        get_text(r, row);
    r->n += r->err == ERR_OK;
    return r->err == ERR_OK;
}
