/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/host.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "controller/cmd/agents_options.h"
#include "controller/cmd/cmd.h"
#include "controller/report/roster.h"
#include "controller/run/survey.h"
#include "controller/run/survey_check.h"
#include "proto/link.h"

#define EXIT_INTERRUPTED 130

/* Everything one `hammer-ctl agents` holds. */
struct session {
    struct agents_options options;
    struct inventory inventory;
    struct loop *loop;
    struct link_tls *tls; /* NULL = no agent wants it */
    struct survey_agent *agents;
    struct roster_problem *problems;
    size_t n_problems;
};

static void on_signal(int signo, void *arg)
{
    (void)signo;
    loop_stop(((struct session *)arg)->loop);
}

static void on_problem(void *arg, const struct fleet_problem *p)
{
    struct session *s = arg;
    s->problems = mem_realloc(s->problems, s->n_problems + 1, sizeof *s->problems);
    s->problems[s->n_problems++] = (struct roster_problem){
        .refused = p->refused, .agent = p->agent, .text = mem_strdup(p->text)};
}

/* One line for each that did not answer; the table has its row as well. */
static bool tell_unreached(const struct session *s)
{
    bool all = true;
    for (size_t i = 0; i < s->inventory.n; i++) {
        if (s->agents[i].reached)
            continue;
        all = false;
        fprintf(stderr, "hammer-ctl: agent %s: %s\n", s->inventory.agents[i].address,
                s->agents[i].problem);
    }
    return all;
}

static bool all_reach_target(const struct session *s)
{
    for (size_t i = 0; i < s->inventory.n; i++)
        if (s->agents[i].info.target > INFO_TARGET_REACHED)
            return false;
    return true;
}

static void on_note(void *arg, const char *text)
{
    (void)arg;
    fprintf(stderr, "hammer-ctl: %s\n", text);
}

static enum err ask_all(struct session *s, struct errmsg *msg)
{
    host_fd_limit(); /* one an agent */
    link_block_signals();
    enum err e = loop_new(&s->loop, msg);
    if (e == ERR_OK)
        e = loop_signal(s->loop, SIGINT, on_signal, s);
    if (e == ERR_OK)
        e = loop_signal(s->loop, SIGTERM, on_signal, s);
    if (e == ERR_OK)
        e = tls_options_open(&s->options.run.tls, inventory_uses_tls(&s->inventory), on_note, s,
                             &s->tls, msg);
    if (e != ERR_OK)
        return e;
    struct link_options link = {.tls = s->tls};
    struct survey_config cfg = {.loop = s->loop, .inventory = &s->inventory, .link = &link};
    if (s->options.scheme[0] != '\0') {
        cfg.scheme = s->options.scheme;
        cfg.target = s->options.target_text;
    }
    s->agents = mem_calloc(s->inventory.n + 1, sizeof *s->agents);
    return survey_run(&cfg, s->agents);
}

static bool print(const struct session *s)
{
    char target[300];
    struct roster r = {.inventory = &s->inventory,
                       .agents = s->agents,
                       .checked = s->options.check,
                       .problems = s->problems,
                       .n_problems = s->n_problems};
    if (s->options.scheme[0] != '\0') {
        snprintf(target, sizeof target, "%s://%s", s->options.scheme, s->options.target_text);
        r.target = target;
    }
    enum err e = ERR_OK;
    if (s->options.run.json)
        e = roster_json(&r, stdout);
    else
        roster_text(&r, stdout);
    if (e == ERR_OK && fflush(stdout) == 0 && !ferror(stdout))
        return true;
    fprintf(stderr, "hammer-ctl: the list could not be written: %s\n", strerror(errno));
    return false;
}

static int execute(struct session *s, struct errmsg *msg)
{
    enum err e = ask_all(s, msg);
    if (e == ERR_CLOSED)
        return EXIT_INTERRUPTED;
    if (e != ERR_OK)
        return EXIT_COULD_NOT;
    size_t refused = 0;
    if (s->options.check)
        refused = survey_check(&s->options.run.plan, &s->inventory, s->agents, on_problem, s);
    bool printed = print(s), reached = tell_unreached(s);
    if (!printed || !reached)
        return EXIT_COULD_NOT;
    if (s->options.check)
        return refused == 0 ? 0 : EXIT_COULD_NOT;
    return all_reach_target(s) ? 0 : EXIT_COULD_NOT;
}

static void dispose(struct session *s)
{
    if (s->loop != NULL)
        loop_finish(s->loop);
    loop_free(s->loop);
    link_tls_free(s->tls);
    for (size_t i = 0; i < s->n_problems; i++)
        mem_free(s->problems[i].text);
    mem_free(s->problems);
    mem_free(s->agents);
    inventory_clear(&s->inventory);
    agents_options_clear(&s->options);
}

static int exec(int argc, char **argv)
{
    struct session s = {0};
    struct errmsg msg = {{0}};
    int code = EXIT_BAD_INPUT;
    enum err e = agents_options_parse(argc, argv, &s.options, &s.inventory, &msg);
    if (e == ERR_OK && s.options.run.help) {
        agents_options_help(&s.options);
        code = 0;
    } else if (e == ERR_OK) {
        log_open("hammer-ctl", s.options.run.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
        signal(SIGPIPE, SIG_IGN);
        code = execute(&s, &msg);
    }
    if (msg.text[0] != '\0' && code != 0)
        fprintf(stderr, "hammer-ctl: %s\n", msg.text);
    dispose(&s);
    return code;
}

const struct cmd_entry cmd_agents = {.name = "agents",
                                     .usage = "agents [check] [flags]",
                                     .text = "show agents, or check whether a run would start",
                                     .has_help = true,
                                     .exec = exec,
                                     .options = agents_options_groups,
                                     .words = "check"};
