/* SPDX-License-Identifier: MIT */
/* Who is let in and who is not, on both ends, each refusal beside a peer that is accepted by the
 * same code in the same test. */
#include "proto/link_tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/check_main.h"
#include "tests/lib/link_end.h"
#include "tests/lib/loop_wait.h"
#include "tests/lib/raw_tls.h"
#include "tests/lib/test_pki.h"

struct fixture {
    struct loop *loop;
    struct test_pki_pair tls;
    struct test_pki *pki; /* of tls */
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
    f->pki = f->tls.pki;
    f->server.listen = f->tls.listen;
    link_server_open(&f->server, f->loop, "tls+tcp://127.0.0.1:0");
}

static void close_fixture(struct fixture *f)
{
    link_server_close(&f->server);
    loop_finish(f->loop);
    loop_free(f->loop);
    test_pki_pair_close(&f->tls);
}

/* Our dialler with the controller's files against the fixture's listener: NULL = a frame went there
 * and back, else why not. */
static const char *visit(struct fixture *f, struct link_tls *tls, const char *name)
{
    static struct link_end end;
    struct errmsg msg = {{0}};
    struct link_options o = {.tls = tls, .server_name = name};
    end = (struct link_end){0};
    ck_assert_msg(link_dial(f->loop, link_listener_url(f->server.listener), &o, 10000,
                            link_end_event, &end, &end.link, &msg) == ERR_OK,
                  "%s", msg.text);
    LOOP_WAIT(f->loop, end.ups == 1);
    ck_assert_int_eq(link_send(end.link, "hello", 5), ERR_OK);
    LOOP_WAIT(f->loop, end.frames == 1 || end.downs == 1);
    bool good = end.frames == 1;
    link_close(end.link, 0);
    f->server.count = f->server.count < LINK_ENDS / 2 ? f->server.count : 0;
    return good ? NULL : end.reason;
}

static const char *visit_good(struct fixture *f)
{
    return visit(f, f->tls.controller, "agent-1");
}

/* --- what the agent's end refuses ------------------------------------------------------------- */

static struct link_end *last_served(struct fixture *f)
{
    return &f->server.ends[f->server.count - 1];
}

static void check_said(const char *reason, const char *want)
{
    ck_assert_ptr_nonnull(reason);
    ck_assert_msg(strncmp(reason, "TLS handshake failed: ", 22) == 0, "%s", reason);
    ck_assert_msg(strcmp(reason + 22, want) == 0, "not \"%s\": %s", want, reason);
}

static void check_agent_refuses(struct fixture *f, const struct raw_tls *r, const char *want)
{
    const char *url = link_listener_url(f->server.listener);
    struct raw_tls good = {.pki = f->pki, .cert = "controller"};
    ck_assert(raw_tls_dial(&good, f->loop, url));
    ck_assert_int_eq(last_served(f)->frames, 1);
    ck_assert(!raw_tls_dial(r, f->loop, url));
    LOOP_WAIT(f->loop, last_served(f)->downs == 1);
    ck_assert_int_eq(last_served(f)->frames, 0);
    check_said(last_served(f)->reason, want);
    ck_assert(raw_tls_dial(&good, f->loop, url));
}

/* What an agent must not accept from a controller, and what it says then. */
static const struct {
    struct raw_tls peer;
    const char *said;
} bad_controllers[] = {
    {{.cert = NULL}, "the controller shows no certificate"},
    {{.cert = "rogue"}, "the controller's certificate is of another CA"},
    {{.cert = "expired"}, "the controller's certificate has expired"},
    {{.cert = "early"}, "the controller's certificate is not valid yet; is a clock wrong?"},
    {{.cert = "revoked"}, "the controller's certificate is revoked"},
    {{.cert = "agent"}, "the controller's certificate is not made for a controller"},
    {{.cert = "any"}, "the controller's certificate is not made for a controller"},
    {{.scheme = "tcp"}, "the controller speaks no TLS"},
};

