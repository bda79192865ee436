/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "controller/run/result_agents.h"
#include "tests/lib/check_main.h"
#include "tests/lib/sim_world.h"

/*
 * Whole runs under random faults: the real controller's and agents' protocol on a virtual clock.
 * Everything comes from the printed seed. A round that fails says its name on stderr:
 * HAMMER_SIM_ONE=NAME plays that one alone, HAMMER_SIM_TRACE=1 shows it step by step.
 */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 100 /* of each story */
#else
#define ROUNDS 500
#endif
#define PARTS 4

/* --- what must hold --------------------------------------------------------------------------- */

static const struct coord_agent_info *info_of(const struct sim_world *w, size_t i)
{
    return coordinator_agent(w->coordinator, i);
}

static uint64_t merged(const struct sim_world *w, struct result *r)
{
    merge_finish(w->merge, r);
    uint64_t sent = 0;
    for (size_t i = 0; i < w->n; i++) {
        struct counters c = snapshot_counters(r->agents[i].total);
        ck_assert(r->agents[i].checked == w->peers[i].final);
        sent += c.sent;
    }
    struct counters all = snapshot_counters(r->total);
    ck_assert_uint_eq(all.sent, sent);
    return sent;
}

static void check_complete(const struct sim_world *w, uint64_t sent)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct coord_agent_info *info = info_of(w, i);
        bool dropped = info->state == COORD_REFUSED;
        ck_assert(dropped || (info->state == COORD_DONE && info->end_reason == END_FINISHED));
        ck_assert(dropped || w->peers[i].final);
    }
    ck_assert_uint_eq(sent, w->requests);
    for (uint64_t k = 0; k < w->requests; k++)
        if (w->count[k] != 1)
            ck_abort_msg("index %" PRIu64 " was sent %u times", k, w->count[k]);
}

/* Whoever could be asked for what it kept has been asked. */
static void check_collected(const struct sim_world *w, size_t i)
{
    const struct sim_peer *p = &w->peers[i];
    const struct coord_agent_info *info = info_of(w, i);
    if (info->state == COORD_LOST && info->collected)
        ck_assert(p->final);
}

/* From the index on that the survivors agreed on, all is sent, each request once. */
static void check_redistributed(const struct sim_world *w)
{
    uint64_t from = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct coord_agent_info *info = info_of(w, i);
        bool over = info->state == COORD_DONE && info->end_reason == END_FINISHED;
        if (over || (info->state == COORD_REFUSED && info->started_ns == 0))
            continue;
        if (info->taken_over_from == UINT64_MAX)
            return;
        from = info->taken_over_from > from ? info->taken_over_from : from;
    }
    for (uint64_t k = from; k < w->requests; k++)
        if (w->count[k] != 1)
            ck_abort_msg("index %" PRIu64 " was sent %u times, shared out again from %" PRIu64, k,
                         w->count[k], from);
}

/* Every request of the schedule is somebody's: counted by an agent, or missing with a lost one. */
static void check_ledger(const struct sim_world *w, struct result *r)
{
    uint64_t sum = 0;
    bool to_the_end = false;
    r->plan = &w->plan;
    result_agents_fill(r, w->coordinator);
    for (size_t i = 0; i < w->n; i++) {
        const struct coord_agent_info *info = info_of(w, i);
        const struct loss *l = &r->agents[i].loss;
        bool over = info->state == COORD_DONE && info->end_reason == END_FINISHED;
        to_the_end = to_the_end || over;
        if (!over && !l->any && info->part.weight != 0)
            return; /* stopped with the others */
        sum += snapshot_counters(r->agents[i].total).scheduled + l->count - l->overlap;
    }
    if (to_the_end)
        ck_assert_uint_eq(sum, w->requests);
}

/* Withdrawn before the start: nothing was sent, but by an agent that could not be told any more. */
static void check_withdrawn(const struct sim_world *w)
{
    bool out_of_reach = strstr(coordinator_reason(w->coordinator), "its lease ends it") != NULL;
    for (size_t i = 0; i < w->n_faults; i++)
        out_of_reach = out_of_reach || w->faults[i].begun;
    ck_assert(out_of_reach || w->sent == 0);
}

