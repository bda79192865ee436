/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "controller/report/roster.h"
#include "controller/run/survey_check.h"

/* A value that could not be made shows as null. What is not known is null as well. */

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value != NULL ? value : json_null());
}

static json_t *integer(uint64_t v)
{
    return v <= INT64_MAX ? json_integer((json_int_t)v) : json_null();
}

static json_t *known(uint64_t v)
{
    return v != 0 ? integer(v) : json_null();
}

static json_t *text(const char *s)
{
    return s[0] != '\0' ? json_string(s) : json_null();
}

static json_t *json_clock(const struct survey_agent *a)
{
    json_t *o = json_object();
    bool measured = a->clock.good > 0;
    set(o, "same", json_boolean(a->same_clock));
    set(o, "offset_ns",
        a->same_clock ? json_integer(0)
        : measured    ? json_integer(a->clock.offset_ns)
                      : NULL);
    set(o, "error_ns",
        a->same_clock ? json_integer(0)
        : measured    ? integer(clock_estimate_error(&a->clock))
                      : NULL);
    set(o, "probes", integer(a->clock.good));
    return o;
}

static json_t *json_addresses(const char *list)
{
    json_t *o = json_array();
    for (const char *at = list; *at != '\0'; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        json_array_append_new(o, json_stringn(at, len));
        at += len;
    }
    return o;
}

static json_t *json_target(const struct msg_info *info)
{
    if (info->target == INFO_TARGET_NONE)
        return NULL;
    json_t *o = json_object();
    set(o, "state", json_string(info_target_name(info->target)));
    set(o, "addresses", json_addresses(info->addresses));
    set(o, "connect_us", info->target == INFO_TARGET_REACHED ? integer(info->connect_us) : NULL);
    set(o, "problem", text(info->problem));
    return o;
}

static json_t *json_holder(const struct msg_info *info)
{
    if (info->state == AGENT_IDLE)
        return NULL;
    json_t *o = json_object();
    set(o, "name", json_string(info->holder));
    set(o, "held_ms", integer(info->held_ms));
    set(o, "lease_left_ms", integer(info->lease_left_ms));
    set(o, "run", text(info->run));
    set(o, "orphan", json_boolean(info->orphan != 0));
    return o;
}

static void set_info(json_t *o, const struct survey_agent *a)
{
    const struct msg_info *info = &a->info;
    set(o, "version", text(info->build));
    set(o, "protocol",
        json_pack("[I,I]", (json_int_t)info->version_min, (json_int_t)info->version_max));
    set(o, "state", json_string(agent_state_name(info->state)));
    set(o, "holder", json_holder(info));
    set(o, "cores", integer(info->cores));
    set(o, "fd_limit", known(info->fd_limit));
    set(o, "fds_used", known(info->fds_used));
    set(o, "ports", known(info->ports));
    set(o, "tested_rate", known(info->tested_rate));
    set(o, "tls", json_boolean(info->tls != 0));
    set(o, "insecure", json_boolean(info->insecure != 0));
    set(o, "policy", text(info->policy));
    set(o, "clock", json_clock(a));
    set(o, "target", json_target(info));
}

static json_t *json_agent(const struct roster *r, size_t i)
{
    const struct inventory_agent *inv = &r->inventory->agents[i];
    const struct survey_agent *a = &r->agents[i];
    json_t *o = json_object();
    set(o, "name", text(a->reached ? a->info.agent : inv->name));
    set(o, "address", json_string(inv->address));
    set(o, "weight", integer(inv->weight));
    set(o, "reached", json_boolean(a->reached));
    set(o, "problem", text(a->problem));
    if (a->reached)
        set_info(o, a);
    return o;
}

static json_t *json_check(const struct roster *r)
{
    json_t *o = json_object(), *list = json_array();
    bool passed = true;
    for (size_t i = 0; i < r->n_problems; i++) {
        const struct roster_problem *p = &r->problems[i];
        json_t *row = json_object();
        set(row, "refused", json_boolean(p->refused));
        set(row, "address",
            p->agent < r->inventory->n ? json_string(r->inventory->agents[p->agent].address)
                                       : NULL);
        set(row, "text", json_string(p->text));
        json_array_append_new(list, row);
        passed = passed && !p->refused;
    }
    set(o, "passed", json_boolean(passed));
    set(o, "problems", list);
    return o;
}

enum err roster_json(const struct roster *r, FILE *out)
{
    json_t *root = json_object(), *agents = json_array();
    set(root, "schema", json_string("hammer.agents/1"));
    set(root, "version", json_string(HAMMER_VERSION));
    set(root, "target", r->target != NULL ? json_string(r->target) : NULL);
    for (size_t i = 0; i < r->inventory->n; i++)
        json_array_append_new(agents, json_agent(r, i));
    set(root, "agents", agents);
    set(root, "check", r->checked ? json_check(r) : NULL);
    int rc = json_dumpf(root, out, JSON_INDENT(2));
    json_decref(root);
    return rc == 0 && fputc('\n', out) != EOF ? ERR_OK : ERR_SYSTEM;
}
