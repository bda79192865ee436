/* SPDX-License-Identifier: MIT */
/* The tables are static: the module is included, so that every test runs over all rows. */
#include "proto/msg.c"

#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/pinned.h"
#include "tests/lib/protocol_doc.h"

static uint8_t blob_bytes[300];

static void random_text(uint64_t *rng, char *to, size_t cap)
{
    static const char *const pieces[] = {
        "a", "Z", " ", "/", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x94\xa8"};
    size_t len = 0, want = check_below(rng, cap);
    while (len < want) {
        const char *p = pieces[check_below(rng, sizeof pieces / sizeof pieces[0])];
        if (len + strlen(p) > cap - 1)
            break;
        memcpy(to + len, p, strlen(p));
        len += strlen(p);
    }
    to[len] = '\0';
}

static void random_field(uint64_t *rng, const struct wire_field *f, char *at)
{
    uint64_t n = check_random(rng); /* one call a statement: pinned, so the order must be too */
    n >>= check_below(rng, 64);
    struct wire_blob blob = {blob_bytes, check_below(rng, sizeof blob_bytes)};
    switch (f->type) {
    case WIRE_U64:
    case WIRE_I64:
        memcpy(at, &n, sizeof n);
        break;
    case WIRE_U32:
        memcpy(at, &(uint32_t){(uint32_t)n}, sizeof(uint32_t));
        break;
    case WIRE_BOOL:
        *(bool *)at = n & 1;
        break;
    case WIRE_STR:
        random_text(rng, at, f->size);
        break;
    case WIRE_ID:
        for (size_t i = 0; i < f->size; i++)
            at[i] = (char)check_random(rng);
        break;
    case WIRE_BLOB:
        memcpy(at, &blob, sizeof blob);
        break;
    }
}

static struct msg random_msg(uint64_t *rng, const struct message *row)
{
    struct msg m;
    memset(&m, 0, sizeof m);
    m.type = row->type;
    for (size_t i = 0; i < sizeof blob_bytes; i++)
        blob_bytes[i] = (uint8_t)check_random(rng);
    for (size_t i = 0; i < row->n; i++)
        random_field(rng, &row->fields[i], (char *)&m + row->offset + row->fields[i].offset);
    return m;
}

static bool same_field(const struct wire_field *f, const void *a, const void *b)
{
    static const size_t sizes[] = {[WIRE_U64] = 8, [WIRE_U32] = 4, [WIRE_I64] = 8, [WIRE_BOOL] = 1};
    const struct wire_blob *x = a, *y = b;
    switch (f->type) {
    case WIRE_STR:
        return strcmp(a, b) == 0;
    case WIRE_ID:
        return memcmp(a, b, f->size) == 0;
    case WIRE_BLOB:
        return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
    default:
        return memcmp(a, b, sizes[f->type]) == 0;
    }
}

static void assert_same(const struct message *row, const struct msg *a, const struct msg *b)
{
    ck_assert_int_eq(a->type, b->type);
    for (size_t i = 0; i < row->n; i++) {
        size_t at = row->offset + row->fields[i].offset;
        ck_assert_msg(same_field(&row->fields[i], (const char *)a + at, (const char *)b + at),
                      "%s.%s differs", row->name, row->fields[i].name);
    }
}

/* From a copy of exactly that size, so that a sanitizer sees the first byte too many. Blobs of *m
 * point into *copy. */
static enum err decode_copy(const uint8_t *frame, size_t len, struct msg *m, uint8_t **copy)
{
    *copy = malloc(len == 0 ? 1 : len);
    memcpy(*copy, frame, len);
    return msg_decode(*copy, len, m);
}

static enum err decode(const uint8_t *frame, size_t len, struct msg *m)
{
    uint8_t *copy;
    enum err e = decode_copy(frame, len, m, &copy);
    free(copy);
    return e;
}

START_TEST(test_tables_are_sound)
{
    for (size_t i = 0; i < N_MESSAGES; i++) {
        const struct message *row = &messages[i];
        ck_assert_uint_eq(row->type, i + 1);
        ck_assert_str_eq(msg_type_name(row->type), row->name);
        ck_assert_uint_ge(row->n, 1);
        ck_assert_uint_le(row->n, WIRE_PAIRS_MAX);
        uint64_t seen = 0;
        for (size_t k = 0; k < row->n; k++) {
            ck_assert(row->fields[k].key >= 1 && row->fields[k].key < 64);
            ck_assert_uint_eq(seen >> row->fields[k].key & 1, 0);
            seen |= UINT64_C(1) << row->fields[k].key;
        }
    }
    ck_assert_str_eq(msg_type_name((enum msg_type)0), "?");
    ck_assert_str_eq(msg_type_name((enum msg_type)(MSG_TYPE_MAX + 1)), "?");
    for (uint32_t s = 0; s < AGENT_STATES; s++)
        ck_assert_str_ne(agent_state_name(s), "?");
    ck_assert_str_eq(agent_state_name(AGENT_STATES), "?");
    ck_assert_str_eq(agent_state_name(UINT32_MAX), "?");
}
END_TEST

START_TEST(test_every_message_comes_back)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 300; turn++)
        for (size_t i = 0; i < N_MESSAGES; i++) {
            struct msg m = random_msg(&rng, &messages[i]), back;
            uint8_t *frame, *copy;
            size_t len;
            ck_assert_int_eq(msg_encode(&m, &frame, &len), ERR_OK);
            ck_assert_int_eq(decode_copy(frame, len, &back, &copy), ERR_OK);
            assert_same(&messages[i], &m, &back);
            free(copy);
            mem_free(frame);
        }
}
END_TEST

