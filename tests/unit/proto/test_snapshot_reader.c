/* SPDX-License-Identifier: MIT */
#include "common/mem.h"
#include "proto/snapshot.h"
#include "tests/lib/check_main.h"
#include "tests/lib/random_snapshot.h"

/* A reader remembers nothing of what it read before, sound or not. */
START_TEST(test_a_reader_reads_one_after_the_other)
{
    uint64_t rng = check_seed();
    struct snapshot_reader *reader = snapshot_reader_new();
    for (int turn = 0; turn < 60; turn++) {
        struct snapshot *s = random_snapshot(&rng);
        const struct snapshot *back;
        uint8_t *buf;
        size_t len;
        ck_assert_int_eq(snapshot_encode(s, &buf, &len), ERR_OK);
        ck_assert_int_ne(snapshot_read(reader, buf, check_below(&rng, len), &back), ERR_OK);
        ck_assert_ptr_null(back);
        ck_assert_int_eq(snapshot_read(reader, buf, len, &back), ERR_OK);
        assert_same_snapshot(s, back);
        ck_assert_uint_eq(s->n_series, back->n_series);
        for (size_t i = 0; i < s->n_series; i++)
            for (size_t k = 0; k < HIST_KINDS; k++)
                ck_assert_int_eq(s->series[i].hists[k] != NULL &&
                                     hist_count(s->series[i].hists[k]) > 0,
                                 back->series[i].hists[k] != NULL);
        mem_free(buf);
        snapshot_free(s);
    }
    snapshot_reader_free(reader);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("snapshot_reader");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_a_reader_reads_one_after_the_other);
    suite_add_tcase(s, t);
    return check_main(s);
}
