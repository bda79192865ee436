/* SPDX-License-Identifier: MIT */
#include "common/option.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/option_help.h"
#include "common/units.h"

#define SOURCE_TEXT 96

/* Where a value comes from, as put in front of it in errors: "--rate ", "HAMMER_RATE=". */
struct source {
    char text[SOURCE_TEXT];
};

void option_list_add(struct option_list *l, const char *item)
{
    l->items = mem_realloc(l->items, l->n + 1, sizeof *l->items);
    l->items[l->n++] = mem_strdup(item);
}

void option_list_clear(struct option_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        explicit_bzero(l->items[i], strlen(l->items[i])); /* headers may be secrets */
        mem_free(l->items[i]);
    }
    mem_free(l->items);
    *l = (struct option_list){0};
}

/* --- errors made from the row --- */

static void form_flag(const struct option_row *row, char *buf, size_t size)
{
    (void)row;
    snprintf(buf, size, "1 or 0");
}

static void form_number(const struct option_row *row, char *buf, size_t size)
{
    snprintf(buf, size, "a whole number from %" PRIu64 " to %" PRIu64, row->min, row->max);
}

static void form_duration(const struct option_row *row, char *buf, size_t size)
{
    char min[UNITS_TEXT], max[UNITS_TEXT];
    const char *bare = "";
    if (row->bare_unit == NS_PER_SEC)
        bare = " (a bare number is seconds)";
    if (row->bare_unit == NS_PER_MS)
        bare = " (a bare number is milliseconds)";
    snprintf(buf, size, "a duration from %s to %s%s", units_format_duration(row->min, min),
             units_format_duration(row->max, max), bare);
}

static void form_rate(const struct option_row *row, char *buf, size_t size)
{
    (void)row;
    snprintf(buf, size, "a rate such as 2000, 1.5k, 0.1, 100/s, 6/m or 1/h, at most 1000000000/s");
}

static void form_text(const struct option_row *row, char *buf, size_t size)
{
    snprintf(buf, size, "%s", row->accepted != NULL ? row->accepted : "a text");
}

void option_accepted(const struct option_row *row, char *buf, size_t size)
{
    static void (*const forms[])(const struct option_row *, char *, size_t) = {
        [OPTION_FLAG] = form_flag,    [OPTION_U32] = form_number,
        [OPTION_COUNT] = form_number, [OPTION_DURATION] = form_duration,
        [OPTION_RATE] = form_rate,    [OPTION_STRING] = form_text,
        [OPTION_LIST] = form_text,    [OPTION_CUSTOM] = form_text,
    };
    forms[row->type](row, buf, size);
}

static enum err refuse(const struct option_row *row, const char *source, const char *value,
                       enum err e, struct errmsg *msg)
{
    char form[256], shown[UNITS_SHOWN];
    option_accepted(row, form, sizeof form);
    return errmsg_set(msg, e, "%s%s: accepted is %s", source, units_format_shown(value, shown),
                      form);
}

static struct source flag_source(const struct option_row *row)
{
    struct source s;
    snprintf(s.text, sizeof s.text, "--%s ", row->name);
    return s;
}

enum err option_refuse(const struct option_row *row, const char *value, enum err e,
                       struct errmsg *msg)
{
    struct source s = flag_source(row);
    return refuse(row, s.text, value, e, msg);
}

/* --- values: one function a type, each leaves `msg` empty where the row says it all --- */

typedef enum err (*apply_fn)(const struct option_row *row, const char *value, char *target,
                             struct errmsg *msg);

static enum err apply_flag(const struct option_row *row, const char *value, char *target,
                           struct errmsg *msg)
{
    (void)msg;
    bool on = strcmp(value, "1") == 0;
    if (!on && strcmp(value, "0") != 0)
        return ERR_INVALID;
    *(bool *)(void *)(target + row->offset) = on;
    return ERR_OK;
}

static enum err in_range(const struct option_row *row, uint64_t v)
{
    return v >= row->min && v <= row->max ? ERR_OK : ERR_RANGE;
}

