/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/mem.h"
#include "proto/expect.h"
#include "proto/plan.h"
#include "proto/plan_route.h"
#include "proto/plan_wire.h"

/* Keys of the outer map; docs/protocol.md lists them. The _set members stay at home: they say how
 * the user put it, not what is to be done. */
enum plan_key {
    PLAN_SCALARS = 1,
    PLAN_URL,
    PLAN_METHOD,
    PLAN_HEADERS,
    PLAN_BODY,
    PLAN_CACERT,
    PLAN_CERT,
    PLAN_KEY,
    PLAN_SNI,
    PLAN_STAGES,
    PLAN_ENTRIES,
    PLAN_FILES,
    PLAN_RESOLVE = 13,
    PLAN_CONNECT_TO,
    PLAN_SOURCE_IP,
    PLAN_UNIX_SOCKET,
    PLAN_PROXY,
    PLAN_EXPECT_STATUS,
    PLAN_EXPECT_BODY,
    PLAN_ENV = 20,
    PLAN_GIVEN
};

#define STAGE_NUMBERS 5 /* of one stage */

#define SCALAR(key, type, member)                                                                  \
    {                                                                                              \
        key, #member, type, offsetof(struct plan, member), 0, true                                 \
    }
/* Came later: an older controller does not send it, and 0 is what held before. */
#define LATER(key, type, member)                                                                   \
    {                                                                                              \
        key, #member, type, offsetof(struct plan, member), 0, false                                \
    }

static const struct wire_field scalars[] = {
    SCALAR(1, WIRE_U64, rate.num),
    SCALAR(2, WIRE_U64, rate.den),
    SCALAR(3, WIRE_U64, duration_ns),
    SCALAR(4, WIRE_U64, requests),
    SCALAR(5, WIRE_U64, timeout_ns),
    SCALAR(6, WIRE_U64, interval_ns),
    SCALAR(7, WIRE_U32, connections),
    SCALAR(8, WIRE_U32, threads),
    SCALAR(9, WIRE_BOOL, forever),
    LATER(11, WIRE_U64, spin_ns),
    LATER(12, WIRE_U64, dispatch_quantum_ns),
    LATER(13, WIRE_U32, tls_min),
    LATER(14, WIRE_BOOL, insecure),
    LATER(15, WIRE_BOOL, tls_no_resume),
    LATER(16, WIRE_U32, arrivals),
    LATER(17, WIRE_U64, seed),
    LATER(20, WIRE_U32, jitter),
    LATER(21, WIRE_U64, warmup_ns),
    LATER(22, WIRE_U32, on_full),
    LATER(23, WIRE_U32, max_connections),
    LATER(24, WIRE_BOOL, closed_loop),
    LATER(25, WIRE_U64, think_min_ns),
    LATER(26, WIRE_U64, think_max_ns),
    LATER(30, WIRE_U32, order),
    LATER(31, WIRE_BOOL, no_templates),
    LATER(32, WIRE_BOOL, chunked),
    LATER(33, WIRE_BOOL, expect_continue),
    LATER(40, WIRE_BOOL, no_keepalive),
    LATER(41, WIRE_U32, requests_per_connection),
    LATER(42, WIRE_U64, connect_timeout_ns),
    LATER(44, WIRE_BOOL, ipv4),
    LATER(45, WIRE_BOOL, ipv6),
    LATER(46, WIRE_U64, dns_refresh_ns),
    LATER(50, WIRE_U32, follow),
    LATER(51, WIRE_BOOL, cookies),
    LATER(52, WIRE_BOOL, debug_request),
    LATER(60, WIRE_BOOL, phases),
    LATER(61, WIRE_BOOL, dump),
};

#define N_SCALARS (sizeof scalars / sizeof scalars[0])

/* Members of variable length: how each goes over the wire. An empty one is not the same as none. */
enum shape {
    SHAPE_TEXT,
    SHAPE_BYTES,
    SHAPE_LIST /* of texts */
};

struct member {
    enum plan_key key;
    enum shape shape;
    size_t offset, len_offset; /* in struct plan; BYTES: of its length */
    size_t max;                /* bytes of one item */
    uint32_t max_items;        /* LIST */
    bool always;               /* sent empty rather than not at all */
};

#define TEXT(key, member, max)                                                                     \
    {                                                                                              \
        key, SHAPE_TEXT, offsetof(struct plan, member), 0, max, 0, false                           \
    }
