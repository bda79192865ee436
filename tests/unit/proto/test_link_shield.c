/* SPDX-License-Identifier: MIT */
/* The agent's end as another program on a bare socket sees it, which shares nothing with the code
 * under test but the library. */
#include "proto/link_shield.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/libssl.h"
#include "common/mem.h"
#include "proto/link_nng.h"
#include "tests/lib/check_main.h"
#include "tests/lib/link_end.h"
#include "tests/lib/loop_wait.h"
#include "tests/lib/process.h"
#include "tests/lib/test_pki.h"

struct fixture {
    struct loop *loop;
    struct test_pki_pair tls;
    struct link_server server;
};

static void echo(struct link_end *e, const struct link_info *info)
{
    ck_assert_int_eq(link_send(e->link, info->frame, info->len), ERR_OK);
}

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){.server.model.on_frame = echo};
    link_block_signals();
    f->loop = loop_wait_new();
    test_pki_pair_open(&f->tls);
    f->server.listen = f->tls.listen;
    f->server.dial = f->tls.dial;
    link_server_open(&f->server, f->loop, "tls+tcp://127.0.0.1:0");
}

static void close_fixture(struct fixture *f)
{
    link_server_close(&f->server);
    loop_finish(f->loop);
    loop_free(f->loop);
    test_pki_pair_close(&f->tls);
}

/* --- the other program ------------------------------------------------------------------------ */

struct client {
    struct fixture *f;
    SSL_CTX *ctx;
    SSL *ssl;
    int fd;
};

static void client_open(struct client *c, struct fixture *f, int version)
{
    char name[160];
    *c = (struct client){.f = f, .ctx = SSL_CTX_new(TLS_client_method())};
    SSL_CTX_set_security_level(c->ctx, 0); /* or it would not offer TLS 1.1 */
    ck_assert_int_eq(SSL_CTX_set_min_proto_version(c->ctx, version), 1);
    ck_assert_int_eq(SSL_CTX_set_max_proto_version(c->ctx, version), 1);
    snprintf(name, sizeof name, "%s", test_pki_path(f->tls.pki, "controller.crt"));
    ck_assert_int_eq(SSL_CTX_use_certificate_file(c->ctx, name, SSL_FILETYPE_PEM), 1);
    snprintf(name, sizeof name, "%s", test_pki_path(f->tls.pki, "controller.key"));
    ck_assert_int_eq(SSL_CTX_use_PrivateKey_file(c->ctx, name, SSL_FILETYPE_PEM), 1);
    c->fd = raw_connect(link_listener_url(f->server.listener));
    ck_assert_int_eq(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
    c->ssl = SSL_new(c->ctx);
    ck_assert_int_eq(SSL_set_fd(c->ssl, c->fd), 1);
    SSL_set_connect_state(c->ssl);
}

static void client_close(struct client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    close(c->fd);
    ERR_clear_error();
}

/* Has the call succeeded, or will it never? */
static bool decided(const struct client *c, int rc)
{
    int e = SSL_get_error(c->ssl, rc);
    return e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE;
}

/* All of it, or false. */
static bool client_read(struct client *c, uint8_t *buf, size_t len)
{
    int n = 1;
    for (size_t have = 0; have < len; have += (size_t)n) {
        LOOP_WAIT(c->f->loop, decided(c, n = SSL_read(c->ssl, buf + have, (int)(len - have))));
        if (n <= 0)
            return false;
    }
    return true;
}

static bool client_write(struct client *c, const uint8_t *buf, size_t len)
{
    int n = 0;
    LOOP_WAIT(c->f->loop, decided(c, n = SSL_write(c->ssl, buf, (int)len)));
    return n == (int)len;
}

static bool client_echo(struct client *c)
{
    uint8_t back[6];
    return client_write(c, (const uint8_t *)"\0\0\0\002hi", 6) && client_read(c, back, 6) &&
           memcmp(back, "\0\0\0\002hi", 6) == 0;
}

static struct link_end *served(struct fixture *f)
{
    return &f->server.ends[f->server.count - 1];
}

/* --- versions and sessions -------------------------------------------------------------------- */

START_TEST(test_versions)
{
    static const struct {
        int version;
        bool good;
    } rows[] = {{TLS1_3_VERSION, true}, {TLS1_2_VERSION, true}, {TLS1_1_VERSION, false}};
    struct fixture f;
    struct client c;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        client_open(&c, &f, rows[i].version);
        ck_assert_msg(client_echo(&c) == rows[i].good, "row %zu", i);
        if (rows[i].good)
            ck_assert_int_eq(SSL_version(c.ssl), rows[i].version);
        client_close(&c);
        LOOP_WAIT(f.loop, served(&f)->downs == 1);
    }
    ck_assert_str_eq(served(&f)->reason,
                     "TLS handshake failed: the controller speaks only a TLS older than 1.2");
    close_fixture(&f);
}
END_TEST