START_TEST(test_a_cut_frame_is_an_error)
{
    uint64_t rng = check_seed();
    for (size_t i = 0; i < N_MESSAGES; i++) {
        struct msg m = random_msg(&rng, &messages[i]), back;
        uint8_t *frame;
        size_t len;
        ck_assert_int_eq(msg_encode(&m, &frame, &len), ERR_OK);
        for (size_t cut = 0; cut < len; cut++) {
            enum err e = decode(frame, cut, &back);
            ck_assert_msg(e == ERR_TRUNCATED, "%s cut at %zu of %zu: %s", messages[i].name, cut,
                          len, err_str(e));
            ck_assert_int_eq(back.type, 0);
        }
        frame = mem_realloc(frame, len + 1, 1);
        frame[len] = 0xc0;
        ck_assert_int_eq(decode(frame, len + 1, &back), ERR_CORRUPT);
        mem_free(frame);
    }
}
END_TEST

/* What is accepted survives another round unchanged. */
static void decode_mutant(const uint8_t *frame, size_t len)
{
    struct msg m, again;
    uint8_t *copy, *out;
    size_t out_len;
    if (decode_copy(frame, len, &m, &copy) == ERR_OK) {
        const struct message *row = find_message(m.type);
        ck_assert_int_eq(msg_encode(&m, &out, &out_len), ERR_OK);
        ck_assert_int_eq(msg_decode(out, out_len, &again), ERR_OK);
        assert_same(row, &m, &again);
        mem_free(out);
    }
    free(copy);
}

START_TEST(test_mutants_are_refused_or_whole)
{
    uint64_t rng = check_seed();
    for (int turn = 0; turn < 40; turn++)
        for (size_t i = 0; i < N_MESSAGES; i++) {
            struct msg m = random_msg(&rng, &messages[i]);
            uint8_t *frame;
            size_t len;
            ck_assert_int_eq(msg_encode(&m, &frame, &len), ERR_OK);
            for (int k = 0; k < 50; k++) {
                frame[check_below(&rng, len)] = (uint8_t)check_random(&rng);
                decode_mutant(frame, len - check_below(&rng, 2));
            }
            mem_free(frame);
        }
}
END_TEST

