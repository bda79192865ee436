/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_trailer.h"

#include <string.h>

/* 0 = no such byte may come here. */
enum byte_class {
    CLASS_CONTROL,
    CLASS_TOKEN,
    CLASS_COLON,
    CLASS_SPACE,
    CLASS_OTHER,
    CLASS_CR,
    CLASS_LF,
    CLASSES
};

static enum byte_class class_of(unsigned char c)
{
    static const char token_marks[] = "!#$%&'*+-.^_`|~"; /* RFC 9110 section 5.6.2 */
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
        return CLASS_TOKEN;
    if (c == ':')
        return CLASS_COLON;
    if (c == ' ' || c == '\t')
        return CLASS_SPACE;
    if (c == '\r')
        return CLASS_CR;
    if (c == '\n')
        return CLASS_LF;
    if (c < ' ' || c == 0x7f)
        return CLASS_CONTROL;
    return strchr(token_marks, c) != NULL ? CLASS_TOKEN : CLASS_OTHER;
}

#define TO(state) (H1_TRAILER_##state + 1)

/* One more than the next state; 0 = BAD. */
static const unsigned char next[H1_TRAILER_END][CLASSES] = {
    [H1_TRAILER_START] = {[CLASS_TOKEN] = TO(NAME), [CLASS_CR] = TO(BLANK)},
    [H1_TRAILER_LINE] = {[CLASS_TOKEN] = TO(NAME),
                         [CLASS_SPACE] = TO(VALUE), /* folded, RFC 9112 section 5.2 */
                         [CLASS_CR] = TO(BLANK)},
    [H1_TRAILER_NAME] = {[CLASS_TOKEN] = TO(NAME), [CLASS_COLON] = TO(VALUE)},
    [H1_TRAILER_VALUE] = {[CLASS_TOKEN] = TO(VALUE),
                          [CLASS_COLON] = TO(VALUE),
                          [CLASS_SPACE] = TO(VALUE),
                          [CLASS_OTHER] = TO(VALUE),
                          [CLASS_CR] = TO(CR)},
    [H1_TRAILER_CR] = {[CLASS_LF] = TO(LINE)},
    [H1_TRAILER_BLANK] = {[CLASS_LF] = TO(END)},
};

enum h1_trailer h1_trailer_take(enum h1_trailer t, const char *bytes, size_t len, size_t *used)
{
    size_t n = 0;
    while (n < len && t < H1_TRAILER_END) {
        unsigned to = next[t][class_of((unsigned char)bytes[n++])];
        t = to == 0 ? H1_TRAILER_BAD : (enum h1_trailer)(to - 1);
    }
    *used = n;
    return t;
}
