/* SPDX-License-Identifier: MIT */
/* The live view on a terminal, and what stands in its place where there is none. */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"
#include "tests/lib/terminal.h"

static struct target_process target;
static struct terminal t;

static void set_up(void)
{
    target_start(&target, NULL);
}

static void tear_down(void)
{
    target_stop(&target);
}

static void begin(size_t width, size_t height, const char *const *env, const char *seconds)
{
    const char *args[] = {"run", "--json", "-r",    "100",      "--local",
                          "2",   "-d",     seconds, target.url, NULL};
    terminal_start(&t, width, height, env, "hammer-ctl", args);
}

/* The report is whole, and of the block nothing is left. */
static void finish(int want)
{
    int code = terminal_end(&t, 30000);
    ck_assert_msg(code == want || code == 4, "exit code %d", code);
    char *out = terminal_stdout(&t);
    json_t *r = report_parse(out);
    ck_assert_ptr_nonnull(report_at(r, "totals.sent"));
    json_decref(r);
    mem_free(out);
    char *text = terminal_text(&t);
    static const char *const parts[] = {"corrected", "in flight", " of 100/s", "local-1"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_msg(terminal_count(&t, parts[i]) == 0, "%s", text);
    mem_free(text);
}

START_TEST(test_block)
{
    begin(100, 24, NULL, "3");
    terminal_write(&t, "$ hammer-ctl run\r\n");
    terminal_wait(&t, "running", 20000);
    terminal_wait(&t, " of 100/s", 20000);
    terminal_wait(&t, "uncorrected", 20000);
    terminal_wait(&t, "local-2", 20000);
    ck_assert_uint_eq(terminal_count(&t, "uncorrected"), 1);
    finish(0);
    ck_assert_uint_eq(terminal_count(&t, "$ hammer-ctl run"), 1);
    ck_assert_uint_gt(t.colours, 0);
}
END_TEST

/* Whatever the width that it was broken at; a row does not show its last spaces. */
static bool has_note(const char *text)
{
    static const char note[] = "hammer-ctl:agent";
    size_t at = 0;
    for (; *text != '\0' && note[at] != '\0'; text++)
        if (*text != '\n' && *text != ' ')
            at = *text == note[at] ? at + 1 : *text == note[0];
    return note[at] == '\0';
}

/* Lower than the block, narrower than its lines, and as small as can be. */
static const size_t sizes[][2] = {{100, 5}, {20, 24}, {20, 3}, {10, 1}, {1, 1}};

START_TEST(test_small)
{
    begin(sizes[_i][0], sizes[_i][1], NULL, "2");
    if (sizes[_i][0] > 1)
        terminal_wait(&t, "running", 20000);
    finish(0);
    /* Nothing has scrolled again and again: not the block, that is. On a machine that is too busy
     * an agent may have been late, and a note of that stays. */
    char *text = terminal_text(&t);
    ck_assert_msg(t.last < 12 || has_note(text), "%s", text);
    mem_free(text);
}
END_TEST

START_TEST(test_resize)
{
    begin(120, 24, NULL, "4");
    terminal_write(&t, "$ mine\r\n");
    terminal_wait(&t, "uncorrected", 20000);
    terminal_resize(&t, 40, 24);
    terminal_wait(&t, "corr. p99", 20000);
    terminal_resize(&t, 120, 30);
    terminal_wait(&t, "p99 last s", 20000);
    terminal_wait_count(&t, "running", 3, 20000); /* the head and both agents */
    finish(0);
    ck_assert_uint_eq(terminal_count(&t, "$ mine"), 1);
}
END_TEST

/* Ctrl-C: the note stands above the block and stays. */
START_TEST(test_interrupt)
{
    begin(100, 24, NULL, "60");
    terminal_wait(&t, "uncorrected", 20000);
    terminal_type(&t, "\003");
    terminal_wait(&t, "hammer-ctl: stopping the agents; again to quit at once", 20000);
    finish(130);
    ck_assert_uint_eq(terminal_count(&t, "hammer-ctl: stopping the agents"), 1);
}
END_TEST

/* The shell has written something meanwhile. */
START_TEST(test_stopped_and_continued)
{
    begin(100, 24, NULL, "4");
    terminal_wait(&t, "uncorrected", 20000);
    kill(t.pid, SIGSTOP);
    terminal_write(&t, "[1]+  Stopped\r\n$ fg\r\n");
    kill(t.pid, SIGCONT);
    terminal_end(&t, 30000);
    mem_free(terminal_stdout(&t));
    ck_assert_uint_eq(terminal_count(&t, "[1]+  Stopped"), 1);
    ck_assert_uint_eq(terminal_count(&t, "$ fg"), 1);
}
END_TEST

START_TEST(test_no_color)
{
    static const char *const env[][2] = {{"NO_COLOR=1", NULL}, {"CLICOLOR=0", NULL}};
    begin(100, 24, env[_i], "2");
    terminal_wait(&t, "running", 20000);
    finish(0);
    ck_assert_uint_eq(t.colours, 0);
}
END_TEST

START_TEST(test_dumb)
{
    static const char *const env[] = {"TERM=dumb", NULL};
    begin(100, 24, env, "1");
    finish(0);
    ck_assert_uint_eq(t.escapes, 0);
}
END_TEST

/* Ctrl-S: the run goes on to its report. */
START_TEST(test_held)
{
    begin(100, 24, NULL, "3");
    terminal_wait(&t, "running", 20000);
    terminal_hold(&t, true);
    int code = terminal_end(&t, 20000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d", code);
    char *out = terminal_stdout(&t);
    json_t *r = report_parse(out);
    ck_assert_int_eq(report_int(r, "totals.sent"), 300);
    json_decref(r);
    mem_free(out);
}
END_TEST

START_TEST(test_wide_names)
{
    struct agent_process agents[2];
    static const char *const names[][3] = {{"--name", "压力测试节点", NULL},
                                           {"--name", "node", NULL}};
    char list[200];
    agent_start(&agents[0], names[0]);
    agent_start(&agents[1], names[1]);
    snprintf(list, sizeof list, "%s,%s", agents[0].address, agents[1].address);
    const char *args[] = {"run", "-r", "100", "-d", "3", "--agents", list, target.url, NULL};
    terminal_start(&t, 100, 24, NULL, "hammer-ctl", args);
    terminal_wait(&t, "node                     running", 20000);
    terminal_wait(&t, "压力测试节点             running", 20000);
    terminal_end(&t, 20000);
    mem_free(terminal_stdout(&t));
    agent_stop(&agents[0]);
    agent_stop(&agents[1]);
}
END_TEST

/* Not a terminal: a line every 10 s, but the report takes the place of the last one. */
START_TEST(test_lines)
{
    struct process p;
    const char *args[] = {"run", "-r", "50", "-d", "11", target.url, NULL};
    process_run(&p, "hammer-ctl", args, 60000);
    const char *line = strstr(p.err, "hammer-ctl:   10.0s  ");
    ck_assert_msg(line != NULL && strstr(line, " corrected  p50 ") != NULL, "%s", p.err);
    ck_assert_ptr_null(strstr(line + 1, "hammer-ctl:   "));
    ck_assert_ptr_null(strchr(p.err, '\033'));
    process_end(&p);
}
END_TEST

/* A bare chroot has no /dev/pts. */
static bool has_terminals(void)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY);
    bool has = fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

int main(void)
{
    if (!has_terminals()) {
        puts("not run: this system has no pseudo-terminals (/dev/pts)");
        return 0;
    }
    Suite *s = suite_create("live");
    TCase *tc = tcase_create("live");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test_block);
    tcase_add_loop_test(tc, test_small, 0, sizeof sizes / sizeof sizes[0]);
    tcase_add_test(tc, test_resize);
    tcase_add_test(tc, test_interrupt);
    tcase_add_test(tc, test_stopped_and_continued);
    tcase_add_loop_test(tc, test_no_color, 0, 2);
    tcase_add_test(tc, test_dumb);
    tcase_add_test(tc, test_held);
    tcase_add_test(tc, test_wide_names);
    tcase_add_test(tc, test_lines);
    suite_add_tcase(s, tc);
    return check_main(s);
}
