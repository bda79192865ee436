/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <string.h>

#include "common/hist_impl.h"
#include "common/mem.h"

/* One block, as wide as its largest counter needs; each of the four widths the same way. */
#define READ(type)                                                                                 \
    do {                                                                                           \
        const type *p = from;                                                                      \
        for (size_t i = 0; i < HIST_BLOCK; i++)                                                    \
            out[i] = p[i];                                                                         \
    } while (0)
#define WRITE(type)                                                                                \
    do {                                                                                           \
        type *p = to;                                                                              \
        for (size_t i = 0; i < HIST_BLOCK; i++)                                                    \
            p[i] = (type)from[i];                                                                  \
    } while (0)

#define SUM(type)                                                                                  \
    do {                                                                                           \
        const type *p = block;                                                                     \
        for (size_t i = 0; i < HIST_BLOCK; i++)                                                    \
            sum += p[i];                                                                           \
    } while (0)

static void widen_block(const void *from, unsigned width_log2, uint64_t out[HIST_BLOCK])
{
    if (width_log2 == 0)
        READ(uint8_t);
    else if (width_log2 == 1)
        READ(uint16_t);
    else if (width_log2 == 2)
        READ(uint32_t);
    else
        READ(uint64_t);
}

static void narrow_block(void *to, unsigned width_log2, const uint64_t from[HIST_BLOCK])
{
    if (width_log2 == 0)
        WRITE(uint8_t);
    else if (width_log2 == 1)
        WRITE(uint16_t);
    else if (width_log2 == 2)
        WRITE(uint32_t);
    else
        WRITE(uint64_t);
}

static uint64_t sum_block(const void *block, unsigned width_log2)
{
    uint64_t sum = 0;
    if (width_log2 == 0)
        SUM(uint8_t);
    else if (width_log2 == 1)
        SUM(uint16_t);
    else if (width_log2 == 2)
        SUM(uint32_t);
    else
        SUM(uint64_t);
    return sum;
}

static unsigned width_for(uint64_t largest)
{
    return largest <= UINT8_MAX ? 0 : largest <= UINT16_MAX ? 1 : largest <= UINT32_MAX ? 2 : 3;
}

static struct hist_page *page_of(const struct hist *h, uint32_t b)
{
    return h->pages[b / HIST_PAGE];
}

/* Creates the page when missing. */
static struct hist_page *page_for(struct hist *h, uint32_t b)
{
    struct hist_page **page = &h->pages[b / HIST_PAGE];
    if (*page == NULL)
        *page = mem_calloc(1, sizeof **page);
    return *page;
}

static inline uint64_t get(const void *block, unsigned width_log2, uint32_t i)
{
    switch (width_log2) {
    case 0:
        return ((const uint8_t *)block)[i];
    case 1:
        return ((const uint16_t *)block)[i];
    case 2:
        return ((const uint32_t *)block)[i];
    default:
        return ((const uint64_t *)block)[i];
    }
}

/* Writes the block, wider than before when `bits` (all counters or'ed) asks for it. */
static void put(struct hist_page *page, uint32_t at, const uint64_t counts[HIST_BLOCK],
                uint64_t bits)
{
    unsigned width = width_for(bits);
    if (page->blocks[at] == NULL || width > page->width_log2[at]) {
        page->blocks[at] = mem_realloc(page->blocks[at], HIST_BLOCK, (size_t)1 << width);
        page->width_log2[at] = (uint8_t)width;
    }
    narrow_block(page->blocks[at], page->width_log2[at], counts);
}

uint64_t hist_blocks_sum(const struct hist *h, uint32_t b)
{
    const struct hist_page *page = page_of(h, b);
    uint32_t at = b % HIST_PAGE;
    if (page == NULL || page->blocks[at] == NULL)
        return 0;
    return sum_block(page->blocks[at], page->width_log2[at]);
}

bool hist_blocks_read(const struct hist *h, uint32_t b, uint64_t out[HIST_BLOCK])
{
    const struct hist_page *page = page_of(h, b);
    uint32_t at = b % HIST_PAGE;
    if (page == NULL || page->blocks[at] == NULL)
        return false;
    widen_block(page->blocks[at], page->width_log2[at], out);
    return true;
}

void hist_blocks_add(struct hist *h, uint32_t b, const uint64_t add[HIST_BLOCK])
{
    uint64_t sum[HIST_BLOCK], bits = 0;
    struct hist_page *page = page_for(h, b);
    if (!hist_blocks_read(h, b, sum))
        memset(sum, 0, sizeof sum);
    for (size_t i = 0; i < HIST_BLOCK; i++) {
        sum[i] += add[i];
        bits |= sum[i];
    }
    if (bits != 0)
        put(page, b % HIST_PAGE, sum, bits);
}

/* Bytes to bytes or to twice as wide: false and nothing is changed where one would not fit. */
static bool add_bytes(uint8_t *to, const uint8_t *from)
{
    uint8_t sum[HIST_BLOCK], carry = 0;
    for (size_t i = 0; i < HIST_BLOCK; i++) {
        sum[i] = (uint8_t)(to[i] + from[i]);
        carry |= (uint8_t)(sum[i] < from[i]);
    }
    if (carry == 0)
        memcpy(to, sum, sizeof sum);
    return carry == 0;
}

