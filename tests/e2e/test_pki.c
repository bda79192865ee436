/* SPDX-License-Identifier: MIT */
/* `hammer-ctl pki` as a user calls it, and openssl's opinion of what comes out. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define ARGS_MAX   12
#define OPENSSL    "/usr/bin/openssl"
#define LIMIT_MS   20000
#define CANARY_LEN 24 /* letters of a key that must not be printed anywhere */

static char top[64], dir[96];
static char *said; /* everything that was printed so far */

static void setup(void)
{
    folder_make(top);
    snprintf(dir, sizeof dir, "%s/pki", top);
    setenv("XDG_CONFIG_HOME", top, 1); /* nothing of the user's is touched */
    setenv("HOME", top, 1);
    said = mem_strdup("");
}

static void teardown(void)
{
    mem_free(said);
    folder_remove(top);
}

static void remember(const char *text)
{
    size_t old = strlen(said), len = strlen(text);
    said = mem_realloc(said, old + len + 1, 1);
    memcpy(said + old, text, len + 1);
}

static bool says(const char *text, const char *want)
{
    return want[0] == '\0' ? text[0] == '\0' : strstr(text, want) != NULL;
}

/* hammer-ctl pki ARGS --dir DIR. */
static void pki(int code, const char *out, const char *err, const char *const *args)
{
    const char *all[ARGS_MAX + 4] = {"pki"};
    struct process p;
    size_t n = 1;
    for (; *args != NULL; args++)
        all[n++] = *args;
    all[n++] = "--dir";
    all[n++] = dir;
    int got = process_run(&p, "hammer-ctl", all, LIMIT_MS);
    ck_assert_msg(got == code, "%s: exit code %d\n%s", all[1], got, p.err);
    ck_assert_msg(says(p.out, out), "%s: stdout: %s", all[1], p.out);
    ck_assert_msg(says(p.err, err), "%s: stderr: %s", all[1], p.err);
    remember(p.out);
    remember(p.err);
    process_end(&p);
}

#define PKI(code, out, err, ...) pki(code, out, err, (const char *const[]){__VA_ARGS__, NULL})

static char *in_dir(const char *file, char buf[160])
{
    snprintf(buf, 160, "%s/%s", dir, file);
    return buf;
}

/* --- calls without a CA --------------------------------------------------------------------- */

static const struct {
    const char *args[ARGS_MAX];
    int code;
    const char *out, *err;
} rows[] = {
    {{"pki"}, 1, "", "usage: hammer-ctl pki COMMAND"},
    {{"pki", "--help"}, 0, "usage: hammer-ctl pki COMMAND", ""},
    {{"pki", "-h"}, 0, "usage: hammer-ctl pki COMMAND", ""},
    {{"help", "pki"}, 0, "usage: hammer-ctl pki COMMAND", ""},
    {{"help", "pki", "agent"}, 0, "usage: hammer-ctl pki agent NAME", ""},
    {{"pki", "init", "--help"}, 0, "usage: hammer-ctl pki init", ""},
    {{"pki", "revoke", "-h"}, 0, "--role ROLE", ""},
    {{"help", "run"}, 0, "usage: hammer-ctl run", ""},
    {{"help", "version"}, 0, "usage: hammer-ctl version", ""},
    {{"help", "help"}, 0, "usage: hammer-ctl help", ""},
    {{"help", "--help"}, 0, "usage: hammer-ctl COMMAND", ""},
    {{"help", "pkj"}, 1, "", "pkj: no such command; accepted are run, "},
    {{"pki", "make"}, 1, "", "pki make: no such command; accepted are init, agent, controller"},
    {{"pki", "agent"}, 1, "", "NAME is missing: accepted is hammer-ctl pki agent NAME [flags]"},
    {{"pki", "agent", "a", "b"}, 1, "", "b: one argument too many; accepted is hammer-ctl pki"},
    {{"pki", "init", "x"}, 1, "", "x: one argument too many; accepted is hammer-ctl pki init"},
    {{"pki", "agent", "a", "--days", "0"}, 1, "", "--days 0: accepted is a whole number from 1 to"},
    {{"pki", "agent", "a", "--days", "826"}, 1, "", "from 1 to 825"},
    {{"pki", "agent", "a", "--dnss", "b"}, 1, "", "did you mean --dns?"},
    {{"pki", "init", "--days", "5"}, 1, "", "unknown option --days"},
    {{"pki", "revoke", "a", "--role", "boss"},
     1,
     "",
     "--role boss: accepted is agent or controller"},
    {{"pki", "show"},
     1,
     "",
     "hammer/pki: there is no CA; make one first: hammer-ctl pki init --dir"},
    {{"pki", "revoke", "a"}, 1, "", "make one first: hammer-ctl pki init --dir"},
};

