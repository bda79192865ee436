/* SPDX-License-Identifier: MIT */
#include "controller/watch/live.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define AGENTS 1000

static struct plan plan;
static struct progress *p;
static struct columns *columns;
static struct live_frame frame;
static uint64_t rng;

static void set_up(void)
{
    plan_defaults(&plan);
    plan.rate = (struct rate){2000, 1};
    plan.duration_ns = 30 * NS_PER_SEC;
    p = progress_new(AGENTS, &plan, NS_PER_SEC);
    columns = columns_new(true);
    rng = check_seed();
    for (size_t i = 0; i < AGENTS; i++) {
        p->agents[i].state = COORD_RUNNING;
        snprintf(p->agents[i].name, sizeof p->agents[i].name, "agent-%zu", i);
    }
}

static void tear_down(void)
{
    progress_free(p);
    columns_free(columns);
    live_clear(&frame);
    plan_clear(&plan);
}

/* --- widths --------------------------------------------------------------------------------- */

static const struct {
    const char *text, *shown;
    size_t max, columns;
} fits[] = {
    {"abc", "abc", 10, 3},
    {"abcdef", "abc~", 4, 4},
    {"中文名", "中文名", 6, 6},
    {"中文名", "中文~", 5, 5},
    {"中文名", "中~", 4, 3},
    {"e\xcc\x81t", "e\xcc\x81t", 2, 2},
    {"a\033[31mb", "a?[31mb", 10, 7},
    {"\xff\xc3", "??", 10, 2},
    {"a\xe2\x80\xae"
     "b",
     "a?b", 10, 3},
    {"\xed\xa0\x80", "???", 10, 3},
    {"😀!", "😀!", 3, 3},
    {"x", "", 0, 0},
};

START_TEST(test_columns)
{
    char out[64];
    size_t n = columns_fit(columns, fits[_i].text, fits[_i].max, out, sizeof out);
    ck_assert_str_eq(out, fits[_i].shown);
    ck_assert_uint_eq(n, fits[_i].columns);
}
END_TEST

START_TEST(test_columns_ascii)
{
    char out[64];
    struct columns *ascii = columns_new(false);
    ck_assert_uint_eq(columns_fit(ascii, "a中b", 10, out, sizeof out), 3);
    ck_assert_str_eq(out, "a?b");
    columns_free(ascii);
}
END_TEST

/* --- any state ------------------------------------------------------------------------------ */

static void random_text(char *text, size_t cap)
{
    static const char *const pieces[] = {"a", "-",  "中",   "\xcc\x81", "\x1b[2J",     "\xff",
                                         "😀", "\t", "node", "한",       "\xe2\x80\xae"};
    size_t len = 0, n = check_below(&rng, 20);
    text[0] = '\0';
    for (size_t i = 0; i < n && len + 8 < cap; i++)
        len += (size_t)snprintf(text + len, cap - len, "%s",
                                pieces[check_below(&rng, sizeof pieces / sizeof pieces[0])]);
}

static void random_state(void)
{
    for (size_t i = 0; i < AGENTS; i++) {
        struct progress_agent *a = &p->agents[i];
        random_text(a->name, sizeof a->name);
        random_text(a->problem, sizeof a->problem);
        a->state = (enum coord_agent_state)check_below(&rng, COORD_STATES);
        a->late_since_ns = check_below(&rng, 3);
        a->sent = check_random(&rng) >> check_below(&rng, 64);
        a->errors = check_below(&rng, 2);
        a->backlog = check_below(&rng, 2) * check_random(&rng);
    }
    for (size_t i = 0; i < COUNTERS_N; i++)
        counters_set(&p->total, i, check_random(&rng) >> (4 + check_below(&rng, 60)));
    p->n_agents = check_below(&rng, 4) == 0 ? AGENTS : check_below(&rng, 20);
    p->phase = (enum progress_phase)check_below(&rng, PROGRESS_PHASES);
    p->t0_ns = check_below(&rng, 2) * 1000;
    p->now_ns = check_random(&rng) >> (1 + check_below(&rng, 60));
    p->planned_ns = check_below(&rng, 2) ? NS_NEVER : check_random(&rng) >> 8;
    p->snapshots = check_below(&rng, 4);
    p->one_clock = check_below(&rng, 2);
    p->n_history = check_below(&rng, PROGRESS_HISTORY + 1);
    for (size_t i = 0; i < PROGRESS_HISTORY; i++)
        p->history[i] = check_below(&rng, 5) == 0 ? UINT64_MAX : check_random(&rng) >> 20;
    p->last.to_ns = check_below(&rng, 2) * NS_PER_SEC;
    p->last.completed = check_random(&rng) >> 8;
    p->last.corrected = (struct result_latency){.count = check_below(&rng, 2),
                                                .p50 = check_random(&rng) >> 22,
                                                .p99 = check_random(&rng) >> 22};
}

/* What is left of a line without the colours, each of which is taken back. */
static void strip(const char *line, char *out, bool colour)
{
    bool on = false;
    for (; *line != '\0'; line++) {
        if (*line == '\033') {
            const char *end = strchr(line, 'm');
            CHECK_MUST(colour && line[1] == '[' && end != NULL && end - line <= 4);
            on = strncmp(line, "\033[0m", 4) != 0;
            line = end;
        } else {
            *out++ = *line;
        }
    }
    *out = '\0';
    CHECK_MUST(!on);
}

