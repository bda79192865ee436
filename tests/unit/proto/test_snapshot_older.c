/* SPDX-License-Identifier: MIT */
/* What agents of earlier versions send is still read. */
#include <stdio.h>

#include "common/mem.h"
#include "proto/snapshot.h"
#include "tests/lib/check_main.h"

#define CORPUS TEST_DATA_DIR "/../fuzz/corpus/snapshot/"

static enum err decode_file(const char *path, struct snapshot **s)
{
    uint8_t bytes[16384];
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    size_t len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    ck_assert(len > 0 && len < sizeof bytes);
    return snapshot_decode(bytes, len, s);
}

START_TEST(test_one_without_health)
{
    struct snapshot *s;
    ck_assert_int_eq(decode_file(CORPUS "without_health", &s), ERR_OK);
    ck_assert(s->spin_ns == 0 && s->context_switches == 0 && s->preemptions == 0);
    ck_assert_uint_eq(s->cpu_ns, 3);
    struct snapshot *now;
    ck_assert_int_eq(decode_file(CORPUS "without_tls", &now), ERR_OK);
    ck_assert(now->spin_ns == 7 && now->context_switches == 8 && now->preemptions == 9);
    struct errmsg msg = {{0}};
    ck_assert_msg(snapshot_same_data(s, now, &msg), "%s", msg.text);
    snapshot_free(s);
    snapshot_free(now);
}
END_TEST

START_TEST(test_one_without_tls)
{
    struct snapshot *s;
    struct errmsg msg;
    ck_assert_int_eq(decode_file(CORPUS "without_tls", &s), ERR_OK);
    struct counters c = snapshot_counters(s);
    ck_assert(s->n_suites == 0 && c.handshakes == 0 && c.handshake_errors == 0);
    ck_assert_ptr_null(s->series[0].hists[HIST_TLS]);
    struct snapshot *now;
    ck_assert_int_eq(decode_file(CORPUS "all", &now), ERR_OK);
    ck_assert_uint_eq(now->n_suites, 2);
    ck_assert_str_eq(now->suites[1].text, "TLSv1.3 TLS_AES_128_GCM_SHA256");
    ck_assert_uint_eq(now->suites[1].count, 20);
    ck_assert(!snapshot_same_data(s, now, &msg));
    snapshot_free(s);
    snapshot_free(now);
}
END_TEST

START_TEST(test_one_without_phases)
{
    struct snapshot *s;
    ck_assert_int_eq(decode_file(CORPUS "without_phases", &s), ERR_OK);
    struct counters c = snapshot_counters(s);
    ck_assert(c.handshake_errors > 0 && c.failed_connect == 0 && c.lookup_errors == 0);
    ck_assert(s->series[0].hists[HIST_TLS] != NULL && s->series[0].hists[HIST_DOWNLOAD] == NULL);
    snapshot_free(s);
}
END_TEST

START_TEST(test_impossible_health_is_refused)
{
    struct snapshot *s = snapshot_new(), *back;
    uint64_t *const members[] = {&s->spin_ns, &s->context_switches, &s->preemptions};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        uint8_t *buf;
        size_t len;
        *members[i] = SNAPSHOT_COUNT_MAX + 1;
        ck_assert_int_eq(snapshot_encode(s, &buf, &len), ERR_OK);
        ck_assert_int_eq(snapshot_decode(buf, len, &back), ERR_RANGE);
        ck_assert_ptr_null(back);
        mem_free(buf);
        *members[i] = 0;
    }
    snapshot_free(s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("snapshot_older");
    TCase *t = tcase_create("snapshot_older");
    tcase_add_test(t, test_one_without_health);
    tcase_add_test(t, test_one_without_tls);
    tcase_add_test(t, test_one_without_phases);
    tcase_add_test(t, test_impossible_health_is_refused);
    suite_add_tcase(s, t);
    return check_main(s);
}
