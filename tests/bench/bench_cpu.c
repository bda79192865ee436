/* SPDX-License-Identifier: MIT */
/*
 * Runs a command and tells what it cost: wall, user and system time and largest memory of its whole
 * process tree; what running processes (--pid) used meanwhile; and with the server's count of
 * requests the same for the steady state alone. Ends with the command's exit code; 124 when it had
 * to be killed.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/lib/counter.h"
#include "tests/bench/lib/self.h"
#include "tests/bench/lib/status.h"
#include "tests/bench/lib/window.h"

#define WORDS_MAX  256
#define PIDS_MAX   16
#define EXIT_LIMIT 124

struct options {
    struct option_list pids, others, counters;
    char *output;
    char *status;
    uint64_t settle_ns, window_ns;
    uint64_t limit_ns;
    uint32_t cpu;
};

#define AT(member) .offset = offsetof(struct options, member), .set_offset = OPTION_NO_SET
#define TIME(member, long_name, help)                                                              \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_DURATION, AT(member), .min = 1,           \
        .max = 3600 * NS_PER_SEC, .bare_unit = NS_PER_SEC, .meta = "TIME", .text = help            \
    }
#define LIST(member, long_name, what, accepts, help)                                               \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_LIST, AT(member), .meta = what,           \
        .accepted = accepts, .text = help                                                          \
    }
#define TEXT(member, long_name, what, help)                                                        \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_STRING, AT(member), .meta = what,         \
        .accepted = "a text", .text = help                                                         \
    }

static const struct option_row rows[] = {
    LIST(pids, "pid", "PID", "a process id",
         "measure this process, which runs already, instead (repeatable)"),
    LIST(others, "other", "PID", "a process id",
         "also tell what this process uses, the server's perhaps (repeatable)"),
    TEXT(output, "output", "FILE", "write the figures there (default: stderr)"),
    LIST(counters, "counter", "FILE", "a file",
         "a responder's --counter: measures the steady state too (repeatable)"),
    TEXT(status, "status", "ADDRESS:PORT", "the same, counted by an nginx with stub_status there"),
    TIME(settle_ns, "settle", "which begins so long after the first request (default: 300ms)"),
    TIME(window_ns, "window", "and takes so long (default: 1s)"),
    TIME(limit_ns, "limit", "kill the command after this time (default: 60s)"),
    {.name = "cpu",
     .aliases = "",
     .type = OPTION_U32,
     AT(cpu),
     .max = 1023,
     .meta = "N",
     .text = "run the command on this CPU only"},
};

#define ROWS (sizeof rows / sizeof rows[0])

/* What is measured. Without --pid the only clock is the command's. */
struct watch {
    clockid_t clocks[PIDS_MAX], others[PIDS_MAX];
    const counter_cell *counters[PIDS_MAX];
    size_t n_counters;
    struct status status;
    struct window window;
};

static clockid_t clock_of_pid(long pid, const char *text)
{
    clockid_t clock;
    int error = pid > 0 ? clock_getcpuclockid((pid_t)pid, &clock) : EINVAL;
    if (error == 0)
        return clock;
    errno = error;
    self_die("process %s", text);
}

static clockid_t clock_of(const char *text)
{
    char *end;
    long pid = strtol(text, &end, 10);
    return clock_of_pid(*end == '\0' ? pid : 0, text);
}

static uint64_t counted(void *arg)
{
    const struct watch *w = arg;
    uint64_t sum = 0;
    for (size_t i = 0; i < w->n_counters; i++)
        sum += counter_load(w->counters[i]);
    return sum;
}

static uint64_t asked(void *arg)
{
    struct watch *w = arg;
    return status_requests(&w->status);
}

