/* SPDX-License-Identifier: MIT */
#include "agent/service/endpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/service/control.h"
#include "agent/service/crowd.h"
#include "agent/service/info.h"
#include "agent/service/listen.h"
#include "agent/service/run.h"
#include "common/clock.h"
#include "common/host.h"
#include "common/log.h"
#include "common/mem.h"
#include "proto/link.h"
#include "proto/link_url.h"
#include "proto/msg.h"

#define SILENCE_MS  70000 /* beyond the longest lease: control's lease ends it earlier */
#define FLUSH_MS    1900  /* at most ENDPOINT_SHUTDOWN_MS: one may have begun just before SIGTERM */
#define FAREWELL_MS 500   /* the same, once shutting down */
#define HELLO_NS    (5 * NS_PER_SEC)  /* a connection without HELLO is dropped after this */
#define ORPHAN_NS   (10 * NS_PER_SEC) /* a spawned agent nobody talks to */
#define SHUTDOWN_NS ((ENDPOINT_SHUTDOWN_MS - FAREWELL_MS) * NS_PER_MS - 200 * NS_PER_MS)
#define LEASE_NS    (10 * NS_PER_SEC)
#define RETRY_NS    (10 * NS_PER_MS) /* a link that was full is asked again */
#define BULK_QUEUED 8 /* snapshots wait in the outbox, not before a PONG in the link */
#define DUMP_QUEUED 2 /* and no snapshot waits for more than 128 KiB of single requests */

struct conn {
    LIST_ENTRY(conn) entry;
    struct endpoint *endpoint;
    struct link *link;
    uint64_t hello_by_ns; /* no owner until then: dropped; later for one that asked */
};

struct endpoint {
    struct loop *loop;
    struct link_listener *listener;
    struct control *control;
    struct info *info;
    struct loop_timer *timer;
    LIST_HEAD(, conn) conns; /* newest first */
    size_t n_conns;
    bool once, had_owner;
    bool local; /* an ipc:// socket that other users may reach: each peer's user is looked up */
    void (*status)(void *arg, const char *text);
    void *arg;
    char told[160];          /* status told last */
    uint64_t orphan_at_ns;   /* NS_NEVER unless once */
    uint64_t shutdown_at_ns; /* NS_NEVER = not shutting down */
};

/* Of the connections that have not said HELLO; those that have own the agent or are closed. */
static struct conn *one_of_the_crowd(const struct endpoint *s)
{
    struct conn *c, *strangers[ENDPOINT_UNOWNED_MAX + 1];
    const char *peers[ENDPOINT_UNOWNED_MAX + 1];
    size_t n = 0;
    LIST_FOREACH (c, &s->conns, entry) {
        if (control_is_owner(s->control, c) || n > ENDPOINT_UNOWNED_MAX)
            continue;
        strangers[n] = c;
        peers[n++] = link_peer(c->link);
    }
    return n > 0 ? strangers[crowd_pick(peers, n)] : NULL;
}

/* Those that asked may stay longer than those that have said nothing. */
static struct conn *first_overdue(const struct endpoint *s)
{
    struct conn *c, *first = NULL;
    LIST_FOREACH (c, &s->conns, entry)
        if (!control_is_owner(s->control, c) &&
            (first == NULL || c->hello_by_ns < first->hello_by_ns))
            first = c;
    return first;
}

static void rearm(struct endpoint *s)
{
    uint64_t at = control_deadline(s->control);
    const struct conn *c = first_overdue(s);
    if (c != NULL && c->hello_by_ns < at)
        at = c->hello_by_ns;
    if (s->shutdown_at_ns != NS_NEVER) {
        uint64_t soon = clock_mono_ns() + 20 * NS_PER_MS;
        at = at < soon ? at : soon;
    }
    at = at < s->orphan_at_ns ? at : s->orphan_at_ns;
    loop_timer_at(s->timer, at);
}

static void conn_drop(struct conn *c, uint64_t flush_ms)
{
    struct endpoint *s = c->endpoint;
    LIST_REMOVE(c, entry);
    s->n_conns--;
    info_gone(s->info, c);
    link_close(c->link, flush_ms);
    mem_free(c);
}

