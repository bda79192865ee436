/* SPDX-License-Identifier: MIT */
/* --metrics: the running figures at http://HOST:PORT/metrics. docs/live.md. */
#include <stdio.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/watch/http_serve.h"
#include "controller/watch/observer.h"
#include "controller/watch/openmetrics.h"
#include "controller/watch/progress.h"

/* However often it is asked for, the page is made anew at most this often. */
#define KEEP_NS (100 * NS_PER_MS)

struct page {
    char *text; /* owned */
    size_t len;
    uint64_t made_ns;
};

struct metrics {
    const struct observer_run *run;
    struct progress *progress;
    struct http_serve *serve;
    size_t agent; /* whose message is under way */
    char id[2 * MSG_ID_LEN + 1];
    struct page pages[2]; /* OpenMetrics, plain */
};

static const char *make_page(void *arg, bool plain, const char **type, size_t *len)
{
    struct metrics *m = arg;
    struct page *page = &m->pages[plain];
    uint64_t now_ns = clock_mono_ns();
    struct openmetrics_run about = {
        .id = m->id, .name = m->run->record->name, .version = HAMMER_VERSION};
    if (page->text == NULL || clock_elapsed(page->made_ns, now_ns) >= KEEP_NS) {
        if (m->run->coordinator != NULL)
            progress_look(m->progress, m->run->coordinator, m->run->inventory, now_ns);
        mem_free(page->text);
        page->text = openmetrics_text(m->progress, &about, !plain, &page->len);
        page->made_ns = now_ns;
    }
    *type = plain ? PROMETHEUS_TYPE : OPENMETRICS_TYPE;
    *len = page->len;
    return page->text;
}

static enum err start(struct metrics *m, struct errmsg *msg)
{
    char text[120];
    struct errmsg why = {{0}};
    const char *where = m->run->options->results.metrics;
    struct http_serve_config cfg = {.loop = m->run->loop, .page = make_page, .arg = m};
    enum err e = http_serve_address(where, &cfg.address, &why);
    if (e == ERR_OK)
        e = http_serve_new(&cfg, &m->serve, &why);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "--metrics %.60s: %.400s", where, why.text);
    snprintf(text, sizeof text, "metrics at http://%s/metrics", http_serve_where(m->serve));
    m->run->note(m->run->arg, text);
    return ERR_OK;
}

static enum err open_metrics(const struct observer_run *run, void **self, struct errmsg *msg)
{
    if (run->options->results.metrics == NULL)
        return ERR_OK;
    struct metrics *m = mem_calloc(1, sizeof *m);
    m->run = run;
    m->progress = progress_new(run->inventory->n, &run->options->plan, NS_PER_SEC);
    for (size_t i = 0; i < MSG_ID_LEN; i++)
        snprintf(m->id + 2 * i, 3, "%02x", run->record->run[i]);
    *self = m;
    return start(m, msg);
}

static void on_message(void *self, size_t agent, const struct msg *msg)
{
    (void)msg;
    ((struct metrics *)self)->agent = agent;
}

static void on_snapshot(void *self, const struct snapshot *s)
{
    const struct metrics *m = self;
    progress_snapshot(m->progress, m->agent, s);
}

static void on_interval(void *self, const struct merge_view *v)
{
    progress_interval(((struct metrics *)self)->progress, v);
}

static void close_metrics(void *self)
{
    struct metrics *m = self;
    http_serve_free(m->serve);
    progress_free(m->progress);
    mem_free(m->pages[0].text);
    mem_free(m->pages[1].text);
    mem_free(m);
}

const struct observer_kind observe_metrics = {.name = "metrics",
                                              .open = open_metrics,
                                              .message = on_message,
                                              .snapshot = on_snapshot,
                                              .interval = on_interval,
                                              .close = close_metrics};
