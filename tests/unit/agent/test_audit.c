/* SPDX-License-Identifier: MIT */
#include "agent/service/audit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

static char folder[64], path[96], moved[112];
static struct audit *audit;
static struct errmsg msg;

static void setup(void)
{
    folder_make(folder);
    snprintf(path, sizeof path, "%s/audit.jsonl", folder);
    snprintf(moved, sizeof moved, "%s.1", path);
    audit = NULL;
    msg.text[0] = '\0';
}

static void teardown(void)
{
    audit_close(audit);
    folder_remove(folder);
}

static void open_audit(void)
{
    ck_assert_msg(audit_open(path, &audit, &msg) == ERR_OK, "%s", msg.text);
}

static void write_audit(const char *line)
{
    ck_assert_msg(audit_write(audit, line, &msg) == ERR_OK, "%s", msg.text);
}

static void holds(const char *file, const char *want)
{
    char *text = file_read(file);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, want);
    mem_free(text);
}

START_TEST(test_appends)
{
    struct stat st;
    open_audit();
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0027, 0);
    write_audit("one");
    audit_close(audit);
    audit = NULL;
    open_audit();
    write_audit("two");
    holds(path, "one\ntwo\n");
}
END_TEST

START_TEST(test_reopens_after_rotation)
{
    open_audit();
    write_audit("old");
    ck_assert_int_eq(rename(path, moved), 0);
    write_audit("still old");
    ck_assert_int_eq(audit_reopen(audit, &msg), ERR_OK);
    write_audit("new");
    holds(moved, "old\nstill old\n");
    holds(path, "new\n");
}
END_TEST

/* A file that cannot be opened any more leaves the one there is. */
START_TEST(test_keeps_what_it_has)
{
    open_audit();
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(audit_reopen(audit, &msg), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, path));
    write_audit("here");
    holds(moved, "here\n");
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

START_TEST(test_no_link_and_no_folder)
{
    ck_assert_int_eq(symlink("/tmp/somewhere-else", path), 0);
    ck_assert_int_eq(audit_open(path, &audit, &msg), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, "no symbolic link"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(audit_open("/no/such/folder/audit", &audit, &msg), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, "No such file"));
}
END_TEST

START_TEST(test_full_disk_is_said)
{
    ck_assert_int_eq(audit_open("/dev/full", &audit, &msg), ERR_OK);
    ck_assert_int_eq(audit_write(audit, "line", &msg), ERR_SYSTEM);
    ck_assert_str_eq(msg.text, "audit file /dev/full: No space left on device");
}
END_TEST

/* Half a line is left by a disk that became full: the next one begins on its own. */
START_TEST(test_a_torn_line_spoils_no_other)
{
    struct rlimit was, limit = {.rlim_cur = 8, .rlim_max = RLIM_INFINITY};
    open_audit();
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    limit.rlim_max = was.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(audit_write(audit, "a line of some length", &msg), ERR_SYSTEM);
    ck_assert_int_eq(audit_write(audit, "another", &msg), ERR_SYSTEM);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
    write_audit("whole");
    write_audit("again");
    holds(path, "a line o\nwhole\nagain\n");
}
END_TEST

START_TEST(test_without_a_file)
{
    ck_assert_int_eq(audit_write(NULL, "nobody asked for it", &msg), ERR_OK);
    ck_assert_int_eq(audit_reopen(NULL, &msg), ERR_OK);
    ck_assert_int_eq(audit_open(NULL, &audit, &msg), ERR_OK);
    ck_assert_int_eq(audit_write(audit, "to the log", &msg), ERR_OK);
    ck_assert_int_eq(audit_reopen(audit, &msg), ERR_OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("audit");
    TCase *t = tcase_create("audit");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_appends);
    tcase_add_test(t, test_reopens_after_rotation);
    tcase_add_test(t, test_keeps_what_it_has);
    tcase_add_test(t, test_no_link_and_no_folder);
    tcase_add_test(t, test_full_disk_is_said);
    tcase_add_test(t, test_a_torn_line_spoils_no_other);
    tcase_add_test(t, test_without_a_file);
    suite_add_tcase(s, t);
    return check_main(s);
}
