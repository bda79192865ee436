/* SPDX-License-Identifier: MIT */
#include "controller/cmd/tls_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/check_main.h"
#include "tests/lib/test_pki.h"

static char home[] = "/tmp/hammer-test-tls-XXXXXX";
static char folder[128];
static struct test_pki *pki;

/* A home whose .config/hammer/pki does not exist yet. */
static void set_up(void)
{
    link_block_signals();
    strcpy(home + strlen(home) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(home));
    setenv("HOME", home, 1);
    unsetenv("XDG_CONFIG_HOME");
    pki = test_pki_new();
    snprintf(folder, sizeof folder, "%s/.config", home);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    strcat(folder, "/hammer");
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    strcat(folder, "/pki");
}

static void tear_down(void)
{
    char cmd[64];
    snprintf(cmd, sizeof cmd, "%s/.config/hammer/pki", home);
    unlink(cmd); /* a link to the pki's folder */
    snprintf(cmd, sizeof cmd, "%s/.config/hammer", home);
    rmdir(cmd);
    snprintf(cmd, sizeof cmd, "%s/.config", home);
    rmdir(cmd);
    ck_assert_int_eq(rmdir(home), 0);
    test_pki_remove(pki);
}

static void fill_default_folder(void)
{
    char target[128];
    snprintf(target, sizeof target, "%s", test_pki_path(pki, ""));
    target[strlen(target) - 1] = '\0';
    ck_assert_int_eq(symlink(target, folder), 0);
}

static enum err open_options(const struct tls_options *o, bool needed, struct errmsg *msg)
{
    struct link_tls *t = NULL;
    enum err e = tls_options_open(o, needed, NULL, NULL, &t, msg);
    ck_assert((t != NULL) == (e == ERR_OK && needed));
    link_tls_free(t);
    return e;
}

static void check_says(const struct errmsg *msg, const char *part)
{
    ck_assert_msg(strstr(msg->text, part) != NULL, "\"%s\" is not in: %s", part, msg->text);
}

START_TEST(test_not_needed_touches_nothing)
{
    struct errmsg msg = {{0}};
    struct tls_options o = {.ca = (char[]){"/nowhere"}, .crl = (char[]){"/nowhere"}};
    ck_assert_int_eq(open_options(&o, false, &msg), ERR_OK);
    ck_assert_str_eq(msg.text, "");
}
END_TEST

START_TEST(test_default_folder)
{
    struct errmsg msg = {{0}};
    struct tls_options none = {0};
    ck_assert_int_eq(open_options(&none, true, &msg), ERR_NOT_FOUND);
    check_says(&msg, folder);
    check_says(&msg, "/ca.crt: no such file");
    check_says(&msg, "\n  hammer-ctl pki init\n  hammer-ctl pki controller $(hostname)\n"
                     "  hammer-ctl pki agent NAME");
    fill_default_folder();
    ck_assert_msg(open_options(&none, true, &msg) == ERR_OK, "%s", msg.text);
    char config[64];
    snprintf(config, sizeof config, "%s/.config", home);
    setenv("HOME", "/nowhere", 1);
    setenv("XDG_CONFIG_HOME", config, 1);
    ck_assert_msg(open_options(&none, true, &msg) == ERR_OK, "%s", msg.text);
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
    ck_assert_int_eq(open_options(&none, true, &msg), ERR_NOT_FOUND);
    check_says(&msg, "/nowhere/hammer/pki/ca.crt");
    unsetenv("HOME");
    unsetenv("XDG_CONFIG_HOME");
    ck_assert_int_eq(open_options(&none, true, &msg), ERR_INVALID);
    check_says(&msg, "--tls-ca FILE");
}
END_TEST

/* The list of the default folder is used when it is there, a named one must be there. */
START_TEST(test_revocation_list)
{
    struct errmsg msg = {{0}};
    struct tls_options none = {0}, named = {.crl = (char[]){"/nowhere/crl.pem"}};
    fill_default_folder();
    ck_assert_int_eq(open_options(&none, true, &msg), ERR_OK);
    ck_assert_int_eq(open_options(&named, true, &msg), ERR_NOT_FOUND);
    ck_assert_str_eq(msg.text, "--tls-crl /nowhere/crl.pem: no such file");
    test_pki_crl(pki, "crl.pem", "controller", 3600);
    ck_assert_int_eq(open_options(&none, true, &msg), ERR_INVALID);
    check_says(&msg, "/controller.crt: the certificate is revoked by ");
}
END_TEST