static void check_always(const struct sim_world *w)
{
    enum coord_outcome o = coordinator_outcome(w->coordinator);
    struct result *r = result_new(w->n);
    ck_assert(w->finished);
    ck_assert_int_ne(o, COORD_GOING_ON);
    ck_assert_uint_eq(coordinator_deadline(w->coordinator), NS_NEVER);
    uint64_t sent = merged(w, r);
    ck_assert_uint_le(sent, w->sent);
    for (size_t i = 0; i < w->n; i++) {
        const struct sim_peer *p = &w->peers[i];
        ck_assert(p->closed);
        ck_assert_uint_eq(info_of(w, i)->last_seq, p->seq);
        if (!p->dead && !p->frozen)
            ck_assert_int_eq(control_state(sim_agent_control(p->agent)), AGENT_IDLE);
        check_collected(w, i);
    }
    if (o == COORD_COMPLETE)
        check_complete(w, sent);
    else
        ck_assert_str_ne(coordinator_reason(w->coordinator), "");
    if (o == COORD_COULD_NOT)
        check_withdrawn(w);
    if (w->coord.patience.on_loss == COORD_LOSS_REDISTRIBUTE && o == COORD_PARTIAL)
        check_redistributed(w);
    if (o == COORD_PARTIAL)
        check_ledger(w, r);
    result_free(r);
}

/* --- stories ---------------------------------------------------------------------------------- */

static uint64_t between(struct sim_world *w, uint64_t least, uint64_t most)
{
    return least + check_below(&w->rng, most - least + 1);
}

static bool one_in(struct sim_world *w, uint64_t n)
{
    return check_below(&w->rng, n) == 0;
}

static void any_world(struct sim_world *w, uint64_t seed)
{
    static const uint64_t leases[] = {3, 5, 10, 20};
    sim_world_init(w, seed);
    w->n = between(w, 1, one_in(w, 8) ? 8 : 4);
    w->plan.rate = (struct rate){between(w, 1, 150), between(w, 1, 2)};
    w->plan.duration_ns = between(w, 1, 20) * NS_PER_SEC + between(w, 0, NS_PER_SEC);
    w->plan.interval_ns = between(w, 200, 1000) * NS_PER_MS;
    w->plan.timeout_ns = between(w, 1, 3) * NS_PER_SEC;
    w->coord.patience.lease_ns = leases[between(w, 0, 3)] * NS_PER_SEC;
    w->coord.patience.on_loss = (enum coord_on_loss)between(w, 0, 2);
    bool local = one_in(w, 4);
    uint64_t far = local ? NS_PER_MS : between(w, 1, 200) * NS_PER_MS;
    w->net_config.delay_ns[0] = between(w, 0, far);
    w->net_config.delay_ns[1] = between(w, 0, far);
    w->net_config.jitter_ns = between(w, 0, far / 4);
    for (size_t i = 0; i < w->n; i++) {
        struct sim_agent_config *cfg = &w->peers[i].cfg;
        w->weights[i] = (uint32_t)between(w, 1, 3);
        snprintf(cfg->boot_id, sizeof cfg->boot_id, local ? "boot" : "machine%zu", i);
        cfg->offset_ns = local ? 0 : (int64_t)between(w, 0, SIM_EPOCH) - (int64_t)SIM_EPOCH / 2;
        if (i > 0 && one_in(w, 4)) { /* on the same machine as the one before */
            memcpy(cfg->boot_id, w->peers[i - 1].cfg.boot_id, sizeof cfg->boot_id);
            cfg->offset_ns = w->peers[i - 1].cfg.offset_ns;
        }
        cfg->prepare_ns = between(w, 0, 2 * NS_PER_SEC);
        cfg->answer_ns = between(w, 0, w->plan.timeout_ns);
        cfg->reshare_ns = between(w, 0, 50 * NS_PER_MS);
    }
}

