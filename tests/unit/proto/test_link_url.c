/* SPDX-License-Identifier: MIT */
#include "proto/link_url.h"

#include <stdio.h>
#include <string.h>

#include "common/redact.h"
#include "tests/lib/check_main.h"

static const struct {
    const char *url;
    bool dial, listen;
} urls[] = {
    {"tcp://127.0.0.1:7400", true, true},
    {"tcp://[::1]:7400", true, true},
    {"tcp://host-1.example.org:1", true, true},
    {"tcp://127.0.0.1:0", false, true},
    {"tcp://*:7400", false, true},
    {"tcp://:7400", false, true},
    {"tcp://127.0.0.1:65535", true, true},
    {"tcp://127.0.0.1:65536", false, false},
    {"tcp://127.0.0.1:07400", false, false},
    {"tcp://127.0.0.1:-1", false, false},
    {"tcp://127.0.0.1:74 ", false, false},
    {"tcp://127.0.0.1:", false, false},
    {"tcp://127.0.0.1", false, false},
    {"tcp://127.0.0.1:1/path", false, false},
    {"tcp://user@host:1", false, false},
    {"tls+tcp://user:pw@host:1", false, false},
    {"tcp://[::1]", false, false},
    {"tcp://[::1:1", false, false},
    {"tcp://[]:1", false, false},
    {"tcp://::1:7400", false, false},
    {"tcp://", false, false},
    {"tls+tcp://host:7400", true, true},
    {"tls+tcp://[::1]:7400", true, true},
    {"tls+tcp://*:0", false, true},
    {"tls+tcp://host", false, false},
    {"tls+tcp://", false, false},
    {"tls://host:7400", false, false},
    {"tls+ipc:///run/x", false, false},
    {"http://host:7400", false, false},
    {"127.0.0.1:7400", false, false},
    {"", false, false},
    {"ipc:///run/hammer/agent.sock", true, true},
    {"ipc://relative", false, false},
    {"ipc:///", false, false},
    {"ipc://", false, false},
};

START_TEST(test_urls)
{
    struct errmsg msg = {{0}};
    bool dial = link_url_check(urls[_i].url, LINK_URL_DIAL, &msg) == ERR_OK;
    bool listen = link_url_check(urls[_i].url, LINK_URL_LISTEN, &msg) == ERR_OK;
    ck_assert_msg(dial == urls[_i].dial, "dial %s", urls[_i].url);
    ck_assert_msg(listen == urls[_i].listen, "listen %s", urls[_i].url);
    char shown[100];
    redact_url(urls[_i].url, shown, sizeof shown);
    ck_assert_msg(listen || strstr(msg.text, shown) != NULL, "not named: %s", msg.text);
    ck_assert_msg(strstr(msg.text, "user") == NULL || strstr(msg.text, "no user info") != NULL,
                  "%s", msg.text);
}
END_TEST

START_TEST(test_path_length)
{
    char url[200] = "ipc:///";
    struct errmsg msg = {{0}};
    memset(url + 7, 'x', 106);
    ck_assert_int_eq(link_url_check(url, LINK_URL_LISTEN, &msg), ERR_OK);
    strcat(url, "y");
    ck_assert_int_eq(link_url_check(url, LINK_URL_LISTEN, &msg), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(msg.text, "108 bytes, a socket's path at most 107"));
}
END_TEST

START_TEST(test_labels_and_ports)
{
    char buf[64];
    link_url_label("tcp://[::1]:7400", buf, sizeof buf);
    ck_assert_str_eq(buf, "tcp [::1]:7400");
    link_url_label("ipc:///run/x", buf, sizeof buf);
    ck_assert_str_eq(buf, "ipc /run/x");
    link_url_with_port("tcp://[::1]:0", 1234, buf, sizeof buf);
    ck_assert_str_eq(buf, "tcp://[::1]:1234");
    link_url_with_port("ipc:///a:b", 0, buf, sizeof buf);
    ck_assert_str_eq(buf, "ipc:///a:b");
    link_url_label("tls+tcp://a:7400", buf, sizeof buf);
    ck_assert_str_eq(buf, "tls+tcp a:7400");
    link_url_with_port("tls+tcp://[::1]:0", 1234, buf, sizeof buf);
    ck_assert_str_eq(buf, "tls+tcp://[::1]:1234");
    ck_assert(link_url_tls("tls+tcp://a:1"));
    ck_assert(!link_url_tls("tcp://a:1") && !link_url_tls("ipc:///tls+tcp://"));
    ck_assert_str_eq(link_url_path("ipc:///run/x"), "/run/x");
    ck_assert_ptr_null(link_url_path("tcp://a:1"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link_url");
    TCase *t = tcase_create("link_url");
    tcase_add_loop_test(t, test_urls, 0, (int)(sizeof urls / sizeof urls[0]));
    tcase_add_test(t, test_path_length);
    tcase_add_test(t, test_labels_and_ports);
    suite_add_tcase(s, t);
    return check_main(s);
}
