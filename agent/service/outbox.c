/* SPDX-License-Identifier: MIT */
#include "agent/service/outbox.h"

#include "common/mem.h"

struct entry {
    uint8_t *data;
    size_t len;
};

struct outbox {
    struct entry ring[OUTBOX_MAX]; /* seq s lives at s % OUTBOX_MAX */
    size_t bytes;                  /* in the ring */
    uint64_t acked;                /* 1 .. acked are merged by the controller */
    uint64_t sent;                 /* 1 .. sent were handed to the link */
    uint64_t last;                 /* last sequence number given */
    struct snapshot *waiting;      /* added together while the ring is full */
    bool has_final, final_sent;
    struct msg_final final;
    struct entry final_data;
};

struct outbox *outbox_new(void)
{
    return mem_calloc(1, sizeof(struct outbox));
}

static void entry_clear(struct entry *e)
{
    mem_free(e->data);
    *e = (struct entry){0};
}

void outbox_free(struct outbox *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < OUTBOX_MAX; i++)
        entry_clear(&o->ring[i]);
    entry_clear(&o->final_data);
    snapshot_free(o->waiting);
    mem_free(o);
}

static bool full(const struct outbox *o)
{
    return o->last - o->acked >= OUTBOX_MAX || o->bytes >= OUTBOX_BYTES;
}

/* Takes `s` over. */
static enum err put(struct outbox *o, struct snapshot *s)
{
    struct entry e = {0};
    s->seq = o->last + 1;
    enum err err = snapshot_encode(s, &e.data, &e.len);
    snapshot_free(s);
    if (err != ERR_OK)
        return err;
    o->last++;
    o->ring[o->last % OUTBOX_MAX] = e;
    o->bytes += e.len;
    return ERR_OK;
}

enum err outbox_add(struct outbox *o, struct snapshot *s)
{
    if (o->waiting == NULL && !full(o))
        return put(o, s);
    if (o->waiting == NULL) {
        o->waiting = s;
        return ERR_OK;
    }
    enum err e = snapshot_add(o->waiting, s, true);
    snapshot_free(s);
    return e;
}

static void refill(struct outbox *o)
{
    if (o->waiting == NULL || full(o))
        return;
    struct snapshot *s = o->waiting;
    o->waiting = NULL;
    if (put(o, s) != ERR_OK) {
        /* Encoding of what was encodable before cannot fail; the controller's check would show it.
         */
    }
}

enum err outbox_final(struct outbox *o, const struct msg_final *head, const struct snapshot *total)
{
    enum err e = snapshot_encode(total, &o->final_data.data, &o->final_data.len);
    o->final = *head;
    o->has_final = e == ERR_OK;
    return e;
}

bool outbox_peek(const struct outbox *o, struct msg *m)
{
    if (o->sent < o->last) {
        const struct entry *e = &o->ring[(o->sent + 1) % OUTBOX_MAX];
        m->type = MSG_SNAPSHOT;
        m->snapshot = (struct msg_snapshot){.seq = o->sent + 1, .data = {e->data, e->len}};
        return true;
    }
    if (!o->has_final || o->final_sent || o->waiting != NULL)
        return false;
    m->type = MSG_FINAL;
    m->final = o->final;
    m->final.last_seq = o->last;
    m->final.data = (struct wire_blob){o->final_data.data, o->final_data.len};
    return true;
}

void outbox_sent(struct outbox *o)
{
    if (o->sent < o->last)
        o->sent++;
    else
        o->final_sent = true;
}

void outbox_ack(struct outbox *o, uint64_t ack_seq)
{
    if (ack_seq > o->sent)
        return;
    while (o->acked < ack_seq) {
        struct entry *e = &o->ring[++o->acked % OUTBOX_MAX];
        o->bytes -= e->len;
        entry_clear(e);
    }
    refill(o);
}

void outbox_rewind(struct outbox *o, uint64_t ack_seq)
{
    if (ack_seq > o->sent)
        return;
    o->sent = ack_seq > o->acked ? ack_seq : o->acked;
    o->final_sent = false;
}

void outbox_repeat_final(struct outbox *o)
{
    o->final_sent = false;
}

uint64_t outbox_last_seq(const struct outbox *o)
{
    return o->last;
}

bool outbox_empty(const struct outbox *o)
{
    struct msg m;
    return o->waiting == NULL && !outbox_peek(o, &m);
}
