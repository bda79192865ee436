/* SPDX-License-Identifier: MIT */
#include "agent/service/lookup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mailbox.h"
#include "common/mem.h"
#include "proto/url.h"

#define CLOSING_NS (200 * NS_PER_MS) /* what a resolver gets when the program ends */

struct lookups {
    struct loop *loop;
    const struct policy *policy;
    struct mailbox *resolved;
    LIST_HEAD(, lookup) all;
    size_t n;
    struct loop_timer *closing; /* the owner is gone; the last resolver frees the rest */
    bool let_go;
};

struct lookup {
    LIST_ENTRY(lookup) entry;
    struct lookups *lookups;
    lookup_fn fn; /* NULL = answered or cancelled */
    void *arg;
    struct msg_info answer;
    struct loop_timer *timer;
    uint64_t deadline_ns;

    struct url_parts url;
    pthread_t resolver;
    struct letter letter; /* the resolver's answer */
    bool resolving;       /* until then the thread owns the next three */
    enum err err;
    struct errmsg msg;
    struct target target;

    struct policy policy; /* as it was when the answer came */

    size_t next; /* address that is connected now */
    int fd;      /* to it, -1 = none */
    struct event *writable;
    uint64_t began_ns;
};

/* --- the end ---------------------------------------------------------------------------------- */

static void hang_up(struct lookup *l)
{
    if (l->writable != NULL)
        event_free(l->writable);
    if (l->fd >= 0)
        close(l->fd);
    l->writable = NULL;
    l->fd = -1;
}

/* The resolver cannot be cancelled: its letter frees what it still uses. */
static void dispose(struct lookup *l)
{
    hang_up(l);
    loop_timer_free(l->timer);
    l->timer = NULL;
    l->fn = NULL;
    if (l->resolving)
        return;
    LIST_REMOVE(l, entry);
    l->lookups->n--;
    url_clear(&l->url);
    mem_free(l);
}

static void answer(struct lookup *l, enum info_target state)
{
    lookup_fn fn = l->fn;
    void *arg = l->arg;
    struct msg_info a = l->answer;
    a.target = state;
    dispose(l);
    if (fn != NULL)
        fn(arg, &a);
}

/* The first thing that went wrong is the one to be told. */
static void note(struct lookup *l, const char *what, const char *why)
{
    char *at = l->answer.problem;
    if (at[0] == '\0')
        snprintf(at, sizeof l->answer.problem, "%.100s: %.140s", what, why);
}

/* --- connecting ------------------------------------------------------------------------------- */

static void connect_next(struct lookup *l);

static void connected(struct lookup *l)
{
    uint64_t us = clock_elapsed(l->began_ns, clock_mono_ns()) / NS_PER_US;
    l->answer.target = INFO_TARGET_REACHED;
    if (us > l->answer.connect_us)
        l->answer.connect_us = us;
}

static void not_connected(struct lookup *l, const char *why)
{
    char text[80];
    target_addr_text(&l->target.addrs[l->next], text, sizeof text);
    note(l, text, why);
}

static void on_writable(int fd, short events, void *arg)
{
    (void)events;
    struct lookup *l = arg;
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error == 0)
        connected(l);
    else
        not_connected(l, strerror(error));
    hang_up(l);
    l->next++;
    connect_next(l);
}

/* true = under way */
static bool connect_one(struct lookup *l, const struct target_addr *a)
{
    l->began_ns = clock_mono_ns();
    if (!target_allows(&l->target, (const struct sockaddr *)&a->sa)) {
        not_connected(l, "this agent's policy forbids it");
        return false;
    }
    l->fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0) {
        not_connected(l, strerror(errno));
        return false;
    }
    if (connect(l->fd, (const struct sockaddr *)&a->sa, a->len) == 0) {
        connected(l);
        return false;
    }
    if (errno != EINPROGRESS) {
        not_connected(l, strerror(errno));
        return false;
    }
    l->writable = event_new(loop_base(l->lookups->loop), l->fd, EV_WRITE, on_writable, l);
    return l->writable != NULL && event_add(l->writable, NULL) == 0;
}

static void connect_next(struct lookup *l)
{
    for (; l->next < l->target.n; l->next++) {
        if (connect_one(l, &l->target.addrs[l->next])) {
            uint64_t until = clock_add(l->began_ns, LOOKUP_CONNECT_NS);
            loop_timer_at(l->timer, until < l->deadline_ns ? until : l->deadline_ns);
            return;
        }
        hang_up(l);
    }
    answer(l,
           l->answer.target == INFO_TARGET_REACHED ? INFO_TARGET_REACHED : INFO_TARGET_UNREACHABLE);
}

/* An address, or the whole lookup, took too long. */
static void on_timer(void *arg)
{
    struct lookup *l = arg;
    if (l->resolving) {
        note(l, l->url.host, "the resolver has not answered within 3 s");
        answer(l, INFO_TARGET_UNRESOLVED);
        return;
    }
    not_connected(l, "no answer");
    hang_up(l);
    l->next = clock_mono_ns() < l->deadline_ns ? l->next + 1 : l->target.n;
    connect_next(l);
}

/* --- resolving -------------------------------------------------------------------------------- */

static void *resolver_main(void *arg)
{
    struct lookup *l = arg;
    l->err = target_resolve(l->url.host, l->url.port, &l->target, &l->msg);
    mailbox_post(l->lookups->resolved, &l->letter);
    return NULL;
}