static struct sim_fault *add_fault(struct sim_world *w, enum sim_fault_kind kind, size_t agent,
                                   uint64_t at_ns, uint64_t length_ns)
{
    ck_assert(w->n_faults < SIM_FAULTS_MAX);
    struct sim_fault *f = &w->faults[w->n_faults++];
    *f = (struct sim_fault){
        .kind = kind, .agent = agent, .at_ns = at_ns, .from_t0 = true, .length_ns = length_ns};
    return f;
}

static void play_out(struct sim_world *w)
{
    sim_world_start(w);
    sim_world_play(w, NS_NEVER);
    check_always(w);
}

/* Faults that the lease outlives, one after the other, while the load runs: nothing is missing. */
static void story_short(struct sim_world *w)
{
    uint64_t lease = w->coord.patience.lease_ns = between(w, 5, 20) * NS_PER_SEC;
    uint64_t quiet = lease / 2 < 3 * NS_PER_SEC ? lease / 2 : 3 * NS_PER_SEC;
    uint64_t most = lease - quiet - 1500 * NS_PER_MS, at = 0;
    while (w->n_faults < 6 && (at += between(w, 0, 4 * NS_PER_SEC)) < w->plan.duration_ns) {
        enum sim_fault_kind kind = (enum sim_fault_kind)between(w, SIM_CUT, SIM_STUN);
        uint64_t length = between(w, 0, most);
        add_fault(w, kind, check_below(&w->rng, w->n), at, length);
        if (one_in(w, 3))
            add_fault(w, kind, check_below(&w->rng, w->n), at, length / 2);
        at += length + 5 * NS_PER_SEC;
    }
    play_out(w);
    ck_assert_msg(coordinator_outcome(w->coordinator) == COORD_COMPLETE, "%s",
                  coordinator_reason(w->coordinator));
}

/* Single messages are lost, repeated, reordered. */
static void story_lossy(struct sim_world *w)
{
    w->net_config.loss_ppm = between(w, 0, 150000);
    w->net_config.repeat_ppm = between(w, 1, 150000);
    w->coord.patience.lease_ns = between(w, 10, 20) * NS_PER_SEC;
    play_out(w);
}

static uint64_t noticed_within(const struct sim_world *w)
{
    return w->coord.patience.lease_ns + 5 * NS_PER_SEC;
}

static void check_survivors(const struct sim_world *w, size_t victim)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct coord_agent_info *info = info_of(w, i);
        if (i != victim)
            ck_assert_msg(info->state == COORD_DONE && info->end_reason == END_FINISHED,
                          "agent %zu is %s", i, coord_state_name(info->state));
    }
    for (uint64_t k = 0; k < w->requests; k++)
        if (w->count[k] > 1)
            ck_abort_msg("index %" PRIu64 " was sent %u times", k, w->count[k]);
}

/* The same length and at least the same rate throughout, in steps and ramps. Draws nothing: a seed
 * means the same with and without. */
static void in_stages(struct sim_world *w)
{
    struct rate r = w->plan.rate, twice = {2 * r.num, r.den};
    uint64_t third = w->plan.duration_ns / 3;
    w->plan.n_stages = 3;
    w->plan.stages[0] = (struct stage){third, r, r};
    w->plan.stages[1] = (struct stage){third, r, twice};
    w->plan.stages[2] = (struct stage){w->plan.duration_ns - 2 * third, twice, r};
}