START_TEST(test_envelope_is_strict)
{
    static const struct {
        enum err err;
        size_t len;
        uint8_t bytes[12];
    } rows[] = {
        {ERR_OK, 5, {0x92, 10, 0x81, 1, 5}},                             /* ARMED */
        {ERR_OK, 9, {0x92, 10, 0x82, 1, 5, 60, 0x92, 1, 2}},             /* a key of the future */
        {ERR_OK, 3, {0x92, 18, 0x80}},                                   /* BYE: nothing needed */
        {ERR_NOT_FOUND, 3, {0x92, MSG_TYPE_MAX + 1, 0x80}},              /* unknown type */
        {ERR_NOT_FOUND, 3, {0x92, 0, 0x80}},                             /* the same */
        {ERR_NOT_FOUND, 11, {0x92, 0xcf, 1, 0, 0, 0, 0, 0, 0, 1, 0xc0}}, /* not type 1 */
        {ERR_TRUNCATED, 3, {0x92, 99, 0x81}},                            /* unknown and cut */
        {ERR_CORRUPT, 4, {0x92, 99, 0x80, 0}},                           /* unknown, bytes left */
        {ERR_CORRUPT, 7, {0x92, 10, 0x82, 1, 5, 1, 5}},                  /* duplicate key */
        {ERR_CORRUPT, 3, {0x92, 10, 0x80}},                              /* needed key missing */
        {ERR_CORRUPT, 2, {0x91, 10}},                                    /* no fields */
        {ERR_TOO_BIG, 6, {0x93, 10, 0x81, 1, 5, 0}},                     /* a third element */
        {ERR_CORRUPT, 5, {0x82, 10, 0x80, 1, 1}},                        /* not an array */
        {ERR_CORRUPT, 4, {0x92, 0xa1, 'A', 0x80}},                       /* type not a number */
        {ERR_RANGE, 3, {0x92, 0xff, 0x80}},                              /* type -1 */
        {ERR_TRUNCATED, 5, {0xdd, 0x0f, 0xff, 0xff, 0xff}},              /* bombs */
        {ERR_TRUNCATED, 7, {0x92, 10, 0xdf, 0x0f, 0xff, 0xff, 0xff}},
        {ERR_TRUNCATED, 10, {0x92, 10, 0x81, 1, 0xdd, 0x0f, 0xff, 0xff, 0xff}},
        {ERR_TRUNCATED, 10, {0x92, 10, 0x81, 60, 0xdd, 0x0f, 0xff, 0xff, 0xff}},
        {ERR_TRUNCATED, 0, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct msg m;
        enum err e = decode(rows[i].bytes, rows[i].len, &m);
        ck_assert_msg(e == rows[i].err, "row %zu: %s instead of %s", i, err_str(e),
                      err_str(rows[i].err));
        ck_assert_int_eq(m.type != 0, e == ERR_OK);
    }
}
END_TEST

START_TEST(test_sizes_are_bounded)
{
    struct msg m = {.type = MSG_SNAPSHOT}, back;
    uint8_t *big = mem_calloc(MSG_FRAME_MAX + 1, 1), *frame;
    size_t len;
    m.snapshot.data = (struct wire_blob){big, MSG_BLOB_MAX};
    ck_assert_int_eq(msg_encode(&m, &frame, &len), ERR_OK);
    ck_assert_uint_le(len, MSG_FRAME_MAX);
    ck_assert_int_eq(msg_decode(frame, len, &back), ERR_OK);
    ck_assert_uint_eq(back.snapshot.data.len, MSG_BLOB_MAX);
    mem_free(frame);
    m.snapshot.data.len++;
    ck_assert_int_eq(msg_encode(&m, &frame, &len), ERR_TOO_BIG);
    ck_assert_ptr_null(frame);
    ck_assert_int_eq(msg_decode(big, MSG_FRAME_MAX + 1, &back), ERR_TOO_BIG);
    m.type = (enum msg_type)(MSG_TYPE_MAX + 1);
    ck_assert_int_eq(msg_encode(&m, &frame, &len), ERR_INVALID);
    mem_free(big);
}
END_TEST

START_TEST(test_the_largest_message_fits_a_frame)
{
    for (size_t i = 0; i < N_MESSAGES; i++) {
        size_t sum = 16;
        for (size_t k = 0; k < messages[i].n; k++)
            sum += 2 + 9 + messages[i].fields[k].size;
        ck_assert_uint_le(sum, MSG_FRAME_MAX);
        if (messages[i].type == MSG_HELLO || messages[i].type == MSG_REFUSE ||
            messages[i].type == MSG_QUERY || messages[i].type == MSG_INFO)
            ck_assert_uint_le(sum, 4096); /* before WELCOME frames are that small */
    }
}
END_TEST

START_TEST(test_texts_are_printable)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", ""},
        {"plain text ~", "plain text ~"},
        {"\x1b[31mred\x07\r\n\t\x7f", "?[31mred?????"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\xa8",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\xa8"},
        {"\xc2\x9b"
         "31m",
         "??31m"}, /* CSI in one code point */
        {"\x9b"
         "31m",
         "?31m"}, /* and as a bare byte */
        {"\xe2\x80\xae"
         "evil",
         "???evil"},                  /* right-to-left override */
        {"\xe2\x80\xa8", "???"},      /* line separator */
        {"\xc0\xaf", "??"},           /* overlong */
        {"\xed\xa0\x80", "???"},      /* surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
        {"cut \xe2\x82", "cut ??"},
        {"\xef\xbf\xbd", "\xef\xbf\xbd"}, /* U+FFFD itself is fine */
        {"\xff\xfe", "??"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = mem_strdup(rows[i].in);
        msg_sanitise(text);
        ck_assert_str_eq(text, rows[i].out);
        mem_free(text);
    }
    struct msg m = {.type = MSG_REFUSE}, back;
    strcpy(m.refuse.text, "busy\x1b]0;title\x07");
    strcpy(m.refuse.holder, "a\nb");
    uint8_t *frame;
    size_t len;
    ck_assert_int_eq(msg_encode(&m, &frame, &len), ERR_OK);
    ck_assert_int_eq(msg_decode(frame, len, &back), ERR_OK);
    ck_assert_str_eq(back.refuse.text, "busy?]0;title?");
    ck_assert_str_eq(back.refuse.holder, "a?b");
    mem_free(frame);
}
END_TEST