static void make_bad(struct fixture *f, enum test_pki_usage usage)
{
    struct test_pki *rogue = test_pki_rogue(f->pki);
    const char *name = usage == TEST_PKI_SERVER ? "agent-1" : "ctl-1";
    test_pki_issue(rogue, &(struct test_pki_cert){"rogue", name, usage, 0, 0});
    test_pki_free(rogue);
    test_pki_issue(f->pki, &(struct test_pki_cert){"expired", name, usage, -3600, -60});
    test_pki_issue(f->pki, &(struct test_pki_cert){"early", name, usage, 600, 3600});
    test_pki_issue(f->pki, &(struct test_pki_cert){"revoked", name, usage, 0, 0});
    test_pki_issue(f->pki, &(struct test_pki_cert){"other", "agent-2", usage, 0, 0});
    test_pki_issue(f->pki, &(struct test_pki_cert){"any", name, TEST_PKI_NONE, 0, 0});
    test_pki_crl(f->pki, "crl.pem", "revoked", 3600);
}

START_TEST(test_agent_refuses)
{
    struct fixture f;
    struct errmsg msg = {{0}};
    open_fixture(&f);
    make_bad(&f, TEST_PKI_CLIENT);
    ck_assert_msg(link_tls_reload(f.tls.agent, &msg) == ERR_OK, "%s", msg.text);
    struct raw_tls r = bad_controllers[_i].peer;
    r.pki = f.pki;
    check_agent_refuses(&f, &r, bad_controllers[_i].said);
    close_fixture(&f);
}
END_TEST

/* --- what the controller's end refuses -------------------------------------------------------- */

static const struct {
    struct raw_tls peer;
    const char *said;
} bad_agents[] = {
    {{.cert = "rogue"}, "the agent's certificate is of another CA"},
    {{.cert = "expired"}, "the agent's certificate has expired"},
    {{.cert = "early"}, "the agent's certificate is not valid yet; is a clock wrong?"},
    {{.cert = "other"}, "the agent's certificate is not for the name \"agent-1\""},
    {{.cert = "revoked"}, "the agent's certificate is revoked"},
    {{.cert = "controller"}, "the agent's certificate is not made for an agent"},
    {{.cert = "any"}, "the agent's certificate is not made for an agent"},
    {{.scheme = "tcp"}, "the agent speaks no TLS"},
};

/* Our dialler against a raw server: NULL = frames went there and back, else why not. */
static const char *visit_raw(struct fixture *f, const struct raw_tls *r)
{
    static struct link_end end;
    struct errmsg msg = {{0}};
    struct link_options o = {.tls = f->tls.controller, .server_name = "agent-1"};
    struct raw_tls_server *s = raw_tls_listen(r);
    end = (struct link_end){0};
    ck_assert_msg(link_dial(f->loop, raw_tls_url(s), &o, 10000, link_end_event, &end, &end.link,
                            &msg) == ERR_OK,
                  "%s", msg.text);
    LOOP_WAIT(f->loop, end.ups == 1);
    ck_assert_int_eq(link_send(end.link, "hello", 5), ERR_OK);
    LOOP_WAIT(f->loop, (raw_tls_turn(s), end.frames == 1 || end.downs == 1));
    bool good = end.frames == 1;
    link_close(end.link, 0);
    raw_tls_close(s);
    return good ? NULL : end.reason;
}

START_TEST(test_controller_refuses)
{
    struct fixture f;
    struct errmsg msg = {{0}};
    open_fixture(&f);
    make_bad(&f, TEST_PKI_SERVER);
    ck_assert_msg(link_tls_reload(f.tls.controller, &msg) == ERR_OK, "%s", msg.text);
    struct raw_tls good = {.pki = f.pki, .cert = "agent"}, r = bad_agents[_i].peer;
    r.pki = f.pki;
    ck_assert_ptr_null(visit_raw(&f, &good));
    check_said(visit_raw(&f, &r), bad_agents[_i].said);
    ck_assert_ptr_null(visit_raw(&f, &good));
    close_fixture(&f);
}
END_TEST

