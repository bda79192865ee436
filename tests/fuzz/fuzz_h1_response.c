/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "agent/client/h1_response.h"
#include "common/mem.h"
#include "tests/fuzz/fuzz.h"

/*
 * Byte 0: bit 0 = HEAD, bit 1 = the connection ends afterwards, bits 2-5 = 1: the stream is
 * repeated past the header limit. Byte 1 seeds the cuts. The rest is what the server sends. The
 * result must not depend on the cuts, nor on what header blocks are known already, nothing is taken
 * after the end, and no response takes more bytes outside its body than the limits allow. No memory
 * is allocated but the copy of the input.
 */

#define REPEATED (3 * H1_HEADER_MAX)

struct result {
    enum h1_state state;
    enum h1_error error;
    int status;
    int keep_alive;
    size_t used;
};

static size_t next_cut(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return 1 + (*seed >> 24) % ((*seed & 0x10000) ? 7 : 200);
}

/* cut: 0 = whole, 1 = byte by byte, else the seed of random cuts. */
static struct result run(const uint8_t *data, size_t len, int head, int eof, uint32_t cut,
                         struct h1_known *known)
{
    struct h1_response r;
    char *copy = mem_dup(data, len);
    size_t done = 0;
    h1_response_start(&r, head, known);
    while (done < len && r.state == H1_MORE) {
        size_t n = cut == 0 ? len : cut == 1 ? 1 : next_cut(&cut), used = 0;
        n = n < len - done ? n : len - done;
        enum h1_state state = h1_response_feed(&r, copy + done, n, &used);
        FUZZ_CHECK(used <= n && state == r.state);
        FUZZ_CHECK(state != H1_MORE || used == n);
        done += used;
    }
    if (eof)
        FUZZ_CHECK(h1_response_eof(&r) == r.state);
    mem_free(copy);
    return (struct result){r.state, r.error, r.status, r.keep_alive, done};
}

static void check(const struct result *a, const struct result *b)
{
    FUZZ_CHECK(a->state == b->state);
    FUZZ_CHECK(a->error == b->error);
    if (a->state != H1_COMPLETE)
        return;
    FUZZ_CHECK(a->status == b->status && a->status >= 200 && a->status <= 599);
    FUZZ_CHECK(a->keep_alive == b->keep_alive);
    FUZZ_CHECK(a->used == b->used);
}

static uint8_t *repeat(const uint8_t *data, size_t len)
{
    uint8_t *all = mem_calloc(REPEATED, 1);
    for (size_t done = 0; done < REPEATED; done += len)
        memcpy(all + done, data, len < REPEATED - done ? len : REPEATED - done);
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    int head = data[0] & 1, eof = (data[0] & 2) != 0;
    uint32_t seed = 2u + data[1];
    int repeated = (data[0] & 0x3c) == 4; /* rarely: it is slow */
    uint8_t *all = repeated ? repeat(data + 2, size - 2) : mem_dup(data + 2, size - 2);
    size_t len = repeated ? REPEATED : size - 2;
    struct h1_known known = {0};
    struct result whole = run(all, len, head, eof, 0, NULL);
    struct result bytes = run(all, len, head, eof, repeated ? seed + 256 : 1, NULL);
    struct result learnt = run(all, len, head, eof, 0, &known);
    struct result cut = run(all, len, head, eof, seed, &known);
    struct result again = run(all, len, head, eof, 0, &known);
    check(&whole, &bytes);
    check(&whole, &learnt);
    check(&whole, &cut);
    check(&whole, &again);
    FUZZ_CHECK(whole.state != H1_BROKEN || whole.error != 0);
    mem_free(all);
    return 0;
}
