/* SPDX-License-Identifier: MIT */
/*
 * Runs a command and tells what it cost: wall, user and system time of its whole process tree, and
 * what running processes (--pid) used meanwhile, all their threads together. Ends with the
 * command's exit code; 124 when it had to be killed.
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
#include "tests/bench/lib/self.h"

#define WORDS_MAX  256
#define PIDS_MAX   16
#define EXIT_LIMIT 124

struct options {
    struct option_list pids;
    char *output;
    uint64_t limit_ns;
    uint32_t cpu;
};

#define AT(member) .offset = offsetof(struct options, member), .set_offset = OPTION_NO_SET

static const struct option_row rows[] = {
    {.name = "pid",
     .aliases = "",
     .type = OPTION_LIST,
     AT(pids),
     .meta = "PID",
     .accepted = "a process id",
     .text = "also tell what this process uses meanwhile (repeatable)"},
    {.name = "output",
     .aliases = "-o",
     .type = OPTION_STRING,
     AT(output),
     .meta = "FILE",
     .accepted = "a file name",
     .text = "write the figures there (default: stderr)"},
    {.name = "limit",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(limit_ns),
     .min = 1,
     .max = 3600 * NS_PER_SEC,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "kill the command after this time (default: 60s)"},
    {.name = "cpu",
     .aliases = "",
     .type = OPTION_U32,
     AT(cpu),
     .max = 1023,
     .meta = "N",
     .text = "run the command on this CPU only"},
};

#define ROWS (sizeof rows / sizeof rows[0])

static clockid_t clock_of(const char *pid_text)
{
    clockid_t clock;
    char *end;
    long pid = strtol(pid_text, &end, 10);
    int error = *end == '\0' && pid > 0 ? clock_getcpuclockid((pid_t)pid, &clock) : EINVAL;
    if (error == 0)
        return clock;
    errno = error;
    self_die("--pid %s", pid_text);
}

/* CPU time so far of all the processes, ns. */
static uint64_t used_ns(const clockid_t *clocks, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        struct timespec ts;
        if (clock_gettime(clocks[i], &ts) != 0)
            self_die("a process given by --pid ended");
        sum += (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
    }
    return sum;
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

/* False = the limit passed first. */
static bool wait_until_gone(uint64_t limit_ns)
{
    sigset_t child;
    uint64_t end_ns = clock_mono_ns() + limit_ns;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        uint64_t left = clock_elapsed(clock_mono_ns(), end_ns);
        struct timespec ts = {(time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC)};
        if (sigtimedwait(&child, NULL, &ts) == SIGCHLD)
            return true;
        if (errno == EAGAIN)
            return false;
    }
}

static int run(const struct options *o, const char *const *words)
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
    bool late = !wait_until_gone(o->limit_ns);
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

static void tell(const struct options *o, int code, uint64_t wall_ns, uint64_t others_ns)
{
    struct rusage u;
    FILE *out = o->output != NULL ? fopen(o->output, "we") : stderr;
    if (out == NULL)
        self_die("%s", o->output);
    getrusage(RUSAGE_CHILDREN, &u);
    fprintf(out, "exit=%d wall=%.6f user=%.6f sys=%.6f maxrss_kb=%ld pid_cpu=%.6f\n", code,
            (double)wall_ns / 1e9, seconds(u.ru_utime), seconds(u.ru_stime), u.ru_maxrss,
            (double)others_ns / 1e9);
    if (o->output != NULL && fclose(out) != 0)
        self_die("%s", o->output);
}

int main(int argc, char **argv)
{
    struct options o = {.limit_ns = 60 * NS_PER_SEC, .cpu = SELF_NO_CPU};
    const char *words[WORDS_MAX + 1] = {0};
    clockid_t clocks[PIDS_MAX];
    self_options("[flags] -- COMMAND [ARGUMENT...]", rows, ROWS, argc, argv, &o, words, WORDS_MAX);
    errno = 0;
    if (words[0] == NULL || o.pids.n > PIDS_MAX)
        self_die("a command is needed, and at most %d times --pid", PIDS_MAX);
    for (size_t i = 0; i < o.pids.n; i++)
        clocks[i] = clock_of(o.pids.items[i]);
    uint64_t before_ns = used_ns(clocks, o.pids.n), from_ns = clock_mono_ns();
    int code = run(&o, words);
    uint64_t wall_ns = clock_elapsed(from_ns, clock_mono_ns());
    tell(&o, code, wall_ns, used_ns(clocks, o.pids.n) - before_ns);
    option_clear(rows, ROWS, &o);
    return code;
}
