/* SPDX-License-Identifier: MIT */
/* Whole runs over https: hammer-target behind TLS, and nginx where it is installed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/libssl.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hostile_script.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"
#include "tests/lib/tls_front.h"

#define LIMIT_MS 60000

static struct test_pki *pki;
static struct target_process target;
static struct tls_front *front;
static char url[128];

static void start_front(struct tls_front_options o)
{
    o.pki = pki;
    o.port = (uint16_t)atoi(strrchr(target.address, ':') + 1);
    front = tls_front_start(&o);
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", tls_front_port(front));
}

static void set_up(void)
{
    pki = test_pki_new();
    test_pki_issue(pki, &(struct test_pki_cert){"server", "IP:127.0.0.1", TEST_PKI_SERVER, 0, 0});
    test_pki_issue(pki, &(struct test_pki_cert){"named", "server.test", TEST_PKI_SERVER, 0, 0});
    test_pki_issue(pki, &(struct test_pki_cert){"client", "load", TEST_PKI_CLIENT, 0, 0});
    target_start(&target, NULL);
}

static void tear_down(void)
{
    if (front != NULL)
        tls_front_stop(front);
    front = NULL;
    target_stop(&target);
    test_pki_remove(pki);
}

/* hammer-ctl run --json with these flags against `url`; NULL ends them. */
static int run(struct process *p, const char *const *flags)
{
    const char *args[PROCESS_ARGS_MAX] = {"run", "--json", "-r", "1000", "-T", "1000"};
    size_t n = 6;
    for (; *flags != NULL; flags++)
        args[n++] = *flags;
    args[n] = url;
    return process_run(p, "hammer-ctl", args, LIMIT_MS);
}

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *ca(void)
{
    return test_pki_path(pki, "ca.crt");
}

static json_t *run_ok(const char *const *flags)
{
    struct process p;
    int code = run(&p, flags);
    ck_assert_msg(code == 0 || code == 4, "%d %.300s %.600s", code, p.err, p.out);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    process_end(&p);
    return r;
}

static void expect(int code, const char *const *flags, const char *says)
{
    struct process p;
    int got = run(&p, flags);
    ck_assert_msg(got == code, "%d %.300s %.600s", got, p.err, p.out);
    ck_assert_msg(strstr(p.err, says) != NULL || strstr(p.out, says) != NULL,
                  "\"%s\" is in neither: %.300s %.2000s", says, p.err, p.out);
    process_end(&p);
}

static int64_t lines_of(const char *path)
{
    int64_t n = 0;
    char *text = file_read(path);
    ck_assert_ptr_nonnull(text);
    for (const char *c = text; *c != '\0'; c++)
        n += *c == '\n';
    mem_free(text);
    return n;
}

/* Each request once, each handshake counted, on both sides. */
START_TEST(test_counts)
{
    struct tls_front_seen seen;
    start_front((struct tls_front_options){.version = 0});
    json_t *r = run_ok(FLAGS("-n", "600", "-c", "6", "--local", "2", "--cacert", ca()));
    ck_assert_int_eq(report_int(r, "totals.ok"), 600);
    ck_assert_int_eq(report_int(r, "totals.connects"), 6);
    tls_front_seen(front, &seen);
    ck_assert_int_eq(report_int(r, "tls.handshakes"), (int64_t)seen.handshakes);
    ck_assert_int_eq(report_int(r, "tls.handshake.count"), (int64_t)seen.handshakes);
    ck_assert_int_eq(report_int(r, "tls.resumed"), (int64_t)seen.resumed);
    ck_assert_int_eq(report_int(r, "tls.failed"), 0);
    ck_assert_str_eq(report_text_at(r, "tls.version"), "TLSv1.3");
    ck_assert(json_is_true(report_at(r, "tls.verified")));
    ck_assert_int_eq(report_int(r, "lag.receive.count"), 0);
    json_decref(r);
    process_signal(&target.process, SIGTERM); /* writes its log */
    (void)process_wait(&target.process, 10000);
    ck_assert_int_eq(lines_of(target.log), 600);
    process_end(&target.process);
    folder_remove(target.dir);
    target_start(&target, NULL);
}
END_TEST

