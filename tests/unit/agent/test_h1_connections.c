/* SPDX-License-Identifier: MIT */
#include "agent/client/client_h1.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_script.h"

struct fixture {
    const struct hostile_step *scripts[1];
    struct hostile_server *server;
    struct h1_rig rig;
};

/* All connections run the one script. */
static void start(struct fixture *f, const struct hostile_step *script, uint32_t connections,
                  uint64_t timeout_ms)
{
    f->scripts[0] = script;
    f->server = hostile_start(f->scripts, 1);
    uint16_t port = hostile_port(f->server);
    struct h1_rig_config cfg = {.connections = connections,
                                .timeout_ms = timeout_ms,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    h1_rig_open(&f->rig, &cfg);
}

static void finish(struct fixture *f)
{
    h1_rig_close(&f->rig);
    hostile_stop(f->server);
}

/* A server that closes between requests costs a reconnect, never an error. */
START_TEST(test_close_between_requests)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), END};
    struct fixture f;
    start(&f, script, 1, 0);
    for (int i = 0; i < 5; i++) {
        h1_rig_run(&f.rig, 1);
        h1_rig_wait(&f.rig, &f.rig.traffic.connects, (uint64_t)i + 2);
        h1_rig_wait_idle(&f.rig, 1);
    }
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 5);
    ck_assert_uint_eq(f.rig.traffic.retries, 0);
    ck_assert_uint_eq(f.rig.faults[FAULT_CONNECT], 0);
    finish(&f);
}
END_TEST

/* The same, without waiting for the close to arrive: nothing fails either. */
START_TEST(test_close_races_with_the_next_request)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), END};
    struct fixture f;
    start(&f, script, 1, 0);
    h1_rig_run(&f.rig, 100);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_OK], 100);
    finish(&f);
}
END_TEST

START_TEST(test_extra_bytes_on_an_idle_connection)
{
    static const struct hostile_step first[] = {READ,         SEND(GOOD), READ, SEND(GOOD),
                                                SLOW("HTTP"), HANG,       END};
    static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {first, good};
    struct hostile_server *h = hostile_start(scripts, 2);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 2);
    h1_rig_wait(&r, &r.faults[FAULT_EXTRA_BYTES], 1);
    h1_rig_run(&r, 1);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 3);
    ck_assert_uint_eq(r.traffic.connects, 2);
    char text[96];
    fault_text(FAULT_EXTRA_BYTES, 0, text, sizeof text);
    ck_assert_str_eq(text, "connection replaced: bytes after the end of the response");
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* A server that throws everybody out is not hammered with connects: ten a second, not thousands. */
START_TEST(test_no_connect_storm)
{
    static const struct hostile_step script[] = {END};
    struct fixture f;
    start(&f, script, 1, 0);
    uint64_t begin = clock_mono_ns();
    h1_rig_wait(&f.rig, &f.rig.traffic.connects, 4);
    ck_assert_uint_ge(clock_mono_ns() - begin, 300 * NS_PER_MS);
    finish(&f);
}
END_TEST

/* Nor when it waits for a request first: five more at once, then ten a second. */
START_TEST(test_no_storm_of_failing_requests)
{
    static const struct hostile_step script[] = {READ, RESET, END};
    struct fixture f;
    start(&f, script, 1, 0);
    uint64_t begin = clock_mono_ns();
    h1_rig_run(&f.rig, 9);
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_READ], 9);
    ck_assert_uint_ge(clock_mono_ns() - begin, 200 * NS_PER_MS);
    finish(&f);
}
END_TEST

/* A banner before any request is as unasked for as one afterwards. */
START_TEST(test_banner)
{
    static const struct hostile_step first[] = {SEND("220 hello\r\n"), HANG, END};
    static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {first, good};
    struct hostile_server *h = hostile_start(scripts, 2);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.faults[FAULT_EXTRA_BYTES], 1);
    h1_rig_run(&r, 1);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 1);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

START_TEST(test_stop_completes_what_is_in_flight)
{
    static const struct hostile_step script[] = {READ, HANG, END};
    struct fixture f;
    start(&f, script, 4, 0);
    h1_rig_wait_idle(&f.rig, 4);
    ck_assert_uint_eq(f.rig.ops->connected(f.rig.client), 4);
    for (int i = 0; i < 3; i++)
        h1_rig_submit(&f.rig);
    ck_assert_uint_eq(f.rig.ops->in_flight(f.rig.client), 3);
    ck_assert_uint_eq(f.rig.ops->idle(f.rig.client), 1);
    f.rig.ops->stop(f.rig.client, clock_mono_ns());
    ck_assert_uint_eq(f.rig.outcomes[OUTCOME_UNFINISHED], 3);
    finish(&f);
}
END_TEST

