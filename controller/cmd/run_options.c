/* SPDX-License-Identifier: MIT */
#include "controller/cmd/run_options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/mem.h"
#include "common/option_file.h"
#include "common/redact.h"
#include "common/xdg.h"
#include "controller/cmd/local_agents.h"
#include "controller/cmd/outputs.h"
#include "controller/cmd/run_again.h"
#include "controller/cmd/run_requests.h"
#include "controller/cmd/secret_source.h"
#include "controller/run/inventory_file.h"
#include "controller/watch/dump_file.h"
#include "controller/watch/http_serve.h"

_Static_assert(offsetof(struct run_options, plan) == 0, "the plan's rows use the same offsets");

#define AT(member) .offset = offsetof(struct run_options, member)
#define FLAG(member, long_name, alias, help)                                                       \
    {                                                                                              \
        .name = long_name, .aliases = alias, .type = OPTION_FLAG, AT(member),                      \
        .set_offset = OPTION_NO_SET, .text = help                                                  \
    }

static enum err parse_on_loss(const struct option_row *row, const char *value, void *target,
                              struct errmsg *msg)
{
    static const char *const names[] = {[COORD_LOSS_ABORT] = "abort",
                                        [COORD_LOSS_CONTINUE] = "continue",
                                        [COORD_LOSS_REDISTRIBUTE] = "redistribute"};
    (void)msg; /* the row's text says it */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(value, names[i]) != 0)
            continue;
        *(enum coord_on_loss *)(void *)((char *)target + row->offset) = (enum coord_on_loss)i;
        return ERR_OK;
    }
    return ERR_INVALID;
}

