/* SPDX-License-Identifier: MIT */
/* What is expected of responses and done about them: each flag makes a difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/hostile_script.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define WAIT_MS    20000
#define N          "20"
#define N_OF(list) (sizeof(list) / sizeof(list)[0])
#define EMPTY      "Content-Length: 0\r\n\r\n"

static struct hostile_server *server, *other;
static char url[64], to_other[256];

static void start(const struct hostile_step *script)
{
    static const struct hostile_step *scripts[1];
    scripts[0] = script;
    server = hostile_start(scripts, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/first", hostile_port(server));
}

static void setup(void)
{
    server = other = NULL;
}

static void teardown(void)
{
    if (server != NULL)
        hostile_stop(server);
    if (other != NULL)
        hostile_stop(other);
}

/* One connection, N requests and these flags. */
static json_t *run(struct process *p, const char *const *flags, int code)
{
    const char *args[PROCESS_ARGS_MAX] = {"run", "-n", N, "-c", "1", "-t", "1", "--json", url};
    size_t n = 9;
    for (size_t i = 0; flags[i] != NULL; i++)
        args[n++] = flags[i];
    process_start(p, "hammer-ctl", args);
    return report_wait(p, code, 4, WAIT_MS);
}

static int64_t total(json_t *r, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "totals.%s", name);
    return report_int(r, path);
}

static bool says(json_t *r, const char *text)
{
    char *all = json_dumps(r, 0);
    bool found = strstr(all, text) != NULL;
    free(all);
    return found;
}

static void done(struct process *p, json_t *r)
{
    json_decref(r);
    process_end(p);
}

/* ---- expectations ---- */

#define HELLO "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static const struct {
    const char *flags[5];
    int64_t unexpected;
    const char *text; /* among the errors; NULL = none */
} expected[] = {
    {{NULL}, 0, NULL},
    {{"--expect-status", "200"}, 0, NULL},
    {{"--expect-status", "201-299,404"}, 20, "expectation: status 200"},
    {{"--expect-body", "h[aeiou]l+o"}, 0, NULL},
    {{"--expect-body", "^ello"}, 20, "expectation: body"},
    {{"--expect-body", "=hello"}, 0, NULL},
    {{"--expect-body", "=hell"}, 20, "expectation: body"},
    {{"--expect-body", HELLO}, 0, NULL},
    {{"--expect-status", "2xx", "--expect-body", "no"}, 20, "expectation: body"},
};

START_TEST(test_expectations)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    struct process p;
    start(script);
    json_t *r = run(&p, expected[_i].flags, 0);
    ck_assert_int_eq(total(r, "unexpected"), expected[_i].unexpected);
    ck_assert_int_eq(total(r, "completed"), 20);
    ck_assert_int_eq(total(r, "ok"), 20);
    ck_assert_int_eq(says(r, "expectation:"), expected[_i].text != NULL);
    if (expected[_i].text != NULL)
        ck_assert(says(r, expected[_i].text));
    done(&p, r);
}
END_TEST

START_TEST(test_unexpected_aborts)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    static const char *const args[] = {"run",    "-r",         "50",
                                       "-d",     "60",         "-c",
                                       "1",      "-t",         "1",
                                       "--json", url,          "--expect-status",
                                       "404",    "--abort-on", "unexpected>0",
                                       NULL};
    struct process p;
    start(script);
    process_start(&p, "hammer-ctl", args);
    ck_assert_int_ne(process_wait(&p, WAIT_MS), 0);
    json_t *r = report_parse(p.out);
    ck_assert_int_ge(total(r, "unexpected"), 1);
    ck_assert_int_lt(total(r, "sent"), 1000); /* of 3000 */
    done(&p, r);
}
END_TEST

/* ---- redirects ---- */

static const struct {
    const char *flags[3];
    int64_t redirects, requests;
    const char *status, *error;
} followed[] = {
    {{NULL}, 0, 20, "302", NULL},
    {{"--follow", "0"}, 0, 20, "302", NULL},
    {{"--follow", "1"}, 20, 40, "307", "redirect: more in a row than --follow allows"},
    {{"--follow", "5"}, 40, 60, "200", NULL},
};

