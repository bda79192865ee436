/* SPDX-License-Identifier: MIT */
#include "controller/run/journal_run.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"

#define MAGIC     "hammer.run/1"
#define LEASE_MAX (60 * NS_PER_SEC)
#define PARTS     4 /* magic, head, inventory, agents */

#define FIELD(owner, key, type, member, size)                                                      \
    {                                                                                              \
        key, #member, type, offsetof(struct owner, member), size, true                             \
    }
#define HEAD(key, type, member, size)   FIELD(journal_run, key, type, member, size)
#define PLACE(key, type, member, size)  FIELD(inventory_agent, key, type, member, size)
#define MEMBER(key, type, member, size) FIELD(coord_resume_agent, key, type, member, size)
/* Came later: a journal of an older version does not have it. */
#define LATER(key, type, member)                                                                   \
    {                                                                                              \
        key, #member, type, offsetof(struct coord_resume_agent, member), 0, false                  \
    }
#define TEXT(owner, member) sizeof(((struct owner *)0)->member)

static const struct wire_field head[] = {
    HEAD(1, WIRE_ID, owner, MSG_ID_LEN),
    HEAD(2, WIRE_ID, run, MSG_ID_LEN),
    HEAD(3, WIRE_STR, boot_id, TEXT(journal_run, boot_id)),
    HEAD(4, WIRE_U32, pid, 0),
    HEAD(5, WIRE_U64, wall_ns, 0),
    HEAD(6, WIRE_STR, name, TEXT(journal_run, name)),
    HEAD(7, WIRE_U64, patience.lease_ns, 0),
    HEAD(8, WIRE_U32, patience.on_loss, 0),
    HEAD(9, WIRE_BLOB, plan, MSG_BLOB_MAX),
    HEAD(10, WIRE_BLOB, redact, JOURNAL_REDACT_MAX),
    HEAD(11, WIRE_U64, t0_ns, 0),
    HEAD(12, WIRE_U64, t0_wall_ns, 0),
    {13, "abort_on", WIRE_BLOB, offsetof(struct journal_run, abort_on), JOURNAL_ABORT_MAX, false},
    {14, "slo", WIRE_BLOB, offsetof(struct journal_run, slo), JOURNAL_ABORT_MAX, false},
    {15, "description", WIRE_BLOB, offsetof(struct journal_run, description), JOURNAL_TEXT_MAX,
     false},
    {16, "tags", WIRE_BLOB, offsetof(struct journal_run, tags), JOURNAL_TEXT_MAX, false},
};

static const struct wire_field places[] = {
    PLACE(1, WIRE_STR, address, TEXT(inventory_agent, address)),
    PLACE(2, WIRE_STR, url, TEXT(inventory_agent, url)),
    PLACE(3, WIRE_STR, name, TEXT(inventory_agent, name)),
    PLACE(4, WIRE_STR, server_name, TEXT(inventory_agent, server_name)),
    PLACE(5, WIRE_U32, weight, 0),
};

static const struct wire_field members[] = {
    MEMBER(1, WIRE_BOOL, armed, 0),
    MEMBER(2, WIRE_BOOL, same_clock, 0),
    MEMBER(3, WIRE_STR, name, TEXT(coord_resume_agent, name)),
    MEMBER(4, WIRE_STR, build, TEXT(coord_resume_agent, build)),
    MEMBER(5, WIRE_STR, problem, TEXT(coord_resume_agent, problem)),
    MEMBER(6, WIRE_ID, epoch, MSG_ID_LEN),
    MEMBER(7, WIRE_U32, part.total, 0),
    MEMBER(8, WIRE_U32, part.first, 0),
    MEMBER(9, WIRE_U32, part.weight, 0),
    MEMBER(10, WIRE_U32, part.connections, 0),
    MEMBER(11, WIRE_U32, part.threads, 0),
    MEMBER(12, WIRE_I64, offset_ns, 0),
    MEMBER(13, WIRE_U64, error_ns, 0),
    MEMBER(14, WIRE_U64, at_ns, 0),
    LATER(15, WIRE_U32, part.max_connections),
    LATER(16, WIRE_U64, lost_after_ns),
    LATER(17, WIRE_U64, taken_over_from),
    LATER(18, WIRE_U64, reshare_command),
    LATER(19, WIRE_U32, reshare.total),
    LATER(20, WIRE_U32, reshare.first),
    LATER(21, WIRE_U32, reshare.weight),
};