START_TEST(test_good)
{
    struct fixture f;
    open_fixture(&f);
    const char *reason = visit_good(&f);
    ck_assert_msg(reason == NULL, "%s", reason);
    ck_assert_int_eq(strncmp(link_listener_url(f.server.listener), "tls+tcp://127.0.0.1:", 20), 0);
    close_fixture(&f);
}
END_TEST

/* The controller is revoked and does not know it. Its own end says so, or, when the verdict was
 * lost on the way (link_tls_why.c), that this is what it looks like. */
START_TEST(test_refused_dialler_is_told)
{
    struct fixture f;
    struct errmsg msg = {{0}};
    open_fixture(&f);
    ck_assert_ptr_null(visit_good(&f));
    test_pki_crl(f.pki, "crl.pem", "controller", 3600);
    ck_assert_msg(link_tls_reload(f.tls.agent, &msg) == ERR_OK, "%s", msg.text);
    const char *reason = visit_good(&f);
    ck_assert_ptr_nonnull(reason);
    ck_assert_msg(strstr(reason, "the agent refuses ours: it is revoked") != NULL ||
                      strstr(reason, "the agent's certificate is good, but it hung up: either it "
                                     "refuses ours (other CA, expired, revoked;") != NULL,
                  "%s", reason);
    close_fixture(&f);
}
END_TEST

/* --- reloading -------------------------------------------------------------------------------- */

static void reload(struct link_tls *t)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(link_tls_reload(t, &msg) == ERR_OK, "%s", msg.text);
}

/* The very next connection is judged by the new list, although its accept was already under way;
 * and nobody else is turned away by the change. */
START_TEST(test_reload_of_a_listener)
{
    struct fixture f;
    open_fixture(&f);
    test_pki_issue(f.pki, &(struct test_pki_cert){"second", "ctl-2", TEST_PKI_CLIENT, 0, 0});
    struct link_tls *second = test_pki_tls(f.pki, LINK_TLS_CONTROLLER, "second");
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(visit_good(&f));
        test_pki_crl(f.pki, "crl.pem", "controller", 3600);
        reload(f.tls.agent);
        ck_assert_ptr_nonnull(visit_good(&f));
        ck_assert_ptr_null(visit(&f, second, "agent-1"));
        test_pki_crl(f.pki, "crl.pem", NULL, 3600);
        reload(f.tls.agent);
        reload(f.tls.agent);
        ck_assert_ptr_null(visit(&f, second, "agent-1"));
    }
    link_tls_free(second);
    close_fixture(&f);
}
END_TEST

static void accept_nothing(void *arg, struct link *l)
{
    (void)arg, (void)l;
}

static void shut(struct link_end *e)
{
    link_close(e->link, 0);
    e->link = NULL;
}

/* A reload in the moment a connection comes in: it is either served by the new certificates or
 * closed, and the listener goes on. */
START_TEST(test_reload_while_peers_come)
{
    struct fixture f;
    uint64_t rng = check_seed();
    open_fixture(&f);
    f.server.dial = f.tls.dial;
    for (int i = 0; i < 40; i++) {
        struct link_end end = {0};
        link_end_dial(&end, f.loop, &f.server);
        for (uint64_t turns = check_below(&rng, 4); turns > 0; turns--)
            loop_turn(f.loop, 0);
        reload(f.tls.agent);
        LOOP_WAIT(f.loop, end.ups + end.downs > 0);
        shut(&end);
        f.server.count = f.server.count < LINK_ENDS / 2 ? f.server.count : 0;
    }
    ck_assert_ptr_null(visit_good(&f));
    close_fixture(&f);
}
END_TEST

