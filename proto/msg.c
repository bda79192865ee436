/* SPDX-License-Identifier: MIT */
#include "proto/msg.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "proto/dump.h"

#define REQUIRED true
#define OPTIONAL false

/* One row: wire key, type, struct and member, size (see struct wire_field), needed or not. */
#define SIZED(key, type, message, member, size, needed)                                            \
    {                                                                                              \
        key, #member, type, offsetof(struct message, member), size, needed                         \
    }
#define U64(key, message, member, needed) SIZED(key, WIRE_U64, message, member, 0, needed)
#define U32(key, message, member, needed) SIZED(key, WIRE_U32, message, member, 0, needed)
#define STR(key, message, member, needed)                                                          \
    SIZED(key, WIRE_STR, message, member, sizeof((struct message *)0)->member, needed)
#define ID(key, message, member, needed) SIZED(key, WIRE_ID, message, member, MSG_ID_LEN, needed)
#define BLOB(key, message, member, needed)                                                         \
    SIZED(key, WIRE_BLOB, message, member, MSG_BLOB_MAX, needed)

static const struct wire_field hello_fields[] = {
    U32(1, msg_hello, version_min, REQUIRED), U32(2, msg_hello, version_max, REQUIRED),
    STR(3, msg_hello, build, OPTIONAL),       STR(4, msg_hello, controller, OPTIONAL),
    ID(5, msg_hello, owner, REQUIRED),        U64(6, msg_hello, ack_seq, OPTIONAL),
    U64(7, msg_hello, lease_ms, REQUIRED),    U32(8, msg_hello, force, OPTIONAL),
};

static const struct wire_field welcome_fields[] = {
    U32(1, msg_welcome, version, REQUIRED),     STR(2, msg_welcome, build, OPTIONAL),
    STR(3, msg_welcome, agent, REQUIRED),       ID(4, msg_welcome, epoch, REQUIRED),
    STR(5, msg_welcome, boot_id, OPTIONAL),     U32(6, msg_welcome, state, REQUIRED),
    U32(7, msg_welcome, cores, REQUIRED),       U64(8, msg_welcome, fd_limit, OPTIONAL),
    U64(9, msg_welcome, lease_ms, REQUIRED),    U64(10, msg_welcome, tested_rate, OPTIONAL),
    U32(11, msg_welcome, insecure, OPTIONAL),   STR(12, msg_welcome, policy, OPTIONAL),
    U32(13, msg_welcome, ports, OPTIONAL),      STR(14, msg_welcome, run, OPTIONAL),
    U64(15, msg_welcome, last_seq, OPTIONAL),   U64(16, msg_welcome, at_ns, OPTIONAL),
    U64(17, msg_welcome, started_ns, OPTIONAL), U32(18, msg_welcome, abilities, OPTIONAL),
};

static const struct wire_field refuse_fields[] = {
    U32(1, msg_refuse, code, REQUIRED),          STR(2, msg_refuse, text, REQUIRED),
    STR(3, msg_refuse, holder, OPTIONAL),        U64(4, msg_refuse, held_ms, OPTIONAL),
    U64(5, msg_refuse, lease_left_ms, OPTIONAL), U32(6, msg_refuse, version_min, OPTIONAL),
    U32(7, msg_refuse, version_max, OPTIONAL),   STR(8, msg_refuse, build, OPTIONAL),
    STR(9, msg_refuse, run, OPTIONAL),           U32(10, msg_refuse, orphan, OPTIONAL),
};

static const struct wire_field probe_fields[] = {
    U64(1, msg_probe, t1_ns, REQUIRED),
    U32(2, msg_probe, probe, REQUIRED),
};

static const struct wire_field probe_reply_fields[] = {
    U64(1, msg_probe_reply, t1_ns, REQUIRED),
    U64(2, msg_probe_reply, t2_ns, REQUIRED),
    U64(3, msg_probe_reply, t3_ns, REQUIRED),
    U32(4, msg_probe_reply, probe, REQUIRED),
};

