/* SPDX-License-Identifier: MIT */
/* --dump-requests: what agents tell of single requests goes into a file. */
#include <inttypes.h>
#include <stdio.h>

#include "common/mem.h"
#include "controller/report/dump_text.h"
#include "controller/watch/dump_file.h"
#include "controller/watch/observer.h"

/* Of an agent: its own count, as it last said it. */
struct source {
    uint64_t came, dropped;
};

struct dump {
    const struct observer_run *run;
    struct dump_file *file;
    struct source *sources; /* of each agent */
    bool told;              /* that rows are left out */
};

static enum err open_dump(const struct observer_run *run, void **self, struct errmsg *msg)
{
    const char *path = run->options->results.dump_requests;
    if (path == NULL)
        return ERR_OK;
    struct dump_file *file;
    enum err e = dump_file_open(path, &run->options->plan, DUMP_FILE_QUEUE, &file, msg);
    if (e != ERR_OK)
        return e;
    struct dump *d = mem_calloc(1, sizeof *d);
    d->run = run;
    d->file = file;
    d->sources = mem_calloc(run->inventory->n, sizeof *d->sources);
    *self = d;
    return ERR_OK;
}

/* As reports call it. */
static const char *agent_name(const struct dump *d, size_t agent)
{
    const struct coordinator *c = d->run->coordinator;
    const char *name = c != NULL ? coordinator_agent(c, agent)->name : "";
    return name[0] != '\0' ? name : d->run->inventory->agents[agent].address;
}

static void tell(struct dump *d)
{
    char text[512];
    const char *problem = dump_file_problem(d->file);
    if (d->told)
        return;
    d->told = true;
    snprintf(text, sizeof text,
             problem[0] != '\0' ? "--dump-requests %.200s: %s; the run goes on without it"
                                : "--dump-requests %.200s takes lines more slowly than they come: "
                                  "some are left out%s",
             d->run->options->results.dump_requests, problem);
    d->run->note(d->run->arg, text);
}

static void on_requests(void *self, size_t agent, const struct msg_requests *m)
{
    struct dump *d = self;
    struct source *s = &d->sources[agent];
    s->came += m->n;
    s->dropped = m->dropped;
    if (!dump_file_add(d->file, agent_name(d, agent), m))
        tell(d);
}

static void on_message(void *self, size_t agent, const struct msg *msg)
{
    struct dump *d = self;
    if (msg->type == MSG_FINAL)
        d->sources[agent].dropped = msg->final.rows_dropped;
}

static uint64_t less(uint64_t from, uint64_t n)
{
    return from > n ? from - n : 0;
}

/* Whatever agents claim, the parts add up to the whole. */
static void fill(void *self, struct result *r)
{
    struct dump *d = self;
    uint64_t came = 0;
    struct result_dump *to = &r->dump;
    dump_file_finish(d->file);
    to->file = d->run->options->results.dump_requests;
    to->written = dump_file_lines(d->file);
    for (size_t i = 0; i < d->run->inventory->n; i++) {
        came += d->sources[i].came;
        to->dropped += d->sources[i].dropped;
    }
    to->not_written = less(came, to->written);
    uint64_t known = to->written + to->not_written + to->dropped;
    to->lost = less(result_counters(r).scheduled, known);
    to->rows = known + to->lost;
}

/* What was left out for want of time or of a reader was to be expected; a file that broke was not.
 */
static bool finish(void *self, const struct result *r)
{
    const struct dump *d = self;
    char text[DUMP_TEXT_LINE], line[DUMP_TEXT_LINE + 24];
    const char *problem = dump_file_problem(d->file);
    dump_text(&r->dump, text, sizeof text);
    snprintf(line, sizeof line, "--dump-requests %s", text);
    if (problem[0] != '\0' && (!d->told || d->run->options->quiet))
        fprintf(stderr, "hammer-ctl: --dump-requests %s: %s\n", r->dump.file, problem);
    d->run->note(d->run->arg, line);
    return !dump_file_failed(d->file);
}

static void close_dump(void *self)
{
    struct dump *d = self;
    dump_file_close(d->file);
    mem_free(d->sources);
    mem_free(d);
}

const struct observer_kind observe_dump = {.name = "dump",
                                           .open = open_dump,
                                           .message = on_message,
                                           .requests = on_requests,
                                           .fill = fill,
                                           .finish = finish,
                                           .close = close_dump};