START_TEST(test_sanitising_twice_changes_nothing)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 20000; i++) {
        char text[24] = "", again[24];
        size_t len = check_below(&rng, sizeof text);
        for (size_t k = 0; k < len; k++)
            text[k] = (char)(1 + check_below(&rng, 255));
        msg_sanitise(text);
        ck_assert_uint_eq(strlen(text), len);
        memcpy(again, text, sizeof again);
        msg_sanitise(again);
        ck_assert_str_eq(text, again);
    }
}
END_TEST

/* What older programs wrote must stay readable: one message of each type is pinned. */
START_TEST(test_encodings_are_pinned)
{
    uint64_t rng = 1;
    for (size_t i = 0; i < N_MESSAGES; i++) {
        struct msg m = random_msg(&rng, &messages[i]);
        uint8_t *frame;
        size_t len;
        char name[64];
        ck_assert_int_eq(msg_encode(&m, &frame, &len), ERR_OK);
        snprintf(name, sizeof name, "msg/%s", messages[i].name);
        pinned_check(TEST_DATA_DIR, name, frame, len);
        mem_free(frame);
    }
}
END_TEST

START_TEST(test_the_document_agrees)
{
    for (size_t i = 0; i < N_MESSAGES; i++) {
        char text[64];
        snprintf(text, sizeof text, "\n| %u | %s | ", messages[i].type, messages[i].name);
        protocol_doc_has(TEST_DATA_DIR, "Messages", text);
        snprintf(text, sizeof text, "%s (%u)", messages[i].name, messages[i].type);
        protocol_doc_fields(TEST_DATA_DIR, text, messages[i].fields, messages[i].n);
    }
    ck_assert_uint_eq(protocol_doc_rows(TEST_DATA_DIR, "Messages"), N_MESSAGES);
    for (uint32_t s = 0; s < AGENT_STATES; s++) {
        char text[64];
        snprintf(text, sizeof text, "\n| %u | %s | ", s, agent_state_name(s));
        protocol_doc_has(TEST_DATA_DIR, "States of an agent", text);
    }
    ck_assert_uint_eq(protocol_doc_rows(TEST_DATA_DIR, "States of an agent"), AGENT_STATES);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("msg");
    TCase *t = tcase_create("msg");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_tables_are_sound);
    tcase_add_test(t, test_every_message_comes_back);
    tcase_add_test(t, test_a_cut_frame_is_an_error);
    tcase_add_test(t, test_mutants_are_refused_or_whole);
    tcase_add_test(t, test_envelope_is_strict);
    tcase_add_test(t, test_sizes_are_bounded);
    tcase_add_test(t, test_the_largest_message_fits_a_frame);
    tcase_add_test(t, test_texts_are_printable);
    tcase_add_test(t, test_sanitising_twice_changes_nothing);
    tcase_add_test(t, test_encodings_are_pinned);
    tcase_add_test(t, test_the_document_agrees);
    suite_add_tcase(s, t);
    return check_main(s);
}
