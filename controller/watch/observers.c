/* SPDX-License-Identifier: MIT */
#include "common/mem.h"
#include "controller/watch/observer.h"

static const struct observer_kind *const kinds[] = {
    &observe_live, /* first: it shows the others' notes */
    &observe_lines, &observe_metrics, &observe_store, &observe_dump, &observe_hlog,
};

#define KINDS (sizeof kinds / sizeof kinds[0])

struct observers {
    void *self[KINDS]; /* NULL = not wanted */
};

enum err observers_open(const struct observer_run *run, struct observers **out, struct errmsg *msg)
{
    struct observers *o = mem_calloc(1, sizeof *o);
    enum err e = ERR_OK;
    for (size_t i = 0; i < KINDS && e == ERR_OK; i++)
        e = kinds[i]->open(run, &o->self[i], msg);
    if (e != ERR_OK) {
        observers_close(o);
        o = NULL;
    }
    *out = o;
    return e;
}

static void on_requests(struct observers *o, size_t agent, const struct msg_requests *m)
{
    for (size_t i = 0; i < KINDS; i++)
        if (o->self[i] != NULL && kinds[i]->requests != NULL)
            kinds[i]->requests(o->self[i], agent, m);
}

void observers_message(struct observers *o, size_t agent, const struct msg *msg)
{
    if (o != NULL && msg->type == MSG_REQUESTS) {
        on_requests(o, agent, &msg->requests);
        return;
    }
    for (size_t i = 0; o != NULL && i < KINDS; i++)
        if (o->self[i] != NULL && kinds[i]->message != NULL)
            kinds[i]->message(o->self[i], agent, msg);
}

void observers_snapshot(struct observers *o, const struct snapshot *s)
{
    for (size_t i = 0; o != NULL && i < KINDS; i++)
        if (o->self[i] != NULL && kinds[i]->snapshot != NULL)
            kinds[i]->snapshot(o->self[i], s);
}

void observers_interval(struct observers *o, const struct merge_view *v)
{
    for (size_t i = 0; o != NULL && i < KINDS; i++)
        if (o->self[i] != NULL && kinds[i]->interval != NULL)
            kinds[i]->interval(o->self[i], v);
}

void observers_settled(struct observers *o, const struct merge_view *v)
{
    for (size_t i = 0; o != NULL && i < KINDS; i++)
        if (o->self[i] != NULL && kinds[i]->settled != NULL)
            kinds[i]->settled(o->self[i], v);
}

bool observers_note(struct observers *o, const char *text)
{
    bool shown = false;
    for (size_t i = 0; o != NULL && i < KINDS && !shown; i++)
        shown = o->self[i] != NULL && kinds[i]->note != NULL && kinds[i]->note(o->self[i], text);
    return shown;
}

void observers_fill(struct observers *o, struct result *r)
{
    for (size_t i = 0; o != NULL && i < KINDS; i++)
        if (o->self[i] != NULL && kinds[i]->fill != NULL)
            kinds[i]->fill(o->self[i], r);
}

bool observers_finish(struct observers *o, const struct result *r)
{
    bool whole = true;
    for (size_t i = 0; o != NULL && i < KINDS; i++)
        if (o->self[i] != NULL && kinds[i]->finish != NULL)
            whole = kinds[i]->finish(o->self[i], r) && whole;
    return whole;
}

void observers_close(struct observers *o)
{
    for (size_t i = 0; o != NULL && i < KINDS; i++)
        if (o->self[i] != NULL) {
            kinds[i]->close(o->self[i]);
            o->self[i] = NULL; /* the next one may have something to say */
        }
    mem_free(o);
}
