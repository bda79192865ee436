/* SPDX-License-Identifier: MIT */
/* Many connections at once, and bodies too large to be copied. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/client/h1_slot.h"
#include "common/clock.h"
#include "common/host.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"
#include "tests/lib/hostile_script.h"

#define MANY      1000
#define AT_A_TIME 128

static uint16_t bound_port(int *fd)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(*fd, (struct sockaddr *)&sa, len), 0);
    ck_assert_int_eq(getsockname(*fd, (struct sockaddr *)&sa, &len), 0);
    return ntohs(sa.sin_port);
}

static void open_many(struct h1_rig *r, uint16_t port, uint64_t timeout_ms)
{
    struct h1_rig_config cfg = {.connections = MANY,
                                .timeout_ms = timeout_ms,
                                .request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    ck_assert_uint_gt(host_fd_limit(), MANY + 100);
    h1_rig_open(r, &cfg);
}

static const struct client_h1 *inside(const struct h1_rig *r)
{
    return r->client;
}

/* Turns until all first attempts have ended; the largest number under way meanwhile. */
static uint32_t attempt_all(struct h1_rig *r)
{
    uint32_t most = inside(r)->slots_now[SLOTS_CONNECTING];
    uint64_t limit = clock_mono_ns() + 10 * NS_PER_SEC;
    while (r->ops->attempted(r->client) < MANY && clock_mono_ns() < limit) {
        h1_rig_turn(r, 100);
        if (inside(r)->slots_now[SLOTS_CONNECTING] > most)
            most = inside(r)->slots_now[SLOTS_CONNECTING];
    }
    ck_assert_uint_eq(r->ops->attempted(r->client), MANY);
    return most;
}

START_TEST(test_no_herd)
{
    int fd;
    uint16_t port = bound_port(&fd);
    struct h1_rig r;
    ck_assert_int_eq(listen(fd, 4096), 0);
    open_many(&r, port, 0);
    ck_assert_uint_eq(attempt_all(&r), AT_A_TIME);
    h1_rig_wait_idle(&r, MANY);
    ck_assert_uint_eq(r.traffic.connects, MANY);
    ck_assert_uint_eq(r.faults[FAULT_CONNECT], 0);
    h1_rig_close(&r);
    close(fd);
}
END_TEST

/* Not each finds out for itself that nobody answers; all come when somebody does. */
START_TEST(test_nobody_answers)
{
    int fd;
    uint16_t port = bound_port(&fd);
    struct h1_rig r;
    open_many(&r, port, 0);
    ck_assert_uint_le(attempt_all(&r), AT_A_TIME);
    ck_assert_uint_ge(r.faults[FAULT_CONNECT], 1);
    ck_assert_uint_le(r.faults[FAULT_CONNECT], 2 * AT_A_TIME);
    ck_assert_int_eq(listen(fd, 4096), 0);
    h1_rig_wait_idle(&r, MANY);
    h1_rig_close(&r);
    close(fd);
}
END_TEST

/* Told to send nothing more while most still wait for their turn. */
START_TEST(test_quiesce_with_a_queue)
{
    int fd;
    uint16_t port = bound_port(&fd);
    struct h1_rig r;
    ck_assert_int_eq(listen(fd, 4096), 0);
    open_many(&r, port, 0);
    r.ops->quiesce(r.client, clock_mono_ns());
    h1_rig_turn(&r, 1);
    ck_assert_uint_eq(inside(&r)->slots_now[SLOTS_CONNECTING], 0);
    ck_assert_uint_eq(r.ops->deadline(r.client), NS_NEVER);
    h1_rig_close(&r);
    close(fd);
}
END_TEST

#define LARGE  3000000
#define LENGTH "Content-Length: 3000000\r\n\r\n"

/* Large, small, large and chunked, small: each counts all its bytes and ends where it should. */
START_TEST(test_large_bodies)
{
    static const char chunk[] = "10\r\n0123456789abcdef\r\n";
    static const struct hostile_step script[] = {
        READ,
        SEND(H11 LENGTH),
        {.op = HOSTILE_FLOOD, .bytes = "0123456789", .n = LARGE},
        READ,
        SEND(GOOD),
        READ,
        SEND(H11 LENGTH),
        {.op = HOSTILE_FLOOD, .bytes = "0123456789", .n = LARGE},
        READ,
        SEND(CHUNKED),
        {.op = HOSTILE_FLOOD, .bytes = chunk, .n = 10000 * (sizeof chunk - 1)},
        SEND("0\r\n\r\n"),
        READ,
        SEND(GOOD),
        AGAIN};
    static const uint64_t bytes = 2 * (sizeof(H11 LENGTH) - 1 + LARGE) + 2 * (sizeof GOOD - 1) +
                                  sizeof CHUNKED - 1 + 10000 * (sizeof chunk - 1) + 5;
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 20);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 20);
    ck_assert_uint_eq(r.traffic.bytes_in, 4 * bytes);
    ck_assert_uint_eq(r.traffic.connects, 1);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* One byte too many is seen, also where the body itself was not looked at. */
START_TEST(test_bytes_behind_a_large_body)
{
    static const struct hostile_step script[] = {
        READ,
        SEND(H11 LENGTH),
        {.op = HOSTILE_FLOOD, .bytes = "0123456789", .n = LARGE + 1},
        AGAIN};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 1);
    ck_assert_uint_eq(r.outcomes[OUTCOME_OK], 1);
    h1_rig_wait(&r, &r.faults[FAULT_EXTRA_BYTES], 1);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

/* A large body that is cut off. */
START_TEST(test_large_body_cut_off)
{
    static const struct hostile_step script[] = {
        READ, SEND(H11 LENGTH), {.op = HOSTILE_FLOOD, .bytes = "0123456789", .n = LARGE - 1}, END};
    const struct hostile_step *scripts[] = {script};
    struct hostile_server *h = hostile_start(scripts, 1);
    uint16_t port = hostile_port(h);
    struct h1_rig_config cfg = {.request = h1_rig_request("GET", "/", 0),
                                .target = h1_rig_target(&port, 1)};
    struct h1_rig r;
    h1_rig_open(&r, &cfg);
    h1_rig_run(&r, 3);
    ck_assert_uint_eq(r.outcomes[OUTCOME_READ], 3);
    h1_rig_close(&r);
    hostile_stop(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_many");
    TCase *c = tcase_create("connections");
    tcase_set_timeout(c, 30);
    tcase_add_test(c, test_no_herd);
    tcase_add_test(c, test_nobody_answers);
    tcase_add_test(c, test_quiesce_with_a_queue);
    suite_add_tcase(s, c);
    TCase *b = tcase_create("bodies");
    tcase_set_timeout(b, 30);
    tcase_add_test(b, test_large_bodies);
    tcase_add_test(b, test_bytes_behind_a_large_body);
    tcase_add_test(b, test_large_body_cut_off);
    suite_add_tcase(s, b);
    return check_main(s);
}