#define BYTES(key, member, max)                                                                    \
    {                                                                                              \
        key, SHAPE_BYTES, offsetof(struct plan, member), offsetof(struct plan, member##_len), max, \
            0, false                                                                               \
    }

#define LIST(key, member, max, max_items)                                                          \
    {                                                                                              \
        key, SHAPE_LIST, offsetof(struct plan, member), 0, max, max_items, false                   \
    }

static const struct member members[] = {
    {PLAN_URL, SHAPE_TEXT, offsetof(struct plan, url), 0, PLAN_URL_MAX, 0, true},
    {PLAN_METHOD, SHAPE_TEXT, offsetof(struct plan, method), 0, PLAN_METHOD_MAX, 0, true},
    {PLAN_HEADERS, SHAPE_LIST, offsetof(struct plan, headers), 0, PLAN_HEADER_LINE_MAX,
     PLAN_HEADERS_MAX, true},
    BYTES(PLAN_BODY, body, PLAN_BODY_MAX),
    BYTES(PLAN_CACERT, cacert, PLAN_CACERT_MAX),
    BYTES(PLAN_CERT, cert, PLAN_CERT_MAX),
    BYTES(PLAN_KEY, key, PLAN_KEY_MAX),
    TEXT(PLAN_SNI, sni, PLAN_SNI_MAX),
    LIST(PLAN_RESOLVE, resolve, PLAN_ROUTE_TEXT, PLAN_ROUTES_MAX),
    LIST(PLAN_CONNECT_TO, connect_to, PLAN_ROUTE_TEXT, PLAN_ROUTES_MAX),
    LIST(PLAN_SOURCE_IP, source_ip, PLAN_ROUTE_TEXT, PLAN_SOURCES_MAX),
    TEXT(PLAN_UNIX_SOCKET, unix_socket, PLAN_UNIX_MAX),
    TEXT(PLAN_PROXY, proxy, PLAN_URL_MAX),
    TEXT(PLAN_EXPECT_STATUS, expect_status, EXPECT_STATUS_TEXT),
    TEXT(PLAN_EXPECT_BODY, expect_body, EXPECT_BODY_TEXT),
    LIST(PLAN_GIVEN, given, OPTION_GIVEN_TEXT, PLAN_GIVEN_MAX),
};

#define N_MEMBERS (sizeof members / sizeof members[0])

static const void *at(const struct plan *p, size_t offset)
{
    return (const char *)p + offset;
}

static bool is_sent(const struct plan *p, const struct member *m)
{
    if (m->shape == SHAPE_LIST)
        return m->always || ((const struct option_list *)at(p, m->offset))->n > 0;
    return m->always || *(void *const *)at(p, m->offset) != NULL;
}

static void put_member(struct wire_out *w, const struct plan *p, const struct member *m)
{
    const void *member = at(p, m->offset);
    wire_put_u64(w, m->key);
    if (m->shape == SHAPE_LIST) {
        plan_put_list(w, member);
    } else if (m->shape == SHAPE_BYTES) {
        wire_put_bin(w, *(uint8_t *const *)member, *(const size_t *)at(p, m->len_offset));
    } else {
        /* A receiver that does not know entries must not send the first of them alone: with them
         * there is no URL, which it refuses. */
        const char *text = *(char *const *)member;
        bool absent = text == NULL || (m->key == PLAN_URL && p->n_entries > 0);
        wire_put_str(w, absent ? "" : text);
    }
}

static uint32_t count_keys(const struct plan *p)
{
    const bool others[] = {p->n_stages > 0, p->n_entries > 0, p->n_files > 0, p->n_env > 0};
    uint32_t n = 1; /* the scalars */
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        n += others[i];
    for (size_t i = 0; i < N_MEMBERS; i++)
        n += is_sent(p, &members[i]);
    return n;
}

/* A receiver that does not know stages must not send another load: with them the scalar rate is
 * 0/0, which it refuses. */
static void put_scalars(struct wire_out *w, const struct plan *p)
{
    struct plan sent = *p;
    if (p->n_stages > 0)
        sent.rate = (struct rate){0, 0};
    wire_put_u64(w, PLAN_SCALARS);
    wire_put_fields(w, scalars, N_SCALARS, &sent);
}

static void put_stages(struct wire_out *w, const struct plan *p)
{
    wire_put_u64(w, PLAN_STAGES);
    wire_put_array(w, p->n_stages);
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const struct stage *s = &p->stages[i];
        wire_put_array(w, STAGE_NUMBERS);
        wire_put_u64(w, s->duration_ns);
        wire_put_u64(w, s->from.num);
        wire_put_u64(w, s->from.den);
        wire_put_u64(w, s->to.num);
        wire_put_u64(w, s->to.den);
    }
}