static const struct option_row own_rows[] = {
    {.name = "again",
     .aliases = "",
     .type = OPTION_STRING,
     AT(again_run),
     .set_offset = OPTION_NO_SET,
     .meta = "RUN",
     .accepted = "a run of the history",
     .text = "the plan of that run anew, --abort-on and --slo included; flags and environment beat "
             "it, secrets must be given once more"},
    {.name = "file",
     .aliases = "-f",
     .type = OPTION_STRING,
     AT(file),
     .set_offset = OPTION_NO_SET,
     .meta = "FILE",
     .accepted = "a file name",
     .text =
         "plan in YAML: flags by their long names (rate: 2k), url, and under requests a list of "
         "requests, each with url, method, headers, data or body, weight and name; flags and "
         "environment beat it"},
    {.name = "urls",
     .aliases = "",
     .type = OPTION_STRING,
     AT(urls),
     .set_offset = OPTION_NO_SET,
     .meta = "FILE",
     .accepted = "a file name",
     .text = "requests from a list, one URL a line as siege has it, or targets as vegeta has them; "
             "up to 20 have a row each in the report"},
    {.name = "agents",
     .aliases = "",
     .type = OPTION_STRING,
     AT(agents),
     .set_offset = offsetof(struct run_options, agents_set),
     .meta = "LIST",
     .accepted = "[NAME@]HOST[:PORT][*WEIGHT],..., URLs, or @GROUP",
     .text = "agents to use, comma-separated: [NAME@]HOST[:PORT][*WEIGHT] (port 7400), URLs, or "
             "@GROUP of the inventory file (@all: every one); default of run: one local agent, "
             "started for it; of agents: @all"},
    {.name = "inventory",
     .aliases = "",
     .type = OPTION_STRING,
     AT(inventory),
     .set_offset = OPTION_NO_SET,
     .meta = "FILE",
     .accepted = "a file name",
     .text = "file that lists agents and their groups, for @GROUP; default: agents.yml in "
             "~/.config/hammer"},
    {.name = "local",
     .aliases = "",
     .type = OPTION_U32,
     AT(local),
     .set_offset = offsetof(struct run_options, local_set),
     .min = 1,
     .max = LOCAL_AGENTS_MAX,
     .meta = "N",
     .text = "start N local agents for this run instead of one"},
    TLS_OPTION_ROWS(struct run_options, tls),
    FLAG(insecure_agents, "insecure-agents", "",
         "plain tcp to agents on other machines (whoever listens in can read and change it)"),
    {.name = "wait-agents",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(patience.wait_agents_ns),
     .set_offset = OPTION_NO_SET,
     .min = 100 * NS_PER_MS,
     .max = 24 * 3600 * NS_PER_SEC,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "wait so long for agents to be there (default 10s)"},
    {.name = "min-agents",
     .aliases = "",
     .type = OPTION_U32,
     AT(patience.min_agents),
     .set_offset = OPTION_NO_SET,
     .min = 1,
     .max = INVENTORY_MAX,
     .meta = "N",
     .text = "when the wait is over, start with at least N agents and without the others "
             "(default: all are needed)"},
    {.name = "on-agent-loss",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(patience.on_loss),
     .set_offset = OPTION_NO_SET,
     .meta = "WHAT",
     .accepted = "abort, continue or redistribute",
     .text = "when an agent is lost: abort = stop all and report; continue = the others go on; "
             "redistribute = they take its share over (default abort; always exit code 3)",
     .parse = parse_on_loss},
    {.name = "lease",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(patience.lease_ns),
     .set_offset = OPTION_NO_SET,
     .min = 3 * NS_PER_SEC,
     .max = 60 * NS_PER_SEC,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "an agent that hears nothing of hammer-ctl for so long stops by itself, and counts "
             "as lost soon after (default 10s)"},
    FLAG(patience.force, "force", "",
         "take agents that keep the results of a run whose hammer-ctl is gone; those are lost"),
    {.name = "abort-on",
     .aliases = "",
     .type = OPTION_LIST,
     AT(abort_texts),
     .set_offset = OPTION_NO_SET,
     .meta = "CONDITION",
     .accepted = "a condition such as 'errors>100' or 'p99>2s for 10s'",
     .text = "stop all agents once this is so, print the report and exit with 99: 'errors>100' (of "
             "the run so far), 'error-rate>5%', 'p99>2s for 10s' (each interval of the last 10 s), "
             "'rate<90% for 5s', 'status.503>10', 'timeouts>1%'; looked at every --interval "
             "(repeatable)"},
    {.name = "slo",
     .aliases = "",
     .type = OPTION_LIST,
     AT(slo_texts),
     .set_offset = OPTION_NO_SET,
     .meta = "CONDITION",
     .accepted = "a condition such as 'p99<50ms' or 'errors<0.1%'",
     .text = "what the run is to be like: 'p99<50ms', 'uncorrected.p50<5ms', 'errors<0.1%', "
             "'rate>=99%', 'login: p99<1s' of a request, 'stage 2: p99<1s'; judged at the end with "
             "all that was due; exit 99 when one does not hold (repeatable)"},
    {.name = "max-connect-failures",
     .aliases = "",
     .type = OPTION_COUNT,
     AT(connect_failures_max),
     .set_offset = offsetof(struct run_options, connect_failures_set),
     .min = 0,
     .max = UINT64_C(1000000000000),
     .meta = "N",
     .text = "the same as --abort-on 'connect-errors>N': stop when more attempts to connect to the "
             "target have failed (default: no limit)"},
    {.name = "name",
     .aliases = "",
     .type = OPTION_STRING,
     AT(name),
     .set_offset = OPTION_NO_SET,
     .meta = "TEXT",
     .accepted = "a text",
     .text = "name of the run, kept in the report"},
    FLAG(json, "json", "",
         "print JSON (schema hammer.report/1, of agents hammer.agents/1) instead of text"),
    {.name = "output",
     .aliases = "-o",
     .type = OPTION_LIST,
     AT(outputs),
     .set_offset = OPTION_NO_SET,
     .meta = "FILE",
     .accepted = "a file name",
     .text = "also write the report to FILE, its format by the ending: .txt, .json, .csv, .hlog, "
             ".hgrm, .html, .xml (JUnit), .md or .hammer (the whole run); or FORMAT:FILE; - is "
             "standard output (repeatable)"},
    RESULT_OPTION_ROWS(struct run_options, results),
    {.name = "header-file",
     .aliases = "",
     .type = OPTION_LIST,
     AT(secrets.header_files),
     .set_offset = OPTION_NO_SET,
     .meta = "FILE",
     .accepted = "FILE, env:NAME or -",
     .text = "add the headers of FILE, NAME: VALUE on each line, for secrets, which no flag takes; "
             "also env:NAME or - for stdin; nobody but you may be able to read it (repeatable)"},
    {.name = "bearer",
     .aliases = "",
     .type = OPTION_STRING,
     AT(secrets.bearer),
     .set_offset = OPTION_NO_SET,
     .meta = "FILE",
     .accepted = "FILE, env:NAME or -",
     .text = "send Authorization: Bearer with the token that FILE holds; also env:NAME or -"},
    {.name = "basic",
     .aliases = "",
     .type = OPTION_STRING,
     AT(secrets.basic),
     .set_offset = OPTION_NO_SET,
     .meta = "FILE",
     .accepted = "FILE, env:NAME or -",
     .text =
         "send Authorization: Basic with the user:password that FILE holds; also env:NAME or -"},
    {.name = "redact",
     .aliases = "",
     .type = OPTION_STRING,
     AT(secrets.redact),
     .set_offset = OPTION_NO_SET,
     .meta = "NAMES",
     .accepted = "header names, comma-separated",
     .text = "these headers are secrets too, as Authorization and Cookie are: no flag takes their "
             "values and no report has them"},
    FLAG(no_journal, "no-journal", "",
         "keep no journal of the run on disk (it holds the plan, with its secrets, in a file that "
         "only you can read, until the run ends); without it hammer-ctl attach cannot take over"),
    FLAG(
        spectrum, "latency", "-L",
        "also where the time goes, every percentile, and what users of ab, wrk and siege look for"),
    FLAG(uncorrected, "u_latency", "-U", "accepted for wrk2 users: both clocks are always shown"),
    FLAG(verbose, "verbose", "-v", "all error texts, and progress on stderr"),
    FLAG(debug, "debug", "", "state changes of agents and links on stderr"),
    FLAG(quiet, "quiet", "-q", "no notes on stderr"),
    FLAG(help, "help", "-h", "print this help and exit"),
};

