/* SPDX-License-Identifier: MIT */
#include "controller/cmd/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/units.h"
#include "controller/cmd/output_file.h"
#include "controller/report/formats.h"
#include "controller/report/hlog.h"

#define COPY_BYTES 65536

struct outputs {
    size_t n;
    struct output *items; /* paths are owned */
    FILE *rows;           /* of a stored run, as the hlog will have them; NULL = none yet */
    bool rows_lost;       /* they could not all be kept */
};

/* --- what was asked for --------------------------------------------------------------------- */

static enum err take_format(const struct outputs_config *c, struct output *shown,
                            struct errmsg *msg)
{
    char names[FORMATS_TEXT], given[UNITS_SHOWN];
    const char *name = c->format != NULL ? c->format : c->json ? "json" : "text";
    units_format_shown(name, given);
    shown->format = formats_named(name, strlen(name));
    if (shown->format == NULL)
        return errmsg_set(msg, ERR_INVALID, "--format %s: accepted is one of %s", given,
                          formats_names(names));
    if (shown->format == &report_store)
        return errmsg_set(msg, ERR_INVALID,
                          "--format %s: a database cannot be printed; accepted is "
                          "--output FILE%s",
                          given, report_store.suffix);
    if (c->json && shown->format != &report_json)
        return errmsg_set(msg, ERR_INVALID, "--json and --format %s: accepted is one of the two",
                          given);
    return ERR_OK;
}

static enum err refuse_file(const char *word, const char *why, struct errmsg *msg)
{
    return errmsg_set(msg, ERR_INVALID, "--output %.200s: %s", word, why);
}

/* FILE, NAME:FILE or "-". A file whose name begins with a format's name and a colon is ./FILE. */
static enum err split_word(const char *word, struct output *out, struct errmsg *msg)
{
    char names[FORMATS_TEXT], suffixes[FORMATS_TEXT];
    const char *colon = strchr(word, ':');
    out->path = word;
    if (colon != NULL) {
        out->format = formats_named(word, (size_t)(colon - word));
        if (out->format != NULL)
            out->path = colon + 1;
    }
    if (out->format == NULL)
        out->format = formats_of_file(word);
    if (out->format == NULL && strcmp(word, "-") != 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--output %.200s: accepted is a file name ending in %s, or NAME:FILE "
                          "with a NAME of %s",
                          word, formats_suffixes(suffixes), formats_names(names));
    if (out->path[0] == '\0')
        return refuse_file(word, "a file name is missing after the colon", msg);
    return ERR_OK;
}

/* Standard output has one reader: "-" says what it gets. */
static enum err take_stdout(const struct outputs_config *c, const char *word,
                            const struct output *item, struct outputs *o, bool *taken,
                            struct errmsg *msg)
{
    struct output *shown = &o->items[0];
    bool asked = c->format != NULL || c->json;
    if (item->format == &report_store)
        return refuse_file(word, "a database cannot be printed; accepted is a file", msg);
    if (item->format != NULL && *taken && item->format != shown->format)
        return refuse_file(word, "standard output is taken by another --output", msg);
    if (item->format != NULL && asked && item->format != shown->format)
        return refuse_file(word, "standard output is taken by --format or --json", msg);
    if (item->format != NULL)
        shown->format = item->format;
    *taken = true;
    return ERR_OK;
}

static enum err check_file(const struct outputs *o, const char *word, const struct output *item,
                           struct errmsg *msg)
{
    const char *path = item->path;
    struct errmsg why;
    for (size_t i = 1; i < o->n; i++)
        if (strcmp(o->items[i].path, path) == 0)
            return refuse_file(word, "the file is named twice", msg);
    enum err e = output_file_check(path, &why);
    if (e == ERR_OK && item->format == &report_store)
        e = output_file_check_beside(path, &why);
    if (e == ERR_OK)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID, "--output %.400s; accepted is a file that can be written",
                      why.text);
}

