/* SPDX-License-Identifier: MIT */
/* --stages: text, wire, and the schedule that comes of it. */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan.h"
#include "proto/preflight.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define WORDS_MAX   8
#define TOTAL_MAX   4096
#define AGENTS_MAX  7
#define SHARDS_MAX  (AGENTS_MAX * 3)

static const struct share whole = {.total = 1, .weight = 1, .threads = 1};

static enum err make(struct plan *p, char *const *words, struct errmsg *msg)
{
    size_t n_rows, n_rest;
    const struct option_row *rows = plan_options(&n_rows);
    int argc = 1;
    while (argc < WORDS_MAX && words[argc] != NULL)
        argc++;
    plan_defaults(p);
    enum err e = option_parse(rows, n_rows, argc, words, p, NULL, 0, &n_rest, msg);
    if (e != ERR_OK)
        return e;
    p->url = mem_strdup("http://127.0.0.1/");
    return plan_check(p, msg);
}

static struct plan make_ok(const char *stages)
{
    struct plan p;
    struct errmsg msg = {{0}};
    char text[4096];
    snprintf(text, sizeof text, "%s", stages);
    char *words[WORDS_MAX] = {"run", "--stages", text};
    enum err e = make(&p, words, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    return p;
}

START_TEST(test_what_is_accepted)
{
    struct plan p = make_ok("30s@200,1m@100..2k,500ms@6/m..0,10@0.1");
    static const char *const texts[] = {"30s@200", "1m@100..2000", "500ms@1/10s..0", "10s@0.1/s"};
    ck_assert_uint_eq(p.n_stages, 4);
    ck_assert_uint_eq(p.duration_ns, 100500 * NS_PER_MS);
    ck_assert(p.rate.num == 2000 && p.rate.den == 1); /* the peak */
    ck_assert(p.stages[2].to.num == 0 && p.stages[2].from.den == 10);
    for (size_t i = 0; i < 4; i++) {
        char text[PLAN_STAGE_TEXT];
        struct plan again = make_ok(plan_stage_text(&p.stages[i], text)), wanted = p;
        ck_assert_int_eq(memcmp(&again.stages[0], &wanted.stages[i], sizeof(struct stage)), 0);
        if (i < 2)
            ck_assert_str_eq(text, texts[i]);
        plan_clear(&again);
    }
    const uint64_t begins_ms[] = {0, 30000, 90000, 90500, 100500};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(plan_stage_at(&p, begins_ms[i] * NS_PER_MS), i);
        ck_assert_uint_eq(plan_stage_at(&p, begins_ms[i + 1] * NS_PER_MS - 1), i);
    }
    ck_assert_uint_eq(plan_stage_at(&p, UINT64_MAX), 3);
    plan_clear(&p);
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        char *words[WORDS_MAX];
        const char *text;
    } cases[] = {
        {{"run", "--stages", ""}, "--stages \"\" (stage 1): accepted is TIME@RATE or"},
        {{"run", "--stages", "1s@2,"}, "--stages \"\" (stage 2): accepted is TIME@RATE"},
        {{"run", "--stages", "1s"}, "--stages 1s (stage 1): accepted is TIME@RATE"},
        {{"run", "--stages", "1s@2,3x@4"}, "--stages 3x@4 (stage 2): 3x: unknown unit"},
        {{"run", "--stages", "1s@2,3s@y"}, "--stages 3s@y (stage 2): y: accepted is a rate"},
        {{"run", "--stages", "1s@2..y"}, "--stages 1s@2..y (stage 1): y: accepted is a rate"},
        {{"run", "--stages", "1s@2G"}, "--stages 1s@2G (stage 1): 2G: "},
        {{"run", "--stages", "1s@0"}, "--stages 1s@0 (stage 1): 0: accepted is a rate above 0"},
        {{"run", "--stages", "1s@0..0"}, "--stages 1s@0..0 (stage 1): sends nothing"},
        {{"run", "--stages", "0s@1"}, "--stages 0s@1 (stage 1): accepted is a time of 1ms"},
        {{"run", "--stages", "366d@1"}, "--stages 366d@1 (stage 1): accepted is a time of"},
        {{"run", "--stages", "200d@1,200d@1"}, "--duration 9600h: accepted is"},
        {{"run", "--stages", "300d@1..1G"}, "--stages: stage 1 is too long for its rates"},
        {{"run", "--stages", "1s@2", "-r", "5"}, "--stages with -r/--rate 5/s: accepted is one"},
        {{"run", "-d", "5", "--stages", "1s@2"}, "--stages with -d/--duration 5s: the stages say"},
        {{"run", "-r5", "--arrivals", "poison"}, "--arrivals poison: accepted is constant or"},
        {{"run", "--arrivals", "poisson"}, "--arrivals poisson without a rate: in a closed loop"},
        {{"run", "-r5", "--jitter", "101%"},
         "--jitter 101%: accepted is a percentage from 0 to 100"},
        {{"run", "-r5", "--jitter", "-1"}, "--jitter -1: accepted is a percentage from 0 to 100"},
        {{"run", "-r5", "--jitter", "often"}, "--jitter often: accepted is a percentage from 0"},
        {{"run", "--jitter", "20%"},
         "--jitter 20% without a rate: in a closed loop nothing is due"},
        {{"run", "-r5", "--jitter", "0.5", "--arrivals", "poisson"},
         "--jitter 0.5% with --arrivals poisson: those are random already"},
        {{"run", "-r5", "--seed", "x"}, "--seed x: accepted is"},
        {{"run", "--stages", "1s@2", "--forever"}, "--stages with --forever: accepted is one"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct plan p;
        struct errmsg msg = {{0}};
        enum err e = make(&p, cases[i].words, &msg);
        ck_assert_msg(e == ERR_INVALID || e == ERR_RANGE, "case %zu: %s", i, err_str(e));
        ck_assert_msg(strstr(msg.text, cases[i].text) != NULL, "case %zu: %s", i, msg.text);
        plan_clear(&p);
    }
    char many[65 * 5 + 1] = "";
    for (int i = 0; i < 64; i++)
        strcat(many, i == 0 ? "1s@1" : ",1s@1");
    struct plan p = make_ok(many);
    ck_assert_uint_eq(p.n_stages, 64);
    plan_clear(&p);
    struct errmsg msg = {{0}};
    strcat(many, ",1s@1");
    ck_assert_int_eq(make(&p, (char *[WORDS_MAX]){"run", "--stages", many}, &msg), ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(msg.text, "(stage 65): too many"));
    plan_clear(&p);
}
END_TEST

