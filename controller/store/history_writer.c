/* SPDX-License-Identifier: MIT */
#include "controller/store/history_writer.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/mailbox.h"
#include "common/mem.h"

#define RETRY_NS   NS_PER_SEC
#define QUIET_NS   (50 * NS_PER_MS) /* after the last rows: the next ones are an interval away */
#define ROWS_BEGIN 64

enum work_kind {
    WORK_BEGIN,
    WORK_ROWS,
    WORK_END,
    WORK_CLOSE
};

/* Goes to the writer, and back when it is done. */
struct work {
    struct letter letter;
    STAILQ_ENTRY(work) next; /* the writer's */
    enum work_kind kind;
    struct recording *recording; /* BEGIN, END */
    struct store_row *rows;      /* ROWS; their bytes are in `bytes` */
    size_t n_rows, cap_rows;
    uint8_t *bytes;
    size_t n_bytes, cap_bytes;
};

/* Comes from the writer. */
struct trouble {
    struct letter letter;
    struct errmsg msg;
};

enum {
    LETTER_WORK,
    LETTER_TROUBLE
};

/* What the thread has to itself. */
struct thread {
    pthread_t id;
    struct store *store;
    struct loop *loop;
    struct mailbox *in;
    struct mailbox *back; /* the main thread's */
    struct loop_timer *retry, *quiet;
    STAILQ_HEAD(, work) queue;
    char run_id[33];
    uint64_t lost;
    bool said; /* that something went wrong */
};

struct history_writer {
    struct history_config cfg;
    struct mailbox *back;
    struct thread *thread;
    struct work *open; /* being filled; NULL = none */
    size_t queued, queue_max;
    uint64_t lost;
    bool said;
};

static void work_free(struct work *k)
{
    recording_free(k->recording);
    mem_free(k->rows);
    mem_free(k->bytes);
    mem_free(k);
}

/* --- the thread ----------------------------------------------------------------------------- */

static void say(struct thread *t, const struct errmsg *msg)
{
    if (t->said)
        return;
    struct trouble *l = mem_calloc(1, sizeof *l);
    *l = (struct trouble){.letter.kind = LETTER_TROUBLE, .msg = *msg};
    t->said = true;
    mailbox_post(t->back, &l->letter);
}

static enum err do_work(struct thread *t, const struct work *k, struct errmsg *msg)
{
    if (k->kind == WORK_ROWS)
        return store_add(t->store, t->run_id, k->rows, k->n_rows, msg);
    snprintf(t->run_id, sizeof t->run_id, "%s", k->recording->run_id);
    return store_begin(t->store, k->recording, msg);
}

/* The bytes go at once: the main thread gets to its letters when it is through with a thousand
 * agents' snapshots of one instant, and would have them all twice by then. */
static void give_back(struct thread *t, struct work *k)
{
    mem_free(k->bytes);
    k->bytes = NULL;
    mailbox_post(t->back, &k->letter);
}

/* In order, up to what cannot be done now. */
static void do_queue(struct thread *t)
{
    struct errmsg msg = {{0}};
    struct work *k;
    while ((k = STAILQ_FIRST(&t->queue)) != NULL) {
        if (do_work(t, k, &msg) != ERR_OK) {
            say(t, &msg);
            loop_timer_at(t->retry, clock_mono_ns() + RETRY_NS);
            return;
        }
        STAILQ_REMOVE_HEAD(&t->queue, next);
        give_back(t, k);
    }
    loop_timer_at(t->quiet, clock_mono_ns() + QUIET_NS);
}

static void give_up_queue(struct thread *t)
{
    struct work *k;
    while ((k = STAILQ_FIRST(&t->queue)) != NULL) {
        STAILQ_REMOVE_HEAD(&t->queue, next);
        t->lost += k->n_rows;
        give_back(t, k);
    }
}

static void end_run(struct thread *t, struct work *k)
{
    struct errmsg msg = {{0}};
    k->recording->lost_rows += t->lost;
    enum err e = store_end(t->store, k->recording, &msg);
    if (e != ERR_OK)
        say(t, &msg);
}

static void on_letter(void *arg, struct letter *l)
{
    struct thread *t = arg;
    struct work *k = (struct work *)(void *)l; /* its first member */
    if (k->kind == WORK_BEGIN || k->kind == WORK_ROWS) {
        STAILQ_INSERT_TAIL(&t->queue, k, next);
        do_queue(t);
        return;
    }
    do_queue(t); /* once more, then never again */
    give_up_queue(t);
    if (k->kind == WORK_END)
        end_run(t, k);
    else
        loop_stop(t->loop);
    give_back(t, k);
}

static void on_retry(void *arg)
{
    do_queue(arg);
}

static void on_quiet(void *arg)
{
    const struct thread *t = arg;
    store_rest(t->store);
}

static void *run_thread(void *arg)
{
    struct thread *t = arg;
    pthread_setname_np(pthread_self(), "history");
    loop_run(t->loop);
    return NULL;
}

static void thread_free(struct thread *t)
{
    if (t == NULL)
        return;
    if (t->retry != NULL)
        loop_timer_free(t->retry);
    if (t->quiet != NULL)
        loop_timer_free(t->quiet);
    if (t->in != NULL)
        mailbox_free(t->in);
    loop_free(t->loop);
    store_close(t->store);
    mem_free(t);
}

/* --- the main thread ------------------------------------------------------------------------ */

