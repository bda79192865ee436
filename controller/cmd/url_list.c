/* SPDX-License-Identifier: MIT */
#include "controller/cmd/url_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/units.h"
#include "controller/cmd/request_file.h"
#include "proto/plan_file.h"

#define LINE_MAX_LEN (PLAN_URL_MAX + PLAN_METHOD_MAX + (1u << 20))
#define BLANKS       " \t"
#define UPPER        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define FORM         "Content-Type: application/x-www-form-urlencoded"

struct variable {
    char *name, *value;
};

struct list {
    struct plan *plan;
    struct plan_entry *last; /* vegeta: the request whose headers follow; NULL = none */
    struct variable vars[URL_LIST_VARS];
    size_t n_vars;
    size_t line;    /* from 1 */
    char *expanded; /* the line with its variables */
    struct errmsg *msg;
};

static enum err PRINTF_LIKE(2, 3) refuse(const struct list *l, const char *fmt, ...)
{
    char why[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return errmsg_set(l->msg, ERR_INVALID, "line %zu: %s", l->line, why);
}

/* --- words ---------------------------------------------------------------------------------- */

/* The method at the beginning of the text, a blank or the end behind it; 0 = there is none. */
static size_t method_length(const char *text)
{
    size_t len = strspn(text, UPPER);
    return len > 0 && (text[len] == '\0' || strchr(BLANKS, text[len]) != NULL) ? len : 0;
}

static char *copy_of(const char *text, size_t len)
{
    char *copy = mem_calloc(len + 1, 1);
    memcpy(copy, text, len);
    return copy;
}

static enum err add(struct list *l, const char *url, size_t url_len, struct plan_entry **out)
{
    if (l->plan->n_entries == PLAN_ENTRIES_MAX)
        return refuse(l, "accepted are at most %d requests", PLAN_ENTRIES_MAX);
    *out = plan_add_entry(l->plan);
    (*out)->url = copy_of(url, url_len);
    return ERR_OK;
}

static enum err read_body(struct list *l, const char *path, struct plan_entry *e)
{
    struct errmsg why = {{0}};
    if (*path == '\0')
        return refuse(l, "the name of the body's file is missing");
    return request_body_read(path, l->plan, e, &why) == ERR_OK ? ERR_OK : refuse(l, "%s", why.text);
}

/* --- siege ---------------------------------------------------------------------------------- */

static const struct variable *find_variable(const struct list *l, const char *name, size_t len)
{
    for (size_t i = 0; i < l->n_vars; i++)
        if (strlen(l->vars[i].name) == len && memcmp(l->vars[i].name, name, len) == 0)
            return &l->vars[i];
    return NULL;
}

/* "NAME = value"; a later one replaces it. */
static bool is_assignment(const char *line, size_t *name_len, const char **value)
{
    static const char name_chars[] = UPPER "abcdefghijklmnopqrstuvwxyz_0123456789";
    *name_len = strspn(line, name_chars);
    const char *equals = line + *name_len + strspn(line + *name_len, BLANKS);
    if (*name_len == 0 || *equals != '=')
        return false;
    *value = equals + 1 + strspn(equals + 1, BLANKS);
    return true;
}

static enum err assign(struct list *l, const char *name, size_t name_len, const char *value)
{
    struct variable *v = (struct variable *)(uintptr_t)find_variable(l, name, name_len);
    if (v == NULL) {
        if (l->n_vars == URL_LIST_VARS)
            return refuse(l, "accepted are at most %d variables", URL_LIST_VARS);
        v = &l->vars[l->n_vars++];
        v->name = copy_of(name, name_len);
    }
    mem_free(v->value);
    v->value = mem_strdup(value);
    return ERR_OK;
}

static enum err append(const struct list *l, char *out, size_t cap, size_t *len, const char *text,
                       size_t n)
{
    if (n >= cap - *len)
        return refuse(l, "longer than 1 MiB with its variables");
    memcpy(out + *len, text, n);
    *len += n;
    return ERR_OK;
}

/* ${NAME} and $(NAME) become their values; a dollar alone stays. */
static enum err expand(const struct list *l, const char *line, char *out, size_t cap)
{
    size_t len = 0;
    enum err e = ERR_OK;
    while (*line != '\0' && e == ERR_OK) {
        size_t plain = strcspn(line, "$");
        bool open = line[plain] == '$' && (line[plain + 1] == '{' || line[plain + 1] == '(');
        if (!open) {
            plain += line[plain] == '$';
            e = append(l, out, cap, &len, line, plain);
            line += plain;
            continue;
        }
        e = append(l, out, cap, &len, line, plain);
        const char *name = line + plain + 2;
        size_t n = strcspn(name, line[plain + 1] == '{' ? "}" : ")");
        const struct variable *v = name[n] != '\0' ? find_variable(l, name, n) : NULL;
        if (v == NULL)
            return refuse(l,
                          "$%c%.*s: no such variable; accepted is one of a line NAME = VALUE "
                          "above it",
                          line[plain + 1], (int)(n < 64 ? n : 64), name);
        if (e == ERR_OK)
            e = append(l, out, cap, &len, v->value, strlen(v->value));
        line = name + n + 1;
    }
    out[len] = '\0';
    return e;
}

static bool has_content_type(const struct plan *p)
{
    for (size_t i = 0; i < p->headers.n; i++)
        if (strncasecmp(p->headers.items[i], "Content-Type:", 13) == 0)
            return true;
    return false;
}

static enum err siege_body(struct list *l, const char *text, struct plan_entry *e)
{
    if (*text == '\0')
        return ERR_OK;
    if (*text == '<')
        return read_body(l, text + 1 + strspn(text + 1, BLANKS), e);
    e->body_len = strlen(text);
    e->body = mem_dup(text, e->body_len);
    if (!has_content_type(l->plan)) /* as siege has it */
        option_list_add(&e->headers, FORM);
    return ERR_OK;
}

static enum err siege_request(struct list *l, const char *line)
{
    struct plan_entry *e = NULL; /* gcc 12 does not see that add sets it */
    size_t url_len = strcspn(line, BLANKS);
    enum err bad = add(l, line, url_len, &e);
    const char *rest = line + url_len + strspn(line + url_len, BLANKS);
    if (bad != ERR_OK || *rest == '\0')
        return bad;
    size_t len = method_length(rest);
    if (len == 0)
        return refuse(l, "behind the URL accepted is a method such as POST, and its body");
    e->method = copy_of(rest, len);
    rest += len;
    return siege_body(l, rest + strspn(rest, BLANKS), e);
}

static enum err siege_line(struct list *l, const char *line)
{
    size_t name_len;
    const char *value;
    if (*line == '\0')
        return ERR_OK;
    enum err e = expand(l, line, l->expanded, LINE_MAX_LEN);
    if (e != ERR_OK)
        return e;
    if (is_assignment(l->expanded, &name_len, &value))
        return assign(l, l->expanded, name_len, value);
    return siege_request(l, l->expanded);
}

/* --- vegeta --------------------------------------------------------------------------------- */

static enum err vegeta_request(struct list *l, const char *line, size_t method_len)
{
    const char *url = line + method_len + strspn(line + method_len, BLANKS);
    size_t url_len = strcspn(url, BLANKS);
    if (url_len == 0 || url[url_len + strspn(url + url_len, BLANKS)] != '\0')
        return refuse(l, "accepted is METHOD URL");
    enum err e = add(l, url, url_len, &l->last);
    if (e == ERR_OK)
        l->last->method = copy_of(line, method_len);
    return e;
}

static enum err vegeta_line(struct list *l, const char *line)
{
    size_t method_len = method_length(line);
    if (method_len > 0)
        return vegeta_request(l, line, method_len);
    if (*line == '\0') {
        l->last = NULL;
        return ERR_OK;
    }
    if (l->last == NULL)
        return refuse(l, "accepted is METHOD URL, and behind it its headers and @FILE");
    if (*line == '@' && l->last->body == NULL)
        return read_body(l, line + 1, l->last);
    if (strchr(line, ':') == NULL)
        return refuse(l, "accepted is NAME: VALUE, one @FILE, or an empty line");
    option_list_add(&l->last->headers, line);
    return ERR_OK;
}

/* --- lines ---------------------------------------------------------------------------------- */

/* Without blanks around; the caller's. */
static char *next_line(const char **at, const char *end)
{
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *from = *at, *to = newline != NULL ? newline : end;
    *at = newline != NULL ? newline + 1 : end;
    while (to > from && strchr(BLANKS "\r", to[-1]) != NULL)
        to--;
    while (from < to && strchr(BLANKS, *from) != NULL)
        from++;
    return copy_of(from, (size_t)(to - from));
}

/* "HOST = x" begins in capitals too. */
static bool is_vegeta(const char *line)
{
    size_t len = method_length(line);
    return len > 0 && line[len + strspn(line + len, BLANKS)] != '=';
}

static enum err read_lines(struct list *l, const char *text, size_t len)
{
    enum err (*take)(struct list *, const char *) = NULL;
    const char *at = text, *end = text + len;
    enum err e = ERR_OK;
    while (at < end && e == ERR_OK) {
        char *line = next_line(&at, end);
        l->line++;
        if (take == NULL && *line != '\0' && *line != '#')
            take = is_vegeta(line) ? vegeta_line : siege_line;
        if (take != NULL && *line != '#')
            e = take(l, line);
        mem_free(line);
    }
    if (e == ERR_OK && l->plan->n_entries == 0)
        e = errmsg_set(l->msg, ERR_INVALID, "no request in it; accepted is one URL a line");
    return e;
}

enum err url_list_parse(const char *text, size_t len, struct plan *p, struct errmsg *msg)
{
    struct list l = {.plan = p, .msg = msg};
    if (memchr(text, '\0', len) != NULL)
        return errmsg_set(msg, ERR_INVALID, "a NUL byte; accepted is a text");
    l.expanded = mem_calloc(LINE_MAX_LEN, 1);
    enum err e = read_lines(&l, text, len);
    mem_free(l.expanded);
    for (size_t i = 0; i < l.n_vars; i++) {
        mem_free(l.vars[i].name);
        mem_free(l.vars[i].value);
    }
    p->name_entries = p->n_entries <= URL_LIST_NAMED;
    return e;
}

enum err url_list_read(const char *path, struct plan *p, struct errmsg *msg)
{
    uint8_t *bytes;
    size_t len;
    char shown[UNITS_SHOWN];
    struct errmsg why = {{0}};
    enum err e = plan_file_load("--urls", "a readable regular file of at most 4 MiB", path,
                                URL_LIST_MAX, &bytes, &len, msg);
    if (e != ERR_OK)
        return e;
    e = url_list_parse((const char *)bytes, len, p, &why);
    mem_free(bytes);
    if (e == ERR_OK)
        return e;
    return errmsg_set(msg, e, "--urls %s: %.400s", units_format_shown(path, shown), why.text);
}
