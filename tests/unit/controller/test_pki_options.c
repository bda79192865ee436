/* SPDX-License-Identifier: MIT */
#include "controller/cmd/pki_options.h"

#include <stdlib.h>
#include <string.h>

#include "controller/cmd/cmd.h"
#include "tests/lib/check_main.h"

static enum err parse(enum pki_command c, char **argv, struct pki_options *o, struct errmsg *msg)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    return pki_options_parse(c, argc, argv, o, msg);
}

#define ARGV(...) ((char *[]){__VA_ARGS__, NULL})

/* What the completion offers is what there is. */
START_TEST(test_words)
{
    char words[128], *rest = words, *word;
    enum pki_command c;
    int n = 0;
    strcpy(words, cmd_pki.words);
    while ((word = strsep(&rest, " ")) != NULL) {
        ck_assert(pki_command_find(word, &c));
        ck_assert_int_eq(c, n++);
    }
    ck_assert_int_eq(n, PKI_CMD_COUNT);
}
END_TEST

/* Every flag belongs to a command, and every command has --dir and --help. */
START_TEST(test_every_flag_is_accepted_somewhere)
{
    struct option_group group[CMD_GROUPS_MAX];
    ck_assert_uint_eq(pki_options_groups(group), PKI_CMD_COUNT);
    for (size_t i = 0; i < group[0].n; i++) {
        char flag[64] = "--";
        int known = 0;
        strcat(flag, group[0].rows[i].name);
        for (enum pki_command c = PKI_CMD_INIT; c < PKI_CMD_COUNT; c++) {
            struct pki_options o;
            struct errmsg msg = {{0}};
            /* A value too much or a missing one is another complaint. */
            if (parse(c, ARGV((char[]){"x"}, flag), &o, &msg) == ERR_OK ||
                strstr(msg.text, "unknown option") == NULL)
                known++;
            pki_options_clear(&o);
        }
        bool everywhere = strcmp(flag, "--dir") == 0 || strcmp(flag, "--help") == 0;
        ck_assert_msg(everywhere ? known == PKI_CMD_COUNT : known > 0 && known < PKI_CMD_COUNT,
                      "%s: %d", flag, known);
    }
}
END_TEST

START_TEST(test_values)
{
    struct pki_options o;
    char **argv = ARGV((char[]){"agent"}, (char[]){"web1"}, (char[]){"--dns"}, (char[]){"a"},
                       (char[]){"--dns=b"}, (char[]){"--days"}, (char[]){"7"}, (char[]){"--force"},
                       (char[]){"--dir"}, (char[]){"/d"}, (char[]){"--out"}, (char[]){"o"});
    ck_assert_int_eq(parse(PKI_CMD_AGENT, argv, &o, NULL), ERR_OK);
    ck_assert_str_eq(o.name, "web1");
    ck_assert_uint_eq(o.dns.n, 2);
    ck_assert_str_eq(o.dns.items[1], "b");
    ck_assert_uint_eq(o.days, 7);
    ck_assert(o.force);
    ck_assert_str_eq(o.dir, "/d");
    ck_assert_str_eq(o.out, "o");
    pki_options_clear(&o);
    ck_assert_int_eq(parse(PKI_CMD_AGENT, ARGV((char[]){"agent"}, (char[]){"a"}), &o, NULL),
                     ERR_OK);
    ck_assert_uint_eq(o.days, PKI_DAYS_DEFAULT);
    ck_assert(!o.force && o.role == NULL);
    pki_options_clear(&o);
}
END_TEST

/* HAMMER_FORCE is another command's. */
START_TEST(test_no_environment)
{
    struct pki_options o;
    setenv("HAMMER_FORCE", "1", 1);
    setenv("HAMMER_DAYS", "5", 1);
    ck_assert_int_eq(parse(PKI_CMD_AGENT, ARGV((char[]){"agent"}, (char[]){"a"}), &o, NULL),
                     ERR_OK);
    ck_assert(!o.force);
    ck_assert_uint_eq(o.days, PKI_DAYS_DEFAULT);
    pki_options_clear(&o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pki_options");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_words);
    tcase_add_test(t, test_every_flag_is_accepted_somewhere);
    tcase_add_test(t, test_values);
    tcase_add_test(t, test_no_environment);
    return check_main(s);
}
