/* SPDX-License-Identifier: MIT */
#include "tests/lib/sim_journal.h"

#include "common/mem.h"
#include "tests/lib/check_main.h"

static struct snapshot *decode(const struct wire_blob *b)
{
    struct snapshot *s;
    CHECK_MUST(snapshot_decode(b->data, b->len, &s) == ERR_OK);
    return s;
}

/* `final`: what is told in the end is what happened, and what was told before adds up to it. */
static void merge_record(struct sim_world *w, const struct sim_record *r)
{
    struct errmsg msg = {{0}};
    struct sim_peer *p = &w->peers[r->agent];
    struct snapshot *s = decode(&r->data);
    struct counters c = snapshot_counters(s);
    if (r->final)
        ck_assert_msg(counters_check(&c, &msg) == ERR_OK, "%s", msg.text);
    ck_assert(!r->final || p->dead || c.sent == sim_agent_sent(p->agent));
    if ((r->final ? merge_final : merge_add)(w->merge, r->agent, s, &msg) != ERR_OK)
        ck_abort_msg("agent %zu: %s", r->agent, msg.text);
    snapshot_free(s);
}

/* In the journal, for who attaches, and merged. */
static void keep(struct sim_world *w, const struct sim_peer *p, bool final,
                 const struct wire_blob *data)
{
    w->records = mem_realloc(w->records, w->n_records + 1, sizeof *w->records);
    struct sim_record *r = &w->records[w->n_records++];
    *r = (struct sim_record){p->number, final, {mem_dup(data->data, data->len), data->len}};
    merge_record(w, r);
}

void sim_journal_snapshot(struct sim_world *w, struct sim_peer *p, const struct msg_snapshot *m)
{
    p->seq++;
    CHECK_MUST(m->seq == p->seq && !p->final && !p->closed);
    keep(w, p, false, &m->data);
}

void sim_journal_final(struct sim_world *w, struct sim_peer *p, const struct msg_final *m)
{
    ck_assert(!p->final && !p->closed);
    ck_assert_uint_eq(m->last_seq, p->seq);
    p->final = true;
    keep(w, p, true, &m->data);
}

void sim_journal_record(struct sim_world *w)
{
    coordinator_record(w->coordinator, w->left);
    w->recorded = true;
    w->dying = w->dies_at != 0 && --w->dies_at == 0;
}

void sim_journal_leave(struct sim_world *w)
{
    w->left_t0_ns = coordinator_t0(w->coordinator);
    for (size_t i = 0; i < w->n; i++) {
        const struct coord_agent_info *info = coordinator_agent(w->coordinator, i);
        struct coord_resume_agent *r = &w->left[i];
        r->over = w->peers[i].final;
        r->last_seq = w->peers[i].seq;
        r->started_ns = r->over ? info->started_ns : 0;
        r->end_reason = r->over ? info->end_reason : 0;
    }
}

void sim_journal_replay(struct sim_world *w)
{
    merge_free(w->merge);
    w->merge = merge_new(w->n, w->plan.interval_ns);
    for (size_t i = 0; i < w->n_records; i++)
        merge_record(w, &w->records[i]);
    for (size_t i = 0; i < w->n; i++) {
        w->peers[i].closed = w->left[i].over || !w->left[i].armed; /* is not dialled */
        if (w->peers[i].closed)
            merge_gone(w->merge, i);
    }
}

void sim_journal_clear(struct sim_world *w)
{
    for (size_t i = 0; i < w->n_records; i++)
        mem_free((void *)(uintptr_t)w->records[i].data.data);
    mem_free(w->records);
    w->records = NULL;
    w->n_records = 0;
}
