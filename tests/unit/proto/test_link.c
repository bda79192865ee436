/* SPDX-License-Identifier: MIT */
#include "proto/link.h"

#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_end.h"
#include "tests/lib/loop_wait.h"
#include "tests/lib/test_pki.h"

/* Each test runs for every transport. The ipc path is removed by the listener. */
enum transport {
    TCP,
    IPC,
    TLS,
    TRANSPORTS
};

static struct test_pki_pair pki;

static void make_certificates(void)
{
    link_block_signals();
    test_pki_pair_open(&pki);
}

static void remove_certificates(void)
{
    test_pki_pair_close(&pki);
}

static const char *url_of(int transport)
{
    static char ipc[96];
    snprintf(ipc, sizeof ipc, "ipc:///tmp/hammer-test-link-%d.sock", (int)getpid());
    return transport == TCP   ? "tcp://127.0.0.1:0"
           : transport == IPC ? ipc
                              : "tls+tcp://127.0.0.1:0";
}

static void open_server(struct link_server *s, struct loop *loop, int transport)
{
    s->listen = pki.listen;
    s->dial = pki.dial;
    link_server_open(s, loop, url_of(transport));
}

struct fixture {
    struct loop *loop;
    struct link_server server;
    struct link_end client;
};

static void open_pair(struct fixture *f, int transport)
{
    f->loop = loop_wait_new();
    open_server(&f->server, f->loop, transport);
    link_end_dial(&f->client, f->loop, &f->server);
    LOOP_WAIT(f->loop, f->server.count == 1 && (f->client.ups == 1 || f->client.link == NULL));
}

static void close_pair(struct fixture *f)
{
    link_close(f->client.link, 0);
    link_server_close(&f->server);
    loop_finish(f->loop);
    loop_free(f->loop);
}

static struct link_end *served(struct fixture *f)
{
    return &f->server.ends[0];
}

/* --- frames both ways ------------------------------------------------------------------------- */

#define FRAMES    4000
#define FRAME_TOP (300u << 10) /* larger than the read buffer */

struct flow {
    uint64_t send_rng, recv_rng; /* same seed: the receiver knows what must come */
    int sent;
    struct fixture *fixture;
};

static size_t random_frame(uint64_t *rng, uint8_t *buf)
{
    static const uint64_t tops[] = {1, 8, 200, 4096, 70000, FRAME_TOP};
    uint64_t pick = check_below(rng, 1000);
    size_t kind = pick < 300 ? 0 : pick < 600 ? 1 : pick < 900 ? 2 : pick < 985 ? 3 : 4;
    if (pick == 999)
        kind = 5;
    size_t len = 1 + (size_t)check_below(rng, tops[kind]);
    uint64_t word = check_random(rng);
    for (size_t i = 0; i < len; i++)
        buf[i] = (uint8_t)(word >> (i % 8 * 8)) ^ (uint8_t)(i >> 8);
    return len;
}

static void check_frame(struct link_end *e, const struct link_info *info)
{
    static uint8_t want[FRAME_TOP];
    struct flow *flow = e->arg;
    size_t len = random_frame(&flow->recv_rng, want);
    ck_assert_uint_eq(info->len, len);
    ck_assert_int_eq(memcmp(info->frame, want, len), 0);
    ck_assert_uint_ge(info->rx_ns, e->rx_ns);
    ck_assert_uint_le(info->rx_ns, clock_mono_ns());
}

static void send_some(struct flow *flow, struct link *l)
{
    static uint8_t buf[FRAME_TOP];
    while (flow->sent < FRAMES) {
        uint64_t before = flow->send_rng;
        size_t len = random_frame(&flow->send_rng, buf);
        enum err e = link_send(l, buf, len);
        if (e == ERR_BUSY) {
            ck_assert_uint_gt(link_queued(l), 0);
            flow->send_rng = before;
            return;
        }
        ck_assert_int_eq(e, ERR_OK);
        flow->sent++;
    }
}