/* Who names a file that is not there needs no lecture about making certificates. */
START_TEST(test_named_files)
{
    struct errmsg msg = {{0}};
    struct tls_options o = {.ca = (char *)(uintptr_t)test_pki_path(pki, "ca.crt"),
                            .cert = (char *)(uintptr_t)test_pki_path(pki, "controller.crt"),
                            .key = (char *)(uintptr_t)test_pki_path(pki, "controller.key")};
    ck_assert_msg(open_options(&o, true, &msg) == ERR_OK, "%s", msg.text);
    o.key = (char[]){"/nowhere.key"};
    ck_assert_int_eq(open_options(&o, true, &msg), ERR_NOT_FOUND);
    ck_assert_str_eq(msg.text, "/nowhere.key: no such file");
    o.key = (char *)(uintptr_t)test_pki_path(pki, "agent.key");
    ck_assert_int_eq(open_options(&o, true, &msg), ERR_INVALID);
    check_says(&msg, "/agent.key: not the key of the certificate in ");
}
END_TEST

struct notes {
    int n;
    struct errmsg last;
};

static void on_note(void *arg, const char *text)
{
    struct notes *notes = arg;
    notes->n++;
    errmsg_set(&notes->last, ERR_OK, "%s", text);
}

/* A certificate that ends soon is named in time; one that does not is not. */
START_TEST(test_end_is_near)
{
    static const long days[] = {13, 15};
    for (size_t i = 0; i < 2; i++) {
        struct notes notes = {0};
        struct link_tls *t;
        struct errmsg msg = {{0}};
        struct test_pki_cert c = {"soon", "ann", TEST_PKI_CLIENT, -60, days[i] * 86400 + 60};
        test_pki_issue(pki, &c);
        struct tls_options o = {.ca = (char *)(uintptr_t)test_pki_path(pki, "ca.crt"),
                                .cert = (char *)(uintptr_t)test_pki_path(pki, "soon.crt"),
                                .key = (char *)(uintptr_t)test_pki_path(pki, "soon.key")};
        ck_assert_msg(tls_options_open(&o, true, on_note, &notes, &t, &msg) == ERR_OK, "%s",
                      msg.text);
        link_tls_free(t);
        ck_assert_int_eq(notes.n, i == 0 ? 2 : 1); /* the tests' CA lives for an hour */
        check_says(&notes.last, i == 0 ? "/soon.crt: the certificate of ann expires in 13 days ("
                                       : "/ca.crt: the certificate of ");
    }
}
END_TEST

struct holder {
    int other;
    struct tls_options tls;
};

START_TEST(test_rows)
{
    static const struct option_row rows[] = {TLS_OPTION_ROWS(struct holder, tls)};
    const size_t n = sizeof rows / sizeof rows[0];
    struct holder h = {0};
    struct errmsg msg = {{0}};
    char *argv[] = {"x", "--tls-ca", "a", "--tls-cert=b", "--tls-key", "c", "--tls-crl", "d", NULL};
    const char *rest[1];
    size_t n_rest;
    ck_assert_int_eq(option_parse(rows, n, 8, argv, &h, rest, 1, &n_rest, &msg), ERR_OK);
    ck_assert_str_eq(h.tls.ca, "a");
    ck_assert_str_eq(h.tls.cert, "b");
    ck_assert_str_eq(h.tls.key, "c");
    ck_assert_str_eq(h.tls.crl, "d");
    option_clear(rows, n, &h);
    ck_assert_ptr_null(h.tls.key);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tls_options");
    TCase *t = tcase_create("tls_options");
    tcase_set_timeout(t, 30);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_not_needed_touches_nothing);
    tcase_add_test(t, test_default_folder);
    tcase_add_test(t, test_revocation_list);
    tcase_add_test(t, test_named_files);
    tcase_add_test(t, test_end_is_near);
    tcase_add_test(t, test_rows);
    suite_add_tcase(s, t);
    return check_main(s);
}
