/* SPDX-License-Identifier: MIT */
#include "proto/link.h"

#include <stdio.h>
#include <sys/uio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/sm.h"
#include "proto/link_frame.h"
#include "proto/link_nng.h"
#include "proto/link_shield.h"
#include "proto/link_tls.h"
#include "proto/link_url.h"

/*
 *   DIALING ---> UP ---> FLUSHING ---> CLOSED     FLUSHING: closed by the owner, frames are leaving
 *      |          |                      ^        DOWN:     over, the owner has not closed it yet
 *      +----------+-----> DOWN ----------+        CLOSED:   memory goes away
 *
 * Everything here runs on the loop's thread; nng's threads only post letters (link_nng.c). One
 * timer serves all states: dial deadline and retries, silence, end of the flush.
 */
enum state {
    DIALING,
    UP,
    FLUSHING,
    DOWN,
    CLOSED,
    STATES
};

static const struct sm_state states[STATES] = {
    [DIALING] = {"dialing", SM_BIT(UP) | SM_BIT(DOWN) | SM_BIT(CLOSED)},
    [UP] = {"up", SM_BIT(FLUSHING) | SM_BIT(DOWN) | SM_BIT(CLOSED)},
    [FLUSHING] = {"flushing", SM_BIT(CLOSED)},
    [DOWN] = {"down", SM_BIT(CLOSED)},
    [CLOSED] = {"closed", 0},
};

enum op {
    OP_DIAL,
    OP_RX,
    OP_TX
};

#define FRAME_MAX_DEFAULT 4096
#define DIAL_RETRY_NS     (10 * NS_PER_MS)
#define LINGER_NS         (200 * NS_PER_MS)
#define GRACE_NS          (100 * NS_PER_MS)
#define VECTORS           8 /* nng's limit for one operation */

struct link {
    struct loop *loop;
    struct mailbox *box;
    struct loop_timer *timer;
    nng_stream_dialer *dialer;  /* NULL for an accepted link */
    nng_stream *stream;         /* NULL until connected */
    struct link_shield *shield; /* between the stream and the frames; NULL = plain */
    const struct link_tls *tls; /* whose shield it is */
    char *server_name;          /* asked of a TLS peer; NULL for an accepted link */
    bool spoken;                /* bytes of the peer came: a TLS handshake is behind us */
    struct link_op dial, rx, tx;
    struct frame_rx in;
    struct frame_tx out;
    struct sm sm;
    link_fn fn;
    void *arg;
    unsigned depth; /* callbacks of the owner in progress */
    uint64_t timeout_ns;
    uint64_t deadline_ns; /* of the dial or of the flush */
    uint64_t silence_ns;  /* 0 = no watchdog */
    uint64_t heard_ns;    /* when bytes were last handled */
    bool suspected;       /* silent, in its grace period */
    char peer[LINK_LABEL_MAX];
};

static bool in_state(const struct link *l, enum state s)
{
    return sm_state(&l->sm) == (unsigned)s;
}

/* --- birth and death -------------------------------------------------------------------------- */

static void received(void *arg, struct letter *letter);
static void timer_fired(void *arg);
static void start_tx(struct link *l);

/* The order is nng's (see link_nng.h). A dial that ended well in the meantime leaves its stream in
 * l->stream when the mailbox hands out its letter. Accepts the half-built object. */
static void destroy(struct link *l)
{
    loop_timer_free(l->timer);
    if (l->dialer != NULL)
        nng_stream_dialer_close(l->dialer);
    if (l->stream != NULL)
        nng_stream_close(l->stream);
    link_op_stop(&l->dial);
    link_op_stop(&l->rx);
    link_op_stop(&l->tx);
    mailbox_free(l->box);
    link_op_free(&l->dial);
    link_op_free(&l->rx);
    link_op_free(&l->tx);
    if (l->stream != NULL)
        nng_stream_free(l->stream);
    if (l->dialer != NULL)
        nng_stream_dialer_free(l->dialer);
    frame_rx_fini(&l->in);
    frame_tx_fini(&l->out);
    link_shield_free(l->shield);
    mem_free(l->server_name);
    mem_free(l);
}

