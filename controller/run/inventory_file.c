/* SPDX-License-Identifier: MIT */
#include "controller/run/inventory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "common/mem.h"
#include "common/units.h"
#include "common/yaml_bounds.h"
#include "controller/run/inventory.h"

#define GROUP_MAX  63
#define GROUPS_MAX 32 /* of one agent: an alias could repeat a long list a thousand times */

struct reader {
    struct inventory_file *file;
    yaml_document_t *doc;
    struct errmsg *msg;
};

/* --- errors and scalars --------------------------------------------------------------------- */

static enum err fail_at(const struct reader *r, const yaml_mark_t *at, const char *what)
{
    return errmsg_set(r->msg, ERR_INVALID, "%.200s:%zu:%zu: %.250s", r->file->path, at->line + 1,
                      at->column + 1, what);
}

static enum err fail_node(const struct reader *r, const yaml_node_t *n, const char *what)
{
    return fail_at(r, &n->start_mark, what);
}

static enum err fail_value(const struct reader *r, const yaml_node_t *n, const char *value,
                           const char *what)
{
    char shown[UNITS_SHOWN], text[256];
    snprintf(text, sizeof text, "%s: %s", units_format_shown(value, shown), what);
    return fail_node(r, n, text);
}

/* NULL = not a text. */
static const char *text_of(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE || strcmp((const char *)n->tag, YAML_STR_TAG) != 0)
        return NULL;
    const char *text = (const char *)n->data.scalar.value;
    return *text != '\0' && strlen(text) == n->data.scalar.length ? text : NULL;
}

static bool is_group(const char *s)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t len = strlen(s);
    return len > 0 && len <= GROUP_MAX && strspn(s, chars) == len;
}

static yaml_node_t *node(const struct reader *r, int id)
{
    return yaml_document_get_node(r->doc, id);
}

/* --- one agent ------------------------------------------------------------------------------ */

struct draft {
    const char *name, *address, *weight;
    struct inventory_entry *entry;
};

static enum err take_name(const struct reader *r, const yaml_node_t *n, struct draft *d)
{
    d->name = text_of(n);
    if (d->name == NULL || !is_group(d->name))
        return fail_node(r, n, "name: accepted are letters, digits, '.', '-' and '_', at most 63");
    for (size_t i = 0; i < r->file->n; i++)
        if (r->file->entries[i].name != NULL && strcmp(r->file->entries[i].name, d->name) == 0)
            return fail_value(r, n, d->name, "this name is given twice; accepted is each once");
    return ERR_OK;
}

static enum err take_address(const struct reader *r, const yaml_node_t *n, struct draft *d)
{
    d->address = text_of(n);
    if (d->address == NULL || strpbrk(d->address, ",@* ") != NULL)
        return fail_node(r, n,
                         "address: accepted is HOST[:PORT] or a URL, without a name or weight");
    return ERR_OK;
}

static enum err take_weight(const struct reader *r, const yaml_node_t *n, struct draft *d)
{
    d->weight = text_of(n);
    size_t len = d->weight != NULL ? strlen(d->weight) : 0;
    if (len == 0 || len > 4 || strspn(d->weight, "0123456789") != len)
        return fail_node(r, n, "weight: accepted is a whole number from 1 to 1000");
    return ERR_OK;
}

static enum err take_groups(const struct reader *r, const yaml_node_t *n, struct draft *d)
{
    static const char form[] = "groups: accepted is a list of names of letters, digits, '.', '-' "
                               "and '_', at most 63 each; all is every agent already";
    if (n->type != YAML_SEQUENCE_NODE)
        return fail_node(r, n, form);
    if (n->data.sequence.items.top - n->data.sequence.items.start > GROUPS_MAX)
        return fail_node(r, n, "groups: accepted are at most 32 of one agent");
    for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++) {
        const char *group = text_of(node(r, *i));
        if (group == NULL || !is_group(group) || strcmp(group, INVENTORY_GROUP_ALL) == 0)
            return fail_node(r, node(r, *i), form);
        option_list_add(&d->entry->groups, group);
    }
    return ERR_OK;
}

