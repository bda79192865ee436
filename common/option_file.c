/* SPDX-License-Identifier: MIT */
#include "common/option_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "common/mem.h"
#include "common/option_help.h"
#include "common/units.h"

#define FILE_MAX (1u << 20)
#define WHERE    320 /* "FILE:LINE:COLUMN: key: " */

struct reader {
    yaml_parser_t parser;
    const char *path;
    const struct option_row *rows;
    size_t n_rows, max; /* max: bytes */
    bool *seen;         /* per row */
    void *target;
    const struct option_nested *nested; /* NULL inside of one, and where there is none */
    bool nested_seen;
    struct errmsg *msg;
};

/* --- the bytes ------------------------------------------------------------------------------ */

static enum err read_all(int fd, char *buf, size_t max, size_t *len)
{
    ssize_t n;
    *len = 0;
    do {
        n = read(fd, buf + *len, max + 1 - *len);
        if (n > 0)
            *len += (size_t)n;
    } while ((n > 0 && *len <= max) || (n < 0 && errno == EINTR));
    return n < 0 ? ERR_SYSTEM : ERR_OK;
}

/* Only a regular file: a FIFO would block for ever. */
static enum err load(const char *path, size_t max, char **bytes, size_t *len, struct errmsg *msg)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errmsg_set(msg, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%s: %s", path,
                          strerror(errno));
    enum err e = ERR_OK;
    *bytes = mem_calloc(1, max + 1);
    if (fstat(fd, &st) != 0 || read_all(fd, *bytes, max, len) != ERR_OK)
        e = errmsg_set(msg, ERR_SYSTEM, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        e = errmsg_set(msg, ERR_SYSTEM, "%s: not a regular file", path);
    else if (*len > max)
        e = errmsg_set(msg, ERR_TOO_BIG, "%s: accepted are at most %zu bytes", path, max);
    close(fd);
    if (e != ERR_OK)
        mem_free(*bytes);
    return e;
}

/* --- errors --------------------------------------------------------------------------------- */

static enum err fail_at(const struct reader *r, const yaml_mark_t *at, const char *what)
{
    return errmsg_set(r->msg, ERR_INVALID, "%.200s:%zu:%zu: %s", r->path, at->line + 1,
                      at->column + 1, what);
}

static enum err fail_syntax(const struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const yaml_mark_t *at = p->problem_mark.line != 0 || p->problem_mark.column != 0
                                ? &p->problem_mark
                                : &p->mark; /* not UTF-8: only the offset is told */
    return fail_at(r, at, p->problem != NULL ? p->problem : "not YAML");
}

static enum err fail_key(const struct reader *r, const yaml_event_t *ev, const char *key)
{
    char text[256], near[OPTION_WORD], word[OPTION_WORD], shown[UNITS_SHOWN];
    units_format_shown(key, shown);
    snprintf(word, sizeof word, "--%.*s", OPTION_WORD - 4, shown);
    if (option_nearest(r->rows, r->n_rows, word, near) && strncmp(near, "--", 2) == 0)
        snprintf(text, sizeof text, "unknown key %s: did you mean %s?", shown, near + 2);
    else
        snprintf(text, sizeof text,
                 "unknown key %s: accepted are the long names of the options that a file may hold",
                 shown);
    return fail_at(r, &ev->start_mark, text);
}

static enum err fail_value(const struct reader *r, const yaml_event_t *ev,
                           const struct option_row *row)
{
    static const char *const forms[] = {
        [OPTION_FLAG] = "true or false",    [OPTION_LIST] = "one text or a list of texts",
        [OPTION_STRING] = "one text",       [OPTION_U32] = "one number",
        [OPTION_COUNT] = "one number",      [OPTION_RATE] = "one rate",
        [OPTION_DURATION] = "one duration", [OPTION_CUSTOM] = "one text",
    };
    char text[256];
    snprintf(text, sizeof text, "%s: accepted is %s", row->name, forms[row->type]);
    return fail_at(r, &ev->start_mark, text);
}

/* --- one mapping of scalars and lists of scalars -------------------------------------------- */

