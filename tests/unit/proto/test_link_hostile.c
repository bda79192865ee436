/* SPDX-License-Identifier: MIT */
/* Peers that are not hammer, are broken, silent, gone, or too slow. */
#include "proto/link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_end.h"
#include "tests/lib/loop_wait.h"
#include "tests/lib/test_pki.h"

struct fixture {
    struct loop *loop;
    struct test_pki_pair tls; /* when the listener wants it */
    struct link_server server;
    int raw; /* the hostile client */
};

static struct link_end *served(struct fixture *f)
{
    return &f->server.ends[0];
}

static void open_server(struct fixture *f)
{
    link_block_signals();
    f->loop = loop_wait_new();
    link_server_open(&f->server, f->loop, "tcp://127.0.0.1:0");
}

static void open_tls_server(struct fixture *f)
{
    link_block_signals();
    f->loop = loop_wait_new();
    test_pki_pair_open(&f->tls);
    f->server.listen = f->tls.listen;
    f->server.dial = f->tls.dial;
    link_server_open(&f->server, f->loop, "tls+tcp://127.0.0.1:0");
}

static void open_raw(struct fixture *f)
{
    open_server(f);
    f->raw = raw_connect(link_listener_url(f->server.listener));
    LOOP_WAIT(f->loop, f->server.count == 1);
}

static void close_server(struct fixture *f)
{
    link_server_close(&f->server);
    loop_finish(f->loop);
    loop_free(f->loop);
    if (f->tls.pki != NULL)
        test_pki_pair_close(&f->tls);
}

/* The listener still serves a good client. */
static void check_good_client(struct fixture *f)
{
    struct link_end good = {0};
    for (int i = 0; i < f->server.count; i++) { /* whoever came before */
        link_close(f->server.ends[i].link, 0);
        f->server.ends[i].link = NULL;
    }
    f->server.count = 0;
    link_end_dial(&good, f->loop, &f->server);
    LOOP_WAIT(f->loop, good.ups == 1);
    ck_assert_int_eq(link_send(good.link, "hello", 5), ERR_OK);
    int at = -1;
    while (at < 0) {
        loop_wait_turn(f->loop);
        for (int i = 0; i < f->server.count; i++)
            if (f->server.ends[i].frames == 1)
                at = i;
    }
    ck_assert_uint_eq(f->server.ends[at].bytes, 5);
    link_close(good.link, 0);
    LOOP_WAIT(f->loop, f->server.ends[at].downs == 1);
}

/* --- bytes ------------------------------------------------------------------------------------ */

START_TEST(test_one_byte_at_a_time_and_many_in_one)
{
    struct fixture f = {0};
    open_raw(&f);
    const uint8_t one[] = {0, 0, 0, 3, 'a', 'b', 'c'};
    for (size_t i = 0; i < sizeof one; i++) {
        raw_write(f.raw, one + i, 1);
        loop_turn(f.loop, 0);
    }
    LOOP_WAIT(f.loop, served(&f)->frames == 1);
    ck_assert_uint_eq(served(&f)->bytes, 3);
    uint8_t many[1000 * sizeof one];
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = one[i % sizeof one];
    raw_write(f.raw, many, sizeof many);
    LOOP_WAIT(f.loop, served(&f)->frames == 1001);
    close(f.raw);
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_str_eq(served(&f)->reason, "closed by the peer");
    close_server(&f);
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    const char *reason;
} garbage[] = {
    {"\0\0\0\0", 4, "frame of 0 bytes"},
    {"\0\0\020\001", 4, "frame of 4097 bytes, limit 4096"},
    {"\377\377\377\377", 4, "frame of 4294967295 bytes, limit 4096"},
    {"GET / HTTP/1.1\r\n\r\n", 18, "frame of 1195725856 bytes, limit 4096"},
    {"\0\0\0\001x\0\0\0\0", 9, "frame of 0 bytes"}, /* behind a good frame in the same read */
};

START_TEST(test_garbage_lengths)
{
    struct fixture f = {0};
    char byte;
    open_raw(&f);
    raw_write(f.raw, garbage[_i].bytes, garbage[_i].len);
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_str_eq(served(&f)->reason, garbage[_i].reason);
    ck_assert_int_eq(served(&f)->frames, _i == 4);
    ck_assert_int_le(recv(f.raw, &byte, 1, 0), 0); /* we hung up */
    close(f.raw);
    check_good_client(&f);
    close_server(&f);
}
END_TEST

