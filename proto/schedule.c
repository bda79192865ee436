/* SPDX-License-Identifier: MIT */
#include "proto/schedule.h"

#include <inttypes.h>

#include "common/clock.h"

typedef unsigned __int128 u128;

uint64_t schedule_due_of_index(const struct rate *rate, uint64_t i)
{
    return profile_rate_due(rate, i);
}

uint64_t schedule_due_at(const struct schedule *s, uint64_t i)
{
    return profile_due(&s->profile, i);
}

/* How many of the first `global` indices belong to the share. */
static uint64_t owned_by_share(const struct share *s, uint64_t global)
{
    uint64_t rest = global % s->total;
    uint64_t mine = rest <= s->first ? 0 : rest - s->first;
    if (mine > s->weight)
        mine = s->weight;
    mine += global / s->total * s->weight;
    return mine <= s->thread ? 0 : (mine - s->thread - 1) / s->threads + 1;
}

/* The last piece that begins at or before the global index; the first one begins at 0. */
static const struct schedule_piece *piece_of(const struct schedule *s, uint64_t global)
{
    uint32_t i = s->n_pieces - 1;
    while (s->pieces[i].from > global)
        i--;
    return &s->pieces[i];
}

/* How many of the first `global` indices belong to the shard. Hot: few runs have a second piece. */
static uint64_t owned_below(const struct schedule *s, uint64_t global)
{
    if (s->n_pieces == 1)
        return owned_by_share(&s->pieces[0].share, global);
    const struct schedule_piece *p = piece_of(s, global);
    return clock_add(p->first, owned_by_share(&p->share, global - p->from));
}

static enum err check_share(const struct share *s, struct errmsg *msg)
{
    if (s->total == 0 || s->weight == 0 || s->first >= s->total || s->weight > s->total - s->first)
        return errmsg_set(msg, ERR_INVALID,
                          "share %" PRIu32 "+%" PRIu32 " of %" PRIu32
                          ": accepted is a part of at least 1 inside the total",
                          s->first, s->weight, s->total);
    if (s->threads == 0 || s->thread >= s->threads)
        return errmsg_set(msg, ERR_INVALID,
                          "thread %" PRIu32 " of %" PRIu32 ": accepted is 0 to threads - 1",
                          s->thread, s->threads);
    return ERR_OK;
}

static void count(struct schedule *s)
{
    uint64_t total = schedule_total(s);
    s->count = total == UINT64_MAX ? UINT64_MAX : owned_below(s, total);
}

static enum err start(struct schedule *s, const struct share *share, uint64_t duration_ns,
                      uint64_t requests, struct errmsg *msg)
{
    enum err e = check_share(share, msg);
    if (e != ERR_OK)
        return e;
    s->duration_ns = duration_ns;
    s->requests = requests;
    s->n_pieces = 1;
    s->pieces[0] = (struct schedule_piece){.share = *share};
    count(s);
    return ERR_OK;
}

enum err schedule_init(struct schedule *s, const struct rate *rate, const struct share *share,
                       uint64_t duration_ns, uint64_t requests, struct errmsg *msg)
{
    enum err e = profile_constant(&s->profile, rate, msg);
    return e == ERR_OK ? start(s, share, duration_ns, requests, msg) : e;
}

enum err schedule_init_profile(struct schedule *s, const struct profile *profile,
                               const struct share *share, uint64_t duration_ns, uint64_t requests,
                               struct errmsg *msg)
{
    s->profile = *profile;
    return start(s, share, duration_ns, requests, msg);
}

enum err schedule_reshare(struct schedule *s, uint64_t from, const struct share *share,
                          struct errmsg *msg)
{
    if (schedule_is_closed(s))
        return errmsg_set(msg, ERR_INVALID, "a closed loop has no schedule to take over");
    enum err e = check_share(share, msg);
    if (e != ERR_OK)
        return e;
    uint64_t last = s->pieces[s->n_pieces - 1].from;
    if (from < last)
        return errmsg_set(msg, ERR_STATE,
                          "index %" PRIu64 ": the shares changed last at %" PRIu64 ", accepted is "
                          "that or a later one",
                          from, last);
    if (s->n_pieces == SCHEDULE_PIECES_MAX)
        return errmsg_set(msg, ERR_BUSY, "the shares of a run can change %d times",
                          SCHEDULE_PIECES_MAX - 1);
    s->pieces[s->n_pieces] =
        (struct schedule_piece){.from = from, .first = owned_below(s, from), .share = *share};
    s->n_pieces++;
    count(s);
    return ERR_OK;
}

bool schedule_is_closed(const struct schedule *s)
{
    return s->profile.n == 0 && s->profile.rate.num == 0;
}

uint64_t schedule_total(const struct schedule *s)
{
    if (s->duration_ns == 0)
        return 0;
    uint64_t timed = s->duration_ns == NS_NEVER ? profile_total(&s->profile)
                                                : profile_until(&s->profile, s->duration_ns - 1);
    return timed < s->requests ? timed : s->requests;
}

static uint64_t index_in_share(const struct share *sh, uint64_t n)
{
    u128 mine = (u128)n * sh->threads + sh->thread, turn, rest;
    if (mine <= UINT64_MAX) {
        turn = (uint64_t)mine / sh->weight;
        rest = (uint64_t)mine % sh->weight;
    } else {
        turn = mine / sh->weight;
        rest = mine % sh->weight;
    }
    u128 index = turn * sh->total + sh->first + rest;
    return index > UINT64_MAX ? UINT64_MAX : (uint64_t)index;
}

uint64_t schedule_index(const struct schedule *s, uint64_t n)
{
    if (s->n_pieces == 1)
        return index_in_share(&s->pieces[0].share, n);
    uint32_t i = s->n_pieces - 1;
    while (s->pieces[i].first > n) /* the first piece begins at 0 */
        i--;
    const struct schedule_piece *p = &s->pieces[i];
    return clock_add(p->from, index_in_share(&p->share, n - p->first));
}

uint64_t schedule_due(const struct schedule *s, uint64_t n)
{
    return profile_due(&s->profile, schedule_index(s, n));
}

uint64_t schedule_due_until(const struct schedule *s, uint64_t ns)
{
    uint64_t n = owned_below(s, profile_until(&s->profile, ns));
    return n < s->count ? n : s->count;
}
