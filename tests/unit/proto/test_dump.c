/* SPDX-License-Identifier: MIT */
#include "proto/dump.h"

#include <stdlib.h>
#include <string.h>

#include "proto/plan.h"
#include "proto/snapshot.h"
#include "tests/lib/check_main.h"

#define ROUNDS 200
#define ROWS   6000
#define TEXTS  40

static char texts[TEXTS][DUMP_TEXT];
static struct dump_row rows[ROWS];
static struct dump_writer writer;

/* Any number, small ones as likely as large ones. */
static uint64_t any(uint64_t *rng)
{
    uint64_t v = check_random(rng);
    return v >> check_below(rng, 64);
}

static void random_row(uint64_t *rng, struct dump_row *row)
{
    memset(row, 0, sizeof *row);
    row->index = any(rng);
    row->due_ns = any(rng);
    row->stage = check_below(rng, 3) == 0 ? SERIES_STAGE_WARMUP
                                          : (uint32_t)check_below(rng, PROFILE_STAGES_MAX);
    row->request = (uint32_t)check_below(rng, check_below(rng, 2) == 0 ? 2 : PLAN_ENTRIES_MAX);
    row->outcome = (enum dump_outcome)check_below(rng, DUMP_OUTCOMES);
    if (check_below(rng, 3) == 0)
        row->error = texts[check_below(rng, TEXTS)];
    if (!dump_was_sent(row->outcome))
        return;
    row->sent_ns = any(rng);
    row->done_ns = any(rng);
    row->status = (uint32_t)check_below(rng, 1000);
    row->bytes = any(rng);
}

static void make_texts(uint64_t *rng)
{
    for (size_t i = 0; i < TEXTS; i++) {
        size_t len = 1 + check_below(rng, DUMP_TEXT - 1);
        for (size_t k = 0; k < len; k++)
            texts[i][k] = (char)('!' + check_below(rng, 90));
        texts[i][len] = '\0';
    }
}

static void assert_same(const struct dump_row *a, const struct dump_row *b)
{
    CHECK_MUST(a->index == b->index && a->due_ns == b->due_ns);
    CHECK_MUST(a->sent_ns == b->sent_ns && a->done_ns == b->done_ns);
    CHECK_MUST(a->stage == b->stage && a->request == b->request);
    CHECK_MUST(a->status == b->status && a->bytes == b->bytes && a->outcome == b->outcome);
    CHECK_MUST((a->error == NULL) == (b->error == NULL));
    if (a->error != NULL)
        CHECK_MUST(strlen(a->error) == b->text && memcmp(a->error, b->error, b->text) == 0);
}

/* Reads from a copy of exactly that size. Returns how many rows it had. */
static size_t read_back(const struct dump_row *expected, enum err *err)
{
    struct dump_reader r;
    struct dump_row row;
    size_t n = 0;
    uint8_t *copy = malloc(writer.len == 0 ? 1 : writer.len);
    memcpy(copy, writer.bytes, writer.len);
    dump_reader_init(&r, copy, writer.len);
    while (dump_get(&r, &row))
        assert_same(&expected[n++], &row);
    *err = r.err;
    free(copy);
    return n;
}

START_TEST(test_what_is_written_is_read)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = 1 + check_below(&rng, ROWS), done = 0;
        enum err e;
        make_texts(&rng);
        for (size_t i = 0; i < n; i++)
            random_row(&rng, &rows[i]);
        dump_writer_clear(&writer);
        for (size_t i = 0; i < n; i++) {
            if (dump_put(&writer, &rows[i]))
                continue;
            ck_assert_uint_gt(writer.n, 0);
            ck_assert_uint_eq(read_back(&rows[done], &e), writer.n);
            ck_assert_int_eq(e, ERR_OK);
            done += writer.n;
            dump_writer_clear(&writer);
            ck_assert(dump_put(&writer, &rows[i])); /* an empty one takes any */
        }
        ck_assert_uint_eq(done + writer.n, n);
        ck_assert_uint_eq(read_back(&rows[done], &e), writer.n);
        ck_assert_int_eq(e, ERR_OK);
    }
}
END_TEST