static enum err build(struct loop *loop, enum state initial, struct link **out, struct errmsg *msg)
{
    struct link *l = mem_calloc(1, sizeof *l);
    l->loop = loop;
    frame_rx_init(&l->in, FRAME_MAX_DEFAULT);
    frame_tx_init(&l->out);
    sm_init(&l->sm, states, STATES, initial, l->peer);
    l->timer = loop_timer_new(loop, timer_fired, l);
    enum err e = mailbox_new(loop, received, l, &l->box, msg);
    if (e == ERR_OK && (link_op_init(&l->dial, OP_DIAL, l->box) != ERR_OK ||
                        link_op_init(&l->rx, OP_RX, l->box) != ERR_OK ||
                        link_op_init(&l->tx, OP_TX, l->box) != ERR_OK))
        e = errmsg_set(msg, ERR_NOMEM, "out of memory for a connection");
    if (e != ERR_OK) {
        sm_move(&l->sm, CLOSED);
        destroy(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

/* False when the owner closed the link for good in its callback: it is gone. */
static bool emit(struct link *l, enum link_event ev, const struct link_info *info)
{
    l->depth++;
    l->fn(l->arg, l, ev, info);
    l->depth--;
    if (l->depth > 0 || !in_state(l, CLOSED))
        return true;
    destroy(l);
    return false;
}

/* What TLS has to say at the end: goodbye, or what it did not like. nng hands it to the kernel
 * before the call returns, if there is room. */
static void last_words(struct link *l)
{
    if (l->shield == NULL || l->stream == NULL)
        return;
    link_shield_bye(l->shield);
    start_tx(l);
}

static void go_down(struct link *l, const char *reason)
{
    sm_move(&l->sm, DOWN);
    last_words(l);
    loop_timer_at(l->timer, NS_NEVER);
    if (l->stream != NULL)
        nng_stream_close(l->stream);
    else
        nng_stream_dialer_close(l->dialer);
    emit(l, LINK_DOWN, &(struct link_info){.reason = reason});
}

/* A TLS handshake runs with the first bytes, long after "connected": a peer that was not heard yet
 * has most likely refused it, or been refused. Not so when a port was merely probed. */
static void lost(struct link *l, int nng_error)
{
    struct errmsg why;
    bool judged = nng_error == NNG_ECRYPTO || l->dialer != NULL;
    if (l->shield == NULL || l->spoken || !judged) {
        go_down(l, link_nng_reason(nng_error));
    } else {
        link_tls_causes(l->tls, link_shield_story(l->shield), l->server_name, &why);
        if (l->dialer == NULL) /* a dialler's owner tells; a listener's may not have seen it yet */
            log_warn(l->peer, "%s", why.text);
        go_down(l, why.text);
    }
}

/* End of a flush; no owner any more. */
static void finish(struct link *l)
{
    loop_release(l->loop);
    sm_move(&l->sm, CLOSED);
    destroy(l);
}

/* --- receiving -------------------------------------------------------------------------------- */

static void start_rx(struct link *l)
{
    nng_iov iov;
    iov.iov_buf = link_shield_room(l->shield, &l->in, &iov.iov_len);
    nng_aio_set_iov(l->rx.aio, 1, &iov);
    l->rx.busy = true;
    nng_stream_recv(l->stream, l->rx.aio);
}

/* Hands out what is whole. False when the link is gone or down. */
static bool deliver(struct link *l, uint64_t rx_ns)
{
    struct link_info info = {.rx_ns = rx_ns};
    struct errmsg why = {{0}};
    while (in_state(l, UP)) {
        enum err e = frame_rx_next(&l->in, &info.frame, &info.len, &why);
        if (e == ERR_TRUNCATED)
            return true;
        if (e != ERR_OK) {
            go_down(l, why.text);
            return false;
        }
        if (!emit(l, LINK_FRAME, &info))
            return false;
    }
    return in_state(l, FLUSHING);
}

/* Only a finished handshake allows a goodbye. */
static void shield_over(struct link *l)
{
    if (in_state(l, FLUSHING)) {
        last_words(l);
        finish(l);
    } else if (link_shield_end(l->shield) == ERR_CLOSED) {
        go_down(l, link_nng_reason(NNG_ECONNSHUT));
    } else {
        lost(l, NNG_ECRYPTO);
    }
}

/* Hands out what has come; reads on while it flushes, or the peer's bytes would turn our close into
 * a reset. False when the link is gone or down. */
static bool take_in(struct link *l, size_t n)
{
    uint64_t rx_ns = l->rx.done_ns;
    link_shield_filled(l->shield, &l->in, n);
    while (deliver(l, rx_ns)) {
        if (in_state(l, FLUSHING))
            frame_rx_discard(&l->in);
        enum err e = link_shield_open(l->shield, &l->in);
        if (e == ERR_TRUNCATED)
            return true;
        if (e != ERR_OK) {
            shield_over(l);
            return false;
        }
        l->spoken = true;
    }
    return false;
}

static void rx_done(struct link *l)
{
    int rv = nng_aio_result(l->rx.aio);
    size_t n = nng_aio_count(l->rx.aio);
    if (rv == 0 && n == 0)
        rv = NNG_ECONNSHUT;
    if (in_state(l, FLUSHING) && rv != 0) {
        finish(l);
        return;
    }
    if (in_state(l, UP) && rv != 0) {
        lost(l, rv);
        return;
    }
    if (!in_state(l, UP) && !in_state(l, FLUSHING))
        return;
    l->heard_ns = clock_mono_ns();
    if (!take_in(l, n))
        return;
    start_rx(l);
    if (l->shield != NULL)
        start_tx(l); /* of the handshake */
}

/* --- sending ---------------------------------------------------------------------------------- */

static void start_tx(struct link *l)
{
    struct iovec vec[VECTORS];
    nng_iov iov[VECTORS];
    if (l->tx.busy)
        return;
    size_t n = link_shield_vectors(l->shield, &l->out, vec, VECTORS);
    if (n == 0 && in_state(l, UP) && link_shield_end(l->shield) != ERR_OK)
        loop_timer_at(l->timer, 0); /* the owner may be in a call of its own */
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        iov[i] = (nng_iov){.iov_buf = vec[i].iov_base, .iov_len = vec[i].iov_len};
    nng_aio_set_iov(l->tx.aio, (unsigned)n, iov);
    l->tx.busy = true;
    nng_stream_send(l->stream, l->tx.aio);
}

/* All is with the kernel. A close right now could still destroy it on its way: the peer's nng drops
 * what it has not read when it sees a hang-up. So the peer gets a moment to close first. */
static void linger(struct link *l)
{
    uint64_t until = clock_add(clock_mono_ns(), LINGER_NS);
    last_words(l);
    loop_timer_at(l->timer, until < l->deadline_ns ? until : l->deadline_ns);
}

static void tx_done(struct link *l)
{
    int rv = nng_aio_result(l->tx.aio);
    if (!in_state(l, UP) && !in_state(l, FLUSHING))
        return;
    if (rv == 0) {
        link_shield_sent(l->shield, &l->out, nng_aio_count(l->tx.aio));
        start_tx(l);
        if (in_state(l, FLUSHING) && l->out.count == 0)
            linger(l);
    } else if (in_state(l, FLUSHING)) {
        finish(l);
    } else {
        lost(l, rv);
    }
}

/* --- dialling --------------------------------------------------------------------------------- */

static void start_dial(struct link *l)
{
    l->dial.busy = true;
    nng_stream_dialer_dial(l->dialer, l->dial.aio);
}

static void set_up_timer(struct link *l)
{
    loop_timer_at(l->timer, l->silence_ns > 0 ? clock_add(l->heard_ns, l->silence_ns) : NS_NEVER);
}

static void go_up(struct link *l)
{
    sm_move(&l->sm, UP);
    l->heard_ns = clock_mono_ns();
    set_up_timer(l);
    start_rx(l);
    start_tx(l); /* a TLS dialler speaks first */
    emit(l, LINK_UP, &(struct link_info){0});
}

static void dial_done(struct link *l)
{
    int rv = nng_aio_result(l->dial.aio);
    if (rv == 0)
        l->stream = nng_aio_get_output(l->dial.aio, 0);
    if (!in_state(l, DIALING))
        return;
    if (rv == 0 && !link_nng_connected(l->stream)) {
        nng_stream_free(l->stream);
        l->stream = NULL;
        rv = NNG_ECANCELED;
    }
    if (rv == 0) {
        go_up(l);
    } else if (link_nng_transient(rv)) {
        uint64_t retry = clock_add(clock_mono_ns(), DIAL_RETRY_NS);
        loop_timer_at(l->timer, retry < l->deadline_ns ? retry : l->deadline_ns);
    } else {
        go_down(l, link_nng_reason(rv));
    }
}

/* --- timer and letters ------------------------------------------------------------------------ */

static const char *tenths(struct errmsg *buf, const char *what, uint64_t ns)
{
    uint64_t t = (ns + 50 * NS_PER_MS) / (100 * NS_PER_MS);
    snprintf(buf->text, sizeof buf->text, "%s %llu.%llu s", what, (unsigned long long)(t / 10),
             (unsigned long long)(t % 10));
    return buf->text;
}

static void dial_timer(struct link *l, uint64_t now)
{
    struct errmsg why;
    if (now >= l->deadline_ns) {
        go_down(l, tenths(&why, "timed out after", l->timeout_ns));
        return;
    }
    loop_timer_at(l->timer, l->deadline_ns);
    if (!l->dial.busy)
        start_dial(l);
}

/* The timer is not moved for each frame; it finds out how far the deadline has moved. When this
 * thread was held up itself, bytes may be waiting for it: a short grace lets them in first. */
static void silence_timer(struct link *l, uint64_t now)
{
    struct errmsg why;
    uint64_t due = clock_add(l->heard_ns, l->silence_ns);
    if (now < due) {
        l->suspected = false;
        set_up_timer(l);
    } else if (!l->suspected) {
        l->suspected = true;
        loop_timer_at(l->timer, clock_add(now, GRACE_NS));
    } else {
        go_down(l, tenths(&why, "silent for", l->silence_ns));
    }
}

static void timer_fired(void *arg)
{
    struct link *l = arg;
    if (in_state(l, DIALING))
        dial_timer(l, clock_mono_ns());
    else if (in_state(l, UP) && link_shield_end(l->shield) != ERR_OK)
        shield_over(l);
    else if (in_state(l, UP))
        silence_timer(l, clock_mono_ns());
    else if (in_state(l, FLUSHING))
        finish(l);
}

static void received(void *arg, struct letter *letter)
{
    static void (*const done[])(struct link *) = {
        [OP_DIAL] = dial_done,
        [OP_RX] = rx_done,
        [OP_TX] = tx_done,
    };
    link_op_take(letter);
    done[letter->kind](arg);
}

/* --- the owner's side ------------------------------------------------------------------------- */

static enum err dial_tls(struct link *l, const char *url, const struct link_options *o,
                         struct errmsg *msg)
{
    if (!link_url_tls(url))
        return ERR_OK;
    if (o == NULL || o->tls == NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "address \"%s\": tls+tcp needs a CA, a certificate and a key", url);
    l->tls = o->tls;
    l->server_name = mem_strdup(o->server_name);
    return link_tls_dial(o->tls, o->server_name, &l->shield, msg);
}

static enum err open_dialer(struct link *l, const char *url, const struct link_options *o,
                            struct errmsg *msg)
{
    int rv = nng_stream_dialer_alloc(&l->dialer, link_url_stream(url));
    if (rv != 0)
        return errmsg_set(msg, ERR_INVALID, "address \"%s\": %s", url, link_nng_reason(rv));
    return dial_tls(l, url, o, msg);
}

enum err link_dial(struct loop *loop, const char *url, const struct link_options *o,
                   uint64_t timeout_ms, link_fn fn, void *arg, struct link **out,
                   struct errmsg *msg)
{
    struct link *l = NULL;
    enum err e = link_url_check(url, LINK_URL_DIAL, msg);
    if (e == ERR_OK)
        e = build(loop, DIALING, &l, msg);
    if (e != ERR_OK)
        return e;
    e = open_dialer(l, url, o, msg);
    if (e != ERR_OK) {
        sm_move(&l->sm, CLOSED);
        destroy(l);
        return e;
    }
    link_url_label(url, l->peer, sizeof l->peer);
    l->fn = fn;
    l->arg = arg;
    l->timeout_ns = timeout_ms * NS_PER_MS;
    l->deadline_ns = clock_add(clock_mono_ns(), l->timeout_ns);
    loop_timer_at(l->timer, l->deadline_ns);
    start_dial(l);
    *out = l;
    return ERR_OK;
}

enum err link_adopt(struct loop *loop, nng_stream *s, const struct link_tls *tls, struct link **out,
                    struct errmsg *msg)
{
    enum err e = build(loop, UP, out, msg);
    if (e != ERR_OK) {
        nng_stream_free(s);
        return e;
    }
    (*out)->stream = s;
    (*out)->tls = tls;
    if (tls != NULL)
        e = link_tls_accept(tls, &(*out)->shield, msg);
    if (e != ERR_OK) {
        sm_move(&(*out)->sm, CLOSED);
        destroy(*out);
        return e;
    }
    (*out)->heard_ns = clock_mono_ns();
    set_up_timer(*out);
    size_t at = tls != NULL ? (size_t)snprintf((*out)->peer, sizeof(*out)->peer, "tls+") : 0;
    link_nng_peer(s, (*out)->peer + at, sizeof(*out)->peer - at);
    return ERR_OK;
}

void link_offer(struct link *l, link_accept_fn fn, void *arg)
{
    l->depth++;
    fn(arg, l);
    l->depth--;
    if (in_state(l, UP) && l->fn == NULL)
        link_close(l, 0);
    else if (in_state(l, CLOSED))
        destroy(l);
    else
        start_rx(l);
}

void link_set_handler(struct link *l, link_fn fn, void *arg)
{
    l->fn = fn;
    l->arg = arg;
}

void link_set_frame_max(struct link *l, size_t max)
{
    l->in.max = max;
}

void link_set_silence(struct link *l, uint64_t silence_ms)
{
    l->silence_ns = silence_ms * NS_PER_MS;
    l->heard_ns = clock_mono_ns();
    l->suspected = false;
    if (in_state(l, UP))
        set_up_timer(l);
}

enum err link_send(struct link *l, const void *frame, size_t len)
{
    if (in_state(l, DIALING))
        return ERR_STATE;
    if (!in_state(l, UP))
        return ERR_CLOSED;
    if (len == 0)
        return ERR_INVALID;
    if (len > LINK_QUEUE_BYTES)
        return ERR_TOO_BIG;
    bool full = l->out.count >= LINK_QUEUE_MAX || l->out.bytes + len > LINK_QUEUE_BYTES;
    if (full && l->out.count > 0)
        return ERR_BUSY;
    frame_tx_push(&l->out, frame, len);
    start_tx(l);
    return ERR_OK;
}

size_t link_queued(const struct link *l)
{
    return l->out.count;
}

const char *link_peer(const struct link *l)
{
    return l->peer;
}

bool link_peer_uid(const struct link *l, uint64_t *uid)
{
    return l->stream != NULL && nng_stream_get_uint64(l->stream, NNG_OPT_IPC_PEER_UID, uid) == 0;
}

void link_close(struct link *l, uint64_t flush_ms)
{
    if (l == NULL || in_state(l, FLUSHING) || in_state(l, CLOSED))
        return;
    l->fn = NULL;
    if (flush_ms > 0 && in_state(l, UP)) {
        sm_move(&l->sm, FLUSHING);
        loop_hold(l->loop);
        l->deadline_ns = clock_add(clock_mono_ns(), flush_ms * NS_PER_MS);
        loop_timer_at(l->timer, l->deadline_ns);
        if (l->out.count == 0)
            linger(l);
        return;
    }
    if (in_state(l, UP))
        last_words(l);
    sm_move(&l->sm, CLOSED);
    if (l->depth == 0)
        destroy(l);
}