static const struct wire_field prepare_fields[] = {
    U64(1, msg_prepare, command, REQUIRED),         ID(2, msg_prepare, run, REQUIRED),
    BLOB(3, msg_prepare, plan, REQUIRED),           U32(4, msg_prepare, total, REQUIRED),
    U32(5, msg_prepare, first, REQUIRED),           U32(6, msg_prepare, weight, REQUIRED),
    U32(7, msg_prepare, connections, REQUIRED),     U32(8, msg_prepare, threads, REQUIRED),
    U32(9, msg_prepare, max_connections, OPTIONAL),
};

static const struct wire_field prepared_fields[] = {
    U64(1, msg_prepared, command, REQUIRED), U32(2, msg_prepared, connections, REQUIRED),
    U32(3, msg_prepared, threads, REQUIRED), STR(4, msg_prepared, address, OPTIONAL),
    STR(5, msg_prepared, problem, OPTIONAL),
};

static const struct wire_field error_fields[] = {
    U64(1, msg_error, command, REQUIRED),
    U32(2, msg_error, code, REQUIRED),
    STR(3, msg_error, text, REQUIRED),
};

static const struct wire_field arm_fields[] = {
    U64(1, msg_arm, command, REQUIRED),
    U64(2, msg_arm, at_ns, REQUIRED),
};

static const struct wire_field armed_fields[] = {
    U64(1, msg_armed, command, REQUIRED),
};

static const struct wire_field started_fields[] = {
    U64(1, msg_started, at_ns, REQUIRED),
    U64(2, msg_started, actual_ns, REQUIRED),
};

static const struct wire_field ping_fields[] = {
    U64(1, msg_ping, t1_ns, REQUIRED),
    U64(2, msg_ping, ack_seq, REQUIRED),
};

static const struct wire_field pong_fields[] = {
    U64(1, msg_pong, t1_ns, REQUIRED),    U64(2, msg_pong, t2_ns, REQUIRED),
    U64(3, msg_pong, t3_ns, REQUIRED),    U32(4, msg_pong, state, REQUIRED),
    U64(5, msg_pong, last_seq, REQUIRED), U64(6, msg_pong, started_ns, OPTIONAL),
};

static const struct wire_field snapshot_fields[] = {
    U64(1, msg_snapshot, seq, REQUIRED),
    BLOB(2, msg_snapshot, data, REQUIRED),
};

static const struct wire_field ack_fields[] = {
    U64(1, msg_ack, ack_seq, REQUIRED),
    U32(2, msg_ack, resend, OPTIONAL),
};

static const struct wire_field stop_fields[] = {
    U64(1, msg_stop, command, REQUIRED),
    U64(2, msg_stop, drain_ns, REQUIRED),
    STR(3, msg_stop, reason, OPTIONAL),
};

static const struct wire_field final_fields[] = {
    U64(1, msg_final, last_seq, REQUIRED),   U32(2, msg_final, reason, REQUIRED),
    U64(3, msg_final, started_ns, OPTIONAL), U64(4, msg_final, ended_ns, OPTIONAL),
    STR(5, msg_final, text, OPTIONAL),       BLOB(6, msg_final, data, REQUIRED),
    U64(7, msg_final, rows, OPTIONAL),       U64(8, msg_final, rows_dropped, OPTIONAL),
};

static const struct wire_field bye_fields[] = {
    U32(1, msg_bye, reserved, OPTIONAL),
};

static const struct wire_field query_fields[] = {
    U32(1, msg_query, version_min, REQUIRED), U32(2, msg_query, version_max, REQUIRED),
    STR(3, msg_query, build, OPTIONAL),       STR(4, msg_query, controller, OPTIONAL),
    STR(5, msg_query, scheme, OPTIONAL),      STR(6, msg_query, target, OPTIONAL),
};

