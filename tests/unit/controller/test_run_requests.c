/* SPDX-License-Identifier: MIT */
/* From the command line, the plan file and lists to the plan's requests. */
#include "controller/cmd/run_requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

#define N_OF(a) (sizeof(a) / sizeof(a)[0])

static char path[64];

static void write_file(const char *text)
{
    strcpy(path, "/tmp/hammer-plan-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void remove_file(void)
{
    unlink(path);
}

/* "run FLAG path" and the further words. */
static enum err parse(struct run_options *o, const char *flag, const char *const *words,
                      struct errmsg *msg)
{
    char *argv[16] = {(char *)(uintptr_t) "run", (char *)(uintptr_t)flag, path};
    int argc = 3;
    struct inventory inv = {0};
    for (; words != NULL && *words != NULL; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    msg->text[0] = '\0';
    enum err e = run_options_parse(argc, argv, o, &inv, msg);
    inventory_clear(&inv);
    return e;
}

static void must_parse(struct run_options *o, const char *flag, const char *const *words)
{
    struct errmsg msg;
    ck_assert_msg(parse(o, flag, words, &msg) == ERR_OK, "%s", msg.text);
}

static void assert_refused(const char *flag, const char *const *words, const char *why)
{
    struct run_options o;
    struct errmsg msg;
    ck_assert_msg(parse(&o, flag, words, &msg) != ERR_OK, "accepted, without: %s", why);
    ck_assert_msg(strstr(msg.text, why) != NULL, "\"%s\" has no \"%s\"", msg.text, why);
    run_options_clear(&o);
}

static const char shop[] = "rate: 2k\n"
                           "duration: 30s\n"
                           "header: [\"X-Plan: 1\"]\n"
                           "url: http://shop/api/\n"
                           "order: random\n"
                           "requests:\n"
                           "  - url: /login\n"
                           "    name: login\n"
                           "    method: PUT\n"
                           "    headers:\n"
                           "      - \"Content-Type: application/json\"\n"
                           "      - \"X-Plan: 2\"\n"
                           "    data: '{\"n\": {{seq}}}'\n"
                           "    weight: 3\n"
                           "  - {url: \"http://cdn:81/x?y={{rand 1 9}}\"}\n"
                           "  - url: /cart\n"
                           "    data: \"\"\n";

START_TEST(test_a_plan_file)
{
    struct run_options o;
    write_file(shop);
    must_parse(&o, "-f", NULL);
    const struct plan *p = &o.plan;
    ck_assert_uint_eq(p->rate.num, 2000);
    ck_assert_uint_eq(p->duration_ns, UINT64_C(30000000000));
    ck_assert_uint_eq(p->n_entries, 3);
    ck_assert_int_eq(plan_order_of(p), PLAN_ORDER_RANDOM);
    ck_assert_str_eq(p->url, "http://shop/api/login");
    ck_assert_str_eq(p->entries[0].url, "http://shop/api/login");
    ck_assert_str_eq(p->entries[0].name, "login");
    ck_assert_str_eq(p->entries[0].method, "PUT");
    ck_assert_uint_eq(p->entries[0].weight, 3);
    ck_assert_uint_eq(p->entries[0].headers.n, 2);
    ck_assert_str_eq((char *)p->entries[0].body, "{\"n\": {{seq}}}");
    ck_assert_str_eq(p->entries[1].url, "http://cdn:81/x?y={{rand 1 9}}");
    ck_assert_str_eq(p->entries[1].name, "GET /x");
    ck_assert_str_eq(p->entries[2].name, "POST /api/cart");
    ck_assert_ptr_nonnull(p->entries[2].body);
    ck_assert_uint_eq(p->entries[2].body_len, 0);
    ck_assert_str_eq(p->headers.items[0], "X-Plan: 1");
    run_options_clear(&o);
    remove_file();
}
END_TEST

START_TEST(test_flags_and_environment_beat_the_file)
{
    static const char *const words[] = {"-r", "5/s", "--order", "weight", "http://stage:8080",
                                        NULL};
    struct run_options o;
    write_file(shop);
    setenv("HAMMER_DURATION", "7s", 1);
    must_parse(&o, "--file", words);
    ck_assert_uint_eq(o.plan.rate.num, 5);
    ck_assert_uint_eq(o.plan.duration_ns, UINT64_C(7000000000));
    ck_assert_int_eq(plan_order_of(&o.plan), PLAN_ORDER_WEIGHT);
    ck_assert_str_eq(o.plan.entries[2].url, "http://stage:8080/cart");
    ck_assert_str_eq(o.plan.entries[1].url, "http://cdn:81/x?y={{rand 1 9}}");
    unsetenv("HAMMER_DURATION");
    run_options_clear(&o);
    remove_file();
}
END_TEST

START_TEST(test_a_plan_file_of_one_request)
{
    static const char *const other[] = {"http://b/", NULL};
    struct run_options o;
    write_file("url: http://a/\nrequests: []\nrate: 5\n");
    must_parse(&o, "-f", NULL);
    ck_assert_str_eq(o.plan.url, "http://a/");
    ck_assert_uint_eq(o.plan.n_entries, 0);
    run_options_clear(&o);
    must_parse(&o, "-f", other);
    ck_assert_str_eq(o.plan.url, "http://b/");
    run_options_clear(&o);
    remove_file();
}
END_TEST

START_TEST(test_lists)
{
    static const char *const base[] = {"http://h/base", NULL};
    struct run_options o;
    write_file("/a\nhttp://x/b POST c=d\n");
    must_parse(&o, "--urls", base);
    ck_assert_uint_eq(o.plan.n_entries, 2);
    ck_assert_str_eq(o.plan.entries[0].url, "http://h/base/a");
    ck_assert_str_eq(o.plan.entries[0].name, "GET /base/a");
    ck_assert_str_eq(o.plan.entries[1].name, "POST /b");
    run_options_clear(&o);
    assert_refused("--urls", NULL, "request 1: URL /a is a path; accepted is one with a URL");
    remove_file();
    write_file("http://x/b\n");
    assert_refused("--urls", base, "http://h/base beside requests of a file");
    remove_file();
}
END_TEST

START_TEST(test_bad_plan_files)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"requests: 5\n", ":1:11: accepted is a list of mappings"},
        {"requests: &a []\n", ":1:11: accepted is a list of mappings"},
        {"requests:\n - http://h/\n", ":2:4: accepted is a mapping"},
        {"requests:\n - &a {url: \"http://h/\"}\n", ":2:4: accepted is a mapping"},
        {"requests:\n - [1]\n", ":2:4: accepted is a mapping"},
        {"requests:\n - name: x\n", ":2:4: a request without url"},
        {"requests:\n - url: http://h/\n   weight: 0\n", ":3:12: weight 0: accepted is a whole"},
        {"requests:\n - url: http://h/\n   rate: 5\n", ":3:4: unknown key rate"},
        {"requests:\n - url: http://h/\n   requests: []\n", ":3:4: unknown key requests"},
        {"requests:\n - url: http://h/\n   methd: GET\n", "did you mean method?"},
        {"requests:\n - url: http://h/\n   url: http://g/\n", ":3:4: url: given twice"},
        {"requests:\n - url: http://h/\n   data: a\n   body: b\n", ":2:4: data and body"},
        {"requests:\n - url: http://h/\n   body: /nonexistent\n",
         ":2:4: body /nonexistent: cannot"},
        {"requests: []\nrequests: []\n", ":2:1: requests: given twice"},
        {"requests:\n - url: http://h/\n   name: [a]\n", ":3:10: name: accepted is one text"},
        {"requests:\n - url: \"http://h/\n", ":3:1: found unexpected end of stream"},
        {"requests: [{url: http://h/, headers: {a: b}}]",
         "headers: accepted is one text or a list"},
        {"rte: 5\n", ":1:1: unknown key rte: did you mean rate?"},
        {"file: other.yml\nrequests: [{url: /x}]\n", ":1:1: unknown key file"},
        {"{}\n", "the URL is missing"},
        {"requests:\n - url: http://h/a b\n", "request 1 (GET /a b): URL http://h/a b: a space"},
    };
    for (size_t i = 0; i < N_OF(rows); i++) {
        write_file(rows[i].text);
        assert_refused("-f", NULL, rows[i].why);
        remove_file();
    }
}
END_TEST

