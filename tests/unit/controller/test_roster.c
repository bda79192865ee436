/* SPDX-License-Identifier: MIT */
#include "controller/report/roster.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

/* What check says at the end, of two agents with these policies and so many refusals. */
static char *conclusion(const char *one, const char *two, size_t refusals)
{
    static char why[] = "agent b:7400: too small";
    struct inventory_agent places[2] = {{.address = "a:7400"}, {.address = "b:7400"}};
    struct inventory inv = {.agents = places, .n = 2};
    struct survey_agent agents[2] = {{.reached = true}, {.reached = true}};
    struct roster_problem problem = {true, 1, why};
    struct roster r = {&inv, agents, NULL, true, &problem, refusals};
    char *text;
    size_t len;
    snprintf(agents[0].info.policy, sizeof agents[0].info.policy, "%s", one);
    snprintf(agents[1].info.policy, sizeof agents[1].info.policy, "%s", two);
    FILE *out = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(out);
    roster_text(&r, out);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* Nothing is promised that only an agent can know. */
START_TEST(test_what_a_preflight_promises)
{
    static const struct {
        const char *one, *two;
        size_t refusals;
        const char *says;
    } cases[] = {
        {"targets loopback", "targets loopback", 0, "passed: run would start\n"},
        {"targets loopback", "targets loopback; at most 5/s", 0, "within the policies' caps\n"},
        {"targets loopback; 10m", "targets any", 0, "within the policies' caps\n"},
        {"targets loopback; 10m", "targets any", 1, "preflight failed: run would not start\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = conclusion(cases[i].one, cases[i].two, cases[i].refusals);
        ck_assert_msg(strstr(text, cases[i].says) != NULL, "case %zu: %s", i, text);
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("roster");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_what_a_preflight_promises);
    return check_main(s);
}
