/* SPDX-License-Identifier: MIT */
/* Bytes as the two files of a journal: `run` is refused or means the same when written again;
 * of `journal` nothing but whole records is handed out, and they are a prefix of it. */
#include <string.h>

#include "common/mem.h"
#include "controller/run/journal.h"
#include "tests/fuzz/fuzz.h"

#define AGENTS 4

struct seen {
    size_t bytes;
};

static void on_record(void *arg, size_t agent, const uint8_t *bytes, size_t len)
{
    struct seen *s = arg;
    struct msg m;
    FUZZ_CHECK(agent < AGENTS && len > 0 && len <= MSG_FRAME_MAX);
    s->bytes += 12 + len;
    if (msg_decode(bytes, len, &m) == ERR_OK)
        FUZZ_CHECK(m.type >= MSG_HELLO && m.type <= MSG_TYPE_MAX);
}

static void read_records(const uint8_t *data, size_t size)
{
    struct seen s = {0};
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");
    if (in == NULL)
        return;
    uint64_t whole = journal_read(in, AGENTS, on_record, &s);
    FUZZ_CHECK(whole == s.bytes && whole <= size);
    fclose(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal_run r, again;
    uint8_t *bytes;
    size_t len;
    if (size > 0)
        read_records(data, size);
    enum err e = journal_run_decode(data, size, &r);
    if (e != ERR_OK) {
        FUZZ_CHECK(r.inventory.agents == NULL && r.agents == NULL && r.bytes == NULL);
        return 0;
    }
    FUZZ_CHECK(r.inventory.n > 0 && (r.agents == NULL) == (r.t0_ns == 0));
    FUZZ_CHECK(journal_run_encode(&r, &bytes, &len) == ERR_OK);
    FUZZ_CHECK(journal_run_decode(bytes, len, &again) == ERR_OK);
    FUZZ_CHECK(memcmp(r.run, again.run, sizeof r.run) == 0 && r.t0_ns == again.t0_ns);
    FUZZ_CHECK(r.inventory.n == again.inventory.n && r.plan.len == again.plan.len);
    journal_run_clear(&again);
    journal_run_clear(&r);
    mem_free(bytes);
    return 0;
}
