/* SPDX-License-Identifier: MIT */
#include "controller/cmd/session.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/loop.h"
#include "common/mem.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/conditions.h"
#include "controller/cmd/local_agents.h"
#include "controller/cmd/outputs.h"
#include "controller/cmd/run_store.h"
#include "controller/cmd/tags.h"
#include "controller/report/looks.h"
#include "controller/report/report.h"
#include "controller/run/abort_watch.h"
#include "controller/run/fleet.h"
#include "controller/run/journal_list.h"
#include "controller/run/merge.h"
#include "controller/run/result.h"
#include "controller/run/result_agents.h"
#include "controller/run/result_build.h"
#include "controller/watch/observer.h"
#include "proto/link.h"

#define EXIT_INTERRUPTED 130
/* timeout(1) signals its child and then the whole group: two signals within this are one Ctrl-C. */
#define SAME_CTRL_C_NS   (100 * NS_PER_MS)
#define DEFAULT_LEASE_NS (10 * NS_PER_SEC)
#define AGENTS_KEEP_NS   (600 * NS_PER_SEC)

/* Everything one run holds, begun here or taken over. */
struct session {
    const struct run_options *options;
    struct inventory *inventory;
    struct local_agents *local;
    struct loop *loop;
    struct link_tls *tls; /* NULL = no agent wants it */
    struct merge *merge;
    struct fleet *fleet;
    struct result *result;
    struct journal *journal; /* NULL = none */
    struct journal_run *record;
    struct journal_run own; /* record of a run begun here */
    bool resumed;
    uint32_t former_pid;
    uint64_t taken_wall_ns;
    char *secret_headers;        /* owned */
    char *abort_text, *slo_text; /* owned; of the conditions, a line each */
    char *tags;                  /* owned */
    struct condition_list abort_on, slo;
    struct abort_watch *watch; /* NULL = there is none */
    struct observer_run seen;  /* by the observers */
    struct observers *observers;
    struct outputs *outputs;
    bool began;              /* agents were dialled */
    bool unwritten;          /* the report exists nowhere */
    uint64_t interrupted_ns; /* last Ctrl-C, 0 = none */
    uint64_t late_ns;        /* the same after the run */
    bool over;               /* the fleet has run */
    bool abandoned;          /* the second one: no report, and nothing is waited for */
};

static void on_note(void *arg, const char *text)
{
    const struct session *s = arg;
    if (!s->options->quiet && !observers_note(s->observers, text))
        fprintf(stderr, "hammer-ctl: %s\n", text);
}

static void on_interval(void *arg, const struct merge_view *v)
{
    struct session *s = arg;
    observers_interval(s->observers, v);
    /* After Ctrl-C there is nothing to abort, and what it cuts off is not the server's. */
    if (s->watch != NULL && s->interrupted_ns == 0 && abort_watch_closed(s->watch, v->row) &&
        s->fleet != NULL)
        fleet_abort(s->fleet, abort_watch_reason(s->watch));
}

static void on_settled(void *arg, const struct merge_view *v)
{
    observers_settled(((const struct session *)arg)->observers, v);
}

static void on_snapshot(void *arg, const struct snapshot *snapshot)
{
    const struct session *s = arg;
    if (s->watch != NULL)
        abort_watch_add(s->watch, snapshot);
    observers_snapshot(s->observers, snapshot);
}

static void on_message(void *arg, size_t agent, const struct msg *msg)
{
    observers_message(((const struct session *)arg)->observers, agent, msg);
}

/* The run is over, its report is not yet begun: one Ctrl-C may still have been meant for the run.
 */
static void on_late_signal(struct session *s, uint64_t now_ns)
{
    uint64_t last_ns = s->late_ns != 0 ? s->late_ns : s->interrupted_ns;
    if (last_ns != 0 && now_ns - last_ns >= SAME_CTRL_C_NS)
        _exit(EXIT_INTERRUPTED);
    s->late_ns = now_ns;
}

static void on_signal(int signo, void *arg)
{
    struct session *s = arg;
    (void)signo;
    if (s->fleet == NULL)
        return; /* the report is out; what is left takes no time */
    uint64_t now_ns = clock_mono_ns();
    if (s->over) {
        on_late_signal(s, now_ns);
        return;
    }
    if (s->interrupted_ns != 0 && now_ns - s->interrupted_ns < SAME_CTRL_C_NS)
        return;
    if (s->abandoned)
        _exit(EXIT_INTERRUPTED);
    if (s->interrupted_ns != 0) {
        /* A second Ctrl-C: at once, but the agents must know that nobody comes back for them. */
        s->abandoned = true;
        local_agents_abandon(s->local);
        alarm(1);
    } else {
        on_note(s, "stopping the agents; again to quit at once");
    }
    s->interrupted_ns = now_ns;
    fleet_interrupt(s->fleet);
}

