/* SPDX-License-Identifier: MIT */
#include "controller/run/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/loop_wait.h"

#define AGENTS 40

/* How the agents of one listener behave. */
enum manner {
    ANSWERS,
    IS_SILENT,
    TALKS_NONSENSE,
    REFUSES,
    LOSES_PROBES, /* every second one */
    KNOWS_NOTHING /* hangs up on the question */
};

struct peer {
    struct world *world;
    struct link *link;
    bool used;
};

struct world {
    struct loop *loop;
    struct link_listener *listener;
    enum manner manner;
    struct peer peers[2 * AGENTS];
    size_t accepted, open, most, probes;
    struct msg last_query;
};

static void answer(struct peer *p, const struct msg *m)
{
    uint8_t *frame;
    size_t len;
    ck_assert_int_eq(msg_encode(m, &frame, &len), ERR_OK);
    ck_assert_int_eq(link_send(p->link, frame, len), ERR_OK);
    mem_free(frame);
}

static void leave(struct peer *p, uint64_t flush_ms)
{
    link_close(p->link, flush_ms);
    p->link = NULL;
    p->world->open--;
}

static void on_query(struct peer *p, const struct msg *m)
{
    struct msg r = {.type = MSG_INFO, .info = {.version_min = 1, .version_max = 1, .cores = 3}};
    struct world *w = p->world;
    w->last_query = *m;
    strcpy(r.info.agent, "peer");
    if (w->manner == REFUSES) {
        r = (struct msg){.type = MSG_REFUSE, .refuse = {.code = REFUSE_POLICY}};
        strcpy(r.refuse.text, "not for you");
    }
    if (w->manner == TALKS_NONSENSE)
        ck_assert_int_eq(link_send(p->link, "\xc1", 1), ERR_OK);
    else if (w->manner == KNOWS_NOTHING)
        leave(p, 0);
    else if (w->manner != IS_SILENT)
        answer(p, &r);
}

static void on_probe(struct peer *p, const struct msg *m, uint64_t rx_ns)
{
    struct world *w = p->world;
    struct msg r = {.type = MSG_PROBE_REPLY, .probe_reply = {.t1_ns = m->probe.t1_ns}};
    w->probes++;
    r.probe_reply.probe = m->probe.probe;
    r.probe_reply.t2_ns = rx_ns + 5 * NS_PER_SEC;
    r.probe_reply.t3_ns = clock_mono_ns() + 5 * NS_PER_SEC;
    if (w->manner != LOSES_PROBES || m->probe.probe % 2 == 0)
        answer(p, &r);
}

static void on_link(void *arg, struct link *l, enum link_event ev, const struct link_info *info)
{
    struct peer *p = arg;
    struct msg m;
    (void)l;
    if (ev == LINK_DOWN) {
        leave(p, 0);
        return;
    }
    ck_assert_int_eq(msg_decode(info->frame, info->len, &m), ERR_OK);
    if (m.type == MSG_QUERY)
        on_query(p, &m);
    else if (m.type == MSG_PROBE)
        on_probe(p, &m, info->rx_ns);
    else
        ck_abort_msg("%s was not expected", msg_type_name(m.type));
}

static void on_accept(void *arg, struct link *l)
{
    struct world *w = arg;
    struct peer *p = &w->peers[w->accepted++];
    *p = (struct peer){.world = w, .link = l};
    w->open++;
    w->most = w->open > w->most ? w->open : w->most;
    link_set_handler(l, on_link, p);
}

/* n agents at one address, asked. */
static struct world *ask(enum manner manner, size_t n, struct survey_agent *agents,
                         const char *target)
{
    struct world *w = mem_calloc(1, sizeof *w);
    struct inventory inv = {0};
    struct errmsg msg;
    link_block_signals();
    w->loop = loop_wait_new();
    w->manner = manner;
    ck_assert_int_eq(
        link_listen(w->loop, "tcp://127.0.0.1:0", NULL, on_accept, w, &w->listener, &msg), ERR_OK);
    for (size_t i = 0; i < n; i++)
        inventory_add(&inv, "peer", link_listener_url(w->listener), 1);
    struct survey_config cfg = {
        .loop = w->loop, .inventory = &inv, .scheme = "http", .target = target};
    ck_assert_int_eq(survey_run(&cfg, agents), ERR_OK);
    inventory_clear(&inv);
    return w;
}

static void world_free(struct world *w)
{
    for (size_t i = 0; i < w->accepted; i++)
        link_close(w->peers[i].link, 0);
    link_listener_close(w->listener);
    loop_finish(w->loop);
    loop_free(w->loop);
    mem_free(w);
}

START_TEST(test_many_but_not_all_at_once)
{
    static struct survey_agent agents[AGENTS];
    struct world *w = ask(ANSWERS, AGENTS, agents, "[::1]:80");
    ck_assert_uint_eq(w->accepted, AGENTS);
    ck_assert_uint_eq(w->probes, AGENTS * SURVEY_PROBES);
    /* One that is done may be counted here until its end is noticed. */
    ck_assert_uint_le(w->most, 2 * SURVEY_AT_ONCE);
    ck_assert_str_eq(w->last_query.query.scheme, "http");
    ck_assert_str_eq(w->last_query.query.target, "[::1]:80");
    for (size_t i = 0; i < AGENTS; i++) {
        const struct survey_agent *a = &agents[i];
        ck_assert(a->reached && !a->same_clock);
        ck_assert_uint_eq(a->info.cores, 3);
        ck_assert_uint_eq(a->clock.good, SURVEY_PROBES);
        int64_t wrong = a->clock.offset_ns - (int64_t)(5 * NS_PER_SEC);
        ck_assert_int_le(wrong < 0 ? -wrong : wrong, (int64_t)clock_estimate_error(&a->clock) + 1);
    }
    world_free(w);
}
END_TEST

START_TEST(test_lost_probes_cost_time_only)
{
    struct survey_agent a;
    struct world *w = ask(LOSES_PROBES, 1, &a, NULL);
    ck_assert(a.reached);
    ck_assert_uint_ge(a.clock.good, 4);
    ck_assert_uint_lt(a.clock.good, SURVEY_PROBES);
    ck_assert_str_eq(w->last_query.query.target, "");
    world_free(w);
}
END_TEST

static const struct {
    enum manner manner;
    const char *problem;
    uint64_t at_most_s;
} bad[] = {
    {IS_SILENT, "no answer within 6 s", 9},
    {TALKS_NONSENSE, "not a hammer message", 3},
    {REFUSES, "not for you", 3},
    {KNOWS_NOTHING, "hung up without an answer", 3},
};

START_TEST(test_why_not)
{
    struct survey_agent a;
    uint64_t begin = clock_mono_ns();
    struct world *w = ask(bad[_i].manner, 1, &a, NULL);
    ck_assert(!a.reached);
    ck_assert_msg(strstr(a.problem, bad[_i].problem) != NULL, "%s", a.problem);
    ck_assert_uint_lt(clock_mono_ns() - begin, bad[_i].at_most_s * NS_PER_SEC);
    world_free(w);
}
END_TEST

START_TEST(test_nobody)
{
    struct survey_agent a;
    world_free(ask(ANSWERS, 0, &a, NULL));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("survey");
    TCase *t = tcase_create("survey");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_many_but_not_all_at_once);
    tcase_add_test(t, test_lost_probes_cost_time_only);
    tcase_add_loop_test(t, test_why_not, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(t, test_nobody);
    suite_add_tcase(s, t);
    return check_main(s);
}
