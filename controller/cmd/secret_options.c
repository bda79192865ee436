/* SPDX-License-Identifier: MIT */
#include "controller/cmd/secret_options.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "common/redact.h"
#include "common/units.h"
#include "controller/cmd/secret_source.h"

static size_t name_length(const char *line)
{
    return strcspn(line, ":");
}

static bool has_name(const char *line, const char *name, size_t len)
{
    return name_length(line) == len && strncasecmp(line, name, len) == 0;
}

static bool list_has(const struct option_list *headers, const char *line)
{
    for (size_t i = 0; i < headers->n; i++)
        if (has_name(headers->items[i], line, name_length(line)))
            return true;
    return false;
}

/* --- the command line ----------------------------------------------------------------------- */

/* By its name, by --redact, or by a value such as "Bearer ...". */
static bool is_secret(const struct secret_options *s, const char *line)
{
    char shown[128];
    if (redact_is_secret_header(line, name_length(line), s->redact))
        return true;
    redact_header(line, s->redact, shown, sizeof shown);
    const char *value = strchr(shown, ':');
    return value != NULL && strcmp(value + 1 + strspn(value + 1, " \t"), REDACTED) == 0;
}

/* The value is a template's {{env NAME}}: only where it comes from is written down. */
static bool is_elsewhere(const char *line)
{
    return strstr(line, "{{env ") != NULL;
}

static const char *first_secret(const struct secret_options *s, const struct option_list *headers)
{
    for (size_t i = 0; i < headers->n; i++)
        if (is_secret(s, headers->items[i]) && !is_elsewhere(headers->items[i]))
            return headers->items[i];
    return NULL;
}

/* The name as it may be shown. */
static void show_name(const struct secret_options *s, const char *line, char shown[UNITS_SHOWN])
{
    char name[2 * UNITS_SHOWN];
    redact_header(line, s->redact, name, sizeof name);
    name[name_length(name)] = '\0';
    units_format_shown(name, shown);
}

enum err secret_options_check_file(const struct secret_options *s,
                                   const struct option_list *headers, const char *path,
                                   struct errmsg *msg)
{
    char name[UNITS_SHOWN];
    struct stat st;
    const char *line = first_secret(s, headers);
    if (line == NULL || stat(path, &st) != 0 || !secret_mode_is_open(st.st_mode))
        return ERR_OK;
    show_name(s, line, name);
    return errmsg_set(msg, ERR_INVALID,
                      "%.200s: header %s: a secret, and other users may read or change the file "
                      "(mode %04o): chmod 600 makes it yours alone",
                      path, name, (unsigned)(st.st_mode & 07777));
}

enum err secret_options_check(const struct secret_options *s,
                              const struct option_list *argv_headers, struct errmsg *msg)
{
    char name[UNITS_SHOWN];
    const char *line = first_secret(s, argv_headers);
    if (line == NULL)
        return ERR_OK;
    show_name(s, line, name);
    return errmsg_set(msg, ERR_INVALID,
                      "--header %s: a secret is not accepted on the command line, where every "
                      "user of this machine can read it; accepted are --bearer FILE, --basic "
                      "FILE, --header-file FILE (each also env:NAME or - for stdin), and "
                      "HAMMER_HEADER in the environment",
                      name);
}

/* --- sources -------------------------------------------------------------------------------- */

/* The header is added, and its name is kept for the reports. */
static void add(struct secret_options *s, struct option_list *headers, const char *line)
{
    size_t had = s->names != NULL ? strlen(s->names) : 0, len = name_length(line);
    option_list_add(headers, line);
    s->names = mem_realloc(s->names, had + len + 2, 1);
    snprintf(s->names + had, len + 2, ",%s", line);
}

static bool is_control(char c)
{
    return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f;
}

/* CR, LF and NUL would start another header. */
static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (is_control(text[i]))
            return true;
    return false;
}

/* The end of the line, LF or CRLF, is no part of it. */
static size_t without_line_end(const char *text, size_t len)
{
    if (len == 0 || text[len - 1] != '\n')
        return len;
    return len > 1 && text[len - 2] == '\r' ? len - 2 : len - 1;
}

static enum err check_bearer(const struct secret_text *t, struct errmsg *msg)
{
    for (size_t i = 0; i < t->len; i++)
        if (t->text[i] <= ' ' || t->text[i] >= 0x7f)
            return errmsg_set(msg, ERR_INVALID,
                              "--bearer: a space, a control or a non-ASCII character at byte %zu; "
                              "accepted is the token alone, on one line",
                              i + 1);
    return ERR_OK;
}

static enum err check_basic(const struct secret_text *t, struct errmsg *msg)
{
    if (has_control(t->text, t->len) || memchr(t->text, '\t', t->len) != NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "--basic: a control character; accepted is user:password on one line");
    if (memchr(t->text, ':', t->len) == NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "--basic: no colon; accepted is user:password on one line");
    return ERR_OK;
}

