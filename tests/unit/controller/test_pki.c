/* SPDX-License-Identifier: MIT */
/* The folder: what is in it, who may read it, and that nothing is lost or replaced. */
#include "controller/pki/pki.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "controller/pki/pki_expiry.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define NOW INT64_C(1800000000)

static char top[64]; /* removed at the end */
static char dir[80]; /* top/a/pki: made by pki_init */
static char path_buf[256];
static struct pki *pki;

static const char *in_dir(const char *file)
{
    snprintf(path_buf, sizeof path_buf, "%s/%s", dir, file);
    return path_buf;
}

static void setup(void)
{
    folder_make(top);
    snprintf(dir, sizeof dir, "%s/a/pki", top);
    umask(0);
    ck_assert_int_eq(pki_init(dir, NOW, &pki, NULL), ERR_OK);
}

static void teardown(void)
{
    pki_close(pki);
    folder_remove(top);
}

static enum err issue_until(enum pki_role role, const char *name, uint32_t days, bool replace,
                            int64_t now_s, struct errmsg *msg)
{
    struct pki_request r = {.role = role, .name = name, .days = days, .replace = replace};
    const struct pki_entry *e;
    bool used;
    return pki_issue(pki, &r, now_s, &e, &used, msg);
}

static enum err issue(enum pki_role role, const char *name, bool replace, struct errmsg *msg)
{
    return issue_until(role, name, 90, replace, NOW, msg);
}

static void must_issue(enum pki_role role, const char *name, bool replace)
{
    ck_assert_int_eq(issue(role, name, replace, NULL), ERR_OK);
}

static enum err end_of(const char *what, const enum pki_role *role, size_t *n, struct errmsg *msg)
{
    size_t *which;
    enum err e = pki_revoke(pki, what, role, NOW, &which, n, msg);
    mem_free(which);
    return e;
}

static void reopen(void)
{
    pki_close(pki);
    ck_assert_int_eq(pki_open(dir, &pki, NULL), ERR_OK);
}

static void must_have_mode(const char *file, unsigned mode)
{
    struct stat st;
    ck_assert_msg(lstat(in_dir(file), &st) == 0, "%s", file);
    ck_assert_msg((st.st_mode & 07777) == mode, "%s has mode %o", file, st.st_mode & 07777);
}

static void must_say(const struct errmsg *msg, const char *want)
{
    ck_assert_msg(strstr(msg->text, want) != NULL, "said: %s", msg->text);
}

static void must_be_same(const char *a, const char *b, bool same)
{
    char *one = file_read(in_dir(a)), *two = file_read(in_dir(b));
    ck_assert(one != NULL && two != NULL);
    ck_assert_int_eq(strcmp(one, two) == 0, same);
    mem_free(one);
    mem_free(two);
}

/* The umask says everything, then nothing: the modes are the same. */
START_TEST(test_modes)
{
    umask(_i == 0 ? 0 : 0777);
    pki_close(pki);
    snprintf(dir, sizeof dir, "%s/b/c/pki", top);
    ck_assert_int_eq(pki_init(dir, NOW, &pki, NULL), ERR_OK);
    must_issue(PKI_AGENT, "web1", false);
    must_issue(PKI_CONTROLLER, "laptop", false);
    umask(022);
    must_have_mode("../../c", 0700);
    must_have_mode(".", 0700);
    must_have_mode("agents", 0700);
    must_have_mode("controllers", 0700);
    must_have_mode("ca.key", 0600);
    must_have_mode("ca.crt", 0644);
    must_have_mode("crl.pem", 0644);
    must_have_mode("index.jsonl", 0600);
    must_have_mode("agents/web1.key", 0600);
    must_have_mode("agents/web1.crt", 0644);
    must_have_mode("controllers/laptop.key", 0600);
    must_have_mode("controller.key", 0600);
    must_have_mode("controller.crt", 0644);
}
END_TEST

