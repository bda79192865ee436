/* SPDX-License-Identifier: MIT */
#include "common/option_help.h"

#include <stdint.h>
#include <string.h>

#define HELP_WIDTH    100
#define HELP_TEXT_MAX 34 /* a longer left side gets its text on the next line */
#define HELP_LEFT     160

bool option_alias_next(struct option_alias *a)
{
    a->text += a->len;
    a->text += strspn(a->text, " ");
    a->len = strcspn(a->text, " ");
    return a->len > 0;
}

static bool is_listed(const char *names, const char *name)
{
    struct option_alias a = {names, 0};
    while (option_alias_next(&a))
        if (a.len == strlen(name) && memcmp(a.text, name, a.len) == 0)
            return true;
    return false;
}

const struct option_row *option_group_next(const struct option_group *g, size_t *at)
{
    while (*at < g->n) {
        const struct option_row *row = &g->rows[(*at)++];
        if (g->names == NULL || is_listed(g->names, row->name))
            return row;
    }
    return NULL;
}

/* --- nearest name --- */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Insertions, deletions, replacements and swaps of neighbours; both shorter than OPTION_WORD. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][OPTION_WORD];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = min3(last[j] + 1, now[j - 1] + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return rows[a_len % 3][b_len];
}

struct nearest {
    const char *word; /* typed, without dashes */
    size_t len;
    unsigned best;
    char *near;
};

/* A beginning of a name is as good as the name. */
static void offer(struct nearest *n, const char *name, size_t len)
{
    if (len + 3 > OPTION_WORD)
        return;
    bool begins = n->len >= 2 && n->len < len && memcmp(name, n->word, n->len) == 0;
    unsigned d = begins ? 0 : distance(n->word, n->len, name, len);
    if (d >= n->best)
        return;
    n->best = d;
    snprintf(n->near, OPTION_WORD, "--%.*s", (int)len, name);
}

/* "-C" for "-c": between single letters every distance is 1, so only the case counts. */
static bool other_case(const struct option_row *rows, size_t n_rows, char letter, char *near)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct option_alias a = {rows[i].aliases, 0};
        while (option_alias_next(&a)) {
            if (a.len != 2 || (a.text[1] ^ letter) != 0x20)
                continue;
            snprintf(near, OPTION_WORD, "%.2s", a.text);
            return true;
        }
    }
    return false;
}

bool option_nearest(const struct option_row *rows, size_t n_rows, const char *word,
                    char near[OPTION_WORD])
{
    const char *bare = word + strspn(word, "-");
    size_t len = strcspn(bare, "=");
    if (len == 1 && word[1] != '-')
        return other_case(rows, n_rows, *bare, near);
    if (len == 0 || len >= OPTION_WORD)
        return false;
    struct nearest n = {
        .word = bare, .len = len, .best = (unsigned)(len + 2) / 3 + 1, .near = near};
    unsigned limit = n.best;
    for (size_t i = 0; i < n_rows; i++) {
        offer(&n, rows[i].name, strlen(rows[i].name));
        struct option_alias a = {rows[i].aliases, 0};
        while (option_alias_next(&a))
            if (a.len > 2)
                offer(&n, a.text + 2, a.len - 2);
    }
    return n.best < limit;
}

/* --- help --- */

static size_t append(char *buf, size_t size, size_t at, const char *text, size_t len)
{
    if (at >= size)
        return at;
    int n = snprintf(buf + at, size - at, "%s%.*s", at == 0 ? "" : ", ", (int)len, text);
    return n < 0 ? at : at + (size_t)n;
}

/* "-c, --connections N": letters first, then the long names. */
static size_t left_side(const struct option_row *row, char *buf, size_t size)
{
    size_t at = 0;
    char name[OPTION_WORD];
    struct option_alias a = {row->aliases, 0};
    while (option_alias_next(&a))
        if (a.len == 2)
            at = append(buf, size, at, a.text, a.len);
    snprintf(name, sizeof name, "--%s", row->name);
    at = append(buf, size, at, name, strlen(name));
    a = (struct option_alias){row->aliases, 0};
    while (option_alias_next(&a))
        if (a.len > 2)
            at = append(buf, size, at, a.text, a.len);
    if (row->meta != NULL && at < size)
        snprintf(buf + at, size - at, " %s", row->meta);
    return strlen(buf);
}

static void print_wrapped(FILE *out, const char *text, int indent)
{
    int column = indent;
    while (*text != '\0') {
        int len = (int)strcspn(text, " ");
        if (column > indent && column + 1 + len > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", len, text);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static size_t left_width(const struct option_group *g)
{
    char left[HELP_LEFT];
    size_t width = 0, at = 0;
    const struct option_row *row;
    while ((row = option_group_next(g, &at)) != NULL) {
        size_t len = left_side(row, left, sizeof left);
        if (len > width && len <= HELP_TEXT_MAX)
            width = len;
    }
    return width;
}

static void print_rows(const struct option_group *g, size_t width, FILE *out)
{
    char left[HELP_LEFT];
    int indent = (int)width + 4;
    size_t at = 0;
    const struct option_row *row;
    while ((row = option_group_next(g, &at)) != NULL) {
        if (left_side(row, left, sizeof left) > width)
            fprintf(out, "  %s\n%*s", left, indent, "");
        else
            fprintf(out, "  %-*s  ", (int)width, left);
        print_wrapped(out, row->text, indent);
    }
}

void option_help(const struct option_row *rows, size_t n_rows, FILE *out)
{
    struct option_group g = {.rows = rows, .n = n_rows};
    print_rows(&g, left_width(&g), out);
}

void option_help_groups(const struct option_group *groups, size_t n, FILE *out)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++) {
        size_t w = left_width(&groups[i]);
        width = w > width ? w : width;
    }
    for (size_t i = 0; i < n; i++) {
        if (groups[i].title != NULL)
            fprintf(out, "\n%s:\n", groups[i].title);
        print_rows(&groups[i], width, out);
    }
}
