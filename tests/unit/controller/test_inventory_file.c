/* SPDX-License-Identifier: MIT */
#include "controller/run/inventory_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "controller/run/inventory.h"
#include "tests/lib/check_main.h"

static enum err parse(const char *yaml, struct inventory_file *f, struct errmsg *msg)
{
    *msg = (struct errmsg){{0}};
    return inventory_file_parse("agents.yml", yaml, strlen(yaml), f, msg);
}

static const char full[] =
    "# ours\n"
    "agents:\n"
    "  - {name: a1, address: \"127.0.0.1:7401\", weight: 2, groups: [lab, x]}\n"
    "  - name: a2\n"
    "    address: 127.0.0.1:7402\n"
    "    groups: [lab]\n"
    "  - address: ipc:///run/hammer/agent.sock\n"
    "  - address: '[::1]'\n"
    "    groups: [x]\n";

static void expands(const struct inventory_file *f, const char *list, const char *want)
{
    char *out = NULL;
    struct errmsg msg = {{0}};
    ck_assert_msg(inventory_file_expand(f, list, &out, &msg) == ERR_OK, "%s: %s", list, msg.text);
    ck_assert_str_eq(out, want);
    mem_free(out);
}

START_TEST(test_groups)
{
    struct inventory_file f;
    struct errmsg msg;
    struct inventory inv;
    char *all = NULL;
    ck_assert_msg(parse(full, &f, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(f.n, 4);
    expands(&f, "@lab", "a1@127.0.0.1:7401*2,a2@127.0.0.1:7402");
    expands(&f, " @x , localhost", "a1@127.0.0.1:7401*2,[::1], localhost");
    expands(&f, "@lab,@x", "a1@127.0.0.1:7401*2,a2@127.0.0.1:7402,[::1]"); /* a1 once */
    expands(&f, "127.0.0.1", "127.0.0.1");
    expands(&f, ",", ","); /* left to --agents to refuse */
    ck_assert_int_eq(inventory_file_expand(&f, "@all", &all, &msg), ERR_OK);
    ck_assert_int_eq(inventory_parse(all, 0, &inv, &msg), ERR_OK);
    ck_assert_uint_eq(inv.n, 4);
    ck_assert_uint_eq(inv.agents[0].weight, 2);
    ck_assert_str_eq(inv.agents[1].name, "a2");
    ck_assert_str_eq(inv.agents[2].url, "ipc:///run/hammer/agent.sock");
    inventory_clear(&inv);
    mem_free(all);
    ck_assert_int_eq(inventory_file_expand(&f, "@la", &all, &msg), ERR_INVALID);
    ck_assert_str_eq(msg.text,
                     "--agents @la: no agent of agents.yml is in this group; accepted are "
                     "@all, @lab, @x");
    ck_assert_int_eq(inventory_file_expand(&f, "@", &all, &msg), ERR_INVALID);
    inventory_file_clear(&f);
}
END_TEST

START_TEST(test_who_needs_the_file)
{
    ck_assert(inventory_file_needed("@all"));
    ck_assert(inventory_file_needed("127.0.0.1, @x"));
    ck_assert(!inventory_file_needed("127.0.0.1,a@localhost"));
    ck_assert(!inventory_file_needed(""));
    ck_assert(!inventory_file_needed(",,"));
}
END_TEST

static const struct {
    const char *yaml, *where;
} bad[] = {
    {"- a\n", "agents.yml:1:1: accepted is \"agents:\""},
    {"agents: x\n", "agents.yml:1:9: accepted is \"agents:\""},
    {"agnets: []\n", "agents.yml:1:1: accepted is \"agents:\""},
    {"agents: []\nagents: []\n", "agents.yml:2:1: accepted is \"agents:\""},
    {"agents:\n - 127.0.0.1\n", "agents.yml:2:4: accepted as an agent is {"},
    {"agents:\n - {name: a}\n", "agents.yml:2:4: an agent without an address"},
    {"agents:\n - {address: h, port: 1}\n", "agents.yml:2:17: port: unknown key"},
    {"agents:\n - {address: h, address: h}\n", "agents.yml:2:17: address: given twice"},
    {"agents:\n - {address: h, weight: 0}\n", "agents.yml:2:4: h*0: weight"},
    {"agents:\n - {address: h, weight: 1001}\n", "agents.yml:2:4: h*1001: weight"},
    {"agents:\n - {address: h, weight: -1}\n", "agents.yml:2:25: weight: accepted is"},
    {"agents:\n - {address: h, weight: [1]}\n", "agents.yml:2:25: weight: accepted is"},
    {"agents:\n - {address: 'h:99999'}\n", "agents.yml:2:4: h:99999: port"},
    {"agents:\n - {address: 'h*2'}\n", "agents.yml:2:14: address: accepted is"},
    {"agents:\n - {address: 'h,i'}\n", "agents.yml:2:14: address: accepted is"},
    {"agents:\n - {address: 'a@h'}\n", "agents.yml:2:14: address: accepted is"},
    {"agents:\n - {address: \"h\\0i\"}\n", "agents.yml:2:14: address: accepted is"},
    {"agents:\n - {address: ''}\n", "agents.yml:2:14: address: accepted is"},
    {"agents:\n - {address: !x h}\n", "agents.yml:2:14: address: accepted is"},
    {"agents:\n - {address: h, name: 'a b'}\n", "agents.yml:2:23: name: accepted are"},
    {"agents:\n - {address: h, groups: x}\n", "agents.yml:2:25: groups: accepted is"},
    {"agents:\n - {address: h, groups: [all]}\n", "agents.yml:2:26: groups: accepted is"},
    {"agents:\n - {address: h, groups: [a, [b]]}\n", "agents.yml:2:29: groups: accepted is"},
    {"agents:\n - {address: h}\n - {address: h}\n", "agents.yml:3:4: h: this agent is given twice"},
    {"agents:\n - {address: h, name: a}\n - {address: i, name: a}\n",
     "agents.yml:3:23: a: this name is given twice"},
    {"agents: []\n---\nagents: []\n", "agents.yml:3:1: accepted is one document"},
    {"agents: [\n", "agents.yml:"},
    {"agents:\n\t- x\n", "agents.yml:2:1: "},
    {"\xff\xff", "agents.yml:1:1: "},
};

START_TEST(test_mistakes_are_located)
{
    struct inventory_file f;
    struct errmsg msg;
    ck_assert_msg(parse(bad[_i].yaml, &f, &msg) == ERR_INVALID, "%s", bad[_i].yaml);
    ck_assert_msg(strncmp(msg.text, bad[_i].where, strlen(bad[_i].where)) == 0, "%s -> %s",
                  bad[_i].yaml, msg.text);
    ck_assert_uint_eq(f.n, 0);
    ck_assert_ptr_null(f.entries);
}
END_TEST

START_TEST(test_nothing_is_fine)
{
    static const char *const rows[] = {"", "# nobody\n", "agents: []\n"};
    struct inventory_file f;
    struct errmsg msg;
    char *out;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(parse(rows[i], &f, &msg) == ERR_OK, "%s", msg.text);
        ck_assert_uint_eq(f.n, 0);
        ck_assert_int_eq(inventory_file_expand(&f, "@all", &out, &msg), ERR_INVALID);
        inventory_file_clear(&f);
    }
}
END_TEST

/* A long list that aliases repeat must not be copied a thousand times. */
START_TEST(test_aliases_do_not_multiply)
{
    struct inventory_file f;
    struct errmsg msg;
    char yaml[4096] = "agents:\n - {address: h, groups: &g [";
    for (int i = 0; i < 40; i++)
        strcat(yaml, i > 0 ? ",a" : "a");
    strcat(yaml, "]}\n - {address: i, groups: *g}\n");
    ck_assert_int_eq(parse(yaml, &f, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "at most 32"));
    ck_assert_int_eq(parse("agents:\n - {address: h, groups: &g [a]}\n"
                           " - {address: i, groups: *g}\n",
                           &f, &msg),
                     ERR_OK);
    expands(&f, "@a", "h,i");
    inventory_file_clear(&f);
}
END_TEST

START_TEST(test_files)
{
    char dir[] = "/tmp/hammer-inventory-XXXXXX", path[64];
    struct inventory_file f;
    struct errmsg msg;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.yml", dir);
    ck_assert_int_eq(inventory_file_load(path, &f, &msg), ERR_NOT_FOUND);
    ck_assert_int_eq(inventory_file_load(dir, &f, &msg), ERR_SYSTEM);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(inventory_file_load(path, &f, &msg), ERR_SYSTEM); /* and does not block */
    unlink(path);
    FILE *out = fopen(path, "w");
    fputs(full, out);
    fclose(out);
    ck_assert_int_eq(inventory_file_load(path, &f, &msg), ERR_OK);
    ck_assert_uint_eq(f.n, 4);
    inventory_file_clear(&f);
    ck_assert_int_eq(truncate(path, INVENTORY_FILE_MAX + 1), 0);
    ck_assert_int_eq(inventory_file_load(path, &f, &msg), ERR_TOO_BIG);
    unlink(path);
    rmdir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("inventory_file");
    TCase *t = tcase_create("inventory_file");
    tcase_add_test(t, test_groups);
    tcase_add_test(t, test_who_needs_the_file);
    tcase_add_loop_test(t, test_mistakes_are_located, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(t, test_nothing_is_fine);
    tcase_add_test(t, test_aliases_do_not_multiply);
    tcase_add_test(t, test_files);
    suite_add_tcase(s, t);
    return check_main(s);
}