#define OWN_N (sizeof own_rows / sizeof own_rows[0])

struct option_group run_options_own(void)
{
    return (struct option_group){.rows = own_rows, .n = OWN_N};
}

/* The plan's rows and our own in one table; freed by the caller. */
struct option_row *run_options_rows(size_t *n)
{
    size_t n_plan;
    const struct option_row *plan = plan_options(&n_plan);
    *n = n_plan + OWN_N;
    struct option_row *rows = mem_calloc(*n, sizeof *rows);
    memcpy(rows, plan, n_plan * sizeof *rows);
    memcpy(rows + n_plan, own_rows, OWN_N * sizeof *rows);
    return rows;
}

enum err run_options_outputs(const struct run_options *o, struct outputs **out, struct errmsg *msg)
{
    const struct outputs_config c = {
        .format = o->results.format, .json = o->json, .files = &o->outputs};
    return outputs_new(&c, out, msg);
}

/* Found out now rather than when the run is over. */
enum err run_options_check_outputs(const struct run_options *o, struct errmsg *msg)
{
    struct outputs *outputs;
    enum err e = run_options_outputs(o, &outputs, msg);
    if (e == ERR_OK && o->plan.debug_request && outputs_at(outputs, 0)->format != &report_text)
        e = errmsg_set(msg, ERR_INVALID,
                       "--debug-request with --json or --format: accepted is one of the two");
    const char **paths = mem_calloc(o->outputs.n + 1, sizeof *paths);
    if (e == ERR_OK && o->plan.debug_request && outputs_stores(outputs, paths) > 0)
        e = errmsg_set(msg, ERR_INVALID,
                       "--debug-request with --output %.200s: accepted is one of the two",
                       paths[0]);
    mem_free(paths);
    outputs_free(outputs);
    return e;
}

