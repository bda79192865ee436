/* SPDX-License-Identifier: MIT */
#include "controller/cmd/url_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

#define N_OF(a) (sizeof(a) / sizeof(a)[0])
#define FORM    "Content-Type: application/x-www-form-urlencoded"

struct expected {
    const char *method, *url, *header, *body; /* NULL = none */
};

static void parse(const char *text, struct plan *p)
{
    struct errmsg msg = {""};
    plan_defaults(p);
    enum err e = url_list_parse(text, strlen(text), p, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
}

static void assert_same(const char *a, const char *b)
{
    ck_assert_msg((a == NULL) == (b == NULL), "%s, not %s", a, b);
    if (a != NULL)
        ck_assert_str_eq(a, b);
}

static void assert_entries(const struct plan *p, const struct expected *rows, size_t n)
{
    ck_assert_uint_eq(p->n_entries, n);
    for (size_t i = 0; i < n; i++) {
        const struct plan_entry *e = &p->entries[i];
        assert_same(e->method, rows[i].method);
        assert_same(e->url, rows[i].url);
        assert_same((const char *)e->body, rows[i].body);
        ck_assert_uint_eq(e->body_len, e->body != NULL ? strlen((char *)e->body) : 0);
        assert_same(e->headers.n > 0 ? e->headers.items[0] : NULL, rows[i].header);
        ck_assert_uint_eq(e->weight, 1);
    }
}

START_TEST(test_siege)
{
    static const char text[] = "# comment\n"
                               "\n"
                               "HOST = www.example.org\r\n"
                               "PATH=/a\n"
                               "http://${HOST}$(PATH)\n"
                               "  # indented comment\n"
                               "https://$(HOST)/b?c=$d  \n"
                               "HOST=other\n"
                               "\thttp://${HOST}/p POST x=1&y=2 z\n"
                               "http://h/q   DELETE\n"
                               "http://h/{{seq}} PUT   {\"a\": ${PATH}}\n"
                               "www.example.org/last";
    static const struct expected rows[] = {
        {NULL, "http://www.example.org/a", NULL, NULL},
        {NULL, "https://www.example.org/b?c=$d", NULL, NULL},
        {"POST", "http://other/p", FORM, "x=1&y=2 z"},
        {"DELETE", "http://h/q", NULL, NULL},
        {"PUT", "http://h/{{seq}}", FORM, "{\"a\": /a}"},
        {NULL, "www.example.org/last", NULL, NULL},
    };
    struct plan p;
    parse(text, &p);
    assert_entries(&p, rows, N_OF(rows));
    ck_assert(p.name_entries);
    plan_clear(&p);
}
END_TEST

START_TEST(test_the_plans_content_type_holds)
{
    static const struct expected rows[] = {{"POST", "http://h/", NULL, "{}"}};
    static const char text[] = "http://h/ POST {}";
    struct plan p;
    struct errmsg msg;
    plan_defaults(&p);
    option_list_add(&p.headers, "content-type: application/json");
    ck_assert_int_eq(url_list_parse(text, strlen(text), &p, &msg), ERR_OK);
    assert_entries(&p, rows, 1);
    plan_clear(&p);
}
END_TEST

START_TEST(test_vegeta)
{
    char path[] = "/tmp/hammer-body-XXXXXX", text[512];
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, "from a file", 11), 11);
    close(fd);
    snprintf(text, sizeof text,
             "# targets\n"
             "GET http://h/a\n"
             "GET  http://h/b\n"
             "X-Account-ID: 8675309\n"
             "\n"
             "POST http://h/c\r\n"
             "Content-Type: text/plain\r\n"
             "@%s\r\n"
             "# not a header\n"
             "DELETE http://h/d\n",
             path);
    const struct expected rows[] = {
        {"GET", "http://h/a", NULL, NULL},
        {"GET", "http://h/b", "X-Account-ID: 8675309", NULL},
        {"POST", "http://h/c", "Content-Type: text/plain", "from a file"},
        {"DELETE", "http://h/d", NULL, NULL},
    };
    struct plan p;
    parse(text, &p);
    assert_entries(&p, rows, N_OF(rows));
    plan_clear(&p);
    snprintf(text, sizeof text, "http://h/ PUT < %s\nhttp://h/ PUT <%s", path, path);
    const struct expected siege[] = {{"PUT", "http://h/", NULL, "from a file"},
                                     {"PUT", "http://h/", NULL, "from a file"}};
    parse(text, &p);
    assert_entries(&p, siege, N_OF(siege));
    plan_clear(&p);
    unlink(path);
}
END_TEST

