/* SPDX-License-Identifier: MIT */
/* Any text as a template, the first byte says where it stands: refused with a reason, or every
 * render is as long as was said, at most the maximum, and the same again. */
#include <string.h>

#include "common/mem.h"
#include "proto/template.h"
#include "proto/template_text.h"
#include "tests/fuzz/fuzz.h"

#define RENDER_MAX (1u << 20)

static void check_render(const struct template_form *t, uint64_t index, char *buf, char *again)
{
    size_t head, max = template_max(t);
    memset(buf, 'x', max + 1);
    size_t len = template_render(t, 7, index, buf, &head);
    FUZZ_CHECK(len == template_len(t, 7, index));
    FUZZ_CHECK(len <= max && head <= len && buf[len] == 'x');
    FUZZ_CHECK(template_render(t, 7, index, again, NULL) == len);
    FUZZ_CHECK(memcmp(buf, again, len) == 0);
}

static void check_renders(const struct template_form *t)
{
    size_t max = template_max(t);
    if (max > RENDER_MAX)
        return;
    char *buf = mem_calloc(max + 1, 1), *again = mem_calloc(max + 1, 1);
    for (uint64_t i = 0; i < 12; i++)
        check_render(t, i < 10 ? i : UINT64_MAX - i, buf, again);
    mem_free(buf);
    mem_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t lines[] = "one\r\ntwo\n\nfour", value[] = "v&1";
    const struct template_named file = {(char *)(uintptr_t) "f", lines, sizeof lines - 1},
                                variable = {(char *)(uintptr_t) "E", value, sizeof value - 1};
    struct template_book *book;
    struct errmsg msg = {""};
    if (size == 0)
        return 0;
    FUZZ_CHECK(template_book_new(&file, 1, &variable, 1, &book, &msg) == ERR_OK);
    struct template_form *t = template_new();
    template_put_body_length(t);
    template_put_chunk_begin(t);
    template_begin_body(t);
    enum err e = template_add(t, book, data + 1, size - 1, data[0] % 3, &msg);
    template_end_body(t);
    template_put_chunk_end(t);
    FUZZ_CHECK((e == ERR_OK) == (msg.text[0] == '\0'));
    FUZZ_CHECK(template_is_in(data + 1, size - 1) || e == ERR_OK);
    if (e == ERR_OK)
        check_renders(t);
    template_free(t);
    template_book_free(book);
    return 0;
}