/* --- result --------------------------------------------------------------------------------- */

static enum result_agent_state agent_state(const struct coord_agent_info *info)
{
    if (info->state == COORD_REFUSED)
        return RESULT_REFUSED;
    if (info->state == COORD_LOST)
        return RESULT_LOST;
    return info->end_reason == END_FINISHED ? RESULT_DONE : RESULT_STOPPED;
}

static void fill_agent(const struct session *s, size_t i, struct result_agent *a)
{
    const struct coord_agent_info *info = coordinator_agent(fleet_coordinator(s->fleet), i);
    const struct inventory_agent *inv = &s->inventory->agents[i];
    snprintf(a->name, sizeof a->name, "%s", info->name);
    snprintf(a->address, sizeof a->address, "%s", inv->address);
    snprintf(a->version, sizeof a->version, "%s", info->build);
    const char *check = fleet_check_problem(s->fleet, i);
    snprintf(a->problem, sizeof a->problem, "%s", check[0] != '\0' ? check : info->problem);
    a->state = agent_state(info);
    a->weight = inv->weight;
    a->threads = info->part.threads;
    a->connections = info->part.connections;
    a->insecure = info->insecure;
    a->same_clock = info->same_clock;
    a->clock = info->clock;
    a->clock_offset_ns = info->offset_ns;
    a->clock_error_ns = info->error_ns;
    a->started = info->started_ns != 0;
    a->start_error_ns = a->started ? (int64_t)(info->started_ns - info->at_ns) : 0;
    a->checked = fleet_checked(s->fleet, i);
}

/* For how long nobody was there, and whether that was too long. */
static void describe_takeover(const struct session *s, struct result *r)
{
    char from[24], away[UNITS_TEXT], lease[UNITS_TEXT];
    const struct coordinator *c = fleet_coordinator(s->fleet);
    uint64_t touched_ns = journal_touched_ns(s->journal);
    time_t at = (time_t)(touched_ns / NS_PER_SEC);
    struct tm tm;
    strftime(from, sizeof from, "%F %T", gmtime_r(&at, &tm));
    for (size_t i = 0; i < r->n_agents; i++)
        r->takeover_late = r->takeover_late || coordinator_agent(c, i)->end_reason == END_LEASE;
    snprintf(r->takeover, sizeof r->takeover,
             "the hammer-ctl that had the run before (pid %" PRIu32
             ") was gone from %s UTC for %s%s%s",
             s->former_pid, from,
             units_format_latency(clock_elapsed(touched_ns, s->taken_wall_ns), away),
             r->takeover_late ? ", the lease was " : "; its agents went on",
             r->takeover_late ? units_format_duration(s->record->patience.lease_ns, lease) : "");
}

static void settle_abort(struct session *s, struct result *r)
{
    r->abort_on = &s->abort_on;
    if (s->watch != NULL && s->interrupted_ns == 0)
        abort_watch_end(s->watch);
    if (s->watch != NULL)
        snprintf(r->aborted, sizeof r->aborted, "%s", abort_watch_reason(s->watch));
}

static char *text_of(const struct wire_blob *b)
{
    return b->len > 0 ? mem_dup(b->data, b->len) : NULL;
}

static void build_result(struct session *s)
{
    const struct coordinator *c = fleet_coordinator(s->fleet);
    struct result *r = s->result = result_new_bare(s->inventory->n);
    enum coord_outcome outcome = coordinator_outcome(c);
    snprintf(r->run_id, sizeof r->run_id, "%s", fleet_run_id(s->fleet));
    snprintf(r->name, sizeof r->name, "%s", s->record->name);
    r->description = text_of(&s->record->description);
    r->tags = text_of(&s->record->tags);
    r->plan = coordinator_plan(c);
    r->started_wall_ns = s->record->wall_ns;
    r->interrupted = outcome == COORD_INTERRUPTED;
    r->no_target = outcome == COORD_NO_TARGET;
    merge_finish(s->merge, r);
    settle_abort(s, r);
    for (size_t i = 0; i < r->n_agents; i++)
        fill_agent(s, i, &r->agents[i]);
    if (s->resumed)
        describe_takeover(s, r);
    result_agents_fill(r, c);
    observers_fill(s->observers, r);
    result_conclude(r, &s->slo);
}