START_TEST(test_reload_with_a_broken_file_keeps_the_old)
{
    static const char *const files[] = {"ca.crt", "agent.crt", "agent.key", "crl.pem"};
    struct fixture f;
    struct errmsg msg = {{0}};
    char kept[128];
    open_fixture(&f);
    const char *path = test_pki_path(f.pki, files[_i]);
    snprintf(kept, sizeof kept, "%s.kept", path);
    ck_assert_int_eq(rename(path, kept), 0);
    ck_assert_int_eq(link_tls_reload(f.tls.agent, &msg), ERR_NOT_FOUND);
    ck_assert_msg(strstr(msg.text, path) != NULL, "%s", msg.text);
    test_pki_write(f.pki, files[_i], "-----BEGIN NOTHING-----\n");
    ck_assert_int_eq(link_tls_reload(f.tls.agent, &msg), ERR_INVALID);
    ck_assert_msg(strstr(msg.text, path) != NULL, "%s", msg.text);
    ck_assert_ptr_null(visit_good(&f));
    ck_assert_int_eq(rename(kept, path), 0);
    reload(f.tls.agent);
    ck_assert_ptr_null(visit_good(&f));
    close_fixture(&f);
}
END_TEST

/* --- our own files ---------------------------------------------------------------------------- */

static enum err load(const struct test_pki *p, enum link_tls_role role, const char *ca,
                     const char *cert, const char *key, const char *crl, struct errmsg *msg)
{
    struct link_tls *t = NULL;
    struct link_tls_files files = {.ca = test_pki_path(p, ca),
                                   .cert = test_pki_path(p, cert),
                                   .key = test_pki_path(p, key),
                                   .crl = crl != NULL ? test_pki_path(p, crl) : NULL};
    enum err e = link_tls_new(role, &files, &t, msg);
    ck_assert((e == ERR_OK) == (t != NULL));
    link_tls_free(t);
    return e;
}

static const struct {
    enum link_tls_role role;
    const char *ca, *cert, *key, *crl;
    enum err e;
    const char *text; /* of the message, NULL = accepted */
} own[] = {
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", "crl.pem", ERR_OK, NULL},
    {LINK_TLS_CONTROLLER, "ca.crt", "controller.crt", "controller.key", NULL, ERR_OK, NULL},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", "nowhere.pem", ERR_OK, NULL},
    {LINK_TLS_AGENT, "no.crt", "agent.crt", "agent.key", NULL, ERR_NOT_FOUND,
     "/no.crt: no such file"},
    {LINK_TLS_AGENT, "ca.crt", "no.crt", "agent.key", NULL, ERR_NOT_FOUND, "/no.crt: no such file"},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "no.key", NULL, ERR_NOT_FOUND, "/no.key: no such file"},
    {LINK_TLS_AGENT, "ca.crt", "", "agent.key", NULL, ERR_INVALID, "/: not a regular file"},
    {LINK_TLS_AGENT, "agent.key", "agent.crt", "agent.key", NULL, ERR_INVALID,
     "/agent.key: no certificate in PEM"},
    {LINK_TLS_AGENT, "ca.crt", "agent.key", "agent.key", NULL, ERR_INVALID,
     "/agent.key: no certificate in PEM"},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "text", NULL, ERR_INVALID,
     "/text: no private key in PEM"},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", "ca.crt", ERR_INVALID,
     "/ca.crt: no revocation list in PEM"},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "controller.key", NULL, ERR_INVALID,
     "/controller.key: not the key of the certificate in "},
    {LINK_TLS_AGENT, "ca.crt", "controller.crt", "controller.key", NULL, ERR_INVALID,
     "/controller.crt: the certificate is a controller's (clientAuth); an agent needs one with the "
     "extended key usage serverAuth"},
    {LINK_TLS_CONTROLLER, "ca.crt", "agent.crt", "agent.key", NULL, ERR_INVALID,
     "/agent.crt: the certificate is an agent's (serverAuth); a controller needs one with the "
     "extended key usage clientAuth"},
    {LINK_TLS_AGENT, "ca.crt", "any.crt", "any.key", NULL, ERR_INVALID,
     "/any.crt: the certificate is without an extended key usage"},
    {LINK_TLS_AGENT, "ca.crt", "expired.crt", "expired.key", NULL, ERR_INVALID,
     "/expired.crt: expired on 20"},
    {LINK_TLS_AGENT, "ca.crt", "early.crt", "early.key", NULL, ERR_INVALID,
     "/early.crt: not valid before 20"},
    {LINK_TLS_AGENT, "ca.crt", "rogue.crt", "rogue.key", NULL, ERR_INVALID,
     "/rogue.crt: not signed by the CA in /"},
    {LINK_TLS_AGENT, "ca.crt", "revoked.crt", "revoked.key", "crl.pem", ERR_INVALID,
     "/revoked.crt: the certificate is revoked by /"},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", "old.pem", ERR_INVALID,
     "/old.pem: expired on 20"},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", "rogue.pem", ERR_INVALID,
     "/rogue.pem: not signed by the CA in /"},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "locked.key", NULL, ERR_INVALID,
     "/locked.key: the key is encrypted"},
    {LINK_TLS_AGENT, "ca.crt", "agent.crt", "ed.key", NULL, ERR_INVALID,
     "/ed.key: a key of type ED25519; accepted are EC"},
};