START_TEST(test_a_ca_is_never_replaced)
{
    struct pki *second;
    struct errmsg msg;
    char *before = file_read(in_dir("ca.key"));
    pki_close(pki);
    pki = NULL;
    ck_assert_int_eq(pki_init(dir, NOW, &second, &msg), ERR_REFUSED);
    must_say(&msg, "/ca.crt: is there already and is never replaced");
    ck_assert_int_eq(unlink(in_dir("ca.crt")), 0);
    ck_assert_int_eq(pki_init(dir, NOW, &second, &msg), ERR_REFUSED);
    must_say(&msg, "has ca.key but no ca.crt");
    ck_assert_ptr_null(second);
    char *after = file_read(in_dir("ca.key"));
    ck_assert_str_eq(before, after);
    mem_free(before);
    mem_free(after);
}
END_TEST

START_TEST(test_no_init_yet)
{
    struct pki *p;
    struct errmsg msg;
    char other[96];
    snprintf(other, sizeof other, "%s/none", top);
    ck_assert_int_eq(pki_open(other, &p, &msg), ERR_NOT_FOUND);
    must_say(&msg, "make one first: hammer-ctl pki init --dir ");
    ck_assert_ptr_null(p);
    ck_assert_int_ne(access(other, F_OK), 0);
    ck_assert_int_eq(mkdir(other, 0700), 0);
    ck_assert_int_eq(pki_open(other, &p, &msg), ERR_NOT_FOUND);
    must_say(&msg, "make one first: hammer-ctl pki init --dir ");
}
END_TEST

START_TEST(test_nothing_is_overwritten)
{
    struct errmsg msg;
    must_issue(PKI_AGENT, "web1", false);
    char *key = file_read(in_dir("agents/web1.key"));
    ck_assert_int_eq(issue(PKI_AGENT, "WEB1", false, &msg), ERR_REFUSED);
    must_say(&msg, "/agents/web1.crt: is there already; accepted is another NAME, or --force");
    ck_assert_int_eq(unlink(in_dir("agents/web1.crt")), 0); /* the key alone is as dear */
    ck_assert_int_eq(issue(PKI_AGENT, "web1", false, &msg), ERR_REFUSED);
    must_say(&msg, "/agents/web1.key: is there already");
    ck_assert_uint_eq(pki_certificates(pki)->n, 1);
    char *after = file_read(in_dir("agents/web1.key"));
    ck_assert_str_eq(key, after);
    mem_free(after);
    must_issue(PKI_AGENT, "web1", true);
    after = file_read(in_dir("agents/web1.key"));
    ck_assert_str_ne(key, after);
    mem_free(after);
    mem_free(key);
}
END_TEST

/* A link in the place of a key is neither followed nor kept. */
START_TEST(test_links_are_not_followed)
{
    struct errmsg msg;
    char victim[96];
    snprintf(victim, sizeof victim, "%s/victim", top);
    ck_assert_int_eq(symlink(victim, in_dir("agents/web1.key")), 0);
    ck_assert_int_eq(issue(PKI_AGENT, "web1", false, &msg), ERR_REFUSED);
    must_issue(PKI_AGENT, "web1", true);
    ck_assert_int_ne(access(victim, F_OK), 0);
    must_have_mode("agents/web1.key", 0600);
    char real[96];
    snprintf(real, sizeof real, "%s/real.key", top);
    ck_assert_int_eq(rename(in_dir("ca.key"), real), 0);
    ck_assert_int_eq(symlink(real, in_dir("ca.key")), 0);
    ck_assert_int_eq(issue(PKI_AGENT, "web2", false, &msg), ERR_SYSTEM);
    must_say(&msg, "/ca.key: ");
}
END_TEST

START_TEST(test_readable_ca_key_is_refused)
{
    static const mode_t modes[] = {0640, 0604, 0660, 0644};
    struct errmsg msg;
    size_t n;
    must_issue(PKI_AGENT, "web1", false);
    ck_assert_int_eq(chmod(in_dir("ca.key"), modes[_i]), 0);
    ck_assert_int_eq(issue(PKI_AGENT, "web2", false, &msg), ERR_REFUSED);
    must_say(&msg, "/ca.key: mode 06");
    must_say(&msg, "accepted is 0600");
    ck_assert_int_eq(end_of("web1", NULL, &n, &msg), ERR_REFUSED);
    ck_assert_int_eq(chmod(in_dir("ca.key"), 0600), 0);
    must_issue(PKI_AGENT, "web2", false);
}
END_TEST

