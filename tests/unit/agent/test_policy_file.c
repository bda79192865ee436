/* SPDX-License-Identifier: MIT */
#include "agent/service/policy_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

static struct policy policy;
static struct errmsg msg;

static enum err parse(const char *text)
{
    msg.text[0] = '\0';
    memset(&policy, 0xee, sizeof policy);
    return policy_parse("p.yml", text, strlen(text), &policy, &msg);
}

static void accepted(const char *text)
{
    ck_assert_msg(parse(text) == ERR_OK, "%s: %s", text, msg.text);
}

START_TEST(test_whole)
{
    accepted("# a comment\n"
             "targets:\n"
             "  - cidr: 10.0.0.0/8\n"
             "    ports: [80, 443, 8000-8100]\n"
             "  - host: '*.Staging.Example'\n"
             "    ports: 443\n"
             "  - {cidr: 2001:db8::/32, host: api.example}\n"
             "deny: [10.9.0.0/16, 192.0.2.7]\n"
             "max_rate: 6/m\n"
             "max_connections: 1k\n"
             "max_duration: 1m30s\n"
             "max_body: 64KiB\n"
             "methods: [GET, HEAD, M-SEARCH]\n"
             "scripts: true\n");
    ck_assert_str_eq(policy.source, "p.yml");
    ck_assert(!policy.any && policy.scripts && !policy.any_method && !policy.unlimited_rate);
    ck_assert_uint_eq(policy.n, 3);
    ck_assert(policy.rules[0].has_prefix && policy.rules[0].applies);
    ck_assert_uint_eq(policy.rules[0].n_ports, 3);
    ck_assert_uint_eq(policy.rules[0].ports[2].from, 8000);
    ck_assert_uint_eq(policy.rules[0].ports[2].to, 8100);
    ck_assert_uint_eq(policy.rules[0].line, 3);
    ck_assert(!policy.rules[1].has_prefix && !policy.rules[1].applies);
    ck_assert_str_eq(policy.rules[1].host, "*.staging.example");
    ck_assert(policy.rules[2].has_prefix && !policy.rules[2].applies);
    ck_assert_uint_eq(policy.n_deny, 2);
    ck_assert_uint_eq(policy.deny[1].prefix.bits, 32);
    ck_assert_uint_eq(policy.deny[1].line, 8);
    ck_assert_uint_eq(policy.max_rate.num, 1);
    ck_assert_uint_eq(policy.max_rate.den, 10);
    ck_assert_uint_eq(policy.max_connections, 1000);
    ck_assert_uint_eq(policy.max_duration_ns, 90 * NS_PER_SEC);
    ck_assert_uint_eq(policy.max_body, 65536);
    ck_assert_uint_eq(policy.n_methods, 3);
    ck_assert_str_eq(policy.methods[2], "M-SEARCH");
    ck_assert_uint_eq(policy.cap_lines[POLICY_MAX_RATE], 9);
    ck_assert_uint_eq(policy.cap_lines[POLICY_METHODS], 13);
}
END_TEST

/* What the file does not speak of is as without a file. */
START_TEST(test_defaults)
{
    struct policy without;
    policy_loopback_only(&without);
    accepted("scripts: false\n");
    policy.source[0] = '\0';
    memset(policy.source, 0, sizeof policy.source);
    ck_assert_int_eq(memcmp(&policy, &without, sizeof policy), 0);
    accepted("targets:\n- cidr: ::1\n- cidr: '::/0'\n");
    ck_assert_uint_eq(policy.rules[0].prefix.bits, 128);
    ck_assert_uint_eq(policy.rules[1].prefix.bits, 0);
    accepted("targets: []");
    ck_assert_uint_eq(policy.n, 0);
    accepted("{max_body: 0}");
    ck_assert_uint_eq(policy.max_body, 0);
    accepted("methods: []");
    ck_assert(!policy.any_method);
}
END_TEST

