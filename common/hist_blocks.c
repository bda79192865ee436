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

/* Bytes of a counter, 0 = the block is not there. */
static inline unsigned width_of(const struct hist_page *page, uint32_t at)
{
    return (unsigned)(page->start[at + 1] - page->start[at]);
}

static inline unsigned width_log2_of(const struct hist_page *page, uint32_t at)
{
    return (unsigned)__builtin_ctz(width_of(page, at));
}

static inline void *block_of(const struct hist_page *page, uint32_t at)
{
    return page->bytes + (size_t)HIST_BLOCK * page->start[at];
}

static void make_room(struct hist_page *page, unsigned room)
{
    if (room <= page->room)
        return;
    page->bytes = mem_realloc(page->bytes, room, HIST_BLOCK);
    page->room = (uint8_t)room;
}

/* Makes the block, or makes it wider: what it holds is then the caller's to write. */
static void *grow_block(struct hist_page *page, uint32_t at, unsigned width_log2)
{
    unsigned more = (1u << width_log2) - width_of(page, at);
    size_t behind = (size_t)(page->start[HIST_PAGE] - page->start[at + 1]);
    make_room(page, page->start[HIST_PAGE] + more);
    uint8_t *next = page->bytes + (size_t)HIST_BLOCK * page->start[at + 1];
    if (behind > 0)
        memmove(next + (size_t)HIST_BLOCK * more, next, HIST_BLOCK * behind);
    for (uint32_t k = at + 1; k <= HIST_PAGE; k++)
        page->start[k] = (uint8_t)(page->start[k] + more);
    return block_of(page, at);
}

/* Writes the block, wider than before when `bits` (all counters or'ed) asks for it. */
static void put(struct hist_page *page, uint32_t at, const uint64_t counts[HIST_BLOCK],
                uint64_t bits)
{
    unsigned width = width_for(bits);
    if (1u << width > width_of(page, at))
        grow_block(page, at, width);
    narrow_block(block_of(page, at), width_log2_of(page, at), counts);
}

uint64_t hist_blocks_sum(const struct hist *h, uint32_t b)
{
    const struct hist_page *page = page_of(h, b);
    uint32_t at = b % HIST_PAGE;
    if (page == NULL || width_of(page, at) == 0)
        return 0;
    return sum_block(block_of(page, at), width_log2_of(page, at));
}

bool hist_blocks_read(const struct hist *h, uint32_t b, uint64_t out[HIST_BLOCK])
{
    const struct hist_page *page = page_of(h, b);
    uint32_t at = b % HIST_PAGE;
    if (page == NULL || width_of(page, at) == 0)
        return false;
    widen_block(block_of(page, at), width_log2_of(page, at), out);
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
    unsigned width = width_of(from, at), old = width_of(to, at);
    if (old == 0) {
        void *block = grow_block(to, at, width_log2_of(from, at));
        memcpy(block, block_of(from, at), (size_t)HIST_BLOCK * width);
        return true;
    }
    if (width != 1)
        return false;
    if (old == 1)
        return add_bytes(block_of(to, at), block_of(from, at));
    return old == 2 && add_bytes_to_words(block_of(to, at), block_of(from, at));
}

static struct hist_page *page_copy(const struct hist_page *from)
{
    struct hist_page *page = mem_calloc(1, sizeof *page);
    *page = *from;
    page->room = from->start[HIST_PAGE]; /* no more than that: it is kept for long */
    page->bytes = mem_dup(from->bytes, (size_t)HIST_BLOCK * page->room);
    return page;
}

static void page_add(struct hist *to, uint32_t p, const struct hist_page *from)
{
    uint64_t counts[HIST_BLOCK];
    for (uint32_t at = 0; at < HIST_PAGE; at++)
        if (width_of(from, at) != 0 && !add_quickly(to->pages[p], from, at)) {
            widen_block(block_of(from, at), width_log2_of(from, at), counts);
            hist_blocks_add(to, p * HIST_PAGE + at, counts);
        }
}

/* A histogram that many others take turns with is in no cache by now. */
static void fetch(const struct hist_page *page)
{
    for (size_t i = 0; page != NULL && i < page->start[HIST_PAGE]; i++)
        __builtin_prefetch(page->bytes + i * HIST_BLOCK, 1);
}

void hist_blocks_add_all(struct hist *to, const struct hist *from)
{
    for (uint32_t p = 0; p < from->n_pages; p++)
        if (from->pages[p] != NULL && to->pages[p] != NULL)
            __builtin_prefetch(to->pages[p]);
    for (uint32_t p = 0; p < from->n_pages; p++) {
        if (from->pages[p] == NULL || from->pages[p]->start[HIST_PAGE] == 0)
            continue;
        if (p + 1 < from->n_pages && from->pages[p + 1] != NULL)
            fetch(to->pages[p + 1]);
        if (to->pages[p] == NULL)
            to->pages[p] = page_copy(from->pages[p]);
        else
            page_add(to, p, from->pages[p]);
    }
}

uint64_t hist_blocks_get(const struct hist *h, uint32_t i)
{
    const struct hist_page *page = page_of(h, i / HIST_BLOCK);
    uint32_t at = i / HIST_BLOCK % HIST_PAGE;
    if (page == NULL || width_of(page, at) == 0)
        return 0;
    return get(block_of(page, at), width_log2_of(page, at), i % HIST_BLOCK);
}

uint8_t *hist_blocks_bytes(struct hist *h, uint32_t b)
{
    struct hist_page *page = page_for(h, b);
    uint32_t at = b % HIST_PAGE;
    if (width_of(page, at) == 0) {
        make_room(page, HIST_PAGE); /* counted one by one, most blocks will soon be there */
        memset(grow_block(page, at, 0), 0, HIST_BLOCK);
    }
    return width_of(page, at) == 1 ? block_of(page, at) : NULL;
}

void hist_blocks_count(struct hist *h, uint32_t i, uint64_t n)
{
    if (n == 0)
        return;
    uint32_t in = i % HIST_BLOCK;
    uint8_t *bytes = hist_blocks_bytes(h, i / HIST_BLOCK);
    if (bytes != NULL && n <= (uint64_t)(UINT8_MAX - bytes[in])) {
        bytes[in] = (uint8_t)(bytes[in] + n);
        return;
    }
    uint64_t add[HIST_BLOCK] = {0};
    add[in] = n;
    hist_blocks_add(h, i / HIST_BLOCK, add);
}

void hist_blocks_clear(struct hist *h)
{
    for (uint32_t p = 0; p < h->n_pages; p++)
        if (h->pages[p] != NULL)
            memset(h->pages[p]->start, 0, sizeof h->pages[p]->start);
}

void hist_blocks_free(struct hist *h)
{
    for (uint32_t p = 0; p < h->n_pages; p++) {
        if (h->pages[p] == NULL)
            continue;
        mem_free(h->pages[p]->bytes);
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
        if (width_of(page, at) != 0)
            in = seek(block_of(page, at), width_log2_of(page, at), c->next % HIST_BLOCK);
        c->next = b * HIST_BLOCK + in;
        if (in == HIST_BLOCK)
            continue;
        *index = c->next++;
        *count = get(block_of(page, at), width_log2_of(page, at), in);
        return true;
    }
    return false;
}
