/* SPDX-License-Identifier: MIT */
#include "proto/plan_tls.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/test_pem.h"
#include "tests/lib/test_pki.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

/* A plan as the flags make it, before plan_check. */
static enum err parse(struct plan *p, const char *url, char *const *words, struct errmsg *msg)
{
    size_t n_rows, n_rest;
    const struct option_row *rows = plan_options(&n_rows);
    int argc = 1;
    while (words[argc] != NULL)
        argc++;
    plan_defaults(p);
    p->url = mem_strdup(url);
    p->requests = 1;
    return option_parse(rows, n_rows, argc, words, p, NULL, 0, &n_rest, msg);
}

static void expect(const char *url, char *const *words, const char *says)
{
    struct plan p;
    struct errmsg msg = {{0}};
    enum err e = parse(&p, url, words, &msg);
    if (e == ERR_OK)
        e = plan_check(&p, &msg);
    if (says == NULL)
        ck_assert_msg(e == ERR_OK, "%s", msg.text);
    else
        ck_assert_msg(e != ERR_OK && strstr(msg.text, says) != NULL, "'%s' does not say '%s'",
                      msg.text, says);
    plan_clear(&p);
}

#define WORDS(...)                                                                                 \
    (char *[])                                                                                     \
    {                                                                                              \
        "run", __VA_ARGS__, NULL                                                                   \
    }

START_TEST(test_flags)
{
    struct plan p;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(parse(&p, "https://h/",
                           WORDS("-k", "--tls-min", "1.3", "--tls-resume", "off", "--sni", "a.b"),
                           &msg),
                     ERR_OK);
    ck_assert_int_eq(plan_check(&p, &msg), ERR_OK);
    ck_assert(p.insecure && p.tls_no_resume);
    ck_assert_uint_eq(p.tls_min, PLAN_TLS_1_3);
    ck_assert_str_eq(p.sni, "a.b");
    plan_clear(&p);
    ck_assert_int_eq(parse(&p, "https://h/", WORDS("--tls-min=1.2", "--tls-resume=on"), &msg),
                     ERR_OK);
    ck_assert(!p.insecure && !p.tls_no_resume);
    ck_assert_uint_eq(p.tls_min, PLAN_TLS_1_2);
    plan_clear(&p);
}
END_TEST

START_TEST(test_what_is_refused)
{
    static const struct {
        const char *url, *flag, *value, *says;
    } rows[] = {
        {"https://h/", "--tls-min", "1.1", "--tls-min 1.1: accepted is 1.2 or 1.3"},
        {"https://h/", "--tls-resume", "yes", "accepted is on or off"},
        {"https://h/", "--sni", "", "--sni"},
        {"https://h/", "--sni", "10.0.0.1", "no IP address"},
        {"https://h/", "--sni", "::1", "no IP address"},
        {"https://h/", "--sni", "a b", "accepted is a host name"},
        {"https://h/", "--sni", ".a", "accepted is a host name"},
        {"https://h/", "--cacert", "/nonexistent", "--cacert /nonexistent: cannot be opened"},
        {"https://h/", "--cacert", "/dev/null", "not a regular file"},
        {"https://h/", "--cert", "/nonexistent", "--cert /nonexistent: cannot be opened"},
        {"http://h/", "--sni", "a", "--sni: the target is http://"},
        {"http://h/", "--tls-min", "1.2", "--tls-min: the target is http://"},
        {"http://h/", "--insecure", NULL, NULL}, /* may stand in a file of defaults */
        {"http://h/", "--tls-resume=off", NULL, NULL},
        {"https://h/", "--sni", "a_b-1.example.org.", NULL},
    };
    for (size_t i = 0; i < N_OF(rows); i++)
        expect(rows[i].url, (char *[]){"run", (char *)rows[i].flag, (char *)rows[i].value, NULL},
               rows[i].says);
}
END_TEST