/* As they come: what a row takes is what the memory and the network need. */
START_TEST(test_usual_rows_are_small)
{
    uint64_t rng = check_seed();
    dump_writer_clear(&writer);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t due = i * 50000, sent = due + check_below(&rng, 200000);
        struct dump_row row = {.index = 3 * i,
                               .due_ns = due,
                               .sent_ns = sent,
                               .done_ns = sent + 100000 + check_below(&rng, 1000000),
                               .status = 200,
                               .bytes = 1234};
        ck_assert(dump_put(&writer, &row));
    }
    ck_assert_uint_lt(writer.len, 1000 * 18);
}
END_TEST

START_TEST(test_cut_short)
{
    uint64_t rng = check_seed();
    enum err e;
    make_texts(&rng);
    dump_writer_clear(&writer);
    for (size_t i = 0; i < 20; i++) {
        random_row(&rng, &rows[i]);
        ck_assert(dump_put(&writer, &rows[i]));
    }
    for (size_t len = writer.len; len-- > 0;) {
        writer.len = len;
        ck_assert_uint_lt(read_back(rows, &e), 20);
    }
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"\x0c\x00\x00\x01\x00", 5},                          /* no such outcome */
        {"\x49\x00\x00\x01\x00", 5},                          /* a bit that means nothing */
        {"\x29\x00\x00", 3},                                  /* as the row before: there is none */
        {"\x09\x80\x00\x00\x01\x00", 6},                      /* longer than it must be */
        {"\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11}, /* over 64 bits */
        {"\x09\x00\x00\x42\x00", 5},                          /* stage 65 */
        {"\x09\x00\x00\x01\x90\x4e", 6},                      /* request 10000 */
        {"\x00\x00\x00\x01\x00\x00\x00\xe8\x07\x00", 10},     /* status 1000 */
        {"\x19\x00\x00\x01\x00\x01\x01x", 8},                 /* the second text is the first */
        {"\x19\x00\x00\x01\x00\x00\x00", 7},                  /* an empty text */
        {"\x19\x00\x00\x01\x00\x00\x02x\x1b", 9},             /* not printable */
        {"\x19\x00\x00\x01\x00\x00\x60", 7},                  /* too long a text */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct dump_reader r;
        struct dump_row row;
        dump_reader_init(&r, bad[i].bytes, bad[i].len);
        ck_assert_msg(!dump_get(&r, &row) && r.err != ERR_OK, "row %zu is taken", i);
        ck_assert(!dump_get(&r, &row)); /* it sticks */
    }
}
END_TEST

START_TEST(test_texts)
{
    struct dump_row row = {.outcome = DUMP_READ};
    char text[DUMP_TEXT + 20];
    dump_writer_clear(&writer);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    row.error = text;
    ck_assert(dump_put(&writer, &row)); /* cut */
    size_t first = writer.len;
    ck_assert(dump_put(&writer, &row));
    ck_assert_uint_lt(writer.len - first, 12); /* known by its number */
    for (char c = 'b'; writer.n_texts < DUMP_TEXTS_MAX; c++) {
        text[0] = c;
        ck_assert(dump_put(&writer, &row));
    }
    text[0] = '!';
    ck_assert(!dump_put(&writer, &row)); /* one too many */
    row.error = NULL;
    ck_assert(dump_put(&writer, &row));
}
END_TEST

START_TEST(test_names)
{
    for (int o = 0; o < DUMP_OUTCOMES; o++) {
        ck_assert_ptr_nonnull(dump_outcome_name((enum dump_outcome)o));
        for (int k = 0; k < o; k++)
            ck_assert_str_ne(dump_outcome_name((enum dump_outcome)o),
                             dump_outcome_name((enum dump_outcome)k));
    }
    ck_assert_str_eq(dump_outcome_name(DUMP_OUTCOMES), "?");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dump");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_what_is_written_is_read);
    tcase_add_test(t, test_usual_rows_are_small);
    tcase_add_test(t, test_cut_short);
    tcase_add_test(t, test_refused);
    tcase_add_test(t, test_texts);
    tcase_add_test(t, test_names);
    return check_main(s);
}