START_TEST(test_peer_dies_in_the_middle_of_a_frame)
{
    struct fixture f = {0};
    open_raw(&f);
    raw_write(f.raw, "\0\0\001\0half", 8);
    for (int i = 0; i < 3; i++)
        loop_wait_turn(f.loop);
    if (_i == 0)
        close(f.raw);
    else
        raw_reset(f.raw);
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_int_eq(served(&f)->frames, 0);
    ck_assert_ptr_nonnull(strstr(served(&f)->reason, "by the peer"));
    check_good_client(&f);
    close_server(&f);
}
END_TEST

/* Bytes that are no handshake end the link and harm nobody else; nor do those who say nothing. */
START_TEST(test_garbage_for_tls)
{
    static uint8_t noise[4096];
    struct fixture f = {0};
    uint64_t rng = check_seed();
    open_tls_server(&f);
    for (int i = 0; i < 60; i++) {
        f.server.count = 0;
        size_t len = 16 + (size_t)check_below(&rng, sizeof noise - 16);
        for (size_t k = 0; k < len; k++)
            noise[k] = (uint8_t)check_random(&rng);
        noise[0] &= 0x7f; /* or it could be the header of a long record, which is waited for */
        noise[1] |= 0x80;
        if (i % 2 == 0) /* a handshake record, as far as its header goes; the rest never comes */
            memcpy(noise, "\026\003\001\077\000\001", 6);
        f.raw = raw_connect(link_listener_url(f.server.listener));
        raw_write(f.raw, noise, len);
        if (i % 2 == 0)
            shutdown(f.raw, SHUT_WR);
        LOOP_WAIT(f.loop, f.server.count == 1 && served(&f)->downs == 1);
        ck_assert_int_eq(served(&f)->frames, 0);
        close(f.raw);
    }
    check_good_client(&f);
    close_server(&f);
}
END_TEST

/* Half-close: the peer says it will send no more; the link is over. */
START_TEST(test_half_close)
{
    struct fixture f = {0};
    open_raw(&f);
    shutdown(f.raw, SHUT_WR);
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_str_eq(served(&f)->reason, "closed by the peer");
    close(f.raw);
    close_server(&f);
}
END_TEST

/* --- slow and silent -------------------------------------------------------------------------- */

#define BIG (1u << 20)

/* A receiver that does not read: link_send says ERR_BUSY at a bound, keeps saying it, and what was
 * accepted arrives whole once the receiver reads. */
START_TEST(test_backpressure)
{
    struct fixture f = {0};
    uint8_t *frame = mem_calloc(BIG, 1);
    size_t len = _i == 0 ? BIG : 100, accepted = 0, got = 0;
    open_raw(&f);
    struct link *l = served(&f)->link;
    uint64_t full_since = NS_NEVER;
    while (full_since == NS_NEVER || clock_mono_ns() - full_since < 300 * NS_PER_MS) {
        enum err e = link_send(l, frame, len);
        ck_assert(e == ERR_OK || e == ERR_BUSY);
        accepted += e == ERR_OK;
        if (e == ERR_OK)
            full_since = NS_NEVER;
        else if (full_since == NS_NEVER)
            full_since = clock_mono_ns();
        ck_assert_uint_le(link_queued(l), LINK_QUEUE_MAX);
        ck_assert_uint_le(link_queued(l) * len, LINK_QUEUE_BYTES);
        if (e == ERR_BUSY)
            loop_wait_turn(f.loop);
    }
    ck_assert_uint_gt(accepted, 1);
    size_t total = accepted * (len + 4);
    fcntl(f.raw, F_SETFL, O_NONBLOCK);
    while (got < total) {
        static char sink[1 << 16];
        ssize_t n = recv(f.raw, sink, sizeof sink, 0);
        if (n > 0)
            got += (size_t)n;
        else
            loop_wait_turn(f.loop);
    }
    LOOP_WAIT(f.loop, link_queued(l) == 0);
    ck_assert_int_eq(link_send(l, frame, len), ERR_OK);
    ck_assert_uint_eq(got, total);
    ck_assert_int_eq(served(&f)->downs, 0);
    close(f.raw);
    close_server(&f);
    mem_free(frame);
}
END_TEST

START_TEST(test_send_checks)
{
    struct fixture f = {0};
    open_raw(&f);
    struct link *l = served(&f)->link;
    ck_assert_int_eq(link_send(l, "", 0), ERR_INVALID);
    ck_assert_int_eq(link_send(l, "x", LINK_QUEUE_BYTES + 1), ERR_TOO_BIG);
    ck_assert_uint_eq(link_queued(l), 0);
    close(f.raw);
    close_server(&f);
}
END_TEST

