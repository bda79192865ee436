/* SPDX-License-Identifier: MIT */
#include "common/option_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

struct target {
    bool quiet;
    uint32_t small;
    uint64_t wait_ns;
    struct rate rate;
    char *name;
    struct option_list headers;
};

#define AT(member) .offset = offsetof(struct target, member), .set_offset = OPTION_NO_SET

static const struct option_row rows[] = {
    {.name = "quiet", .aliases = "-q", .type = OPTION_FLAG, AT(quiet), .text = "x"},
    {.name = "small",
     .aliases = "",
     .type = OPTION_U32,
     AT(small),
     .min = 1,
     .max = 9,
     .text = "x"},
    {.name = "wait-time",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(wait_ns),
     .max = NS_PER_SEC,
     .bare_unit = NS_PER_MS,
     .text = "x"},
    {.name = "rate", .aliases = "", .type = OPTION_RATE, AT(rate), .text = "x"},
    {.name = "name", .aliases = "", .type = OPTION_STRING, AT(name), .text = "x"},
    {.name = "header", .aliases = "", .type = OPTION_LIST, AT(headers), .text = "x"},
};

static char dir[64], path[96];

static void setup(void)
{
    folder_make(dir);
    snprintf(path, sizeof path, "%s/f.yml", dir);
}

static void teardown(void)
{
    folder_remove(dir);
}

static enum err read_bytes(const char *bytes, size_t len, struct target *t, struct errmsg *msg)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
    *t = (struct target){0};
    *msg = (struct errmsg){{0}};
    return option_file(rows, N_OF(rows), path, t, msg);
}

static enum err read_text(const char *text, struct target *t, struct errmsg *msg)
{
    return read_bytes(text, strlen(text), t, msg);
}

START_TEST(test_every_type)
{
    struct target t;
    struct errmsg msg;
    enum err e = read_text("# a comment\n"
                           "quiet: true\n"
                           "small: 7\n"
                           "wait-time: 20\n"
                           "rate: 1.5k\n"
                           "name: 'true'\n"
                           "header: [one, \"two: 2\"]\n",
                           &t, &msg);
    ck_assert_msg(e == ERR_OK, "%s", msg.text);
    ck_assert(t.quiet);
    ck_assert_uint_eq(t.small, 7);
    ck_assert_uint_eq(t.wait_ns, 20 * NS_PER_MS);
    ck_assert_uint_eq(t.rate.num, 1500);
    ck_assert_str_eq(t.name, "true");
    ck_assert_uint_eq(t.headers.n, 2);
    ck_assert_str_eq(t.headers.items[1], "two: 2");
    option_clear(rows, N_OF(rows), &t);
}
END_TEST

START_TEST(test_one_item_is_a_list)
{
    struct target t;
    struct errmsg msg;
    ck_assert_int_eq(read_text("header: one\n", &t, &msg), ERR_OK);
    ck_assert_uint_eq(t.headers.n, 1);
    option_clear(rows, N_OF(rows), &t);
}
END_TEST

START_TEST(test_nothing_in_it_is_fine)
{
    static const char *const texts[] = {"", "\n", "# only this\n", "---\n", "{}\n", "---\n...\n"};
    for (size_t i = 0; i < N_OF(texts); i++) {
        struct target t;
        struct errmsg msg;
        ck_assert_msg(read_text(texts[i], &t, &msg) == ERR_OK, "%zu: %s", i, msg.text);
    }
}
END_TEST

