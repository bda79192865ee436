/* SPDX-License-Identifier: MIT */
#include "proto/link_frame.h"

#include <string.h>

#include "common/mem.h"

struct frame_tx_item {
    STAILQ_ENTRY(frame_tx_item) link;
    size_t len; /* header included */
    uint8_t data[];
};

static uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

void frame_rx_init(struct frame_rx *r, size_t max)
{
    /* Not zeroed on purpose: an idle link then costs only the pages it has used. */
    *r = (struct frame_rx){
        .buf = mem_realloc(NULL, FRAME_BUFFER, 1), .cap = FRAME_BUFFER, .max = max};
}

void frame_rx_fini(struct frame_rx *r)
{
    mem_free(r->buf);
    *r = (struct frame_rx){0};
}

/* Not by realloc: what it leaves of a shrunk buffer is too small for the next link's long frame,
 * and the last frames of a thousand agents come all at once. */
static void resize(struct frame_rx *r, size_t cap)
{
    uint8_t *buf = mem_realloc(NULL, cap, 1);
    if (r->end > 0)
        memcpy(buf, r->buf, r->end);
    mem_free(r->buf);
    r->buf = buf;
    r->cap = cap;
}

uint8_t *frame_rx_room(struct frame_rx *r, size_t *len)
{
    size_t held = r->end - r->start;
    if (r->start > 0 && held > 0)
        memmove(r->buf, r->buf + r->start, held);
    r->start = 0;
    r->end = held;
    size_t need = FRAME_HEADER;
    if (held >= FRAME_HEADER)
        need += get_be32(r->buf);
    if (need > r->cap)
        resize(r, need > FRAME_BUFFER ? need : FRAME_BUFFER);
    else if (held == 0 && r->cap > FRAME_BUFFER)
        resize(r, FRAME_BUFFER); /* one long frame does not cost memory for ever */
    *len = r->cap - r->end;
    return r->buf + r->end;
}

void frame_rx_filled(struct frame_rx *r, size_t n)
{
    r->end += n;
}

void frame_rx_rest(struct frame_rx *r)
{
    if (r->end > r->start)
        return;
    mem_free(r->buf);
    r->buf = NULL;
    r->cap = r->start = r->end = 0;
}

void frame_rx_discard(struct frame_rx *r)
{
    r->start = r->end = 0;
}

enum err frame_rx_next(struct frame_rx *r, const uint8_t **frame, size_t *len, struct errmsg *msg)
{
    size_t held = r->end - r->start;
    if (held < FRAME_HEADER)
        return ERR_TRUNCATED;
    size_t n = get_be32(r->buf + r->start);
    if (n == 0)
        return errmsg_set(msg, ERR_CORRUPT, "frame of 0 bytes");
    if (n > r->max && (n >> 16 == 0x1603 || n >> 16 == 0x1503))
        return errmsg_set(msg, ERR_CORRUPT, "it speaks TLS and this link does not (tls+tcp://)");
    if (n > r->max)
        return errmsg_set(msg, ERR_TOO_BIG, "frame of %zu bytes, limit %zu", n, r->max);
    if (held - FRAME_HEADER < n)
        return ERR_TRUNCATED;
    *frame = r->buf + r->start + FRAME_HEADER;
    *len = n;
    r->start += FRAME_HEADER + n;
    return ERR_OK;
}

void frame_tx_init(struct frame_tx *t)
{
    *t = (struct frame_tx){0};
    STAILQ_INIT(&t->items);
}

static void drop_first(struct frame_tx *t)
{
    struct frame_tx_item *item = STAILQ_FIRST(&t->items);
    STAILQ_REMOVE_HEAD(&t->items, link);
    t->count--;
    t->offset = 0;
    mem_free(item);
}

void frame_tx_fini(struct frame_tx *t)
{
    while (t->count > 0)
        drop_first(t);
    t->bytes = 0;
}

void frame_tx_push(struct frame_tx *t, const void *frame, size_t len)
{
    struct frame_tx_item *item = mem_realloc(NULL, sizeof *item + FRAME_HEADER + len, 1);
    item->len = FRAME_HEADER + len;
    put_be32(item->data, (uint32_t)len);
    memcpy(item->data + FRAME_HEADER, frame, len);
    STAILQ_INSERT_TAIL(&t->items, item, link);
    t->count++;
    t->bytes += item->len;
}

size_t frame_tx_vectors(const struct frame_tx *t, struct iovec *iov, size_t max)
{
    size_t n = 0, skip = t->offset;
    struct frame_tx_item *item;
    STAILQ_FOREACH (item, &t->items, link) {
        if (n == max)
            break;
        iov[n].iov_base = item->data + skip;
        iov[n].iov_len = item->len - skip;
        skip = 0;
        n++;
    }
    return n;
}

void frame_tx_sent(struct frame_tx *t, size_t n)
{
    t->bytes -= n;
    n += t->offset;
    while (t->count > 0 && n >= STAILQ_FIRST(&t->items)->len) {
        n -= STAILQ_FIRST(&t->items)->len;
        drop_first(t);
    }
    t->offset = n;
}