/* What no agent's cores can change: at least one connection each, or one for each thread, and
 * enough of them for the dispatch quantum even where all have cores in plenty. */
static enum err check_connections(const struct plan *p, size_t n, struct errmsg *msg)
{
    uint32_t *ones = mem_calloc(n, sizeof *ones), *cores = mem_calloc(n, sizeof *cores);
    struct plan_part *parts = mem_calloc(n, sizeof *parts);
    for (size_t i = 0; i < n; i++) {
        ones[i] = 1;
        cores[i] = UINT32_MAX;
    }
    enum err e = plan_split(p, ones, cores, n, parts, msg);
    mem_free(parts);
    mem_free(cores);
    mem_free(ones);
    return e;
}

/* The environment holds secrets; nobody needs it from here on, and no child may have it. */
static void forget_environment(void)
{
    secret_source_forget("HAMMER_HEADER");
    secret_source_forget("HAMMER_DATA");
    secret_source_forget("HAMMER_URL");
}

static enum err load_key(struct plan *p, struct errmsg *msg)
{
    struct secret_text t;
    enum err e = secret_source_read("--key", p->key_file, &t, msg);
    if (e == ERR_OK && t.len > PLAN_KEY_MAX)
        e = errmsg_set(msg, ERR_INVALID, "--key: longer than 64 KiB");
    if (e == ERR_OK) {
        p->key = mem_dup(t.text, t.len);
        p->key_len = t.len;
    }
    secret_text_clear(&t);
    return e;
}

static enum err load_secrets(struct run_options *o, struct errmsg *msg)
{
    enum err e = secret_options_check(&o->secrets, &o->plan.headers, msg);
    if (e != ERR_OK)
        return e;
    e = secret_options_load(&o->secrets, &o->from_environment, &o->plan.headers, msg);
    return e == ERR_OK && o->plan.key_file != NULL ? load_key(&o->plan, msg) : e;
}

/* The file is needed for groups only, and then it must be there. */
static enum err load_inventory(const struct run_options *o, struct inventory_file *f,
                               struct errmsg *msg)
{
    char path[PATH_MAX];
    if (o->inventory != NULL)
        return inventory_file_load(o->inventory, f, msg);
    *f = (struct inventory_file){0};
    if (!xdg_config_path("agents.yml", path, sizeof path))
        return errmsg_set(msg, ERR_INVALID,
                          "no home folder, so no inventory file; accepted is "
                          "--inventory FILE");
    return inventory_file_load(path, f, msg);
}

enum err run_options_agents(const struct run_options *o, struct inventory *inv, struct errmsg *msg)
{
    struct inventory_file f;
    char *list;
    if (!inventory_file_needed(o->agents))
        return inventory_parse(o->agents, o->insecure_agents, inv, msg);
    enum err e = load_inventory(o, &f, msg);
    if (e != ERR_OK) {
        struct errmsg why = *msg;
        return errmsg_set(msg, e, "--agents %.64s: %.400s", o->agents, why.text);
    }
    e = inventory_file_expand(&f, o->agents, &list, msg);
    if (e == ERR_OK) {
        e = inventory_parse(list, o->insecure_agents, inv, msg);
        mem_free(list);
    }
    inventory_file_clear(&f);
    return e;
}

/* No file is fine. */
static enum err read_defaults(struct run_options *o, struct errmsg *msg)
{
    char path[PATH_MAX];
    struct errmsg why = {{0}};
    size_t n;
    if (!xdg_config_path("ctl.yml", path, sizeof path))
        return ERR_OK;
    struct option_row *rows = run_options_rows(&n);
    enum err e = option_file(rows, n, path, o, &why);
    mem_free(rows);
    if (e == ERR_OK)
        return secret_options_check_file(&o->secrets, &o->plan.headers, path, msg);
    return e == ERR_NOT_FOUND ? ERR_OK : errmsg_set(msg, e, "%s", why.text);
}