static enum err apply_count(const struct option_row *row, const char *value, char *target,
                            struct errmsg *msg)
{
    (void)msg;
    uint64_t v;
    enum err e = units_parse_count(value, &v, NULL);
    if (e == ERR_OK)
        e = in_range(row, v);
    if (e == ERR_OK)
        *(uint64_t *)(void *)(target + row->offset) = v;
    return e;
}

static enum err apply_u32(const struct option_row *row, const char *value, char *target,
                          struct errmsg *msg)
{
    (void)msg;
    uint64_t v;
    enum err e = units_parse_count(value, &v, NULL);
    if (e == ERR_OK)
        e = v > UINT32_MAX ? ERR_RANGE : in_range(row, v);
    if (e == ERR_OK)
        *(uint32_t *)(void *)(target + row->offset) = (uint32_t)v;
    return e;
}

static enum err apply_duration(const struct option_row *row, const char *value, char *target,
                               struct errmsg *msg)
{
    uint64_t v;
    enum err e = units_parse_duration(value, row->bare_unit, &v, msg);
    if (e != ERR_OK)
        return e;
    e = in_range(row, v);
    if (e == ERR_OK)
        *(uint64_t *)(void *)(target + row->offset) = v;
    return e;
}

static enum err apply_rate(const struct option_row *row, const char *value, char *target,
                           struct errmsg *msg)
{
    return units_parse_rate(value, (struct rate *)(void *)(target + row->offset), msg);
}

static enum err apply_string(const struct option_row *row, const char *value, char *target,
                             struct errmsg *msg)
{
    (void)msg;
    char **member = (char **)(void *)(target + row->offset);
    if (strlen(value) < row->min)
        return ERR_INVALID;
    char *copy = mem_strdup(value);
    mem_free(*member);
    *member = copy;
    return ERR_OK;
}

static enum err apply_list(const struct option_row *row, const char *value, char *target,
                           struct errmsg *msg)
{
    (void)msg;
    option_list_add((struct option_list *)(void *)(target + row->offset), value);
    return ERR_OK;
}

static enum err apply_custom(const struct option_row *row, const char *value, char *target,
                             struct errmsg *msg)
{
    return row->parse(row, value, target, msg);
}

void option_given(const char *item, char name[OPTION_GIVEN_NAME], const char **value)
{
    size_t len = strcspn(item, "=");
    snprintf(name, OPTION_GIVEN_NAME, "%.*s", (int)len, item);
    *value = item[len] == '=' ? item + len + 1 : "";
}

/* Place of the option in the list, its end when it is not there. */
static size_t given_at(const struct option_list *l, const char *wanted)
{
    char name[OPTION_GIVEN_NAME];
    const char *value;
    for (size_t i = 0; i < l->n; i++) {
        option_given(l->items[i], name, &value);
        if (strcmp(name, wanted) == 0)
            return i;
    }
    return l->n;
}

static void forget(struct option_list *l, size_t i)
{
    if (i == l->n)
        return;
    explicit_bzero(l->items[i], strlen(l->items[i]));
    mem_free(l->items[i]);
    l->n--;
    memmove(&l->items[i], &l->items[i + 1], (l->n - i) * sizeof *l->items);
}

/* A character of several bytes is not cut in two. */
static size_t cut_length(const char *value)
{
    size_t len = strnlen(value, OPTION_GIVEN_VALUE + 1);
    if (len <= OPTION_GIVEN_VALUE)
        return len;
    for (len--; len > 0 && ((unsigned char)value[len] & 0xc0) == 0x80;)
        len--;
    return len;
}

static void keep_given(const struct option_row *row, const char *value, char *target)
{
    if (row->given_offset == 0 || row->type == OPTION_LIST)
        return;
    struct option_list *l = (struct option_list *)(void *)(target + row->given_offset);
    char item[OPTION_GIVEN_TEXT];
    size_t len = cut_length(value);
    forget(l, given_at(l, row->name));
    if (row->type != OPTION_FLAG)
        snprintf(item, sizeof item, "%.*s=%.*s%s", OPTION_GIVEN_NAME - 1, row->name, (int)len,
                 value, value[len] != '\0' ? "..." : "");
    else if (*(bool *)(void *)(target + row->offset))
        snprintf(item, sizeof item, "%s", row->name);
    else
        return;
    option_list_add(l, item);
}

