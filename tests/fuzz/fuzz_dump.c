/* SPDX-License-Identifier: MIT */
/* Bytes as the rows of a REQUESTS message: refused, or rows that survive another round. */
#include <string.h>

#include "common/mem.h"
#include "controller/watch/dump_csv.h"
#include "proto/dump.h"
#include "proto/plan.h"
#include "proto/snapshot.h"
#include "tests/fuzz/fuzz.h"

static void check_row(const struct dump_row *row)
{
    FUZZ_CHECK(row->outcome < DUMP_OUTCOMES && row->status < 1000);
    FUZZ_CHECK(row->stage == SERIES_STAGE_WARMUP || row->stage < PROFILE_STAGES_MAX);
    FUZZ_CHECK(row->request < PLAN_ENTRIES_MAX);
    FUZZ_CHECK((row->error == NULL) == (row->text == 0) && row->text < DUMP_TEXT);
}

static void check_line(const struct dump_row *row)
{
    static const struct dump_csv csv = {0};
    char line[DUMP_CSV_LINE];
    size_t len = dump_csv_line(&csv, "agent", row, line);
    FUZZ_CHECK(len <= sizeof line && memchr(line, '\n', len) == line + len - 1);
}

/* Writes the row again, and reads it back. */
static void check_round(const struct dump_row *row)
{
    static struct dump_writer w;
    char text[DUMP_TEXT];
    struct dump_row copy = *row, back;
    struct dump_reader r;
    if (row->error != NULL) {
        memcpy(text, row->error, row->text);
        text[row->text] = '\0';
        copy.error = text;
    }
    dump_writer_clear(&w);
    FUZZ_CHECK(dump_put(&w, &copy));
    dump_reader_init(&r, w.bytes, w.len);
    FUZZ_CHECK(dump_get(&r, &back) && r.p == r.end);
    FUZZ_CHECK(back.index == row->index && back.due_ns == row->due_ns);
    FUZZ_CHECK(back.sent_ns == row->sent_ns && back.done_ns == row->done_ns);
    FUZZ_CHECK(back.status == row->status && back.bytes == row->bytes && back.text == row->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dump_reader r;
    struct dump_row row;
    size_t n = 0;
    dump_reader_init(&r, data, size);
    while (dump_get(&r, &row)) {
        n++;
        check_row(&row);
        check_line(&row);
        check_round(&row);
    }
    FUZZ_CHECK(r.err != ERR_OK || r.p == r.end);
    FUZZ_CHECK(n <= size && !dump_get(&r, &row));
    return 0;
}