/* One agent is gone for longer than its lease, while there is time left. */
static void story_loss(struct sim_world *w)
{
    static const enum sim_fault_kind kinds[] = {SIM_CUT,  SIM_PARTITION, SIM_DEAF,
                                                SIM_MUTE, SIM_FREEZE,    SIM_RESTART,
                                                SIM_KILL, SIM_VANISH,    SIM_TERMINATE};
    enum sim_fault_kind kind = kinds[between(w, 0, 8)];
    w->n = between(w, 2, 5);
    size_t victim = check_below(&w->rng, w->n);
    uint64_t length = noticed_within(w) + between(w, 0, 10 * NS_PER_SEC);
    w->plan.rate = (struct rate){between(w, 20, 100), 1};
    w->plan.duration_ns = noticed_within(w) + between(w, 8, 40) * NS_PER_SEC;
    struct sim_fault *f = add_fault(w, kind, victim, between(w, 0, 3 * NS_PER_SEC), length);
    if (w->plan.rate.num % 2 == 0)
        in_stages(w);
    play_out(w);
    enum coord_outcome o = coordinator_outcome(w->coordinator);
    const struct coord_agent_info *info = info_of(w, victim);
    ck_assert_int_eq(o, COORD_PARTIAL);
    ck_assert_ptr_nonnull(
        strstr(coordinator_reason(w->coordinator), w->inventory.agents[victim].address));
    uint64_t end = coordinator_t0(w->coordinator) + w->plan.duration_ns;
    if (w->coord.patience.on_loss == COORD_LOSS_ABORT)
        ck_assert_uint_le(w->finished_ns,
                          f->begun_ns + noticed_within(w) + w->plan.timeout_ns + 8 * NS_PER_SEC);
    else
        check_survivors(w, victim);
    if (w->coord.patience.on_loss == COORD_LOSS_REDISTRIBUTE)
        ck_assert_uint_ne(info->taken_over_from, UINT64_MAX);
    bool back = kind <= SIM_FREEZE && f->ended && f->ended_ns + 8 * NS_PER_SEC < end;
    bool something = back && sim_agent_sent(w->peers[victim].agent) > 0;
    if (something && w->coord.patience.on_loss != COORD_LOSS_ABORT)
        ck_assert_msg(w->peers[victim].final, "what agent %zu kept was not collected", victim);
}

/* kill -9 of the controller, or of its host. */
static void lose_controller(struct sim_world *w)
{
    w->plan.rate = (struct rate){between(w, 20, 100), 1};
    w->plan.duration_ns = between(w, 5, 20) * NS_PER_SEC;
    struct sim_fault *f =
        add_fault(w, SIM_CONTROLLER_DIES, 0, between(w, 0, w->plan.duration_ns - NS_PER_SEC), 0);
    sim_world_start(w);
    sim_world_play(w, SIM_EPOCH + 30 * NS_PER_SEC + w->plan.duration_ns);
    ck_assert(f->begun);
    sim_world_play(w,
                   f->begun_ns + w->coord.patience.lease_ns + w->plan.timeout_ns + 10 * NS_PER_SEC);
    for (size_t i = 0; i < w->n; i++) {
        const struct control *c = sim_agent_control(w->peers[i].agent);
        ck_assert(!sim_agent_sending(w->peers[i].agent));
        ck_assert_int_eq(control_state(c), AGENT_ENDED);
        ck_assert(control_is_orphan(c));
    }
}

/* The journal of the dead controller is taken up, at once or later, and another fault may come. */
static void story_attach(struct sim_world *w)
{
    uint64_t lease = w->coord.patience.lease_ns;
    uint64_t after = one_in(w, 2) ? between(w, 0, lease / 2) : between(w, 0, 60 * NS_PER_SEC);
    struct sim_fault *f = add_fault(w, SIM_CONTROLLER_DIES, 0,
                                    between(w, 0, w->plan.duration_ns - NS_PER_SEC / 2), 0);
    w->plan.requests = UINT64_MAX;
    sim_world_start(w);
    while (!f->begun && !w->finished)
        sim_world_play(w, w->now_ns + 100 * NS_PER_MS);
    if (w->finished) { /* done before */
        check_always(w);
        return;
    }
    sim_world_play(w, w->now_ns + after);
    sim_world_attach(w);
    sim_world_play(w, NS_NEVER);
    check_always(w);
    for (size_t i = 0; i < w->n; i++)
        ck_assert_msg(w->peers[i].final, "agent %zu: %s", i, info_of(w, i)->problem);
    uint64_t away =
        after + w->net_config.delay_ns[0] * 2 + w->net_config.delay_ns[1] * 2 + 1500 * NS_PER_MS;
    if (away < lease)
        ck_assert_msg(coordinator_outcome(w->coordinator) == COORD_COMPLETE, "%s",
                      coordinator_reason(w->coordinator));
}