static enum err take_files(const struct outputs_config *c, struct outputs *o, struct errmsg *msg)
{
    bool taken = false;
    for (size_t i = 0; i < c->files->n; i++) {
        const char *word = c->files->items[i];
        struct output item = {0};
        enum err e = split_word(word, &item, msg);
        if (e == ERR_OK && strcmp(item.path, "-") == 0) {
            e = take_stdout(c, word, &item, o, &taken, msg);
        } else if (e == ERR_OK) {
            e = check_file(o, word, &item, msg);
            if (e == ERR_OK)
                o->items[o->n++] = (struct output){item.format, mem_strdup(item.path)};
        }
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

enum err outputs_new(const struct outputs_config *c, struct outputs **out, struct errmsg *msg)
{
    struct outputs *o = mem_calloc(1, sizeof *o);
    o->items = mem_calloc(c->files->n + 1, sizeof *o->items);
    o->n = 1;
    enum err e = take_format(c, &o->items[0], msg);
    if (e == ERR_OK)
        e = take_files(c, o, msg);
    if (e != ERR_OK) {
        outputs_free(o);
        o = NULL;
    }
    *out = o;
    return e;
}

void outputs_free(struct outputs *o)
{
    if (o == NULL)
        return;
    for (size_t i = 1; i < o->n; i++)
        mem_free((char *)o->items[i].path);
    if (o->rows != NULL)
        fclose(o->rows);
    mem_free(o->items);
    mem_free(o);
}

size_t outputs_n(const struct outputs *o)
{
    return o->n;
}

const struct output *outputs_at(const struct outputs *o, size_t i)
{
    return &o->items[i];
}

size_t outputs_stores(const struct outputs *o, const char **paths)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n; i++)
        if (o->items[i].format == &report_store)
            paths[n++] = o->items[i].path;
    return n;
}

/* --- rows of a stored run ------------------------------------------------------------------- */

static bool wants_rows(const struct outputs *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->items[i].format == &report_hlog)
            return true;
    return false;
}

/* The file's head tells of the run, which is whole only after its last row. */
void outputs_row(void *outputs, const struct merge_view *v)
{
    struct outputs *o = outputs;
    if (o->rows_lost || !wants_rows(o))
        return;
    if (o->rows == NULL)
        o->rows = tmpfile();
    o->rows_lost = o->rows == NULL || hlog_row(o->rows, v) != ERR_OK;
}

static bool copy_rows(struct outputs *o, FILE *out)
{
    size_t n;
    if (o->rows == NULL || o->rows_lost)
        return !o->rows_lost;
    char *buf = mem_calloc(1, COPY_BYTES);
    rewind(o->rows);
    while ((n = fread(buf, 1, COPY_BYTES, o->rows)) > 0 && fwrite(buf, 1, n, out) == n)
        ;
    mem_free(buf);
    return n == 0 && !ferror(o->rows);
}

static bool write_rows(struct outputs *o, const struct result *r, FILE *out)
{
    struct hlog_head head = hlog_head_of(r);
    return hlog_begin(out, &head) == ERR_OK && copy_rows(o, out) && fflush(out) == 0;
}

/* --- writing -------------------------------------------------------------------------------- */

static bool write_stream(struct outputs *o, const struct outputs_run *run,
                         const struct report_format *format, FILE *out)
{
    if (format == &report_hlog)
        return write_rows(o, run->result, out);
    return format->write(run->result, run->options, out) == ERR_OK && fflush(out) == 0;
}

static enum err write_file(struct outputs *o, const struct outputs_run *run,
                           const struct output *item)
{
    struct errmsg msg = {{0}};
    struct output_file *f;
    enum err e;
    if (item->format == &report_store) {
        e = run->store != NULL ? run->store(run->arg, item->path, &msg)
                               : errmsg_set(&msg, ERR_STATE, "the run is in no history");
    } else {
        e = output_file_open(item->path, &f, &msg);
        if (e == ERR_OK) {
            bool whole = write_stream(o, run, item->format, output_file_stream(f));
            e = output_file_close(f, whole, &msg);
        }
    }
    if (e != ERR_OK)
        fprintf(stderr, "hammer-ctl: --output %s: %s\n", item->path, msg.text);
    return e;
}

static enum err write_stdout(struct outputs *o, const struct outputs_run *run)
{
    const struct report_format *format = o->items[0].format;
    if (run->debug && format == &report_text)
        format = &report_debug;
    if (write_stream(o, run, format, stdout))
        return ERR_OK;
    enum err e = errno == EPIPE ? ERR_CLOSED : ERR_SYSTEM;
    fprintf(stderr, "hammer-ctl: the report could not be written: %s\n", strerror(errno));
    return e;
}

enum err outputs_write(struct outputs *o, const struct outputs_run *run)
{
    enum err all = ERR_OK;
    for (size_t i = 0; i < o->n; i++) {
        const struct output *item = &o->items[i];
        if (run->live && item->format == &report_hlog)
            continue;
        enum err e = item->path == NULL ? write_stdout(o, run) : write_file(o, run, item);
        if (e != ERR_OK && all != ERR_SYSTEM)
            all = e == ERR_CLOSED ? ERR_CLOSED : ERR_SYSTEM;
    }
    return all;
}