/* A peer that can gets TLS 1.3. */
START_TEST(test_newest_version_is_used)
{
    struct fixture f;
    struct client c;
    open_fixture(&f);
    client_open(&c, &f, 0);
    ck_assert(client_echo(&c));
    ck_assert_int_eq(SSL_version(c.ssl), TLS1_3_VERSION);
    client_close(&c);
    close_fixture(&f);
}
END_TEST

/* Nothing is kept of a connection that could let somebody in later: no tickets, no second session.
 */
START_TEST(test_no_session_to_resume)
{
    static const int versions[] = {TLS1_3_VERSION, TLS1_2_VERSION};
    struct fixture f;
    struct client c;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        client_open(&c, &f, versions[i]);
        ck_assert(client_echo(&c));
        SSL_SESSION *s = SSL_get1_session(c.ssl);
        ck_assert_int_eq(SSL_SESSION_is_resumable(s), 0);
        ck_assert_int_eq(SSL_SESSION_has_ticket(s), 0);
        SSL_SESSION_free(s);
        client_close(&c);
    }
    close_fixture(&f);
}
END_TEST

/* --- ends ------------------------------------------------------------------------------------- */

/* A link that is closed says goodbye, so that a peer knows that nothing was cut off. */
START_TEST(test_goodbye_of_ours)
{
    struct fixture f;
    struct client c;
    uint8_t byte;
    open_fixture(&f);
    client_open(&c, &f, 0);
    ck_assert(client_echo(&c));
    link_close(served(&f)->link, 2000);
    served(&f)->link = NULL;
    ck_assert(!client_read(&c, &byte, 1));
    ck_assert_int_eq(SSL_get_shutdown(c.ssl), SSL_RECEIVED_SHUTDOWN);
    client_close(&c);
    close_fixture(&f);
}
END_TEST

/* A goodbye of the peer's is no failed handshake, even when it has said nothing else. */
START_TEST(test_goodbye_of_the_peer)
{
    struct fixture f;
    struct client c;
    int rc = 0;
    open_fixture(&f);
    client_open(&c, &f, 0);
    LOOP_WAIT(f.loop, decided(&c, rc = SSL_do_handshake(c.ssl)));
    ck_assert_int_eq(rc, 1);
    ck_assert_int_eq(SSL_shutdown(c.ssl), 0);
    LOOP_WAIT(f.loop, f.server.count == 1 && served(&f)->downs == 1);
    ck_assert_str_eq(served(&f)->reason, "closed by the peer");
    client_close(&c);
    close_fixture(&f);
}
END_TEST

/* A peer that says goodbye and leaves its socket open is gone all the same; while we flush, too. */
START_TEST(test_goodbye_ends_a_flush)
{
    struct fixture f;
    struct client c;
    uint8_t byte;
    open_fixture(&f);
    client_open(&c, &f, 0);
    ck_assert(client_echo(&c));
    ck_assert_int_eq(link_send(served(&f)->link, "bye", 3), ERR_OK);
    uint64_t start = clock_mono_ns();
    link_close(served(&f)->link, 10000);
    served(&f)->link = NULL;
    ck_assert_int_eq(SSL_shutdown(c.ssl), 0);
    loop_finish(f.loop);
    ck_assert_uint_lt(clock_mono_ns() - start, 5 * NS_PER_SEC);
    ck_assert(client_read(&c, (uint8_t[7]){0}, 7));
    ck_assert(!client_read(&c, &byte, 1));
    client_close(&c);
    close_fixture(&f);
}
END_TEST

/* Who is refused is told by an alert, whatever it was. */
START_TEST(test_refused_peer_gets_an_alert)
{
    struct fixture f;
    struct client c;
    int rc = 0;
    open_fixture(&f);
    client_open(&c, &f, TLS1_1_VERSION);
    LOOP_WAIT(f.loop, decided(&c, rc = SSL_do_handshake(c.ssl)));
    ck_assert_int_eq(rc, -1);
    ck_assert_int_eq(ERR_GET_REASON(ERR_peek_error()), SSL_R_TLSV1_ALERT_PROTOCOL_VERSION);
    client_close(&c);
    close_fixture(&f);
}
END_TEST

