/* SPDX-License-Identifier: MIT */
#include "agent/service/policy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "common/yaml_bounds.h"

struct file {
    const char *name;
    yaml_document_t doc;
    struct policy *policy;
    struct errmsg *msg;
};

/* A key of a mapping: `set` gets its value, `what` is the policy or the rule that is filled in. */
struct key {
    const char *name;
    enum err (*set)(struct file *f, const struct key *k, const yaml_node_t *value, void *what);
    const char *accepted;
};

static const char targets_form[] =
    "a list of mappings with cidr, host and ports, such as {cidr: 10.0.0.0/8, ports: 443}";

/* --- errors --------------------------------------------------------------------------------- */

static enum err PRINTF_LIKE(3, 4)
    fail_at(const struct file *f, const yaml_mark_t *at, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return errmsg_set(f->msg, ERR_INVALID, "%s:%zu:%zu: %s", f->name, at->line + 1, at->column + 1,
                      text);
}

static const char *kind_of(const yaml_node_t *n)
{
    return n->type == YAML_MAPPING_NODE ? "a mapping" : "a list";
}

/* The value is not what the key takes. */
static enum err refuse(const struct file *f, const struct key *k, const yaml_node_t *n)
{
    char shown[UNITS_SHOWN];
    if (n->type != YAML_SCALAR_NODE)
        return fail_at(f, &n->start_mark, "%s is %s: accepted is %s", k->name, kind_of(n),
                       k->accepted);
    units_format_shown((const char *)n->data.scalar.value, shown);
    return fail_at(f, &n->start_mark, "%s: %s: accepted is %s", k->name, shown, k->accepted);
}

/* --- YAML ----------------------------------------------------------------------------------- */

static const yaml_node_t *node(const struct file *f, int index)
{
    return yaml_document_get_node((yaml_document_t *)(uintptr_t)&f->doc, index);
}

/* The text of a scalar; NULL: a list, a mapping, empty, a NUL inside or a tag of its own. */
static const char *scalar(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE || strcmp((const char *)n->tag, YAML_STR_TAG) != 0)
        return NULL;
    const char *text = (const char *)n->data.scalar.value;
    return text[0] != '\0' && strlen(text) == n->data.scalar.length ? text : NULL;
}

static enum err unknown_key(const struct file *f, const yaml_node_t *n, const struct key *keys,
                            size_t n_keys)
{
    char list[200] = "", shown[UNITS_SHOWN];
    for (size_t i = 0; i < n_keys; i++) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i > 0 ? ", " : "", keys[i].name);
    }
    if (n->type != YAML_SCALAR_NODE)
        return fail_at(f, &n->start_mark, "%s as a key: accepted are %s", kind_of(n), list);
    units_format_shown((const char *)n->data.scalar.value, shown);
    return fail_at(f, &n->start_mark, "unknown key %s: accepted are %s", shown, list);
}

static enum err read_map(struct file *f, const yaml_node_t *map, const struct key *keys,
                         size_t n_keys, void *what)
{
    uint32_t seen = 0;
    enum err e = ERR_OK;
    for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
         e == ERR_OK && pair < map->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = node(f, pair->key);
        const char *text = scalar(name);
        size_t i = 0;
        while (i < n_keys && (text == NULL || strcmp(keys[i].name, text) != 0))
            i++;
        if (i == n_keys)
            return unknown_key(f, name, keys, n_keys);
        if ((seen & 1u << i) != 0)
            return fail_at(f, &name->start_mark, "%s is given a second time", text);
        seen |= 1u << i;
        e = keys[i].set(f, &keys[i], node(f, pair->value), what);
    }
    return e;
}

/* One call of `each` an item; a list of at most `most`. */
static enum err read_list(struct file *f, const struct key *k, const yaml_node_t *list, size_t most,
                          enum err (*each)(struct file *f, const struct key *k,
                                           const yaml_node_t *item, void *what),
                          void *what)
{
    if (list->type != YAML_SEQUENCE_NODE)
        return refuse(f, k, list);
    const yaml_node_item_t *items = list->data.sequence.items.start;
    size_t n = (size_t)(list->data.sequence.items.top - items);
    if (n > most)
        return fail_at(f, &list->start_mark, "%s: %zu entries: accepted are at most %zu", k->name,
                       n, most);
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        e = each(f, k, node(f, items[i]), what);
    return e;
}

/* --- targets -------------------------------------------------------------------------------- */

