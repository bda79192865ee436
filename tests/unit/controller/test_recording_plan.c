/* SPDX-License-Identifier: MIT */
#include "controller/store/recording_plan.h"

#include <string.h>

#include "common/mem.h"
#include "common/redact.h"
#include "controller/store/environment.h"
#include "tests/lib/check_main.h"

#define SECRET "sesame"

static struct errmsg msg;

static void make_plan(struct plan *p, const char *url)
{
    plan_defaults(p);
    p->url = mem_strdup(url);
    p->rate = (struct rate){100, 1};
    ck_assert_msg(plan_check(p, &msg) == ERR_OK, "%s", msg.text);
}

static bool holds(const struct recording *r, const char *text)
{
    return memmem(r->plan, r->plan_len, text, strlen(text)) != NULL;
}

static struct recording *take(const struct plan *p, const char *redact)
{
    struct recording *r = mem_calloc(1, sizeof *r);
    struct plan again;
    ck_assert_int_eq(recording_take_plan(r, p, redact), ERR_OK);
    ck_assert_msg(plan_decode(r->plan, r->plan_len, &again, &msg) == ERR_OK, "%s", msg.text);
    plan_clear(&again);
    ck_assert(!holds(r, SECRET));
    return r;
}

static void add_env(struct plan *p, const char *name, const char *value)
{
    p->env = mem_realloc(p->env, p->n_env + 1, sizeof *p->env);
    p->env[p->n_env++] =
        (struct template_named){mem_strdup(name), (uint8_t *)mem_strdup(value), strlen(value)};
}

START_TEST(no_secret_is_kept_and_each_is_named)
{
    struct plan p;
    make_plan(&p, "http://127.0.0.1:1/x?token=" SECRET "&a=b");
    option_list_add(&p.headers, "Authorization: Bearer " SECRET);
    option_list_add(&p.headers, "Cookie: id=" SECRET);
    option_list_add(&p.headers, "X-Mine: " SECRET);
    option_list_add(&p.headers, "X-Other: kept");
    option_list_add(&p.headers, "X-Env: {{env TOKEN}}");
    option_list_add(&p.given, "proxy=http://u:" SECRET "@127.0.0.1:3128");
    p.proxy = mem_strdup("http://u:" SECRET "@127.0.0.1:3128");
    add_env(&p, "TOKEN", SECRET);
    struct recording *r = mem_calloc(1, sizeof *r);
    ck_assert_int_eq(recording_take_plan(r, &p, "x-mine"), ERR_OK);
    ck_assert(!holds(r, SECRET));
    ck_assert(holds(r, "X-Other: kept"));
    ck_assert(holds(r, "X-Env: {{env TOKEN}}"));
    ck_assert_str_eq(r->secrets, "header Authorization,header Cookie,header X-Mine,URL,env TOKEN,"
                                 "proxy");
    ck_assert(strstr(p.headers.items[0], SECRET) != NULL); /* the plan itself stays */
    recording_free(r);
    plan_clear(&p);
}
END_TEST

START_TEST(requests_of_a_file_are_stripped)
{
    struct plan p;
    plan_defaults(&p);
    p.rate = (struct rate){100, 1};
    for (int i = 0; i < 2; i++) {
        struct plan_entry *e = plan_add_entry(&p);
        e->url = mem_strdup("http://127.0.0.1:1/a");
        e->name = mem_strdup(i == 0 ? "login" : "cart");
    }
    option_list_add(&p.entries[1].headers, "X-Api-Key: " SECRET);
    ck_assert_msg(plan_check(&p, &msg) == ERR_OK, "%s", msg.text);
    struct recording *r = take(&p, NULL);
    ck_assert_str_eq(r->secrets, "requests");
    recording_free(r);
    plan_clear(&p);
}
END_TEST

START_TEST(a_load_has_one_id)
{
    struct plan p, q;
    make_plan(&p, "http://127.0.0.1:1/x");
    make_plan(&q, "http://127.0.0.1:1/x");
    option_list_add(&p.headers, "Authorization: Bearer one");
    option_list_add(&q.headers, "Authorization: Bearer two");
    option_list_add(&p.given, "rate=100");
    option_list_add(&q.given, "rate=100/s");
    q.interval_ns = 2 * p.interval_ns;
    q.phases = true;
    struct recording *a = take(&p, NULL), *b = take(&q, NULL);
    ck_assert_uint_eq(strlen(a->plan_id), 16);
    ck_assert_str_eq(a->plan_id, b->plan_id);
    recording_free(b);
    q.rate.num++;
    b = take(&q, NULL);
    ck_assert_str_ne(a->plan_id, b->plan_id);
    recording_free(a);
    recording_free(b);
    plan_clear(&p);
    plan_clear(&q);
}
END_TEST

static void word(const char *before, const char *text, const char *expected)
{
    char *kept = environment_word(before, text);
    ck_assert_str_eq(kept, expected);
    mem_free(kept);
}

START_TEST(the_command_line_is_kept_without_secrets)
{
    word(NULL, "run", "run");
    word("-r", "100", "100");
    word("run", "http://u:pw@h/?token=abc", "http://" REDACTED "@h/?token=" REDACTED);
    word("-H", "Authorization: x", "Authorization: " REDACTED);
    word("x", "-HAuthorization: x", "-HAuthorization: " REDACTED);
    word("x", "--header=Cookie: x", "--header=Cookie: " REDACTED);
    word("-H", "X-A: b", "X-A: b");
    word("--data", "password", "(8 bytes)");
    word("x", "--data=password", "--data=(8 bytes)");
    word("x", "--proxy=http://u:pw@h:1", "--proxy=http://" REDACTED "@h:1");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("recording_plan");
    TCase *t = tcase_create("plan");
    tcase_add_test(t, no_secret_is_kept_and_each_is_named);
    tcase_add_test(t, requests_of_a_file_are_stripped);
    tcase_add_test(t, a_load_has_one_id);
    tcase_add_test(t, the_command_line_is_kept_without_secrets);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
