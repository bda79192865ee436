/* SPDX-License-Identifier: MIT */
/* The tables are static: the module is included. */
#include "proto/snapshot_codec.c"

#include <stdio.h>

#include "tests/lib/check_main.h"
#include "tests/lib/protocol_doc.h"

START_TEST(test_the_document_agrees)
{
    protocol_doc_fields(TEST_DATA_DIR, "Snapshot scalars", scalars, N(scalars));
    protocol_doc_fields(TEST_DATA_DIR, "First response", first_fields, N(first_fields));
    protocol_doc_fields(TEST_DATA_DIR, "Histogram", hist_fields, N(hist_fields));
    char text[256];
    for (size_t i = 0; i < COUNTERS_N; i++) {
        snprintf(text, sizeof text, "\n| %zu | %s | %s |\n", i, counters_name(i), counters_text(i));
        protocol_doc_has(TEST_DATA_DIR, "Counters", text);
    }
    ck_assert_uint_eq(protocol_doc_rows(TEST_DATA_DIR, "Counters"), COUNTERS_N);
    for (unsigned k = 0; k < HIST_KINDS; k++) {
        snprintf(text, sizeof text, "\n| %u | %s | ", k, hist_kind_name((enum hist_kind)k));
        protocol_doc_has(TEST_DATA_DIR, "Histogram kinds", text);
    }
    ck_assert_uint_eq(protocol_doc_rows(TEST_DATA_DIR, "Histogram kinds"), HIST_KINDS);
    snprintf(text, sizeof text,
             "| %d | stage | u32 | yes |\n| %d | name | str, at most %zu | yes |\n"
             "| %d | counters | map of counts by number | yes |\n"
             "| %d | histograms | map of histograms by kind | no |\n",
             SERIES_STAGE, SERIES_NAME, sizeof((struct series *)0)->name - 1, SERIES_COUNTERS,
             SERIES_HISTS);
    protocol_doc_has(TEST_DATA_DIR, "Series", text);
    snprintf(
        text, sizeof text,
        "{%d: scalars, %d: array of series, %d: status codes,\n%d: error texts, %d: TLS suites, "
        "%d: first response, %d: debug, %d: addresses}",
        SNAPSHOT_SCALARS, SNAPSHOT_SERIES, SNAPSHOT_STATUS, SNAPSHOT_ERRORS, SNAPSHOT_SUITES,
        SNAPSHOT_FIRST, SNAPSHOT_SHOWN, SNAPSHOT_ADDRESSES);
    protocol_doc_has(TEST_DATA_DIR, "Snapshot", text);
    snprintf(text, sizeof text, "{\"VERSION CIPHER\": handshakes}, at most %d;",
             SNAPSHOT_SUITES_MAX);
    protocol_doc_has(TEST_DATA_DIR, "Snapshot", text);
    snprintf(text, sizeof text, "{\"ADDRESS:PORT\": connections}, at most %d;",
             SNAPSHOT_ADDRESSES_MAX);
    protocol_doc_has(TEST_DATA_DIR, "Snapshot", text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("snapshot_doc");
    TCase *t = tcase_create("snapshot_doc");
    tcase_add_test(t, test_the_document_agrees);
    suite_add_tcase(s, t);
    return check_main(s);
}