static enum err next(struct reader *r, yaml_event_t *ev)
{
    return yaml_parser_parse(&r->parser, ev) ? ERR_OK : fail_syntax(r);
}

static bool is_word(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* A plain scalar that YAML reads as something else than a text or a number. */
static bool is_mistyped(const yaml_event_t *ev)
{
    static const char *const words[] = {"",     "~",    "null",  "Null",  "NULL",  "true",
                                        "True", "TRUE", "false", "False", "FALSE", NULL};
    return ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           is_word((const char *)ev->data.scalar.value, words);
}

static bool is_text(const yaml_event_t *ev)
{
    return ev->type == YAML_SCALAR_EVENT && ev->data.scalar.tag == NULL &&
           ev->data.scalar.anchor == NULL &&
           strlen((const char *)ev->data.scalar.value) == ev->data.scalar.length;
}

static enum err take_scalar(struct reader *r, const yaml_event_t *ev, const struct option_row *row)
{
    if (!is_text(ev))
        return fail_value(r, ev, row);
    const char *value = (const char *)ev->data.scalar.value;
    if (row->type == OPTION_FLAG) {
        bool on = strcmp(value, "true") == 0;
        if (ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
            (!on && strcmp(value, "false") != 0))
            return fail_value(r, ev, row);
        value = on ? "1" : "0";
    } else if (is_mistyped(ev)) {
        return fail_value(r, ev, row);
    }
    char where[WHERE];
    snprintf(where, sizeof where, "%.200s:%zu:%zu: %s ", r->path, ev->start_mark.line + 1,
             ev->start_mark.column + 1, row->name);
    return option_apply(row, where, value, r->target, r->msg);
}

static enum err take_sequence(struct reader *r, const struct option_row *row)
{
    yaml_event_t ev;
    enum err e;
    for (bool more = true; more;) {
        e = next(r, &ev);
        if (e != ERR_OK)
            return e;
        more = ev.type != YAML_SEQUENCE_END_EVENT;
        if (more)
            e = take_scalar(r, &ev, row);
        yaml_event_delete(&ev);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err take_value(struct reader *r, const struct option_row *row)
{
    yaml_event_t ev;
    enum err e = next(r, &ev);
    if (e != ERR_OK)
        return e;
    if (ev.type == YAML_SEQUENCE_START_EVENT && row->type == OPTION_LIST)
        e = take_sequence(r, row);
    else
        e = take_scalar(r, &ev, row);
    yaml_event_delete(&ev);
    return e;
}

static enum err read_mapping(struct reader *r);

/* One mapping of the list, by rows of its own. */
static enum err take_item(struct reader *r, const yaml_event_t *ev)
{
    const struct option_nested *nested = r->nested;
    struct errmsg why = {{0}};
    if (ev->type != YAML_MAPPING_START_EVENT || ev->data.mapping_start.anchor != NULL)
        return fail_at(r, &ev->start_mark, "accepted is a mapping: KEY: VALUE, one a line");
    const struct reader outer = *r; /* but for the parser, which moves on */
    r->rows = nested->rows;
    r->n_rows = nested->n_rows;
    r->target = nested->begin(nested->arg);
    r->seen = mem_calloc(r->n_rows, sizeof *r->seen);
    r->nested = NULL;
    enum err e = read_mapping(r);
    mem_free(r->seen);
    r->rows = outer.rows;
    r->n_rows = outer.n_rows;
    r->target = outer.target;
    r->seen = outer.seen;
    r->nested = nested;
    if (e != ERR_OK)
        return e;
    e = nested->end(nested->arg, &why);
    return e == ERR_OK ? ERR_OK : fail_at(r, &ev->start_mark, why.text);
}

static enum err take_items(struct reader *r)
{
    yaml_event_t ev;
    enum err e = next(r, &ev);
    if (e != ERR_OK)
        return e;
    if (ev.type != YAML_SEQUENCE_START_EVENT || ev.data.sequence_start.anchor != NULL)
        e = fail_at(r, &ev.start_mark, "accepted is a list of mappings");
    yaml_event_delete(&ev);
    for (bool more = e == ERR_OK; more && e == ERR_OK;) {
        e = next(r, &ev);
        if (e != ERR_OK)
            return e;
        more = ev.type != YAML_SEQUENCE_END_EVENT;
        if (more)
            e = take_item(r, &ev);
        yaml_event_delete(&ev);
    }
    return e;
}

static enum err take_key(struct reader *r, const yaml_event_t *ev)
{
    if (!is_text(ev))
        return fail_at(r, &ev->start_mark, "accepted as a key is the long name of an option");
    const char *key = (const char *)ev->data.scalar.value;
    bool nested = r->nested != NULL && strcmp(key, r->nested->name) == 0;
    const struct option_row *row = nested ? NULL : option_find(r->rows, r->n_rows, key);
    if (row == NULL && !nested)
        return fail_key(r, ev, key);
    bool *seen = nested ? &r->nested_seen : &r->seen[row - r->rows];
    if (*seen) {
        char text[128];
        snprintf(text, sizeof text, "%.100s: given twice", key);
        return fail_at(r, &ev->start_mark, text);
    }
    *seen = true;
    return nested ? take_items(r) : take_value(r, row);
}

static enum err read_mapping(struct reader *r)
{
    yaml_event_t ev;
    for (;;) {
        enum err e = next(r, &ev);
        if (e != ERR_OK)
            return e;
        bool end = ev.type == YAML_MAPPING_END_EVENT;
        if (!end)
            e = take_key(r, &ev);
        yaml_event_delete(&ev);
        if (e != ERR_OK || end)
            return e;
    }
}

/* What stands around the mapping. An empty file, or one of comments, holds no option. */
static enum err read_stream(struct reader *r)
{
    static const char *const nothing[] = {"", "~", "null", NULL};
    unsigned documents = 0;
    yaml_event_t ev;
    for (bool more = true; more;) {
        enum err e = next(r, &ev);
        if (e != ERR_OK)
            return e;
        if (ev.type == YAML_DOCUMENT_START_EVENT && documents++ > 0)
            e = fail_at(r, &ev.start_mark, "accepted is one document");
        else if (ev.type == YAML_MAPPING_START_EVENT)
            e = read_mapping(r);
        else if (ev.type == YAML_SEQUENCE_START_EVENT || ev.type == YAML_ALIAS_EVENT ||
                 (ev.type == YAML_SCALAR_EVENT &&
                  !(is_text(&ev) && is_word((const char *)ev.data.scalar.value, nothing))))
            e = fail_at(r, &ev.start_mark, "accepted is a mapping: KEY: VALUE, one a line");
        more = ev.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&ev);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err read_file(struct reader *r)
{
    char *bytes = NULL;
    size_t len = 0;
    enum err e = load(r->path, r->max, &bytes, &len, r->msg);
    if (e != ERR_OK)
        return e;
    if (!yaml_parser_initialize(&r->parser)) {
        mem_free(bytes);
        return errmsg_set(r->msg, ERR_NOMEM, "%s: out of memory", r->path);
    }
    r->seen = mem_calloc(r->n_rows, sizeof *r->seen);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)bytes, len);
    e = read_stream(r);
    yaml_parser_delete(&r->parser);
    mem_free(r->seen);
    mem_free(bytes);
    return e;
}

enum err option_file(const struct option_row *rows, size_t n_rows, const char *path, void *target,
                     struct errmsg *msg)
{
    struct reader r = {.path = path,
                       .rows = rows,
                       .n_rows = n_rows,
                       .max = FILE_MAX,
                       .target = target,
                       .msg = msg};
    return read_file(&r);
}

enum err option_file_nested(const struct option_row *rows, size_t n_rows,
                            const struct option_nested *nested, size_t max, const char *path,
                            void *target, struct errmsg *msg)
{
    struct reader r = {.path = path,
                       .rows = rows,
                       .n_rows = n_rows,
                       .max = max,
                       .target = target,
                       .nested = nested,
                       .msg = msg};
    return read_file(&r);
}
