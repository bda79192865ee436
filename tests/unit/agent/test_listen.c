/* SPDX-License-Identifier: MIT */
#include "agent/service/listen.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

static const struct {
    const char *url;
    enum listen_kind kind;
} fine[] = {
    {"ipc:///run/hammer/agent.sock", LISTEN_IPC}, {"tcp://127.0.0.1:7400", LISTEN_LOOPBACK},
    {"tcp://127.8.9.1:0", LISTEN_LOOPBACK},       {"tcp://[::1]:7400", LISTEN_LOOPBACK},
    {"tls+tcp://0.0.0.0:7400", LISTEN_TLS},       {"tls+tcp://[::]:7400", LISTEN_TLS},
};

START_TEST(test_accepted)
{
    enum listen_kind kind;
    struct errmsg msg = {{0}};
    enum err e = listen_check(fine[_i].url, false, &kind, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    ck_assert_int_eq(kind, fine[_i].kind);
}
END_TEST

/* What other machines reach, or what nobody knows: refused without --insecure-listen, and the
 * sentence shows the way to TLS. */
static const char *const open_to_all[] = {
    "tcp://0.0.0.0:7400", "tcp://[::]:7400",      "tcp://:7400",
    "tcp://*:7400",       "tcp://192.0.2.1:7400", "tcp://[::ffff:192.0.2.1]:7400",
    "tcp://[fe80::1]:1",  "tcp://name.invalid:1",
};

START_TEST(test_refused_without_tls)
{
    enum listen_kind kind;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(listen_check(open_to_all[_i], false, &kind, &msg), ERR_REFUSED);
    static const char *const says[] = {"hammer-ctl pki init", "hammer-ctl pki agent NAME --out DIR",
                                       "/etc/hammer/pki", "hammer-agent --listen tls+tcp://",
                                       "--insecure-listen"};
    for (size_t i = 0; i < N_OF(says); i++)
        ck_assert_msg(strstr(msg.text, says[i]) != NULL, "%s not in: %s", says[i], msg.text);
    ck_assert_ptr_nonnull(strstr(msg.text, open_to_all[_i]));
    ck_assert_int_eq(listen_check(open_to_all[_i], true, &kind, &msg), ERR_OK);
    ck_assert_int_eq(kind, LISTEN_INSECURE);
}
END_TEST

/* The flag alone does not make a loopback address insecure. */
START_TEST(test_insecure_is_what_it_says)
{
    enum listen_kind kind;
    ck_assert_int_eq(listen_check("tcp://127.0.0.1:1", true, &kind, NULL), ERR_OK);
    ck_assert_int_eq(kind, LISTEN_LOOPBACK);
}
END_TEST

START_TEST(test_no_url)
{
    static const char *const urls[] = {"",       "127.0.0.1:7400", "tcp://127.0.0.1", "http://x:1",
                                       "ipc://", "ipc://relative", "tls+tcp://"};
    for (size_t i = 0; i < N_OF(urls); i++) {
        enum listen_kind kind;
        struct errmsg msg = {{0}};
        ck_assert_msg(listen_check(urls[i], true, &kind, &msg) == ERR_INVALID, "%s", urls[i]);
        ck_assert_ptr_nonnull(strstr(msg.text, "--listen"));
    }
}
END_TEST

/* Against what the user database says, whatever that is on this machine. */
START_TEST(test_peers)
{
    const struct group *group = getgrnam(LISTEN_GROUP);
    ck_assert(listen_allows_uid(0));
    ck_assert(listen_allows_uid(geteuid()));
    ck_assert(!listen_allows_uid(UINT64_C(1) << 32)); /* not root by wrapping */
    ck_assert(!listen_allows_uid(3999999999));
    const struct passwd *nobody = getpwnam("nobody");
    if (nobody == NULL || nobody->pw_uid == geteuid())
        return;
    bool member = group != NULL && nobody->pw_gid == group->gr_gid;
    for (char **m = group != NULL ? group->gr_mem : NULL; m != NULL && *m != NULL; m++)
        member = member || strcmp(*m, "nobody") == 0;
    ck_assert_int_eq(listen_allows_uid(nobody->pw_uid), member);
}
END_TEST

START_TEST(test_other_places_are_left_alone)
{
    ck_assert_int_eq(listen_make_folder("ipc:///nowhere/at/all/sock", NULL), ERR_OK);
    ck_assert_int_eq(listen_make_folder("tcp://127.0.0.1:1", NULL), ERR_OK);
    ck_assert_int_ne(access("/nowhere", F_OK), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("listen");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, test_accepted, 0, (int)N_OF(fine));
    tcase_add_loop_test(t, test_refused_without_tls, 0, (int)N_OF(open_to_all));
    tcase_add_test(t, test_insecure_is_what_it_says);
    tcase_add_test(t, test_no_url);
    tcase_add_test(t, test_peers);
    tcase_add_test(t, test_other_places_are_left_alone);
    suite_add_tcase(s, t);
    return check_main(s);
}