START_TEST(test_open_folder_is_refused)
{
    struct errmsg msg;
    pki_close(pki);
    pki = NULL;
    ck_assert_int_eq(chmod(dir, 0750), 0);
    ck_assert_int_eq(pki_open(dir, &pki, &msg), ERR_REFUSED);
    must_say(&msg, "mode 0750 lets others in; accepted is a folder with mode 0700");
    /* Nor is a shared one turned into ours. */
    ck_assert_int_eq(pki_init("/tmp", NOW, &pki, &msg), ERR_REFUSED);
}
END_TEST

START_TEST(test_foreign_key_is_refused)
{
    struct errmsg msg;
    must_issue(PKI_AGENT, "web1", false);
    ck_assert_int_eq(unlink(in_dir("ca.key")), 0);
    char from[160];
    snprintf(from, sizeof from, "%s/agents/web1.key", dir);
    ck_assert_int_eq(rename(from, in_dir("ca.key")), 0);
    ck_assert_int_eq(issue(PKI_AGENT, "web2", false, &msg), ERR_INVALID);
    must_say(&msg, "ca.crt and ca.key: key: it does not belong to the certificate");
}
END_TEST

START_TEST(test_days)
{
    struct errmsg msg;
    int64_t late = NOW + (PKI_CA_DAYS - 100) * PKI_DAY_S;
    ck_assert_int_eq(issue_until(PKI_AGENT, "web1", 101, false, late, &msg), ERR_RANGE);
    must_say(&msg, "--days 101: the CA ends before that; accepted is at most --days 100");
    ck_assert_int_eq(issue_until(PKI_AGENT, "web1", 100, false, late, &msg), ERR_OK);
    late = NOW + PKI_CA_DAYS * PKI_DAY_S;
    ck_assert_int_eq(issue_until(PKI_AGENT, "web2", 1, false, late, &msg), ERR_REFUSED);
    must_say(&msg, "the CA is at its end");
}
END_TEST

/* --- names ---------------------------------------------------------------------------------- */

START_TEST(test_names)
{
    const char *dns[] = {"Web1.Example.org", "web1", "web1.example.org", "b"};
    struct pki_request r = {.role = PKI_AGENT, .name = "Web1", .dns = dns, .n_dns = 4, .days = 90};
    const struct pki_entry *e;
    bool used;
    struct errmsg msg;
    ck_assert_int_eq(pki_issue(pki, &r, NOW, &e, &used, NULL), ERR_OK);
    ck_assert_str_eq(e->dns, "web1 web1.example.org b");
    ck_assert_str_eq(e->file, "agents/web1.crt");
    r = (struct pki_request){.role = PKI_AGENT, .name = "web1", .days = 90, .replace = true};
    ck_assert_int_eq(pki_issue(pki, &r, NOW, &e, &used, NULL), ERR_OK);
    ck_assert_str_eq(e->dns, "web1 web1.example.org b"); /* a renewal keeps them */
    r.dns = dns + 3;
    r.n_dns = 1;
    ck_assert_int_eq(pki_issue(pki, &r, NOW, &e, &used, NULL), ERR_OK);
    ck_assert_str_eq(e->dns, "web1 b");
    dns[3] = "10.1.1.1";
    ck_assert_int_eq(pki_issue(pki, &r, NOW, &e, &used, &msg), ERR_INVALID);
    must_say(&msg, "--dns 10.1.1.1: IP addresses are not matched");
}
END_TEST

