/* SPDX-License-Identifier: MIT */
#include "proto/link_frame.h"

#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

#define STREAM (1u << 20)
#define FRAMES 500

struct stream {
    uint8_t *frames; /* their bytes, one after the other */
    uint8_t *wire;   /* what was sent */
    size_t lens[FRAMES], n, total, sent;
    uint64_t rng;
};

static void push_random_frames(struct stream *s, struct frame_tx *tx)
{
    for (; s->n < FRAMES; s->n++) {
        size_t len = 1 + (size_t)check_below(&s->rng, check_below(&s->rng, 50) == 0 ? 70000 : 300);
        if (s->total + len > STREAM)
            break;
        for (size_t i = 0; i < len; i++)
            s->frames[s->total + i] = (uint8_t)check_random(&s->rng);
        frame_tx_push(tx, s->frames + s->total, len);
        s->lens[s->n] = len;
        s->total += len;
    }
}

/* One write that takes a random part of up to three frames. */
static void write_some(struct stream *s, struct frame_tx *tx)
{
    struct iovec iov[3];
    size_t k = frame_tx_vectors(tx, iov, 3), have = 0;
    for (size_t i = 0; i < k; i++)
        have += iov[i].iov_len;
    size_t take = 1 + (size_t)check_below(&s->rng, have), left = take;
    for (size_t i = 0; i < k && left > 0; i++) {
        size_t part = left < iov[i].iov_len ? left : iov[i].iov_len;
        memcpy(s->wire + s->sent, iov[i].iov_base, part);
        s->sent += part;
        left -= part;
    }
    frame_tx_sent(tx, take);
}

/* Reads of random sizes, often of one byte. */
static void read_all(struct stream *s, struct frame_rx *rx)
{
    size_t in = 0, seen = 0, at = 0, room, len;
    const uint8_t *frame;
    while (in < s->sent) {
        uint8_t *p = frame_rx_room(rx, &room);
        ck_assert_uint_gt(room, 0);
        size_t top = room < s->sent - in ? room : s->sent - in;
        size_t take = 1 + (size_t)check_below(&s->rng, check_below(&s->rng, 3) == 0 ? top : 1);
        memcpy(p, s->wire + in, take);
        in += take;
        frame_rx_filled(rx, take);
        enum err e;
        while ((e = frame_rx_next(rx, &frame, &len, NULL)) == ERR_OK) {
            ck_assert_uint_eq(len, s->lens[seen]);
            ck_assert_int_eq(memcmp(frame, s->frames + at, len), 0);
            at += len;
            seen++;
        }
        ck_assert_int_eq(e, ERR_TRUNCATED);
        if (check_below(&s->rng, 3) == 0)
            frame_rx_rest(rx);
    }
    ck_assert_uint_eq(seen, s->n);
}

/* What the receiver cuts out of any split of the bytes equals what the sender pushed. */
START_TEST(test_any_split_gives_the_same_frames)
{
    struct frame_tx tx;
    struct frame_rx rx;
    struct stream s = {.rng = check_seed()};
    s.frames = mem_calloc(STREAM, 1);
    s.wire = mem_calloc(2 * STREAM, 1);
    frame_tx_init(&tx);
    frame_rx_init(&rx, 70000);
    push_random_frames(&s, &tx);
    ck_assert_uint_eq(tx.count, s.n);
    ck_assert_uint_eq(tx.bytes, s.total + s.n * FRAME_HEADER);
    while (tx.count > 0)
        write_some(&s, &tx);
    ck_assert_uint_eq(tx.bytes, 0);
    ck_assert_uint_eq(s.sent, s.total + s.n * FRAME_HEADER);
    read_all(&s, &rx);
    frame_tx_fini(&tx);
    frame_rx_fini(&rx);
    mem_free(s.frames);
    mem_free(s.wire);
}
END_TEST

static enum err next_after(const char *bytes, size_t n, size_t max, struct errmsg *msg)
{
    struct frame_rx rx;
    size_t room, len;
    const uint8_t *frame;
    frame_rx_init(&rx, max);
    memcpy(frame_rx_room(&rx, &room), bytes, n);
    frame_rx_filled(&rx, n);
    enum err e = frame_rx_next(&rx, &frame, &len, msg);
    frame_rx_fini(&rx);
    return e;
}

START_TEST(test_bad_lengths_say_why)
{
    struct errmsg msg = {{0}};
    ck_assert_int_eq(next_after("\0\0\0\0", 4, 10, &msg), ERR_CORRUPT);
    ck_assert_str_eq(msg.text, "frame of 0 bytes");
    ck_assert_int_eq(next_after("\0\0\0\013", 4, 10, &msg), ERR_TOO_BIG);
    ck_assert_str_eq(msg.text, "frame of 11 bytes, limit 10");
    ck_assert_int_eq(next_after("GET / HTTP", 10, 4096, &msg), ERR_TOO_BIG);
    ck_assert_str_eq(msg.text, "frame of 1195725856 bytes, limit 4096");
    ck_assert_int_eq(next_after("\377\377\377\377", 4, 8u << 20, &msg), ERR_TOO_BIG);
    ck_assert_int_eq(next_after("\0\0\0\012", 4, 10, &msg), ERR_TRUNCATED);
    ck_assert_int_eq(next_after("\0\0\0", 3, 10, &msg), ERR_TRUNCATED);
    ck_assert_int_eq(next_after("\0\0\0\001x", 5, 1, &msg), ERR_OK);
}
END_TEST

/* A long frame grows the buffer once; afterwards it is small again. */
START_TEST(test_buffer_shrinks_after_a_long_frame)
{
    struct frame_rx rx;
    size_t room, len, got = 0;
    const uint8_t *frame;
    const size_t size = 5u << 20;
    frame_rx_init(&rx, size);
    memcpy(frame_rx_room(&rx, &room), "\0\120\0\0", 4);
    frame_rx_filled(&rx, 4);
    while (frame_rx_next(&rx, &frame, &len, NULL) == ERR_TRUNCATED) {
        uint8_t *p = frame_rx_room(&rx, &room);
        memset(p, 7, room);
        frame_rx_filled(&rx, room);
        got += room;
    }
    ck_assert_uint_eq(len, size);
    ck_assert_uint_eq(got, size);
    ck_assert_uint_eq(rx.cap, size + FRAME_HEADER);
    frame_rx_room(&rx, &room);
    ck_assert_uint_eq(rx.cap, FRAME_BUFFER);
    frame_rx_fini(&rx);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link_frame");
    TCase *t = tcase_create("link_frame");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, test_any_split_gives_the_same_frames);
    tcase_add_test(t, test_bad_lengths_say_why);
    tcase_add_test(t, test_buffer_shrinks_after_a_long_frame);
    suite_add_tcase(s, t);
    return check_main(s);
}
