/* SPDX-License-Identifier: MIT */
#include "controller/store/recording.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "controller/run/inventory.h"
#include "tests/lib/check_main.h"
#include "tests/lib/random_recording.h"

/* Whatever the numbers are. */
START_TEST(facts_survive_the_round_trip)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 200; i++) {
        struct recording *r = random_recording(&rng, check_below(&rng, 5));
        struct recording *again = random_recording(&rng, r->n_agents);
        char *text = NULL;
        struct errmsg msg = {{0}};
        ck_assert_int_eq(recording_facts_encode(r, &text), ERR_OK);
        ck_assert_msg(recording_facts_decode(text, again, &msg) == ERR_OK, "%s", msg.text);
        char *second = NULL;
        ck_assert_int_eq(recording_facts_encode(again, &second), ERR_OK);
        ck_assert_str_eq(text, second);
        ck_assert_uint_eq(r->n_agents, again->n_agents);
        if (r->n_agents > 0)
            ck_assert_mem_eq(&r->agents[0].loss, &again->agents[0].loss, sizeof r->agents[0].loss);
        mem_free(second);
        mem_free(text);
        recording_free(again);
        recording_free(r);
    }
}
END_TEST

START_TEST(what_is_no_number_is_left_out)
{
    struct result_agent agent = {.loss.share = NAN, .outlier.percentile = INFINITY};
    struct recording r = {.n_agents = 1, .agents = &agent}, again = {.plan_len = 0};
    struct errmsg msg;
    char *text = NULL;
    strcpy(agent.problem, "half a \xc3 character, and \x1b[2J");
    ck_assert_int_eq(recording_facts_encode(&r, &text), ERR_OK);
    ck_assert_int_eq(recording_facts_decode(text, &again, &msg), ERR_OK);
    ck_assert(again.agents[0].loss.share == 0 && again.agents[0].outlier.percentile == 0);
    ck_assert_str_eq(again.agents[0].problem, "half a ? character, and ?[2J");
    mem_free(again.agents);
    mem_free(text);
}
END_TEST

static void refused(const char *text, const char *said)
{
    struct errmsg msg = {{0}};
    struct recording r = {.n_agents = 0};
    ck_assert_int_ne(recording_facts_decode(text, &r, &msg), ERR_OK);
    ck_assert_msg(strstr(msg.text, said) != NULL, "%s", msg.text);
    ck_assert_ptr_null(r.agents);
    ck_assert_ptr_null(r.aborted);
    ck_assert_uint_eq(r.n_agents, 0);
}

START_TEST(foreign_text_is_refused_by_name)
{
    refused("", "no JSON");
    refused("[]", "no object");
    refused("{}", "no list");
    refused("{\"agents\":{}}", "no list");
    refused("{\"agents\":[1]}", "no object");
    refused("{\"aborted\":7,\"agents\":[]}", "\"aborted\"");
    refused("{\"aborted\":\"x\",\"interrupted\":0,\"agents\":[]}", "\"interrupted\"");
    refused("{\"agents\":[{\"weight\":4294967296}]}", "\"weight\"");
    refused("{\"agents\":[{\"weight\":-1}]}", "\"weight\"");
    refused("{\"agents\":[{\"state\":\"sleepy\"}]}", "\"state\"");
    refused("{\"agents\":[{\"loss.count\":\"18446744073709551616\"}]}", "\"loss.count\"");
    refused("{\"agents\":[{\"loss.count\":\" 1\"}]}", "\"loss.count\"");
    refused("{\"agents\":[{\"loss.share\":\"1\"}]}", "\"loss.share\"");
}
END_TEST

START_TEST(too_many_agents_are_refused)
{
    char *text = mem_calloc(3 * (INVENTORY_MAX + 2) + 32, 1);
    strcpy(text, "{\"agents\":[{}");
    char *end = text + strlen(text);
    for (int i = 0; i < INVENTORY_MAX; i++)
        end = stpcpy(end, ",{}");
    strcpy(end, "]}");
    refused(text, "1024");
    mem_free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("recording");
    TCase *t = tcase_create("facts");
    tcase_add_test(t, facts_survive_the_round_trip);
    tcase_add_test(t, what_is_no_number_is_left_out);
    tcase_add_test(t, foreign_text_is_refused_by_name);
    tcase_add_test(t, too_many_agents_are_refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
