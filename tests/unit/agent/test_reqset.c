/* SPDX-License-Identifier: MIT */
/* What the requests of a plan are as bytes, with templates and without. */
#include "agent/client/reqset.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

#define UA "User-Agent: hammer/" HAMMER_VERSION "\r\n"

static struct template_named named(const char *name, const char *text)
{
    return (struct template_named){mem_strdup(name), mem_dup(text, strlen(text)), strlen(text)};
}

/* With a file "users" and a variable TOKEN, as if they had come over the wire. */
static void start(struct plan *p)
{
    plan_defaults(p);
    p->requests = 10;
    p->method = mem_strdup("GET");
    p->files = mem_calloc(1, sizeof *p->files);
    p->files[p->n_files++] = named("users", "ann\nbob\n");
    p->env = mem_calloc(1, sizeof *p->env);
    p->env[p->n_env++] = named("TOKEN", "s3cret");
    option_list_add(&p->headers, "Accept:");
    option_list_add(&p->headers, "X-Common: 1");
}

static struct plan_entry *add(struct plan *p, const char *url, const char *method, const char *body)
{
    struct plan_entry *e = plan_add_entry(p);
    e->url = mem_strdup(url);
    e->method = mem_strdup(method);
    e->body = mem_dup(body, body != NULL ? strlen(body) : 0);
    e->body_len = body != NULL ? strlen(body) : 0;
    return e;
}

