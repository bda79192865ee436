/* SPDX-License-Identifier: MIT */
/*
 * hammer's ledger against the access logs of servers that people use, over HTTP and HTTPS: each
 * request, its status and its connection are in both. The default run has those that are light;
 * with HAMMER_SERVERS=all (ctest -L servers) all that are installed. HAMMER_SERVERS=NAME: that one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"
#include "tests/lib/report.h"
#include "tests/lib/web_server.h"

#define LIMIT_MS 60000

static struct test_pki *pki;
static struct web_server server;

static void set_up(void)
{
    pki = test_pki_new();
    test_pki_issue(pki, &(struct test_pki_cert){"server", "IP:127.0.0.1", TEST_PKI_SERVER, 0, 0});
}

static void tear_down(void)
{
    web_server_remove(&server);
    test_pki_remove(pki);
}

#define FLAGS_MAX 12

static const struct shape {
    const char *flags[FLAGS_MAX];
    int64_t requests;
    int64_t connections;
} shapes[] = {
    /* Open loop. */
    {{"-r", "500", "-d", "3", "-c", "20", "-t", "1"}, 1500, 20},
    /* At full speed. */
    {{"-n", "2000", "-c", "8", "-t", "1"}, 2000, 8},
    /* A connection for each. */
    {{"-r", "200", "-n", "200", "-c", "20", "-t", "1", "--no-keepalive"}, 200, 200},
};

/* A list with one URL that is there and one that is not. */
static void write_urls(const char *path, const char *scheme, unsigned port)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "%s://127.0.0.1:%u/\n%s://127.0.0.1:%u/missing\n", scheme, port, scheme, port);
    ck_assert_int_eq(fclose(f), 0);
}

static json_t *run(const struct shape *s, const char *urls, bool tls)
{
    struct process p;
    const char *args[PROCESS_ARGS_MAX] = {"run", "--json", "--local", "2",
                                          "-T",  "10s",    "--urls",  urls};
    size_t n = 8;
    for (size_t i = 0; i < FLAGS_MAX && s->flags[i] != NULL; i++)
        args[n++] = s->flags[i];
    if (tls) {
        args[n++] = "--cacert";
        args[n++] = test_pki_path(pki, "ca.crt");
    }
    process_start(&p, "hammer-ctl", args);
    json_t *r = report_wait(&p, 0, 4, LIMIT_MS);
    process_end(&p);
    return r;
}

static void compare(const struct shape *s, json_t *r, const struct web_server_count *log)
{
    int64_t half = s->requests / 2;
    ck_assert_int_eq(report_int(r, "totals.sent"), s->requests);
    ck_assert_int_eq(report_int(r, "totals.completed"), s->requests);
    ck_assert_int_eq(report_int(r, "totals.ok"), half);
    ck_assert_int_eq(report_int(r, "status_codes.200"), half);
    ck_assert_int_eq(report_int(r, "status_codes.404"), half);
    ck_assert_int_eq(report_int(r, "totals.connects"), s->connections);
    ck_assert_int_eq(report_int(r, "totals.retries"), 0);
    ck_assert_int_eq((int64_t)log->requests, s->requests);
    ck_assert_int_eq((int64_t)log->ok, half);
    ck_assert_int_eq((int64_t)log->missing, half);
    ck_assert_int_eq((int64_t)log->connections, s->connections);
}

static bool wanted(const struct web_server_kind *kind)
{
    const char *which = getenv("HAMMER_SERVERS");
    if (which == NULL)
        return kind->light;
    return strcmp(which, "all") == 0 || strcmp(which, kind->name) == 0;
}

static void against(const struct web_server_kind *kind, bool tls)
{
    char urls[96];
    if (!wanted(kind))
        return;
    if (!web_server_installed(kind)) {
        printf("%s: skipped, %s is not installed (apt-get install %s)\n", kind->name, kind->program,
               kind->package);
        return;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct web_server_count log;
        web_server_start(&server, kind, pki);
        unsigned port = tls ? server.https : server.http;
        snprintf(urls, sizeof urls, "%s/urls", server.dir);
        write_urls(urls, tls ? "https" : "http", port);
        json_t *r = run(&shapes[i], urls, tls);
        web_server_stop(&server);
        web_server_count(&server, port, &log);
        printf("%s %s: %zu requests (%zu answered 200, %zu 404), %zu connections\n", kind->name,
               tls ? "https" : "http", log.requests, log.ok, log.missing, log.connections);
        compare(&shapes[i], r, &log);
        json_decref(r);
        web_server_remove(&server);
    }
}

START_TEST(test_http)
{
    against(&web_server_kinds[_i], false);
}
END_TEST

START_TEST(test_https)
{
    against(&web_server_kinds[_i], true);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("servers");
    TCase *t = tcase_create("servers");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_http, 0, (int)web_server_kinds_n);
    tcase_add_loop_test(t, test_https, 0, (int)web_server_kinds_n);
    suite_add_tcase(s, t);
    return check_main(s);
}
