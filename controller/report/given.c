/* SPDX-License-Identifier: MIT */
#include "controller/report/given.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"

#define SHOWN_MAX (2 * (size_t)PLAN_HEADER_LINE_MAX)

enum how {
    SHOW_VALUE, /* as a URL would be: without userinfo and tokens */
    SHOW_PLAIN, /* its @ is not what follows a password */
    SHOW_HEADER,
    SHOW_BODY /* its length */
};

/* What is not shown as it is, and what the head of the text report says already. */
static const struct special {
    const char *name;
    enum how how;
    bool in_head;
} special[] = {
    {"header", SHOW_HEADER, false},       {"data", SHOW_BODY, false},
    {"rate", SHOW_VALUE, true},           {"duration", SHOW_VALUE, true},
    {"stages", SHOW_PLAIN, true},         {"requests", SHOW_VALUE, true},
    {"forever", SHOW_VALUE, true},        {"arrivals", SHOW_VALUE, true},
    {"connections", SHOW_VALUE, true},    {"threads", SHOW_VALUE, true},
    {"jitter", SHOW_VALUE, true},         {"dispatch-quantum", SHOW_VALUE, true},
    {"rate-per-agent", SHOW_VALUE, true}, {"closed-loop", SHOW_VALUE, true},
};

static struct special special_of(const char *name)
{
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strcmp(special[i].name, name) == 0)
            return special[i];
    return (struct special){.name = name, .how = SHOW_VALUE};
}

static void show(const struct plan *p, const char *secret_headers, const char *value,
                 struct given *g, given_fn fn, void *arg)
{
    struct special how = special_of(g->name);
    char *shown = mem_calloc(SHOWN_MAX, 1);
    if (how.how == SHOW_HEADER)
        redact_header(value, secret_headers, shown, SHOWN_MAX);
    else if (how.how == SHOW_BODY)
        snprintf(shown, SHOWN_MAX, "%zu bytes", p->body_len);
    else if (how.how == SHOW_PLAIN)
        snprintf(shown, SHOWN_MAX, "%s", value);
    else
        redact_url(value, shown, SHOWN_MAX);
    g->in_head = how.in_head;
    g->value = shown;
    fn(arg, g);
    mem_free(shown);
}

static void show_list(const struct plan *p, const char *secret_headers,
                      const struct option_row *row, given_fn fn, void *arg)
{
    const struct option_list *l =
        (const struct option_list *)(const void *)((const char *)p + row->offset);
    for (size_t i = 0; i < l->n; i++) {
        struct given g = {.list = true, .n = l->n, .i = i};
        snprintf(g.name, sizeof g.name, "%s", row->name);
        show(p, secret_headers, l->items[i], &g, fn, arg);
    }
}

static bool is_flag(const char *item)
{
    return strchr(item, '=') == NULL;
}

void given_each(const struct plan *p, const char *secret_headers, given_fn fn, void *arg)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    for (size_t i = 0; i < p->given.n; i++) {
        struct given g = {.flag = is_flag(p->given.items[i])};
        const char *value;
        option_given(p->given.items[i], g.name, &value);
        show(p, secret_headers, value, &g, fn, arg);
    }
    for (size_t i = 0; i < n; i++)
        if (rows[i].type == OPTION_LIST)
            show_list(p, secret_headers, &rows[i], fn, arg);
}
