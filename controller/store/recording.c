/* SPDX-License-Identifier: MIT */
#include "controller/store/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "controller/run/inventory.h"
#include "proto/msg.h"

#define TEXT_MAX   ((size_t)16 << 20) /* of all facts: 1024 agents with the longest texts */
#define NUMBER_MAX 24

/* One row a fact: how it is called in the JSON is its name in the struct. */
enum fact_type {
    FACT_TEXT, /* an array of `size` bytes */
    FACT_OWNED,
    FACT_BOOL,
    FACT_U32,
    FACT_U64,
    FACT_I64,
    FACT_REAL,
    FACT_STATE
};

struct fact {
    const char *name;
    enum fact_type type;
    size_t offset, size;
};

#define FACT(owner, type, member)                                                                  \
    {                                                                                              \
#member, type, offsetof(struct owner, member), sizeof(((struct owner *)0)->member)         \
    }
#define RUN(type, member)   FACT(recording, type, member)
#define AGENT(type, member) FACT(result_agent, type, member)

static const struct fact run_facts[] = {
    RUN(FACT_BOOL, interrupted), RUN(FACT_BOOL, no_target), RUN(FACT_BOOL, takeover_late),
    RUN(FACT_OWNED, aborted),    RUN(FACT_OWNED, takeover),
};

static const struct fact agent_facts[] = {
    AGENT(FACT_TEXT, name),
    AGENT(FACT_TEXT, address),
    AGENT(FACT_TEXT, version),
    AGENT(FACT_STATE, state),
    AGENT(FACT_TEXT, problem),
    AGENT(FACT_U32, weight),
    AGENT(FACT_U32, threads),
    AGENT(FACT_U32, connections),
    AGENT(FACT_BOOL, insecure),
    AGENT(FACT_BOOL, same_clock),
    AGENT(FACT_U32, clock),
    AGENT(FACT_I64, clock_offset_ns),
    AGENT(FACT_U64, clock_error_ns),
    AGENT(FACT_U64, drift.first.at_ns),
    AGENT(FACT_I64, drift.first.offset_ns),
    AGENT(FACT_U64, drift.first.error_ns),
    AGENT(FACT_U64, drift.last.at_ns),
    AGENT(FACT_I64, drift.last.offset_ns),
    AGENT(FACT_U64, drift.last.error_ns),
    AGENT(FACT_U32, drift.windows),
    AGENT(FACT_I64, drift.max_ns),
    AGENT(FACT_U64, drift.max_error_ns),
    AGENT(FACT_U64, drift.window_ns),
    AGENT(FACT_U64, drift.open.rtt_ns),
    AGENT(FACT_I64, drift.open.offset_ns),
    AGENT(FACT_U32, drift.open.good),
    AGENT(FACT_U64, drift.open_at_ns),
    AGENT(FACT_I64, start_error_ns),
    AGENT(FACT_BOOL, started),
    AGENT(FACT_BOOL, checked),
    AGENT(FACT_BOOL, left_out),
    AGENT(FACT_BOOL, loss.any),
    AGENT(FACT_BOOL, loss.collected),
    AGENT(FACT_U64, loss.at_ns),
    AGENT(FACT_U64, loss.last_seq),
    AGENT(FACT_U64, loss.last_to_ns),
    AGENT(FACT_U64, loss.scheduled),
    AGENT(FACT_U64, loss.open),
    AGENT(FACT_U64, loss.first_index),
    AGENT(FACT_U64, loss.last_index),
    AGENT(FACT_U64, loss.overlap),
    AGENT(FACT_U64, loss.count),
    AGENT(FACT_REAL, loss.share),
    AGENT(FACT_U64, loss.taken_over_from),
    AGENT(FACT_U64, loss.taken_ns),
    AGENT(FACT_U32, times_late),
    AGENT(FACT_U64, longest_late_ns),
    AGENT(FACT_BOOL, outlier.tested),
    AGENT(FACT_BOOL, outlier.any),
    AGENT(FACT_BOOL, outlier.pair),
    AGENT(FACT_REAL, outlier.percentile),
    AGENT(FACT_U64, outlier.here_ns),
    AGENT(FACT_U64, outlier.others_ns),
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

void recording_free(struct recording *r)
{
    if (r == NULL)
        return;
    char *const owned[] = {r->description, r->tags, r->environment, r->secrets,  r->redact,
                           r->abort_on,    r->slo,  r->aborted,     r->takeover, r->totals};
    for (size_t i = 0; i < COUNT(owned); i++)
        mem_free(owned[i]);
    mem_free(r->plan);
    mem_free(r->agents);
    mem_free(r);
}

/* --- to JSON -------------------------------------------------------------------------------- */

/* What is not UTF-8 loses its foreign bytes. */
static json_t *put_text(const char *text)
{
    char *copy = mem_strdup(text);
    msg_sanitise(copy);
    json_t *s = json_string(copy);
    mem_free(copy);
    return s;
}

/* JSON's integers are signed here; UINT64_MAX ("not known") and the like go as digits. */
static json_t *put_u64(uint64_t v)
{
    char digits[NUMBER_MAX];
    if (v <= INT64_MAX)
        return json_integer((json_int_t)v);
    snprintf(digits, sizeof digits, "%" PRIu64, v);
    return json_string(digits);
}

static json_t *put_fact(const struct fact *f, const void *at)
{
    switch (f->type) {
    case FACT_TEXT:
        return put_text(at);
    case FACT_OWNED:
        return *(char *const *)at != NULL ? put_text(*(char *const *)at) : NULL;
    case FACT_BOOL:
        return json_boolean(*(const bool *)at);
    case FACT_U32:
        return json_integer(*(const uint32_t *)at);
    case FACT_U64:
        return put_u64(*(const uint64_t *)at);
    case FACT_I64:
        return json_integer(*(const int64_t *)at);
    case FACT_REAL:
        return isfinite(*(const double *)at) ? json_real(*(const double *)at) : NULL;
    case FACT_STATE:
        return json_string(result_agent_state_name(*(const enum result_agent_state *)at));
    }
    return NULL;
}

static json_t *put_facts(const struct fact *facts, size_t n, const void *from)
{
    json_t *o = json_object();
    for (size_t i = 0; i < n; i++) {
        json_t *v = put_fact(&facts[i], (const char *)from + facts[i].offset);
        if (v != NULL) /* what is not there has no key */
            json_object_set_new(o, facts[i].name, v);
    }
    return o;
}

static void write_facts(FILE *out, const struct fact *facts, size_t n, const void *from,
                        size_t flags)
{
    json_t *o = put_facts(facts, n, from);
    json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(17) | flags);
    json_decref(o);
}

