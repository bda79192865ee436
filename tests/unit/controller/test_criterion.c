/* SPDX-License-Identifier: MIT */
#include "controller/compare/criterion.h"

#include <string.h>

#include "tests/lib/check_main.h"

static const struct {
    const char *text, *label;
    enum criterion_metric metric;
    double percentile;
    bool uncorrected;
    uint32_t stage;
    const char *name;
    enum effect_kind kind;
    double limit;
} good[] = {
    {"p99>+10%", "p99", CRITERION_PERCENTILE, 99, false, 0, "", EFFECT_RATIO, 1.1},
    {" p99.9 > +5ms ", "p99.9", CRITERION_PERCENTILE, 99.9, false, 0, "", EFFECT_DIFFERENCE, 5e6},
    {"uncorrected.p50>+0%", "uncorrected.p50", CRITERION_PERCENTILE, 50, true, 0, "", EFFECT_RATIO,
     1},
    {"stage 2: mean>+1.5%", "stage 2: mean", CRITERION_MEAN, 0, false, 2, "", EFFECT_RATIO, 1.015},
    {"log in: max>+200%", "log in: max", CRITERION_MAX, 0, false, 0, "log in", EFFECT_RATIO, 3},
    {"a:b: errors>+0.1%", "a:b: errors", CRITERION_ERRORS, 0, false, 0, "a:b", EFFECT_DIFFERENCE,
     0.001},
    {"rate<-5%", "rate", CRITERION_RATE, 0, false, 0, "", EFFECT_RATIO, 0.95},
};

START_TEST(test_good)
{
    struct criterion c;
    struct errmsg msg = {{0}};
    ck_assert_msg(criterion_parse(good[_i].text, &c, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_str_eq(c.label, good[_i].label);
    ck_assert_str_eq(c.name, good[_i].name);
    ck_assert(c.metric == good[_i].metric && c.uncorrected == good[_i].uncorrected);
    ck_assert(c.stage == good[_i].stage && c.kind == good[_i].kind);
    ck_assert(fabs(c.limit - good[_i].limit) < 1e-9);
    ck_assert(c.metric != CRITERION_PERCENTILE || fabs(c.percentile - good[_i].percentile) < 1e-9);
    ck_assert(criterion_less_is_worse(&c) == (c.metric == CRITERION_RATE));
    ck_assert(criterion_same_figure(&c, &c));
}
END_TEST

static const char *const bad[] = {
    "",
    "p99",
    "p99>10%",
    "p99>-10%",
    "p99<+10%",
    "p99<-10%",
    "p0>+1%",
    "p101>+1%",
    "x>+1%",
    "p99>+",
    "p99>+%",
    "p99>+5",
    "rate>+5%",
    "rate<-100%",
    "rate<-5ms",
    "errors>+5ms",

    ": p99>+1%",
    "p99>+10%x",
    "p99\n>+1%",
    "p>+1%",
    "uncorrected.errors>+1%",
    "corrected.rate<-1%",
    "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"
    "p"
    "ppppppppppppppppppppppppppppppppppppppppppppppppp>+1%",
};

START_TEST(test_bad)
{
    struct criterion c;
    struct errmsg msg = {{0}};
    ck_assert_msg(criterion_parse(bad[_i], &c, &msg) == ERR_INVALID, "%s", bad[_i]);
    ck_assert_msg(strstr(msg.text, "accepted") != NULL, "%s", msg.text);
}
END_TEST

START_TEST(test_plan)
{
    struct plan p;
    struct criterion c;
    struct errmsg msg = {{0}};
    plan_defaults(&p);
    ck_assert(criterion_parse("p50>+1%", &c, NULL) == ERR_OK &&
              criterion_check(&c, &p, &msg) == ERR_OK);
    ck_assert(criterion_parse("stage 1: p50>+1%", &c, NULL) == ERR_OK &&
              criterion_check(&c, &p, &msg) == ERR_INVALID);
    ck_assert(criterion_parse("stage 99999: p50>+1%", &c, NULL) == ERR_OK &&
              criterion_check(&c, &p, &msg) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "there is no stage 99999, the runs have 0"));
    ck_assert(criterion_parse("nobody: p50>+1%", &c, NULL) == ERR_OK &&
              criterion_check(&c, &p, &msg) == ERR_INVALID);
    p.n_stages = 2;
    ck_assert(criterion_parse("stage 2: p50>+1%", &c, NULL) == ERR_OK &&
              criterion_check(&c, &p, &msg) == ERR_OK);
    plan_clear(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("criterion");
    TCase *t = tcase_create("criterion");
    tcase_add_loop_test(t, test_good, 0, (int)(sizeof good / sizeof good[0]));
    tcase_add_loop_test(t, test_bad, 0, (int)(sizeof bad / sizeof bad[0]));
    tcase_add_test(t, test_plan);
    suite_add_tcase(s, t);
    return check_main(s);
}
