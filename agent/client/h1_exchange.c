/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "agent/client/h1_slot.h"
#include "agent/client/h1_watch.h"
#include "agent/client/tls_error.h"
#include "common/clock.h"

/* A request on its connection: written, answered, completed. */

/* Of the body at least so much must be left for dropping it unread to pay. */
#define SKIP_MIN   (16u << 10)
/* Where a large body is expected, no more than its beginning is read. */
#define READ_SMALL 4096

/* So many connections in a row may be lost with their first request before the next one waits: at
 * full speed a server that throws everybody out would be met with thousands of connects a second.
 */
#define BARREN_MAX 5
/* Who asks with Expect must not wait for ever (RFC 9110 section 10.1.1); curl waits as long. */
#define EXPECT_NS  NS_PER_SEC

/* ---- completing a request ---- */

static bool is_barren(struct slot *s, enum outcome outcome)
{
    /* A timeout took its time already. */
    if (outcome == OUTCOME_TIMEOUT || s->served > 0)
        s->barren = 0;
    else
        s->barren++;
    return s->barren > BARREN_MAX;
}

/* Report, then replace the connection, as a rule at once. */
void slot_fail(struct slot *s, enum outcome outcome, int error, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    struct client_result r = {
        .outcome = outcome, .error = error, .done_ns = now_ns, .receive_ns = UINT64_MAX};
    bool barren = is_barren(s, outcome);
    conn_close(&s->conn);
    slot_report(s, &r);
    if (c->stopped)
        return;
    if (c->env.rules.think_max_ns != 0)
        slot_think(s, now_ns);
    if (barren)
        slot_back_off(s, now_ns);
    else
        slot_replace(s, now_ns);
}

static void slot_complete(struct slot *s, uint64_t now_ns, uint64_t receive_ns, bool reuse)
{
    struct client_h1 *c = s->client;
    struct client_result r = {.outcome = OUTCOME_OK,
                              .status = s->response.status,
                              .done_ns = now_ns,
                              .written_ns = s->written_ns,
                              .first_byte_ns = s->first_byte_ns,
                              .receive_ns = receive_ns};
    s->served++;
    s->barren = 0;
    c->traffic.head_bytes += s->response.head_bytes;
    c->traffic.body_bytes += s->response.body_bytes;
    reuse = reuse && s->served < c->serve_max;
    if (c->watching) {
        if (slot_follow(s, reuse, now_ns))
            return;
        r.error = slot_judge(s, now_ns);
    }
    if (!reuse)
        conn_close(&s->conn);
    slot_report(s, &r);
    if (c->stopped)
        return;
    if (c->env.rules.think_max_ns != 0)
        slot_think(s, now_ns);
    if (reuse)
        slot_rest(s, now_ns);
    else
        slot_replace(s, now_ns);
}

/* ---- sending ---- */

/* A failure is handled on the next turn of the loop: submit must not complete a request, and the
 * response may be there already (413 and close). */
static void slot_write(struct slot *s)
{
    struct request_bytes r; /* made again for each send: one buffer does for all slots */
    request_render(s->request, s->tag, s->client->scratch, &r);
    if (s->edited)
        slot_edit(s, &r);
    s->len = r.len;
    size_t until = s->holding ? r.head_len : r.len;
    if (s->written >= until)
        return;
    ssize_t n = conn_send(&s->conn, r.bytes + s->written, until - s->written);
    if (n >= 0) {
        s->written += (size_t)n;
        s->client->traffic.bytes_out += (uint64_t)n;
        if (s->client->env.rules.phases && s->written == s->len)
            s->written_ns = clock_mono_ns();
    } else if (n != -EAGAIN) {
        s->write_error = (int)-n;
        conn_poke(&s->conn);
        return;
    }
    if (s->written < until)
        conn_want_write(&s->conn);
}

void slot_go_on(struct slot *s)
{
    slot_let_body_go(s);
    s->first_byte_ns = 0; /* of the response: what came was none */
    slot_write(s);
}

void slot_begin(struct slot *s, uint64_t now_ns)
{
    s->attempts++;
    s->sent_ns = now_ns;
    s->handed_ns = 0;
    deadlines_start(&s->client->timeouts, &s->deadline, now_ns);
}

