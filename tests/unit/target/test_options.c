/* SPDX-License-Identifier: MIT */
#include "tests/target/options.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define ARGS_MAX 16

/* Splits at spaces and parses. */
static enum err parse(const char *line, struct httpd_options *o, struct errmsg *msg)
{
    static char copy[256];
    char *argv[ARGS_MAX] = {"hammer-target"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    return httpd_options_parse(argc, argv, o, msg);
}

static struct httpd_options must(const char *line)
{
    struct httpd_options o;
    struct errmsg msg = {{0}};
    ck_assert_msg(parse(line, &o, &msg) == ERR_OK, "%s: %s", line, msg.text);
    return o;
}

START_TEST(test_defaults)
{
    struct httpd_options o = must("");
    char text[HTTPD_ADDRESS_TEXT];
    httpd_address_format(&o.listen, text);
    ck_assert_str_eq(text, "127.0.0.1:8080");
    ck_assert_uint_eq(o.freeze_at_ns, NS_NEVER);
    ck_assert_uint_eq(o.lifetime_ns, 600 * NS_PER_SEC);
    ck_assert_uint_eq(o.status_ppm, 0);
}
END_TEST

START_TEST(test_values)
{
    struct httpd_options o = must("--pause 200ms --every 3000 --freeze-at=2.5s --freeze-for 1s");
    ck_assert_uint_eq(o.pause_ns, 200 * NS_PER_MS);
    ck_assert_uint_eq(o.every, 3000);
    ck_assert_uint_eq(o.freeze_at_ns, 2500 * NS_PER_MS);
    o = must("--slow 1%:100ms --status 0.5%:503 --close-every 7 --announce-close --chunked");
    ck_assert_uint_eq(o.slow_ppm, 10000);
    ck_assert_uint_eq(o.slow_ns, 100 * NS_PER_MS);
    ck_assert_uint_eq(o.status_ppm, 5000);
    ck_assert_uint_eq(o.status, 503);
    ck_assert(o.announce_close && o.chunked);
    o = must("--status 404 --listen [::1]:0");
    char text[HTTPD_ADDRESS_TEXT];
    httpd_address_format(&o.listen, text);
    ck_assert_str_eq(text, "[::1]:0");
    ck_assert_uint_eq(o.status_ppm, HTTPD_EACH);
}
END_TEST

START_TEST(test_refused)
{
    static const char *const lines[] = {
        "--listen 0.0.0.0:80",
        "--listen 10.0.0.1:80",
        "--listen [::]:80",
        "--listen 127.0.0.1",
        "--listen 127.0.0.1:x",
        "--listen 127.0.0.1:65536",
        "--delay 5",
        "--delay -5ms",
        "--delay 2h",
        "--slow 1%",
        "--slow 0%:1ms",
        "--slow 101%:1ms",
        "--status 99",
        "--status 600",
        "--status 1x",
        "--body-size 16777217",
        "--every 3",
        "--pause 1ms",
        "--freeze-at 1s",
        "--every 0 --pause 1ms",
        "--announce-close",
        "--bogus",
        "--delay",
        "--chunked=yes",
        "--close-every 18446744073709551617",
        "stray",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct httpd_options o;
        struct errmsg msg = {{0}};
        ck_assert_msg(parse(lines[i], &o, &msg) == ERR_INVALID, "accepted: %s", lines[i]);
        char flag[32];
        snprintf(flag, sizeof flag, "%.*s", (int)strcspn(lines[i], " ="), lines[i]);
        ck_assert_msg(strstr(msg.text, flag) != NULL, "%s: message is '%s'", lines[i], msg.text);
    }
}
END_TEST

/* Whatever the parser takes is in the help. */
START_TEST(test_help_is_complete)
{
    static const char *const flags[] = {
        "--listen",    "--port-file", "--log",         "--pause",
        "--every",     "--freeze-at", "--freeze-for",  "--delay",
        "--slow",      "--status",    "--close-every", "--announce-close",
        "--body-size", "--chunked",   "--requests",    "--lifetime"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        ck_assert_msg(strstr(httpd_options_help(), flags[i]) != NULL, "%s", flags[i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("target.options");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_defaults);
    tcase_add_test(t, test_values);
    tcase_add_test(t, test_refused);
    tcase_add_test(t, test_help_is_complete);
    suite_add_tcase(s, t);
    return check_main(s);
}