/* A health check that connects and leaves is no certificate's fault. */
START_TEST(test_probe_of_the_port)
{
    struct fixture f;
    open_fixture(&f);
    int fd = raw_connect(link_listener_url(f.server.listener));
    LOOP_WAIT(f.loop, f.server.count == 1);
    close(fd);
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_str_eq(served(&f)->reason, "closed by the peer");
    close_fixture(&f);
}
END_TEST

/* --- bytes ------------------------------------------------------------------------------------ */

#define BIG (300 * 1024)

/* Records of all sizes through a buffer that is smaller than a full record. */
START_TEST(test_big_frames)
{
    struct fixture f;
    struct client c;
    uint64_t rng = check_seed();
    uint8_t *out = mem_calloc(BIG, 1), *in = mem_calloc(BIG, 1);
    open_fixture(&f);
    client_open(&c, &f, 0);
    ck_assert(client_echo(&c));
    link_set_frame_max(served(&f)->link, BIG);
    for (int round = 0; round < 20; round++) {
        size_t len = 4 + 1 + (size_t)check_below(&rng, round < 10 ? 40000 : BIG - 4);
        for (size_t i = 4; i < len; i++)
            out[i] = (uint8_t)check_below(&rng, 256);
        for (unsigned i = 0; i < 4; i++)
            out[i] = (uint8_t)((len - 4) >> (8 * (3 - i)));
        ck_assert(client_write(&c, out, len));
        ck_assert(client_read(&c, in, len));
        ck_assert_int_eq(memcmp(in, out, len), 0);
    }
    client_close(&c);
    close_fixture(&f);
    mem_free(out);
    mem_free(in);
}
END_TEST

/* A peer may change its keys whenever it likes (TLS 1.3), between frames and within them. */
START_TEST(test_new_keys)
{
    struct fixture f;
    struct client c;
    open_fixture(&f);
    client_open(&c, &f, TLS1_3_VERSION);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(SSL_key_update(c.ssl, i % 2 == 0 ? SSL_KEY_UPDATE_REQUESTED
                                                          : SSL_KEY_UPDATE_NOT_REQUESTED) == 1,
                         i > 0); /* not before the handshake */
        ERR_clear_error();
        ck_assert(client_echo(&c));
    }
    client_close(&c);
    close_fixture(&f);
}
END_TEST

/* A controller's end without a socket: it has its first words to say, in two pieces. */
START_TEST(test_pieces)
{
    struct fixture f;
    struct frame_tx tx;
    struct iovec a, b;
    struct link_shield *s = NULL;
    open_fixture(&f);
    frame_tx_init(&tx);
    frame_tx_push(&tx, "hello", 5);
    ck_assert_int_eq(link_tls_dial(f.tls.controller, "agent-1", &s, NULL), ERR_OK);
    ck_assert_uint_eq(link_shield_vectors(s, &tx, &a, 8), 1);
    link_shield_sent(s, &tx, 10);
    ck_assert_uint_eq(link_shield_vectors(s, &tx, &b, 8), 1);
    ck_assert_ptr_eq((uint8_t *)b.iov_base, (uint8_t *)a.iov_base + 10);
    ck_assert_uint_eq(b.iov_len, a.iov_len - 10);
    link_shield_sent(s, &tx, b.iov_len);
    ck_assert_uint_eq(link_shield_vectors(s, &tx, &b, 8), 0);
    ck_assert_uint_eq(tx.count, 1); /* not before the handshake */
    link_shield_bye(s);
    ck_assert_uint_eq(link_shield_vectors(s, &tx, &b, 8), 0);
    ck_assert_int_eq(link_shield_end(s), ERR_OK);
    link_shield_free(s);
    frame_tx_fini(&tx);
    close_fixture(&f);
}
END_TEST

/* Answers that nobody reads end the connection instead of filling the memory. */
START_TEST(test_answers_have_an_end)
{
    struct link_keys *k = link_keys_new(false);
    static const struct {
        size_t waiting;
        int why;
    } rows[] = {{0, SSL_ERROR_WANT_READ}, {LINK_PIPE_MAX, SSL_ERROR_SYSCALL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct link_pipe p = {.out = mem_calloc(LINK_PIPE_MAX, 1),
                              .out_len = rows[i].waiting,
                              .out_cap = LINK_PIPE_MAX};
        SSL *ssl = link_keys_connect(k, &p);
        int rc = SSL_do_handshake(ssl);
        ck_assert_int_eq(rc, -1);
        ck_assert_int_eq(SSL_get_error(ssl, rc), rows[i].why);
        ck_assert_int_eq(p.out_len > 0, 1);
        ck_assert_uint_le(p.out_len, LINK_PIPE_MAX);
        SSL_free(ssl);
        ERR_clear_error();
        mem_free(p.out);
    }
    link_keys_drop(k);
}
END_TEST

/* --- revocation lists ------------------------------------------------------------------------- */

static const char *dial(struct fixture *f)
{
    static struct link_end end;
    end = (struct link_end){0};
    link_end_dial(&end, f->loop, &f->server);
    LOOP_WAIT(f->loop, end.ups == 1);
    ck_assert_int_eq(link_send(end.link, "hello", 5), ERR_OK);
    LOOP_WAIT(f->loop, end.frames == 1 || end.downs == 1);
    bool good = end.frames == 1;
    link_close(end.link, 0);
    return good ? NULL : end.reason;
}

static void reload(struct link_tls *t)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(link_tls_reload(t, &msg) == ERR_OK, "%s", msg.text);
}