START_TEST(test_random_frames_both_ways)
{
    struct fixture f = {0};
    uint64_t seed = check_seed();
    struct flow up = {.send_rng = seed, .recv_rng = seed};
    struct flow down = {.send_rng = seed + 1, .recv_rng = seed + 1};
    f.server.model = (struct link_end){.on_frame = check_frame, .arg = &up};
    f.client = (struct link_end){.on_frame = check_frame, .arg = &down};
    open_pair(&f, _i);
    link_set_frame_max(f.client.link, FRAME_TOP);
    link_set_frame_max(served(&f)->link, FRAME_TOP);
    while (f.client.frames < FRAMES || served(&f)->frames < FRAMES) {
        int before = f.client.frames + served(&f)->frames;
        send_some(&up, f.client.link);
        send_some(&down, served(&f)->link);
        LOOP_WAIT(f.loop, f.client.frames + served(&f)->frames > before);
    }
    LOOP_WAIT(f.loop, link_queued(f.client.link) == 0 && link_queued(served(&f)->link) == 0);
    close_pair(&f);
}
END_TEST

/* --- closing ---------------------------------------------------------------------------------- */

/* All frames accepted by link_send arrive although the sender closes at once, and although the
 * receiver keeps talking to a sender that no longer listens. */
START_TEST(test_close_with_flush_delivers)
{
    static uint8_t frame[4000];
    struct fixture f = {0};
    open_pair(&f, _i);
    for (int i = 0; i < LINK_QUEUE_MAX; i++)
        ck_assert_int_eq(link_send(f.client.link, frame, sizeof frame), ERR_OK);
    link_close(f.client.link, 10000);
    f.client.link = NULL;
    while (served(&f)->link != NULL) {
        if (served(&f)->frames < LINK_QUEUE_MAX)
            ck_assert_int_ne(link_send(served(&f)->link, frame, sizeof frame), ERR_CLOSED);
        loop_wait_turn(f.loop);
    }
    ck_assert_int_eq(served(&f)->frames, LINK_QUEUE_MAX);
    ck_assert_str_eq(served(&f)->reason, "closed by the peer");
    ck_assert_int_eq(f.client.frames, 0);
    close_pair(&f);
}
END_TEST

/* A peer that closes on the last frame ends the flush early: nobody waits for the deadline. */
START_TEST(test_flush_ends_when_the_peer_closes)
{
    struct fixture f = {0};
    f.server.model.close_when = CLOSE_IN_FRAME;
    open_pair(&f, _i);
    uint64_t start = clock_mono_ns();
    ck_assert_int_eq(link_send(f.client.link, "bye", 3), ERR_OK);
    link_close(f.client.link, 60000);
    f.client.link = NULL;
    loop_finish(f.loop);
    ck_assert_int_eq(served(&f)->frames, 1);
    ck_assert_uint_lt(clock_mono_ns() - start, 10 * NS_PER_SEC);
    close_pair(&f);
}
END_TEST

START_TEST(test_close_without_flush_ends_the_peer)
{
    struct fixture f = {0};
    open_pair(&f, _i);
    link_close(f.client.link, 0);
    f.client.link = NULL;
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_str_eq(served(&f)->reason, "closed by the peer");
    ck_assert_int_eq(f.client.downs, 0);
    close_pair(&f);
}
END_TEST

static void close_the_other(struct link_end *e, const struct link_info *info)
{
    (void)info;
    struct fixture *f = e->arg;
    link_close(f->client.link, 0);
    f->client.link = NULL;
}

/* In LINK_UP, in LINK_FRAME (with more frames in the same read), and of another link. */
START_TEST(test_close_inside_callbacks)
{
    struct fixture f = {.client = {.close_when = CLOSE_IN_UP}};
    open_pair(&f, _i);
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    close_pair(&f);

    struct fixture g = {.server.model.close_when = CLOSE_IN_FRAME};
    open_pair(&g, _i);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(link_send(g.client.link, "x", 1), ERR_OK);
    LOOP_WAIT(g.loop, g.client.downs == 1);
    ck_assert_int_eq(served(&g)->frames, 1);
    close_pair(&g);

    struct fixture h = {0};
    h.server.model = (struct link_end){.on_frame = close_the_other, .arg = &h};
    open_pair(&h, _i);
    ck_assert_int_eq(link_send(h.client.link, "x", 1), ERR_OK);
    LOOP_WAIT(h.loop, served(&h)->downs == 1);
    close_pair(&h);
}
END_TEST