START_TEST(test_sources_exclude_each_other)
{
    char words_path[64];
    write_file("http://h/\n");
    strcpy(words_path, path);
    const char *const words[] = {"--urls", words_path, NULL};
    write_file(shop);
    assert_refused("-f", words, "--urls with requests in the plan file");
    remove_file();
    unlink(words_path);
    strcpy(path, "/nonexistent");
    assert_refused("-f", NULL, "--file /nonexistent: No such file");
}
END_TEST

START_TEST(test_secrets_in_a_file_that_others_may_read)
{
    write_file("requests:\n - url: http://h/\n   headers: [\"Authorization: Bearer x\"]\n");
    chmod(path, 0644);
    assert_refused("-f", NULL, "header Authorization: a secret, and other users may read");
    struct run_options o;
    chmod(path, 0600);
    must_parse(&o, "-f", NULL);
    run_options_clear(&o);
    remove_file();
    setenv("REQUESTS_TEST_TOKEN", "x", 1);
    write_file("requests:\n - url: http://h/\n"
               "   headers: [\"Authorization: Bearer {{env REQUESTS_TEST_TOKEN}}\"]\n");
    chmod(path, 0644);
    must_parse(&o, "-f", NULL);
    ck_assert_uint_eq(o.plan.n_env, 1);
    run_options_clear(&o);
    remove_file();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("run_requests");
    TCase *t = tcase_create("run_requests");
    tcase_add_test(t, test_a_plan_file);
    tcase_add_test(t, test_flags_and_environment_beat_the_file);
    tcase_add_test(t, test_a_plan_file_of_one_request);
    tcase_add_test(t, test_lists);
    tcase_add_test(t, test_bad_plan_files);
    tcase_add_test(t, test_sources_exclude_each_other);
    tcase_add_test(t, test_secrets_in_a_file_that_others_may_read);
    suite_add_tcase(s, t);
    return check_main(s);
}
