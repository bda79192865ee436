/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_index.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "controller/pki/pki_expiry.h"
#include "tests/lib/check_main.h"

#define SERIAL "0123456789abcdef0123456789abcdef"
#define LINE                                                                                       \
    "{\"serial\":\"" SERIAL "\",\"role\":\"agent\",\"name\":\"web1\",\"dns\":\"web1 w\","          \
    "\"not_before\":\"2026-11-30T17:23:39Z\",\"not_after\":\"2027-02-28T17:23:39Z\","              \
    "\"revoked_at\":null,\"file\":\"agents/web1.crt\"}\n"

static void random_entry(uint64_t *seed, struct pki_entry *e, char dns[128])
{
    *e = (struct pki_entry){.role = check_below(seed, 2) == 0 ? PKI_AGENT : PKI_CONTROLLER};
    for (size_t i = 0; i < PKI_SERIAL_TEXT - 1; i++)
        e->serial[i] = "0123456789abcdef"[check_below(seed, 16)];
    snprintf(e->name, sizeof e->name, "host-%u", (unsigned)check_below(seed, 1000));
    snprintf(dns, 128, "%s more.example", e->name);
    e->dns = dns;
    e->not_before_s = (int64_t)check_below(seed, UINT64_C(4000000000)) + 1;
    e->not_after_s = e->not_before_s + (int64_t)check_below(seed, 1000000000);
    e->revoked_s = check_below(seed, 2) == 0 ? 0 : e->not_before_s + 1;
    if (check_below(seed, 2) == 0)
        snprintf(e->file, sizeof e->file, "agents/%s.crt", e->name);
}

static void must_be_equal(const struct pki_entry *a, const struct pki_entry *b)
{
    ck_assert_int_eq(a->role, b->role);
    ck_assert_str_eq(a->name, b->name);
    ck_assert_str_eq(a->dns, b->dns);
    ck_assert_str_eq(a->serial, b->serial);
    ck_assert_str_eq(a->file, b->file);
    ck_assert_int_eq(a->not_before_s, b->not_before_s);
    ck_assert_int_eq(a->not_after_s, b->not_after_s);
    ck_assert_int_eq(a->revoked_s, b->revoked_s);
}

START_TEST(test_round_trip)
{
    uint64_t seed = check_seed();
    struct pki_index index = {0}, again;
    for (int i = 0; i < 200; i++) {
        struct pki_entry e;
        char dns[128];
        random_entry(&seed, &e, dns);
        pki_index_add(&index, &e);
    }
    char *text = pki_index_text(&index);
    ck_assert_int_eq(pki_index_parse("f", text, &again, NULL), ERR_OK);
    ck_assert_uint_eq(again.n, index.n);
    for (size_t i = 0; i < index.n; i++)
        must_be_equal(&index.entries[i], &again.entries[i]);
    mem_free(text);
    pki_index_clear(&index);
    pki_index_clear(&again);
}
END_TEST

START_TEST(test_empty)
{
    struct pki_index index;
    ck_assert_int_eq(pki_index_parse("f", "", &index, NULL), ERR_OK);
    ck_assert_uint_eq(index.n, 0);
    char *text = pki_index_text(&index);
    ck_assert_str_eq(text, "");
    mem_free(text);
}
END_TEST

/* What replaces a part of the good line, and what is said then. */
static const struct {
    const char *part, *other, *why;
} damages[] = {
    {"{", "", "no JSON object"},
    {"\"agent\"", "\"boss\"", "role: accepted is agent or controller"},
    {"\"agent\"", "7", "accepted are exactly"},
    {SERIAL, "12", "serial: accepted are 32 hex digits"},
    {"\"web1\"", "\"../x\"", "name: accepted is a DNS host name"},
    {"2026-11-30T17:23:39Z", "yesterday", "accepted is 2026-"},
    {"null", "5", "accepted is 2026-"},
    {"null", "\"2026-11-30T17:23:39Zx\"", "accepted is 2026-"},
    {"\"file\"", "\"pile\"", "accepted are exactly"},
    {"\"file\"", "\"more\":1,\"file\"", "accepted are exactly"},
    {"\"file\"", "\"role\":\"agent\",\"file\"", "no JSON object"},
};

START_TEST(test_damage_is_named)
{
    char text[2048];
    const char *at = strstr(LINE, damages[_i].part);
    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, LINE "%.*s%s%s", (int)(at - LINE), LINE, damages[_i].other,
             at + strlen(damages[_i].part));
    struct pki_index index;
    struct errmsg msg;
    ck_assert_int_eq(pki_index_parse("/x/index.jsonl", text, &index, &msg), ERR_CORRUPT);
    ck_assert_uint_eq(index.n, 0);
    ck_assert_msg(strncmp(msg.text, "/x/index.jsonl:2: ", 18) == 0, "%s", msg.text);
    ck_assert_msg(strstr(msg.text, damages[_i].why) != NULL, "%s", msg.text);
}
END_TEST

START_TEST(test_state)
{
    struct pki_entry e = {.not_after_s = 1000 + 10 * PKI_DAY_S};
    ck_assert_int_eq(pki_entry_state(&e, 1000), PKI_VALID);
    ck_assert_int_eq(pki_days_left(e.not_after_s, 1000), 10);
    ck_assert_int_eq(pki_days_left(e.not_after_s, 1001), 9);
    ck_assert_int_eq(pki_entry_state(&e, e.not_after_s + 1), PKI_EXPIRED);
    ck_assert_int_eq(pki_days_left(e.not_after_s, e.not_after_s + 1), 0);
    e.revoked_s = 999;
    ck_assert_int_eq(pki_entry_state(&e, 1000), PKI_REVOKED);
}
END_TEST

START_TEST(test_expiry)
{
    struct errmsg text = {{0}};
    int64_t end = INT64_C(1796059419); /* 2026-11-30T17:23:39Z */
    ck_assert(!pki_expiry_near("it", end, end - 15 * PKI_DAY_S, &text));
    ck_assert(!pki_expiry_near("it", end, end - 14 * PKI_DAY_S, &text));
    ck_assert(pki_expiry_near("it", end, end - 14 * PKI_DAY_S + 1, &text));
    ck_assert_str_eq(text.text, "it expires in 13 days (2026-11-30T17:23:39Z)");
    ck_assert(pki_expiry_near("it", end, end - PKI_DAY_S, &text));
    ck_assert_str_eq(text.text, "it expires in 1 day (2026-11-30T17:23:39Z)");
    ck_assert(pki_expiry_near("it", end, end + 1, &text));
    ck_assert_str_eq(text.text, "it expired on 2026-11-30T17:23:39Z");
    ck_assert(!pki_expiry_warning("/no/such/file", end, &text));
    ck_assert(!pki_expiry_warning("/proc/self/exe", end, &text));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pki_index");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_test(t, test_round_trip);
    tcase_add_test(t, test_empty);
    tcase_add_loop_test(t, test_damage_is_named, 0, sizeof damages / sizeof damages[0]);
    tcase_add_test(t, test_state);
    tcase_add_test(t, test_expiry);
    return check_main(s);
}
