/* SPDX-License-Identifier: MIT */
/* --metrics: scraped while a run goes on, by clients of all kinds. */
#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/watch/http_serve.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define GET(more) "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n" more "\r\n"

static struct target_process target;
static struct process run;
static uint16_t port;

static void begin(const char *rate, const char *seconds)
{
    const char *args[] = {"run",     "--json", "-r",        rate, "-d",       seconds,
                          "--local", "2",      "--metrics", "0",  target.url, NULL};
    target_start(&target, NULL);
    process_start(&run, "hammer-ctl", args);
    char *line = file_wait_line(run.err_path, 20000), *colon = strrchr(line, ':');
    ck_assert_msg(strncmp(line, "hammer-ctl: metrics at http://127.0.0.1:", 40) == 0, "%s", line);
    port = (uint16_t)strtoul(colon + 1, NULL, 10);
    mem_free(line);
}

static void finish(int64_t sent)
{
    json_t *r = report_wait(&run, 0, 4, 60000);
    ck_assert_int_eq(report_int(r, "totals.sent"), sent);
    json_decref(r);
    process_end(&run);
    target_stop(&target);
}

static int dial(void)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* The whole answer; the caller frees it. */
static char *ask(const char *request)
{
    int fd = dial();
    size_t len = 0, cap = 1u << 17;
    char *text = mem_calloc(cap, 1);
    ck_assert_int_eq(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    for (ssize_t n; (n = recv(fd, text + len, cap - len - 1, 0)) > 0;)
        len += (size_t)n;
    close(fd);
    return text;
}

static uint64_t figure(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    ck_assert_msg(at != NULL, "%s: %s", name, text);
    return strtoull(at + strlen(name), NULL, 10);
}

/* As fast as one client can: nothing goes backwards, the load is what it should be. */
START_TEST(test_scrapes)
{
    static const char *const names[] = {"\nhammer_requests_scheduled_total ",
                                        "\nhammer_requests_sent_total ",
                                        "\nhammer_requests_total{outcome=\"ok\"} ",
                                        "\nhammer_latency_seconds_count{clock=\"corrected\"} "};
    uint64_t last[4] = {0}, n = 0;
    begin("500", "3");
    while (last[1] < 1000) {
        char *text = ask(GET(""));
        ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 200 OK\r\nContent-Type: application/"
                                           "openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
        ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
        for (size_t i = 0; i < 4; i++) {
            uint64_t now = figure(text, names[i]);
            ck_assert_uint_ge(now, last[i]);
            last[i] = now;
        }
        ck_assert_uint_eq(last[2], last[3]);
        mem_free(text);
        n++;
        clock_sleep_until(clock_mono_ns() + 5 * NS_PER_MS);
    }
    ck_assert_uint_gt(n, 20);
    finish(1500);
}
END_TEST

/* Whoever asks for nothing, or takes nothing, holds up neither the run nor, for long, the others;
 * there are no more of them than are allowed. */
START_TEST(test_slow_clients)
{
    int fds[HTTP_SERVE_CONNECTIONS - 1], small = 1;
    begin("500", "3");
    for (size_t i = 0; i < HTTP_SERVE_CONNECTIONS - 1; i++) {
        fds[i] = dial();
        setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        const char *request = i % 2 == 0 ? GET("") : "GET /met";
        ck_assert_int_gt(send(fds[i], request, strlen(request), MSG_NOSIGNAL), 0);
    }
    char *text = ask(GET("Accept: text/plain\r\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nhammer_agents{state=\"running\"} "));
    mem_free(text);
    finish(1500);
    for (size_t i = 0; i < HTTP_SERVE_CONNECTIONS - 1; i++)
        close(fds[i]);
}
END_TEST

START_TEST(test_refused)
{
    begin("100", "2");
    char *text = ask("GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 403 Forbidden\r\n"));
    ck_assert_ptr_null(strstr(text, "hammer_"));
    mem_free(text);
    text = ask("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 200 OK\r\n"));
    ck_assert_str_eq(strstr(text, "\r\n\r\n"), "\r\n\r\n");
    mem_free(text);
    finish(200);
}
END_TEST

START_TEST(test_port_in_use)
{
    struct process p;
    char where[40];
    begin("100", "2");
    snprintf(where, sizeof where, "127.0.0.1:%u", port);
    const char *args[] = {"run", "-n", "1", "--metrics", where, target.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, 20000), 2);
    ck_assert_msg(strstr(p.err, "Address already in use") != NULL && strstr(p.err, where) != NULL,
                  "%s", p.err);
    process_end(&p);
    const char *other[] = {"run", "-n", "1", "--metrics", "10.1.2.3:9464", target.url, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", other, 20000), 1);
    ck_assert_ptr_nonnull(strstr(p.err, "--metrics 10.1.2.3:9464: accepted is"));
    process_end(&p);
    finish(200);
}
END_TEST

/* Prometheus' own checker, where it is installed: it reads the older format. */
START_TEST(test_promtool)
{
    char command[200], line[200] = "";
    if (access("/usr/bin/promtool", X_OK) != 0) {
        printf("promtool is not installed: not checked with it\n");
        return;
    }
    begin("100", "3");
    snprintf(command, sizeof command,
             "curl -s -H 'Accept: text/plain' http://127.0.0.1:%u/metrics | promtool check metrics "
             "2>&1; echo \"rc ${PIPESTATUS[1]}\"",
             port);
    setenv("HAMMER_TEST_COMMAND", command, 1);
    FILE *f = popen("bash -c \"$HAMMER_TEST_COMMAND\"", "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    pclose(f);
    ck_assert_str_eq(line, "rc 0\n");
    finish(300);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("metrics");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_scrapes);
    tcase_add_test(t, test_slow_clients);
    tcase_add_test(t, test_refused);
    tcase_add_test(t, test_port_in_use);
    tcase_add_test(t, test_promtool);
    suite_add_tcase(s, t);
    return check_main(s);
}