static enum err read_prefix(struct file *f, const struct key *k, const yaml_node_t *n,
                            struct prefix *out)
{
    const char *text = scalar(n);
    char right[NETADDR_TEXT];
    if (text == NULL || prefix_parse(text, out) != ERR_OK)
        return refuse(f, k, n);
    if (!prefix_has_host_bits(out))
        return ERR_OK;
    struct prefix base = *out;
    for (unsigned i = out->bits; i < (out->addr.family == AF_INET6 ? 128u : 32u); i++)
        base.addr.bytes[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
    return fail_at(f, &n->start_mark, "%s: %s has bits set beyond its prefix: accepted is %s",
                   k->name, text, prefix_text(&base, right));
}

static enum err set_cidr(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy_rule *r = what;
    r->has_prefix = true;
    return read_prefix(f, k, n, &r->prefix);
}

/* A name whose last label is a number is an address, or is taken for one. */
static bool host_is_fine(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char label_set[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const char *label = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
    for (;;) {
        size_t len = strspn(label, label_set);
        if (len == 0 || len > 63)
            return false;
        if (label[len] == '\0')
            return strcspn(label, letters) < len;
        if (label[len] != '.')
            return false;
        label += len + 1;
    }
}

static enum err set_host(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy_rule *r = what;
    const char *text = scalar(n);
    if (text == NULL || strlen(text) >= sizeof r->host || !host_is_fine(text))
        return refuse(f, k, n);
    for (size_t i = 0; text[i] != '\0'; i++)
        r->host[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
    return ERR_OK;
}

static bool parse_port(const char **at, uint16_t *out)
{
    uint32_t port = 0;
    const char *from = *at;
    while (**at >= '0' && **at <= '9' && *at - from < 5)
        port = port * 10 + (uint32_t)(*(*at)++ - '0');
    *out = (uint16_t)port;
    return port >= 1 && port <= UINT16_MAX;
}

static enum err add_ports(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy_rule *r = what;
    const char *at = scalar(n);
    struct policy_ports p;
    if (at == NULL || !parse_port(&at, &p.from))
        return refuse(f, k, n);
    p.to = p.from;
    if (*at == '-') {
        at++;
        if (!parse_port(&at, &p.to) || p.to < p.from)
            return refuse(f, k, n);
    }
    if (*at != '\0')
        return refuse(f, k, n);
    r->ports[r->n_ports++] = p;
    return ERR_OK;
}

static enum err set_ports(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    if (n->type == YAML_SCALAR_NODE)
        return add_ports(f, k, n, what);
    if (n->type == YAML_SEQUENCE_NODE && n->data.sequence.items.start == n->data.sequence.items.top)
        return fail_at(f, &n->start_mark, "ports is empty: accepted is %s", k->accepted);
    return read_list(f, k, n, POLICY_PORTS_MAX, add_ports, what);
}

static const struct key rule_keys[] = {
    {"cidr", set_cidr, "an address or ADDRESS/BITS"},
    {"host", set_host, "a name or *.NAME of letters, digits, - and _ (an address goes under cidr)"},
    {"ports", set_ports, "a port of 1 to 65535, FROM-TO, or a list of these"},
};

static enum err add_target(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy *p = what;
    if (n->type != YAML_MAPPING_NODE)
        return refuse(f, k, n);
    struct policy_rule *r = &p->rules[p->n];
    *r = (struct policy_rule){.line = (uint32_t)n->start_mark.line + 1};
    enum err e = read_map(f, n, rule_keys, sizeof rule_keys / sizeof rule_keys[0], r);
    if (e == ERR_OK && !r->has_prefix && r->host[0] == '\0')
        e = fail_at(f, &n->start_mark, "an entry of targets without cidr and host: accepted is %s",
                    targets_form);
    r->applies = r->host[0] == '\0';
    p->n += e == ERR_OK;
    return e;
}

static enum err set_targets(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    ((struct policy *)what)->n = 0; /* the default gives way to what is listed */
    return read_list(f, k, n, POLICY_RULES_MAX, add_target, what);
}

static enum err add_unix(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    const char *path = scalar(n);
    struct errmsg why;
    if (path == NULL || strcmp(path, "*") == 0 || policy_allow_unix(what, path, &why) != ERR_OK)
        return refuse(f, k, n);
    return ERR_OK;
}

static enum err set_unix(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    return read_list(f, k, n, POLICY_UNIX_MAX, add_unix, what);
}

static enum err add_deny(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy *p = what;
    struct policy_deny *d = &p->deny[p->n_deny];
    enum err e = read_prefix(f, k, n, &d->prefix);
    d->line = (uint32_t)n->start_mark.line + 1;
    p->n_deny += e == ERR_OK;
    return e;
}

static enum err set_deny(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    return read_list(f, k, n, POLICY_DENY_MAX, add_deny, what);
}

/* --- caps ----------------------------------------------------------------------------------- */

static void note_line(struct policy *p, enum policy_cap cap, const yaml_node_t *n)
{
    p->cap_lines[cap] = (uint32_t)n->start_mark.line + 1;
}

static enum err set_max_rate(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy *p = what;
    const char *text = scalar(n);
    if (text == NULL || units_parse_rate(text, &p->max_rate, NULL) != ERR_OK)
        return refuse(f, k, n);
    p->unlimited_rate = false;
    note_line(p, POLICY_MAX_RATE, n);
    return ERR_OK;
}

static enum err set_max_connections(struct file *f, const struct key *k, const yaml_node_t *n,
                                    void *what)
{
    struct policy *p = what;
    const char *text = scalar(n);
    if (text == NULL || units_parse_count(text, &p->max_connections, NULL) != ERR_OK ||
        p->max_connections == 0 || p->max_connections > UINT32_MAX)
        return refuse(f, k, n);
    note_line(p, POLICY_MAX_CONNECTIONS, n);
    return ERR_OK;
}

static enum err set_max_duration(struct file *f, const struct key *k, const yaml_node_t *n,
                                 void *what)
{
    struct policy *p = what;
    const char *text = scalar(n);
    if (text == NULL ||
        units_parse_duration(text, NS_PER_SEC, &p->max_duration_ns, NULL) != ERR_OK ||
        p->max_duration_ns == 0)
        return refuse(f, k, n);
    note_line(p, POLICY_MAX_DURATION, n);
    return ERR_OK;
}

/* A count, or a whole number of KiB or MiB. */
static bool parse_bytes(const char *text, uint64_t *out)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } units[] = {{"KiB", 1u << 10}, {"MiB", 1u << 20}, {"", 1}};
    char digits[32];
    size_t len = strlen(text), i = 0, cut = 3;
    while (cut > 0 && (len <= cut || strcmp(text + len - cut, units[i].suffix) != 0))
        cut = strlen(units[++i].suffix);
    if (len - cut >= sizeof digits)
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)(len - cut), text);
    return units_parse_count(digits, out, NULL) == ERR_OK &&
           !__builtin_mul_overflow(*out, units[i].factor, out);
}

