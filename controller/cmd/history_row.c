/* SPDX-License-Identifier: MIT */
#include "controller/cmd/history_row.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/host.h"
#include "common/mem.h"

/* Another process may have got its number since. */
static bool is_ours(uint32_t pid)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return errno != ENOENT;
    bool read = fgets(name, sizeof name, f) != NULL;
    fclose(f);
    return read && strncmp(name, "hammer-ctl", 10) == 0;
}

bool history_running(const struct recording *r)
{
    char boot_id[sizeof r->boot_id];
    host_boot_id(boot_id, sizeof boot_id);
    if (r->status[0] != '\0' || r->pid == 0 || r->pid > INT32_MAX || boot_id[0] == '\0' ||
        strcmp(boot_id, r->boot_id) != 0)
        return false;
    return (kill((pid_t)r->pid, 0) == 0 || errno == EPERM) && is_ours(r->pid);
}

/* What is stored is foreign: whatever is missing is 0. */
static uint64_t get(const json_t *o, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(o, key));
    return v > 0 ? (uint64_t)v : 0;
}

static void fill_latency(struct history_row *row, const json_t *latency)
{
    const json_t *h = json_object_get(latency, "corrected");
    if (h == NULL)
        h = json_object_get(latency, "uncorrected");
    const json_t *p = json_object_get(h, "percentiles");
    row->all = get(h, "count") > 0;
    row->p50 = get(p, "50");
    row->p99 = get(p, "99");
    row->p999 = get(p, "99.9");
}

static void fill_totals(struct history_row *row, const char *text)
{
    json_t *o = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const json_t *totals = json_object_get(o, "totals"), *rate = json_object_get(o, "rate");
    row->known = o != NULL;
    row->duration_ns = get(o, "duration_ns");
    row->errors = get(totals, "http_errors") + get(totals, "failed") + get(totals, "timeouts");
    row->target = json_number_value(json_object_get(rate, "target"));
    row->achieved = json_number_value(json_object_get(rate, "achieved"));
    fill_latency(row, json_object_get(o, "latency"));
    json_decref(o);
}

void history_row_fill(struct history_row *row, const struct recording *r)
{
    *row = (struct history_row){.started_wall_ns = r->started_wall_ns,
                                .ended_wall_ns = r->ended_wall_ns,
                                .lost_rows = r->lost_rows,
                                .exit_code = r->exit_code};
    snprintf(row->id, sizeof row->id, "%s", r->run_id);
    snprintf(row->plan_id, sizeof row->plan_id, "%s", r->plan_id);
    snprintf(row->name, sizeof row->name, "%s", r->name);
    snprintf(row->version, sizeof row->version, "%s", r->version);
    snprintf(row->state, sizeof row->state, "%s",
             r->status[0] != '\0' ? r->status
             : history_running(r) ? "running"
                                  : "broken off");
    row->description = mem_strdup(r->description);
    row->tags = mem_strdup(r->tags);
    fill_totals(row, r->totals);
}

void history_row_clear(struct history_row *row)
{
    mem_free(row->description);
    mem_free(row->tags);
    row->description = row->tags = NULL;
}
