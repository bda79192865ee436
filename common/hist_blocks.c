/* SPDX-License-Identifier: MIT */
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

static uint64_t get(const struct hist_page *page, uint32_t at, uint32_t i)
{
    const void *block = page->blocks[at];
    switch (page->width_log2[at]) {
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

uint64_t hist_blocks_get(const struct hist *h, uint32_t i)
{
    const struct hist_page *page = page_of(h, i / HIST_BLOCK);
    uint32_t at = i / HIST_BLOCK % HIST_PAGE;
    return page == NULL || page->blocks[at] == NULL ? 0 : get(page, at, i % HIST_BLOCK);
}

void hist_blocks_count(struct hist *h, uint32_t i, uint64_t n)
{
    struct hist_page *page = page_of(h, i / HIST_BLOCK);
    uint32_t at = i / HIST_BLOCK % HIST_PAGE, in = i % HIST_BLOCK;
    if (page != NULL && page->blocks[at] != NULL && page->width_log2[at] == 0 &&
        n <= (uint64_t)(UINT8_MAX - ((const uint8_t *)page->blocks[at])[in])) {
        ((uint8_t *)page->blocks[at])[in] = (uint8_t)(((uint8_t *)page->blocks[at])[in] + n);
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
    c->loaded = false;
}

/* Past what is 0 throughout: blocks, and where there is no page, whole pages. */
static bool load(struct hist_cursor *c)
{
    while (c->next <= c->h->top) {
        uint32_t b = c->next / HIST_BLOCK;
        if (hist_blocks_read(c->h, b, c->counts))
            return true;
        uint32_t step = page_of(c->h, b) == NULL ? HIST_PAGE : 1;
        c->next = (b / step + 1) * step * HIST_BLOCK;
    }
    return false;
}

bool hist_cursor_next(struct hist_cursor *c, uint32_t *index, uint64_t *count)
{
    if (c->h->total == 0)
        return false;
    for (;;) {
        if (!c->loaded && !load(c))
            return false;
        c->loaded = true;
        for (uint32_t j = c->next % HIST_BLOCK; j < HIST_BLOCK; j++) {
            if (c->counts[j] == 0)
                continue;
            *index = c->next / HIST_BLOCK * HIST_BLOCK + j;
            *count = c->counts[j];
            c->next = *index + 1;
            c->loaded = j + 1 < HIST_BLOCK;
            return true;
        }
        c->next = (c->next / HIST_BLOCK + 1) * HIST_BLOCK;
        c->loaded = false;
    }
}
