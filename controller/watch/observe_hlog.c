/* SPDX-License-Identifier: MIT */
/* --format hlog, --output FILE.hlog: lines of the log as intervals become final. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/host.h"
#include "common/mem.h"
#include "controller/cmd/outputs.h"
#include "controller/report/hlog.h"
#include "controller/watch/observer.h"

#define BUFFER_BYTES (1 << 20) /* a row's lines go out in one piece */

struct log_file {
    const char *path; /* NULL = standard output */
    FILE *out;        /* NULL = not begun */
    bool lost;        /* it is not whole, and that was said */
};

struct logs {
    struct observer_run run;
    struct outputs *outputs;
    size_t n;
    struct log_file *files;
};

static enum err open_logs(const struct observer_run *run, void **self, struct errmsg *msg)
{
    struct logs *l = mem_calloc(1, sizeof *l);
    l->run = *run;
    enum err e = run_options_outputs(run->options, &l->outputs, msg);
    if (e != ERR_OK) {
        mem_free(l);
        return e;
    }
    l->files = mem_calloc(outputs_n(l->outputs), sizeof *l->files);
    for (size_t i = 0; i < outputs_n(l->outputs); i++)
        if (outputs_at(l->outputs, i)->format == &report_hlog)
            l->files[l->n++].path = outputs_at(l->outputs, i)->path;
    *self = l;
    return ERR_OK;
}

static const char *name_of(const struct log_file *f)
{
    return f->path != NULL ? f->path : "-";
}

static void lose(struct log_file *f)
{
    if (!f->lost)
        fprintf(stderr, "hammer-ctl: --output %s: %s; what follows is not in it\n", name_of(f),
                strerror(errno));
    f->lost = true;
}

/* Not before there is something to write: a run that does not begin leaves an older log alone. */
static void begin(const struct logs *l, struct log_file *f)
{
    struct result r = {.plan = &l->run.options->plan, .started_wall_ns = l->run.record->wall_ns};
    host_hex(l->run.record->run, MSG_ID_LEN, r.run_id);
    struct hlog_head head = hlog_head_of(&r);
    f->out = f->path != NULL ? fopen(f->path, "we") : stdout;
    if (f->out != NULL)
        setvbuf(f->out, NULL, _IOFBF, BUFFER_BYTES);
    if (f->out == NULL || hlog_begin(f->out, &head) != ERR_OK)
        lose(f);
}

static void on_settled(void *self, const struct merge_view *v)
{
    struct logs *l = self;
    for (size_t i = 0; i < l->n; i++) {
        struct log_file *f = &l->files[i];
        if (f->out == NULL && !f->lost)
            begin(l, f);
        if (!f->lost && hlog_row(f->out, v) != ERR_OK)
            lose(f);
    }
}

static bool finish(void *self, const struct result *r)
{
    struct logs *l = self;
    bool whole = true;
    (void)r;
    for (size_t i = 0; i < l->n; i++) {
        struct log_file *f = &l->files[i];
        if (f->out == NULL && !f->lost)
            begin(l, f); /* nothing came: the log says so by its head alone */
        if (f->out != NULL && f->path != NULL && fclose(f->out) != 0)
            lose(f);
        f->out = NULL;
        whole = whole && !f->lost;
        f->lost = true;
    }
    return whole;
}

static void close_logs(void *self)
{
    struct logs *l = self;
    for (size_t i = 0; i < l->n; i++)
        if (l->files[i].out != NULL && l->files[i].path != NULL)
            fclose(l->files[i].out);
    outputs_free(l->outputs);
    mem_free(l->files);
    mem_free(l);
}

const struct observer_kind observe_hlog = {.name = "hlog",
                                           .open = open_logs,
                                           .settled = on_settled,
                                           .finish = finish,
                                           .close = close_logs};