static const struct key {
    const char *name;
    enum err (*take)(const struct reader *r, const yaml_node_t *n, struct draft *d);
} keys[] = {
    {"name", take_name},
    {"address", take_address},
    {"weight", take_weight},
    {"groups", take_groups},
};
#define KEYS (sizeof keys / sizeof keys[0])

static enum err take_pair(const struct reader *r, const yaml_node_pair_t *p, struct draft *d,
                          bool seen[KEYS])
{
    const yaml_node_t *key = node(r, p->key);
    const char *name = text_of(key);
    for (size_t i = 0; name != NULL && i < KEYS; i++) {
        if (strcmp(keys[i].name, name) != 0)
            continue;
        if (seen[i])
            return fail_value(r, key, name, "given twice");
        seen[i] = true;
        return keys[i].take(r, node(r, p->value), d);
    }
    return fail_value(r, key, name != NULL ? name : "?",
                      "unknown key of an agent; accepted are name, address, weight, groups");
}

/* What --agents would say of it, whatever the transport allows later. */
static enum err settle(const struct reader *r, const yaml_node_t *n, const struct draft *d)
{
    char item[768];
    struct inventory one;
    struct errmsg why = {{0}};
    if (d->address == NULL)
        return fail_node(r, n, "an agent without an address; accepted is {address: HOST[:PORT]}");
    snprintf(item, sizeof item, "%s%s%.600s%s%s", d->name != NULL ? d->name : "",
             d->name != NULL ? "@" : "", d->address, d->weight != NULL ? "*" : "",
             d->weight != NULL ? d->weight : "");
    enum err e = inventory_parse(item, 1, &one, &why);
    inventory_clear(&one);
    if (e != ERR_OK) {
        const char *text = why.text;
        if (strncmp(text, "--agents ", strlen("--agents ")) == 0)
            text += strlen("--agents ");
        return fail_node(r, n, text);
    }
    for (size_t i = 0; i < r->file->n; i++)
        if (r->file->entries[i].item != NULL && strcmp(r->file->entries[i].item, item) == 0)
            return fail_value(r, n, item, "this agent is given twice; accepted is each once");
    d->entry->item = mem_strdup(item);
    d->entry->name = d->name != NULL ? mem_strdup(d->name) : NULL;
    return ERR_OK;
}

static enum err take_agent(const struct reader *r, const yaml_node_t *n)
{
    struct inventory_file *f = r->file;
    bool seen[KEYS] = {false};
    if (n->type != YAML_MAPPING_NODE)
        return fail_node(r, n,
                         "accepted as an agent is {name: ..., address: HOST[:PORT], "
                         "weight: N, groups: [...]}");
    if (f->n == INVENTORY_MAX)
        return fail_node(r, n, "one too many; accepted are at most 1024 agents");
    f->entries = mem_realloc(f->entries, f->n + 1, sizeof *f->entries);
    f->entries[f->n] = (struct inventory_entry){0};
    struct draft d = {.entry = &f->entries[f->n]};
    enum err e = ERR_OK;
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
         e == ERR_OK && p < n->data.mapping.pairs.top; p++)
        e = take_pair(r, p, &d, seen);
    if (e == ERR_OK)
        e = settle(r, n, &d);
    f->n++; /* also half a one: clear frees it */
    return e;
}

/* --- the file ------------------------------------------------------------------------------- */