enum err option_apply(const struct option_row *row, const char *source, const char *value,
                      void *target, struct errmsg *msg)
{
    static const apply_fn types[] = {
        [OPTION_FLAG] = apply_flag,   [OPTION_U32] = apply_u32,
        [OPTION_COUNT] = apply_count, [OPTION_DURATION] = apply_duration,
        [OPTION_RATE] = apply_rate,   [OPTION_STRING] = apply_string,
        [OPTION_LIST] = apply_list,   [OPTION_CUSTOM] = apply_custom,
    };
    struct errmsg why = {{0}};
    enum err e = types[row->type](row, value, target, &why);
    if (e != ERR_OK && why.text[0] == '\0')
        return refuse(row, source, value, e, msg);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "%s%s", source, why.text);
    if (row->set_offset != OPTION_NO_SET)
        *(bool *)(void *)((char *)target + row->set_offset) = true;
    keep_given(row, value, target);
    return ERR_OK;
}

/* --- argv --- */

struct scan {
    const struct option_row *rows;
    size_t n_rows;
    int argc, at; /* argv[at] is the word being read */
    char *const *argv;
    void *target;
    bool *seen; /* per row: given on this command line */
    struct errmsg *msg;
};

const struct option_row *option_find(const struct option_row *rows, size_t n_rows, const char *name)
{
    for (size_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static bool has_alias(const struct option_row *row, const char *word, size_t len)
{
    struct option_alias a = {row->aliases, 0};
    while (option_alias_next(&a))
        if (a.len == len && memcmp(a.text, word, len) == 0)
            return true;
    return false;
}

/* `word` with its dashes: "--rate", "-r". */
static const struct option_row *find_word(const struct scan *s, const char *word, size_t len)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct option_row *row = &s->rows[i];
        if (len > 2 && word[1] == '-' && strlen(row->name) == len - 2 &&
            memcmp(row->name, word + 2, len - 2) == 0)
            return row;
        if (has_alias(row, word, len))
            return row;
    }
    return NULL;
}

/* Without what follows the name: it may be the value of a secret. */
static enum err unknown(const struct scan *s, const char *word)
{
    char near[OPTION_WORD], shown[UNITS_SHOWN];
    units_format_shown(word, shown);
    shown[strcspn(shown, "=: \t'\"")] = '\0';
    if (option_nearest(s->rows, s->n_rows, word, near))
        return errmsg_set(s->msg, ERR_INVALID, "unknown option %s: did you mean %s?", shown, near);
    return errmsg_set(s->msg, ERR_INVALID,
                      "unknown option %s: accepted are the options that --help lists", shown);
}

/* `value` NULL = the next word of argv is it. */
static enum err take(struct scan *s, const struct option_row *row, const char *value)
{
    struct source source = flag_source(row);
    size_t i = (size_t)(row - s->rows);
    if (value == NULL) {
        if (s->at + 1 >= s->argc)
            return refuse(row, source.text, "(no value)", ERR_INVALID, s->msg);
        value = s->argv[++s->at];
    }
    if (row->type == OPTION_LIST && !s->seen[i])
        option_list_clear((struct option_list *)(void *)((char *)s->target + row->offset));
    s->seen[i] = true;
    return option_apply(row, source.text, value, s->target, s->msg);
}

static enum err parse_long(struct scan *s)
{
    const char *word = s->argv[s->at];
    size_t len = strcspn(word, "=");
    const struct option_row *row = find_word(s, word, len);
    if (row == NULL)
        return unknown(s, word);
    const char *value = word[len] == '=' ? word + len + 1 : NULL;
    if (row->type != OPTION_FLAG)
        return take(s, row, value);
    if (value == NULL)
        return take(s, row, "1");
    char shown[UNITS_SHOWN];
    return errmsg_set(s->msg, ERR_INVALID, "--%s %s: accepted is the flag alone, without a value",
                      row->name, units_format_shown(value, shown));
}

