/* SPDX-License-Identifier: MIT */
#include "agent/service/outbox.h"

#include "tests/lib/check_main.h"

static struct snapshot *numbered(uint64_t sent)
{
    struct snapshot *s = snapshot_new();
    s->intervals = 1;
    snapshot_series(s, 0, "")->counters.sent = sent;
    return s;
}

static uint64_t sent_of(const struct msg *m)
{
    struct snapshot *s = NULL;
    ck_assert_int_eq(snapshot_decode(m->snapshot.data.data, m->snapshot.data.len, &s), ERR_OK);
    ck_assert_uint_eq(s->seq, m->snapshot.seq);
    uint64_t n = snapshot_counters(s).sent;
    snapshot_free(s);
    return n;
}

/* Whatever is acknowledged, rewound and resent, the controller's view ends complete and in order.
 */
START_TEST(test_everything_arrives_in_order)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 20; round++) {
        struct outbox *o = outbox_new();
        uint64_t given = 0, merged = 0, seen_sum = 0;
        for (int i = 0; i < 3000; i++) {
            struct msg m;
            switch (check_below(&rng, 5)) {
            case 0:
                ck_assert_int_eq(outbox_add(o, numbered(++given)), ERR_OK);
                break;
            case 1:
                outbox_ack(o, merged);
                break;
            case 2:
                if (check_below(&rng, 20) == 0)
                    outbox_rewind(o, merged);
                break;
            default:
                if (!outbox_peek(o, &m))
                    break;
                ck_assert_int_eq(m.type, MSG_SNAPSHOT);
                ck_assert_uint_le(m.snapshot.seq, merged + 1);
                if (m.snapshot.seq == merged + 1) {
                    merged++;
                    seen_sum += sent_of(&m);
                }
                outbox_sent(o);
            }
        }
        struct msg m;
        while (outbox_peek(o, &m)) {
            if (m.snapshot.seq == merged + 1) {
                merged++;
                seen_sum += sent_of(&m);
            }
            outbox_sent(o);
        }
        ck_assert_uint_eq(merged, outbox_last_seq(o));
        ck_assert_uint_eq(seen_sum, given * (given + 1) / 2);
        outbox_free(o);
    }
}
END_TEST

/* A controller that acknowledges nothing for long: resolution is lost, counts are not. */
START_TEST(test_slow_controller_loses_resolution_only)
{
    struct outbox *o = outbox_new();
    uint64_t given = OUTBOX_MAX + 50, sum = 0, most = 0;
    for (uint64_t i = 0; i < given; i++)
        ck_assert_int_eq(outbox_add(o, numbered(1)), ERR_OK);
    ck_assert_uint_eq(outbox_last_seq(o), OUTBOX_MAX);
    struct msg m;
    struct msg_final head = {.reason = END_FINISHED};
    struct snapshot *total = numbered(given);
    total->cumulative = true;
    ck_assert_int_eq(outbox_final(o, &head, total), ERR_OK);
    snapshot_free(total);
    while (outbox_peek(o, &m) && m.type == MSG_SNAPSHOT) {
        uint64_t n = sent_of(&m), seq = m.snapshot.seq;
        sum += n;
        most = n > most ? n : most;
        outbox_sent(o);
        outbox_ack(o, seq);
    }
    ck_assert_uint_eq(sum, given);
    ck_assert_uint_eq(most, 50);
    ck_assert_int_eq(m.type, MSG_FINAL);
    ck_assert_uint_eq(m.final.last_seq, OUTBOX_MAX + 1);
    outbox_sent(o);
    ck_assert(outbox_empty(o));
    outbox_repeat_final(o);
    ck_assert(outbox_peek(o, &m) && m.type == MSG_FINAL);
    outbox_free(o);
}
END_TEST

START_TEST(test_foolish_acks_are_ignored)
{
    struct outbox *o = outbox_new();
    struct msg m;
    outbox_ack(o, 7);
    outbox_rewind(o, UINT64_MAX);
    ck_assert_int_eq(outbox_add(o, numbered(1)), ERR_OK);
    ck_assert(outbox_peek(o, &m) && m.snapshot.seq == 1);
    outbox_ack(o, 1); /* not sent yet */
    ck_assert(outbox_peek(o, &m) && m.snapshot.seq == 1);
    outbox_sent(o);
    outbox_ack(o, 1);
    outbox_rewind(o, 0); /* older than what was acknowledged */
    ck_assert(!outbox_peek(o, &m));
    outbox_free(o);
}
END_TEST

/* Large ones: the box is full by its bytes before it is by their number. */
START_TEST(test_memory_is_bounded)
{
    struct outbox *o = outbox_new();
    uint64_t given = 0, merged = 0, sum = 0;
    struct msg m;
    while (given < 400) {
        struct snapshot *s = numbered(++given);
        for (uint32_t stage = 1; stage <= 8; stage++)
            for (uint64_t v = 1; v <= 5000; v++)
                hist_record(series_hist(snapshot_series(s, stage, ""), HIST_SEND_LAG), v * v * 1000,
                            1 + v % 3);
        ck_assert_int_eq(outbox_add(o, s), ERR_OK);
    }
    uint64_t last = outbox_last_seq(o);
    ck_assert_uint_lt(last, 400);
    ck_assert(outbox_peek(o, &m));
    ck_assert_uint_le((last - 1) * m.snapshot.data.len, OUTBOX_BYTES);
    while (outbox_peek(o, &m)) {
        ck_assert_uint_eq(m.snapshot.seq, ++merged);
        sum += sent_of(&m);
        outbox_sent(o);
        outbox_ack(o, merged);
    }
    ck_assert_uint_eq(merged, last + 1);
    ck_assert_uint_eq(sum, given * (given + 1) / 2);
    outbox_free(o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("outbox");
    TCase *t = tcase_create("outbox");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_everything_arrives_in_order);
    tcase_add_test(t, test_slow_controller_loses_resolution_only);
    tcase_add_test(t, test_memory_is_bounded);
    tcase_add_test(t, test_foolish_acks_are_ignored);
    suite_add_tcase(s, t);
    return check_main(s);
}
