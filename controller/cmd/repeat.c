/* SPDX-License-Identifier: MIT */
#include "controller/cmd/repeat.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/host.h"
#include "common/mem.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/plan_again.h"
#include "controller/cmd/session.h"
#include "controller/store/store.h"

#define EXIT_INCOMPLETE  3
#define EXIT_INTERRUPTED 130
#define PAUSE_S          1 /* connections close, queues drain */
#define LOOK_S           1 /* after a child whose signal was missed */
#define SET_BYTES        4
#define TAG              32
#define TAGS_MOST        14 /* of the user's; a run has 16 at most */

struct set {
    struct run_options *o;
    struct inventory *inventory;
    char tag[TAG];
    bool interleaved;
    struct plan_again other;
    size_t n, done; /* runs wanted, runs begun */
    sigset_t waited, usual;
    bool stopped; /* by a signal */
    int code;     /* the worst so far */
};

enum err repeat_check(const struct run_options *o, struct errmsg *msg)
{
    const struct result_options *r = &o->results;
    if (r->repeat == 0 && r->interleave_with != NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "--interleave-with without --repeat: accepted is with --repeat N");
    if (r->repeat == 0)
        return ERR_OK;
    const char *other = r->no_save              ? "--no-save"
                        : o->plan.debug_request ? "--debug-request"
                        : o->plan.forever       ? "--forever"
                        : r->tags.n > TAGS_MOST ? "more than 14 --tag"
                                                : NULL;
    if (other != NULL)
        return errmsg_set(msg, ERR_INVALID, "--repeat and %s: accepted is one of the two", other);
    return ERR_OK;
}

bool repeat_is_candidate(size_t i)
{
    return __builtin_popcountll(i) % 2 == 1;
}

char *repeat_file(const char *file, size_t number)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(slash != NULL ? slash : file, '.');
    size_t size = strlen(file) + 24, stem = dot != NULL ? (size_t)(dot - file) : strlen(file);
    char *name = mem_calloc(size, 1);
    snprintf(name, size, "%.*s-%zu%s", (int)stem, file, number, dot != NULL ? dot : "");
    return name;
}

/* --- a run ------------------------------------------------------------------------------------ */

static const char *side_of(const struct set *s, size_t i)
{
    if (!s->interleaved)
        return NULL;
    return repeat_is_candidate(i) ? "candidate" : "baseline";
}

static void number_files(struct run_options *o, size_t number)
{
    for (size_t i = 0; i < o->outputs.n; i++) {
        char **file = &o->outputs.items[i];
        if (strcmp(*file, "-") == 0)
            continue;
        char *numbered = repeat_file(*file, number);
        mem_free(*file);
        *file = numbered;
    }
    if (o->results.dump_requests != NULL) {
        char *numbered = repeat_file(o->results.dump_requests, number);
        mem_free(o->results.dump_requests);
        o->results.dump_requests = numbered;
    }
}

/* The baseline is to be what it was: the user's objectives are about the other one. */
static void become_other(struct run_options *o, struct plan_again *other)
{
    plan_clear(&o->plan);
    o->plan = other->plan;
    other->plan = (struct plan){0};
    mem_free(o->name);
    o->name = other->name[0] != '\0' ? mem_strdup(other->name) : NULL;
    condition_list_clear(&o->slo);
}

/* In a process of its own: a session is made for one run, its signals and threads stay. */
_Noreturn static void run_one(struct set *s, size_t i)
{
    struct errmsg msg = {{0}};
    const char *side = side_of(s, i);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &s->usual, NULL);
    s->o->results.repeat = 0;
    option_list_add(&s->o->results.tags, s->tag);
    if (side != NULL)
        option_list_add(&s->o->results.tags, side);
    number_files(s->o, i + 1);
    if (s->interleaved && !repeat_is_candidate(i))
        become_other(s->o, &s->other);
    struct session_config cfg = {.options = s->o, .inventory = s->inventory};
    int code = session_run(&cfg, &msg);
    if (msg.text[0] != '\0' && code != 0)
        fprintf(stderr, "hammer-ctl: %s\n", msg.text);
    exit(code);
}