/* --- what control asks for ------------------------------------------------------------------ */

static enum err send_now(struct link *l, const struct msg *m)
{
    uint8_t *frame;
    size_t len;
    bool bulk = m->type == MSG_SNAPSHOT || m->type == MSG_FINAL;
    if (bulk && link_queued(l) >= BULK_QUEUED)
        return ERR_BUSY;
    if (m->type == MSG_REQUESTS && link_queued(l) >= DUMP_QUEUED)
        return ERR_BUSY;
    enum err e = msg_encode(m, &frame, &len);
    if (e != ERR_OK)
        return e;
    e = link_send(l, frame, len);
    mem_free(frame);
    return e;
}

static bool on_send(void *arg, void *conn, const struct msg *m)
{
    struct conn *c = conn;
    enum err e = send_now(c->link, m);
    if (e != ERR_OK)
        loop_timer_at(((struct endpoint *)arg)->timer, clock_mono_ns() + RETRY_NS);
    return e == ERR_OK;
}

static uint64_t flush_ms(const struct endpoint *s)
{
    return s->shutdown_at_ns == NS_NEVER ? FLUSH_MS : FAREWELL_MS;
}

static void on_close(void *arg, void *conn)
{
    conn_drop(conn, flush_ms(arg));
}

static const char *on_peer(void *arg, void *conn)
{
    (void)arg;
    return link_peer(((struct conn *)conn)->link);
}

static uint64_t on_now(void *arg)
{
    (void)arg;
    return clock_mono_ns();
}

/* What INFO tells beside the state. */
static void on_describe(void *arg, struct msg_info *m)
{
    const struct endpoint *s = arg;
    control_describe(s->control, m);
    m->fds_used = host_fds_used();
    m->tls = strncmp(endpoint_url(s), "tls+tcp://", strlen("tls+tcp://")) == 0;
}

/* --- what links say ------------------------------------------------------------------------- */

static bool is_alive(const struct endpoint *s, const struct conn *c)
{
    const struct conn *x;
    LIST_FOREACH (x, &s->conns, entry)
        if (x == c)
            return true;
    return false;
}

static void tell_status(struct endpoint *s)
{
    char text[sizeof s->told];
    if (s->status == NULL)
        return;
    control_status(s->control, text, sizeof text);
    if (strcmp(text, s->told) == 0)
        return;
    memcpy(s->told, text, sizeof text);
    s->status(s->arg, text);
}

static void after_event(struct endpoint *s)
{
    tell_status(s);
    bool owned = control_state(s->control) != AGENT_IDLE;
    if (s->once && control_is_orphan(s->control))
        owned = false; /* its controller had no other agent to come back to */
    if (owned) {
        s->had_owner = true;
        s->orphan_at_ns = NS_NEVER;
    } else if (s->once && s->had_owner && s->orphan_at_ns == NS_NEVER) {
        s->orphan_at_ns = clock_mono_ns() + 10 * NS_PER_MS; /* lets the last frames leave */
    }
    rearm(s);
}

static void on_frame(struct conn *c, const struct link_info *info)
{
    struct endpoint *s = c->endpoint;
    struct msg m;
    enum err e = msg_decode(info->frame, info->len, &m);
    if (e == ERR_NOT_FOUND)
        return; /* a type from a newer controller */
    if (e != ERR_OK) {
        log_warn("link", "%s: a frame of %zu bytes is not a message (%s)", link_peer(c->link),
                 info->len, err_str(e));
        control_gone(s->control, c, info->rx_ns);
        if (is_alive(s, c))
            conn_drop(c, 0);
        return;
    }
    if (!control_is_owner(s->control, c) && info_message(s->info, c, &m, info->rx_ns)) {
        if (m.type == MSG_QUERY && is_alive(s, c))
            c->hello_by_ns = clock_add(c->hello_by_ns, INFO_STAY_NS - HELLO_NS);
        return;
    }
    control_message(s->control, c, &m, info->rx_ns);
    if (is_alive(s, c) && control_is_owner(s->control, c)) {
        link_set_frame_max(c->link, MSG_FRAME_MAX);
        link_set_silence(c->link, SILENCE_MS);
    }
}

