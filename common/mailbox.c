/* SPDX-License-Identifier: MIT */
#include "common/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/mem.h"

STAILQ_HEAD(letters, letter);

struct mailbox {
    struct loop *loop;
    struct loop_post *post;
    TAILQ_ENTRY(mailbox) link; /* these three under the mutex; all else is the receiver's alone */
    bool waiting;              /* in the list of those that have letters */
    struct letters queue;
    struct letters batch; /* taken from the queue, not yet handed to fn */
    mailbox_fn fn;
    void *arg;
    bool *freed; /* where a delivery in progress wants to hear that fn freed the mailbox */
};

/* What the mailboxes of a loop share: a thousand links that all have something at the same instant
 * cost one wake-up, and one descriptor. There from the first mailbox until the last is freed. */
struct loop_post {
    pthread_mutex_t mutex;
    TAILQ_HEAD(, mailbox) waiting; /* under the mutex, as is n_waiting */
    size_t n_waiting;
    atomic_uint wakers; /* threads on their way to wake_fd */
    int wake_fd;
    struct event *event;
    size_t n_boxes;
    bool *freed; /* where a turn in progress wants to hear that the last mailbox was freed */
};

/* The wake-up comes after the lock, or the receiver would wake up only to wait for it; until it is
 * over, the last mailbox is not freed. The write cannot block: nobody ever reads the counter, for
 * each write is an edge, and 2^64 of them take for ever. */
void mailbox_post(struct mailbox *m, struct letter *l)
{
    struct loop_post *p = m->post;
    pthread_mutex_lock(&p->mutex);
    bool first = p->n_waiting == 0;
    STAILQ_INSERT_TAIL(&m->queue, l, link);
    if (!m->waiting) {
        m->waiting = true;
        p->n_waiting++;
        TAILQ_INSERT_TAIL(&p->waiting, m, link);
    }
    if (first)
        atomic_fetch_add(&p->wakers, 1);
    pthread_mutex_unlock(&p->mutex);
    if (first) {
        eventfd_write(p->wake_fd, 1);
        atomic_fetch_sub(&p->wakers, 1);
    }
}

/* With the mutex held. */
static void take_letters(struct loop_post *p, struct mailbox *m)
{
    if (!m->waiting)
        return;
    m->waiting = false;
    p->n_waiting--;
    TAILQ_REMOVE(&p->waiting, m, link);
    STAILQ_CONCAT(&m->batch, &m->queue);
}

/* Hands out one batch; false when fn freed the mailbox. */
static bool deliver(struct mailbox *m)
{
    bool freed = false;
    bool *outer = m->freed;
    m->freed = &freed;
    while (!freed && !STAILQ_EMPTY(&m->batch)) {
        struct letter *l = STAILQ_FIRST(&m->batch);
        STAILQ_REMOVE_HEAD(&m->batch, link);
        m->fn(m->arg, l);
    }
    if (!freed)
        m->freed = outer;
    else if (outer != NULL)
        *outer = true;
    return !freed;
}

/* One batch of each that has letters now, so that busy senders cannot starve the loop. */
static void wake(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct loop_post *p = arg;
    bool freed = false;
    p->freed = &freed;
    pthread_mutex_lock(&p->mutex);
    for (size_t n = p->n_waiting; n > 0 && p->n_waiting > 0; n--) {
        struct mailbox *m = TAILQ_FIRST(&p->waiting);
        take_letters(p, m);
        pthread_mutex_unlock(&p->mutex);
        deliver(m);
        if (freed)
            return;
        pthread_mutex_lock(&p->mutex);
    }
    p->freed = NULL;
    if (p->n_waiting > 0) /* who came meanwhile has not written */
        eventfd_write(fd, 1);
    pthread_mutex_unlock(&p->mutex);
}

/* --- life ------------------------------------------------------------------------------------- */

static void post_free(struct loop_post *p)
{
    while (atomic_load(&p->wakers) > 0)
        sched_yield();
    if (p->freed != NULL)
        *p->freed = true;
    if (p->event != NULL)
        event_free(p->event);
    if (p->wake_fd >= 0)
        close(p->wake_fd);
    pthread_mutex_destroy(&p->mutex);
    mem_free(p);
}

static enum err post_new(struct loop *l, struct loop_post **out, struct errmsg *msg)
{
    struct loop_post *p = mem_calloc(1, sizeof *p);
    pthread_mutex_init(&p->mutex, NULL);
    TAILQ_INIT(&p->waiting);
    atomic_init(&p->wakers, 0);
    p->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum err e = ERR_OK;
    if (p->wake_fd < 0)
        e = errmsg_set(msg, ERR_SYSTEM, "cannot create an eventfd: %s", strerror(errno));
    else
        p->event = event_new(loop_base(l), p->wake_fd, EV_READ | EV_PERSIST | EV_ET, wake, p);
    if (e == ERR_OK && (p->event == NULL || event_add(p->event, NULL) != 0))
        e = errmsg_set(msg, ERR_SYSTEM, "cannot watch an eventfd");
    if (e != ERR_OK) {
        post_free(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

enum err mailbox_new(struct loop *l, mailbox_fn fn, void *arg, struct mailbox **out,
                     struct errmsg *msg)
{
    struct loop_post **post = loop_post(l);
    enum err e = *post == NULL ? post_new(l, post, msg) : ERR_OK;
    if (e != ERR_OK)
        return e;
    struct mailbox *m = mem_calloc(1, sizeof *m);
    m->loop = l;
    m->post = *post;
    m->post->n_boxes++;
    STAILQ_INIT(&m->queue);
    STAILQ_INIT(&m->batch);
    m->fn = fn;
    m->arg = arg;
    *out = m;
    return ERR_OK;
}

void mailbox_free(struct mailbox *m)
{
    if (m == NULL)
        return;
    struct loop_post *p = m->post;
    pthread_mutex_lock(&p->mutex);
    take_letters(p, m);
    pthread_mutex_unlock(&p->mutex);
    if (!deliver(m)) /* fn freed it already */
        return;
    if (m->freed != NULL)
        *m->freed = true;
    if (--p->n_boxes == 0) {
        *loop_post(m->loop) = NULL;
        post_free(p);
    }
    mem_free(m);
}