/* --- reports -------------------------------------------------------------------------------- */

static enum err store_run(void *arg, const char *path, struct errmsg *msg)
{
    const struct session *s = arg;
    return run_store_export(s->options, s->result->run_id, path, msg);
}

static int write_reports(struct session *s)
{
    struct report_options o = {.spectrum = s->options->spectrum,
                               .verbose = s->options->verbose,
                               .secret_headers = s->secret_headers};
    looks_settle(&o);
    struct outputs_run run = {.result = s->result,
                              .options = &o,
                              .store = store_run,
                              .arg = s,
                              .live = true,
                              .debug = s->options->plan.debug_request};
    bool whole = observers_finish(s->observers, s->result);
    enum err e = outputs_write(s->outputs, &run);
    s->unwritten = e == ERR_SYSTEM;
    if ((e != ERR_OK || !whole) && s->result->verdict.exit_code == 0)
        return EXIT_COULD_NOT;
    if (run.debug && e == ERR_OK)
        return report_debug_answered(s->result) ? 0 : EXIT_COULD_NOT;
    return s->result->verdict.exit_code;
}

/* --- signals -------------------------------------------------------------------------------- */

static void on_alarm(int signo)
{
    (void)signo;
    _exit(EXIT_INTERRUPTED);
}

static bool is_ignored(int signo)
{
    struct sigaction old;
    return sigaction(signo, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

/* A lost terminal ends a run as Ctrl-C does, unless nohup is in front. */
static enum err take_signals(struct session *s)
{
    static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof stopping / sizeof stopping[0] && e == ERR_OK; i++)
        if (stopping[i] != SIGHUP || !is_ignored(SIGHUP))
            e = loop_signal(s->loop, stopping[i], on_signal, s);
    return e;
}

/* --- the journal ---------------------------------------------------------------------------- */

/* Without one the run is as good, as long as this process lives. Agents started for this run end
 * with it: nothing could be taken over. */
static void open_journal(struct session *s)
{
    char folder[PATH_MAX], text[sizeof(struct errmsg) + 100];
    struct errmsg msg = {{0}};
    enum err e = ERR_OK;
    if (s->local != NULL || s->options->no_journal)
        return;
    if (journal_folder(folder, sizeof folder)) {
        journal_list_prune(folder, s->record->wall_ns);
        e = journal_create(folder, s->record, &s->journal, &msg);
    } else {
        e = errmsg_set(&msg, ERR_NOT_FOUND, "no home folder");
    }
    if (e == ERR_OK)
        return;
    snprintf(text, sizeof text,
             "no journal is kept, no other hammer-ctl could take the run over: %s", msg.text);
    on_note(s, text);
}

/* --- conditions to abort at, and those that are to hold --------------------------------------- */

/* Those of the run that is taken over, else the user's. */
static enum err load_conditions(struct session *s, struct errmsg *msg)
{
    enum err e = conditions_read(&s->record->abort_on, "the run's --abort-on", &s->abort_on, msg);
    if (e == ERR_OK)
        e = conditions_read(&s->record->slo, "the run's --slo", &s->slo, msg);
    return e;
}

static struct wire_blob blob_of(const char *text)
{
    return (struct wire_blob){(const uint8_t *)text, text != NULL ? strlen(text) : 0};
}

static enum err describe_run(struct session *s, struct errmsg *msg)
{
    struct journal_run *r = s->record = &s->own;
    size_t len;
    host_random(r->owner, sizeof r->owner);
    host_random(r->run, sizeof r->run);
    host_boot_id(r->boot_id, sizeof r->boot_id);
    r->pid = (uint32_t)getpid();
    r->wall_ns = clock_wall_ns();
    if (s->options->name != NULL)
        snprintf(r->name, sizeof r->name, "%s", s->options->name);
    r->patience = s->options->patience;
    if (r->patience.lease_ns == 0)
        r->patience.lease_ns = DEFAULT_LEASE_NS;
    r->inventory = *s->inventory;
    if (s->options->secrets.names != NULL) {
        s->secret_headers = mem_strdup(s->options->secrets.names);
        r->redact =
            (struct wire_blob){(const uint8_t *)s->secret_headers, strlen(s->secret_headers)};
    }
    s->abort_text = conditions_text(&s->options->abort_on);
    r->abort_on = blob_of(s->abort_text);
    s->slo_text = conditions_text(&s->options->slo);
    r->slo = blob_of(s->slo_text);
    s->tags = tags_text(&s->options->results.tags);
    r->tags = blob_of(s->tags);
    r->description = blob_of(s->options->results.description);
    enum err e = plan_encode(&s->options->plan, &r->bytes, &len);
    if (e != ERR_OK)
        return errmsg_set(msg, e, "the plan cannot be sent to an agent: %s", err_str(e));
    r->plan = (struct wire_blob){r->bytes, len};
    open_journal(s);
    return ERR_OK;
}

/* From here on it is ours: the next one that looks sees our pid. */
static void adopt(struct session *s, const struct session_config *cfg)
{
    struct errmsg msg;
    s->journal = cfg->journal;
    s->record = cfg->record;
    s->resumed = true;
    s->former_pid = s->record->pid;
    s->taken_wall_ns = clock_wall_ns();
    s->record->pid = (uint32_t)getpid();
    s->record->patience.wait_agents_ns = s->options->patience.wait_agents_ns;
    if (s->record->redact.len > 0)
        s->secret_headers = mem_dup(s->record->redact.data, s->record->redact.len);
    if (journal_save(s->journal, s->record, &msg) != ERR_OK)
        on_note(s, msg.text); /* it still says who was there before */
}

/* Is there anything that another attempt could still fetch? Agents keep it for ten minutes. */
static bool worth_keeping(const struct session *s)
{
    if (!s->began)
        return s->resumed; /* whatever hindered us does not hinder the next one */
    if (s->unwritten)
        return true;
    const struct coordinator *c = fleet_coordinator(s->fleet);
    uint64_t since_ns = s->resumed ? journal_touched_ns(s->journal) : clock_wall_ns();
    uint64_t until_ns = clock_add(since_ns, s->record->patience.lease_ns + AGENTS_KEEP_NS);
    if (s->abandoned || coordinator_outcome(c) == COORD_COULD_NOT || clock_wall_ns() > until_ns)
        return false;
    for (size_t i = 0; i < coordinator_agents(c); i++)
        if (coordinator_agent(c, i)->state == COORD_LOST && coordinator_agent(c, i)->uncollected)
            return true;
    return false;
}

static void close_journal(struct session *s)
{
    char text[200];
    bool keep = s->journal != NULL && worth_keeping(s);
    if (keep && s->began) {
        snprintf(text, sizeof text,
                 s->unwritten
                     ? "hammer-ctl attach %.8s writes the report of this run once more"
                     : "a lost agent may still have results, for up to 10 minutes: hammer-ctl "
                       "attach %.8s fetches them",
                 fleet_run_id(s->fleet));
        on_note(s, text);
    }
    journal_close(s->journal, keep);
    s->own.inventory = (struct inventory){0}; /* the caller's */
    journal_run_clear(&s->own);
    mem_free(s->secret_headers);
    mem_free(s->abort_text);
    mem_free(s->slo_text);
    mem_free(s->tags);
}

/* --- all of it ------------------------------------------------------------------------------ */

/* nng's threads only hand on what has come. Where agents by the hundred say something at the same
 * instant, each wake-up of one would interrupt the one that works, which often holds the lock that
 * is needed next. As batch work they wait for their turn. Threads inherit it from their maker. */
static void start_link_threads(void)
{
    const struct sched_param none = {0};
    bool usual = sched_getscheduler(0) == SCHED_OTHER;
    if (usual)
        sched_setscheduler(0, SCHED_BATCH, &none);
    link_block_signals();
    if (usual)
        sched_setscheduler(0, SCHED_OTHER, &none);
}

static enum err observe(struct session *s, struct errmsg *msg)
{
    s->seen = (struct observer_run){.options = s->options,
                                    .record = s->record,
                                    .inventory = s->inventory,
                                    .secret_headers = s->secret_headers,
                                    .loop = s->loop,
                                    .resumed = s->resumed,
                                    .note = on_note,
                                    .arg = s};
    return observers_open(&s->seen, &s->observers, msg);
}

static enum err assemble(struct session *s, struct errmsg *msg)
{
    host_fd_limit(); /* one an agent */
    start_link_threads();
    enum err e = tls_options_open(&s->options->tls, inventory_uses_tls(s->inventory), on_note, s,
                                  &s->tls, msg);
    if (e != ERR_OK)
        return e;
    e = load_conditions(s, msg);
    if (e == ERR_OK)
        e = run_options_outputs(s->options, &s->outputs, msg);
    if (e != ERR_OK)
        return e;
    s->merge = merge_new(s->inventory->n, s->options->plan.interval_ns);
    merge_on_interval(s->merge, on_interval, s);
    merge_on_settled(s->merge, on_settled, s);
    merge_on_snapshot(s->merge, on_snapshot, s);
    merge_every(s->merge, s->options->results.every_ns);
    if (s->abort_on.n > 0) {
        s->watch =
            abort_watch_new(&s->abort_on, s->options->plan.interval_ns, s->options->plan.warmup_ns,
                            result_planned_ns(&s->options->plan));
    }
    e = observe(s, msg);
    if (e != ERR_OK)
        return e;
    struct fleet_config cfg = {.loop = s->loop,
                               .inventory = s->inventory,
                               .plan = &s->options->plan,
                               .merge = s->merge,
                               .patience = s->record->patience,
                               .record = s->record,
                               .journal = s->journal,
                               .resume = s->resumed,
                               .tls = s->tls,
                               .note = on_note,
                               .message = on_message,
                               .arg = s};
    e = fleet_new(&cfg, &s->fleet, msg);
    if (e == ERR_OK)
        s->seen.coordinator = fleet_coordinator(s->fleet);
    return e;
}

static void on_first_signal(int signo)
{
    (void)signo;
}

/* From here on no loop turns. One Ctrl-C may still have been meant for the run: the report is
 * finished. The next one ends the process, or a report into a pipe that nobody reads would hang. */
static void let_report_be_stopped(const struct session *s)
{
    struct sigaction once = {.sa_handler = on_first_signal,
                             .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    if (s->interrupted_ns != 0 || s->late_ns != 0)
        once.sa_handler = SIG_DFL;
    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
}

/* Signals are taken before there is anything to clean up; they wait until the loop turns. */
static int execute(struct session *s, struct errmsg *msg)
{
    if (loop_new(&s->loop, msg) != ERR_OK || take_signals(s) != ERR_OK)
        return EXIT_COULD_NOT;
    if (s->inventory->n == 0 &&
        local_agents_start(s->options->local, s->inventory, &s->local, msg) != ERR_OK)
        return EXIT_COULD_NOT;
    enum err e = s->resumed ? ERR_OK : describe_run(s, msg);
    if (e == ERR_OK)
        e = assemble(s, msg);
    if (e != ERR_OK)
        return EXIT_COULD_NOT;
    s->began = true;
    fleet_run(s->fleet);
    if (s->abandoned)
        return EXIT_INTERRUPTED;
    s->over = true;
    loop_finish(s->loop); /* agents are free before the report is made, and links need no memory */
    let_report_be_stopped(s);
    const struct coordinator *c = fleet_coordinator(s->fleet);
    if (coordinator_outcome(c) == COORD_COULD_NOT) {
        errmsg_set(msg, ERR_REFUSED, "%s", coordinator_reason(c));
        return EXIT_COULD_NOT;
    }
    build_result(s);
    return write_reports(s);
}

static void dispose(struct session *s)
{
    observers_close(s->observers);
    s->observers = NULL;
    close_journal(s);
    outputs_free(s->outputs);
    result_free(s->result);
    fleet_free(s->fleet);
    s->fleet = NULL; /* the loop still turns, and signals still come */
    merge_free(s->merge);
    abort_watch_free(s->watch);
    condition_list_clear(&s->abort_on);
    condition_list_clear(&s->slo);
    if (s->loop != NULL)
        loop_finish(s->loop); /* the agents' BYE may still have to leave */
    local_agents_stop(s->local);
    loop_free(s->loop);
    link_tls_free(s->tls);
}

int session_run(const struct session_config *cfg, struct errmsg *msg)
{
    struct session s = {.options = cfg->options, .inventory = cfg->inventory};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* what is written says that it could not be */
    signal(SIGALRM, on_alarm);
    if (s.options->secrets.in_url)
        on_note(&s, "the URL seems to hold a secret, and every user of this machine can read "
                    "the command line; HAMMER_URL in the environment keeps it to yourself");
    if (cfg->journal != NULL)
        adopt(&s, cfg);
    int code = execute(&s, msg);
    dispose(&s);
    return code;
}