static const struct {
    const char *text, *want;
} refusals[] = {
    {"", "p.yml:1:1: the file is empty: accepted is a mapping of rules"},
    {"# nothing\n", "the file is empty"},
    {"- a\n", "p.yml:1:1: accepted is a mapping of rules, such as max_rate: 1000"},
    {"max_rate", "p.yml:1:1: accepted is a mapping"},
    {"max_rate: 1\nmax_rat: 5\n",
     "p.yml:2:1: unknown key max_rat: accepted are targets, unix, deny, max_rate, "
     "max_connections, max_duration, max_body, methods, scripts"},
    {"max_rate: 1\nmax_body: 2\nmax_rate: 1\n", "p.yml:3:1: max_rate is given a second time"},
    {"[a]: 1\n", "p.yml:1:1: a list as a key"},
    {"'': 1\n", "unknown key \"\""},
    {"\"max_rate\\0\": 1\n", "unknown key"},
    {"<<: {max_rate: 1}\n", "unknown key <<"},
    {"max_rate: fast\n", "p.yml:1:11: max_rate: fast: accepted is a rate such as 1000"},
    {"max_rate: 0\n", "p.yml:1:11: max_rate: 0: accepted"},
    {"max_rate: -1\n", "max_rate: -1: accepted"},
    {"max_rate:\n", "max_rate: \"\": accepted"},
    {"max_rate: ~\n", "max_rate: ~: accepted"},
    {"max_rate: [1]\n", "max_rate is a list: accepted"},
    {"max_rate: {a: 1}\n", "max_rate is a mapping: accepted"},
    {"max_rate: \"1\\0\"\n", "max_rate: 1: accepted"},
    {"max_rate: !!int 5\n", "max_rate: 5: accepted"},
    {"max_connections: 0\n", "p.yml:1:18: max_connections: 0: accepted is a whole number"},
    {"max_connections: 1.5\n", "max_connections: 1.5"},
    {"max_connections: 5000000000\n", "max_connections: 5000000000"},
    {"max_duration: soon\n", "p.yml:1:15: max_duration: soon: accepted is a duration such as"},
    {"max_duration: 0s\n", "max_duration: 0s"},
    {"max_body: many\n", "p.yml:1:11: max_body: many: accepted is a number of bytes such as"},
    {"max_body: 1GiB\n", "max_body: 1GiB"},
    {"max_body: KiB\n", "max_body: KiB"},
    {"max_body: 99999999999999MiB\n", "max_body: 99999999999999MiB"},
    {"methods: GET\n", "p.yml:1:10: methods: GET: accepted is a list of methods in capitals"},
    {"methods: [get]\n", "p.yml:1:11: methods: get: accepted is a list of methods in capitals"},
    {"methods: [GET, [HEAD]]\n", "p.yml:1:16: methods is a list: accepted"},
    {"methods: [A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P,Q]\n",
     "p.yml:1:10: methods: 17 entries: accepted are at most 16"},
    {"scripts: yes\n", "p.yml:1:10: scripts: yes: accepted is true or false"},
    {"scripts: True\n", "scripts: True"},
    {"targets: any\n", "p.yml:1:10: targets: any: accepted is a list of mappings"},
    {"targets: {cidr: 10.0.0.1}\n", "p.yml:1:10: targets is a mapping: accepted is a list"},
    {"targets: [10.0.0.0/8]\n", "p.yml:1:11: targets: 10.0.0.0/8: accepted is a list of mappings"},
    {"targets:\n  - ports: 80\n", "p.yml:2:5: an entry of targets without cidr and host"},
    {"targets:\n  - cidr: 10.0.0.0/8\n    port: 80\n",
     "p.yml:3:5: unknown key port: accepted are cidr, host, ports"},
    {"targets:\n  - cidr: 10.0.0.0/8\n    cidr: ::1\n", "p.yml:3:5: cidr is given a second time"},
    {"targets: [{cidr: 10.0.0.1/8}]\n",
     "p.yml:1:18: cidr: 10.0.0.1/8 has bits set beyond its prefix: accepted is 10.0.0.0/8"},
    {"targets: [{cidr: any}]\n", "cidr: any: accepted is an address or ADDRESS/BITS"},
    {"targets: [{cidr: 10.0.0.0/33}]\n", "cidr: 10.0.0.0/33"},
    {"targets: [{host: '*'}]\n", "host: *: accepted is a name or *.NAME"},
    {"targets: [{host: '*.'}]\n", "host: *."},
    {"targets: [{host: 'a.*.b'}]\n", "host: a.*.b"},
    {"targets: [{host: a..b}]\n", "host: a..b"},
    {"targets: [{host: .a}]\n", "host: .a"},
    {"targets: [{host: a.}]\n", "host: a."},
    {"targets: [{host: 10.0.0.1}]\n", "host: 10.0.0.1"},
    {"targets: [{host: '*.1'}]\n", "host: *.1"},
    {"targets: [{host: 'a b'}]\n", "host: a b"},
    {"targets: [{cidr: 10.0.0.1, ports: 0}]\n", "ports: 0: accepted is a port of 1 to 65535"},
    {"targets: [{cidr: 10.0.0.1, ports: 65536}]\n", "ports: 65536"},
    {"targets: [{cidr: 10.0.0.1, ports: 90-80}]\n", "ports: 90-80"},
    {"targets: [{cidr: 10.0.0.1, ports: 80-}]\n", "ports: 80-"},
    {"targets: [{cidr: 10.0.0.1, ports: 80,443}]\n", "unknown key 443"},
    {"targets: [{cidr: 10.0.0.1, ports: '80,443'}]\n", "ports: 80,443"},
    {"targets: [{cidr: 10.0.0.1, ports: []}]\n", "ports is empty"},
    {"targets: [{cidr: 10.0.0.1, ports: {80: 1}}]\n", "ports is a mapping"},
    {"deny: [any]\n", "p.yml:1:8: deny: any: accepted is a list of addresses and ADDRESS/BITS"},
    {"unix: [run/app]\n", "p.yml:1:8: unix: run/app: accepted is a list of absolute paths"},
    {"unix: ['*']\n", "unix: *: accepted is a list of absolute paths of UNIX sockets"},
    {"unix: [/1, /2, /3, /4, /5, /6, /7, /8, /9]\n", "accepted"},
    {"deny: 10.0.0.0/8\n", "deny: 10.0.0.0/8: accepted is a list"},
    {"deny: [10.0.0.1/8]\n", "accepted is 10.0.0.0/8"},
    {"max_rate: 1\n---\nmax_rate: 2\n", "p.yml:3:1: a second document: accepted is one"},
    {"max_rate: [1\n", "not valid YAML: did not find expected"},
    {"\tmax_rate: 1\n", "not valid YAML"},
    {"max_rate: *a\n", "not valid YAML: found undefined alias"},
    {"max_rate: \xff\n", "not valid YAML: invalid"},
};