/* A link whose taker flushes a farewell in the accept callback, as an agent does that is busy. */
static void refuse(void *arg, struct link *l)
{
    (void)arg;
    ck_assert_int_eq(link_send(l, "busy", 4), ERR_OK);
    link_close(l, 1000);
}

static void ignore(void *arg, struct link *l)
{
    (void)arg, (void)l;
}

static void check_accept(int transport, link_accept_fn fn, int frames)
{
    struct link_listener *listener = NULL;
    struct loop *loop = loop_wait_new();
    struct link_end client = {0};
    struct errmsg msg = {{0}};
    ck_assert_int_eq(link_listen(loop, url_of(transport), &pki.listen, fn, NULL, &listener, &msg),
                     ERR_OK);
    ck_assert_int_eq(link_dial(loop, link_listener_url(listener), &pki.dial, 5000, link_end_event,
                               &client, &client.link, &msg),
                     ERR_OK);
    LOOP_WAIT(loop, client.downs == 1);
    ck_assert_int_eq(client.frames, frames);
    link_listener_close(listener);
    loop_finish(loop);
    loop_free(loop);
}

START_TEST(test_accept_that_refuses_or_ignores)
{
    check_accept(_i, refuse, 1);
    check_accept(_i, ignore, 0);
}
END_TEST

/* Neither descriptors nor memory grow with the number of connections. */
START_TEST(test_thousand_connections_leave_nothing)
{
    struct loop *loop = loop_wait_new();
    struct link_server s = {0};
    open_server(&s, loop, _i);
    int fds = 0;
    size_t heap = 0;
    for (int i = 0; i < 1000; i++) {
        struct link_end client = {.close_when = CLOSE_IN_UP};
        link_end_dial(&client, loop, &s);
        LOOP_WAIT(loop, client.ups == 1 && s.count == 1 && s.ends[0].downs == 1);
        s.count = 0;
        if (i == 200) {
            loop_wait_turn(loop);
            fds = count_fds();
            heap = mallinfo2().uordblks;
        }
    }
    LOOP_WAIT(loop, count_fds() <= fds); /* nng closes on its own thread */
    ck_assert_uint_lt(mallinfo2().uordblks, heap + (256u << 10));
    ck_assert_int_eq(s.accepted, 1000);
    link_server_close(&s);
    loop_free(loop);
}
END_TEST

/* --- dialling --------------------------------------------------------------------------------- */

START_TEST(test_dial_refused)
{
    struct loop *loop = loop_wait_new();
    struct link_server s = {0};
    struct link_end client = {0};
    open_server(&s, loop, _i);
    char url[160];
    snprintf(url, sizeof url, "%s", link_listener_url(s.listener));
    link_server_close(&s);
    ck_assert_int_eq(
        link_dial(loop, url, &pki.dial, 5000, link_end_event, &client, &client.link, NULL), ERR_OK);
    ck_assert_int_eq(link_send(client.link, "x", 1), ERR_STATE);
    LOOP_WAIT(loop, client.downs == 1);
    ck_assert_str_eq(client.reason, "connection refused");
    ck_assert_int_eq(client.ups, 0);
    loop_free(loop);
}
END_TEST

START_TEST(test_dial_closed_while_under_way)
{
    struct loop *loop = loop_wait_new();
    struct link_server s = {0};
    open_server(&s, loop, _i);
    for (int i = 0; i < 50; i++) {
        struct link_end client = {0};
        link_end_dial(&client, loop, &s);
        if (i % 2 == 0)
            loop_turn(loop, 0);
        link_close(client.link, i % 3 == 0 ? 100 : 0);
        s.count = s.count > LINK_ENDS / 2 ? 0 : s.count;
    }
    link_server_close(&s);
    loop_finish(loop);
    loop_free(loop);
}
END_TEST

/* --- listening -------------------------------------------------------------------------------- */

/* The second listener is refused, and the attempt does not harm the first. */
START_TEST(test_address_in_use)
{
    struct fixture f = {0};
    struct link_listener *second = NULL;
    struct errmsg msg = {{0}};
    open_pair(&f, _i);
    ck_assert_int_eq(link_listen(f.loop, link_listener_url(f.server.listener), &pki.listen, ignore,
                                 NULL, &second, &msg),
                     ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, "address already in use"));
    struct link_end again = {0};
    link_end_dial(&again, f.loop, &f.server);
    LOOP_WAIT(f.loop, again.ups == 1);
    link_close(again.link, 0);
    close_pair(&f);
}
END_TEST