static void attach_after(struct sim_world *w, uint64_t after_ns)
{
    sim_world_play(w, w->now_ns + after_ns);
    sim_world_attach(w);
}

/* An agent is lost, and then the controller, before the others took over, after that or while they
 * are about to: whoever attaches knows of the loss and goes on from there. */
static void story_bereft(struct sim_world *w)
{
    static const enum sim_fault_kind kinds[] = {SIM_CUT,     SIM_PARTITION, SIM_FREEZE,
                                                SIM_RESTART, SIM_KILL,      SIM_VANISH};
    w->n = between(w, 2, 5);
    size_t victim = check_below(&w->rng, w->n);
    w->coord.patience.lease_ns = between(w, 5, 10) * NS_PER_SEC;
    w->coord.patience.on_loss = (enum coord_on_loss)between(w, 1, 2);
    w->plan.rate = (struct rate){between(w, 20, 100), 1};
    w->plan.duration_ns = noticed_within(w) + between(w, 15, 40) * NS_PER_SEC;
    add_fault(w, kinds[between(w, 0, 5)], victim, between(w, 0, 3 * NS_PER_SEC),
              noticed_within(w) + between(w, 0, 10 * NS_PER_SEC));
    if (one_in(w, 2))
        w->dies_at = (unsigned)between(w, 2, 3); /* 1 is before ARM */
    else
        add_fault(w, SIM_CONTROLLER_DIES, 0, between(w, 0, w->plan.duration_ns - 5 * NS_PER_SEC),
                  0);
    sim_world_start(w);
    for (unsigned deaths = 0; !w->finished; deaths++) {
        while (w->coordinator != NULL && !w->finished)
            sim_world_play(w, w->now_ns + 50 * NS_PER_MS);
        if (w->finished)
            break;
        attach_after(w, between(w, 0, NS_PER_SEC));
        if (deaths == 0 && one_in(w, 2))
            w->dies_at = (unsigned)between(w, 1, 2);
    }
    sim_world_play(w, NS_NEVER);
    check_always(w);
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_PARTIAL);
    ck_assert(info_of(w, victim)->lost_at_ns != 0);
    check_survivors(w, victim);
    uint64_t far_ns = coordinator_t0(w->coordinator) + w->plan.duration_ns - noticed_within(w);
    bool too_near = info_of(w, victim)->lost_at_ns > far_ns;
    if (w->coord.patience.on_loss == COORD_LOSS_REDISTRIBUTE)
        ck_assert(too_near || info_of(w, victim)->taken_over_from != UINT64_MAX);
}

/* Whoever has the owner's id gets all that was not acknowledged, and the totals are exact. */
static void story_heir(struct sim_world *w)
{
    lose_controller(w);
    struct result *r = result_new(w->n);
    for (size_t i = 0; i < w->n; i++) {
        sim_world_inherit(w, i);
        ck_assert(w->peers[i].final);
        ck_assert_int_eq(control_state(sim_agent_control(w->peers[i].agent)), AGENT_IDLE);
    }
    ck_assert_uint_eq(merged(w, r), w->sent);
    result_free(r);
}

/* Anybody else is told who holds the agents, and gets them by force. */
static void story_force(struct sim_world *w)
{
    lose_controller(w);
    w->coord.owner[0] = 9;
    w->coord.run[0] = 9;
    w->n_faults = 0;
    sim_world_again(w);
    sim_world_play(w, w->now_ns + 60 * NS_PER_SEC);
    ck_assert(w->finished);
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_COULD_NOT);
    ck_assert_ptr_nonnull(
        strstr(coordinator_reason(w->coordinator), "keeps the results of run 02"));
    ck_assert_uint_eq(w->sent, 0);
    w->coord.patience.force = true;
    sim_world_again(w);
    sim_world_play(w, NS_NEVER);
    check_always(w);
    ck_assert_int_eq(coordinator_outcome(w->coordinator), COORD_COMPLETE);
}