/* Of --agents and --local the defaults file may have one and the user's words the other: the user's
 * counts. Both from the same source is refused later. */
static void settle_agents(struct run_options *o, bool file_agents, bool file_local)
{
    if (o->local_set && !o->agents_set && file_agents) {
        mem_free(o->agents);
        o->agents = NULL;
    } else if (!o->local_set && !o->agents_set) {
        o->local_set = file_local;
    }
}

enum err run_options_words(const struct option_row *rows, size_t n, int argc, char **argv,
                           struct run_options *o, const char **rest, size_t *n_rest,
                           struct errmsg *msg)
{
    enum err e = read_defaults(o, msg);
    bool file_agents = o->agents_set, file_local = o->local_set;
    o->agents_set = o->local_set = false;
    if (e == ERR_OK)
        e = run_again_words(rows, n, argc, argv, o, msg);
    if (e == ERR_OK)
        e = run_requests_file(rows, n, argc, argv, o, msg);
    settle_agents(o, file_agents, file_local);
    file_agents = o->agents != NULL; /* of either file */
    file_local = o->local_set;
    o->agents_set = o->local_set = false;
    if (e == ERR_OK)
        e = option_environment(rows, n, o, msg);
    o->from_environment = o->plan.headers;
    o->plan.headers = (struct option_list){0};
    if (e == ERR_OK)
        e = option_parse(rows, n, argc, argv, o, rest, argc > 0 ? (size_t)argc : 1, n_rest, msg);
    settle_agents(o, file_agents, file_local);
    return e;
}

static uint64_t weights_of(const struct inventory *inv)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < inv->n; i++)
        sum += inv->agents[i].weight;
    return sum;
}

/* Once the agents are known: there must be as many as the run shall at least have. */
static enum err check_min_agents(const struct run_options *o, size_t n, struct errmsg *msg)
{
    if (o->patience.min_agents <= n)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "--min-agents %" PRIu32 " with %zu agent%s: accepted are at most as many as "
                      "--agents or --local has",
                      o->patience.min_agents, n, n == 1 ? "" : "s");
}

/* Every condition at which the run is aborted. */
static enum err load_conditions(struct run_options *o, struct errmsg *msg)
{
    static const char flag[] = "--abort-on";
    char text[CONDITION_TEXT];
    struct errmsg why = {{0}};
    enum err e = ERR_OK;
    for (size_t i = 0; i < o->abort_texts.n && e == ERR_OK; i++)
        e = condition_list_add(&o->abort_on, flag, o->abort_texts.items[i], msg);
    snprintf(text, sizeof text, "connect-errors>%" PRIu64, o->connect_failures_max);
    if (e == ERR_OK && o->connect_failures_set)
        e = condition_list_add(&o->abort_on, "--max-connect-failures", text, msg);
    for (size_t i = 0; i < o->abort_on.n && e == ERR_OK; i++) {
        e = condition_check(&o->abort_on.items[i], &o->plan, &why);
        if (e != ERR_OK)
            errmsg_set(msg, e, "%s %s", flag, why.text);
    }
    return e;
}

/* What is to hold at the end of the run. */
static enum err load_objectives(struct run_options *o, struct errmsg *msg)
{
    struct errmsg why = {{0}};
    enum err e = ERR_OK;
    for (size_t i = 0; i < o->slo_texts.n && e == ERR_OK; i++)
        e = condition_list_add(&o->slo, "--slo", o->slo_texts.items[i], msg);
    for (size_t i = 0; i < o->slo.n && e == ERR_OK; i++) {
        const struct condition *c = &o->slo.items[i];
        if (c->for_ns != 0)
            return errmsg_set(msg, ERR_INVALID,
                              "--slo %s: 'for' is for --abort-on; accepted is a condition of the "
                              "whole run",
                              c->text);
        e = condition_check(c, &o->plan, &why);
        if (e != ERR_OK)
            errmsg_set(msg, e, "--slo %s", why.text);
    }
    return e;
}