static const struct wire_field info_fields[] = {
    U32(1, msg_info, version_min, REQUIRED), U32(2, msg_info, version_max, REQUIRED),
    STR(3, msg_info, build, OPTIONAL),       STR(4, msg_info, agent, REQUIRED),
    ID(5, msg_info, epoch, REQUIRED),        STR(6, msg_info, boot_id, OPTIONAL),
    U32(7, msg_info, state, REQUIRED),       STR(8, msg_info, holder, OPTIONAL),
    U64(9, msg_info, held_ms, OPTIONAL),     U64(10, msg_info, lease_left_ms, OPTIONAL),
    STR(11, msg_info, run, OPTIONAL),        U32(12, msg_info, cores, REQUIRED),
    U64(13, msg_info, fd_limit, OPTIONAL),   U64(14, msg_info, fds_used, OPTIONAL),
    U32(15, msg_info, ports, OPTIONAL),      U64(16, msg_info, tested_rate, OPTIONAL),
    U32(17, msg_info, insecure, OPTIONAL),   STR(18, msg_info, policy, OPTIONAL),
    U32(19, msg_info, tls, OPTIONAL),        U32(20, msg_info, target, OPTIONAL),
    STR(21, msg_info, addresses, OPTIONAL),  U64(22, msg_info, connect_us, OPTIONAL),
    STR(23, msg_info, problem, OPTIONAL),    U32(24, msg_info, n_addresses, OPTIONAL),
    U32(25, msg_info, orphan, OPTIONAL),
};

static const struct wire_field halt_fields[] = {
    STR(1, msg_halt, run, OPTIONAL),
    STR(2, msg_halt, controller, OPTIONAL),
    STR(3, msg_halt, reason, OPTIONAL),
};

static const struct wire_field reshare_fields[] = {
    U64(1, msg_reshare, command, REQUIRED), U64(2, msg_reshare, from_index, REQUIRED),
    U32(3, msg_reshare, total, REQUIRED),   U32(4, msg_reshare, first, REQUIRED),
    U32(5, msg_reshare, weight, REQUIRED),
};

static const struct wire_field reshared_fields[] = {
    U64(1, msg_reshared, command, REQUIRED),
    STR(2, msg_reshared, problem, OPTIONAL),
};

static const struct wire_field requests_fields[] = {
    U64(1, msg_requests, first, REQUIRED),
    U64(2, msg_requests, dropped, REQUIRED),
    U32(3, msg_requests, n, REQUIRED),
    SIZED(4, WIRE_BLOB, msg_requests, data, DUMP_BYTES_MAX, REQUIRED),
};

struct message {
    enum msg_type type;
    const char *name;
    const struct wire_field *fields;
    size_t n;
    size_t offset; /* of the member in struct msg */
};

#define MESSAGE(TYPE, member)                                                                      \
    {                                                                                              \
        MSG_##TYPE, #TYPE, member##_fields, sizeof member##_fields / sizeof member##_fields[0],    \
            offsetof(struct msg, member)                                                           \
    }

/* In the order of their numbers, from 1. */
static const struct message messages[] = {
    MESSAGE(HELLO, hello),
    MESSAGE(WELCOME, welcome),
    MESSAGE(REFUSE, refuse),
    MESSAGE(PROBE, probe),
    MESSAGE(PROBE_REPLY, probe_reply),
    MESSAGE(PREPARE, prepare),
    MESSAGE(PREPARED, prepared),
    MESSAGE(ERROR, error),
    MESSAGE(ARM, arm),
    MESSAGE(ARMED, armed),
    MESSAGE(STARTED, started),
    MESSAGE(PING, ping),
    MESSAGE(PONG, pong),
    MESSAGE(SNAPSHOT, snapshot),
    MESSAGE(ACK, ack),
    MESSAGE(STOP, stop),
    MESSAGE(FINAL, final),
    MESSAGE(BYE, bye),
    MESSAGE(QUERY, query),
    MESSAGE(INFO, info),
    MESSAGE(HALT, halt),
    MESSAGE(RESHARE, reshare),
    MESSAGE(RESHARED, reshared),
    MESSAGE(REQUESTS, requests),
};

#define N_MESSAGES (sizeof messages / sizeof messages[0])
_Static_assert(N_MESSAGES == MSG_TYPE_MAX, "every message type has its row");