static void watch_init(struct watch *w, const struct options *o)
{
    *w = (struct watch){.window = {.settle_ns = o->settle_ns, .length_ns = o->window_ns}};
    for (size_t i = 0; i < o->pids.n; i++)
        w->clocks[i] = clock_of(o->pids.items[i]);
    w->window.clocks = w->clocks;
    w->window.n_clocks = o->pids.n;
    for (size_t i = 0; i < o->others.n; i++)
        w->others[i] = clock_of(o->others.items[i]);
    w->window.others = w->others;
    w->window.n_others = o->others.n;
    w->window.arg = w;
    for (; w->n_counters < o->counters.n; w->n_counters++)
        w->counters[w->n_counters] = counter_open(o->counters.items[w->n_counters]);
    if (w->n_counters > 0)
        w->window.requests = counted;
    if (o->status == NULL)
        return;
    status_open(&w->status, o->status);
    w->window.requests = asked;
}

static _Noreturn void become(const struct options *o, const char *const *words)
{
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    self_pin(o->cpu);
    execvp(words[0], (char *const *)words);
    self_die("%s", words[0]);
}

/* Steps the window meanwhile. False = the limit passed before the command ended. */
static bool wait_until_gone(struct window *window, uint64_t limit_ns)
{
    sigset_t child;
    uint64_t end_ns = clock_mono_ns() + limit_ns;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        uint64_t now_ns = clock_mono_ns();
        uint64_t next_ns = window_step(window, now_ns);
        uint64_t left = clock_elapsed(now_ns, next_ns < end_ns ? next_ns : end_ns);
        struct timespec ts = {(time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC)};
        if (sigtimedwait(&child, NULL, &ts) == SIGCHLD)
            return true;
        if (clock_mono_ns() >= end_ns)
            return false;
    }
}

static int run(const struct options *o, struct watch *w, const char *const *words)
{
    sigset_t child;
    int status;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    pid_t pid = fork();
    if (pid < 0)
        self_die("fork");
    if (pid == 0)
        become(o, words);
    if (o->pids.n == 0) {
        w->clocks[0] = clock_of_pid(pid, words[0]);
        w->window.n_clocks = 1;
    }
    bool late = !wait_until_gone(&w->window, o->limit_ns);
    if (late)
        kill(-pid, SIGKILL);
    if (waitpid(pid, &status, 0) != pid)
        self_die("waitpid");
    if (late)
        return EXIT_LIMIT;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static double seconds(struct timeval tv)
{
    return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static void tell(const struct options *o, const struct watch *w, int code, uint64_t wall_ns,
                 uint64_t pids_ns)
{
    struct rusage u;
    FILE *out = o->output != NULL ? fopen(o->output, "we") : stderr;
    if (out == NULL)
        self_die("%s", o->output);
    getrusage(RUSAGE_CHILDREN, &u);
    fprintf(out, "exit=%d wall=%.6f user=%.6f sys=%.6f maxrss_kb=%ld pid_cpu=%.6f", code,
            (double)wall_ns / 1e9, seconds(u.ru_utime), seconds(u.ru_stime), u.ru_maxrss,
            (double)pids_ns / 1e9);
    window_print(&w->window, out);
    fprintf(out, "\n");
    if (o->output != NULL && fclose(out) != 0)
        self_die("%s", o->output);
}

int main(int argc, char **argv)
{
    struct options o = {.limit_ns = 60 * NS_PER_SEC,
                        .settle_ns = 300 * NS_PER_MS,
                        .window_ns = NS_PER_SEC,
                        .cpu = SELF_NO_CPU};
    const char *words[WORDS_MAX + 1] = {0};
    struct watch w;
    self_options("[flags] -- COMMAND [ARGUMENT...]", rows, ROWS, argc, argv, &o, words, WORDS_MAX);
    errno = 0;
    if (words[0] == NULL || o.pids.n > PIDS_MAX || o.others.n > PIDS_MAX || o.counters.n > PIDS_MAX)
        self_die("a command is needed, and at most %d times --pid, --other and --counter",
                 PIDS_MAX);
    watch_init(&w, &o);
    uint64_t before_ns = window_cpu_ns(w.clocks, o.pids.n), from_ns = clock_mono_ns();
    int code = run(&o, &w, words);
    uint64_t wall_ns = clock_elapsed(from_ns, clock_mono_ns());
    tell(&o, &w, code, wall_ns, window_cpu_ns(w.clocks, o.pids.n) - before_ns);
    option_clear(rows, ROWS, &o);
    return code;
}