START_TEST(test_answers)
{
    struct process p;
    const char *args[ARGS_MAX + 1] = {NULL};
    memcpy(args, rows[_i].args, sizeof rows[_i].args);
    int code = process_run(&p, "hammer-ctl", args, LIMIT_MS);
    ck_assert_msg(code == rows[_i].code, "row %d: exit code %d: %s", _i, code, p.err);
    ck_assert_msg(says(p.out, rows[_i].out), "row %d: stdout: %.300s", _i, p.out);
    ck_assert_msg(says(p.err, rows[_i].err), "row %d: stderr: %.300s", _i, p.err);
    process_end(&p);
}
END_TEST

/* Without --dir: $XDG_CONFIG_HOME/hammer/pki, which is made. */
START_TEST(test_default_folder)
{
    struct process p;
    char file[128];
    const char *args[] = {"pki", "init", NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, LIMIT_MS), 0);
    ck_assert_ptr_null(strstr(p.out, "--dir"));
    process_end(&p);
    snprintf(file, sizeof file, "%s/hammer/pki/ca.key", top);
    struct stat st;
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
}
END_TEST

/* --- a life of certificates ----------------------------------------------------------------- */

/* A piece from the middle of a key's text. */
static void must_be_silent_of(const char *file)
{
    char path[160], piece[CANARY_LEN + 1];
    char *text = file_read(in_dir(file, path));
    ck_assert_ptr_nonnull(text);
    const char *line = strchr(text, '\n');
    ck_assert(line != NULL && strlen(line) > 60);
    for (size_t at = 1; line[at + CANARY_LEN] != '\0' && at < 100; at += 8) {
        snprintf(piece, sizeof piece, "%.*s", CANARY_LEN, line + at);
        ck_assert_msg(strstr(said, piece) == NULL, "%s was printed", file);
    }
    ck_assert_ptr_null(strstr(said, "PRIVATE KEY"));
    mem_free(text);
}