/* Connection i answers 201 + i: idle connections must serve in turn. */
START_TEST(test_idle_connections_serve_in_turn)
{
    static const char *const answers[] = {"HTTP/1.1 201 A\r\nContent-Length: 0\r\n\r\n",
                                          "HTTP/1.1 202 B\r\nContent-Length: 0\r\n\r\n",
                                          "HTTP/1.1 203 C\r\nContent-Length: 0\r\n\r\n"};
    struct hostile_step script[3][4];
    for (size_t i = 0; i < 3; i++)
        memcpy(script[i], (struct hostile_step[]){READ, SEND(answers[i]), AGAIN, END},
               sizeof script[i]);
    const struct hostile_step *scripts[] = {script[0], script[1], script[2]};
    struct hostile_server *h = hostile_start(scripts, 3);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.connections = 3,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait_idle(&r, 3);
    for (int i = 0; i < 12; i++)
        h1_rig_run(&r, 1);
    for (int i = 3; i < 12; i++) {
        ck_assert_int_eq(r.results[i].status, r.results[i - 3].status);
        ck_assert_int_ne(r.results[i].status, r.results[i - 1].status);
    }
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

START_TEST(test_retry_keeps_due_and_says_so)
{
    static const struct hostile_step first[] = {READ, SEND(GOOD), READ, END};
    static const struct hostile_step good[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {first, good};
    struct hostile_server *h = hostile_start(scripts, 2);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 2);
    ck_assert_uint_eq(r.results[0].attempts, 1);
    ck_assert_uint_eq(r.results[1].attempts, 2);
    ck_assert_uint_eq(r.results[1].due_ns, 2);
    ck_assert_uint_eq(hostile_requests(h), 3);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* After STOP nothing is sent: the close that would be retried, and the connection that would be
 * replaced, are left as they are. */
START_TEST(test_quiesced_it_sends_nothing_more)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), READ, END};
    struct fixture f;
    start(&f, script, 1, 0);
    h1_rig_run(&f.rig, 1);
    h1_rig_submit(&f.rig);
    f.rig.ops->quiesce(f.rig.client, clock_mono_ns());
    ck_assert_uint_eq(f.rig.ops->in_flight(f.rig.client), 1);
    h1_rig_wait(&f.rig, &f.rig.completed, 2);
    ck_assert_int_eq(f.rig.last.outcome, OUTCOME_READ);
    ck_assert_uint_eq(f.rig.last.attempts, 1);
    ck_assert_uint_eq(f.rig.ops->connected(f.rig.client), 0);
    ck_assert_uint_eq(f.rig.ops->deadline(f.rig.client), NS_NEVER); /* no reconnect is planned */
    ck_assert_uint_eq(hostile_accepted(f.server), 1);
    finish(&f);
}
END_TEST

/* A retry that is still connecting is given up: the request failed where it first did. */
START_TEST(test_quiesced_it_gives_up_a_retry)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), READ, END};
    struct fixture f;
    start(&f, script, 1, 0);
    h1_rig_run(&f.rig, 1);
    h1_rig_submit(&f.rig);
    for (int turns = 0; f.rig.ops->connected(f.rig.client) > 0; turns++) {
        ck_assert_int_lt(turns, 1000);
        h1_rig_turn(&f.rig, 10);
    }
    ck_assert_uint_eq(f.rig.ops->in_flight(f.rig.client), 1);
    f.rig.ops->quiesce(f.rig.client, clock_mono_ns());
    ck_assert_int_eq(f.rig.last.outcome, OUTCOME_READ);
    ck_assert_uint_eq(f.rig.completed, 2);
    ck_assert_uint_eq(hostile_requests(f.server), 2);
    finish(&f);
}
END_TEST

START_TEST(test_index_in_the_path)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    setenv(URL_TEST_INDEX_ENV, "1", 1);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/a/{i}?b", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    char line[128];
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 1);
    hostile_last_line(h, line, sizeof line);
    ck_assert_str_eq(line, "GET /a/00000000000000000000?b HTTP/1.1");
    h1_rig_run(&r, 41);
    hostile_last_line(h, line, sizeof line);
    ck_assert_str_eq(line, "GET /a/00000000000000000041?b HTTP/1.1");
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* The kernel switches stamping on a little after the first socket asked for it. */
START_TEST(test_arrival_is_stamped_by_the_kernel)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    struct fixture f;
    start(&f, script, 1, 0);
    uint64_t limit = clock_mono_ns() + RIG_LIMIT_MS * NS_PER_MS;
    do {
        ck_assert_uint_lt(clock_mono_ns(), limit);
        h1_rig_run(&f.rig, 1);
    } while (f.rig.last.receive_ns == UINT64_MAX);
    ck_assert_uint_lt(f.rig.last.receive_ns, NS_PER_SEC);
    finish(&f);
}
END_TEST

/* ---- connecting ---- */

/* A port where nobody listens, kept bound so that nobody will. */
static uint16_t dead_port(int *fd)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(*fd, (struct sockaddr *)&sa, len), 0);
    ck_assert_int_eq(getsockname(*fd, (struct sockaddr *)&sa, &len), 0);
    return ntohs(sa.sin_port);
}