/* What comes over the wire is not trusted. */
START_TEST(test_an_agent_checks_for_itself)
{
    struct plan p = make_ok("1s@2,1s@3..4");
    struct errmsg msg = {{0}};
    p.duration_ns++;
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_INVALID);
    p.duration_ns--;
    p.rate.num = 3; /* below the peak, which the policy looks at */
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_INVALID);
    p.rate.num = 4;
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_OK);
    p.stages[1].to.den = 0;
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "stage 2"));
    p.stages[1].to.den = 1;
    p.jitter = 1000000001;
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(msg.text, "--jitter 100.0000001%: accepted is a percentage"));
    p.jitter = 0;
    p.arrivals = 2;
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "--arrivals 2: accepted is constant or poisson"));
    plan_clear(&p);
}
END_TEST

/* --- sharded -----------------------------------------------------------------------------------
 */

static struct plan random_stages(uint64_t *rng)
{
    char text[512] = "";
    size_t n = 1 + check_below(rng, 5), len = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned long ms = 1 + check_below(rng, 900), from = 1 + check_below(rng, 800);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%lums@%lu", i > 0 ? "," : "", ms,
                                from);
        if (check_below(rng, 2) == 0)
            len += (size_t)snprintf(text + len, sizeof text - len, "..%lu",
                                    (unsigned long)check_below(rng, 800));
    }
    return make_ok(text);
}

struct fleet {
    struct schedule shards[SHARDS_MAX];
    uint32_t agent[SHARDS_MAX], threads[AGENTS_MAX], weights[AGENTS_MAX];
    size_t agents, n;
};

static void start_fleet(struct fleet *f, const struct plan *p, uint64_t *rng)
{
    uint32_t total = 0, first = 0;
    f->agents = 1 + check_below(rng, AGENTS_MAX);
    f->n = 0;
    for (size_t a = 0; a < f->agents; a++)
        total += f->weights[a] = 1 + (uint32_t)check_below(rng, 4);
    for (uint32_t a = 0; a < f->agents; first += f->weights[a], a++) {
        f->threads[a] = 1 + (uint32_t)check_below(rng, 3);
        for (uint32_t t = 0; t < f->threads[a]; t++, f->n++) {
            struct share sh = {total, first, f->weights[a], f->threads[a], t};
            f->agent[f->n] = a;
            ck_assert_int_eq(plan_schedule(p, &sh, p->requests, &f->shards[f->n], NULL), ERR_OK);
        }
    }
}

