/* SPDX-License-Identifier: MIT */
#include "docs/generate/program.h"

#include <stdlib.h>
#include <string.h>

#include "agent/service/agent_options.h"
#include "agent/service/selftest.h"

static struct doc_command *add(struct doc_program *p)
{
    if (p->n_commands == DOC_COMMANDS_MAX) {
        fprintf(stderr, "%s: more than %d commands\n", p->name, DOC_COMMANDS_MAX);
        exit(EXIT_FAILURE);
    }
    struct doc_command *c = &p->commands[p->n_commands++];
    *c = (struct doc_command){0};
    return c;
}

static void add_words(struct doc_program *p, const struct doc_command *of)
{
    struct option_alias a = {of->words, 0};
    while (option_alias_next(&a)) {
        struct doc_command *c = add(p);
        *c = *of;
        c->words = NULL;
        snprintf(c->word, sizeof c->word, "%.*s", (int)a.len, a.text);
    }
}

static void add_entry(struct doc_program *p, const struct cmd_entry *e)
{
    struct doc_command *c = add(p);
    c->name = e->name;
    c->usage = e->usage;
    c->text = e->text;
    c->words = e->words;
    if (e->options != NULL)
        c->n_groups = e->options(c->groups);
    if (c->words != NULL)
        add_words(p, c);
}

static void init_ctl(struct doc_program *p)
{
    /* The two that hammer-ctl takes in the place of a command have no table. */
    static const struct option_row rows[] = {
        {.name = "help", .aliases = "-h", .type = OPTION_FLAG, .text = "print an overview"},
        {.name = "version", .aliases = "", .type = OPTION_FLAG, .text = "print the version"},
    };
    struct doc_command *own = add(p);
    own->usage = "COMMAND [flags]";
    own->groups[0] = (struct option_group){.rows = rows, .n = sizeof rows / sizeof rows[0]};
    own->n_groups = 1;
    size_t n;
    const struct cmd_entry *const *entries = cmd_list(&n);
    for (size_t i = 0; i < n; i++)
        add_entry(p, entries[i]);
}

static void init_agent(struct doc_program *p)
{
    struct doc_command *c = add(p);
    c->usage = "[flags]";
    c->groups[0].rows = agent_options(&c->groups[0].n);
    c->n_groups = 1;
    c = add(p);
    c->name = "selftest";
    c->usage = "selftest [flags]";
    c->text = "find out how much this host can send on time";
    c->groups[0].rows = selftest_options(&c->groups[0].n);
    c->n_groups = 1;
}

bool doc_program_init(struct doc_program *p, const char *name)
{
    static const struct {
        const char *name;
        void (*init)(struct doc_program *p);
    } known[] = {{"hammer-ctl", init_ctl}, {"hammer-agent", init_agent}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        p->name = known[i].name;
        p->n_commands = 0;
        known[i].init(p);
        return true;
    }
    return false;
}

const struct doc_command *doc_command_find(const struct doc_program *p, const char *name)
{
    for (size_t i = 1; i < p->n_commands; i++)
        if (strcmp(p->commands[i].name, name) == 0)
            return &p->commands[i];
    return NULL;
}

const struct option_row *doc_next_row(const struct doc_command *c, struct doc_walk *w)
{
    for (; w->group < c->n_groups; w->group++, w->at = 0) {
        const struct option_group *g = &c->groups[w->group];
        if (g->word != NULL && strcmp(g->word, c->word) != 0)
            continue;
        const struct option_row *row = option_group_next(g, &w->at);
        if (row != NULL)
            return row;
    }
    return NULL;
}

/* The i-th alias that is, or is not, a letter; false = there are fewer. */
static bool nth_alias(const struct option_row *row, bool letter, size_t *i, char *buf, size_t size)
{
    struct option_alias a = {row->aliases, 0};
    while (option_alias_next(&a)) {
        if ((a.len == 2) != letter || (*i)-- > 0)
            continue;
        snprintf(buf, size, "%.*s", (int)a.len, a.text);
        return true;
    }
    return false;
}

bool doc_next_spelling(const struct option_row *row, size_t *at, char *buf, size_t size)
{
    size_t i = (*at)++;
    if (nth_alias(row, true, &i, buf, size))
        return true;
    if (i == 0) {
        snprintf(buf, size, "--%s", row->name);
        return true;
    }
    i--;
    return nth_alias(row, false, &i, buf, size);
}

bool doc_takes_file(const struct option_row *row)
{
    return row->meta != NULL && (strcmp(row->meta, "FILE") == 0 || strcmp(row->meta, "DIR") == 0);
}

void doc_put_escaped(FILE *out, const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (strchr(special, *text) != NULL)
            fputc('\\', out);
        fputc(*text, out);
    }
}