/* RFC 4648 section 4; `out` holds 4 bytes for every 3 begun and a NUL. */
static void base64(const char *in, size_t len, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        unsigned bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < len ? (unsigned char)in[i + k] : 0u);
        for (int k = 3; k >= 0; k--)
            *out++ = i + (size_t)(3 - k) <= len ? digits[bits >> 6 * k & 63] : '=';
    }
    *out = '\0';
}

/* "Authorization: SCHEME VALUE". */
static void add_authorization(struct secret_options *s, struct option_list *headers,
                              const char *scheme, const char *value)
{
    static const char frame[] = "Authorization: %s %s";
    size_t size = sizeof frame + strlen(scheme) + strlen(value);
    struct secret_text line = {.text = mem_calloc(size, 1), .len = size};
    snprintf(line.text, size, frame, scheme, value);
    add(s, headers, line.text);
    secret_text_clear(&line);
}

static enum err load_bearer(struct secret_options *s, struct option_list *headers,
                            struct errmsg *msg)
{
    struct secret_text t;
    enum err e = secret_source_read("--bearer", s->bearer, &t, msg);
    if (e != ERR_OK)
        return e;
    size_t len = without_line_end(t.text, t.len);
    explicit_bzero(t.text + len, t.len - len);
    t.len = len;
    e = len > 0 ? check_bearer(&t, msg)
                : errmsg_set(msg, ERR_INVALID, "--bearer: the token is empty");
    if (e == ERR_OK)
        add_authorization(s, headers, "Bearer", t.text);
    secret_text_clear(&t);
    return e;
}

static enum err load_basic(struct secret_options *s, struct option_list *headers,
                           struct errmsg *msg)
{
    struct secret_text t;
    enum err e = secret_source_read("--basic", s->basic, &t, msg);
    if (e != ERR_OK)
        return e;
    t.len = without_line_end(t.text, t.len);
    e = check_basic(&t, msg);
    if (e == ERR_OK) {
        size_t size = (t.len + 2) / 3 * 4 + 1;
        struct secret_text coded = {.text = mem_calloc(size, 1), .len = size};
        base64(t.text, t.len, coded.text);
        add_authorization(s, headers, "Basic", coded.text);
        secret_text_clear(&coded);
    }
    secret_text_clear(&t);
    return e;
}

/* --- files of headers ----------------------------------------------------------------------- */

static enum err refuse_line(const char *path, size_t line, const char *why, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    return errmsg_set(msg, ERR_INVALID, "--header-file %s: line %zu: %s; accepted is NAME: VALUE",
                      units_format_shown(path, shown), line, why);
}

/* `text` is NUL-terminated here. Empty lines and comments are left out. */
static enum err load_line(struct secret_options *s, const char *path, size_t line, char *text,
                          size_t len, struct option_list *headers, struct errmsg *msg)
{
    if (has_control(text, len))
        return refuse_line(path, line, "CR, NUL or another control character", msg);
    if (len == 0 || text[0] == '#')
        return ERR_OK;
    if (memchr(text, ':', len) == NULL)
        return refuse_line(path, line, "no colon", msg);
    add(s, headers, text);
    return ERR_OK;
}

static enum err load_file(struct secret_options *s, const char *path, struct option_list *headers,
                          struct errmsg *msg)
{
    struct secret_text t;
    enum err e = secret_source_read("--header-file", path, &t, msg);
    char *at = t.text;
    for (size_t line = 1; e == ERR_OK && at < t.text + t.len; line++) {
        size_t left = (size_t)(t.text + t.len - at);
        char *end = memchr(at, '\n', left);
        size_t whole = end != NULL ? (size_t)(end - at) + 1 : left;
        size_t len = without_line_end(at, whole);
        at[len] = '\0'; /* over the line's end, or the text's own NUL */
        e = load_line(s, path, line, at, len, headers, msg);
        at += whole;
    }
    secret_text_clear(&t);
    return e;
}

/* --- all ------------------------------------------------------------------------------------ */

static enum err check_once(const struct option_list *headers, struct errmsg *msg)
{
    static const char name[] = "Authorization";
    size_t n = 0;
    for (size_t i = 0; i < headers->n; i++)
        n += has_name(headers->items[i], name, sizeof name - 1);
    if (n <= 1)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "Authorization is set %zu times: accepted is one of --bearer, --basic, "
                      "--header-file and HAMMER_HEADER",
                      n);
}

enum err secret_options_load(struct secret_options *s, struct option_list *environment,
                             struct option_list *headers, struct errmsg *msg)
{
    enum err e = ERR_OK;
    s->names = mem_strdup(s->redact);
    for (size_t i = 0; i < environment->n; i++)
        if (!list_has(headers, environment->items[i]))
            add(s, headers, environment->items[i]);
    option_list_clear(environment);
    for (size_t i = 0; i < s->header_files.n && e == ERR_OK; i++)
        e = load_file(s, s->header_files.items[i], headers, msg);
    if (e == ERR_OK && s->bearer != NULL)
        e = load_bearer(s, headers, msg);
    if (e == ERR_OK && s->basic != NULL)
        e = load_basic(s, headers, msg);
    return e == ERR_OK ? check_once(headers, msg) : e;
}

void secret_options_clear(struct secret_options *s)
{
    mem_free(s->names);
    s->names = NULL;
}