static void on_back(void *arg, struct letter *l)
{
    struct history_writer *w = arg;
    if (l->kind == LETTER_TROUBLE) {
        struct trouble *t = (struct trouble *)(void *)l;
        if (!w->said)
            w->cfg.trouble(w->cfg.arg, t->msg.text);
        w->said = true;
        mem_free(t);
        return;
    }
    struct work *k = (struct work *)(void *)l;
    w->queued -= k->n_bytes;
    work_free(k);
}

static enum err thread_new(struct history_writer *w, struct errmsg *msg)
{
    struct thread *t = w->thread = mem_calloc(1, sizeof *t);
    STAILQ_INIT(&t->queue);
    t->store = w->cfg.store;
    t->back = w->back;
    enum err e = loop_new(&t->loop, msg);
    if (e == ERR_OK)
        e = mailbox_new(t->loop, on_letter, t, &t->in, msg);
    if (e != ERR_OK)
        return e;
    t->retry = loop_timer_new(t->loop, on_retry, t);
    t->quiet = loop_timer_new(t->loop, on_quiet, t);
    int rc = pthread_create(&t->id, NULL, run_thread, t);
    return rc == 0 ? ERR_OK : errmsg_set(msg, ERR_SYSTEM, "no thread for it: %s", strerror(rc));
}

enum err history_writer_new(const struct history_config *cfg, struct history_writer **out,
                            struct errmsg *msg)
{
    struct history_writer *w = mem_calloc(1, sizeof *w);
    w->cfg = *cfg;
    w->queue_max = cfg->queue_max > 0 ? cfg->queue_max : HISTORY_QUEUE_MAX;
    enum err e = mailbox_new(cfg->loop, on_back, w, &w->back, msg);
    if (e == ERR_OK)
        e = thread_new(w, msg);
    else
        store_close(cfg->store);
    if (e != ERR_OK) {
        thread_free(w->thread);
        if (w->back != NULL)
            mailbox_free(w->back);
        mem_free(w);
        w = NULL;
    }
    *out = w;
    return e;
}

static struct work *work_new(enum work_kind kind)
{
    struct work *k = mem_calloc(1, sizeof *k);
    k->letter.kind = LETTER_WORK;
    k->kind = kind;
    return k;
}

void history_writer_begin(struct history_writer *w, struct recording *r)
{
    struct work *k = work_new(WORK_BEGIN);
    k->recording = r;
    mailbox_post(w->thread->in, &k->letter);
}

/* With room for a row of so many bytes. */
static struct work *rows_new(size_t len)
{
    struct work *k = work_new(WORK_ROWS);
    k->cap_bytes = len > HISTORY_BATCH_MAX ? len : HISTORY_BATCH_MAX;
    k->bytes = mem_realloc(NULL, k->cap_bytes, 1);
    return k;
}

static void put_row(struct work *k, size_t agent, uint64_t seq, const uint8_t *bytes, size_t len)
{
    if (k->n_rows == k->cap_rows) {
        k->cap_rows = k->cap_rows > 0 ? 2 * k->cap_rows : ROWS_BEGIN;
        k->rows = mem_realloc(k->rows, k->cap_rows, sizeof *k->rows);
    }
    if (len > 0)
        memcpy(k->bytes + k->n_bytes, bytes, len);
    k->rows[k->n_rows++] =
        (struct store_row){.agent = agent, .seq = seq, .bytes = k->bytes + k->n_bytes, .len = len};
    k->n_bytes += len;
}

void history_writer_add(struct history_writer *w, size_t agent, uint64_t seq, const uint8_t *bytes,
                        size_t len)
{
    if (len > w->queue_max - w->queued) {
        struct errmsg msg;
        w->lost++;
        (void)errmsg_set(&msg, ERR_BUSY, "the disk takes it more slowly than it comes");
        if (!w->said)
            w->cfg.trouble(w->cfg.arg, msg.text);
        w->said = true;
        return;
    }
    if (w->open != NULL && len > w->open->cap_bytes - w->open->n_bytes)
        history_writer_flush(w);
    if (w->open == NULL)
        w->open = rows_new(len);
    put_row(w->open, agent, seq, bytes, len);
    w->queued += len;
}

void history_writer_flush(struct history_writer *w)
{
    struct work *k = w->open;
    if (k == NULL)
        return;
    w->open = NULL;
    mailbox_post(w->thread->in, &k->letter);
}

void history_writer_end(struct history_writer *w, struct recording *r)
{
    struct work *k = work_new(WORK_END);
    history_writer_flush(w);
    r->lost_rows += w->lost;
    k->recording = r;
    mailbox_post(w->thread->in, &k->letter);
}

/* false = it hangs in a system call. */
static bool join(struct thread *t, uint64_t patience_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + patience_ns;
    until.tv_sec += (time_t)(ns / NS_PER_SEC);
    until.tv_nsec = (long)(ns % NS_PER_SEC);
    return pthread_timedjoin_np(t->id, NULL, &until) == 0;
}

void history_writer_close(struct history_writer *w, uint64_t patience_ns)
{
    if (w == NULL)
        return;
    history_writer_flush(w);
    mailbox_post(w->thread->in, &work_new(WORK_CLOSE)->letter);
    if (!join(w->thread, patience_ns)) {
        /* It may come back any time: nothing that it has is ours. */
        pthread_detach(w->thread->id);
        w->cfg.trouble(
            w->cfg.arg,
            "the database takes nothing: the disk does not answer, or another process holds it");
        return;
    }
    mailbox_free(w->back); /* first, as it may still tell of trouble */
    thread_free(w->thread);
    mem_free(w);
}

uint64_t history_writer_lost(const struct history_writer *w)
{
    return w->lost;
}