/* "-c20", "-c 20", "-qv". A long name behind one dash is not read as a short option with a value:
 * "-method GET" would send the method "ethod". */
static enum err parse_short(struct scan *s)
{
    const char *word = s->argv[s->at];
    char longer[OPTION_WORD];
    snprintf(longer, sizeof longer, "-%s", word);
    if (word[2] != '\0' && find_word(s, longer, strcspn(longer, "=")) != NULL)
        return unknown(s, word);
    for (const char *p = word + 1; *p != '\0'; p++) {
        char flag[2] = {'-', *p};
        const struct option_row *row = find_word(s, flag, sizeof flag);
        if (row == NULL)
            return unknown(s, word);
        if (row->type != OPTION_FLAG)
            return take(s, row, p[1] != '\0' ? p + 1 : NULL);
        enum err e = take(s, row, "1");
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err parse_word(struct scan *s, bool *options_end, const char **rest, size_t rest_max,
                           size_t *n_rest)
{
    const char *word = s->argv[s->at];
    if (!*options_end && strcmp(word, "--") == 0) {
        *options_end = true;
        return ERR_OK;
    }
    if (!*options_end && word[0] == '-' && word[1] == '-')
        return parse_long(s);
    if (!*options_end && word[0] == '-' && word[1] != '\0')
        return parse_short(s);
    char shown[UNITS_SHOWN];
    if (*n_rest >= rest_max)
        return errmsg_set(s->msg, ERR_INVALID,
                          "unexpected argument %s: accepted beside the options is at most %zu",
                          units_format_shown(word, shown), rest_max);
    rest[(*n_rest)++] = word;
    return ERR_OK;
}

enum err option_parse(const struct option_row *rows, size_t n_rows, int argc, char *const *argv,
                      void *target, const char **rest, size_t rest_max, size_t *n_rest,
                      struct errmsg *msg)
{
    struct scan s = {.rows = rows,
                     .n_rows = n_rows,
                     .argc = argc,
                     .argv = argv,
                     .target = target,
                     .seen = mem_calloc(n_rows, sizeof(bool)),
                     .msg = msg};
    bool options_end = false;
    enum err e = ERR_OK;
    *n_rest = 0;
    for (s.at = 1; s.at < argc && e == ERR_OK; s.at++)
        e = parse_word(&s, &options_end, rest, rest_max, n_rest);
    mem_free(s.seen);
    return e;
}

/* --- environment --- */

static struct source variable_source(const struct option_row *row)
{
    struct source s;
    snprintf(s.text, sizeof s.text, "HAMMER_%s", row->name);
    for (char *p = s.text; *p != '\0'; p++) {
        if (*p == '-')
            *p = '_';
        else
            *p = (char)toupper((unsigned char)*p);
    }
    return s;
}

enum err option_environment(const struct option_row *rows, size_t n_rows, void *target,
                            struct errmsg *msg)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct source source = variable_source(&rows[i]);
        const char *value = getenv(source.text);
        if (value == NULL || *value == '\0')
            continue;
        strncat(source.text, "=", sizeof source.text - strlen(source.text) - 1);
        if (rows[i].type == OPTION_LIST) /* what a file put into it */
            option_list_clear((struct option_list *)(void *)((char *)target + rows[i].offset));
        enum err e = option_apply(&rows[i], source.text, value, target, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

void option_clear(const struct option_row *rows, size_t n_rows, void *target)
{
    for (size_t i = 0; i < n_rows; i++) {
        char *member = (char *)target + rows[i].offset;
        if (rows[i].type == OPTION_LIST)
            option_list_clear((struct option_list *)(void *)member);
        if (rows[i].type != OPTION_STRING)
            continue;
        mem_free(*(char **)(void *)member);
        *(char **)(void *)member = NULL;
    }
}