enum err run_options_metrics(const struct run_options *o, struct errmsg *msg)
{
    struct sockaddr_storage address;
    struct errmsg why;
    const char *where = o->results.metrics;
    enum err e = where == NULL ? ERR_OK : http_serve_address(where, &address, &why);
    return e == ERR_OK ? e : errmsg_set(msg, e, "--metrics %s", why.text);
}

/* --debug-request: the first of them, and nothing is kept of it. */
static void only_one_agent(struct run_options *o, struct inventory *inv)
{
    inv->n = inv->n > 0 ? 1 : 0;
    o->local = 1;
    o->no_journal = true;
}

enum err run_options_check(struct run_options *o, const char *const *rest, size_t n_rest,
                           struct inventory *inv, struct errmsg *msg)
{
    const char *url = getenv("HAMMER_URL");
    enum err e = load_secrets(o, msg);
    if (e == ERR_OK)
        e = run_again_settle(o, n_rest > 0 || (url != NULL && *url != '\0'), msg);
    if (e == ERR_OK)
        e = run_requests_settle(o, rest, n_rest, msg);
    if (e == ERR_OK)
        e = plan_settle_rate(&o->plan, 1, msg); /* enough for the checks, which come first */
    if (e == ERR_OK)
        e = plan_check(&o->plan, msg);
    if (e == ERR_OK)
        e = run_requests_check_unused(&o->plan, msg);
    if (e == ERR_OK && o->agents != NULL && o->local_set)
        e = errmsg_set(msg, ERR_INVALID, "--agents and --local: accepted is one of the two");
    if (e == ERR_OK && o->agents != NULL)
        e = run_options_agents(o, inv, msg);
    if (e == ERR_OK && o->plan.debug_request)
        only_one_agent(o, inv);
    if (e == ERR_OK)
        e = check_min_agents(o, o->agents != NULL ? inv->n : o->local, msg);
    if (e == ERR_OK)
        e = plan_settle_rate(&o->plan, o->agents != NULL ? weights_of(inv) : o->local, msg);
    o->plan.phases = o->spectrum || o->plan.debug_request;
    o->plan.dump = o->results.dump_requests != NULL;
    if (e == ERR_OK && o->plan.dump)
        e = dump_file_check(o->results.dump_requests, msg);
    if (e == ERR_OK)
        e = load_conditions(o, msg);
    if (e == ERR_OK)
        e = load_objectives(o, msg);
    if (e == ERR_OK)
        e = run_options_metrics(o, msg);
    if (e == ERR_OK)
        e = run_options_check_outputs(o, msg);
    if (e == ERR_OK)
        e = result_options_check_every(o->results.every_ns, o->plan.interval_ns, msg);
    if (e == ERR_OK)
        e = result_options_check_words(&o->results, msg);
    if (e == ERR_OK)
        e = check_connections(&o->plan, o->agents != NULL ? inv->n : o->local, msg);
    if (o->plan.headers.n + o->plan.n_entries + o->plan.n_env > 0 || o->plan.key != NULL)
        host_no_core_files();
    forget_environment();
    return e;
}

enum err run_options_parse(int argc, char **argv, struct run_options *o, struct inventory *inv,
                           struct errmsg *msg)
{
    size_t n, n_rest = 0;
    const char **rest = mem_calloc(argc > 0 ? (size_t)argc : 1, sizeof *rest);
    *o = (struct run_options){.local = 1};
    plan_defaults(&o->plan);
    struct option_row *rows = run_options_rows(&n);
    enum err e = run_options_words(rows, n, argc, argv, o, rest, &n_rest, msg);
    if (e == ERR_OK && !o->help)
        e = run_options_check(o, rest, n_rest, inv, msg);
    mem_free(rows);
    mem_free(rest);
    return e;
}

void run_options_clear(struct run_options *o)
{
    run_again_free(o->again);
    secret_options_clear(&o->secrets);
    option_list_clear(&o->from_environment);
    condition_list_clear(&o->abort_on);
    condition_list_clear(&o->slo);
    option_clear(own_rows, OWN_N, o);
    plan_clear(&o->plan);
}
