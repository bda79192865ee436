/* SPDX-License-Identifier: MIT */
#include "agent/service/selftest_state.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/units.h"
#include "common/xdg.h"

#define SCHEMA   "hammer.selftest/1"
#define FILE_MAX (64u << 10) /* a foreign file is not read whole */
#define PATH_CAP 4096

/* --- writing ------------------------------------------------------------------------------------
 */

/* A failed set shows in json_dumpf's result at the latest. */
static void set_number(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_integer(v <= INT64_MAX ? (json_int_t)v : INT64_MAX));
}

static json_t *json_step(const struct selftest_step *s)
{
    json_t *o = json_object();
    set_number(o, "rate", s->rate);
    set_number(o, "achieved", s->achieved);
    set_number(o, "send_p50_ns", s->send_p50_ns);
    set_number(o, "send_p99_ns", s->send_p99_ns);
    set_number(o, "send_max_ns", s->send_max_ns);
    set_number(o, "receive_p99_ns", s->receive_p99_ns);
    set_number(o, "scheduled", s->scheduled);
    set_number(o, "completed", s->completed);
    set_number(o, "waited", s->waited);
    set_number(o, "cpu_percent", s->cpu_percent);
    json_object_set_new(o, "verdict", json_string(selftest_verdict_name(selftest_judge(s))));
    return o;
}

enum err selftest_write_json(const struct selftest_result *r, FILE *out)
{
    char date[UNITS_TEXT];
    json_t *o = json_object(), *steps = json_array();
    for (size_t i = 0; i < r->n; i++)
        json_array_append_new(steps, json_step(&r->steps[i]));
    json_object_set_new(o, "schema", json_string(SCHEMA));
    json_object_set_new(o, "version", json_string(HAMMER_VERSION));
    json_object_set_new(o, "date", json_string(units_format_utc(r->date_ns, date)));
    json_object_set_new(o, "host", json_string(r->host));
    json_object_set_new(o, "boot_id", json_string(r->boot_id));
    set_number(o, "cores", r->cores);
    set_number(o, "workers", r->workers);
    set_number(o, "connections", r->connections);
    json_object_set_new(o, "complete", json_boolean(r->complete));
    set_number(o, "tested_rate", r->tested_rate);
    json_object_set_new(o, "steps", steps);
    int failed = json_dumpf(o, out, JSON_INDENT(2));
    json_decref(o);
    return failed != 0 || fputc('\n', out) == EOF || fflush(out) != 0 ? ERR_SYSTEM : ERR_OK;
}

/* --- the file -----------------------------------------------------------------------------------
 */

enum err selftest_state_path(char *buf, size_t cap, struct errmsg *msg)
{
    static const char of_root[] = "/var/lib/hammer/selftest.json";
    bool fits = geteuid() == 0 ? snprintf(buf, cap, "%s", of_root) < (int)cap
                               : xdg_state_path("selftest.json", buf, cap);
    if (fits)
        return ERR_OK;
    return errmsg_set(
        msg, ERR_NOT_FOUND,
        "there is no place for the result: neither XDG_STATE_HOME nor HOME names a folder; "
        "--state FILE names one");
}

/* Each folder above the file. One that cannot be made shows when the file is opened. */
static void make_folders(const char *path)
{
    char dir[PATH_CAP];
    snprintf(dir, sizeof dir, "%s", path);
    for (char *slash = strchr(dir + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(dir, 0755);
        *slash = '/';
    }
}

enum err selftest_state_save(const char *path, const struct selftest_result *r, struct errmsg *msg)
{
    char tmp[PATH_CAP];
    int n = snprintf(tmp, sizeof tmp, "%s.tmp", path);
    if (n < 0 || (size_t)n >= sizeof tmp)
        return errmsg_set(msg, ERR_INVALID, "--state %.80s...: the name is too long", path);
    make_folders(path);
    FILE *f = fopen(tmp, "we");
    if (f == NULL)
        return errmsg_set(msg, ERR_SYSTEM, "--state %s: %s", path, strerror(errno));
    bool written = selftest_write_json(r, f) == ERR_OK;
    if (fclose(f) == 0 && written && rename(tmp, path) == 0)
        return ERR_OK;
    int error = errno;
    unlink(tmp);
    return errmsg_set(msg, ERR_SYSTEM, "--state %s: %s", path, strerror(error));
}

static json_t *parse(FILE *f, const char *path, struct errmsg *msg)
{
    char text[FILE_MAX];
    json_error_t error;
    size_t n = fread(text, 1, sizeof text, f);
    json_t *o = n < sizeof text ? json_loadb(text, n, JSON_REJECT_DUPLICATES, &error) : NULL;
    const char *schema = json_string_value(json_object_get(o, "schema"));
    if (schema != NULL && strcmp(schema, SCHEMA) == 0)
        return o;
    json_decref(o);
    (void)errmsg_set(msg, ERR_CORRUPT, "%s: is not a " SCHEMA " file: ignored", path);
    return NULL;
}

/* A home folder may be shared by many hosts, and a virtual machine changes its size. */
static bool is_of_this_host(const json_t *o, const char *path, struct errmsg *msg)
{
    char name[64];
    const char *host = json_string_value(json_object_get(o, "host"));
    json_int_t cores = json_integer_value(json_object_get(o, "cores"));
    host_name(name, sizeof name);
    if (host != NULL && strcmp(host, name) == 0 && cores == (json_int_t)host_cores())
        return true;
    (void)errmsg_set(msg, ERR_NOT_FOUND,
                     "%s: is of another host or another number of cores: ignored; hammer-agent "
                     "selftest makes a new one",
                     path);
    return false;
}

uint64_t selftest_state_load(const char *path, struct errmsg *msg)
{
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        if (errno != ENOENT && errno != ENOTDIR)
            (void)errmsg_set(msg, ERR_SYSTEM, "%s: %s", path, strerror(errno));
        return 0;
    }
    json_t *o = parse(f, path, msg);
    fclose(f);
    json_int_t rate = 0;
    if (o != NULL && is_of_this_host(o, path, msg))
        rate = json_integer_value(json_object_get(o, "tested_rate"));
    json_decref(o);
    return rate > 0 ? (uint64_t)rate : 0;
}
