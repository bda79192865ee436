/* SPDX-License-Identifier: MIT */
#include "agent/service/agent_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

static char dir[64], config[96];
static struct agent_options o;
static struct errmsg msg;

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void setup(void)
{
    static const char *const names[] = {"CREDENTIALS_DIRECTORY", "STATE_DIRECTORY", "HAMMER_CONFIG",
                                        "HAMMER_NAME"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    folder_make(dir);
    snprintf(config, sizeof config, "%s/agent.yml", dir);
}

static void teardown(void)
{
    agent_options_clear(&o);
    folder_remove(dir);
}

/* With the config file of the test and up to four further words. */
static enum err read_with(const char *a, const char *b, const char *c, const char *d)
{
    char *argv[8] = {(char *)"hammer-agent", (char *)"--config", config, NULL};
    const char *const words[] = {a, b, c, d};
    int argc = 3;
    for (size_t i = 0; i < 4 && words[i] != NULL; i++)
        argv[argc++] = (char *)(uintptr_t)words[i];
    agent_options_clear(&o);
    msg = (struct errmsg){{0}};
    return agent_options_read(&o, argc, argv, &msg);
}

START_TEST(test_flag_environment_file_default)
{
    write_file(config, "name: file\nlisten: ipc:///file\nlog-level: warning\nlog-format: json\n");
    ck_assert_int_eq(read_with(NULL, NULL, NULL, NULL), ERR_OK);
    ck_assert_str_eq(o.name, "file");
    ck_assert_int_eq(agent_options_log_level(&o), LOG_LEVEL_WARN);
    ck_assert(o.log_json);
    setenv("HAMMER_NAME", "environment", 1);
    ck_assert_int_eq(read_with(NULL, NULL, NULL, NULL), ERR_OK);
    ck_assert_str_eq(o.name, "environment");
    ck_assert_int_eq(read_with("--name", "flag", "-v", NULL), ERR_OK);
    ck_assert_str_eq(o.name, "flag");
    ck_assert_str_eq(o.listen, "ipc:///file");
    ck_assert_int_eq(agent_options_log_level(&o), LOG_LEVEL_DEBUG);
    write_file(config, "");
    ck_assert_int_eq(read_with(NULL, NULL, NULL, NULL), ERR_OK);
    ck_assert_str_eq(o.listen, AGENT_LISTEN_DEFAULT);
    ck_assert_int_eq(agent_options_log_level(&o), LOG_LEVEL_INFO);
    ck_assert(!o.log_json);
}
END_TEST

/* A file that is named must be there; it cannot name another, nor say what the process shall do
 * instead of serving. */
START_TEST(test_what_a_file_may_not)
{
    ck_assert_int_eq(read_with(NULL, NULL, NULL, NULL), ERR_NOT_FOUND);
    static const char *const lines[] = {"config: x\n", "check-config: true\n", "once: true\n",
                                        "help: true\n", "version: true\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        write_file(config, lines[i]);
        ck_assert_int_eq(read_with(NULL, NULL, NULL, NULL), ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(msg.text, "agent.yml:1:1: unknown key"));
    }
    ck_assert_int_eq(read_with("--help", NULL, NULL, NULL), ERR_OK); /* not read at all */
}
END_TEST

/* Each of the four on its own: a flag, else a credential that is more than the unit's blank line,
 * else /etc/hammer/pki. */
START_TEST(test_certificates)
{
    char path[128];
    write_file(config, "");
    setenv("CREDENTIALS_DIRECTORY", dir, 1);
    snprintf(path, sizeof path, "%s/agent.key", dir);
    write_file(path, "-----BEGIN PRIVATE KEY-----\n");
    snprintf(path, sizeof path, "%s/agent.crt", dir);
    write_file(path, "\n");
    ck_assert_int_eq(read_with("--tls-ca", "/my/ca", NULL, NULL), ERR_OK);
    ck_assert_str_eq(o.tls_ca, "/my/ca");
    ck_assert_str_eq(o.tls_cert, "/etc/hammer/pki/agent.crt");
    ck_assert_str_eq(o.tls_crl, "/etc/hammer/pki/crl.pem");
    snprintf(path, sizeof path, "%s/agent.key", dir);
    ck_assert_str_eq(o.tls_key, path);
    snprintf(path, sizeof path, "%s/crl.pem", dir);
    agent_options_clear(&o);
    ck_assert_int_eq(read_with("--tls-crl", path, NULL, NULL), ERR_NOT_FOUND);
    ck_assert_msg(strstr(msg.text, path) != NULL, "%s", msg.text);
    write_file(path, "");
    agent_options_clear(&o);
    ck_assert_int_eq(read_with("--tls-crl", path, NULL, NULL), ERR_OK);
}
END_TEST

START_TEST(test_audit)
{
    write_file(config, "");
    ck_assert_int_eq(read_with(NULL, NULL, NULL, NULL), ERR_OK);
    ck_assert_ptr_null(o.audit);
    setenv("STATE_DIRECTORY", "/var/lib/hammer", 1);
    ck_assert_int_eq(read_with(NULL, NULL, NULL, NULL), ERR_OK);
    ck_assert_str_eq(o.audit, "/var/lib/hammer/audit.jsonl");
    ck_assert_int_eq(read_with("--once", NULL, NULL, NULL), ERR_OK);
    ck_assert_ptr_null(o.audit);
    ck_assert_int_eq(agent_options_log_level(&o), LOG_LEVEL_ERROR);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent_options");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_flag_environment_file_default);
    tcase_add_test(t, test_what_a_file_may_not);
    tcase_add_test(t, test_certificates);
    tcase_add_test(t, test_audit);
    suite_add_tcase(s, t);
    return check_main(s);
}