/* A script of three answers: without the flag the first connection gets one after the other. */
START_TEST(test_follow)
{
    static const struct hostile_step script[] = {
        READ, SEND("HTTP/1.1 302 R\r\nLocation: b\r\n" EMPTY),
        READ, SEND("HTTP/1.1 307 R\r\nLocation: ../c?d\r\n" EMPTY),
        READ, SEND(GOOD),
        AGAIN};
    static const struct hostile_step one[] = {READ, SEND("HTTP/1.1 302 R\r\nLocation: b\r\n" EMPTY),
                                              AGAIN};
    static const struct hostile_step two[] = {
        READ, SEND("HTTP/1.1 302 R\r\nLocation: b\r\n" EMPTY), READ,
        SEND("HTTP/1.1 307 R\r\nLocation: ../c?d\r\n" EMPTY), AGAIN};
    static const struct hostile_step *const scripts[] = {one, one, two, script};
    struct process p;
    char path[64], line[128];
    start(scripts[_i]);
    json_t *r = run(&p, followed[_i].flags, 0);
    ck_assert_int_eq(total(r, "redirects"), followed[_i].redirects);
    ck_assert_int_eq(total(r, "sent"), 20);
    ck_assert_int_eq(total(r, "connects"), 1);
    ck_assert_uint_eq(hostile_requests(server), (uint64_t)followed[_i].requests);
    snprintf(path, sizeof path, "status_codes.%s", followed[_i].status);
    ck_assert_int_eq(report_int(r, path), 20);
    if (followed[_i].error != NULL)
        ck_assert(says(r, followed[_i].error));
    hostile_last_line(server, line, sizeof line);
    if (followed[_i].redirects == 40)
        ck_assert_str_eq(line, "GET /c?d HTTP/1.1");
    done(&p, r);
}
END_TEST

/* Only to hosts that the plan has: to another one when it is among the URLs, not without. */
START_TEST(test_follow_to_another_host)
{
    static const struct hostile_step there[] = {READ, SEND(GOOD), AGAIN};
    static const struct hostile_step here[] = {READ, SEND(to_other), AGAIN};
    static const struct hostile_step *const scripts[] = {there};
    struct process p;
    char dir[64], file[96];
    other = hostile_start(scripts, 1);
    snprintf(to_other, sizeof to_other,
             "HTTP/1.1 301 R\r\nLocation: http://127.0.0.1:%u/there\r\n" EMPTY,
             hostile_port(other));
    start(here);
    json_t *r = run(&p, (const char *[]){"--follow", "5", NULL}, 0);
    ck_assert_int_eq(total(r, "redirects"), 0);
    ck_assert(says(r, "redirect: to another host, not followed"));
    ck_assert_uint_eq(hostile_requests(other), 0);
    done(&p, r);

    folder_make(dir);
    snprintf(file, sizeof file, "%s/urls", dir);
    FILE *f = fopen(file, "w");
    fprintf(f, "%s\nhttp://127.0.0.1:%u/own\n", url, hostile_port(other));
    fclose(f);
    const char *args[] = {"run",    "-n",     N,    "-c",       "1", "-t", "1",
                          "--json", "--urls", file, "--follow", "5", NULL};
    process_start(&p, "hammer-ctl", args);
    r = report_wait(&p, 0, 4, WAIT_MS);
    folder_remove(dir);
    ck_assert_int_eq(total(r, "redirects"), 10);
    ck_assert_int_eq(report_int(r, "status_codes.200"), 20);
    ck_assert_uint_eq(hostile_requests(other), 20);
    done(&p, r);
}
END_TEST

/* ---- cookies ---- */

START_TEST(test_cookies)
{
    static const struct hostile_step script[] = {
        READ,
        SEND(H11 "Set-Cookie: session=abc; Path=/; HttpOnly\r\nSet-Cookie: x=y; Path=/no\r\n"
                 "Connection: close\r\n" EMPTY),
        END};
    static const char *const flags[2][2] = {{NULL}, {"--cookies", NULL}};
    struct process p;
    char head[HOSTILE_REQUEST_MAX + 1];
    start(script);
    json_t *r = run(&p, flags[_i], 0);
    ck_assert_int_eq(total(r, "ok"), 20);
    hostile_last_head(server, head, sizeof head);
    ck_assert_int_eq(strstr(head, "\r\nCookie: session=abc\r\n") != NULL, _i == 1);
    ck_assert_ptr_null(strstr(head, "x=y"));
    done(&p, r);
}
END_TEST

