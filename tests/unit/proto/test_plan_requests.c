/* SPDX-License-Identifier: MIT */
/* Several requests in one plan: what is read, checked and named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "proto/plan.h"
#include "proto/snapshot.h"
#include "tests/lib/check_main.h"
#include "tests/lib/mem_watch.h"

#define N_OF(a) (sizeof(a) / sizeof(a)[0])

/* A plan of that many entries, "http://h/0" and so on; not checked yet. */
static void plan_of(struct plan *p, size_t n)
{
    plan_defaults(p);
    p->requests = 10;
    for (size_t i = 0; i < n; i++) {
        char url[64];
        snprintf(url, sizeof url, "http://h/%zu", i);
        plan_add_entry(p)->url = mem_strdup(url);
    }
}

static void must_check(struct plan *p)
{
    struct errmsg msg = {""};
    enum err e = plan_check(p, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
}

static void assert_refused(struct plan *p, const char *why)
{
    struct errmsg msg = {""};
    ck_assert_msg(plan_check(p, &msg) != ERR_OK, "accepted, without: %s", why);
    ck_assert_msg(strstr(msg.text, why) != NULL, "\"%s\" has no \"%s\"", msg.text, why);
}

/* A file with that text; the caller removes it. */
static void write_file(char path[32], const char *text)
{
    strcpy(path, "/tmp/hammer-lines-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void bad_url(struct plan_entry *e)
{
    mem_free(e->url);
    e->url = mem_strdup("http://h/a b");
}

static void no_url(struct plan_entry *e)
{
    mem_free(e->url);
    e->url = NULL;
}

static void template_in_host(struct plan_entry *e)
{
    mem_free(e->url);
    e->url = mem_strdup("http://{{pick a b}}/");
}

static void bad_template(struct plan_entry *e)
{
    mem_free(e->url);
    e->url = mem_strdup("http://h/{{rnd}}");
}

static void long_template(struct plan_entry *e)
{
    char url[9000] = "http://h/";
    for (size_t i = 0; i < 400; i++)
        strcat(url, "{{uuid}}");
    mem_free(e->url);
    e->url = mem_strdup(url);
}

static void bad_method(struct plan_entry *e)
{
    e->method = mem_strdup("GE T");
}

static void tunnel(struct plan_entry *e)
{
    e->method = mem_strdup("CONNECT");
}

static void bad_header(struct plan_entry *e)
{
    option_list_add(&e->headers, "no colon");
}

static void template_in_name(struct plan_entry *e)
{
    option_list_add(&e->headers, "X{{seq}}: 1");
}

static void line_end_in_header(struct plan_entry *e)
{
    option_list_add(&e->headers, "X: 1\r\nY: 2");
}

static void long_body(struct plan_entry *e)
{
    e->body_len = PLAN_BODY_MAX + 1;
    e->body = mem_calloc(e->body_len, 1);
}

static void no_weight(struct plan_entry *e)
{
    e->weight = 0;
}

static void great_weight(struct plan_entry *e)
{
    e->weight = PLAN_WEIGHT_MAX + 1;
}

static void long_name(struct plan_entry *e)
{
    mem_free(e->name);
    e->name = mem_calloc(PLAN_NAME_MAX + 2, 1);
    memset(e->name, 'n', PLAN_NAME_MAX + 1);
}

static void control_in_name(struct plan_entry *e)
{
    mem_free(e->name);
    e->name = mem_strdup("a\x1b[2J");
}

START_TEST(test_errors_name_the_request)
{
    static const struct {
        void (*spoil)(struct plan_entry *);
        const char *why;
    } rows[] = {
        {bad_url, "request 3 (login): URL http://h/a b: a space"},
        {no_url, "request 3 (login): URL is missing"},
        {template_in_host, "request 3 (login): URL: a template in scheme, host or port"},
        {bad_template, "request 3 (login): template {{rnd}}: unknown; accepted are {{seq}}"},
        {long_template, "request 3 (login): URL: its templates make it up to 14401 bytes"},
        {bad_method, "request 3 (login): method GE T: accepted is a method"},
        {tunnel, "request 3 (login): method CONNECT: opens a tunnel"},
        {bad_header, "request 3 (login): header REDACTED: no colon; accepted is NAME: VALUE"},
        {template_in_name, "request 3 (login): header REDACTED: the name is not a token"},
        {line_end_in_header, "request 3 (login): header X: CR, LF"},
        {long_body, "request 3 (login): request body of 4194305 bytes: accepted is at most"},
        {no_weight, "request 3 (login): weight 0: accepted is a whole number from 1 to 1000000"},
        {great_weight, "request 3 (login): weight 1000001"},
        {long_name, "name: accepted is a text of at most 63 bytes"},
        {control_in_name, "name: accepted is a text"},
    };
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct plan p;
        plan_of(&p, 5);
        p.entries[2].name = mem_strdup("login");
        rows[i].spoil(&p.entries[2]);
        assert_refused(&p, rows[i].why);
        plan_clear(&p);
    }
    ck_assert_uint_eq(mem_watch.live, 0);
}
END_TEST

START_TEST(test_limits_of_the_plan)
{
    struct plan p;
    plan_of(&p, PLAN_ENTRIES_MAX + 1);
    assert_refused(&p, "10001 requests: accepted are at most 10000");
    plan_entry_clear(&p.entries[--p.n_entries]);
    must_check(&p);
    plan_clear(&p);

    plan_of(&p, 4);
    for (size_t i = 0; i < 4; i++) {
        p.entries[i].body_len = PLAN_BODY_MAX - 1000;
        p.entries[i].body = mem_calloc(p.entries[i].body_len, 1);
    }
    assert_refused(&p, "bodies and files: accepted are at most 8384512");
    plan_clear(&p);

    plan_of(&p, 1000);
    p.body_len = 100000;
    p.body = mem_calloc(p.body_len, 1);
    assert_refused(&p, "all requests together, each with its headers, its body and");
    plan_clear(&p);

    plan_of(&p, 0);
    p.url = mem_strdup("http://h/");
    p.order = PLAN_ORDER_RANDOM;
    assert_refused(&p, "--order random with one request");
    plan_clear(&p);
}
END_TEST

/* A few bytes for 64 KiB each. Refused while they are looked at, not when the memory is gone. */
START_TEST(test_variables_are_bounded)
{
    static const char text[] = "{{env A}}";
    struct plan p;
    plan_of(&p, 0);
    p.env = mem_calloc(1, sizeof *p.env);
    p.env[p.n_env++] = (struct template_named){mem_strdup("A"), mem_calloc(60000, 1), 60000};
    memset(p.env[0].bytes, 'x', 60000);
    p.url = mem_strdup("http://h/");
    p.body_len = 1000 * (sizeof text - 1);
    p.body = mem_calloc(p.body_len + 1, 1);
    for (size_t i = 0; i < 1000; i++)
        memcpy(p.body + i * (sizeof text - 1), text, sizeof text - 1);
    p.method = mem_strdup("POST");
    assert_refused(&p, "template {{env A}}: the variables of one request have more than 8 MiB");
    p.body_len = 60 * (sizeof text - 1);
    must_check(&p);
    for (size_t i = 0; i < 1000; i++)
        plan_add_entry(&p)->url = mem_strdup("http://h/");
    assert_refused(&p, "each with its headers, its body and");
    plan_clear(&p);

    plan_of(&p, 1000);
    p.env = mem_calloc(1, sizeof *p.env);
    p.env[p.n_env++] = (struct template_named){mem_strdup("A"), mem_calloc(8000, 1), 8000};
    memset(p.env[0].bytes, 'x', 8000);
    for (size_t i = 0; i < 64; i++)
        option_list_add(&p.headers, "A: {{env A}}");
    assert_refused(&p, "each with its headers, its body and");
    plan_clear(&p);
}
END_TEST

START_TEST(test_placeholders_are_bounded)
{
    struct plan p;
    plan_of(&p, 1);
    p.body_len = 7 * (TEMPLATE_PLACEHOLDERS_MAX + 1);
    p.body = mem_calloc(p.body_len + 1, 1);
    for (size_t i = 0; i < p.body_len; i += 7)
        memcpy(p.body + i, "{{seq}}", 7);
    assert_refused(&p, "more than 10000 placeholders in one request");
    p.body_len -= 7;
    must_check(&p);
    for (size_t i = 0; i < 100; i++)
        plan_add_entry(&p)->url = mem_strdup("http://h/");
    assert_refused(&p, "each with its headers, its body and");
    plan_clear(&p);
}
END_TEST

/* --- rows of the report ----------------------------------------------------------------------- */

START_TEST(test_names_are_the_rows)
{
    static const char *const given[] = {"b", "a", NULL, "b", "", "c"};
    const char *names[8];
    uint32_t of[6];
    size_t n;
    struct plan p;
    plan_of(&p, 6);
    for (size_t i = 0; i < 6; i++)
        p.entries[i].name = mem_strdup(given[i]);
    ck_assert_int_eq(plan_names(&p, 8, names, &n, of), ERR_OK);
    ck_assert_uint_eq(n, 4);
    static const char *const rows[] = {"b", "a", "", "c"};
    static const uint32_t expected[] = {0, 1, 2, 0, 2, 3};
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(names[i], rows[i]);
    ck_assert_mem_eq(of, expected, sizeof of);
    ck_assert_int_eq(plan_names(&p, 4, names, &n, NULL), ERR_OK);
    ck_assert_int_eq(plan_names(&p, 3, names, &n, NULL), ERR_RANGE);
    plan_clear(&p);
}
END_TEST

static void name_all(struct plan *p)
{
    for (size_t i = 0; i < p->n_entries; i++) {
        char name[32];
        snprintf(name, sizeof name, "r%zu", i);
        p->entries[i].name = mem_strdup(name);
    }
}

START_TEST(test_rows_are_bounded)
{
    struct plan p;
    struct errmsg many;
    plan_of(&p, SNAPSHOT_SERIES_MAX);
    name_all(&p);
    must_check(&p);
    ck_assert_int_eq(plan_check_rows(&p, 32, &many), ERR_OK);
    ck_assert_int_eq(plan_check_rows(&p, 33, &many), ERR_RANGE);
    p.threads = 256;
    assert_refused(&p, "--threads 256 with 64 rows of figures (request names times stages): "
                       "accepted are at most 2048 together");
    p.threads = 0;
    p.warmup_ns = 1000000;
    p.requests = UINT64_MAX;
    p.duration_ns = 10000000;
    assert_refused(&p, "64 names of requests times 1 stages and the warm-up are 65 rows");
    plan_clear(&p);
    plan_of(&p, SNAPSHOT_SERIES_MAX + 1);
    name_all(&p);
    assert_refused(&p, "the requests have more than 64 names");
    plan_clear(&p);
    plan_of(&p, 33);
    name_all(&p);
    struct errmsg msg;
    ck_assert_int_eq(plan_parse_stages(NULL, "1s@5,1s@6", &p, &msg), ERR_OK);
    p.requests = UINT64_MAX;
    assert_refused(&p, "33 names of requests times 2 stages are 66 rows in the report: accepted "
                       "are at most 64");
    plan_clear(&p);
}
END_TEST

/* --- what plan_check makes of the user's words --------------------------------------------------
 */

START_TEST(test_methods_follow_the_body)
{
    struct plan p;
    struct plan_request q;
    plan_of(&p, 3);
    p.entries[1].body = mem_dup("x", 1);
    p.entries[1].body_len = 1;
    p.entries[2].method = mem_strdup("PUT");
    must_check(&p);
    static const char *const methods[] = {"GET", "POST", "PUT"};
    for (size_t i = 0; i < 3; i++) {
        plan_request_at(&p, i, &q);
        ck_assert_str_eq(q.method, methods[i]);
    }
    ck_assert_str_eq(p.url, "http://h/0");
    plan_clear(&p);
}
END_TEST

START_TEST(test_names_of_the_unnamed)
{
    static const struct {
        const char *url, *method, *name;
    } rows[] = {
        {"http://h/a/b?c=d#e", NULL, "GET /a/b"},
        {"h", "PUT", "PUT /"},
        {"http://h?x=/y", NULL, "GET /"},
        {"https://h:8/u/{{rand 1 9}}?x", NULL, "GET /u/{{rand 1 9}}"},
        {"http://h/0123456789012345678901234567890123456789012345678901234", NULL,
         "GET /0123456789012345678901234567890123456789012345678901234"},
        {"http://h/012345678901234567890123456789012345678901234567890123456789", NULL,
         "GET /0123456789012345678901234567890123456789012345678901234..."},
    };
    struct plan p;
    plan_of(&p, N_OF(rows) + 1);
    for (size_t i = 0; i < N_OF(rows); i++) {
        mem_free(p.entries[i].url);
        p.entries[i].url = mem_strdup(rows[i].url);
        p.entries[i].method = mem_strdup(rows[i].method);
    }
    p.entries[N_OF(rows)].name = mem_strdup("mine");
    p.name_entries = true;
    must_check(&p);
    for (size_t i = 0; i < N_OF(rows); i++)
        ck_assert_str_eq(p.entries[i].name, rows[i].name);
    ck_assert_str_eq(p.entries[N_OF(rows)].name, "mine");
    plan_clear(&p);
}
END_TEST

START_TEST(test_removals)
{
    struct plan p;
    plan_of(&p, 1);
    option_list_add(&p.headers, "Accept;");
    option_list_add(&p.headers, "X: a;");
    option_list_add(&p.entries[0].headers, "User-Agent:");
    must_check(&p);
    ck_assert_str_eq(p.headers.items[0], "Accept:");
    ck_assert(plan_header_removes(p.headers.items[0]));
    ck_assert(!plan_header_removes(p.headers.items[1]));
    ck_assert(plan_header_removes(p.entries[0].headers.items[0]));
    ck_assert(plan_header_removes("A: \t "));
    plan_clear(&p);
    plan_of(&p, 1);
    option_list_add(&p.headers, "Content-Length;");
    assert_refused(&p, "is set by hammer");
    plan_clear(&p);
}
END_TEST

START_TEST(test_files_and_variables_come_along)
{
    char path[32], url[80];
    write_file(path, "a\nb\n");
    setenv("PLAN_TEST_VALUE", "s3cret", 1);
    struct plan p;
    plan_of(&p, 2);
    mem_free(p.entries[1].url);
    snprintf(url, sizeof url, "http://h/{{line %s}}", path);
    p.entries[1].url = mem_strdup(url);
    option_list_add(&p.headers, "X: {{env PLAN_TEST_VALUE}}{{env PLAN_TEST_VALUE}}");
    must_check(&p);
    ck_assert_uint_eq(p.n_files, 1);
    ck_assert_str_eq(p.files[0].name, path);
    ck_assert_uint_eq(p.files[0].len, 4);
    ck_assert_uint_eq(p.n_env, 1);
    ck_assert_str_eq(p.env[0].name, "PLAN_TEST_VALUE");
    ck_assert_str_eq((char *)p.env[0].bytes, "s3cret");
    plan_clear(&p);

    plan_of(&p, 1);
    p.no_templates = true;
    p.data = mem_strdup("{{env PLAN_TEST_NONE}} {{what}}");
    must_check(&p);
    ck_assert_uint_eq(p.n_env, 0);
    plan_clear(&p);

    plan_of(&p, 2); /* the body that the second one has is not that of the first */
    p.data = mem_strdup("{{env PLAN_TEST_VALUE}}");
    p.entries[0].body = mem_dup("1", 1);
    p.entries[0].body_len = 1;
    must_check(&p);
    ck_assert_uint_eq(p.n_env, 1);
    plan_clear(&p);

    plan_of(&p, 1);
    p.data = mem_strdup("{{env PLAN_TEST_NONE}}");
    assert_refused(&p, "{{env PLAN_TEST_NONE}}: there is no such variable");
    plan_clear(&p);

    plan_of(&p, 1);
    p.data = mem_strdup("{{line /nonexistent}}");
    assert_refused(&p, "{{line}} /nonexistent: cannot be opened: No such file");
    plan_clear(&p);
    unlink(path);
}
END_TEST

START_TEST(test_ways_to_give_a_body)
{
    char path[32], expected[64];
    write_file(path, "one\ntwo\n");
    struct plan p;
    plan_of(&p, 1);
    p.body_lines = mem_strdup(path);
    must_check(&p);
    snprintf(expected, sizeof expected, "{{line %s}}", path);
    ck_assert_str_eq((char *)p.body, expected);
    ck_assert_str_eq(p.method, "POST");
    ck_assert_uint_eq(p.n_files, 1);
    plan_clear(&p);

    plan_of(&p, 1);
    p.body_size = 100000;
    p.body_size_set = true;
    must_check(&p);
    ck_assert_uint_eq(p.body_len, 100000);
    ck_assert_uint_eq(strspn((char *)p.body, "abcdefghijklmnopqrstuvwxyz"), 100000);
    plan_clear(&p);

    plan_of(&p, 1);
    p.body_lines = mem_strdup(path);
    p.body_size_set = true;
    assert_refused(&p, "--body-lines with --body-size: accepted is one of the two");
    plan_clear(&p);

    plan_of(&p, 1);
    p.body_lines = mem_strdup(path);
    p.no_templates = true;
    assert_refused(&p, "--body-lines with --no-templates");
    plan_clear(&p);
    unlink(path);
}
END_TEST

/* Images and archives are no templates, whatever bytes they have. */
START_TEST(test_binary_bodies_are_sent_as_they_are)
{
    static const char image[] = "\x89PNG{{nothing}}\0{{";
    struct plan p;
    plan_of(&p, 1);
    p.entries[0].body = mem_dup(image, sizeof image - 1);
    p.entries[0].body_len = sizeof image - 1;
    must_check(&p);
    ck_assert(!plan_is_template(&p, image, sizeof image - 1));
    ck_assert(plan_is_template(&p, image, 10));
    plan_clear(&p);
}
END_TEST

START_TEST(test_urls_keep_their_templates)
{
    static const struct {
        const char *url, *path;
    } rows[] = {
        {"http://h/a/{{seq}}/b?c={{rand 1 9}}", "/a/{{seq}}/b?c={{rand 1 9}}"},
        {"h?{{pick a/b c#d}}", "/?{{pick a/b c#d}}"},
        {"https://h:1/{{uuid}}#frag{{ment", NULL},
        {"http://h/{{uuid}}#frag", "/{{uuid}}"},
        {"http://h/x?u=http://y/{{seq}}", "/x?u=http://y/{{seq}}"},
        {"http://h{{seq}}", NULL},
        {"http://h/{{seq}} x", NULL},
        {"http://h/{{seq}", NULL},
    };
    struct plan p;
    plan_defaults(&p);
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct url_parts u;
        struct errmsg msg;
        enum err e = plan_url_parse(&p, rows[i].url, &u, &msg);
        ck_assert_msg((e == ERR_OK) == (rows[i].path != NULL), "%s", rows[i].url);
        if (e != ERR_OK)
            continue;
        ck_assert_str_eq(u.path_query, rows[i].path);
        ck_assert_str_eq(u.host, "h");
        url_clear(&u);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_requests");
    TCase *t = tcase_create("plan_requests");
    tcase_add_test(t, test_errors_name_the_request);
    tcase_add_test(t, test_limits_of_the_plan);
    tcase_add_test(t, test_variables_are_bounded);
    tcase_add_test(t, test_placeholders_are_bounded);
    tcase_add_test(t, test_names_are_the_rows);
    tcase_add_test(t, test_rows_are_bounded);
    tcase_add_test(t, test_methods_follow_the_body);
    tcase_add_test(t, test_names_of_the_unnamed);
    tcase_add_test(t, test_removals);
    tcase_add_test(t, test_files_and_variables_come_along);
    tcase_add_test(t, test_ways_to_give_a_body);
    tcase_add_test(t, test_binary_bodies_are_sent_as_they_are);
    tcase_add_test(t, test_urls_keep_their_templates);
    suite_add_tcase(s, t);
    return check_main(s);
}