/* The first agent is lost; the others own everything from that index on. */
static void lose_first(struct fleet *f, uint64_t from)
{
    uint32_t total = 0, thread = 0;
    for (size_t a = 1; a < f->agents; a++)
        total += f->weights[a];
    for (size_t i = 0; i < f->n; i++) {
        struct share sh = {.total = total};
        uint32_t a = f->agent[i];
        thread = i > 0 && f->agent[i - 1] == a ? thread + 1 : 0;
        for (uint32_t k = 1; k < a; k++)
            sh.first += f->weights[k];
        sh.weight = f->weights[a];
        sh.threads = f->threads[a];
        sh.thread = thread;
        if (a > 0)
            ck_assert_int_eq(schedule_reshare(&f->shards[i], from, &sh, NULL), ERR_OK);
    }
}

/* Steps and ramps or one rate, evenly or at random, any weights, an agent lost on the way or not:
 * together the shards are the schedule of one machine. */
START_TEST(test_the_union_is_the_single_schedule)
{
    static uint8_t seen[TOTAL_MAX];
    uint64_t rng = check_seed();
    for (int round = 0; round < 300; round++) {
        struct plan p = random_stages(&rng);
        if (check_below(&rng, 4) == 0)
            p.n_stages = 0; /* at the peak rate all the time */
        p.arrivals = check_below(&rng, 3) == 0 ? PLAN_POISSON : PLAN_CONSTANT;
        if (p.arrivals == PLAN_CONSTANT && check_below(&rng, 2) == 0)
            p.jitter = 1 + (uint32_t)check_below(&rng, 1000000000);
        p.seed = check_random(&rng);
        struct fleet f;
        struct schedule single;
        uint64_t found = 0, from = UINT64_MAX;
        ck_assert_int_eq(plan_schedule(&p, &whole, UINT64_MAX, &single, NULL), ERR_OK);
        ck_assert_uint_le(single.count, TOTAL_MAX);
        if (single.count > 0 && check_below(&rng, 3) == 0)
            p.requests = 1 + check_below(&rng, single.count);
        start_fleet(&f, &p, &rng);
        uint64_t count = p.requests < single.count ? p.requests : single.count;
        if (f.agents > 1 && check_below(&rng, 2) == 0)
            lose_first(&f, from = check_below(&rng, count + 1));
        memset(seen, 0, sizeof seen);
        for (size_t i = 0; i < f.n; i++) {
            const struct schedule *s = &f.shards[i];
            for (uint64_t k = 0; k < s->count; k++) {
                uint64_t index = schedule_index(s, k), due = schedule_due(s, k);
                if (f.agent[i] == 0 && index >= from)
                    break;
                CHECK_MUST(index < count && seen[index]++ == 0);
                CHECK_MUST(due == plan_due_of_index(&p, index) && due < p.duration_ns);
                CHECK_MUST(schedule_due_until(s, due) > k);
                CHECK_MUST(due == 0 || schedule_due_until(s, due - 1) <= k);
                found++;
            }
        }
        CHECK_MUST(found == count);
        plan_clear(&p);
    }
}
END_TEST

/* The peak for a minute would be 60 000 requests; there are only 5000. */
START_TEST(test_local_ports_are_those_needed)
{
    struct plan p = make_ok("10s@0..1000,1m@0..0.1");
    struct plan_part all = {.total = 1, .weight = 1};
    struct errmsg msg;
    option_list_add(&p.headers, "Connection: close");
    ck_assert_int_eq(preflight_fresh_ports(&p, &all, 1, false, 5003, &msg), ERR_OK);
    ck_assert_int_eq(preflight_fresh_ports(&p, &all, 1, false, 5002, &msg), ERR_REFUSED);
    plan_clear(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_stages");
    TCase *t = tcase_create("plan_stages");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_what_is_accepted);
    tcase_add_test(t, test_refused);
    tcase_add_test(t, test_an_agent_checks_for_itself);
    tcase_add_test(t, test_the_union_is_the_single_schedule);
    tcase_add_test(t, test_local_ports_are_those_needed);
    suite_add_tcase(s, t);
    return check_main(s);
}
