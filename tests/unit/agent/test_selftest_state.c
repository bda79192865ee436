/* SPDX-License-Identifier: MIT */
#include "agent/service/selftest_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

static char dir[64], path[96];

static void setup(void)
{
    folder_make(dir);
    snprintf(path, sizeof path, "%s/new/er/selftest.json", dir);
}

static void teardown(void)
{
    folder_remove(dir);
}

static struct selftest_result result(uint64_t rate)
{
    struct selftest_result r = {.date_ns = clock_wall_ns(),
                                .cores = host_cores(),
                                .workers = 1,
                                .connections = 50,
                                .tested_rate = rate,
                                .n = 2};
    host_name(r.host, sizeof r.host);
    host_boot_id(r.boot_id, sizeof r.boot_id);
    r.steps[0] = (struct selftest_step){.rate = rate, .achieved = rate};
    r.steps[1] = (struct selftest_step){.rate = 2 * rate, .send_max_ns = UINT64_MAX};
    return r;
}

static void save(const struct selftest_result *r)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(selftest_state_save(path, r, &msg) == ERR_OK, "%s", msg.text);
}

static void write_text(const char *text, size_t len)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, len, f), len);
    fclose(f);
}

/* Nothing of it counts, and it is said why. */
static void check_ignored(const char *why)
{
    struct errmsg msg = {{0}};
    ck_assert_uint_eq(selftest_state_load(path, &msg), 0);
    ck_assert_msg(strstr(msg.text, why) != NULL && strstr(msg.text, path) != NULL, "%s", msg.text);
}

START_TEST(test_round)
{
    struct errmsg msg = {{0}};
    ck_assert_uint_eq(selftest_state_load(path, &msg), 0); /* no file: nothing to say */
    ck_assert_str_eq(msg.text, "");
    struct selftest_result r = result(12345);
    save(&r);
    ck_assert_uint_eq(selftest_state_load(path, &msg), 12345);
    r = result(0);
    save(&r); /* over the old one */
    ck_assert_uint_eq(selftest_state_load(path, &msg), 0);
    ck_assert_str_eq(msg.text, "");
}
END_TEST

START_TEST(test_of_another_host)
{
    struct selftest_result r = result(100);
    r.cores++;
    save(&r);
    check_ignored("another host");
    r = result(100);
    strcpy(r.host, "elsewhere.example");
    save(&r);
    check_ignored("another host");
}
END_TEST

/* Cut anywhere, or with any byte changed, it is read as what it says or not at all. */
START_TEST(test_damaged)
{
    uint64_t seed = check_seed();
    struct selftest_result r = result(100);
    save(&r);
    char *text = file_read(path);
    size_t len = strlen(text);
    for (size_t n = 0; n + 2 < len; n += 1 + n / 16) {
        write_text(text, n);
        check_ignored("hammer.selftest/1");
    }
    for (int i = 0; i < 300; i++) {
        struct errmsg msg = {{0}};
        char *copy = mem_dup(text, len);
        copy[check_below(&seed, len)] = (char)check_below(&seed, 256);
        write_text(copy, len);
        (void)selftest_state_load(path, &msg);
        mem_free(copy);
    }
    mem_free(text);
    char *big = mem_calloc(1 << 17, 1);
    memset(big, '[', 1 << 17);
    write_text(big, 1 << 17);
    check_ignored("hammer.selftest/1");
    mem_free(big);
    static const char other[] = "{\"schema\": \"hammer.selftest/1\", \"tested_rate\": -5}";
    write_text(other, sizeof other - 1);
    check_ignored("another host");
}
END_TEST

START_TEST(test_cannot_save)
{
    struct errmsg msg = {{0}};
    struct selftest_result r = result(100);
    snprintf(path, sizeof path, "/dev/null/selftest.json");
    ck_assert_int_eq(selftest_state_save(path, &r, &msg), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, "--state /dev/null/selftest.json"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent.selftest_state");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_round);
    tcase_add_test(t, test_of_another_host);
    tcase_add_test(t, test_damaged);
    tcase_add_test(t, test_cannot_save);
    suite_add_tcase(s, t);
    return check_main(s);
}