START_TEST(test_any)
{
    static char text[8 * LIVE_WIDTH_MAX];
    struct columns *ascii = columns_new(false);
    for (int round = 0; round < 300; round++) {
        random_state();
        bool utf8 = check_below(&rng, 2);
        struct live_options o = {.width = check_below(&rng, 130),
                                 .height = check_below(&rng, 40),
                                 .colour = check_below(&rng, 2),
                                 .columns = utf8 ? columns : ascii};
        live_render(p, &o, &frame);
        CHECK_MUST(frame.n <= o.height && (frame.n > 0) == (o.width > 0 && o.height > 0));
        for (size_t i = 0; i < frame.n; i++) {
            strip(live_line(&frame, i), text, o.colour);
            CHECK_MUST(columns_count(columns, text) == frame.columns[i]);
            CHECK_MUST(frame.columns[i] <= o.width && strchr(text, '\n') == NULL);
            for (const char *s = text; !utf8 && *s != '\0'; s++)
                CHECK_MUST((unsigned char)*s < 0x80);
        }
    }
    columns_free(ascii);
}
END_TEST

/* --- what is shown -------------------------------------------------------------------------- */

static bool shows(const char *text)
{
    for (size_t i = 0; i < frame.n; i++)
        if (strstr(live_line(&frame, i), text) != NULL)
            return true;
    return false;
}

static void show(size_t width, size_t height)
{
    struct live_options o = {.width = width, .height = height, .columns = columns};
    live_render(p, &o, &frame);
}

START_TEST(test_troubled_first)
{
    p->agents[700].state = COORD_LOST;
    p->agents[800].late_since_ns = 1;
    p->agents[900].late_since_ns = 1;
    p->snapshots = 1;
    progress_settle(p, 1000, 1000 + 12 * NS_PER_SEC);
    show(100, 9);
    ck_assert(shows("12.0s of 30.0s") && shows(" 40 %") && shows("of 2000/s"));
    ck_assert(shows("agent-700") && shows("agent-800") && !shows("agent-900"));
    ck_assert(shows("and 998 more: 1 late"));
    show(100, 1);
    ck_assert(frame.n == 1 && shows("running"));
    show(20, 24);
    ck_assert(shows("agent-700") && shows("lost"));
}
END_TEST

START_TEST(test_before)
{
    p->n_agents = 2;
    p->agents[0].state = COORD_HELD;
    p->agents[1].state = COORD_DIALING;
    progress_settle(p, 0, NS_PER_SEC);
    show(80, 10);
    ck_assert(shows("dialling") && shows("1 of 2 agents") && !shows("rate"));
    p->agents[0].state = p->agents[1].state = COORD_ARMED;
    progress_settle(p, 3 * NS_PER_SEC, NS_PER_SEC);
    show(80, 10);
    ck_assert(shows("armed") && shows("2 of 2 agents, starts in 2.0s"));
    p->agents[0].state = p->agents[1].state = COORD_RUNNING;
    progress_settle(p, NS_PER_SEC, 32 * NS_PER_SEC);
    show(80, 10);
    ck_assert(shows("draining"));
}
END_TEST

/* A figure is whole or not there. */
START_TEST(test_no_figure_is_cut)
{
    p->n_agents = 3;
    p->snapshots = 1;
    p->total.sent = p->total.completed = 123456789;
    p->total.timeouts = 1234;
    p->last = (struct progress_window){.to_ns = NS_PER_SEC, .completed = 98765};
    p->last.corrected = (struct result_latency){.count = 9, .p50 = 123456, .p99 = 98765432};
    for (size_t i = 0; i < 3; i++)
        p->agents[i].sent = p->agents[i].backlog = 1234567;
    progress_settle(p, 1000, 1000 + 12 * NS_PER_SEC);
    for (size_t width = 24; width < 140; width++) {
        show(width, 40);
        ck_assert_msg(!shows("~"), "at %zu columns", width);
    }
}
END_TEST

/* Twice a second with as many agents as a run may have: it must not be felt. */
START_TEST(test_cost)
{
    p->snapshots = 1;
    uint64_t from_ns = clock_thread_cpu_ns();
    for (int i = 0; i < 100; i++)
        show(200, 60);
    uint64_t each_ns = (clock_thread_cpu_ns() - from_ns) / 100;
    printf("a frame of %zu lines takes %llu us\n", frame.n, (unsigned long long)each_ns / 1000);
    ck_assert_uint_lt(each_ns, 50 * NS_PER_MS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("live");
    TCase *t = tcase_create("live");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, test_columns, 0, sizeof fits / sizeof fits[0]);
    tcase_add_test(t, test_columns_ascii);
    tcase_add_test(t, test_any);
    tcase_add_test(t, test_troubled_first);
    tcase_add_test(t, test_before);
    tcase_add_test(t, test_no_figure_is_cut);
    tcase_add_test(t, test_cost);
    suite_add_tcase(s, t);
    return check_main(s);
}
