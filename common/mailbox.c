/* SPDX-License-Identifier: MIT */
#include "common/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/mem.h"

STAILQ_HEAD(letters, letter);

struct mailbox {
    pthread_mutex_t mutex;
    struct letters queue; /* under the mutex; all else is the receiver's alone */
    struct letters batch; /* taken from the queue, not yet handed to fn */
    int wake_fd;
    struct event *event;
    mailbox_fn fn;
    void *arg;
    bool *freed; /* where a delivery in progress wants to hear that fn freed the mailbox */
};

void mailbox_post(struct mailbox *m, struct letter *l)
{
    pthread_mutex_lock(&m->mutex);
    bool was_empty = STAILQ_EMPTY(&m->queue);
    STAILQ_INSERT_TAIL(&m->queue, l, link);
    /* Inside the lock: after it the receiver may take the letter and free the mailbox. The write
     * cannot block: the counter is read before each batch. */
    if (was_empty)
        eventfd_write(m->wake_fd, 1);
    pthread_mutex_unlock(&m->mutex);
}

static void take_batch(struct mailbox *m)
{
    pthread_mutex_lock(&m->mutex);
    STAILQ_CONCAT(&m->batch, &m->queue);
    pthread_mutex_unlock(&m->mutex);
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

static void wake(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct mailbox *m = arg;
    eventfd_t ignored;
    /* Counter first, queue second: a letter posted in between costs an empty turn, never a lost
     * wake-up. One batch a turn, so that busy senders cannot starve the loop. */
    eventfd_read(fd, &ignored);
    take_batch(m);
    deliver(m);
}

enum err mailbox_new(struct loop *l, mailbox_fn fn, void *arg, struct mailbox **out,
                     struct errmsg *msg)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0)
        return errmsg_set(msg, ERR_SYSTEM, "cannot create an eventfd: %s", strerror(errno));
    struct mailbox *m = mem_calloc(1, sizeof *m);
    m->event = event_new(loop_base(l), fd, EV_READ | EV_PERSIST, wake, m);
    if (m->event == NULL || event_add(m->event, NULL) != 0) {
        if (m->event != NULL)
            event_free(m->event);
        close(fd);
        mem_free(m);
        return errmsg_set(msg, ERR_SYSTEM, "cannot watch an eventfd");
    }
    pthread_mutex_init(&m->mutex, NULL);
    STAILQ_INIT(&m->queue);
    STAILQ_INIT(&m->batch);
    m->wake_fd = fd;
    m->fn = fn;
    m->arg = arg;
    *out = m;
    return ERR_OK;
}

void mailbox_free(struct mailbox *m)
{
    if (m == NULL)
        return;
    take_batch(m);
    if (!deliver(m)) /* fn freed it already */
        return;
    if (m->freed != NULL)
        *m->freed = true;
    event_free(m->event);
    close(m->wake_fd);
    pthread_mutex_destroy(&m->mutex);
    mem_free(m);
}