START_TEST(test_refusals)
{
    struct policy before;
    enum err e = parse(refusals[_i].text);
    ck_assert_msg(e == ERR_INVALID && strstr(msg.text, refusals[_i].want) != NULL,
                  "%s\n  says: %s\n  want: %s", refusals[_i].text, msg.text, refusals[_i].want);
    ck_assert_int_eq(strncmp(msg.text, "p.yml:", 6), 0);
    memset(&before, 0xee, sizeof before); /* a policy that is read in part is none */
    ck_assert_int_eq(memcmp(&policy, &before, sizeof policy), 0);
}
END_TEST

START_TEST(test_too_many_rules)
{
    char text[65 * 24 + 16] = "targets:\n";
    for (int i = 0; i < 65; i++)
        strcat(text, "- {cidr: 10.0.0.0/8}\n");
    ck_assert_int_eq(parse(text), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "65 entries: accepted are at most 64"));
}
END_TEST

/* An anchor in itself ends, and many aliases stay within the bounds. */
START_TEST(test_aliases)
{
    ck_assert_int_eq(parse("targets: &a [*a]\n"), ERR_INVALID);
    ck_assert_int_eq(parse("targets: &a [{cidr: 10.0.0.1, ports: *a}]\n"), ERR_INVALID);
    accepted("targets: [&a {cidr: 10.0.0.0/8}, *a]\n");
    ck_assert_uint_eq(policy.n, 2);
}
END_TEST