START_TEST(test_too_many_names)
{
    char names[PKI_DNS_COUNT][16];
    const char *dns[PKI_DNS_COUNT];
    for (size_t i = 0; i < PKI_DNS_COUNT; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        dns[i] = names[i];
    }
    struct pki_request r = {
        .role = PKI_AGENT, .name = "web1", .dns = dns, .n_dns = PKI_DNS_COUNT, .days = 90};
    const struct pki_entry *e;
    bool used;
    struct errmsg msg;
    ck_assert_int_eq(pki_issue(pki, &r, NOW, &e, &used, &msg), ERR_TOO_BIG);
    must_say(&msg, "--dns n31: accepted are at most 31 names");
    r.n_dns--;
    ck_assert_int_eq(pki_issue(pki, &r, NOW, &e, &used, &msg), ERR_OK);
}
END_TEST

/* --- controller.crt ------------------------------------------------------------------------- */

START_TEST(test_controller_crt)
{
    size_t n;
    must_issue(PKI_AGENT, "one", false);
    ck_assert_int_ne(access(in_dir("controller.crt"), F_OK), 0);
    must_issue(PKI_CONTROLLER, "one", false);
    must_issue(PKI_CONTROLLER, "two", false);
    must_be_same("controller.crt", "controllers/one.crt", true);
    must_be_same("controller.key", "controllers/one.key", true);
    must_issue(PKI_CONTROLLER, "two", true); /* another's renewal changes nothing */
    must_be_same("controller.crt", "controllers/one.crt", true);
    must_issue(PKI_CONTROLLER, "one", true); /* its own does */
    must_be_same("controller.crt", "controllers/one.crt", true);
    must_be_same("controller.key", "controllers/one.key", true);
    const enum pki_role role = PKI_CONTROLLER;
    ck_assert_int_eq(end_of("one", &role, &n, NULL), ERR_OK);
    must_be_same("controller.crt", "controllers/one.crt", true);
    must_issue(PKI_CONTROLLER, "two", true); /* a revoked one serves nobody */
    must_be_same("controller.crt", "controllers/two.crt", true);
}
END_TEST

/* A key that the user has put there himself stays. */
START_TEST(test_controller_key_of_others)
{
    FILE *f = fopen(in_dir("controller.key"), "w");
    fputs("mine", f);
    fclose(f);
    must_issue(PKI_CONTROLLER, "one", false);
    char *text = file_read(in_dir("controller.key"));
    ck_assert_str_eq(text, "mine");
    mem_free(text);
    ck_assert_int_ne(access(in_dir("controller.crt"), F_OK), 0);
}
END_TEST

/* --- revocation ----------------------------------------------------------------------------- */

START_TEST(test_revoke)
{
    struct errmsg msg;
    size_t n;
    must_issue(PKI_AGENT, "web1", false);
    must_issue(PKI_AGENT, "web1", true);
    must_issue(PKI_AGENT, "web2", false);
    char *before = file_read(in_dir("crl.pem"));
    ck_assert_int_eq(end_of("Web1", NULL, &n, &msg), ERR_OK);
    ck_assert_uint_eq(n, 2); /* the replaced one too: its key may be the stolen one */
    char *after = file_read(in_dir("crl.pem"));
    ck_assert_str_ne(before, after);
    reopen();
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(pki_certificates(pki)->entries[i].revoked_s, i < 2 ? NOW : 0);
    ck_assert_int_eq(end_of("web1", NULL, &n, &msg), ERR_STATE);
    must_say(&msg, "web1: already revoked");
    ck_assert_int_eq(end_of("web3", NULL, &n, &msg), ERR_NOT_FOUND);
    must_say(&msg, "web3: no certificate");
    must_say(&msg, "by that name or serial");
    must_issue(PKI_AGENT, "web1", true); /* and the next one is good again */
    ck_assert_int_eq(pki_entry_state(&pki_certificates(pki)->entries[3], NOW), PKI_VALID);
    mem_free(before);
    mem_free(after);
}
END_TEST

