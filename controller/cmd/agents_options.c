/* SPDX-License-Identifier: MIT */
#include "controller/cmd/agents_options.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/option_help.h"
#include "common/redact.h"
#include "controller/cmd/cmd.h"
#include "proto/url.h"

_Static_assert(offsetof(struct agents_options, run) == 0, "run's rows use the same offsets");

static const struct option_row own_rows[] = {
    {.name = "target",
     .aliases = "",
     .type = OPTION_STRING,
     .offset = offsetof(struct agents_options, target),
     .set_offset = OPTION_NO_SET,
     .meta = "URL",
     .accepted = "a URL: http://HOST[:PORT]/",
     .text = "let each agent resolve this host, check it against its policy and connect to it"},
    {.name = "json",
     .aliases = "",
     .type = OPTION_FLAG,
     .offset = offsetof(struct agents_options, run.json),
     .set_offset = OPTION_NO_SET,
     .text = "print JSON (schema hammer.agents/1) instead of text"},
};
#define OWN_N    (sizeof own_rows / sizeof own_rows[0])
#define ROWS_MAX 40

_Static_assert(2 + RUN_OPTIONS_GROUPS <= CMD_GROUPS_MAX, "all groups have their place");

/* Those of run's flags that a list of agents understands. */
#define SHARED "agents inventory insecure-agents tls-ca tls-cert tls-key tls-crl debug help"

/* Without a word: our own, and some of run's. With "check": all of run's. */
size_t agents_options_groups(struct option_group groups[])
{
    struct option_group run[RUN_OPTIONS_GROUPS];
    size_t n = run_options_groups(run);
    groups[0] = (struct option_group){.title = "[flags]",
                                      .text = "ask each agent what it is, without taking it",
                                      .rows = own_rows,
                                      .n = OWN_N,
                                      .word = ""};
    groups[1] = run_options_own();
    groups[1].names = SHARED;
    groups[1].word = "";
    for (size_t i = 0; i < n; i++) {
        groups[2 + i] = run[i];
        groups[2 + i].title = i == 0 ? "check [flags of run] URL" : NULL;
        groups[2 + i].text = i == 0 ? "say whether that run would start" : NULL;
        groups[2 + i].word = "check";
        groups[2 + i].elsewhere = true;
    }
    return 2 + n;
}

static size_t list_rows(struct option_row rows[ROWS_MAX])
{
    struct option_group groups[CMD_GROUPS_MAX];
    size_t n = 0;
    agents_options_groups(groups);
    for (size_t g = 0; g < 2; g++) {
        const struct option_row *row;
        for (size_t at = 0; n < ROWS_MAX && (row = option_group_next(&groups[g], &at)) != NULL;)
            rows[n++] = *row;
    }
    return n;
}

static void check_help(void)
{
    struct option_group groups[RUN_OPTIONS_GROUPS];
    printf("usage: hammer-ctl agents check [flags of run] URL\n\n"
           "Would a run with these flags start? Asks its agents and makes the preflight that run "
           "makes;\nsends nothing to the target.\n");
    option_help_groups(groups, run_options_groups(groups), stdout);
    printf("\nExit codes: 0 it would start, 1 bad input, 2 it would not.\n");
}

void agents_options_help(const struct agents_options *o)
{
    struct option_row rows[ROWS_MAX];
    if (o->check) {
        check_help();
        return;
    }
    printf("usage: hammer-ctl agents [flags]\n"
           "       hammer-ctl agents check [flags of run] URL\n\n"
           "agents asks each agent what it is, without taking it. agents check takes the command "
           "line of\na run and says whether it would start.\n\n");
    option_help(rows, list_rows(rows), stdout);
    printf("\nExit codes: 0 every agent was reached, and reaches the target; 1 bad input; 2 "
           "otherwise.\n");
}

/* --- the target ----------------------------------------------------------------------------- */