static enum err take_root(const struct reader *r, const yaml_node_t *root)
{
    static const char form[] = "accepted is \"agents:\" with a list of agents, and nothing else";
    if (root->type != YAML_MAPPING_NODE)
        return fail_node(r, root, form);
    bool seen = false;
    enum err e = ERR_OK;
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
         e == ERR_OK && p < root->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = node(r, p->key), *list = node(r, p->value);
        const char *name = text_of(key);
        if (name == NULL || strcmp(name, "agents") != 0 || seen)
            return fail_node(r, key, form);
        if (list->type != YAML_SEQUENCE_NODE)
            return fail_node(r, list, form);
        seen = true;
        for (yaml_node_item_t *i = list->data.sequence.items.start;
             e == ERR_OK && i < list->data.sequence.items.top; i++)
            e = take_agent(r, node(r, *i));
    }
    return e;
}

static enum err fail_syntax(const struct reader *r, const yaml_parser_t *p)
{
    const yaml_mark_t *at = p->problem_mark.line != 0 || p->problem_mark.column != 0
                                ? &p->problem_mark
                                : &p->mark; /* not UTF-8: only the offset is told */
    return fail_at(r, at, p->problem != NULL ? p->problem : "not YAML");
}

static enum err read_documents(struct reader *r, yaml_parser_t *parser)
{
    yaml_document_t doc, more;
    if (!yaml_parser_load(parser, &doc))
        return fail_syntax(r, parser);
    r->doc = &doc;
    yaml_node_t *root = yaml_document_get_root_node(&doc);
    enum err e = root != NULL ? take_root(r, root) : ERR_OK;
    yaml_document_delete(&doc);
    if (e != ERR_OK || root == NULL)
        return e;
    if (!yaml_parser_load(parser, &more))
        return fail_syntax(r, parser);
    root = yaml_document_get_root_node(&more);
    if (root != NULL)
        e = fail_node(r, root, "accepted is one document");
    yaml_document_delete(&more);
    return e;
}

enum err inventory_file_parse(const char *path, const void *bytes, size_t len,
                              struct inventory_file *out, struct errmsg *msg)
{
    yaml_parser_t parser;
    struct yaml_excess x;
    *out = (struct inventory_file){0};
    if (len > INVENTORY_FILE_MAX)
        return errmsg_set(msg, ERR_TOO_BIG, "%s: accepted are at most %u bytes", path,
                          INVENTORY_FILE_MAX);
    if (!yaml_within_bounds(bytes, len, &x))
        return errmsg_set(msg, ERR_INVALID, "%s:%zu:%zu: %s", path, x.line, x.column, x.what);
    if (!yaml_parser_initialize(&parser))
        return errmsg_set(msg, ERR_NOMEM, "%s: out of memory", path);
    out->path = mem_strdup(path);
    struct reader r = {.file = out, .msg = msg};
    yaml_parser_set_input_string(&parser, bytes, len);
    enum err e = read_documents(&r, &parser);
    yaml_parser_delete(&parser);
    if (e != ERR_OK)
        inventory_file_clear(out);
    return e;
}

/* Regular files only: a FIFO would block for ever. */
static enum err read_file(const char *path, char *bytes, size_t *len, struct errmsg *msg)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errmsg_set(msg, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%s: %s", path,
                          strerror(errno));
    ssize_t n = 0;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    for (*len = 0; regular && *len <= INVENTORY_FILE_MAX; *len += (size_t)n)
        if ((n = read(fd, bytes + *len, INVENTORY_FILE_MAX + 1 - *len)) <= 0)
            break;
    int error = errno;
    close(fd);
    if (!regular)
        return errmsg_set(msg, ERR_SYSTEM, "%s: not a regular file", path);
    return n < 0 ? errmsg_set(msg, ERR_SYSTEM, "%s: %s", path, strerror(error)) : ERR_OK;
}

enum err inventory_file_load(const char *path, struct inventory_file *out, struct errmsg *msg)
{
    size_t len = 0; /* gcc 12 at -O2 does not see that it is set */
    char *bytes = mem_calloc(1, INVENTORY_FILE_MAX + 1);
    *out = (struct inventory_file){0};
    enum err e = read_file(path, bytes, &len, msg);
    if (e == ERR_OK)
        e = inventory_file_parse(path, bytes, len, out, msg);
    mem_free(bytes);
    return e;
}