START_TEST(test_ipc_socket_file)
{
    struct stat st;
    struct loop *loop = loop_wait_new();
    const char *path = url_of(IPC) + strlen("ipc://");
    /* What a process leaves that died: a bound socket file without a listener. */
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    snprintf(sun.sun_path, sizeof sun.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun, sizeof sun), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    close(fd);
    ck_assert_int_eq(stat(path, &st), 0);
    struct link_server s = {0};
    struct link_end client = {0};
    open_server(&s, loop, IPC);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
    link_end_dial(&client, loop, &s);
    LOOP_WAIT(loop, client.ups == 1 && s.count == 1);
    ck_assert_ptr_nonnull(strstr(link_peer(s.ends[0].link), "ipc pid "));
    link_close(client.link, 0);
    link_server_close(&s);
    ck_assert_int_ne(stat(path, &st), 0);
    loop_free(loop);
}
END_TEST

/* A file that is no socket is not ours to remove. */
START_TEST(test_ipc_does_not_remove_files)
{
    struct loop *loop = loop_wait_new();
    const char *path = url_of(IPC) + strlen("ipc://");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    struct link_listener *l = NULL;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(link_listen(loop, url_of(IPC), NULL, ignore, NULL, &l, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "no socket"));
    ck_assert_int_eq(unlink(path), 0);
    loop_free(loop);
}
END_TEST

START_TEST(test_bad_addresses)
{
    struct loop *loop = loop_wait_new();
    struct link *l = NULL;
    struct link_listener *s = NULL;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(link_dial(loop, "http://x:1", NULL, 1000, link_end_event, NULL, &l, &msg),
                     ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "http://x:1"));
    ck_assert_int_eq(link_listen(loop, "tcp://127.0.0.1", NULL, ignore, NULL, &s, &msg),
                     ERR_INVALID);
    ck_assert_int_eq(link_listen(loop, "ipc:///nowhere/at/all", NULL, ignore, NULL, &s, &msg),
                     ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, "no such file"));
    ck_assert_int_eq(link_listen(loop, "tcp://192.0.2.7:1", NULL, ignore, NULL, &s, &msg),
                     ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, "192.0.2.7"));
    link_close(NULL, 0);
    link_listener_close(NULL);
    loop_free(loop);
}
END_TEST

/* Is SIGTERM blocked in the thread whose /proc status this is? */
static bool blocks_sigterm(const char *tid)
{
    char path[64], line[128];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", tid);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "SigBlk:", 7) == 0)
            mask = strtoull(line + 7, NULL, 16);
    fclose(f);
    return (mask >> (SIGTERM - 1) & 1) != 0;
}

/* nng's threads must not be able to take the signals that the loop handles. */
START_TEST(test_signals_stay_with_the_main_thread)
{
    struct fixture f = {0};
    open_pair(&f, _i);
    int threads = 0, blocked = 0;
    DIR *dir = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (e->d_name[0] == '.' || strtol(e->d_name, NULL, 10) == getpid())
            continue;
        threads++;
        blocked += blocks_sigterm(e->d_name);
    }
    closedir(dir);
    ck_assert_int_gt(threads, 0);
    ck_assert_int_eq(blocked, threads);
    close_pair(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link");
    TCase *t = tcase_create("link");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, make_certificates, remove_certificates);
    tcase_add_loop_test(t, test_random_frames_both_ways, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_close_with_flush_delivers, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_flush_ends_when_the_peer_closes, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_close_without_flush_ends_the_peer, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_close_inside_callbacks, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_accept_that_refuses_or_ignores, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_thousand_connections_leave_nothing, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_dial_refused, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_dial_closed_while_under_way, 0, TRANSPORTS);
    tcase_add_loop_test(t, test_address_in_use, 0, TRANSPORTS);
    tcase_add_test(t, test_ipc_socket_file);
    tcase_add_test(t, test_ipc_does_not_remove_files);
    tcase_add_test(t, test_bad_addresses);
    tcase_add_loop_test(t, test_signals_stay_with_the_main_thread, 0, TRANSPORTS);
    suite_add_tcase(s, t);
    return check_main(s);
}