static void on_link(void *arg, struct link *l, enum link_event ev, const struct link_info *info)
{
    struct conn *c = arg;
    struct endpoint *s = c->endpoint;
    if (ev == LINK_FRAME) {
        on_frame(c, info);
    } else if (ev == LINK_DOWN) {
        log_debug("link", "%s: %s", link_peer(l), info->reason);
        control_gone(s->control, c, clock_mono_ns());
        conn_drop(c, 0);
    }
    after_event(s);
}

/* An agent may be held without a connection: its owner is away and may come back. */
static size_t has_owner(const struct endpoint *s)
{
    const struct conn *c;
    LIST_FOREACH (c, &s->conns, entry)
        if (control_is_owner(s->control, c))
            return 1;
    return 0;
}

/* Strangers must not lock a controller out, which says HELLO at once: of the host that has most of
 * them, the one that has been silent longest makes room. */
static void make_room(struct endpoint *s)
{
    struct conn *c = one_of_the_crowd(s);
    if (c == NULL || s->n_conns < ENDPOINT_UNOWNED_MAX + has_owner(s))
        return;
    log_debug("link", "%s: dropped, %d connections are open without HELLO", link_peer(c->link),
              ENDPOINT_UNOWNED_MAX);
    conn_drop(c, 0);
}

/* Who may not command the load is told so, which its controller prints. */
static bool turned_away(const struct endpoint *s, struct link *l)
{
    uint64_t uid = UINT64_MAX;
    if (!s->local || (link_peer_uid(l, &uid) && listen_allows_uid(uid)))
        return false;
    struct msg m = {.type = MSG_REFUSE, .refuse = {.code = REFUSE_POLICY}};
    m.refuse.version_min = MSG_VERSION_MIN;
    m.refuse.version_max = MSG_VERSION_MAX;
    snprintf(m.refuse.build, sizeof m.refuse.build, "%s", HAMMER_VERSION);
    snprintf(m.refuse.text, sizeof m.refuse.text,
             "uid %" PRId64 " may not command this agent: accepted are root, the agent's own user "
             "and the members of group " LISTEN_GROUP,
             (int64_t)uid);
    log_warn("link", "%s: refused: %s", link_peer(l), m.refuse.text);
    uint8_t *frame;
    size_t len;
    if (msg_encode(&m, &frame, &len) == ERR_OK) {
        (void)!link_send(l, frame, len);
        mem_free(frame);
    }
    link_close(l, flush_ms(s));
    return true;
}

static void on_accept(void *arg, struct link *l)
{
    struct endpoint *s = arg;
    if (turned_away(s, l))
        return;
    make_room(s);
    struct conn *c = mem_calloc(1, sizeof *c);
    c->endpoint = s;
    c->link = l;
    LIST_INSERT_HEAD(&s->conns, c, entry);
    s->n_conns++;
    c->hello_by_ns = clock_mono_ns() + HELLO_NS;
    link_set_handler(l, on_link, c);
    rearm(s);
}

/* Whatever bytes came: a HELLO is one frame and takes no time. */
static void drop_silent(struct endpoint *s, uint64_t now_ns)
{
    struct conn *c;
    while ((c = first_overdue(s)) != NULL && c->hello_by_ns <= now_ns) {
        log_debug("link", "%s: no HELLO in time", link_peer(c->link));
        conn_drop(c, 0);
    }
}

static void on_timer(void *arg)
{
    struct endpoint *s = arg;
    uint64_t now_ns = clock_mono_ns();
    control_tick(s->control, now_ns);
    drop_silent(s, now_ns);
    if (now_ns >= s->orphan_at_ns) {
        log_info("endpoint", "no controller: ending");
        loop_stop(s->loop);
        return;
    }
    if (s->shutdown_at_ns != NS_NEVER &&
        (control_shutdown(s->control, now_ns) || now_ns >= s->shutdown_at_ns)) {
        loop_stop(s->loop);
        return;
    }
    after_event(s);
}

/* --- life ----------------------------------------------------------------------------------- */