/* A list that has run out since it was read lets nobody in, and the agent says why. */
START_TEST(test_list_runs_out)
{
    struct fixture f;
    open_fixture(&f);
    test_pki_crl(f.tls.pki, "crl.pem", NULL, 2);
    uint64_t end_ns = clock_wall_ns() + 3 * NS_PER_SEC; /* the second counts */
    reload(f.tls.agent);
    ck_assert_ptr_null(dial(&f));
    LOOP_WAIT(f.loop, clock_wall_ns() > end_ns);
    ck_assert_ptr_nonnull(dial(&f));
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_msg(strncmp(served(&f)->reason, "TLS: our own revocation list /", 30) == 0, "%s",
                  served(&f)->reason);
    test_pki_crl(f.tls.pki, "crl.pem", NULL, 3600);
    reload(f.tls.agent);
    ck_assert_ptr_null(dial(&f));
    close_fixture(&f);
}
END_TEST

static void join(const struct test_pki *p, const char *file, const struct test_pki *other)
{
    char *first = file_read(test_pki_path(p, file)),
         *second = file_read(test_pki_path(other, file));
    size_t len = strlen(first) + strlen(second) + 1;
    char *both = mem_calloc(len, 1);
    snprintf(both, len, "%s%s", first, second);
    test_pki_write(p, file, both);
    mem_free(first);
    mem_free(second);
    mem_free(both);
}

static struct link_tls *controller_of(const struct test_pki *p, const char *ca)
{
    struct link_tls *t = NULL;
    struct errmsg msg = {{0}};
    struct link_tls_files files = {.ca = ca,
                                   .cert = test_pki_path(p, "controller.crt"),
                                   .key = test_pki_path(p, "controller.key")};
    ck_assert_msg(link_tls_new(LINK_TLS_CONTROLLER, &files, &t, &msg) == ERR_OK, "%s", msg.text);
    return t;
}

/* Of two CAs that are trusted only one has a list at first: it speaks for its own certificates. */
START_TEST(test_lists_of_two_cas)
{
    struct fixture f;
    open_fixture(&f);
    struct test_pki *other = test_pki_named("another test CA");
    join(f.tls.pki, "ca.crt", other);
    reload(f.tls.agent);
    struct link_tls *t = controller_of(other, test_pki_path(f.tls.pki, "ca.crt"));
    f.server.dial.tls = t;
    ck_assert_ptr_null(dial(&f));
    test_pki_crl(other, "crl.pem", "controller", 3600);
    join(f.tls.pki, "crl.pem", other);
    reload(f.tls.agent);
    ck_assert_ptr_nonnull(dial(&f));
    LOOP_WAIT(f.loop, served(&f)->downs == 1);
    ck_assert_str_eq(served(&f)->reason,
                     "TLS handshake failed: the controller's certificate is revoked");
    f.server.dial.tls = f.tls.controller;
    ck_assert_ptr_null(dial(&f));
    link_tls_free(t);
    test_pki_remove(other);
    close_fixture(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link_shield");
    TCase *t = tcase_create("link_shield");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_versions);
    tcase_add_test(t, test_newest_version_is_used);
    tcase_add_test(t, test_no_session_to_resume);
    tcase_add_test(t, test_goodbye_of_ours);
    tcase_add_test(t, test_goodbye_of_the_peer);
    tcase_add_test(t, test_goodbye_ends_a_flush);
    tcase_add_test(t, test_refused_peer_gets_an_alert);
    tcase_add_test(t, test_probe_of_the_port);
    tcase_add_test(t, test_big_frames);
    tcase_add_test(t, test_new_keys);
    tcase_add_test(t, test_pieces);
    tcase_add_test(t, test_answers_have_an_end);
    tcase_add_test(t, test_list_runs_out);
    tcase_add_test(t, test_lists_of_two_cas);
    suite_add_tcase(s, t);
    return check_main(s);
}