void inventory_file_clear(struct inventory_file *f)
{
    for (size_t i = 0; i < f->n; i++) {
        mem_free(f->entries[i].item);
        mem_free(f->entries[i].name);
        option_list_clear(&f->entries[i].groups);
    }
    mem_free(f->entries);
    mem_free(f->path);
    *f = (struct inventory_file){0};
}

/* --- groups --------------------------------------------------------------------------------- */

struct list {
    char *text;
    size_t len;
};

static void append(struct list *l, const char *item, size_t len)
{
    bool first = l->text == NULL;
    l->text = mem_realloc(l->text, l->len + len + 2, 1);
    if (!first)
        l->text[l->len++] = ',';
    memcpy(l->text + l->len, item, len);
    l->len += len;
    l->text[l->len] = '\0';
}

static bool has_group(const struct inventory_entry *e, const char *group, size_t len)
{
    if (len == strlen(INVENTORY_GROUP_ALL) && memcmp(group, INVENTORY_GROUP_ALL, len) == 0)
        return true;
    for (size_t i = 0; i < e->groups.n; i++)
        if (strlen(e->groups.items[i]) == len && memcmp(e->groups.items[i], group, len) == 0)
            return true;
    return false;
}

static enum err no_group(const struct inventory_file *f, const char *group, size_t len,
                         struct errmsg *msg)
{
    char known[256] = "@" INVENTORY_GROUP_ALL, name[GROUP_MAX + 2], shown[UNITS_SHOWN];
    snprintf(name, sizeof name, "%.*s", (int)(len < GROUP_MAX ? len : GROUP_MAX), group);
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->entries[i].groups.n; k++) {
            char word[GROUP_MAX + 4];
            snprintf(word, sizeof word, ", @%s", f->entries[i].groups.items[k]);
            if (strstr(known, word) == NULL && strlen(known) + strlen(word) < sizeof known)
                strcat(known, word);
        }
    return errmsg_set(msg, ERR_INVALID,
                      "--agents @%s: no agent of %.120s is in this group; "
                      "accepted are %s",
                      units_format_shown(name, shown), f->path, known);
}

static enum err add_group(const struct inventory_file *f, const char *group, size_t len,
                          bool *taken, struct list *l, struct errmsg *msg)
{
    bool any = false;
    for (size_t i = 0; i < f->n; i++) {
        if (!has_group(&f->entries[i], group, len))
            continue;
        any = true;
        if (!taken[i])
            append(l, f->entries[i].item, strlen(f->entries[i].item));
        taken[i] = true;
    }
    return any ? ERR_OK : no_group(f, group, len, msg);
}

enum err inventory_file_expand(const struct inventory_file *f, const char *list, char **out,
                               struct errmsg *msg)
{
    struct list l = {0};
    bool *taken = mem_calloc(f->n + 1, sizeof *taken);
    enum err e = ERR_OK;
    for (const char *at = list; e == ERR_OK;) {
        size_t len = strcspn(at, ","), skip = strspn(at, " ");
        const char *word = at + skip;
        size_t word_len = skip < len ? len - skip : 0;
        while (word_len > 0 && word[word_len - 1] == ' ')
            word_len--;
        if (word_len > 0 && *word == '@')
            e = add_group(f, word + 1, word_len - 1, taken, &l, msg);
        else
            append(&l, at, len);
        if (at[len] == '\0')
            break;
        at += len + 1;
    }
    mem_free(taken);
    if (e == ERR_OK)
        *out = l.text;
    else
        mem_free(l.text);
    return e;
}

bool inventory_file_needed(const char *list)
{
    for (const char *at = list;; at++) {
        at += strspn(at, " ");
        if (*at == '@')
            return true;
        at += strcspn(at, ",");
        if (*at == '\0')
            return false;
    }
}
