/* SPDX-License-Identifier: MIT */
#include "agent/service/audit_run.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/service/digest.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/redact.h"
#include "common/units.h"

#define ORIGINS_MAX 64  /* a run has no more */
#define TEXT_MAX    512 /* of any text that comes from outside */

/* Foreign bytes may be no UTF-8, and have no end. */
static json_t *text(const char *s)
{
    char buf[TEXT_MAX];
    if (s == NULL)
        return json_null();
    snprintf(buf, sizeof buf, "%.*s", (int)sizeof buf - 1, s);
    json_t *j = json_string(buf);
    if (j != NULL)
        return j;
    for (char *c = buf; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return json_string(buf);
}

static json_t *number(uint64_t n)
{
    return n > INT64_MAX ? json_null() : json_integer((json_int_t)n);
}

static json_t *duration(uint64_t ns)
{
    char buf[UNITS_TEXT];
    return ns == NS_NEVER ? json_null() : json_string(units_format_duration(ns, buf));
}

static json_t *hash_of(const void *bytes, size_t len)
{
    char hex[DIGEST_TEXT];
    return bytes != NULL && digest_sha256(bytes, len, hex) ? json_string(hex) : json_null();
}

static json_t *stages(const struct plan *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->n_stages; i++) {
        char one[PLAN_STAGE_TEXT];
        json_array_append_new(all, text(plan_stage_text(&p->stages[i], one)));
    }
    return all;
}

static bool has_text(const json_t *list, const char *value)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), value) == 0)
            return true;
    return false;
}

/* How many requests, and whom they go to. */
static void add_entries(json_t *j, const struct plan *p)
{
    json_t *origins = json_array();
    for (size_t i = 0; i < p->n_entries; i++) {
        char origin[sizeof((struct url_parts *)NULL)->host + 32];
        struct url_parts u;
        if (plan_url_parse(p, p->entries[i].url, &u, NULL) != ERR_OK)
            continue;
        snprintf(origin, sizeof origin, u.ipv6_literal ? "%s://[%s]:%s" : "%s://%s:%s", u.scheme,
                 u.host, u.port);
        if (!has_text(origins, origin) && json_array_size(origins) < ORIGINS_MAX)
            json_array_append_new(origins, text(origin));
        url_clear(&u);
    }
    json_object_set_new(j, "entries", number(p->n_entries));
    json_object_set_new(j, "origins", origins);
}

static void add_plan(json_t *j, const struct plan *p)
{
    char target[TEXT_MAX], rate[UNITS_TEXT];
    redact_url(p->url != NULL ? p->url : "", target, sizeof target);
    json_object_set_new(j, "target", text(target));
    json_object_set_new(j, "method", text(p->method));
    json_object_set_new(j, "body_bytes", number(p->body_len));
    if (p->n_entries > 0)
        add_entries(j, p);
    json_object_set_new(j, "rate",
                        p->rate.num == 0 ? json_null() : text(units_format_rate(&p->rate, rate)));
    if (p->arrivals == PLAN_POISSON)
        json_object_set_new(j, "arrivals", text(plan_arrivals_name(p)));
    if (p->jitter > 0)
        json_object_set_new(j, "jitter", text(units_format_percent(p->jitter, rate)));
    if (p->n_stages > 0)
        json_object_set_new(j, "stages", stages(p));
    json_object_set_new(j, "duration", duration(p->duration_ns));
    json_object_set_new(j, "requests", number(p->requests));
}

static void add_share(json_t *j, const struct plan_part *part)
{
    char share[32];
    snprintf(share, sizeof share, "%" PRIu32 "/%" PRIu32, part->weight, part->total);
    json_object_set_new(j, "share", json_string(share));
}

static void add_part(json_t *j, const struct plan_part *part)
{
    add_share(j, part);
    json_object_set_new(j, "connections", number(part->connections));
    if (part->max_connections != 0)
        json_object_set_new(j, "max_connections", number(part->max_connections));
    json_object_set_new(j, "threads", number(part->threads));
}

