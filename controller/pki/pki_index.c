/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_index.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"

#define TIME_FORMAT "%Y-%m-%dT%H:%M:%SZ"
#define DNS_TEXT    (PKI_DNS_COUNT * (PKI_DNS_MAX + 1))

static const char *const state_names[] = {
    [PKI_VALID] = "valid", [PKI_EXPIRED] = "expired", [PKI_REVOKED] = "revoked"};

const char *pki_state_name(enum pki_state s)
{
    return state_names[s];
}

enum pki_state pki_entry_state(const struct pki_entry *e, int64_t now_s)
{
    if (e->revoked_s != 0)
        return PKI_REVOKED;
    return now_s > e->not_after_s ? PKI_EXPIRED : PKI_VALID;
}

int64_t pki_days_left(int64_t not_after_s, int64_t now_s)
{
    return not_after_s > now_s ? (not_after_s - now_s) / PKI_DAY_S : 0;
}

const char *pki_time_text(int64_t s, char buf[PKI_TIME_TEXT])
{
    time_t t = (time_t)s;
    struct tm tm;
    if (gmtime_r(&t, &tm) == NULL || strftime(buf, PKI_TIME_TEXT, TIME_FORMAT, &tm) == 0)
        snprintf(buf, PKI_TIME_TEXT, "-");
    return buf;
}

static bool time_parse(const char *text, int64_t *s)
{
    struct tm tm = {0};
    const char *end = strptime(text, TIME_FORMAT, &tm);
    if (end == NULL || *end != '\0')
        return false;
    *s = (int64_t)timegm(&tm);
    return true;
}

void pki_index_add(struct pki_index *index, const struct pki_entry *e)
{
    index->entries = mem_realloc(index->entries, index->n + 1, sizeof *index->entries);
    struct pki_entry *to = &index->entries[index->n++];
    *to = *e;
    to->dns = mem_strdup(e->dns);
}

void pki_index_clear(struct pki_index *index)
{
    for (size_t i = 0; i < index->n; i++)
        mem_free(index->entries[i].dns);
    mem_free(index->entries);
    *index = (struct pki_index){0};
}

/* --- writing -------------------------------------------------------------------------------- */

static json_t *time_json(int64_t s)
{
    char text[PKI_TIME_TEXT];
    return s != 0 ? json_string(pki_time_text(s, text)) : json_null();
}

static json_t *entry_json(const struct pki_entry *e)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s}", "serial", e->serial, "role",
                     pki_role_name(e->role), "name", e->name, "dns", e->dns, "not_before",
                     time_json(e->not_before_s), "not_after", time_json(e->not_after_s),
                     "revoked_at", time_json(e->revoked_s), "file", e->file);
}

char *pki_index_text(const struct pki_index *index)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    for (size_t i = 0; f != NULL && i < index->n; i++) {
        json_t *o = entry_json(&index->entries[i]);
        json_dumpf(o, f, JSON_COMPACT);
        fputc('\n', f);
        json_decref(o);
    }
    if (f == NULL || fclose(f) != 0)
        return mem_strdup("");
    return text;
}

/* --- reading -------------------------------------------------------------------------------- */

static bool take(char *to, size_t cap, const char *text)
{
    return text != NULL && (size_t)snprintf(to, cap, "%s", text) < cap;
}

static bool take_role(const char *text, enum pki_role *role)
{
    for (enum pki_role r = PKI_AGENT; r <= PKI_CONTROLLER; r++)
        if (strcmp(text, pki_role_name(r)) == 0) {
            *role = r;
            return true;
        }
    return false;
}

static bool is_serial(const char *text)
{
    return strlen(text) == PKI_SERIAL_TEXT - 1 &&
           strspn(text, "0123456789abcdef") == PKI_SERIAL_TEXT - 1;
}

/* The strings in it are those of the JSON object, but for what is copied. */
static const char *entry_parse(json_t *o, struct pki_entry *e)
{
    const char *serial, *role, *name, *dns, *from, *until, *file;
    json_t *revoked;
    char own[PKI_NAME_MAX + 1];
    if (json_unpack(o, "{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:s !}", "serial", &serial, "role",
                    &role, "name", &name, "dns", &dns, "not_before", &from, "not_after", &until,
                    "revoked_at", &revoked, "file", &file) != 0)
        return "accepted are exactly serial, role, name, dns, not_before, not_after, revoked_at "
               "and file";
    if (!is_serial(serial) || !take(e->serial, sizeof e->serial, serial))
        return "serial: accepted are 32 hex digits";
    if (!take_role(role, &e->role))
        return "role: accepted is agent or controller";
    if (pki_name_parse("", name, own, NULL) != ERR_OK || !take(e->name, sizeof e->name, own))
        return "name: accepted is a DNS host name";
    if (!time_parse(from, &e->not_before_s) || !time_parse(until, &e->not_after_s) ||
        (!json_is_null(revoked) &&
         (!json_is_string(revoked) || !time_parse(json_string_value(revoked), &e->revoked_s))))
        return "not_before, not_after, revoked_at: accepted is 2026-11-30T17:23:39Z";
    if (!take(e->file, sizeof e->file, file) || strlen(dns) >= DNS_TEXT)
        return "file or dns: too long";
    e->dns = mem_strdup(dns);
    return NULL;
}

static const char *line_parse(const char *line, size_t len, struct pki_index *out)
{
    struct pki_entry e = {0};
    json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    if (o == NULL)
        return "no JSON object";
    const char *problem = entry_parse(o, &e);
    if (problem == NULL)
        pki_index_add(out, &e);
    mem_free(e.dns);
    json_decref(o);
    return problem;
}

enum err pki_index_parse(const char *file, const char *text, struct pki_index *out,
                         struct errmsg *msg)
{
    *out = (struct pki_index){0};
    for (size_t line = 1; *text != '\0'; line++) {
        size_t len = strcspn(text, "\n");
        const char *problem =
            out->n < PKI_INDEX_MAX ? line_parse(text, len, out) : "more than 50000 certificates";
        if (problem != NULL) {
            pki_index_clear(out);
            return errmsg_set(msg, ERR_CORRUPT, "%s:%zu: %s", file, line, problem);
        }
        text += len + (text[len] == '\n');
    }
    return ERR_OK;
}