/* One agent after the other: the objects of a thousand would take megabytes. */
static void write_recording(FILE *out, const struct recording *r)
{
    fputc('{', out);
    write_facts(out, run_facts, COUNT(run_facts), r, JSON_EMBED); /* never empty */
    fputs(",\"agents\":[", out);
    for (size_t i = 0; i < r->n_agents; i++) {
        if (i > 0)
            fputc(',', out);
        write_facts(out, agent_facts, COUNT(agent_facts), &r->agents[i], 0);
    }
    fputs("]}", out);
}

enum err recording_facts_encode(const struct recording *r, char **text)
{
    size_t size = 0;
    *text = NULL;
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return ERR_NOMEM;
    write_recording(out, r);
    bool bad = ferror(out) != 0;
    if (fclose(out) == 0 && !bad)
        return ERR_OK;
    free(*text);
    *text = NULL;
    return ERR_NOMEM;
}

/* --- from JSON ------------------------------------------------------------------------------ */

static bool get_u64(const json_t *v, uint64_t *out)
{
    if (json_is_integer(v)) {
        *out = (uint64_t)json_integer_value(v);
        return json_integer_value(v) >= 0;
    }
    const char *text = json_string_value(v);
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    *out = n;
    return errno == 0 && *end == '\0';
}

static bool get_text(const json_t *v, char *to, size_t size)
{
    const char *text = json_string_value(v);
    if (text == NULL)
        return false;
    snprintf(to, size, "%s", text);
    msg_sanitise(to);
    return true;
}