static void put_requests(struct wire_out *w, const struct plan *p)
{
    if (p->n_entries > 0) {
        wire_put_u64(w, PLAN_ENTRIES);
        plan_put_entries(w, p);
    }
    if (p->n_files > 0) {
        wire_put_u64(w, PLAN_FILES);
        plan_put_named(w, p->files, p->n_files);
    }
    if (p->n_env > 0) {
        wire_put_u64(w, PLAN_ENV);
        plan_put_named(w, p->env, p->n_env);
    }
}

enum err plan_encode(const struct plan *p, uint8_t **buf, size_t *len)
{
    struct wire_out *w = wire_out_new();
    wire_put_map(w, count_keys(p));
    put_scalars(w, p);
    for (size_t i = 0; i < N_MEMBERS; i++)
        if (is_sent(p, &members[i]))
            put_member(w, p, &members[i]);
    if (p->n_stages > 0)
        put_stages(w, p);
    put_requests(w, p);
    *buf = wire_out_take(w, len);
    wire_out_free(w);
    return ERR_OK;
}

static void get_stages(struct wire_in *r, struct plan *p)
{
    p->n_stages = wire_get_array(r, PROFILE_STAGES_MAX);
    for (uint32_t i = 0; i < p->n_stages && r->err == ERR_OK; i++) {
        struct stage *s = &p->stages[i];
        if (wire_get_array(r, STAGE_NUMBERS) != STAGE_NUMBERS)
            wire_fail(r, ERR_CORRUPT);
        s->duration_ns = wire_get_u64(r);
        s->from.num = wire_get_u64(r);
        s->from.den = wire_get_u64(r);
        s->to.num = wire_get_u64(r);
        s->to.den = wire_get_u64(r);
    }
}

static void get_member(struct wire_in *r, struct plan *p, const struct member *m)
{
    void *member = (char *)p + m->offset;
    if (m->shape == SHAPE_LIST)
        plan_get_list(r, m->max_items, m->max, member);
    else if (m->shape == SHAPE_BYTES)
        plan_get_bytes(r, m->max, member, (size_t *)(void *)((char *)p + m->len_offset));
    else
        *(char **)member = plan_get_text(r, m->max);
}

static void get_key(struct wire_in *r, struct plan *p, uint64_t key)
{
    for (size_t i = 0; i < N_MEMBERS; i++) {
        if (members[i].key == key) {
            get_member(r, p, &members[i]);
            return;
        }
    }
    if (key == PLAN_SCALARS)
        wire_get_fields(r, scalars, N_SCALARS, p);
    else if (key == PLAN_STAGES)
        get_stages(r, p);
    else if (key == PLAN_ENTRIES)
        plan_get_entries(r, p);
    else if (key == PLAN_FILES)
        plan_get_named(r, PLAN_FILES_MAX, PLAN_FILES_BYTES, &p->files, &p->n_files);
    else if (key == PLAN_ENV)
        plan_get_named(r, PLAN_ENV_MAX, PLAN_ENV_MAX * PLAN_ENV_BYTES, &p->env, &p->n_env);
    else
        wire_skip(r);
}

static void get_plan(struct wire_in *r, struct plan *p)
{
    const uint64_t needed = 1u << PLAN_SCALARS | 1u << PLAN_URL | 1u << PLAN_METHOD;
    uint64_t seen = 0;
    uint32_t n = wire_get_map(r, WIRE_PAIRS_MAX);
    for (uint32_t i = 0; i < n && r->err == ERR_OK; i++) {
        get_key(r, p, wire_get_key(r, &seen));
    }
    if ((seen & needed) != needed)
        wire_fail(r, ERR_CORRUPT);
    if (r->err == ERR_OK && p->n_entries > 0) {
        if (p->url[0] != '\0') /* the entries and another one: which? */
            wire_fail(r, ERR_CORRUPT);
        mem_free(p->url);
        p->url = mem_strdup(p->entries[0].url);
    }
    if (p->n_stages == 0 || r->err != ERR_OK)
        return;
    if (p->rate.num != 0 || p->rate.den != 0) /* the stages and another rate: which one? */
        wire_fail(r, ERR_CORRUPT);
    p->rate = plan_stages_peak(p);
}

enum err plan_decode(const uint8_t *buf, size_t len, struct plan *to, struct errmsg *msg)
{
    memset(to, 0, sizeof *to);
    struct wire_in r;
    wire_in_init(&r, buf, len);
    get_plan(&r, to);
    enum err e = wire_end(&r);
    if (e != ERR_OK)
        (void)errmsg_set(msg, e, "the plan as received is %s", err_str(e));
    else
        e = plan_validate(to, msg);
    if (e != ERR_OK)
        plan_clear(to);
    return e;
}