static bool add_bytes_to_words(uint16_t *to, const uint8_t *from)
{
    uint16_t sum[HIST_BLOCK], carry = 0;
    for (size_t i = 0; i < HIST_BLOCK; i++) {
        sum[i] = (uint16_t)(to[i] + from[i]);
        carry |= (uint16_t)(sum[i] < from[i]);
    }
    if (carry == 0)
        memcpy(to, sum, sizeof sum);
    return carry == 0;
}

/* The usual cases, in which no counter has to be widened. */
static bool add_quickly(struct hist_page *to, const struct hist_page *from, uint32_t at)
{
    if (to->blocks[at] == NULL) {
        unsigned width = from->width_log2[at];
        to->blocks[at] = mem_dup(from->blocks[at], (size_t)HIST_BLOCK << width);
        to->width_log2[at] = (uint8_t)width;
        return true;
    }
    if (from->width_log2[at] != 0)
        return false;
    if (to->width_log2[at] == 0)
        return add_bytes(to->blocks[at], from->blocks[at]);
    return to->width_log2[at] == 1 && add_bytes_to_words(to->blocks[at], from->blocks[at]);
}

void hist_blocks_add_all(struct hist *to, const struct hist *from)
{
    uint64_t counts[HIST_BLOCK];
    for (uint32_t p = 0; p < from->n_pages; p++) {
        if (from->pages[p] == NULL)
            continue;
        struct hist_page *page = page_for(to, p * HIST_PAGE);
        for (uint32_t at = 0; at < HIST_PAGE; at++)
            if (from->pages[p]->blocks[at] != NULL && !add_quickly(page, from->pages[p], at)) {
                widen_block(from->pages[p]->blocks[at], from->pages[p]->width_log2[at], counts);
                hist_blocks_add(to, p * HIST_PAGE + at, counts);
            }
    }
}

uint64_t hist_blocks_get(const struct hist *h, uint32_t i)
{
    const struct hist_page *page = page_of(h, i / HIST_BLOCK);
    uint32_t at = i / HIST_BLOCK % HIST_PAGE;
    if (page == NULL || page->blocks[at] == NULL)
        return 0;
    return get(page->blocks[at], page->width_log2[at], i % HIST_BLOCK);
}

void hist_blocks_count(struct hist *h, uint32_t i, uint64_t n)
{
    struct hist_page *page = page_for(h, i / HIST_BLOCK);
    uint32_t at = i / HIST_BLOCK % HIST_PAGE, in = i % HIST_BLOCK;
    if (n == 0)
        return;
    if (page->blocks[at] == NULL) {
        page->blocks[at] = mem_calloc(HIST_BLOCK, 1);
        page->width_log2[at] = 0;
    }
    uint8_t *bytes = page->blocks[at];
    if (page->width_log2[at] == 0 && n <= (uint64_t)(UINT8_MAX - bytes[in])) {
        bytes[in] = (uint8_t)(bytes[in] + n);
        return;
    }
    uint64_t add[HIST_BLOCK] = {0};
    add[in] = n;
    hist_blocks_add(h, i / HIST_BLOCK, add);
}

void hist_blocks_clear(struct hist *h)
{
    for (uint32_t p = 0; p < h->n_pages; p++) {
        if (h->pages[p] == NULL)
            continue;
        for (size_t at = 0; at < HIST_PAGE; at++)
            mem_free(h->pages[p]->blocks[at]);
        mem_free(h->pages[p]);
        h->pages[p] = NULL;
    }
}

void hist_cursor_init(struct hist_cursor *c, const struct hist *h, uint32_t from)
{
    c->h = h;
    c->next = from;
}

/* First counter of the block, `i` or behind it, that is not 0; HIST_BLOCK = none. Eight bytes at a
 * time: the lowest one that is not 0 belongs to it, whatever order its own bytes have. */
static uint32_t seek(const void *block, unsigned width_log2, uint32_t i)
{
    size_t at = (size_t)i << width_log2, len = (size_t)HIST_BLOCK << width_log2;
    unsigned skip = 8 * (at % sizeof(uint64_t));
    for (at -= at % sizeof(uint64_t); at < len; at += sizeof(uint64_t), skip = 0) {
        uint64_t word;
        memcpy(&word, (const char *)block + at, sizeof word);
        word = le64toh(word) >> skip << skip;
        if (word != 0)
            return (uint32_t)((at + (unsigned)__builtin_ctzll(word) / 8) >> width_log2);
    }
    return HIST_BLOCK;
}

bool hist_cursor_next(struct hist_cursor *c, uint32_t *index, uint64_t *count)
{
    while (c->h->total > 0 && c->next <= c->h->top) {
        uint32_t b = c->next / HIST_BLOCK, at = b % HIST_PAGE;
        const struct hist_page *page = page_of(c->h, b);
        if (page == NULL) {
            c->next = (b / HIST_PAGE + 1) * HIST_PAGE * HIST_BLOCK;
            continue;
        }
        uint32_t in = HIST_BLOCK;
        if (page->blocks[at] != NULL)
            in = seek(page->blocks[at], page->width_log2[at], c->next % HIST_BLOCK);
        c->next = b * HIST_BLOCK + in;
        if (in == HIST_BLOCK)
            continue;
        *index = c->next++;
        *count = get(page->blocks[at], page->width_log2[at], in);
        return true;
    }
    return false;
}