static struct reqset *compile(struct plan *p)
{
    struct reqset *s;
    struct errmsg msg = {""};
    mem_free(p->url);
    p->url = mem_strdup(p->entries[0].url);
    ck_assert_msg(plan_validate(p, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(reqset_new(p, &s, &msg) == ERR_OK, "%s", msg.text);
    return s;
}

static void assert_sends(const struct reqset *s, size_t request, uint64_t index,
                         const char *expected)
{
    const struct request *r = &s->requests[request];
    char *scratch = mem_calloc(reqset_longest(s) + 1, 1);
    struct request_bytes b;
    request_render(r, index, scratch, &b);
    char *got = mem_dup(b.bytes, b.len);
    ck_assert_str_eq(got, expected);
    ck_assert_uint_le(b.len, r->len);
    const char *body = strstr(expected, "\r\n\r\n") + 4;
    if (strstr(expected, "chunked") == NULL)
        ck_assert_uint_eq(b.head_len, (size_t)(body - expected));
    mem_free(got);
    mem_free(scratch);
}

START_TEST(test_entries_and_templates)
{
    struct plan p;
    start(&p);
    struct plan_entry *e = add(&p, "http://h/u/{{line users}}?n={{seq}}", NULL, NULL);
    option_list_add(&e->headers, "X-Common: mine");
    option_list_add(&e->headers, "Authorization: Bearer {{env TOKEN}}");
    add(&p, "http://other:81/{{seq}}", "POST", "{\"user\":\"{{line users}}\",\"n\":{{seq}}}");
    e = add(&p, "https://h/plain", "PUT", "abc");
    option_list_add(&e->headers, "x-common:");
    struct reqset *s = compile(&p);
    ck_assert_uint_eq(s->n_origins, 3);
    assert_sends(s, 0, 0,
                 "GET /u/ann?n=0 HTTP/1.1\r\nHost: h\r\n" UA
                 "X-Common: mine\r\nAuthorization: Bearer s3cret\r\n\r\n");
    assert_sends(s, 0, 1001,
                 "GET /u/bob?n=1001 HTTP/1.1\r\nHost: h\r\n" UA
                 "X-Common: mine\r\nAuthorization: Bearer s3cret\r\n\r\n");
    assert_sends(s, 1, 9,
                 "POST /9 HTTP/1.1\r\nHost: other:81\r\n" UA
                 "X-Common: 1\r\nContent-Length: 20\r\n\r\n{\"user\":\"bob\",\"n\":9}");
    assert_sends(s, 1, 12345,
                 "POST /12345 HTTP/1.1\r\nHost: other:81\r\n" UA
                 "X-Common: 1\r\nContent-Length: 24\r\n\r\n{\"user\":\"bob\",\"n\":12345}");
    assert_sends(s, 2, 0, "PUT /plain HTTP/1.1\r\nHost: h\r\n" UA "Content-Length: 3\r\n\r\nabc");
    ck_assert_ptr_null(s->requests[2].form);
    reqset_free(s);
    plan_clear(&p);
}
END_TEST

START_TEST(test_chunked_and_expect)
{
    struct plan p;
    start(&p);
    p.chunked = p.expect_continue = true;
    add(&p, "http://h/", "POST", "0123456789abcdef");
    add(&p, "http://h/", "POST", "{{line users}}!");
    add(&p, "http://h/", "POST", NULL);
    add(&p, "http://h/", "POST", "");
    struct reqset *s = compile(&p);
#define HEAD     "POST / HTTP/1.1\r\nHost: h\r\n" UA "X-Common: 1\r\n"
#define CHUNKED  "Transfer-Encoding: chunked\r\n"
#define CONTINUE "Expect: 100-continue\r\n"
    assert_sends(s, 0, 0, HEAD CHUNKED CONTINUE "\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
    assert_sends(s, 1, 0, HEAD CHUNKED CONTINUE "\r\n4\r\nann!\r\n0\r\n\r\n");
    assert_sends(s, 2, 0, HEAD "Content-Length: 0\r\n\r\n");
    assert_sends(s, 3, 0, HEAD CHUNKED "\r\n0\r\n\r\n");
    ck_assert(s->requests[0].expect_continue && s->requests[1].expect_continue);
    ck_assert(!s->requests[2].expect_continue && !s->requests[3].expect_continue);
    reqset_free(s);
    plan_clear(&p);
}
END_TEST

START_TEST(test_no_templates)
{
    struct plan p;
    start(&p);
    p.no_templates = true;
    option_list_add(&p.headers, "X: {{what}}");
    add(&p, "http://h/", "POST", "{{seq}}");
    struct reqset *s = compile(&p);
    assert_sends(s, 0, 7,
                 "POST / HTTP/1.1\r\nHost: h\r\n" UA
                 "X-Common: 1\r\nX: {{what}}\r\nContent-Length: 7\r\n\r\n{{seq}}");
    reqset_free(s);
    plan_clear(&p);
}
END_TEST

START_TEST(test_close_of_an_entry)
{
    struct plan p;
    start(&p);
    option_list_add(&p.headers, "Connection: close");
    struct plan_entry *e = add(&p, "http://h/", NULL, NULL);
    option_list_add(&e->headers, "Connection: keep-alive");
    add(&p, "http://h/", NULL, NULL);
    struct reqset *s = compile(&p);
    ck_assert(!s->requests[0].close_after);
    ck_assert(s->requests[1].close_after);
    reqset_free(s);
    plan_clear(&p);
}
END_TEST

START_TEST(test_requests_are_picked_by_the_plan)
{
    struct plan p;
    start(&p);
    add(&p, "http://h/a", NULL, NULL)->weight = 3;
    add(&p, "http://h/b", NULL, NULL);
    struct reqset *s = compile(&p);
    unsigned seen[2] = {0};
    for (uint64_t i = 0; i < 400; i++)
        seen[reqset_pick(s, i)]++;
    ck_assert_uint_eq(seen[0], 300);
    ck_assert_uint_eq(seen[1], 100);
    reqset_free(s);
    plan_clear(&p);
}
END_TEST

START_TEST(test_too_many_hosts)
{
    struct plan p;
    struct reqset *s;
    struct errmsg msg;
    start(&p);
    for (size_t i = 0; i <= REQSET_ORIGINS_MAX; i++) {
        char url[32];
        snprintf(url, sizeof url, "http://h%zu/", i);
        add(&p, url, NULL, NULL);
    }
    ck_assert_int_eq(reqset_new(&p, &s, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "more than 64 hosts"));
    plan_clear(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reqset");
    TCase *t = tcase_create("reqset");
    tcase_add_test(t, test_entries_and_templates);
    tcase_add_test(t, test_chunked_and_expect);
    tcase_add_test(t, test_no_templates);
    tcase_add_test(t, test_close_of_an_entry);
    tcase_add_test(t, test_requests_are_picked_by_the_plan);
    tcase_add_test(t, test_too_many_hosts);
    suite_add_tcase(s, t);
    return check_main(s);
}
