/* SPDX-License-Identifier: MIT */
/* How many agents the coordinator dials at once, in which order, and whose time runs meanwhile. */
#include "controller/run/coordinator.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define AGENTS     100
#define HANDSHAKES 16
#define DIALS      128
#define MANY       300
#define WAIT_NS    (10 * NS_PER_SEC)

struct world {
    struct coordinator *c;
    struct inventory inventory;
    struct plan plan;
    uint64_t now_ns;
    size_t n;
    bool dialled[MANY], closed[MANY];
    size_t order[MANY], n_dials;
    bool finished;
};

static void on_action(void *arg, const struct coord_action *a)
{
    struct world *w = arg;
    if (a->kind == COORD_DIAL) {
        ck_assert(!w->dialled[a->agent]);
        w->dialled[a->agent] = true;
        if (w->n_dials < MANY)
            w->order[w->n_dials] = a->agent;
        w->n_dials++;
    }
    if (a->kind == COORD_CLOSE)
        w->closed[a->agent] = true;
    w->finished = w->finished || a->kind == COORD_FINISHED;
}

static void step(struct world *w, enum coord_event_kind kind, size_t agent, const struct msg *m)
{
    struct coord_event ev = {
        .kind = kind, .agent = agent, .now_ns = w->now_ns, .rx_ns = w->now_ns, .msg = m};
    coordinator_step(w->c, &ev);
}

static void begin(struct world *w, size_t n, bool tls)
{
    *w = (struct world){.n = n, .now_ns = 1000 * NS_PER_SEC};
    struct errmsg msg = {{0}};
    w->inventory.agents = mem_calloc(n, sizeof *w->inventory.agents);
    w->inventory.n = n;
    for (size_t i = 0; i < n; i++) {
        struct inventory_agent *a = &w->inventory.agents[i];
        snprintf(a->address, sizeof a->address, "10.0.0.%zu", i);
        snprintf(a->server_name, sizeof a->server_name, "%s", tls ? "agent" : "");
        a->weight = 1;
    }
    plan_defaults(&w->plan);
    w->plan.url = mem_strdup("http://127.0.0.1:8080/");
    w->plan.duration_ns = NS_PER_SEC;
    w->plan.duration_set = true;
    ck_assert_int_eq(plan_check(&w->plan, NULL), ERR_OK);
    struct coord_config cfg = {.inventory = &w->inventory,
                               .plan = &w->plan,
                               .patience = {.wait_agents_ns = WAIT_NS},
                               .emit = on_action,
                               .arg = w};
    ck_assert_int_eq(coordinator_new(&cfg, &w->c, &msg), ERR_OK);
    step(w, COORD_EV_BEGIN, 0, NULL);
}

static void end(struct world *w)
{
    coordinator_free(w->c);
    inventory_clear(&w->inventory);
    plan_clear(&w->plan);
}

static size_t under_way(const struct world *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += w->dialled[i];
    return n;
}

static void up(struct world *w, size_t i)
{
    step(w, COORD_EV_UP, i, NULL);
}

/* The handshake and all: from here on its place is somebody else's. */
static void welcome(struct world *w, size_t i)
{
    struct msg m = {.type = MSG_WELCOME};
    m.welcome.version = MSG_VERSION_MAX;
    w->dialled[i] = false;
    step(w, COORD_EV_MESSAGE, i, &m);
}

static size_t a_dialled_one(const struct world *w, uint64_t *rng)
{
    size_t skip = check_below(rng, under_way(w));
    for (size_t i = 0;; i++)
        if (w->dialled[i] && skip-- == 0)
            return i;
}

START_TEST(test_few_handshakes_at_once_and_every_agent_gets_one)
{
    uint64_t rng = check_seed();
    struct world w;
    begin(&w, AGENTS, true);
    for (size_t done = 0; done < AGENTS; done++) {
        size_t left = AGENTS - done;
        ck_assert_uint_eq(under_way(&w), left < HANDSHAKES ? left : HANDSHAKES);
        size_t i = a_dialled_one(&w, &rng);
        w.now_ns += NS_PER_MS;
        up(&w, i);
        welcome(&w, i);
    }
    ck_assert_uint_eq(w.n_dials, AGENTS);
    for (size_t k = 0; k < AGENTS; k++)
        ck_assert_uint_eq(w.order[k], k); /* as they stand in the inventory */
    end(&w);
}
END_TEST