/* A signal from the terminal has reached the run too; one that was meant for this process alone is
 * passed on. */
static void take_signal(struct set *s, const siginfo_t *info, pid_t child)
{
    s->stopped = true;
    if (child > 0 && info->si_code <= 0)
        kill(child, info->si_signo);
}

/* Waits for `seconds`, or for a signal; false = a signal came that ends the set. */
static bool wait_signal(struct set *s, pid_t child, time_t seconds)
{
    const struct timespec most = {.tv_sec = seconds};
    siginfo_t info;
    int signo = sigtimedwait(&s->waited, &info, &most);
    if (signo <= 0 || signo == SIGCHLD)
        return true;
    take_signal(s, &info, child);
    return false;
}

static int wait_child(struct set *s, pid_t child)
{
    int status;
    for (;;) {
        pid_t got = waitpid(child, &status, WNOHANG);
        if (got == child)
            break;
        if (got < 0 && errno != EINTR)
            return EXIT_COULD_NOT;
        wait_signal(s, child, LOOK_S);
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int signo = WTERMSIG(status);
    return signo == SIGINT || signo == SIGTERM || signo == SIGHUP ? EXIT_INTERRUPTED
                                                                  : EXIT_COULD_NOT;
}

/* --- the set ---------------------------------------------------------------------------------- */

/* The first of these counts, as within a run. */
static int worse(int a, int b)
{
    static const int order[] = {EXIT_INTERRUPTED, 1, EXIT_COULD_NOT, EXIT_INCOMPLETE, 4, 99, 5};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return a != 0 ? a : b;
}

static bool could_not(int code)
{
    return code == EXIT_INTERRUPTED || code == EXIT_BAD_INPUT || code == EXIT_COULD_NOT ||
           code == EXIT_INCOMPLETE;
}

static void say_turn(const struct set *s, size_t i)
{
    const char *side = side_of(s, i);
    if (!s->o->quiet)
        fprintf(stderr, "hammer-ctl: run %zu of %zu%s%s\n", i + 1, s->n, side != NULL ? ", " : "",
                side != NULL ? side : "");
    fflush(NULL); /* or the next process writes it once more */
}

static void run_all(struct set *s, struct errmsg *msg)
{
    while (s->done < s->n && !s->stopped) {
        if (s->done > 0 && !wait_signal(s, 0, PAUSE_S))
            break;
        say_turn(s, s->done);
        pid_t child = fork();
        if (child == 0)
            run_one(s, s->done);
        if (child < 0) {
            errmsg_set(msg, ERR_SYSTEM, "no process for the next run: %s", strerror(errno));
            s->code = worse(s->code, EXIT_COULD_NOT);
            return;
        }
        s->done++;
        int code = wait_child(s, child);
        s->code = worse(s->code, code);
        if (could_not(code))
            return;
    }
    if (s->stopped)
        s->code = worse(s->code, EXIT_INTERRUPTED);
}

/* --- what came of it -------------------------------------------------------------------------- */

struct found {
    char ids[2][REPEAT_MAX][9]; /* baseline, candidate: the first digits */
    size_t n[2], unsound;
    const struct set *set;
};

static bool has_tag(const char *tags, const char *tag)
{
    size_t len = strlen(tag);
    for (const char *p = tags; p != NULL && *p != '\0'; p += strspn(p, ",")) {
        size_t item = strcspn(p, ",");
        if (item == len && strncmp(p, tag, len) == 0)
            return true;
        p += item;
    }
    return false;
}

/* The latest first. */
static bool on_run(void *arg, const struct recording *r)
{
    struct found *f = arg;
    size_t side = f->set->interleaved && has_tag(r->tags, "baseline") ? 0 : 1;
    if (strcmp(r->status, "valid") != 0 && strcmp(r->status, "server-limited") != 0 &&
        strcmp(r->status, "slo-failed") != 0)
        f->unsound++;
    else if (f->n[side] < REPEAT_MAX)
        snprintf(f->ids[side][f->n[side]++], sizeof f->ids[0][0], "%.8s", r->run_id);
    return true;
}

static enum err find_runs(struct found *f, struct errmsg *msg)
{
    char path[PATH_MAX];
    struct store *store = NULL;
    const char *db = f->set->o->results.db;
    if (db == NULL && !store_default_path(path, sizeof path))
        return errmsg_set(msg, ERR_NOT_FOUND, "no home folder");
    const struct store_filter filter = {.tag = f->set->tag};
    enum err e = store_open(db != NULL ? db : path, STORE_READ, &store, msg);
    if (e == ERR_OK)
        e = store_list(store, &filter, on_run, f, msg);
    store_close(store);
    return e;
}

static void put_ids(const struct found *f, size_t side)
{
    for (size_t i = f->n[side]; i > 0; i--)
        fprintf(stderr, " %s", f->ids[side][i - 1]);
}

/* A command that can be typed as it stands, where there is something to compare. */
static void say_command(const struct found *f)
{
    const char *db = f->set->o->results.db;
    const char *flag = db != NULL ? " --db " : "";
    fprintf(stderr, "hammer-ctl: %zu run%s of %zu, tag %s", f->n[0] + f->n[1],
            f->n[0] + f->n[1] == 1 ? "" : "s", f->set->n, f->set->tag);
    if (f->unsound > 0)
        fprintf(stderr, "; %zu more cannot be compared", f->unsound);
    if (f->n[1] == 0 || (f->set->interleaved && f->n[0] == 0)) {
        fprintf(stderr, "\n");
        return;
    }
    fprintf(stderr, "; to compare %s:\nhammer-ctl compare%s%s",
            f->set->interleaved ? "both sides" : "them with a baseline", flag,
            db != NULL ? db : "");
    put_ids(f, 1);
    fprintf(stderr, " --against");
    put_ids(f, 0);
    fprintf(stderr, "%s\n", f->set->interleaved ? "" : " BASELINE...");
}

static void say_end(const struct set *s)
{
    struct errmsg why = {{0}};
    struct found *f = mem_calloc(1, sizeof *f);
    f->set = s;
    if (find_runs(f, &why) == ERR_OK)
        say_command(f);
    else
        fprintf(stderr, "hammer-ctl: the runs with the tag %s cannot be listed: %s\n", s->tag,
                why.text);
    mem_free(f);
}

static void name_set(struct set *s)
{
    uint8_t bytes[SET_BYTES];
    char hex[2 * SET_BYTES + 1];
    host_random(bytes, sizeof bytes);
    host_hex(bytes, sizeof bytes, hex);
    snprintf(s->tag, sizeof s->tag, "set-%s", hex);
}

int repeat_run(struct run_options *o, struct inventory *inventory, struct errmsg *msg)
{
    struct set s = {.o = o, .inventory = inventory, .n = o->results.repeat};
    s.interleaved = o->results.interleave_with != NULL;
    if (s.interleaved) {
        struct errmsg why = {{0}};
        s.n *= 2;
        enum err e =
            plan_again_load(o->results.interleave_with, o->results.db, &o->plan, &s.other, &why);
        if (e != ERR_OK) {
            errmsg_set(msg, e, "--interleave-with %s", why.text);
            plan_again_clear(&s.other);
            return EXIT_BAD_INPUT;
        }
    }
    name_set(&s);
    sigemptyset(&s.waited);
    sigaddset(&s.waited, SIGCHLD);
    sigaddset(&s.waited, SIGINT);
    sigaddset(&s.waited, SIGTERM);
    if (signal(SIGHUP, SIG_DFL) == SIG_IGN)
        signal(SIGHUP, SIG_IGN); /* nohup is in front */
    else
        sigaddset(&s.waited, SIGHUP);
    sigprocmask(SIG_BLOCK, &s.waited, &s.usual);
    run_all(&s, msg);
    say_end(&s);
    sigprocmask(SIG_SETMASK, &s.usual, NULL);
    plan_again_clear(&s.other);
    return s.code;
}