static const struct message *find_message(uint64_t type)
{
    return type >= 1 && type <= N_MESSAGES ? &messages[type - 1] : NULL;
}

const char *msg_type_name(enum msg_type t)
{
    const struct message *row = find_message(t);
    return row == NULL ? "?" : row->name;
}

static const char *const state_names[] = {
    [AGENT_IDLE] = "idle",         [AGENT_HELD] = "held",   [AGENT_PREPARING] = "preparing",
    [AGENT_PREPARED] = "prepared", [AGENT_ARMED] = "armed", [AGENT_RUNNING] = "running",
    [AGENT_DRAINING] = "draining", [AGENT_ENDED] = "ended",
};
_Static_assert(sizeof state_names / sizeof state_names[0] == AGENT_STATES,
               "every state has a name");

const char *agent_state_name(uint32_t s)
{
    return s < AGENT_STATES ? state_names[s] : "?";
}

/* --- texts ----------------------------------------------------------------------------------- */

/* First code point of a UTF-8 text and its length in bytes; length 1 and U+FFFD when the bytes are
 * not UTF-8 (overlong forms and surrogates included, RFC 3629). */
static uint32_t code_point(const unsigned char *s, size_t *len)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    *len = 1;
    if (n == 0)
        return 0xfffd;
    uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2) /* the terminating NUL ends here as well */
            return 0xfffd;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0xfffd;
    *len = n;
    return c;
}

/* Control characters, and those that reorder or break a line behind the reader's back. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029 ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void msg_sanitise(char *text)
{
    for (unsigned char *s = (unsigned char *)text; *s != '\0';) {
        size_t len;
        uint32_t c = code_point(s, &len);
        if (is_control(c) || (c == 0xfffd && len == 1))
            memset(s, '?', len);
        s += len;
    }
}

static void sanitise_all(const struct message *row, char *body)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->fields[i].type == WIRE_STR)
            msg_sanitise(body + row->fields[i].offset);
}

/* --- frames ---------------------------------------------------------------------------------- */

enum err msg_encode(const struct msg *m, uint8_t **buf, size_t *len)
{
    *buf = NULL;
    *len = 0;
    const struct message *row = find_message(m->type);
    if (row == NULL)
        return ERR_INVALID;
    const char *body = (const char *)m + row->offset;
    for (size_t i = 0; i < row->n; i++) {
        const struct wire_field *f = &row->fields[i];
        const void *at = body + f->offset;
        if (f->type == WIRE_BLOB && ((const struct wire_blob *)at)->len > f->size)
            return ERR_TOO_BIG;
    }
    struct wire_out *w = wire_out_new();
    wire_put_array(w, 2);
    wire_put_u64(w, row->type);
    wire_put_fields(w, row->fields, row->n, body);
    *buf = wire_out_take(w, len);
    wire_out_free(w);
    return ERR_OK;
}

/* Only once the frame is known to be whole is an unknown type called unknown. */
static enum err skip_unknown(struct wire_in *r)
{
    wire_skip(r);
    enum err e = wire_end(r);
    return e == ERR_OK ? ERR_NOT_FOUND : e;
}

enum err msg_decode(const uint8_t *frame, size_t len, struct msg *m)
{
    memset(m, 0, sizeof *m);
    if (len > MSG_FRAME_MAX)
        return ERR_TOO_BIG;
    struct wire_in r;
    wire_in_init(&r, frame, len);
    if (wire_get_array(&r, 2) != 2)
        wire_fail(&r, ERR_CORRUPT);
    const struct message *row = find_message(wire_get_u64(&r));
    if (row == NULL)
        return skip_unknown(&r);
    char *body = (char *)m + row->offset;
    wire_get_fields(&r, row->fields, row->n, body);
    enum err e = wire_end(&r);
    if (e != ERR_OK) {
        memset(m, 0, sizeof *m);
        return e;
    }
    m->type = row->type;
    sanitise_all(row, body);
    return ERR_OK;
}