START_TEST(test_what_is_refused)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "no request in it"},
        {"# only\n\nA=b\n", "no request in it"},
        {"http://h/ post x", "line 1: behind the URL accepted is a method"},
        {"http://h/\nhttp://${NONE}/", "line 2: ${NONE: no such variable"},
        {"http://${open", "line 1: ${open: no such variable"},
        {"http://h/ POST <", "line 1: the name of the body's file is missing"},
        {"http://h/ POST </nonexistent", "line 1: body /nonexistent: cannot be opened"},
        {"GET http://h/ x", "line 1: accepted is METHOD URL"},
        {"GET", "line 1: accepted is METHOD URL"},
        {"GET http://h/\n\nX: y", "line 3: accepted is METHOD URL, and behind it"},
        {"GET http://h/\nno header", "line 2: accepted is NAME: VALUE"},
        {"GET http://h/\n@/nonexistent", "line 2: body /nonexistent: cannot be opened"},
        {"GET http://h/\n@", "line 2: the name of the body's file is missing"},
    };
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct plan p;
        struct errmsg msg = {""};
        plan_defaults(&p);
        ck_assert_msg(url_list_parse(rows[i].text, strlen(rows[i].text), &p, &msg) != ERR_OK, "%s",
                      rows[i].text);
        ck_assert_msg(strstr(msg.text, rows[i].why) != NULL, "%s: %s", rows[i].text, msg.text);
        plan_clear(&p);
    }
}
END_TEST

static void repeat(char *buf, const char *line, size_t n)
{
    size_t len = strlen(line);
    for (size_t i = 0; i < n; i++)
        memcpy(buf + i * len, line, len + 1);
}

START_TEST(test_bounds)
{
    static const char line[] = "http://h/\n";
    char *text = mem_calloc(PLAN_ENTRIES_MAX + 2, sizeof line);
    struct plan p;
    struct errmsg msg;
    repeat(text, line, URL_LIST_NAMED);
    parse(text, &p);
    ck_assert(p.name_entries);
    plan_clear(&p);
    repeat(text, line, PLAN_ENTRIES_MAX);
    parse(text, &p);
    ck_assert_uint_eq(p.n_entries, PLAN_ENTRIES_MAX);
    ck_assert(!p.name_entries);
    plan_clear(&p);
    repeat(text, line, PLAN_ENTRIES_MAX + 1);
    plan_defaults(&p);
    ck_assert_int_ne(url_list_parse(text, strlen(text), &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "line 10001: accepted are at most 10000 requests"));
    plan_clear(&p);
    mem_free(text);
}
END_TEST

/* Each variable twice the one before: it ends at the bound. */
START_TEST(test_variables_do_not_explode)
{
    char text[4096] = "A=0123456789\n";
    struct plan p;
    struct errmsg msg;
    for (int i = 0; i < 60; i++) {
        char line[64];
        snprintf(line, sizeof line, "%s", i % 2 == 0 ? "B=${A}${A}\n" : "A=${B}${B}\n");
        strcat(text, line);
    }
    plan_defaults(&p);
    ck_assert_int_ne(url_list_parse(text, strlen(text), &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "longer than 1 MiB with its variables"));
    plan_clear(&p);
}
END_TEST

START_TEST(test_files)
{
    char path[] = "/tmp/hammer-urls-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, "http://h/ x", 11), 11);
    close(fd);
    struct plan p;
    struct errmsg msg;
    plan_defaults(&p);
    ck_assert_int_ne(url_list_read(path, &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, path));
    ck_assert_ptr_nonnull(strstr(msg.text, ": line 1: behind the URL"));
    ck_assert_int_ne(url_list_read("/nonexistent", &p, &msg), ERR_OK);
    ck_assert_ptr_nonnull(strstr(msg.text, "--urls /nonexistent: cannot be opened"));
    plan_clear(&p);
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("url_list");
    TCase *t = tcase_create("url_list");
    tcase_add_test(t, test_siege);
    tcase_add_test(t, test_the_plans_content_type_holds);
    tcase_add_test(t, test_vegeta);
    tcase_add_test(t, test_what_is_refused);
    tcase_add_test(t, test_bounds);
    tcase_add_test(t, test_variables_do_not_explode);
    tcase_add_test(t, test_files);
    suite_add_tcase(s, t);
    return check_main(s);
}