static bool get_owned(const json_t *v, char **to)
{
    if (!json_is_string(v))
        return false;
    *to = mem_strdup(json_string_value(v));
    msg_sanitise(*to);
    return true;
}

static bool get_state(const json_t *v, enum result_agent_state *out)
{
    const char *name = json_string_value(v);
    for (int s = RESULT_DONE; name != NULL && s <= RESULT_REFUSED; s++) {
        if (strcmp(name, result_agent_state_name((enum result_agent_state)s)) == 0) {
            *out = (enum result_agent_state)s;
            return true;
        }
    }
    return false;
}

static bool get_fact(const struct fact *f, const json_t *v, void *at)
{
    uint64_t u;
    switch (f->type) {
    case FACT_TEXT:
        return get_text(v, at, f->size);
    case FACT_OWNED:
        return get_owned(v, at);
    case FACT_BOOL:
        *(bool *)at = json_is_true(v);
        return json_is_boolean(v);
    case FACT_U32:
        if (!get_u64(v, &u) || u > UINT32_MAX)
            return false;
        *(uint32_t *)at = (uint32_t)u;
        return true;
    case FACT_U64:
        return get_u64(v, at);
    case FACT_I64:
        *(int64_t *)at = json_integer_value(v);
        return json_is_integer(v);
    case FACT_REAL:
        *(double *)at = json_number_value(v);
        return json_is_number(v);
    case FACT_STATE:
        return get_state(v, at);
    }
    return false;
}

/* A fact that is missing is 0: an older version did not know it. */
static enum err get_facts(const struct fact *facts, size_t n, const json_t *o, void *to,
                          struct errmsg *msg)
{
    if (!json_is_object(o))
        return errmsg_set(msg, ERR_CORRUPT, "what was stored of the run is no object");
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_object_get(o, facts[i].name);
        if (v != NULL && !get_fact(&facts[i], v, (char *)to + facts[i].offset))
            return errmsg_set(msg, ERR_CORRUPT,
                              "what was stored of the run: \"%s\" is not what "
                              "it must be",
                              facts[i].name);
    }
    return ERR_OK;
}

static enum err get_agents(const json_t *list, struct recording *r, struct errmsg *msg)
{
    size_t n = json_array_size(list);
    enum err e = ERR_OK;
    if (!json_is_array(list) || n > INVENTORY_MAX)
        return errmsg_set(msg, ERR_CORRUPT, "what was stored of the run: no list of 0 to %d agents",
                          INVENTORY_MAX);
    r->agents = mem_calloc(n + 1, sizeof *r->agents);
    r->n_agents = n;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = get_facts(agent_facts, COUNT(agent_facts), json_array_get(list, i), &r->agents[i], msg);
    return e;
}

/* Nothing of a text that is refused stays behind. */
static void forget_facts(struct recording *r)
{
    mem_free(r->agents);
    mem_free(r->aborted);
    mem_free(r->takeover);
    r->agents = NULL;
    r->aborted = r->takeover = NULL;
    r->n_agents = 0;
    r->interrupted = r->no_target = r->takeover_late = false;
}

enum err recording_facts_decode(const char *text, struct recording *r, struct errmsg *msg)
{
    json_error_t why;
    forget_facts(r);
    if (strlen(text) > TEXT_MAX)
        return errmsg_set(msg, ERR_TOO_BIG, "what was stored of the run is over %zu bytes",
                          TEXT_MAX);
    json_t *o = json_loads(text, 0, &why);
    if (o == NULL)
        return errmsg_set(msg, ERR_CORRUPT, "what was stored of the run is no JSON: %.200s",
                          why.text);
    enum err e = get_facts(run_facts, COUNT(run_facts), o, r, msg);
    if (e == ERR_OK)
        e = get_agents(json_object_get(o, "agents"), r, msg);
    json_decref(o);
    if (e != ERR_OK)
        forget_facts(r);
    return e;
}
