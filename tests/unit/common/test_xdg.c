/* SPDX-License-Identifier: MIT */
#include "common/xdg.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

static void set(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

START_TEST(test_where_files_are)
{
    static const struct {
        const char *config, *state, *home;
        const char *config_path, *state_path; /* NULL = there is none */
    } cases[] = {
        {"/c", "/s", "/tmp", "/c/hammer/f", "/s/hammer/f"},
        {"/c", NULL, "/tmp", "/c/hammer/f", "/tmp/.local/state/hammer/f"},
        {NULL, "/s", NULL, NULL, "/s/hammer/f"},
        {"c", "s", "/tmp", "/tmp/.config/hammer/f", "/tmp/.local/state/hammer/f"},
        {"", "", "/tmp", "/tmp/.config/hammer/f", "/tmp/.local/state/hammer/f"},
        {NULL, NULL, "tmp", NULL, NULL},
        {NULL, NULL, "/nonexistent", NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64];
        set("XDG_CONFIG_HOME", cases[i].config);
        set("XDG_STATE_HOME", cases[i].state);
        set("HOME", cases[i].home);
        ck_assert_msg(xdg_config_path("f", path, sizeof path) == (cases[i].config_path != NULL),
                      "case %zu", i);
        if (cases[i].config_path != NULL)
            ck_assert_str_eq(path, cases[i].config_path);
        ck_assert_msg(xdg_state_path("f", path, sizeof path) == (cases[i].state_path != NULL),
                      "case %zu", i);
        if (cases[i].state_path != NULL)
            ck_assert_str_eq(path, cases[i].state_path);
    }
}
END_TEST

START_TEST(test_a_path_is_whole_or_not_there)
{
    char path[16];
    setenv("XDG_CONFIG_HOME", "/c", 1);
    ck_assert(xdg_config_path("f", path, strlen("/c/hammer/f") + 1));
    ck_assert(!xdg_config_path("f", path, strlen("/c/hammer/f")));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("xdg");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_where_files_are);
    tcase_add_test(t, test_a_path_is_whole_or_not_there);
    return check_main(s);
}