static inline void hand_over(struct slot *s, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    slot_move(s, SLOT_BUSY);
    bool head = s->request->head_method;
    h1_response_start(&s->response, head, &c->known[head]);
    if (c->watching)
        slot_watch(s);
    s->written = 0;
    s->len = SIZE_MAX; /* until it is rendered */
    s->answered = false;
    s->write_error = 0;
    s->handed_ns = now_ns;
    s->written_ns = 0;
    s->first_byte_ns = 0;
    c->traffic.reused += s->served > 0;
    s->holding = s->request->expect_continue;
    if (s->holding)
        timer_heap_start(&c->pauses, &s->pause, clock_add(now_ns, EXPECT_NS));
    /* A new connection on which there are bytes already: slot_bytes refuses them. */
    if (s->served == 0 && conn_has_bytes(&s->conn))
        conn_poke(&s->conn);
    else
        slot_write(s);
}

void slot_send(struct slot *s, uint64_t now_ns)
{
    hand_over(s, now_ns);
}

void slot_start(struct slot *s, uint64_t now_ns)
{
    slot_begin(s, now_ns);
    hand_over(s, now_ns);
}

/* ---- reading ---- */

/* An idle connection ended. At once a new one; but a server that closes without having served is
 * not hammered with connects. */
static void slot_idle_lost(struct slot *s, int error, uint64_t now_ns)
{
    const struct client_env *env = &s->client->env;
    /* In TLS 1.3 a server says only after the handshake that it does not like the client. */
    if (s->served == 0 && tls_error_is(error) && env->fault != NULL)
        env->fault(env->arg, FAULT_TLS, error);
    conn_close(&s->conn);
    if (slot_is_cold(s)) { /* still idle: it had none before its first request either */
        slot_move(s, s->client->quiet ? SLOT_CLOSED : SLOT_COLD);
        return;
    }
    if (s->served > 0)
        slot_connect(s, now_ns);
    else
        slot_back_off(s, now_ns);
    if (env->lost != NULL)
        env->lost(env->arg, now_ns);
}

/* Nothing is under way on it: an end, or bytes nobody asked for. */
static void slot_unused_lost(struct slot *s, int error, uint64_t now_ns)
{
    if (s->state == SLOT_IDLE) {
        slot_idle_lost(s, error, now_ns);
        return;
    }
    timer_heap_cancel(&s->client->pauses, &s->pause);
    conn_close(&s->conn);
    slot_replace(s, now_ns);
}

static bool is_unused(const struct slot *s)
{
    return s->state == SLOT_IDLE || s->state == SLOT_THINKING;
}

/* RFC 9112 section 9.3.1: the server may close a persistent connection at any time, so a request
 * that met the close is sent again, once; if it may have been acted on, only when that is harmless.
 * A failure of TLS is no such close.
 */
static bool may_retry(const struct slot *s, int error)
{
    return !tls_error_is(error) && !s->client->quiet && !s->answered && s->served > 0 &&
           s->attempts == 1 && (s->request->idempotent || s->written == 0);
}

static void slot_cut_off(struct slot *s, int error, uint64_t now_ns)
{
    bool short_write = s->written < s->len;
    if (short_write && s->write_error != 0)
        error = s->write_error;
    if (tls_error_is(error))
        slot_fail(s, OUTCOME_TLS, error, now_ns);
    else if (short_write && !s->holding)
        slot_fail(s, OUTCOME_WRITE, error != 0 ? error : EPIPE, now_ns);
    else
        slot_fail(s, OUTCOME_READ, error, now_ns);
}

/* End of file (error 0; in TLS with close_notify, RFC 9112 section 9.8) or a socket error. */
static void slot_lost(struct slot *s, int error, uint64_t now_ns)
{
    if (is_unused(s)) {
        slot_unused_lost(s, error, now_ns);
    } else if (error == 0 && h1_response_eof(&s->response) == H1_COMPLETE) {
        slot_complete(s, now_ns, UINT64_MAX, false);
    } else if (may_retry(s, error)) {
        s->lost_error = error;
        conn_close(&s->conn);
        if (s->holding)
            slot_let_body_go(s);
        slot_move(s, SLOT_RETRYING);
        slot_connect(s, now_ns);
    } else {
        slot_cut_off(s, error, now_ns);
    }
}

static uint64_t receive_delay(uint64_t kernel_ns)
{
    return kernel_ns == 0 ? UINT64_MAX : clock_elapsed(kernel_ns, clock_wall_ns());
}

