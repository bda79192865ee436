/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/link_nng.h"
#include "proto/link_url.h"

/*
 * Exactly one accept is outstanding for ever, whatever peers do to their connections: only
 * link_listener_close ends it. An error costs that one connection; when errors come in a row (out
 * of descriptors) the next try waits, so that the loop does not spin.
 */

#define RETRY_NS        (10 * NS_PER_MS)
#define ERRORS_IN_A_ROW 8

struct link_listener {
    struct loop *loop;
    struct mailbox *box;
    struct loop_timer *timer; /* next accept after errors */
    nng_stream_listener *nng;
    const struct link_tls *tls; /* NULL = plain */
    struct link_op accept;
    link_accept_fn fn;
    void *arg;
    unsigned errors; /* in a row */
    unsigned depth;  /* callbacks of the owner in progress */
    bool closed;
    char url[LINK_LABEL_MAX];
};

/* Order: see link_nng.h. Accepts the half-built object. */
static void destroy(struct link_listener *l)
{
    l->closed = true;
    loop_timer_free(l->timer);
    if (l->nng != NULL)
        nng_stream_listener_close(l->nng);
    link_op_stop(&l->accept);
    mailbox_free(l->box);
    link_op_free(&l->accept);
    if (l->nng != NULL)
        nng_stream_listener_free(l->nng);
    mem_free(l);
}

static void start_accept(void *arg)
{
    struct link_listener *l = arg;
    l->accept.busy = true;
    nng_stream_listener_accept(l->nng, l->accept.aio);
}

/* --- accepting -------------------------------------------------------------------------------- */

static void retry(struct link_listener *l, const char *reason)
{
    l->errors++;
    if (l->errors == ERRORS_IN_A_ROW)
        log_warn(l->url, "cannot accept: %s", reason);
    if (l->errors < ERRORS_IN_A_ROW)
        start_accept(l);
    else
        loop_timer_at(l->timer, clock_add(clock_mono_ns(), RETRY_NS));
}

static void accepted(void *arg, struct letter *letter)
{
    struct link_listener *l = arg;
    struct link_op *op = link_op_take(letter);
    int rv = nng_aio_result(op->aio);
    nng_stream *s = rv == 0 ? nng_aio_get_output(op->aio, 0) : NULL;
    struct link *link = NULL;
    struct errmsg msg = {{0}};
    if (l->closed) {
        if (s != NULL)
            nng_stream_free(s);
    } else if (rv != 0) {
        retry(l, link_nng_reason(rv));
    } else if (link_adopt(l->loop, s, l->tls, &link, &msg) != ERR_OK) {
        retry(l, msg.text);
    } else {
        l->errors = 0;
        start_accept(l);
        l->depth++;
        link_offer(link, l->fn, l->arg);
        l->depth--;
        if (l->closed && l->depth == 0)
            destroy(l);
    }
}

/* nng removes the socket file that a dead process left behind, but would as well remove any other
 * file of that name. */
static enum err check_path(const char *url, struct errmsg *msg)
{
    struct stat st;
    const char *path = link_url_path(url);
    if (path == NULL || lstat(path, &st) != 0 || S_ISSOCK(st.st_mode))
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID, "cannot listen on %s: the file exists and is no socket",
                      url);
}

static void read_url(struct link_listener *l, const char *url)
{
    nng_sockaddr sa = {0};
    unsigned port = 0;
    if (nng_stream_listener_get_addr(l->nng, NNG_OPT_LOCADDR, &sa) == 0)
        port = link_nng_port(&sa);
    link_url_with_port(url, port, l->url, sizeof l->url);
}

static enum err open_tls(struct link_listener *l, const char *url, const struct link_options *o,
                         struct errmsg *msg)
{
    if (!link_url_tls(url))
        return ERR_OK;
    if (o->tls == NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "cannot listen on %s: tls+tcp needs a CA, a certificate and a key", url);
    l->tls = o->tls;
    return link_tls_listen(l->tls, msg);
}

static enum err open_listener(struct link_listener *l, const char *url,
                              const struct link_options *o, struct errmsg *msg)
{
    int rv = nng_stream_listener_alloc(&l->nng, link_url_stream(url));
    enum err e = rv == 0 ? open_tls(l, url, o, msg) : ERR_OK;
    if (e != ERR_OK)
        return e;
    if (rv == 0 && link_url_path(url) != NULL)
        rv = nng_stream_listener_set_int(l->nng, NNG_OPT_IPC_PERMISSIONS,
                                         o->ipc_mode != 0 ? (int)o->ipc_mode : 0600);
    if (rv == 0)
        rv = nng_stream_listener_listen(l->nng);
    if (rv == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_SYSTEM, "cannot listen on %s: %s", url, link_nng_reason(rv));
}

enum err link_listen(struct loop *loop, const char *url, const struct link_options *o,
                     link_accept_fn fn, void *arg, struct link_listener **out, struct errmsg *msg)
{
    static const struct link_options none;
    enum err e = link_url_check(url, LINK_URL_LISTEN, msg);
    if (e == ERR_OK)
        e = check_path(url, msg);
    if (e != ERR_OK)
        return e;
    struct link_listener *l = mem_calloc(1, sizeof *l);
    *l = (struct link_listener){.loop = loop, .fn = fn, .arg = arg};
    l->timer = loop_timer_new(loop, start_accept, l);
    e = mailbox_new(loop, accepted, l, &l->box, msg);
    if (e == ERR_OK && link_op_init(&l->accept, 0, l->box) != ERR_OK)
        e = errmsg_set(msg, ERR_NOMEM, "out of memory for a listener");
    if (e == ERR_OK)
        e = open_listener(l, url, o != NULL ? o : &none, msg);
    if (e != ERR_OK) {
        destroy(l);
        return e;
    }
    read_url(l, url);
    start_accept(l);
    *out = l;
    return ERR_OK;
}

const char *link_listener_url(const struct link_listener *l)
{
    return l->url;
}

bool link_listener_local(const struct link_listener *l)
{
    static const uint8_t mapped[13] = {[10] = 0xff, 0xff, 127}, self[16] = {[15] = 1};
    nng_sockaddr sa = {0};
    if (nng_stream_listener_get_addr(l->nng, NNG_OPT_LOCADDR, &sa) != 0)
        return false;
    if (sa.s_family == NNG_AF_INET)
        return (ntohl(sa.s_in.sa_addr) >> 24) == 127;
    if (sa.s_family == NNG_AF_INET6)
        return memcmp(sa.s_in6.sa_addr, self, sizeof self) == 0 ||
               memcmp(sa.s_in6.sa_addr, mapped, sizeof mapped) == 0;
    return sa.s_family == NNG_AF_IPC;
}

void link_listener_close(struct link_listener *l)
{
    if (l == NULL || l->closed)
        return;
    l->closed = true;
    if (l->depth == 0)
        destroy(l);
}