/* A flush to a receiver that never reads ends at its deadline. */
START_TEST(test_flush_has_an_end)
{
    struct fixture f = {0};
    uint8_t *frame = mem_calloc(BIG, 1);
    open_raw(&f);
    while (link_send(served(&f)->link, frame, BIG) == ERR_OK)
        loop_turn(f.loop, 0);
    uint64_t start = clock_mono_ns();
    link_close(served(&f)->link, 100);
    served(&f)->link = NULL;
    loop_finish(f.loop);
    ck_assert_uint_ge(clock_mono_ns() - start, 100 * NS_PER_MS);
    ck_assert_int_eq(served(&f)->downs, 0);
    close(f.raw);
    close_server(&f);
    mem_free(frame);
}
END_TEST

/* Any bytes count as a sign of life; none for the time given ends the link. */
START_TEST(test_silence)
{
    struct fixture f = {0};
    open_raw(&f);
    link_set_silence(served(&f)->link, 300);
    for (int i = 0; i < 8; i++) {
        raw_write(f.raw, &"\0\0\0\001x"[i % 5], 1);
        uint64_t until = clock_mono_ns() + 60 * NS_PER_MS;
        LOOP_WAIT(f.loop, clock_mono_ns() >= until);
    }
    ck_assert_int_eq(served(&f)->downs, 0);
    uint64_t start = clock_mono_ns();
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_uint_ge(clock_mono_ns() - start, 200 * NS_PER_MS);
    ck_assert_str_eq(served(&f)->reason, "silent for 0.3 s");
    close(f.raw);
    close_server(&f);
}
END_TEST

/* When our own thread was away for longer than the limit, bytes that came meanwhile count. */
START_TEST(test_silence_is_not_our_own_delay)
{
    struct fixture f = {0};
    open_raw(&f);
    link_set_silence(served(&f)->link, 50);
    for (int i = 0; i < 5; i++) {
        raw_write(f.raw, "\0\0\0\001x", 5);
        clock_sleep_until(clock_mono_ns() + 100 * NS_PER_MS);
        loop_turn(f.loop, 0);
    }
    LOOP_WAIT(f.loop, served(&f)->frames == 5);
    ck_assert_int_eq(served(&f)->downs, 0);
    link_set_silence(served(&f)->link, 0);
    for (int i = 0; i < 10; i++)
        loop_wait_turn(f.loop);
    ck_assert_int_eq(served(&f)->downs, 0);
    close(f.raw);
    close_server(&f);
}
END_TEST

/* A child that stops this process and, while it stands still, writes to fd. */
static pid_t stand_still(int fd, uint64_t ns)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        kill(getppid(), SIGSTOP);
        ssize_t n = write(fd, "\0\0\0\001x", 5);
        clock_sleep_until(clock_mono_ns() + ns);
        kill(getppid(), SIGCONT);
        _exit(n == 5 ? 0 : 1);
    }
    return child;
}

/* A machine that was suspended wakes with the timer due and the bytes still in the kernel. */
START_TEST(test_silence_is_not_a_suspended_machine)
{
    struct fixture f = {0};
    open_raw(&f);
    for (int i = 0; i < 3; i++) {
        link_set_silence(served(&f)->link, 500);
        pid_t child = stand_still(f.raw, 600 * NS_PER_MS);
        LOOP_WAIT(f.loop, served(&f)->frames == i + 1 || served(&f)->downs > 0);
        ck_assert_int_eq(served(&f)->downs, 0);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
    }
    close(f.raw);
    close_server(&f);
}
END_TEST

/* While we flush and linger, what the peer says is read: our end is a FIN, not a reset that would
 * destroy what it has not read yet. */
START_TEST(test_flush_ends_with_fin)
{
    struct fixture f = {0};
    char bytes[64];
    open_raw(&f);
    ck_assert_int_eq(link_send(served(&f)->link, "bye", 3), ERR_OK);
    link_close(served(&f)->link, 1000);
    served(&f)->link = NULL;
    for (int i = 0; i < 3; i++) {
        raw_write(f.raw, "\0\0\0\005hello", 9);
        loop_wait_turn(f.loop);
    }
    int fds = count_fds();
    loop_finish(f.loop);
    LOOP_WAIT(f.loop, count_fds() <= fds - 1); /* nng closes on its own thread */
    struct pollfd p = {.fd = f.raw, .events = POLLIN | POLLRDHUP};
    ck_assert_int_eq(poll(&p, 1, 10000), 1);
    ck_assert_int_eq(p.revents, POLLIN | POLLRDHUP); /* no POLLERR, no POLLHUP */
    ck_assert_int_eq(recv(f.raw, bytes, sizeof bytes, 0), 7);
    ck_assert_int_eq(recv(f.raw, bytes, sizeof bytes, 0), 0);
    close(f.raw);
    close_server(&f);
}
END_TEST