static void report_extra(struct slot *s)
{
    const struct client_env *env = &s->client->env;
    if (env->fault != NULL)
        env->fault(env->arg, FAULT_EXTRA_BYTES, 0);
}

static void slot_fed(struct slot *s, enum h1_state state, const struct conn_read *got, bool whole,
                     uint64_t now_ns)
{
    if (state == H1_BROKEN) {
        slot_fail(s, OUTCOME_PROTOCOL, (int)s->response.error, now_ns);
    } else if (state == H1_COMPLETE) {
        uint64_t receive_ns = receive_delay(got->kernel_ns);
        if (!whole)
            report_extra(s);
        slot_complete(s, now_ns, receive_ns,
                      s->response.keep_alive && whole && !s->request->close_after &&
                          s->written == s->len);
    }
}

static void slot_bytes(struct slot *s, const struct conn_read *got, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    size_t n = (size_t)got->n, used;
    c->traffic.bytes_in += n;
    if (is_unused(s)) {
        report_extra(s);
        slot_unused_lost(s, 0, now_ns);
        return;
    }
    if (s->first_byte_ns == 0 && c->env.rules.phases)
        s->first_byte_ns = now_ns;
    s->answered = true;
    if (s->written == 0 && s->write_error == 0) {
        slot_fail(s, OUTCOME_PROTOCOL, H1_EARLY_BYTES, now_ns);
        return;
    }
    enum h1_state state = h1_response_feed(&s->response, c->buffer, n, &used);
    if (state == H1_MORE && s->holding && s->response.go_on)
        slot_go_on(s);
    slot_fed(s, state, got, used == n, now_ns);
}

/* Not bytes: the end, an error, or nothing at all. */
static void slot_no_bytes(struct slot *s, int error, uint64_t now_ns)
{
    if (error != EAGAIN)
        slot_lost(s, error, now_ns);
    else if (s->state == SLOT_BUSY && s->write_error != 0)
        slot_lost(s, s->write_error, now_ns);
}

/* All that had come when the wait ended has one stamp; what comes in a later read may not have been
 * there yet. */
static uint64_t read_stamp(const struct slot *s)
{
    uint64_t woke_ns = loop_woke_ns(s->client->env.loop);
    return s->answered || woke_ns < s->handed_ns ? clock_mono_ns() : woke_ns;
}

static uint64_t body_left(const struct slot *s)
{
    return s->state == SLOT_BUSY ? h1_response_skippable(&s->response) : 0;
}

/* True: there may be more. */
static bool slot_read(struct slot *s)
{
    struct client_h1 *c = s->client;
    struct conn_read got;
    size_t cap = c->known[0].body >= SKIP_MIN ? READ_SMALL : H1_READ_BUFFER;
    bool stamped = sampling_next(&c->sampling, loop_woke_ns(c->env.loop));
    conn_recv(&s->conn, c->buffer, cap, stamped, &got);
    uint64_t now_ns = read_stamp(s);
    if (got.n > 0)
        slot_bytes(s, &got, now_ns);
    else
        slot_no_bytes(s, (int)-got.n, now_ns);
    return got.n == (ssize_t)cap;
}

/* The rest of a large body is not even copied. */
static void slot_skip(struct slot *s)
{
    struct client_h1 *c = s->client;
    struct conn_read got;
    uint64_t left = body_left(s);
    conn_drop(&s->conn, c->buffer, left < H1_READ_BUFFER ? (size_t)left : H1_READ_BUFFER,
              sampling_next(&c->sampling, loop_woke_ns(c->env.loop)), &got);
    uint64_t now_ns = clock_mono_ns();
    if (got.n <= 0) {
        slot_no_bytes(s, (int)-got.n, now_ns);
        return;
    }
    c->traffic.bytes_in += (uint64_t)got.n;
    slot_fed(s, h1_response_skip(&s->response, (uint64_t)got.n), &got, true, now_ns);
}

static void slot_readable(struct slot *s)
{
    bool more = body_left(s) >= SKIP_MIN || slot_read(s);
    if (more && body_left(s) >= SKIP_MIN)
        slot_skip(s);
}

void slot_event(void *arg, enum conn_event ev)
{
    struct slot *s = arg;
    if (ev == CONN_READABLE)
        slot_readable(s);
    else if (s->state == SLOT_BUSY)
        slot_write(s);
    else
        slot_opened(s);
}