/* ---- the first response ---- */

START_TEST(test_server)
{
    static const struct hostile_step script[] = {
        READ, SEND(H11 "Server: unit/1.0 (test)\r\nContent-Length: 5\r\n\r\nhello"), AGAIN};
    struct process p;
    start(script);
    json_t *r = run(&p, (const char *[]){NULL}, 0);
    ck_assert(says(r, "unit/1.0 (test)"));
    ck_assert_int_eq(report_int(r, "target.document_bytes"), 5);
    done(&p, r);
}
END_TEST

/* ---- one request, shown ---- */

static const char *debug(struct process *p, const char *const *flags, int code)
{
    const char *args[PROCESS_ARGS_MAX] = {"run", "--debug-request"};
    size_t n = 2;
    for (size_t i = 0; flags[i] != NULL; i++)
        args[n++] = flags[i];
    args[n] = url;
    process_start(p, "hammer-ctl", args);
    ck_assert_int_eq(process_wait(p, WAIT_MS), code);
    return p->out;
}

#define SECRET_SERVER                                                                              \
    H11 "Set-Cookie: session=hush\r\nX-Token: hush\r\nServer: s\r\nContent-Length: "               \
        "9\r\n\r\nline\nend\x01"

/* Whatever the load would have been: one. */
START_TEST(test_debug_request)
{
    static const struct hostile_step script[] = {
        READ, SEND("HTTP/1.1 302 R\r\nLocation: /second\r\n" EMPTY), READ, SEND(SECRET_SERVER),
        AGAIN};
    static const char *const shown[] = {"> GET /first HTTP/1.1\n",
                                        "< HTTP/1.1 302\n< Location: /second\n",
                                        "> GET /second HTTP/1.1\n",
                                        "< HTTP/1.1 200\n",
                                        "< Server: s\n",
                                        "< Set-Cookie: REDACTED\n",
                                        "< X-Token: REDACTED\n",
                                        "| line\n| end",
                                        "* 9 bytes of body\n",
                                        "* connect ",
                                        "* first byte ",
                                        "* total "};
    static const char *const flags[] = {"-r",       "1000", "-d",       "30",      "-c", "5",
                                        "--follow", "1",    "--redact", "X-Token", NULL};
    struct process p;
    start(script);
    const char *out = debug(&p, flags, 0);
    for (size_t i = 0; i < N_OF(shown); i++)
        ck_assert_msg(strstr(out, shown[i]) != NULL, "%s is missing in:\n%s", shown[i], out);
    ck_assert_ptr_null(strstr(out, "hush"));
    ck_assert_ptr_null(strchr(out, '\x01'));
    ck_assert_uint_eq(hostile_requests(server), 2);
    process_end(&p);
}
END_TEST

START_TEST(test_debug_request_fails)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    static const struct hostile_step none[] = {READ, END};
    struct process p;
    start(script);
    const char *out = debug(&p, (const char *[]){"--expect-body", "=x", NULL}, 2);
    ck_assert_ptr_nonnull(strstr(out, "* expectation: body\n"));
    process_end(&p);
    hostile_stop(server);
    start(none);
    out = debug(&p, (const char *[]){NULL}, 2);
    ck_assert_ptr_nonnull(strstr(out, "> GET /first "));
    ck_assert_ptr_nonnull(strstr(out, "* read: connection closed before the response"));
    process_end(&p);
    debug(&p, (const char *[]){"--json", NULL}, 1);
    ck_assert_ptr_nonnull(
        strstr(p.err, "--debug-request with --json or --format: accepted is one"));
    process_end(&p);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("responses");
    TCase *t = tcase_create("responses");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, test_expectations, 0, N_OF(expected));
    tcase_add_test(t, test_unexpected_aborts);
    tcase_add_loop_test(t, test_follow, 0, N_OF(followed));
    tcase_add_test(t, test_follow_to_another_host);
    tcase_add_loop_test(t, test_cookies, 0, 2);
    tcase_add_test(t, test_server);
    tcase_add_test(t, test_debug_request);
    tcase_add_test(t, test_debug_request_fails);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