START_TEST(test_more_at_once_without_tls)
{
    struct world w;
    begin(&w, MANY, false);
    ck_assert_uint_eq(under_way(&w), DIALS);
    end(&w);
}
END_TEST

/* Ticks where the coordinator asks for it. */
static void pass(struct world *w, uint64_t until_ns)
{
    uint64_t next_ns;
    for (int turns = 0; (next_ns = coordinator_deadline(w->c)) <= until_ns; turns++) {
        ck_assert_int_lt(turns, 10000);
        ck_assert_uint_ge(next_ns, w->now_ns);
        w->now_ns = next_ns;
        step(w, COORD_EV_TICK, 0, NULL);
    }
    w->now_ns = until_ns;
}

START_TEST(test_agents_that_do_not_connect_keep_nobody_waiting_for_long)
{
    struct world w;
    begin(&w, AGENTS, true);
    pass(&w, w.now_ns + (AGENTS / HANDSHAKES) * 250 * NS_PER_MS);
    ck_assert_uint_eq(w.n_dials, AGENTS); /* none has connected */
    end(&w);
}
END_TEST

START_TEST(test_a_handshake_keeps_its_place_and_then_loses_it)
{
    struct world w;
    begin(&w, HANDSHAKES + 1, true);
    for (size_t i = 0; i < HANDSHAKES; i++)
        up(&w, i);
    pass(&w, w.now_ns + NS_PER_SEC);
    ck_assert_uint_eq(w.n_dials, HANDSHAKES);
    w.dialled[3] = false;
    step(&w, COORD_EV_DOWN, 3, NULL);
    ck_assert_uint_eq(w.n_dials, HANDSHAKES + 1);
    ck_assert(w.dialled[HANDSHAKES]);
    end(&w);
}
END_TEST

/* The wait is for an agent, not for our own turn to ask it. */
START_TEST(test_the_wait_for_an_agent_begins_with_its_own_dial)
{
    struct world w;
    begin(&w, HANDSHAKES + 1, true);
    for (size_t i = 0; i < HANDSHAKES; i++)
        up(&w, i);
    pass(&w, w.now_ns + 2 * NS_PER_SEC); /* slow handshakes */
    for (size_t i = 0; i < HANDSHAKES; i++)
        welcome(&w, i);
    ck_assert(w.dialled[HANDSHAKES]);
    uint64_t dialled_ns = w.now_ns;
    while (!w.finished) { /* it never answers; the others do */
        w.dialled[HANDSHAKES] = false;
        pass(&w, w.now_ns + NS_PER_MS);
        struct msg pong = {.type = MSG_PONG, .pong = {.state = AGENT_HELD}};
        for (size_t i = 0; i < HANDSHAKES && !w.finished; i++)
            step(&w, COORD_EV_MESSAGE, i, &pong);
        ck_assert_uint_le(w.now_ns, dialled_ns + WAIT_NS + NS_PER_SEC);
    }
    ck_assert_uint_ge(w.now_ns, dialled_ns + WAIT_NS);
    ck_assert_int_eq(coordinator_outcome(w.c), COORD_COULD_NOT);
    end(&w);
}
END_TEST

int main(void)
{
    log_open("test", LOG_LEVEL_ERROR);
    Suite *s = suite_create("dial");
    TCase *t = tcase_create("dial");
    tcase_add_test(t, test_few_handshakes_at_once_and_every_agent_gets_one);
    tcase_add_test(t, test_more_at_once_without_tls);
    tcase_add_test(t, test_agents_that_do_not_connect_keep_nobody_waiting_for_long);
    tcase_add_test(t, test_a_handshake_keeps_its_place_and_then_loses_it);
    tcase_add_test(t, test_the_wait_for_an_agent_begins_with_its_own_dial);
    suite_add_tcase(s, t);
    return check_main(s);
}