START_TEST(test_own_files)
{
    struct fixture f;
    struct errmsg msg = {{0}};
    open_fixture(&f);
    make_bad(&f, TEST_PKI_SERVER);
    struct test_pki *rogue = test_pki_rogue(f.pki);
    test_pki_crl(rogue, "rogue.pem", NULL, 3600);
    test_pki_free(rogue);
    test_pki_crl(f.pki, "old.pem", NULL, -60);
    test_pki_write(f.pki, "text", "not a key\n");
    test_pki_key(f.pki, "locked.key", "EC", "secret");
    test_pki_key(f.pki, "ed.key", "ED25519", NULL);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        enum err e = load(f.pki, own[i].role, own[i].ca, own[i].cert, own[i].key, own[i].crl, &msg);
        ck_assert_msg(e == own[i].e, "row %zu: %s: %s", i, err_str(e), msg.text);
        ck_assert_msg(own[i].text == NULL || strstr(msg.text, own[i].text) != NULL, "row %zu: %s",
                      i, msg.text);
    }
    close_fixture(&f);
}
END_TEST

/* Any bit for others is refused, and the sentence says what to type. */
START_TEST(test_key_that_others_can_read)
{
    struct fixture f;
    open_fixture(&f);
    char key[128];
    snprintf(key, sizeof key, "%s", test_pki_path(f.pki, "agent.key"));
    for (mode_t mode = 0; mode <= 0777; mode++) {
        struct errmsg msg = {{0}};
        char want[256];
        if ((mode & 0400) == 0)
            continue;
        ck_assert_int_eq(chmod(key, mode), 0);
        enum err e = load(f.pki, LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", NULL, &msg);
        ck_assert_msg(e == ((mode & 0077) == 0 ? ERR_OK : ERR_INVALID), "%04o: %s", mode, msg.text);
        snprintf(want, sizeof want, "%s: a private key with mode %04o: ", key, (unsigned)mode);
        ck_assert(e == ERR_OK || strncmp(msg.text, want, strlen(want)) == 0);
        snprintf(want, sizeof want, "chmod 600 %s", key);
        ck_assert(e == ERR_OK || strstr(msg.text, want) != NULL);
    }
    close_fixture(&f);
}
END_TEST

/* Whoever may write one of them decides who commands the load. */
START_TEST(test_files_that_others_can_write)
{
    static const char *const files[] = {"ca.crt", "agent.crt", "crl.pem"};
    static const mode_t modes[] = {0644, 0666, 0664, 0646, 0600};
    struct fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        for (size_t k = 0; k < sizeof modes / sizeof modes[0]; k++) {
            struct errmsg msg = {{0}};
            ck_assert_int_eq(chmod(test_pki_path(f.pki, files[i]), modes[k]), 0);
            enum err e =
                load(f.pki, LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", "crl.pem", &msg);
            ck_assert_msg(e == ((modes[k] & 0022) == 0 ? ERR_OK : ERR_INVALID), "%s %04o: %s",
                          files[i], (unsigned)modes[k], msg.text);
            ck_assert(e == ERR_OK || strstr(msg.text, "chmod go-w ") != NULL);
        }
    }
    close_fixture(&f);
}
END_TEST

/* systemd's credentials are 0440 to the eye: the group bits are the mask of an ACL. */
START_TEST(test_key_in_the_credentials_directory)
{
    struct fixture f;
    struct errmsg msg = {{0}};
    open_fixture(&f);
    char folder[128];
    snprintf(folder, sizeof folder, "%s", test_pki_path(f.pki, ""));
    folder[strlen(folder) - 1] = '\0';
    setenv("CREDENTIALS_DIRECTORY", folder, 1);
    ck_assert_int_eq(chmod(test_pki_path(f.pki, "agent.key"), 0440), 0);
    ck_assert_int_eq(load(f.pki, LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", NULL, &msg),
                     ERR_OK);
    ck_assert_int_eq(chmod(test_pki_path(f.pki, "agent.key"), 0444), 0);
    ck_assert_int_eq(load(f.pki, LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", NULL, &msg),
                     ERR_INVALID);
    ck_assert_int_eq(chmod(test_pki_path(f.pki, "agent.key"), 0440), 0);
    setenv("CREDENTIALS_DIRECTORY", "/run", 1);
    ck_assert_int_eq(load(f.pki, LINK_TLS_AGENT, "ca.crt", "agent.crt", "agent.key", NULL, &msg),
                     ERR_INVALID);
    unsetenv("CREDENTIALS_DIRECTORY");
    close_fixture(&f);
}
END_TEST

/* What was fine when it was read and is not any more is named exactly. */
START_TEST(test_own_certificate_runs_out)
{
    struct fixture f;
    struct errmsg why = {{0}};
    open_fixture(&f);
    test_pki_issue(f.pki, &(struct test_pki_cert){"short", "ctl-1", TEST_PKI_CLIENT, -60, 1});
    struct link_tls *t = test_pki_tls(f.pki, LINK_TLS_CONTROLLER, "short");
    uint64_t end_ns = clock_wall_ns() + 3 * NS_PER_SEC; /* the second counts */
    link_tls_causes(t, NULL, "agent-1", &why);
    ck_assert_ptr_nonnull(strstr(why.text, "the agent \"agent-1\" hung up: either "));
    LOOP_WAIT(f.loop, clock_wall_ns() > end_ns);
    const char *reason = visit(&f, t, "agent-1");
    ck_assert_ptr_nonnull(reason);
    ck_assert_msg(strncmp(reason, "TLS: our own certificate /", 26) == 0, "%s", reason);
    ck_assert_msg(strstr(reason, "/short.crt expired on 20") != NULL, "%s", reason);
    link_tls_free(t);
    close_fixture(&f);
}
END_TEST

/* --- links that do not fit ------------------------------------------------------------------- */

START_TEST(test_missing_options)
{
    struct fixture f;
    struct errmsg msg = {{0}};
    struct link *l = NULL;
    struct link_listener *s = NULL;
    open_fixture(&f);
    struct link_options none = {0}, no_name = {.tls = f.tls.controller},
                        swapped = {.tls = f.tls.agent, .server_name = "agent-1"},
                        client = {.tls = f.tls.controller};
    const char *url = link_listener_url(f.server.listener);
    ck_assert_int_eq(link_dial(f.loop, url, &none, 1000, link_end_event, NULL, &l, &msg),
                     ERR_INVALID);
    ck_assert_msg(strstr(msg.text, "tls+tcp needs a CA, a certificate and a key") != NULL, "%s",
                  msg.text);
    ck_assert_int_eq(link_dial(f.loop, url, NULL, 1000, link_end_event, NULL, &l, &msg),
                     ERR_INVALID);
    ck_assert_int_eq(link_dial(f.loop, url, &no_name, 1000, link_end_event, NULL, &l, &msg),
                     ERR_INVALID);
    ck_assert_msg(strstr(msg.text, "name") != NULL, "%s", msg.text);
    ck_assert_int_eq(link_dial(f.loop, url, &swapped, 1000, link_end_event, NULL, &l, &msg),
                     ERR_INVALID);
    ck_assert_msg(strstr(msg.text, "agent.crt") != NULL, "%s", msg.text);
    ck_assert_int_eq(
        link_listen(f.loop, "tls+tcp://127.0.0.1:0", NULL, accept_nothing, NULL, &s, &msg),
        ERR_INVALID);
    ck_assert_msg(strstr(msg.text, "tls+tcp needs a CA, a certificate and a key") != NULL, "%s",
                  msg.text);
    ck_assert_int_eq(
        link_listen(f.loop, "tls+tcp://127.0.0.1:0", &client, accept_nothing, NULL, &s, &msg),
        ERR_INVALID);
    ck_assert_msg(strstr(msg.text, "controller.crt") != NULL, "%s", msg.text);
    ck_assert_ptr_null(visit_good(&f));
    close_fixture(&f);
}
END_TEST

/* TLS dialled at a plain agent, and plain at a TLS agent: both sides are told. */
START_TEST(test_one_end_without_tls)
{
    struct fixture f;
    struct link_server plain = {0};
    struct link_end end = {0};
    char url[96];
    open_fixture(&f);
    link_server_open(&plain, f.loop, "tcp://127.0.0.1:0");
    snprintf(url, sizeof url, "tls+%s", link_listener_url(plain.listener));
    ck_assert_int_eq(
        link_dial(f.loop, url, &f.tls.dial, 5000, link_end_event, &end, &end.link, NULL), ERR_OK);
    LOOP_WAIT(f.loop, end.downs == 1 && plain.ends[0].downs == 1);
    ck_assert_msg(strstr(end.reason, "or it speaks no TLS") != NULL, "%s", end.reason);
    ck_assert_str_eq(plain.ends[0].reason, "it speaks TLS and this link does not (tls+tcp://)");
    link_server_close(&plain);

    end = (struct link_end){0};
    snprintf(url, sizeof url, "%s", link_listener_url(f.server.listener) + strlen("tls+"));
    ck_assert_int_eq(link_dial(f.loop, url, NULL, 5000, link_end_event, &end, &end.link, NULL),
                     ERR_OK);
    LOOP_WAIT(f.loop, end.ups == 1);
    ck_assert_int_eq(link_send(end.link, "hello", 5), ERR_OK);
    LOOP_WAIT(f.loop, end.downs == 1 && last_served(&f)->downs == 1);
    check_said(last_served(&f)->reason, "the controller speaks no TLS");
    close_fixture(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link_tls");
    TCase *t = tcase_create("link_tls");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_good);
    tcase_add_loop_test(t, test_agent_refuses, 0,
                        (int)(sizeof bad_controllers / sizeof bad_controllers[0]));
    tcase_add_loop_test(t, test_controller_refuses, 0,
                        (int)(sizeof bad_agents / sizeof bad_agents[0]));
    tcase_add_test(t, test_refused_dialler_is_told);
    tcase_add_test(t, test_reload_of_a_listener);
    tcase_add_test(t, test_reload_while_peers_come);
    tcase_add_loop_test(t, test_reload_with_a_broken_file_keeps_the_old, 0, 4);
    tcase_add_test(t, test_own_files);
    tcase_add_test(t, test_key_that_others_can_read);
    tcase_add_test(t, test_files_that_others_can_write);
    tcase_add_test(t, test_key_in_the_credentials_directory);
    tcase_add_test(t, test_own_certificate_runs_out);
    tcase_add_test(t, test_missing_options);
    tcase_add_test(t, test_one_end_without_tls);
    suite_add_tcase(s, t);
    return check_main(s);
}