/* listen_check asked what the name stands for, and then nng asked again. */
static enum err check_reach(const struct endpoint *s, const struct endpoint_config *cfg,
                            struct errmsg *msg)
{
    if (cfg->insecure || link_url_tls(cfg->url) || link_listener_local(s->listener))
        return ERR_OK;
    return errmsg_set(
        msg, ERR_REFUSED,
        "--listen %.100s: it stands for an address now that other machines reach; "
        "accepted without TLS is one of this machine only, such as tcp://127.0.0.1:7400",
        cfg->url);
}

enum err endpoint_new(const struct endpoint_config *cfg, struct endpoint **out, struct errmsg *msg)
{
    struct endpoint *s = mem_calloc(1, sizeof *s);
    s->loop = cfg->loop;
    s->once = cfg->once;
    s->local = !cfg->once && link_url_path(cfg->url) != NULL;
    s->status = cfg->status;
    s->arg = cfg->arg;
    s->shutdown_at_ns = NS_NEVER;
    s->orphan_at_ns = cfg->once ? clock_mono_ns() + ORPHAN_NS : NS_NEVER;
    LIST_INIT(&s->conns);
    struct control_config cc = {
        .env = {.loop = cfg->loop, .policy = cfg->policy, .placement = cfg->placement},
        .run = cfg->run != NULL ? cfg->run : run_ops(),
        .cores = host_cores(),
        .fd_limit = host_fd_limit(),
        .lease_ns = LEASE_NS,
        .tested_rate = cfg->tested_rate,
        .insecure = cfg->insecure,
        .ports = host_local_ports(),
        .arg = s,
        .send = on_send,
        .close = on_close,
        .now = on_now,
        .audit = cfg->audit,
        .peer = on_peer,
    };
    snprintf(cc.agent, sizeof cc.agent, "%s", cfg->name);
    host_boot_id(cc.boot_id, sizeof cc.boot_id);
    host_random(cc.epoch, sizeof cc.epoch);
    s->control = control_new(&cc);
    s->timer = loop_timer_new(cfg->loop, on_timer, s);
    struct link_options lo = {.tls = cfg->tls, .ipc_mode = s->local ? 0660 : 0600};
    struct info_config ic = {.loop = cfg->loop,
                             .policy = cfg->policy,
                             .insecure = cfg->insecure,
                             .audit = cfg->audit,
                             .arg = s,
                             .describe = on_describe,
                             .send = on_send,
                             .close = on_close,
                             .now = on_now,
                             .peer = on_peer};
    enum err e = info_new(&ic, &s->info, msg);
    if (e == ERR_OK)
        e = link_listen(cfg->loop, cfg->url, &lo, on_accept, s, &s->listener, msg);
    if (e == ERR_OK)
        e = check_reach(s, cfg, msg);
    if (e != ERR_OK) {
        endpoint_free(s);
        return e;
    }
    if (s->local)
        listen_share(cfg->url);
    rearm(s);
    *out = s;
    return ERR_OK;
}

const char *endpoint_url(const struct endpoint *s)
{
    return link_listener_url(s->listener);
}

void endpoint_set_policy(struct endpoint *s, const struct policy *policy)
{
    control_set_policy(s->control, policy);
    info_set_policy(s->info, policy);
}

void endpoint_shutdown(struct endpoint *s)
{
    uint64_t now_ns = clock_mono_ns();
    if (s->shutdown_at_ns != NS_NEVER || control_shutdown(s->control, now_ns)) {
        loop_stop(s->loop);
        return;
    }
    s->shutdown_at_ns = now_ns + SHUTDOWN_NS;
    rearm(s);
}

void endpoint_free(struct endpoint *s)
{
    if (s == NULL)
        return;
    if (s->listener != NULL)
        link_listener_close(s->listener);
    struct conn *c;
    while ((c = LIST_FIRST(&s->conns)) != NULL) /* the owner's last words may not have left yet */
        conn_drop(c, control_is_owner(s->control, c) ? FAREWELL_MS : 0);
    info_free(s->info);
    control_free(s->control);
    loop_timer_free(s->timer);
    mem_free(s);
}
