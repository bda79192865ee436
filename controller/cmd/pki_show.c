/* SPDX-License-Identifier: MIT */
#include "controller/cmd/pki_show.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "common/mem.h"
#include "controller/pki/pki_expiry.h"

/* The CA among its certificates: a row as theirs, but for the role. */
static struct pki_entry authority_row(const struct pki *p)
{
    const struct pki_info *ca = pki_authority(p);
    struct pki_entry e = {
        .not_before_s = ca->not_before_s, .not_after_s = ca->not_after_s, .file = "ca.crt"};
    memcpy(e.name, ca->name, sizeof e.name);
    memcpy(e.serial, ca->serial, sizeof e.serial);
    return e;
}

/* --- table ---------------------------------------------------------------------------------- */

struct widths {
    int name, file;
};

static void widen(struct widths *w, const struct pki_entry *e)
{
    if ((int)strlen(e->name) > w->name)
        w->name = (int)strlen(e->name);
    if ((int)strlen(e->file) > w->file)
        w->file = (int)strlen(e->file);
}

static void print_row(FILE *out, const struct widths *w, const char *role,
                      const struct pki_entry *e, int64_t now_s)
{
    char from[PKI_TIME_TEXT], until[PKI_TIME_TEXT];
    enum pki_state state = pki_entry_state(e, now_s);
    int64_t days = state == PKI_VALID ? pki_days_left(e->not_after_s, now_s) : 0;
    fprintf(out, "%-10s  %-*s  %-7s  %4" PRId64 "  %s  %s  %s  %-*s  %s\n", role, w->name, e->name,
            pki_state_name(state), days, pki_time_text(e->not_before_s, from),
            pki_time_text(e->not_after_s, until), e->serial, w->file,
            e->file[0] != '\0' ? e->file : "-", e->dns != NULL ? e->dns : "-");
}

void pki_show_table(const struct pki *p, int64_t now_s, FILE *out)
{
    const struct pki_index *index = pki_certificates(p);
    struct pki_entry ca = authority_row(p);
    struct widths w = {.name = 4, .file = 4};
    widen(&w, &ca);
    for (size_t i = 0; i < index->n; i++)
        widen(&w, &index->entries[i]);
    fprintf(out, "%-10s  %-*s  %-7s  %4s  %-20s  %-20s  %-32s  %-*s  %s\n", "role", w.name, "name",
            "state", "days", "not before", "not after", "serial", w.file, "file", "DNS names");
    print_row(out, &w, "ca", &ca, now_s);
    for (size_t i = 0; i < index->n; i++)
        print_row(out, &w, pki_role_name(index->entries[i].role), &index->entries[i], now_s);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static json_t *time_json(int64_t s)
{
    char text[PKI_TIME_TEXT];
    return s != 0 ? json_string(pki_time_text(s, text)) : json_null();
}

static json_t *names_json(const char *dns)
{
    json_t *list = json_array();
    char *names = mem_strdup(dns), *rest = names, *name;
    while (rest != NULL && (name = strsep(&rest, " ")) != NULL)
        json_array_append_new(list, json_string(name));
    mem_free(names);
    return list;
}

static json_t *row_json(const char *role, const struct pki_entry *e, int64_t now_s)
{
    enum pki_state state = pki_entry_state(e, now_s);
    int64_t days = state == PKI_VALID ? pki_days_left(e->not_after_s, now_s) : 0;
    return json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:I, s:s, s:o, s:o}", "role", role, "name",
                     e->name, "dns", names_json(e->dns), "serial", e->serial, "not_before",
                     time_json(e->not_before_s), "not_after", time_json(e->not_after_s),
                     "days_left", (json_int_t)days, "state", pki_state_name(state), "revoked_at",
                     time_json(e->revoked_s), "file",
                     e->file[0] != '\0' ? json_string(e->file) : json_null());
}

void pki_show_json(const struct pki *p, int64_t now_s, FILE *out)
{
    const struct pki_index *index = pki_certificates(p);
    struct pki_entry ca = authority_row(p);
    json_t *list = json_array();
    for (size_t i = 0; i < index->n; i++) {
        const struct pki_entry *e = &index->entries[i];
        json_array_append_new(list, row_json(pki_role_name(e->role), e, now_s));
    }
    /* A path is bytes, JSON is UTF-8. */
    json_t *dir = json_string(pki_dir(p));
    json_t *o = json_pack("{s:s, s:o, s:o, s:o}", "schema", "hammer.pki/1", "dir",
                          dir != NULL ? dir : json_null(), "ca", row_json("ca", &ca, now_s),
                          "certificates", list);
    json_dumpf(o, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(o);
}

/* --- warnings ------------------------------------------------------------------------------- */

void pki_show_warnings(const struct pki *p, const char *dir, int64_t now_s, FILE *out)
{
    const struct pki_index *index = pki_certificates(p);
    struct errmsg text;
    if (pki_expiry_near("the CA", pki_authority(p)->not_after_s, now_s, &text))
        fprintf(out,
                "hammer-ctl: warning: %s; make a new one in another folder: hammer-ctl pki init "
                "--dir DIR\n",
                text.text);
    for (size_t i = 0; i < index->n; i++) {
        const struct pki_entry *e = &index->entries[i];
        char what[PKI_NAME_MAX + 32];
        const char *role = pki_role_name(e->role);
        snprintf(what, sizeof what, "%s %s", role, e->name);
        if (e->file[0] != '\0' && e->revoked_s == 0 &&
            pki_expiry_near(what, e->not_after_s, now_s, &text))
            fprintf(out, "hammer-ctl: warning: %s; renew it: hammer-ctl pki %s %s --force%s%s\n",
                    text.text, role, e->name, dir != NULL ? " --dir " : "", dir != NULL ? dir : "");
    }
}