/* Files, as --cacert and --cert read them; the key is put there as the controller does. */
static void expect_files(const struct test_pki *pki, const char *cacert, const char *cert,
                         const char *key, const char *says)
{
    struct plan p;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(parse(&p, "https://h/", (char *[]){"run", NULL}, &msg), ERR_OK);
    p.cacert_file = cacert == NULL ? NULL : mem_strdup(test_pki_path(pki, cacert));
    p.cert_file = cert == NULL ? NULL : mem_strdup(test_pki_path(pki, cert));
    if (key != NULL) {
        FILE *f = fopen(test_pki_path(pki, key), "r");
        ck_assert_ptr_nonnull(f);
        p.key = mem_calloc(PLAN_KEY_MAX, 1);
        p.key_len = fread(p.key, 1, PLAN_KEY_MAX, f);
        fclose(f);
    }
    enum err e = plan_check(&p, &msg);
    if (says == NULL)
        ck_assert_msg(e == ERR_OK, "%s", msg.text);
    else
        ck_assert_msg(e != ERR_OK && strstr(msg.text, says) != NULL, "'%s' does not say '%s'",
                      msg.text, says);
    struct plan copy;
    ck_assert_int_eq(plan_copy(&copy, &p), ERR_OK);
    ck_assert_uint_eq(copy.key_len, p.key_len);
    ck_assert_int_eq(memcmp(copy.key != NULL ? copy.key : (const uint8_t *)"",
                            p.key != NULL ? p.key : (const uint8_t *)"", p.key_len),
                     0);
    plan_clear(&copy);
    plan_clear(&p);
}

START_TEST(test_files)
{
    struct test_pki *pki = test_pki_new();
    test_pki_key(pki, "locked.key", "EC", "secret");
    test_pki_key(pki, "other.key", "ED25519", NULL);
    test_pki_write(pki, "text", "hello\n");
    test_pki_write(pki, "empty", "");
    test_pki_write(pki, "broken", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    expect_files(pki, NULL, NULL, NULL, NULL);
    expect_files(pki, "ca.crt", NULL, NULL, NULL);
    expect_files(pki, "ca.crt", "controller.crt", "controller.key", NULL);
    expect_files(pki, "text", NULL, NULL, "--cacert: no certificate in it");
    expect_files(pki, "empty", NULL, NULL, "--cacert: no certificate in it");
    expect_files(pki, "broken", NULL, NULL, "--cacert: a certificate in it cannot be read");
    expect_files(pki, NULL, "controller.crt", NULL, "--cert: without --key");
    expect_files(pki, NULL, NULL, "controller.key", "--key: without --cert");
    expect_files(pki, NULL, "text", "controller.key", "--cert: no certificate in it");
    expect_files(pki, NULL, "controller.crt", "agent.key", "--key: does not belong");
    expect_files(pki, NULL, "controller.crt", "other.key", "--key: does not belong");
    expect_files(pki, NULL, "controller.crt", "text", "--key: no private key in it");
    expect_files(pki, NULL, "controller.crt", "locked.key", "without a passphrase");
    test_pki_remove(pki);
}
END_TEST

/* Nothing that came over the wire is taken on trust. */
START_TEST(test_the_agent_checks_for_itself)
{
    struct plan p;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(parse(&p, "https://h/", WORDS("-k"), &msg), ERR_OK);
    ck_assert_int_eq(plan_check(&p, &msg), ERR_OK);
    p.tls_min = 11;
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_INVALID);
    p.tls_min = 0;
    p.cacert = mem_dup("x\0y", 3);
    p.cacert_len = 3;
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_INVALID);
    mem_free(p.cacert);
    p.cacert = mem_dup(test_pem_cert, strlen(test_pem_cert));
    p.cacert_len = strlen(test_pem_cert);
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_OK);
    memcpy(p.url, "http://h//", 10);
    ck_assert_int_eq(plan_validate(&p, &msg), ERR_INVALID);
    plan_clear(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_tls");
    TCase *t = tcase_create("plan_tls");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_flags);
    tcase_add_test(t, test_what_is_refused);
    tcase_add_test(t, test_files);
    tcase_add_test(t, test_the_agent_checks_for_itself);
    suite_add_tcase(s, t);
    return check_main(s);
}