_Static_assert(sizeof(enum coord_on_loss) == sizeof(uint32_t), "it is a field");

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

enum err journal_run_encode(const struct journal_run *r, uint8_t **buf, size_t *len)
{
    uint32_t n = (uint32_t)r->inventory.n, n_agents = r->agents != NULL ? n : 0;
    if (r->plan.len > MSG_BLOB_MAX || r->redact.len > JOURNAL_REDACT_MAX ||
        r->abort_on.len > JOURNAL_ABORT_MAX || r->slo.len > JOURNAL_ABORT_MAX ||
        r->description.len > JOURNAL_TEXT_MAX || r->tags.len > JOURNAL_TEXT_MAX)
        return ERR_TOO_BIG;
    struct wire_out *w = wire_out_new();
    wire_put_array(w, PARTS);
    wire_put_str(w, MAGIC);
    wire_put_fields(w, head, COUNT(head), r);
    wire_put_array(w, n);
    for (uint32_t i = 0; i < n; i++)
        wire_put_fields(w, places, COUNT(places), &r->inventory.agents[i]);
    wire_put_array(w, n_agents);
    for (uint32_t i = 0; i < n_agents; i++)
        wire_put_fields(w, members, COUNT(members), &r->agents[i]);
    *buf = wire_out_take(w, len);
    wire_out_free(w);
    return ERR_OK;
}

static void get_inventory(struct wire_in *in, struct inventory *inv)
{
    uint32_t n = wire_get_array(in, INVENTORY_MAX);
    inv->agents = mem_calloc((size_t)n + 1, sizeof *inv->agents);
    inv->n = n;
    for (uint32_t i = 0; i < n; i++) {
        struct inventory_agent *a = &inv->agents[i];
        wire_get_fields(in, places, COUNT(places), a);
        msg_sanitise(a->address);
        msg_sanitise(a->name);
        if (a->weight < 1 || a->weight > INVENTORY_WEIGHT_MAX)
            wire_fail(in, ERR_CORRUPT);
    }
    if (n == 0)
        wire_fail(in, ERR_CORRUPT);
}

static void get_agents(struct wire_in *in, struct journal_run *r)
{
    struct errmsg why;
    uint32_t n = wire_get_array(in, INVENTORY_MAX);
    if ((n == 0) != (r->t0_ns == 0) || (n != 0 && n != r->inventory.n))
        wire_fail(in, ERR_CORRUPT);
    if (n == 0)
        return;
    r->agents = mem_calloc(n, sizeof *r->agents);
    for (uint32_t i = 0; i < n; i++) {
        struct coord_resume_agent *a = &r->agents[i];
        wire_get_fields(in, members, COUNT(members), a);
        msg_sanitise(a->name);
        msg_sanitise(a->build);
        msg_sanitise(a->problem);
        if (a->armed && plan_part_check(&a->part, &why) != ERR_OK)
            wire_fail(in, ERR_CORRUPT);
    }
}

enum err journal_run_decode(const uint8_t *buf, size_t len, struct journal_run *r)
{
    struct wire_in in;
    char magic[sizeof MAGIC];
    *r = (struct journal_run){0};
    if (len > JOURNAL_RUN_MAX)
        return ERR_TOO_BIG;
    r->bytes = mem_dup(buf, len);
    wire_in_init(&in, r->bytes, len);
    if (wire_get_array(&in, PARTS) != PARTS)
        wire_fail(&in, ERR_CORRUPT);
    wire_get_str(&in, magic, sizeof magic);
    if (in.err == ERR_OK && strcmp(magic, MAGIC) != 0)
        wire_fail(&in, ERR_VERSION);
    wire_get_fields(&in, head, COUNT(head), r);
    if (r->patience.lease_ns > LEASE_MAX || r->patience.on_loss > COORD_LOSS_REDISTRIBUTE)
        wire_fail(&in, ERR_CORRUPT);
    get_inventory(&in, &r->inventory);
    get_agents(&in, r);
    msg_sanitise(r->name);
    enum err e = wire_end(&in);
    if (e != ERR_OK)
        journal_run_clear(r);
    return e;
}

void journal_run_clear(struct journal_run *r)
{
    inventory_clear(&r->inventory);
    mem_free(r->agents);
    mem_free(r->bytes);
    *r = (struct journal_run){0};
}