/* --- the file ------------------------------------------------------------------------------- */

static char folder[64], path[96];

static void write_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static void make_folder(void)
{
    folder_make(folder);
    snprintf(path, sizeof path, "%s/policy.yml", folder);
}

static void remove_folder(void)
{
    folder_remove(folder);
}

static enum err load(void)
{
    msg.text[0] = '\0';
    return policy_load(path, &policy, &msg);
}

START_TEST(test_load)
{
    static const mode_t fine[] = {0600, 0644, 0444, 0400, 0755};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        write_file("max_connections: 7\n", fine[i]);
        ck_assert_msg(load() == ERR_OK, "%s", msg.text);
        ck_assert_uint_eq(policy.max_connections, 7);
        ck_assert_int_eq(unlink(path), 0);
    }
    write_file("max_connections: x\n", 0644);
    ck_assert_int_eq(load(), ERR_INVALID);
    char want[128];
    snprintf(want, sizeof want, "%s:1:18: max_connections: x: ", path);
    ck_assert_ptr_eq(strstr(msg.text, want), msg.text);
}
END_TEST

START_TEST(test_whoever_may_write_it)
{
    static const mode_t bad[] = {0620, 0602, 0666, 0777};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file("max_connections: 7\n", bad[i]);
        ck_assert_int_eq(load(), ERR_REFUSED);
        ck_assert_ptr_nonnull(strstr(msg.text, "chmod go-w"));
    }
    write_file("max_connections: 7\n", 0644);
    if (geteuid() != 0) /* only root can give a file away */
        return;
    ck_assert_int_eq(chown(path, 65534, (gid_t)-1), 0);
    ck_assert_int_eq(load(), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "belongs to user 65534"));
}
END_TEST

START_TEST(test_what_is_no_file)
{
    ck_assert_int_eq(load(), ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(msg.text, path));
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(load(), ERR_REFUSED); /* and does not wait for a writer */
    ck_assert_int_eq(unlink(path), 0);
    write_file("", 0600);
    ck_assert_int_eq(truncate(path, POLICY_FILE_MAX + 1), 0);
    ck_assert_int_eq(load(), ERR_REFUSED);
    ck_assert_ptr_nonnull(strstr(msg.text, "accepted are at most 1048576"));
}
END_TEST

START_TEST(test_long_names_fit)
{
    char name[4096];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    name[sizeof name - 2] = '\n';
    ck_assert_int_eq(policy_parse(name, "scripts: true", 13, &policy, &msg), ERR_OK);
    ck_assert_uint_eq(strlen(policy.source), sizeof policy.source - 1);
    ck_assert_int_eq(strncmp(policy.source, "...nnn", 6), 0);
    ck_assert_ptr_null(strchr(policy.source, '\n'));
    ck_assert_int_eq(policy_parse(name, "x", 1, &policy, &msg), ERR_INVALID);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("policy_file");
    TCase *t = tcase_create("text");
    tcase_add_test(t, test_whole);
    tcase_add_test(t, test_defaults);
    tcase_add_loop_test(t, test_refusals, 0, sizeof refusals / sizeof refusals[0]);
    tcase_add_test(t, test_too_many_rules);
    tcase_add_test(t, test_aliases);
    tcase_add_test(t, test_long_names_fit);
    suite_add_tcase(s, t);
    TCase *f = tcase_create("file");
    tcase_add_checked_fixture(f, make_folder, remove_folder);
    tcase_add_test(f, test_load);
    tcase_add_test(f, test_whoever_may_write_it);
    tcase_add_test(f, test_what_is_no_file);
    suite_add_tcase(s, f);
    return check_main(s);
}