/* A listening socket whose backlog is full drops every SYN: nobody ever answers. */
static int black_hole(char *url, size_t cap, int *filler, int n)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof sin;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&sin, sizeof sin), 0);
    ck_assert_int_eq(listen(fd, 0), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
    for (int i = 0; i < n; i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(filler[i], (struct sockaddr *)&sin, sizeof sin);
    }
    snprintf(url, cap, "tcp://127.0.0.1:%u", ntohs(sin.sin_port));
    return fd;
}

#define DIALS 100 /* many, because nng's false success is rare */

START_TEST(test_black_hole)
{
    char url[64];
    int filler[4];
    struct loop *loop = loop_wait_new();
    int fd = black_hole(url, sizeof url, filler, 4);
    int fds = count_fds();
    uint64_t start = clock_mono_ns();
    struct link_end end[DIALS] = {{0}};
    for (int i = 0; i < DIALS; i++)
        ck_assert_int_eq(
            link_dial(loop, url, NULL, 300, link_end_event, &end[i], &end[i].link, NULL), ERR_OK);
    for (int i = 0; i < DIALS; i++) {
        LOOP_WAIT(loop, end[i].downs == 1);
        ck_assert_str_eq(end[i].reason, "timed out after 0.3 s");
        ck_assert_int_eq(end[i].ups, 0);
    }
    ck_assert_uint_ge(clock_mono_ns() - start, 300 * NS_PER_MS);
    LOOP_WAIT(loop, count_fds() <= fds + 3); /* nng's own few stay open */
    for (int i = 0; i < 4; i++)
        close(filler[i]);
    close(fd);
    loop_free(loop);
}
END_TEST

/* --- storms ----------------------------------------------------------------------------------- */

START_TEST(test_storm_of_fin_and_rst)
{
    struct fixture f = {0};
    uint64_t rng = check_seed();
    if (_i == 0)
        open_server(&f);
    else
        open_tls_server(&f);
    for (int i = 0; i < 1000; i++) {
        int fd = raw_connect(link_listener_url(f.server.listener));
        if (check_below(&rng, 3) == 0)
            raw_write(fd, "\0\0\0\001x\0\0", 7);
        if (check_below(&rng, 4) == 0)
            shutdown(fd, SHUT_WR);
        if (check_below(&rng, 2) == 0)
            close(fd);
        else
            raw_reset(fd);
        if (check_below(&rng, 8) == 0)
            loop_turn(f.loop, 0);
        if (i % 40 == 39) { /* before the kernel's backlog is full */
            LOOP_WAIT(f.loop, f.server.accepted == i + 1);
            for (int k = 0; k < f.server.count; k++)
                LOOP_WAIT(f.loop, f.server.ends[k].downs == 1);
            f.server.count = 0;
        }
    }
    check_good_client(&f);
    close_server(&f);
}
END_TEST

/* Out of descriptors: accepting waits without spinning and goes on when there are some again. */
START_TEST(test_out_of_descriptors)
{
    struct fixture f = {0};
    struct rlimit old, now;
    open_server(&f);
    const char *url = link_listener_url(f.server.listener);
    int raw[4] = {raw_connect(url), raw_connect(url), raw_connect(url), raw_connect(url)};
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    now = (struct rlimit){.rlim_cur = (rlim_t)raw[3] + 1, .rlim_max = old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &now), 0);
    uint64_t cpu = clock_thread_cpu_ns(), until = clock_mono_ns() + 300 * NS_PER_MS;
    LOOP_WAIT(f.loop, clock_mono_ns() >= until);
    ck_assert_uint_lt(clock_thread_cpu_ns() - cpu, 150 * NS_PER_MS);
    setrlimit(RLIMIT_NOFILE, &old);
    check_good_client(&f);
    for (int i = 0; i < 4; i++)
        close(raw[i]);
    close_server(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link_hostile");
    TCase *t = tcase_create("link_hostile");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_one_byte_at_a_time_and_many_in_one);
    tcase_add_loop_test(t, test_garbage_lengths, 0, 5);
    tcase_add_test(t, test_garbage_for_tls);
    tcase_add_loop_test(t, test_peer_dies_in_the_middle_of_a_frame, 0, 2);
    tcase_add_test(t, test_half_close);
    tcase_add_loop_test(t, test_backpressure, 0, 2);
    tcase_add_test(t, test_send_checks);
    tcase_add_test(t, test_flush_has_an_end);
    tcase_add_test(t, test_silence);
    tcase_add_test(t, test_silence_is_not_our_own_delay);
    tcase_add_test(t, test_silence_is_not_a_suspended_machine);
    tcase_add_test(t, test_flush_ends_with_fin);
    tcase_add_test(t, test_black_hole);
    tcase_add_loop_test(t, test_storm_of_fin_and_rst, 0, 2);
    tcase_add_test(t, test_out_of_descriptors);
    suite_add_tcase(s, t);
    return check_main(s);
}