START_TEST(test_refused_is_tried_again_later)
{
    int fd;
    uint16_t port = dead_port(&fd);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    uint64_t begin = clock_mono_ns();
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.faults[FAULT_CONNECT], 1);
    ck_assert_int_eq(r.fault_code, ECONNREFUSED);
    ck_assert_uint_eq(r.ops->attempted(r.client), 1);
    h1_rig_wait(&r, &r.faults[FAULT_CONNECT], 3);
    ck_assert_uint_ge(clock_mono_ns() - begin, 200 * NS_PER_MS);
    ck_assert_uint_eq(r.ops->attempted(r.client), 1);
    ck_assert_int_eq(listen(fd, 8), 0); /* the server comes up */
    h1_rig_wait_idle(&r, 1);
    h1_rig_close(&r);
    close(fd);
}
END_TEST

/* One dead address of two (localhost as ::1 and 127.0.0.1) is not a fault: the other one serves. */
START_TEST(test_dead_address_is_passed_over)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    int fd;
    uint16_t ports[] = {dead_port(&fd), hostile_port(h)};
    struct h1_rig_config cfg = {.connections = 6,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(ports, 2)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait_idle(&r, 6);
    h1_rig_run(&r, 20);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 20);
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    h1_rig_close(&r);
    hostile_stop(h);
    close(fd);
}
END_TEST

/* A full accept queue drops SYNs: the attempt has the timeout as its deadline. */
START_TEST(test_connect_has_a_deadline)
{
    int fd, fillers[4];
    uint16_t port = dead_port(&fd);
    ck_assert_int_eq(listen(fd, 0), 0);
    struct target t = h1_rig_target(&port, 1);
    for (int i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&t.addrs[0].sa, t.addrs[0].len);
    }
    struct h1_rig_config cfg = {
        .timeout_ms = 100, .request = h1_rig_request("GET", "/", 0), .target = t};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.faults[FAULT_CONNECT], 2);
    ck_assert_int_eq(r.fault_code, ETIMEDOUT);
    ck_assert_uint_eq(r.ops->attempted(r.client), 1);
    h1_rig_close(&r);
    for (int i = 0; i < 4; i++)
        close(fillers[i]);
    close(fd);
}
END_TEST

START_TEST(test_out_of_descriptors)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.connections = 2,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    struct rlimit old;
    h1_rig_init(&r, &cfg);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    r.ops->open(r.client, clock_mono_ns());
    ck_assert_uint_eq(r.faults[FAULT_FD_LIMIT], 2);
    ck_assert_int_eq(r.fault_code, EMFILE);
    ck_assert_uint_eq(r.ops->attempted(r.client), 2);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    h1_rig_wait_idle(&r, 2);
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* A network of our own with two local ports: the third connection to one address finds none. */
static bool two_ports_only(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    int rc = ioctl(fd, SIOCSIFFLAGS, &lo);
    close(fd);
    FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
    if (rc != 0 || f == NULL)
        return false;
    bool written = fputs("40000 40001", f) >= 0;
    return fclose(f) == 0 && written;
}

START_TEST(test_out_of_ports)
{
    static const struct hostile_step script[] = {READ, SEND(GOOD), AGAIN};
    const struct hostile_step *scripts[] = {script};
    if (!two_ports_only()) {
        printf("no network namespace here: EADDRNOTAVAIL not tried\n");
        return;
    }
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.connections = 4,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_wait(&r, &r.faults[FAULT_PORTS], 2);
    ck_assert_int_eq(r.fault_code, EADDRNOTAVAIL);
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    h1_rig_run(&r, 5);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 5);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_connections");
    TCase *t = tcase_create("connections");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, test_close_between_requests);
    tcase_add_test(t, test_close_races_with_the_next_request);
    tcase_add_test(t, test_extra_bytes_on_an_idle_connection);
    tcase_add_test(t, test_no_connect_storm);
    tcase_add_test(t, test_no_storm_of_failing_requests);
    tcase_add_test(t, test_banner);
    tcase_add_test(t, test_stop_completes_what_is_in_flight);
    tcase_add_test(t, test_idle_connections_serve_in_turn);
    tcase_add_test(t, test_retry_keeps_due_and_says_so);
    tcase_add_test(t, test_quiesced_it_sends_nothing_more);
    tcase_add_test(t, test_quiesced_it_gives_up_a_retry);
    tcase_add_test(t, test_index_in_the_path);
    tcase_add_test(t, test_arrival_is_stamped_by_the_kernel);
    suite_add_tcase(s, t);
    TCase *c = tcase_create("connecting");
    tcase_set_timeout(c, 30);
    tcase_add_test(c, test_refused_is_tried_again_later);
    tcase_add_test(c, test_dead_address_is_passed_over);
    tcase_add_test(c, test_connect_has_a_deadline);
    tcase_add_test(c, test_out_of_descriptors);
    tcase_add_test(c, test_out_of_ports);
    suite_add_tcase(s, c);
    return check_main(s);
}