START_TEST(test_verification)
{
    start_front((struct tls_front_options){.version = 0});
    expect(2, FLAGS("-n", "50"),
           "certificate verify failed: unable to get local issuer certificate");
    expect(2, FLAGS("-n", "50"), "or --cacert FILE, or -k");
    json_t *r = run_ok(FLAGS("-n", "50", "-k"));
    ck_assert_int_eq(report_int(r, "totals.ok"), 50);
    ck_assert(json_is_false(report_at(r, "tls.verified")));
    json_decref(r);
}
END_TEST

START_TEST(test_sni)
{
    struct tls_front_seen seen;
    start_front((struct tls_front_options){.cert = "named"});
    expect(2, FLAGS("-n", "10", "--cacert", ca()), "IP address mismatch");
    json_t *r = run_ok(FLAGS("-n", "10", "--cacert", ca(), "--sni", "server.test"));
    json_decref(r);
    tls_front_seen(front, &seen);
    ck_assert_str_eq(seen.sni, "server.test");
}
END_TEST

START_TEST(test_versions)
{
    start_front((struct tls_front_options){.version = TLS1_2_VERSION});
    expect(2, FLAGS("-n", "10", "-k", "--tls-min", "1.3"), "--tls-min");
    json_t *r = run_ok(FLAGS("-n", "10", "-k", "--tls-min", "1.2"));
    ck_assert_str_eq(report_text_at(r, "tls.version"), "TLSv1.2");
    json_decref(r);
}
END_TEST

START_TEST(test_sessions)
{
    /* All are due at once and wait for two connections: on a busy machine longer than a second. */
    start_front((struct tls_front_options){.version = 0});
    json_t *r = run_ok(
        FLAGS("-n", "60", "-c", "2", "-t", "1", "-T", "20s", "-k", "-H", "Connection: close"));
    ck_assert_int_ge(report_int(r, "tls.handshakes"), 60);
    /* A connection that ends before its ticket came leaves none for the next one. */
    ck_assert_int_ge(report_int(r, "tls.resumed"), 30);
    json_decref(r);
    r = run_ok(FLAGS("-n", "60", "-c", "2", "-t", "1", "-T", "20s", "-k", "-H", "Connection: close",
                     "--tls-resume", "off"));
    ck_assert_int_ge(report_int(r, "tls.handshakes"), 60);
    ck_assert_int_eq(report_int(r, "tls.resumed"), 0);
    json_decref(r);
}
END_TEST

/* The key gets to the agent and nowhere else. */
START_TEST(test_client_certificate)
{
    struct process p;
    char cert[160], key[160], secret[65] = "";
    snprintf(cert, sizeof cert, "%s", test_pki_path(pki, "client.crt"));
    snprintf(key, sizeof key, "%s", test_pki_path(pki, "client.key"));
    char *text = file_read(key);
    sscanf(text, "%*[^\n]\n%64s", secret);
    mem_free(text);
    ck_assert_uint_eq(strlen(secret), 64);
    start_front((struct tls_front_options){.client = "ca.crt", .version = TLS1_2_VERSION});
    expect(2, FLAGS("-n", "10", "-k"), "alert");
    int code = run(&p, FLAGS("-n", "10", "-k", "-v", "--debug", "--cert", cert, "--key", key));
    ck_assert_msg(code == 0 || code == 4, "%d %.300s", code, p.err);
    ck_assert(strstr(p.out, secret) == NULL && strstr(p.err, secret) == NULL);
    ck_assert(strstr(p.out, "PRIVATE") == NULL && strstr(p.err, "PRIVATE") == NULL);
    process_end(&p);
    ck_assert_int_eq(chmod(key, 0644), 0);
    expect(1, FLAGS("-n", "10", "-k", "--cert", cert, "--key", key), "chmod 600");
    expect(1, FLAGS("-n", "10", "-k", "--cert", cert), "--cert: without --key");
}
END_TEST

START_TEST(test_no_tls_there)
{
    static const struct hostile_step script[] = {SEND("HTTP/1.1 400 No\r\n\r\n"), HANG, END};
    static const struct hostile_step *const scripts[] = {script};
    struct hostile_server *server = hostile_start(scripts, 1);
    start_front((struct tls_front_options){.version = 0});
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", hostile_port(server));
    expect(2, FLAGS("-n", "10", "-k"), "not TLS");
    hostile_stop(server);
    /* And the other way round: a TLS alert is no HTTP response. */
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", tls_front_port(front));
    struct process p;
    (void)run(&p, FLAGS("-n", "5", "-c", "1", "-t", "1"));
    json_t *r = report_parse(p.out);
    ck_assert_int_eq(report_int(r, "totals.ok"), 0);
    ck_assert(json_is_null(report_at(r, "tls")));
    json_decref(r);
    process_end(&p);
}
END_TEST

