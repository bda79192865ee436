/* SPDX-License-Identifier: MIT */

/* The manual page hammer-policy(5) against the parser: every key is on it, with the words in which
 * an error says what is accepted. And the file that is installed says what holds without one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/service/policy_file.h"
#include "tests/lib/check_main.h"

#define PAGE_MAX  (64u << 10)
#define THE_PAGE  TEST_DATA_DIR "/../../docs/man/hammer-policy.5.scd"
#define INSTALLED TEST_DATA_DIR "/../../deploy/policy.yml"

static char page[PAGE_MAX];

/* Without backslashes, which are of scdoc's language. */
static void read_page(const char *path)
{
    size_t n = 0;
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    for (int c; (c = fgetc(f)) != EOF && n + 1 < sizeof page;)
        if (c != '\\')
            page[n++] = (char)c;
    page[n] = '\0';
    fclose(f);
}

/* What the parser says behind `before`, about this text. */
static void complaint(const char *text, const char *before, char *out, size_t size)
{
    static struct policy p;
    struct errmsg msg = {{0}};
    ck_assert_int_eq(policy_parse("p.yml", text, strlen(text), &p, &msg), ERR_INVALID);
    const char *at = strstr(msg.text, before);
    ck_assert_msg(at != NULL, "%s: %s", text, msg.text);
    snprintf(out, size, "%s", at + strlen(before));
}

/* Within the mapping between `begin` and `end`; a mapping is what no key takes. */
static void check_key(const char *begin, const char *end, const char *key)
{
    char text[256], form[256], wanted[600];
    snprintf(text, sizeof text, "%s%s: {a: b}%s", begin, key, end);
    complaint(text, ": accepted is ", form, sizeof form);
    snprintf(wanted, sizeof wanted, "\n*%s*\n", key);
    const char *at = strstr(page, wanted);
    ck_assert_msg(at != NULL, "%s is not on the page", key);
    snprintf(wanted, sizeof wanted, "\tAccepted: %s.\n", form);
    const char *said = strstr(at, "\tAccepted: ");
    ck_assert_msg(said != NULL && strncmp(said, wanted, strlen(wanted)) == 0,
                  "%s: the page must say: %s", key, wanted);
}

static size_t check_keys(const char *begin, const char *end)
{
    char text[256], keys[256];
    size_t n = 0;
    snprintf(text, sizeof text, "%snone_such: 1%s", begin, end);
    complaint(text, "unknown key none_such: accepted are ", keys, sizeof keys);
    char *rest = NULL;
    for (char *key = strtok_r(keys, ", ", &rest); key != NULL; key = strtok_r(NULL, ", ", &rest)) {
        check_key(begin, end, key);
        n++;
    }
    return n;
}

START_TEST(test_keys)
{
    read_page(THE_PAGE);
    ck_assert_uint_ge(check_keys("{", "}"), 8);
    ck_assert_uint_ge(check_keys("targets: [{", "}]"), 3);
}
END_TEST

/* The example is what its reader copies. */
START_TEST(test_example)
{
    static struct policy p;
    struct errmsg msg = {{0}};
    read_page(THE_PAGE);
    char *begin = strstr(page, "```\n"), *end = begin != NULL ? strstr(begin + 4, "```\n") : NULL;
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    enum err e = policy_parse("example", begin + 4, (size_t)(end - begin - 4), &p, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(p.n, 2);
}
END_TEST

START_TEST(test_installed)
{
    static struct policy p, loopback;
    struct errmsg msg = {{0}};
    char text[POLICY_SUMMARY_MAX], wanted[POLICY_SUMMARY_MAX];
    read_page(INSTALLED);
    enum err e = policy_parse("policy.yml", page, strlen(page), &p, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    policy_loopback_only(&loopback);
    policy_summary(&p, text, sizeof text);
    policy_summary(&loopback, wanted, sizeof wanted);
    ck_assert_str_eq(text, wanted);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("policy_page");
    TCase *t = tcase_create("page");
    tcase_add_test(t, test_keys);
    tcase_add_test(t, test_example);
    tcase_add_test(t, test_installed);
    suite_add_tcase(s, t);
    return check_main(s);
}
