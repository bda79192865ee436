/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

static char top[64];
static char path_buf[128];
static struct pki_store *store;

static const char *in_top(const char *name)
{
    snprintf(path_buf, sizeof path_buf, "%s/%s", top, name);
    return path_buf;
}

static void setup(void)
{
    folder_make(top);
    ck_assert_int_eq(pki_store_open(in_top("s"), true, &store, NULL), ERR_OK);
}

static void teardown(void)
{
    pki_store_close(store);
    folder_remove(top);
}

static void must_hold(const char *name, const char *want)
{
    char *text;
    ck_assert_int_eq(pki_store_read(store, name, PKI_MODE_SECRET, &text, NULL), ERR_OK);
    ck_assert_str_eq(text, want);
    mem_free(text);
}

START_TEST(test_write_and_replace)
{
    struct errmsg msg;
    ck_assert(!pki_store_has(store, "f"));
    ck_assert_int_eq(pki_store_write(store, "f", "one", PKI_MODE_SECRET, false, NULL), ERR_OK);
    ck_assert(pki_store_has(store, "f"));
    ck_assert_int_eq(pki_store_write(store, "f", "two", PKI_MODE_SECRET, false, &msg), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "/s/f: is there already and stays"));
    must_hold("f", "one");
    ck_assert_int_eq(pki_store_write(store, "f", "", PKI_MODE_SECRET, true, NULL), ERR_OK);
    must_hold("f", "");
}
END_TEST

/* A dangling link counts as a file that is there. */
START_TEST(test_dangling_link)
{
    ck_assert_int_eq(symlink("/no/where", in_top("s/f")), 0);
    ck_assert(pki_store_has(store, "f"));
    ck_assert_int_eq(pki_store_write(store, "f", "x", PKI_MODE_SECRET, false, NULL), ERR_REFUSED);
}
END_TEST

START_TEST(test_what_cannot_be_read)
{
    char *text;
    struct errmsg msg;
    ck_assert_int_eq(pki_store_read(store, "f", PKI_MODE_PUBLIC, &text, &msg), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(msg.text, "/s/f: No such file"));
    ck_assert_int_eq(mkfifo(in_top("s/fifo"), 0600), 0); /* nobody writes: must not hang */
    ck_assert_int_eq(pki_store_read(store, "fifo", PKI_MODE_PUBLIC, &text, &msg), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "accepted is a regular file"));
    ck_assert_int_eq(pki_store_write(store, "big", "", PKI_MODE_PUBLIC, false, NULL), ERR_OK);
    ck_assert_int_eq(truncate(in_top("s/big"), (33 << 20)), 0);
    ck_assert_int_eq(pki_store_read(store, "big", PKI_MODE_PUBLIC, &text, &msg), ERR_TOO_BIG);
    ck_assert_int_eq(pki_store_write(store, "no/f", "x", PKI_MODE_PUBLIC, false, &msg),
                     ERR_NOT_FOUND);
}
END_TEST

START_TEST(test_folders)
{
    struct pki_store *other;
    struct errmsg msg;
    char path[PATH_MAX + 1];
    ck_assert_int_eq(pki_store_open(in_top("x/y/z//"), true, &other, NULL), ERR_OK);
    ck_assert_str_eq(pki_store_dir(other), in_top("x/y/z"));
    pki_store_close(other);
    ck_assert_int_eq(pki_store_open(in_top("none"), false, &other, &msg), ERR_NOT_FOUND);
    ck_assert_int_eq(symlink(top, in_top("s/link")), 0);
    ck_assert_int_eq(pki_store_open(in_top("s/link"), true, &other, &msg), ERR_SYSTEM);
    ck_assert_int_eq(pki_store_folder(store, "link", &msg), ERR_SYSTEM);
    ck_assert_int_eq(pki_store_folder(store, "a", NULL), ERR_OK);
    ck_assert_int_eq(pki_store_folder(store, "a", NULL), ERR_OK);
    ck_assert_int_eq(chmod(in_top("s/a"), 0770), 0);
    ck_assert_int_eq(pki_store_folder(store, "a", &msg), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "/s/a: mode 0770 lets others in"));
    ck_assert_int_eq(pki_store_open("", true, &other, &msg), ERR_INVALID);
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(pki_store_open(path, true, &other, &msg), ERR_INVALID);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pki_store");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, test_write_and_replace);
    tcase_add_test(t, test_dangling_link);
    tcase_add_test(t, test_what_cannot_be_read);
    tcase_add_test(t, test_folders);
    return check_main(s);
}