static void list_addresses(struct lookup *l)
{
    char *to = l->answer.addresses;
    size_t cap = sizeof l->answer.addresses - sizeof " ...", used = 0;
    l->answer.n_addresses = (uint32_t)l->target.n;
    for (size_t i = 0; i < l->target.n; i++) {
        char text[80];
        target_addr_text(&l->target.addrs[i], text, sizeof text);
        size_t len = strlen(text) + (i > 0);
        if (used + len >= cap) {
            snprintf(to + used, sizeof " ...", " ...");
            return;
        }
        used += (size_t)snprintf(to + used, len + 1, "%s%s", i > 0 ? " " : "", text);
    }
}

static void end(struct lookups *s)
{
    if (s->closing != NULL && !s->let_go)
        loop_release(s->loop);
    loop_timer_free(s->closing);
    mailbox_free(s->resolved);
    mem_free(s);
}

static void on_resolved(void *arg, struct letter *letter)
{
    struct lookups *s = arg;
    struct lookup *l = (struct lookup *)(void *)((char *)letter - offsetof(struct lookup, letter));
    pthread_join(l->resolver, NULL);
    l->resolving = false;
    if (l->fn == NULL) {
        dispose(l);
        if (s->closing != NULL && s->n == 0)
            end(s);
        return;
    }
    if (l->err != ERR_OK) {
        snprintf(l->answer.problem, sizeof l->answer.problem, "%.255s", l->msg.text);
        answer(l, INFO_TARGET_UNRESOLVED);
        return;
    }
    list_addresses(l);
    l->policy = *s->policy;
    policy_bind(&l->policy, l->url.host);
    l->target.guard = policy_guard(&l->policy);
    if (policy_check(&l->policy, &l->target, &l->msg) != ERR_OK) {
        snprintf(l->answer.problem, sizeof l->answer.problem, "%.255s", l->msg.text);
        answer(l, INFO_TARGET_REFUSED);
        return;
    }
    connect_next(l);
}

static int start_thread(struct lookup *l)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&l->resolver, NULL, resolver_main, l);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    l->resolving = rc == 0;
    return rc;
}

/* --- life ------------------------------------------------------------------------------------- */

static enum err cannot(struct msg_info *answer, enum info_target state, enum err e, const char *why)
{
    answer->target = state;
    snprintf(answer->problem, sizeof answer->problem, "%.255s", why);
    return e;
}

enum err lookup_start(struct lookups *s, const char *scheme, const char *target, lookup_fn fn,
                      void *arg, struct lookup **out, struct msg_info *answer)
{
    char url[320];
    struct url_parts parts;
    struct errmsg msg = {{0}};
    if (s->n >= LOOKUPS_MAX)
        return cannot(answer, INFO_TARGET_BUSY, ERR_BUSY,
                      "the agent already looks up as many targets as it may; ask again");
    snprintf(url, sizeof url, "%s://%s/", scheme[0] != '\0' ? scheme : "http", target);
    enum err e = url_parse(url, &parts, &msg);
    if (e != ERR_OK)
        return cannot(answer, INFO_TARGET_UNRESOLVED, e, msg.text);
    struct lookup *l = mem_calloc(1, sizeof *l);
    *l = (struct lookup){.lookups = s, .fn = fn, .arg = arg, .url = parts, .fd = -1};
    LIST_INSERT_HEAD(&s->all, l, entry);
    s->n++;
    int rc = start_thread(l);
    if (rc != 0) {
        dispose(l);
        return cannot(answer, INFO_TARGET_BUSY, ERR_SYSTEM, strerror(rc));
    }
    l->deadline_ns = clock_add(clock_mono_ns(), LOOKUP_NS);
    l->timer = loop_timer_new(s->loop, on_timer, l);
    loop_timer_at(l->timer, l->deadline_ns);
    *out = l;
    return ERR_OK;
}

void lookup_cancel(struct lookup *l)
{
    dispose(l);
}

enum err lookups_new(struct loop *loop, const struct policy *policy, struct lookups **out,
                     struct errmsg *msg)
{
    struct lookups *s = mem_calloc(1, sizeof *s);
    s->loop = loop;
    s->policy = policy;
    LIST_INIT(&s->all);
    enum err e = mailbox_new(loop, on_resolved, s, &s->resolved, msg);
    if (e == ERR_OK)
        *out = s;
    else
        mem_free(s);
    return e;
}

void lookups_set_policy(struct lookups *s, const struct policy *policy)
{
    s->policy = policy;
}

/* A resolver that hangs must not keep the program: what it uses stays for it until the exit. */
static void on_closed(void *arg)
{
    struct lookups *s = arg;
    s->let_go = true;
    loop_release(s->loop);
}

void lookups_free(struct lookups *s)
{
    if (s == NULL)
        return;
    struct lookup *l, *next;
    for (l = LIST_FIRST(&s->all); l != NULL; l = next) {
        next = LIST_NEXT(l, entry);
        dispose(l);
    }
    if (s->n == 0) {
        end(s);
        return;
    }
    loop_hold(s->loop);
    s->closing = loop_timer_new(s->loop, on_closed, s);
    loop_timer_at(s->closing, clock_add(clock_mono_ns(), CLOSING_NS));
}