static enum err set_max_body(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy *p = what;
    const char *text = scalar(n);
    if (text == NULL || !parse_bytes(text, &p->max_body))
        return refuse(f, k, n);
    note_line(p, POLICY_MAX_BODY, n);
    return ERR_OK;
}

static enum err add_method(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy *p = what;
    const char *text = scalar(n);
    /* Case counts (RFC 9110 section 9.1), and a method in lower case is a slip. */
    if (text == NULL || strlen(text) >= POLICY_METHOD_MAX ||
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != strlen(text))
        return refuse(f, k, n);
    snprintf(p->methods[p->n_methods++], POLICY_METHOD_MAX, "%s", text);
    return ERR_OK;
}

static enum err set_methods(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    struct policy *p = what;
    p->any_method = false;
    note_line(p, POLICY_METHODS, n);
    return read_list(f, k, n, POLICY_METHODS_MAX, add_method, what);
}

static enum err set_scripts(struct file *f, const struct key *k, const yaml_node_t *n, void *what)
{
    const char *text = scalar(n);
    if (text == NULL || (strcmp(text, "true") != 0 && strcmp(text, "false") != 0))
        return refuse(f, k, n);
    ((struct policy *)what)->scripts = text[0] == 't';
    return ERR_OK;
}

static const struct key policy_keys[] = {
    {"targets", set_targets, targets_form},
    {"unix", set_unix, "a list of absolute paths of UNIX sockets"},
    {"deny", set_deny, "a list of addresses and ADDRESS/BITS"},
    {"max_rate", set_max_rate, "a rate such as 1000, 2k, 100/s or 6/m"},
    {"max_connections", set_max_connections, "a whole number of at least 1"},
    {"max_duration", set_max_duration, "a duration such as 90s, 10m or 1h30m"},
    {"max_body", set_max_body, "a number of bytes such as 0, 4096, 64k, 64KiB or 4MiB"},
    {"methods", set_methods, "a list of methods in capitals, such as [GET, HEAD]"},
    {"scripts", set_scripts, "true or false"},
};

/* --- the file ------------------------------------------------------------------------------- */

static enum err syntax_error(const struct file *f, const yaml_parser_t *y)
{
    yaml_mark_t at = y->problem_mark;
    if (y->error == YAML_READER_ERROR || y->error == YAML_MEMORY_ERROR)
        at = y->mark; /* about bytes: problem_mark is not set */
    const char *problem = y->problem != NULL ? y->problem : "out of memory";
    return fail_at(f, &at, "not valid YAML: %s", problem);
}