static enum err take_target(struct agents_options *o, const char *url, struct errmsg *msg)
{
    struct url_parts u;
    struct errmsg why;
    enum err e = plan_url_parse(&o->run.plan, url, &u, &why);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "--target %s", why.text);
    snprintf(o->scheme, sizeof o->scheme, "%s", u.scheme);
    snprintf(o->target_text, sizeof o->target_text, u.ipv6_literal ? "[%s]:%s" : "%s:%s", u.host,
             u.port);
    url_clear(&u);
    return ERR_OK;
}

/* --- parsing -------------------------------------------------------------------------------- */

static enum err parse_words(const struct option_row *rows, size_t n, int argc, char **argv,
                            struct agents_options *o, const char **rest, size_t *n_rest,
                            struct errmsg *msg)
{
    enum err e = run_options_words(rows, n, argc, argv, &o->run, rest, n_rest, msg);
    if (e == ERR_OK && o->check && o->run.local_set)
        e = errmsg_set(msg, ERR_INVALID,
                       "--local: accepted are agents that are there already (--agents)");
    if (e == ERR_OK && o->run.agents == NULL) {
        o->run.agents = mem_strdup("@all");
        o->all = true;
    }
    return e;
}

/* Who has neither named agents nor written a file is told of both ways. */
static enum err explain(const struct agents_options *o, enum err e, struct errmsg *msg)
{
    if (e != ERR_NOT_FOUND || !o->all)
        return e;
    struct errmsg why = *msg;
    const char *text = strchr(why.text, '/'); /* behind "--agents @all: " */
    return errmsg_set(msg, e, "no agents: accepted is --agents LIST, or an inventory file (%s)",
                      text != NULL ? text : why.text);
}

static enum err refuse_word(const char *word, struct errmsg *msg)
{
    char shown[200];
    redact_url(word, shown, sizeof shown);
    return errmsg_set(msg, ERR_INVALID,
                      "%s: accepted is hammer-ctl agents [flags], or agents check [flags] URL",
                      shown);
}

static enum err parse_list(int argc, char **argv, struct agents_options *o, struct inventory *inv,
                           struct errmsg *msg)
{
    struct option_row rows[ROWS_MAX];
    size_t n = list_rows(rows), n_rest = 0;
    const char **rest = mem_calloc((size_t)argc, sizeof *rest);
    enum err e = parse_words(rows, n, argc, argv, o, rest, &n_rest, msg);
    if (e == ERR_OK && n_rest > 0 && !o->run.help)
        e = refuse_word(rest[0], msg);
    if (e == ERR_OK && !o->run.help && o->target != NULL)
        e = take_target(o, o->target, msg);
    if (e == ERR_OK && !o->run.help)
        e = explain(o, run_options_agents(&o->run, inv, msg), msg);
    mem_free(rest);
    return e;
}

static enum err parse_check(int argc, char **argv, struct agents_options *o, struct inventory *inv,
                            struct errmsg *msg)
{
    size_t n, n_rest = 0;
    const char **rest = mem_calloc((size_t)argc, sizeof *rest);
    struct option_row *rows = run_options_rows(&n);
    enum err e = parse_words(rows, n, argc, argv, o, rest, &n_rest, msg);
    if (e == ERR_OK && !o->run.help)
        e = explain(o, run_options_check(&o->run, rest, n_rest, inv, msg), msg);
    if (e == ERR_OK && !o->run.help)
        e = take_target(o, o->run.plan.url, msg);
    mem_free(rows);
    mem_free(rest);
    return e;
}

enum err agents_options_parse(int argc, char **argv, struct agents_options *o,
                              struct inventory *inv, struct errmsg *msg)
{
    *o = (struct agents_options){.run = {.local = 1}};
    plan_defaults(&o->run.plan);
    o->check = argc > 1 && strcmp(argv[1], "check") == 0;
    if (o->check)
        return parse_check(argc - 1, argv + 1, o, inv, msg);
    return parse_list(argc, argv, o, inv, msg);
}

void agents_options_clear(struct agents_options *o)
{
    option_clear(own_rows, OWN_N, o);
    run_options_clear(&o->run);
}