/* Anything, at any time, for any time. */
static void story_any(struct sim_world *w)
{
    size_t n = between(w, 1, 4);
    for (size_t i = 0; i < n; i++) {
        enum sim_fault_kind kind = (enum sim_fault_kind)between(w, SIM_CUT, SIM_INTERRUPT);
        uint64_t span = w->plan.duration_ns + 4 * NS_PER_SEC;
        struct sim_fault *f =
            add_fault(w, kind, check_below(&w->rng, w->n), check_below(&w->rng, span),
                      check_below(&w->rng, one_in(w, 3) ? 4 * NS_PER_SEC : 40 * NS_PER_SEC));
        f->from_t0 = !one_in(w, 4);
    }
    if (one_in(w, 5))
        w->net_config.loss_ppm = w->net_config.repeat_ppm = between(w, 1, 50000);
    if (one_in(w, 4)) {
        w->unreachable[check_below(&w->rng, w->n)] = true;
        w->coord.patience.min_agents = (uint32_t)between(w, 0, w->n);
        w->coord.patience.wait_agents_ns = between(w, 1, 10) * NS_PER_SEC;
    }
    play_out(w);
}

static void (*const stories[])(struct sim_world *) = {story_short,  story_lossy, story_loss,
                                                      story_any,    story_heir,  story_force,
                                                      story_attach, story_bereft};
static const char *const story_names[] = {"short", "lossy", "loss",   "any",
                                          "heir",  "force", "attach", "bereft"};
#define STORIES ((int)(sizeof stories / sizeof stories[0]))

/* What each case plays, shared with its process: what is left there has failed. */
static char (*playing)[64];

static void play_story(int story, uint64_t seed, char *title)
{
    struct sim_world *w = mem_calloc(1, sizeof *w);
    snprintf(title, sizeof playing[0], "%s:%" PRIu64, story_names[story], seed);
    any_world(w, seed);
    stories[story](w);
    title[0] = '\0';
    sim_world_clear(w);
    mem_free(w);
}

/* A case of check's is a part of a story's rounds: the two can run on several cores. */
START_TEST(test_stories)
{
    uint64_t rng = check_seed() + (uint64_t)_i;
    const char *one = getenv("HAMMER_SIM_ONE"), *rounds = getenv("HAMMER_SIM_ROUNDS");
    int story = _i / PARTS, n = rounds != NULL ? atoi(rounds) : ROUNDS;
    if (one != NULL) {
        const char *seed = strchr(one, ':');
        ck_assert_ptr_nonnull(seed);
        if (_i % PARTS == 0 && strncmp(one, story_names[story], (size_t)(seed - one)) == 0)
            play_story(story, strtoull(seed + 1, NULL, 0), playing[_i]);
        return;
    }
    for (int round = 0; round < n / PARTS; round++)
        play_story(story, check_random(&rng), playing[_i]);
}
END_TEST

int main(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* histograms are large, and many: no mmap for each */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    playing = mmap(NULL, STORIES * PARTS * sizeof *playing, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (playing == MAP_FAILED)
        return 1;
    log_open("test", getenv("HAMMER_SIM_TRACE") != NULL ? LOG_LEVEL_WARN : LOG_LEVEL_ERROR);
    Suite *s = suite_create("resilience");
    TCase *t = tcase_create("stories");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_stories, 0, STORIES * PARTS);
    suite_add_tcase(s, t);
    int rc = check_main(s);
    for (int i = 0; i < STORIES * PARTS; i++)
        if (playing[i][0] != '\0')
            fprintf(stderr, "this failed: HAMMER_SIM_ONE=%s\n", playing[i]);
    return rc;
}