static enum err check_bounds(const struct file *f, const void *text, size_t len)
{
    struct yaml_excess x;
    if (yaml_within_bounds(text, len, &x))
        return ERR_OK;
    yaml_mark_t at = {.line = x.line - 1, .column = x.column - 1};
    return fail_at(f, &at, "%s", x.what);
}

static enum err read_document(struct file *f, yaml_parser_t *y)
{
    if (!yaml_parser_load(y, &f->doc))
        return syntax_error(f, y);
    const yaml_node_t *root = yaml_document_get_root_node(&f->doc);
    enum err e = ERR_OK;
    if (root == NULL)
        e = fail_at(f, &y->mark, "the file is empty: accepted is a mapping of rules");
    else if (root->type != YAML_MAPPING_NODE)
        e = fail_at(f, &root->start_mark, "accepted is a mapping of rules, such as max_rate: 1000");
    else
        e = read_map(f, root, policy_keys, sizeof policy_keys / sizeof policy_keys[0], f->policy);
    yaml_document_delete(&f->doc);
    if (e != ERR_OK)
        return e;
    if (!yaml_parser_load(y, &f->doc))
        return syntax_error(f, y);
    root = yaml_document_get_root_node(&f->doc);
    if (root != NULL)
        e = fail_at(f, &root->start_mark, "a second document: accepted is one");
    yaml_document_delete(&f->doc);
    return e;
}

/* The end of a long name says more than its beginning. */
static void set_source(struct policy *p, const char *name)
{
    size_t len = strlen(name);
    bool cut = len >= sizeof p->source;
    snprintf(p->source, sizeof p->source, "%s%s", cut ? "..." : "",
             cut ? name + len - (sizeof p->source - 4) : name);
    for (char *c = p->source; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

enum err policy_parse(const char *name, const void *text, size_t len, struct policy *out,
                      struct errmsg *msg)
{
    yaml_parser_t y;
    struct file f = {.name = name, .msg = msg, .policy = mem_calloc(1, sizeof *f.policy)};
    policy_loopback_only(f.policy);
    set_source(f.policy, name);
    enum err e = check_bounds(&f, text, len);
    if (e == ERR_OK && !yaml_parser_initialize(&y))
        e = ERR_NOMEM;
    if (e == ERR_OK) {
        yaml_parser_set_input_string(&y, text, len);
        e = read_document(&f, &y);
        yaml_parser_delete(&y);
    }
    if (e == ERR_OK)
        *out = *f.policy;
    mem_free(f.policy);
    return e;
}

static enum err check_file(const char *path, int fd, size_t *len, struct errmsg *msg)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return errmsg_set(msg, ERR_SYSTEM, "policy %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return errmsg_set(msg, ERR_REFUSED, "policy %s: accepted is a regular file", path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return errmsg_set(msg, ERR_REFUSED,
                          "policy %s belongs to user %u: accepted is root or the agent's user %u "
                          "(chown root %s)",
                          path, (unsigned)st.st_uid, (unsigned)geteuid(), path);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return errmsg_set(msg, ERR_REFUSED,
                          "policy %s: group or others may write it (mode %04o); chmod go-w %s",
                          path, (unsigned)(st.st_mode & 07777), path);
    if (st.st_size > POLICY_FILE_MAX)
        return errmsg_set(msg, ERR_REFUSED, "policy %s: %lld bytes: accepted are at most %u", path,
                          (long long)st.st_size, POLICY_FILE_MAX);
    *len = (size_t)st.st_size;
    return ERR_OK;
}

static enum err read_all(const char *path, int fd, char *buf, size_t len, struct errmsg *msg)
{
    size_t got = 0;
    while (got < len) {
        ssize_t n = read(fd, buf + got, len - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return errmsg_set(msg, ERR_SYSTEM, "policy %s: %s", path,
                              n < 0 ? strerror(errno) : "it became shorter while it was read");
        got += (size_t)n;
    }
    return ERR_OK;
}

enum err policy_load(const char *path, struct policy *out, struct errmsg *msg)
{
    size_t len = 0;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errmsg_set(msg, ERR_SYSTEM, "policy %s: %s", path, strerror(errno));
    enum err e = check_file(path, fd, &len, msg);
    if (e == ERR_OK) {
        text = mem_calloc(len + 1, 1);
        e = read_all(path, fd, text, len, msg);
    }
    if (e == ERR_OK)
        e = policy_parse(path, text, len, out, msg);
    mem_free(text);
    close(fd);
    return e;
}