void audit_run_set(struct audit_run *r, const struct audit_order *o)
{
    char allowed[POLICY_SUMMARY_MAX];
    audit_run_clear(r);
    json_t *j = r->about = json_object();
    json_object_set_new(j, "peer", text(o->peer));
    json_object_set_new(j, "controller", text(o->controller));
    json_object_set_new(j, "run", text(o->run));
    json_object_set_new(j, "plan_sha256", hash_of(o->plan_bytes, o->plan_len));
    if (o->plan != NULL)
        add_plan(j, o->plan);
    if (o->part != NULL)
        add_part(j, o->part);
    policy_summary(o->policy, allowed, sizeof allowed);
    json_object_set_new(j, "policy", text(allowed));
    if (o->policy->source[0] != '\0')
        json_object_set_new(j, "policy_file", text(o->policy->source));
}

void audit_run_clear(struct audit_run *r)
{
    json_decref(r->about);
    *r = (struct audit_run){0};
}

void audit_run_address(struct audit_run *r, const char *address)
{
    if (r->about != NULL)
        json_object_set_new(r->about, "address", text(address));
}

void audit_run_count(struct audit_run *r, const struct snapshot *s)
{
    struct counters c = snapshot_counters(s);
    counters_add(&r->sum, &c);
}

/* --- lines ---------------------------------------------------------------------------------- */

/* RFC 3339, in UTC. */
static json_t *time_now(void)
{
    char day[32], all[48];
    struct tm tm;
    uint64_t ns = clock_wall_ns();
    time_t seconds = (time_t)(ns / NS_PER_SEC);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
    snprintf(all, sizeof all, "%s.%03uZ", day, (unsigned)(ns % NS_PER_SEC / NS_PER_MS));
    return json_string(all);
}

static json_t *new_line(const char *event)
{
    json_t *j = json_object();
    json_object_set_new(j, "time", time_now());
    json_object_set_new(j, "event", json_string(event));
    return j;
}

static json_t *line_of(const struct audit_run *r, const char *event)
{
    json_t *j = new_line(event);
    json_object_update(j, r->about);
    return j;
}

/* Takes j over. */
static enum err write_line(struct audit *a, json_t *j, struct errmsg *msg)
{
    char *line = json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(j);
    if (line == NULL)
        return errmsg_set(msg, ERR_NOMEM, "the audit line could not be made");
    enum err e = audit_write(a, line, msg);
    free(line);
    return e;
}

enum err audit_run_begin(struct audit *a, struct audit_run *r, struct errmsg *msg)
{
    enum err e = write_line(a, line_of(r, "begin"), msg);
    r->open = e == ERR_OK;
    return e;
}

enum err audit_run_reshare(struct audit *a, const struct audit_run *r, uint64_t from,
                           const struct plan_part *part, struct errmsg *msg)
{
    if (!r->open)
        return ERR_OK;
    json_t *j = line_of(r, "reshare");
    add_share(j, part);
    json_object_set_new(j, "from_index", number(from));
    return write_line(a, j, msg);
}

void audit_run_share(struct audit_run *r, const struct plan_part *part)
{
    if (r->about != NULL)
        add_share(r->about, part);
}

enum err audit_lookup(struct audit *a, const char *peer, const char *controller, const char *scheme,
                      const char *target, struct errmsg *msg)
{
    char url[TEXT_MAX], shown[TEXT_MAX];
    if (a == NULL)
        return ERR_OK;
    snprintf(url, sizeof url, "%s://%s", scheme[0] != '\0' ? scheme : "http", target);
    redact_url(url, shown, sizeof shown);
    json_t *j = new_line("lookup");
    json_object_set_new(j, "peer", text(peer));
    json_object_set_new(j, "controller", text(controller));
    json_object_set_new(j, "target", text(shown));
    return write_line(a, j, msg);
}

static json_t *counts(const struct counters *c)
{
    json_t *j = json_object();
    for (size_t i = 0; i < COUNTERS_N; i++)
        json_object_set_new(j, counters_name(i), number(counters_get(c, i)));
    return j;
}

void audit_run_end(struct audit *a, struct audit_run *r, const char *outcome, const char *reason,
                   const struct snapshot *total)
{
    struct errmsg msg = {{0}};
    if (r->about == NULL)
        return;
    json_t *j = line_of(r, r->open ? "end" : "refused");
    json_object_set_new(j, "outcome", json_string(outcome));
    if (reason != NULL && reason[0] != '\0')
        json_object_set_new(j, "reason", text(reason));
    if (r->open) {
        struct counters c = total != NULL ? snapshot_counters(total) : r->sum;
        json_object_set_new(j, "counts", counts(&c));
    }
    if (write_line(a, j, &msg) != ERR_OK)
        log_error("audit", "the end of a run is not on record: %s", msg.text);
    audit_run_clear(r);
}