START_TEST(test_revoke_by_serial)
{
    struct errmsg msg;
    size_t n, at = 0;
    char text[64];
    must_issue(PKI_AGENT, "web1", false);
    must_issue(PKI_AGENT, "web1", true);
    const char *serial = pki_certificates(pki)->entries[0].serial;
    for (size_t i = 0; serial[i] != '\0'; i += 2) /* as openssl prints it: AB:CD */
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.2s", i > 0 ? ":" : "", serial + i);
    for (char *p = text; *p != '\0'; p++)
        if (*p >= 'a' && *p <= 'f')
            *p = (char)(*p - 'a' + 'A');
    ck_assert_int_eq(end_of(text, NULL, &n, &msg), ERR_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(pki_certificates(pki)->entries[0].revoked_s, NOW);
    ck_assert_int_eq(pki_certificates(pki)->entries[1].revoked_s, 0);
    ck_assert_int_eq(end_of(serial, NULL, &n, &msg), ERR_STATE);
    ck_assert_int_eq(end_of("00000000000000000000000000000000", NULL, &n, &msg), ERR_NOT_FOUND);
}
END_TEST

START_TEST(test_revoke_needs_a_role)
{
    struct errmsg msg;
    size_t n;
    const enum pki_role role = PKI_CONTROLLER;
    must_issue(PKI_AGENT, "both", false);
    ck_assert_int_eq(end_of("both", &role, &n, &msg), ERR_NOT_FOUND);
    must_issue(PKI_CONTROLLER, "both", false);
    ck_assert_int_eq(end_of("both", NULL, &n, &msg), ERR_INVALID);
    must_say(&msg, "accepted is --role agent, --role controller, or a serial");
    ck_assert_int_eq(end_of("both", &role, &n, &msg), ERR_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(pki_certificates(pki)->entries[0].revoked_s, 0);
}
END_TEST

/* The index was written, the list was not: the same command again repairs it. */
START_TEST(test_interrupted_revocation)
{
    size_t n;
    must_issue(PKI_AGENT, "web1", false);
    char *empty = file_read(in_dir("crl.pem"));
    ck_assert_int_eq(end_of("web1", NULL, &n, NULL), ERR_OK);
    FILE *f = fopen(in_dir("crl.pem"), "w");
    fputs(empty, f);
    fclose(f);
    reopen();
    ck_assert_int_eq(end_of("web1", NULL, &n, NULL), ERR_STATE);
    char *after = file_read(in_dir("crl.pem"));
    ck_assert_uint_gt(strlen(after), strlen(empty));
    mem_free(empty);
    mem_free(after);
}
END_TEST

/* --- failures ------------------------------------------------------------------------------- */

static size_t count_files(const char *sub)
{
    size_t n = 0;
    DIR *d = opendir(in_dir(sub));
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* A full disk: the old files stay whole, and no half of a key is left. */
START_TEST(test_failed_write)
{
    struct errmsg msg;
    must_issue(PKI_AGENT, "web1", false);
    char *index = file_read(in_dir("index.jsonl"));
    size_t n = count_files(".");
    struct rlimit old, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum err e = issue(PKI_AGENT, "web1", true, &msg);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_int_eq(e, ERR_SYSTEM);
    must_say(&msg, "/index.jsonl: File too large");
    char *after = file_read(in_dir("index.jsonl"));
    ck_assert_str_eq(index, after);
    ck_assert_uint_eq(count_files("."), n);
    mem_free(index);
    mem_free(after);
}
END_TEST

START_TEST(test_damaged_index)
{
    struct errmsg msg;
    FILE *f = fopen(in_dir("index.jsonl"), "w");
    fputs("rubbish\n", f);
    fclose(f);
    pki_close(pki);
    ck_assert_int_eq(pki_open(dir, &pki, &msg), ERR_CORRUPT);
    must_say(&msg, "/index.jsonl:1: no JSON object");
}
END_TEST

START_TEST(test_two_at_a_time)
{
    struct errmsg msg;
    struct pki *second;
    ck_assert_int_eq(pki_open(dir, &second, &msg), ERR_BUSY); /* after 5 s */
    must_say(&msg, "another hammer-ctl pki is at work");
}
END_TEST

/* --- export and expiry ---------------------------------------------------------------------- */

START_TEST(test_export)
{
    struct errmsg msg;
    struct pki_store *out;
    char to[96], file[128];
    static const char *const files[] = {"ca.crt", "crl.pem", "agent.crt", "agent.key"};
    snprintf(to, sizeof to, "%s/out", top);
    must_issue(PKI_AGENT, "web1", false);
    const struct pki_entry *e = &pki_certificates(pki)->entries[0];
    ck_assert_int_eq(pki_export_open(to, PKI_AGENT, false, &out, NULL), ERR_OK);
    ck_assert_int_eq(pki_export(pki, e, out, NULL), ERR_OK);
    pki_store_close(out);
    for (size_t i = 0; i < 4; i++) {
        struct stat st;
        snprintf(file, sizeof file, "%s/%s", to, files[i]);
        ck_assert_int_eq(stat(file, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, i == 3 ? 0600 : 0644);
    }
    ck_assert_int_eq(pki_export_open(to, PKI_AGENT, false, &out, &msg), ERR_REFUSED);
    must_say(&msg, "ca.crt is there already; accepted is an empty or new folder, or --force");
    ck_assert_int_eq(pki_export_open(to, PKI_AGENT, true, &out, &msg), ERR_OK);
    ck_assert_int_eq(pki_export(pki, e, out, NULL), ERR_OK);
    pki_store_close(out);
    ck_assert_int_eq(pki_export_open(dir, PKI_AGENT, true, &out, &msg), ERR_REFUSED);
    must_say(&msg, "holds a CA");
}
END_TEST

START_TEST(test_expiry_of_a_file)
{
    struct errmsg text;
    must_issue(PKI_CONTROLLER, "laptop", false);
    ck_assert(!pki_expiry_warning(in_dir("controller.crt"), NOW, &text));
    ck_assert(pki_expiry_warning(in_dir("controller.crt"), NOW + 80 * PKI_DAY_S, &text));
    must_say(&text, "/controller.crt: the certificate of laptop expires in 10 days (20");
    ck_assert(pki_expiry_warning(in_dir("controller.crt"), NOW + 91 * PKI_DAY_S, &text));
    must_say(&text, "laptop expired on 20");
}
END_TEST

START_TEST(test_default_dir)
{
    char at[PATH_MAX];
    struct errmsg msg;
    setenv("HOME", "/tmp", 1);
    setenv("XDG_CONFIG_HOME", "/x", 1);
    ck_assert_int_eq(pki_default_dir(at, NULL), ERR_OK);
    ck_assert_str_eq(at, "/x/hammer/pki");
    setenv("XDG_CONFIG_HOME", "relative", 1);
    ck_assert_int_eq(pki_default_dir(at, NULL), ERR_OK);
    ck_assert_str_eq(at, "/tmp/.config/hammer/pki");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("HOME");
    ck_assert_int_eq(pki_default_dir(at, &msg), ERR_INVALID);
    must_say(&msg, "accepted is --dir DIR");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pki");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_modes, 0, 2);
    tcase_add_test(t, test_a_ca_is_never_replaced);
    tcase_add_test(t, test_no_init_yet);
    tcase_add_test(t, test_nothing_is_overwritten);
    tcase_add_test(t, test_links_are_not_followed);
    tcase_add_loop_test(t, test_readable_ca_key_is_refused, 0, 4);
    tcase_add_test(t, test_open_folder_is_refused);
    tcase_add_test(t, test_foreign_key_is_refused);
    tcase_add_test(t, test_days);
    tcase_add_test(t, test_names);
    tcase_add_test(t, test_too_many_names);
    tcase_add_test(t, test_controller_crt);
    tcase_add_test(t, test_controller_key_of_others);
    tcase_add_test(t, test_revoke);
    tcase_add_test(t, test_revoke_by_serial);
    tcase_add_test(t, test_revoke_needs_a_role);
    tcase_add_test(t, test_interrupted_revocation);
    tcase_add_test(t, test_failed_write);
    tcase_add_test(t, test_damaged_index);
    tcase_add_test(t, test_two_at_a_time);
    tcase_add_test(t, test_export);
    tcase_add_test(t, test_expiry_of_a_file);
    tcase_add_test(t, test_default_dir);
    return check_main(s);
}
