/* SPDX-License-Identifier: MIT */
#include "tests/lib/hlog_reader.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hist_log.h"
#include "common/mem.h"

#define LEGEND                                                                                     \
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
#define HEAD_MAX 126 /* HdrHistogram_c splits what is longer */

/* "12.345", no sign, no exponent; *next is behind the comma. */
static uint64_t take_ms(char *text, char **next)
{
    size_t whole = strspn(text, "0123456789");
    ck_assert_msg(whole > 0 && text[whole] == '.', "%.40s", text);
    ck_assert_msg(strspn(text + whole + 1, "0123456789") == 3 && text[whole + 4] == ',', "%.40s",
                  text);
    uint64_t ms = strtoull(text, NULL, 10) * 1000 + strtoull(text + whole + 1, NULL, 10);
    *next = text + whole + 5;
    return ms;
}

static void take_line(char *text, hlog_line_fn fn, void *arg)
{
    struct hlog_line line = {.tag = ""};
    struct hist *h = NULL;
    if (strncmp(text, "Tag=", 4) == 0) {
        char *comma = strchr(text, ',');
        ck_assert_ptr_nonnull(comma);
        *comma = '\0';
        line.tag = text + 4;
        ck_assert_msg(line.tag[0] != '\0' && strpbrk(line.tag, " \r") == NULL, "tag %s", line.tag);
        text = comma + 1;
    }
    line.from_ms = take_ms(text, &text);
    line.length_ms = take_ms(text, &text);
    line.max_ms = (double)take_ms(text, &text) / 1000;
    ck_assert_msg(hist_log_decode(text, strlen(text), &h) == ERR_OK, "%.60s", text);
    double max_ms = (double)hist_max_bucket(h) / 1e6;
    ck_assert_msg(fabs(max_ms - line.max_ms) < 0.00051, "max %g is not %g", line.max_ms, max_ms);
    line.hist = h;
    fn(arg, &line);
    hist_free(h);
}

size_t hlog_read(const char *text, hlog_line_fn fn, void *arg)
{
    char *copy = mem_strdup(text), *rest = copy, *one;
    size_t n = 0;
    bool legend = false, version = false;
    ck_assert_ptr_null(strpbrk(text, "\r"));
    ck_assert_msg(text[0] != '\0' && text[strlen(text) - 1] == '\n', "the last line has no end");
    while ((one = strsep(&rest, "\n")) != NULL && rest != NULL) {
        ck_assert_msg(one[0] != '\0', "blank line");
        if (one[0] == '#' || one[0] == '"') {
            ck_assert_msg(n == 0 && strlen(one) <= HEAD_MAX, "%s", one);
            legend = legend || strcmp(one, LEGEND) == 0;
            version = version || strcmp(one, "#[Histogram log format version 1.3]") == 0;
            continue;
        }
        take_line(one, fn, arg);
        n++;
    }
    ck_assert(legend && version);
    mem_free(copy);
    return n;
}

struct of_tag {
    const char *tag;
    struct hist *sum;
};

static void add_line(void *arg, const struct hlog_line *line)
{
    struct of_tag *t = arg;
    if (strcmp(line->tag, t->tag) != 0)
        return;
    if (t->sum == NULL)
        t->sum = hist_copy(line->hist);
    else
        ck_assert_int_eq(hist_add(t->sum, line->hist), ERR_OK);
}

struct hist *hlog_merged(const char *text, const char *tag)
{
    struct of_tag t = {.tag = tag};
    hlog_read(text, add_line, &t);
    return t.sum != NULL ? t.sum : hist_new_default();
}