static json_t *show(void)
{
    struct process p;
    const char *args[] = {"pki", "show", "--json", "--dir", dir, NULL};
    ck_assert_int_eq(process_run(&p, "hammer-ctl", args, LIMIT_MS), 0);
    json_t *o = json_loads(p.out, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(o);
    remember(p.out);
    remember(p.err);
    process_end(&p);
    return o;
}

static void must_show(const json_t *list, size_t i, const char *role, const char *name,
                      const char *state, int days)
{
    const json_t *o = json_array_get(list, i);
    ck_assert_str_eq(json_string_value(json_object_get(o, "role")), role);
    ck_assert_str_eq(json_string_value(json_object_get(o, "name")), name);
    ck_assert_str_eq(json_string_value(json_object_get(o, "state")), state);
    /* A second may pass between issuing and showing. */
    int got = (int)json_integer_value(json_object_get(o, "days_left"));
    ck_assert_msg(got == days || got == days - 1, "%d days", got);
}

START_TEST(test_life)
{
    char out[96], serial[40];
    snprintf(out, sizeof out, "%s/web1-pki", top);
    PKI(0, "hammer-ctl pki agent NAME --dir ", "", "init");
    PKI(1, "", "/ca.crt: is there already and is never replaced", "init");
    PKI(0, "hammer-ctl run uses them", "", "controller", "laptop");
    PKI(0, "/web1-pki/* root@web1:/etc/hammer/pki/\n", "", "agent", "web1", "--dns", "web1.test",
        "--out", out);
    PKI(1, "", "/agents/web1.crt: is there already", "agent", "web1");
    PKI(1, "", "NAME 192.0.2.1: IP addresses are not matched", "agent", "192.0.2.1");
    PKI(0, "agent web1: serial ", "", "agent", "web1", "--force");
    PKI(0, "/agents/web2.key root@web2:/etc/hammer/pki/agent.key\n",
        "warning: agent web2 expires in ", "agent", "web2", "--days", "5");
    PKI(0, "systemctl reload hammer-agent    (SIGHUP)", "", "revoke", "web1");
    PKI(1, "", "web1: already revoked", "revoke", "web1");
    PKI(1, "", "nobody: no certificate", "revoke", "nobody");
    PKI(0, "  agents/web2.crt  ", "renew it: hammer-ctl pki agent web2 --force --dir ", "show");
    json_t *o = show();
    const json_t *list = json_object_get(o, "certificates");
    ck_assert_str_eq(json_string_value(json_object_get(o, "schema")), "hammer.pki/1");
    ck_assert_uint_eq(json_array_size(list), 4);
    must_show(list, 0, "controller", "laptop", "valid", 90);
    must_show(list, 1, "agent", "web1", "revoked", 0);
    must_show(list, 2, "agent", "web1", "revoked", 0);
    must_show(list, 3, "agent", "web2", "valid", 5);
    const json_t *one = json_array_get(list, 0);
    snprintf(serial, sizeof serial, "%s", json_string_value(json_object_get(one, "serial")));
    json_decref(o);
    PKI(0, "revoked: controller laptop", "", "revoke", serial);
    must_be_silent_of("ca.key");
    must_be_silent_of("agents/web1.key");
    must_be_silent_of("agents/web2.key");
    must_be_silent_of("controllers/laptop.key");
}
END_TEST

/* --- openssl -------------------------------------------------------------------------------- */

static bool have_openssl(void)
{
    if (access(OPENSSL, X_OK) == 0)
        return true;
    printf("skipped: there is no " OPENSSL "\n");
    return false;
}

static void openssl(const char *purpose, const char *file, const char *want)
{
    char ca[160], crl[160], cert[160];
    struct process p;
    const char *args[] = {
        "verify",     "-CAfile",      in_dir("ca.crt", ca), "-CRLfile", in_dir("crl.pem", crl),
        "-crl_check", "-x509_strict", "-purpose",           purpose,    in_dir(file, cert),
        NULL};
    process_run(&p, OPENSSL, args, LIMIT_MS);
    ck_assert_msg(strstr(p.out, want) != NULL || strstr(p.err, want) != NULL,
                  "%s as %s: %s%s; wanted: %s", file, purpose, p.out, p.err, want);
    process_end(&p);
}

START_TEST(test_openssl_verifies)
{
    if (!have_openssl())
        return;
    PKI(0, "CA", "", "init");
    PKI(0, "web1", "", "agent", "web1");
    PKI(0, "laptop", "", "controller", "laptop");
    openssl("sslserver", "agents/web1.crt", ": OK");
    openssl("sslclient", "controllers/laptop.crt", ": OK");
    openssl("sslclient", "controller.crt", ": OK");
    openssl("sslclient", "agents/web1.crt", "unsuitable certificate purpose");
    openssl("sslserver", "controllers/laptop.crt", "unsuitable certificate purpose");
    PKI(0, "revoked", "", "revoke", "web1");
    openssl("sslserver", "agents/web1.crt", "certificate revoked");
    openssl("sslclient", "controllers/laptop.crt", ": OK");
    PKI(0, "web1", "", "agent", "web1", "--force");
    openssl("sslserver", "agents/web1.crt", ": OK");
}
END_TEST

/* --- several at once ------------------------------------------------------------------------ */

#define CROWD 6

/* Nobody's entry gets lost: the index is read, changed and written under a lock. */
START_TEST(test_crowd)
{
    struct process p[CROWD];
    char names[CROWD][8];
    PKI(0, "CA", "", "init");
    for (int i = 0; i < CROWD; i++) {
        snprintf(names[i], sizeof names[i], "a%d", i);
        const char *args[] = {"pki", "agent", names[i], "--dir", dir, NULL};
        process_start(&p[i], "hammer-ctl", args);
    }
    for (int i = 0; i < CROWD; i++) {
        ck_assert_int_eq(process_wait(&p[i], LIMIT_MS), 0);
        process_end(&p[i]);
    }
    json_t *o = show();
    ck_assert_uint_eq(json_array_size(json_object_get(o, "certificates")), CROWD);
    json_decref(o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pki");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, test_answers, 0, sizeof rows / sizeof rows[0]);
    tcase_add_test(t, test_default_folder);
    tcase_add_test(t, test_life);
    tcase_add_test(t, test_openssl_verifies);
    tcase_add_test(t, test_crowd);
    return check_main(s);
}