/* What is refused, and what its sentence must hold behind "FILE:". */
static const struct {
    const char *text, *says;
} refused[] = {
    {"smal: 7\n", "1:1: unknown key smal: did you mean small?"},
    {"quiet: true\nzzzzzz: 7\n", "2:1: unknown key zzzzzz: accepted are"},
    {"small: 7\nsmall: 8\n", "2:1: small: given twice"},
    {"quiet: yes\n", "1:8: quiet: accepted is true or false"},
    {"quiet: 1\n", "1:8: quiet: accepted is true or false"},
    {"quiet: 'true'\n", "1:8: quiet: accepted is true or false"},
    {"quiet:\n", "1:7: quiet: accepted is true or false"},
    {"small: 10\n", "1:8: small 10: accepted is a whole number from 1 to 9"},
    {"small: x\n", "1:8: small x: accepted is a whole number from 1 to 9"},
    {"small: true\n", "1:8: small: accepted is one number"},
    {"small: [7]\n", "1:8: small: accepted is one number"},
    {"small: {a: 7}\n", "1:8: small: accepted is one number"},
    {"rate: 0\n", "1:7: rate 0: accepted is a rate"},
    {"wait-time: 2s\n", "1:12: wait-time 2s: accepted is a duration"},
    {"name: true\n", "1:7: name: accepted is one text"},
    {"name: ~\n", "1:7: name: accepted is one text"},
    {"name: null\n", "1:7: name: accepted is one text"},
    {"name:\n", "1:6: name: accepted is one text"},
    {"name: \"a\\0b\"\n", "1:7: name: accepted is one text"},
    {"name: !!str a\n", "1:7: name: accepted is one text"},
    {"name: &a a\n", "1:7: name: accepted is one text"},
    {"name: *a\n", "1:7: name: accepted is one text"},
    {"header: [one, [two]]\n", "1:15: header: accepted is"},
    {"header: [one, {a: b}]\n", "1:15: header: accepted is"},
    {"header:\n  - one\n  -\n", "3:4: header: accepted is"},
    {"[quiet]: true\n", "1:1: accepted as a key is"},
    {"? {a: b}\n: true\n", "1:3: accepted as a key is"},
    {"<<: {quiet: true}\n", "1:1: unknown key <<"},
    {"- quiet\n", "1:1: accepted is a mapping"},
    {"quiet\n", "1:1: accepted is a mapping"},
    {"quiet: true\n---\nsmall: 1\n", "2:1: accepted is one document"},
    {"\tquiet: true\n", "1:1: found character that cannot start any token"},
    {"name: \"a\n", "2:1: found unexpected end of stream"},
    {"quiet: [true\n", "1:8: quiet: accepted is true or false"},
    {"name: \xff\xfe\n", ": invalid leading UTF-8 octet"},
};

START_TEST(test_refused)
{
    struct target t;
    struct errmsg msg;
    char want[256];
    enum err e = read_text(refused[_i].text, &t, &msg);
    ck_assert_msg(e == ERR_INVALID || e == ERR_RANGE, "%d: %s", (int)e, refused[_i].text);
    snprintf(want, sizeof want, "%s:%s", path, refused[_i].says);
    if (refused[_i].says[0] == ':')
        ck_assert_msg(strstr(msg.text, refused[_i].says) != NULL, "%s", msg.text);
    else
        ck_assert_msg(strncmp(msg.text, want, strlen(want)) == 0, "%s\nwanted %s", msg.text, want);
    option_clear(rows, N_OF(rows), &t);
}
END_TEST

START_TEST(test_files_that_are_none)
{
    struct target t = {0};
    struct errmsg msg = {{0}};
    ck_assert_int_eq(option_file(rows, N_OF(rows), path, &t, &msg), ERR_NOT_FOUND);
    ck_assert_int_eq(option_file(rows, N_OF(rows), dir, &t, &msg), ERR_SYSTEM);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(option_file(rows, N_OF(rows), path, &t, &msg), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, "not a regular file"));
    unlink(path);
    char *big = mem_calloc(1, (1u << 20) + 1);
    memset(big, '#', (1u << 20) + 1);
    ck_assert_int_eq(read_bytes(big, (1u << 20) + 1, &t, &msg), ERR_TOO_BIG);
    ck_assert_int_eq(read_bytes(big, 1u << 20, &t, &msg), ERR_OK);
    mem_free(big);
}
END_TEST

/* File, then environment, then flags: the later wins, also over the whole of a list. */
START_TEST(test_precedence)
{
    struct target t;
    struct errmsg msg;
    char *argv[] = {"x", "--small", "3", NULL};
    const char *rest[1];
    size_t n;
    ck_assert_int_eq(read_text("small: 1\nname: file\nheader: [a, b]\nrate: 5\n", &t, &msg),
                     ERR_OK);
    setenv("HAMMER_SMALL", "2", 1);
    setenv("HAMMER_NAME", "environment", 1);
    setenv("HAMMER_HEADER", "c", 1);
    ck_assert_int_eq(option_environment(rows, N_OF(rows), &t, &msg), ERR_OK);
    ck_assert_int_eq(option_parse(rows, N_OF(rows), 3, argv, &t, rest, 1, &n, &msg), ERR_OK);
    ck_assert_uint_eq(t.small, 3);
    ck_assert_str_eq(t.name, "environment");
    ck_assert_uint_eq(t.headers.n, 1);
    ck_assert_str_eq(t.headers.items[0], "c");
    ck_assert_uint_eq(t.rate.num, 5);
    option_clear(rows, N_OF(rows), &t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("option_file");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_every_type);
    tcase_add_test(t, test_one_item_is_a_list);
    tcase_add_test(t, test_nothing_in_it_is_fine);
    tcase_add_loop_test(t, test_refused, 0, (int)N_OF(refused));
    tcase_add_test(t, test_files_that_are_none);
    tcase_add_test(t, test_precedence);
    suite_add_tcase(s, t);
    return check_main(s);
}