/* TLS breaks in the middle of answers: counted, and the run goes on to its end. */
START_TEST(test_broken_answers)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), READ,
                                                 SEND(H11 "Content-Length: 20\r\n\r\nhello"), END};
    static const struct hostile_step *const scripts[] = {script};
    struct hostile_server *server = hostile_start(scripts, 1);
    struct tls_front_options o = {
        .pki = pki, .port = hostile_port(server), .end = TLS_FRONT_GARBAGE};
    front = tls_front_start(&o);
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", tls_front_port(front));
    json_t *r = run_ok(FLAGS("-n", "20", "-c", "1", "-t", "1", "-k"));
    ck_assert_int_eq(report_int(r, "totals.ok"), 10);
    ck_assert_int_eq(report_int(r, "totals.errors.tls"), 10);
    ck_assert_int_eq(report_int(r, "totals.errors.handshake"), 0);
    json_decref(r);
    tls_front_stop(front);
    front = NULL;
    hostile_stop(server);
}
END_TEST

/* --- a server that people use --------------------------------------------------------------- */

#define NGINX "/usr/sbin/nginx"

static const char nginx_conf[] =
    "daemon off; worker_processes 1; pid %1$s/pid; error_log %1$s/error.log;\n"
    "events { worker_connections 256; }\n"
    "http { access_log %1$s/access.log; client_body_temp_path %1$s/b; proxy_temp_path %1$s/p;\n"
    "  fastcgi_temp_path %1$s/f; uwsgi_temp_path %1$s/u; scgi_temp_path %1$s/s;\n"
    "  server { listen unix:%1$s/plain; location / { return 200 \"hello\\n\"; } }\n"
    "  server { listen 127.0.0.1:%2$u ssl; ssl_protocols TLSv1.2 TLSv1.3;\n"
    "    ssl_certificate %3$s; ssl_certificate_key %4$s; keepalive_requests 50;\n"
    "    location / { return 200 \"hello\\n\"; } } }\n";

/* One that nobody has now; another program may take it first, then nginx says so and ends. */
static unsigned free_port(void)
{
    static const struct hostile_step script[] = {END};
    static const struct hostile_step *const scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    unsigned port = hostile_port(h);
    hostile_stop(h);
    return port;
}

START_TEST(test_nginx)
{
    char dir[64], conf[96], log[96], pid[96];
    struct process p;
    if (access(NGINX, X_OK) != 0) {
        printf("nginx: skipped, %s is not installed (apt-get install nginx-light)\n", NGINX);
        return;
    }
    folder_make(dir);
    unsigned port = free_port();
    snprintf(conf, sizeof conf, "%s/conf", dir);
    snprintf(log, sizeof log, "%s/access.log", dir);
    snprintf(pid, sizeof pid, "%s/pid", dir);
    FILE *f = fopen(conf, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, nginx_conf, dir, port, test_pki_path(pki, "server.crt"),
            test_pki_path(pki, "server.key"));
    ck_assert_int_eq(fclose(f), 0);
    process_start(&p, NGINX, FLAGS("-c", conf));
    mem_free(file_wait_line(pid, 10000));
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", port);
    json_t *r = run_ok(FLAGS("-n", "1000", "-c", "10", "--cacert", ca()));
    ck_assert_int_eq(report_int(r, "totals.ok"), 1000);
    ck_assert_str_eq(report_text_at(r, "tls.version"), "TLSv1.3");
    ck_assert_int_ge(report_int(r, "tls.handshakes"), 20); /* 50 requests on each connection */
    ck_assert_int_eq(report_int(r, "tls.failed"), 0);
    json_decref(r);
    process_signal(&p, SIGTERM);
    (void)process_wait(&p, 10000);
    ck_assert_int_eq(lines_of(log), 1000);
    process_end(&p);
    folder_remove(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("https");
    TCase *t = tcase_create("https");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_counts);
    tcase_add_test(t, test_verification);
    tcase_add_test(t, test_sni);
    tcase_add_test(t, test_versions);
    tcase_add_test(t, test_sessions);
    tcase_add_test(t, test_client_certificate);
    tcase_add_test(t, test_no_tls_there);
    tcase_add_test(t, test_broken_answers);
    tcase_add_test(t, test_nginx);
    suite_add_tcase(s, t);
    return check_main(s);
}
