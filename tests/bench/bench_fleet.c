/* SPDX-License-Identifier: MIT */
/*
 * Runs a hammer-ctl against a fleet of simulated agents in a few processes, and tells what the
 * controller needed: time until it held them all, CPU time in the steady state, memory; and what
 * the fleet has sent in all, for tests/bench/fleet to compare with the report.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/snapshot.h"
#include "tests/bench/lib/self.h"
#include "tests/bench/session/fake_run.h"
#include "tests/bench/session/sessions.h"

#define WORDS_MAX     64
#define PROCESSES_MAX 16
#define AGENTS_MAX    1024
#define ADDRESS_MAX   64
#define EXIT_LIMIT    124
#define STEP_NS       (10 * NS_PER_MS)
#define LISTEN_NS     (30 * NS_PER_SEC)
#define SUM_MAX       (8u << 20)

struct options {
    uint32_t agents, processes, distinct;
    uint64_t settle_ns, window_ns, limit_ns;
    char *folder, *tls;
};

#define AT(member) .offset = offsetof(struct options, member), .set_offset = OPTION_NO_SET
#define TIME(member, long_name, help)                                                              \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_DURATION, AT(member), .min = 1,           \
        .max = 3600 * NS_PER_SEC, .bare_unit = NS_PER_SEC, .meta = "TIME", .text = help            \
    }
#define NUMBER(member, long_name, most, help)                                                      \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_U32, AT(member), .min = 1, .max = most,   \
        .meta = "N", .text = help                                                                  \
    }
#define FOLDER(member, long_name, help)                                                            \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_STRING, AT(member), .meta = "DIR",        \
        .accepted = "a folder", .text = help                                                       \
    }

static const struct option_row rows[] = {
    NUMBER(agents, "agents", AGENTS_MAX, "simulated agents (default: 10)"),
    NUMBER(processes, "processes", PROCESSES_MAX, "in so many processes (default: 1)"),
    NUMBER(distinct, "distinct", FAKE_RUN_DISTINCT_MAX,
           "so many latencies exist: histograms soon stop growing (default: any)"),
    FOLDER(folder, "folder", "work there"),
    FOLDER(tls, "tls", "tls+tcp:// with agent.crt, agent.key and ca.crt there; its name is fleet"),
    TIME(settle_ns, "settle", "the steady state begins so long after the start (default: 2s)"),
    TIME(window_ns, "window", "and takes so long (default: 5s)"),
    TIME(limit_ns, "limit", "kill everything after this time (default: 60s)"),
};

#define ROWS (sizeof rows / sizeof rows[0])

struct fleet {
    struct options o;
    struct board *boards; /* shared with the processes */
    pid_t pids[PROCESSES_MAX];
    char *agents; /* for --agents */
};

/* What there is to know of the controller at an instant. */
struct sample {
    uint64_t at_ns, cpu_ns, snapshots;
    uint64_t rss_kb;
};

static const char *path_in(const struct fleet *f, const char *name, uint32_t number, char *buf,
                           size_t cap)
{
    snprintf(buf, cap, "%s/%s%" PRIu32, f->o.folder, name, number);
    return buf;
}

/* --- the fleet -------------------------------------------------------------------------------- */

static void start_process(struct fleet *f, uint32_t k)
{
    char addresses[256], sum[256];
    size_t first = (size_t)f->o.agents * k / f->o.processes;
    size_t next = (size_t)f->o.agents * (k + 1) / f->o.processes;
    struct sessions_config cfg = {
        .first = first,
        .n = next - first,
        .tls = f->o.tls,
        .addresses = path_in(f, "addresses", k, addresses, sizeof addresses),
        .sum = path_in(f, "sum", k, sum, sizeof sum),
        .board = &f->boards[k],
        .seed = k + 1,
        .distinct = f->o.distinct,
    };
    f->pids[k] = fork();
    if (f->pids[k] < 0)
        self_die("fork");
    if (f->pids[k] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sessions_run(&cfg);
    }
}

static void take_addresses(struct fleet *f, uint32_t k)
{
    char path[256], line[ADDRESS_MAX];
    uint64_t until_ns = clock_mono_ns() + LISTEN_NS;
    FILE *in;
    path_in(f, "addresses", k, path, sizeof path);
    while ((in = fopen(path, "re")) == NULL) {
        if (waitpid(f->pids[k], NULL, WNOHANG) != 0 || clock_mono_ns() > until_ns)
            self_die("a process of the fleet does not listen");
        clock_sleep_until(clock_mono_ns() + STEP_NS);
    }
    while (fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (f->agents[0] != '\0')
            strcat(f->agents, ",");
        strcat(f->agents, f->o.tls != NULL ? "fleet@" : "");
        strcat(f->agents, line);
    }
    fclose(in);
}

static void start_fleet(struct fleet *f)
{
    size_t bytes = PROCESSES_MAX * sizeof(struct board);
    f->boards = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (f->boards == MAP_FAILED)
        self_die("mmap");
    f->agents = mem_calloc(f->o.agents, ADDRESS_MAX);
    for (uint32_t k = 0; k < f->o.processes; k++)
        start_process(f, k);
    for (uint32_t k = 0; k < f->o.processes; k++)
        take_addresses(f, k);
}

static uint64_t sum_of(const struct fleet *f, size_t member)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < f->o.processes; k++)
        sum += atomic_load((_Atomic uint64_t *)(void *)((char *)&f->boards[k] + member));
    return sum;
}

/* When the last process got its first PREPARE; 0 = not all have. */
static uint64_t prepared_ns(const struct fleet *f)
{
    uint64_t last = 0;
    for (uint32_t k = 0; k < f->o.processes; k++) {
        uint64_t at = atomic_load(&f->boards[k].prepared_ns);
        if (at == 0)
            return 0;
        last = at > last ? at : last;
    }
    return last;
}

/* --- the controller --------------------------------------------------------------------------- */

static pid_t start_controller(const struct fleet *f, const char **words)
{
    size_t n = 0;
    while (words[n] != NULL)
        n++;
    words[n] = "--agents";
    words[n + 1] = f->agents;
    words[n + 2] = NULL;
    pid_t pid = fork();
    if (pid < 0)
        self_die("fork");
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (freopen("/dev/null", "w", stdout) == NULL) /* the report has its file */
        self_die("/dev/null");
    execvp(words[0], (char *const *)(const void *)words);
    self_die("%s", words[0]);
}

static uint64_t status_kb(pid_t pid, const char *key)
{
    char path[64], line[128];
    uint64_t kb = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *in = fopen(path, "re");
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kb = strtoull(line + strlen(key) + 1, NULL, 10);
    if (in != NULL)
        fclose(in);
    return kb;
}

static struct sample take_sample(const struct fleet *f, pid_t pid)
{
    struct sample s = {.at_ns = clock_mono_ns()};
    struct timespec ts = {0};
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) == 0)
        clock_gettime(clock, &ts);
    s.cpu_ns = (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
    s.snapshots = sum_of(f, offsetof(struct board, snapshots));
    s.rss_kb = status_kb(pid, "VmRSS:");
    return s;
}

struct watch {
    uint64_t begin_ns;
    struct sample held, from, to;
    uint64_t held_ns, started_ns;
    uint64_t peak_kb; /* before the report is made, and with it */
    uint64_t peak_all_kb;
};

static void look(struct watch *w, const struct fleet *f, pid_t pid)
{
    uint64_t now_ns = clock_mono_ns();
    uint64_t kb = status_kb(pid, "VmHWM:");
    if (kb != 0)
        w->peak_all_kb = kb;
    if (sum_of(f, offsetof(struct board, ended)) == 0 && kb != 0)
        w->peak_kb = kb;
    if (w->held_ns == 0 && (w->held_ns = prepared_ns(f)) != 0)
        w->held = take_sample(f, pid);
    if (w->started_ns == 0 && sum_of(f, offsetof(struct board, started)) == f->o.agents)
        w->started_ns = now_ns;
    if (w->started_ns == 0 || w->to.at_ns != 0)
        return;
    if (w->from.at_ns == 0 && now_ns >= w->started_ns + f->o.settle_ns)
        w->from = take_sample(f, pid);
    if (w->from.at_ns != 0 && now_ns >= w->from.at_ns + f->o.window_ns)
        w->to = take_sample(f, pid);
}

static int watch_controller(struct watch *w, const struct fleet *f, const char **words)
{
    int status = 0;
    w->begin_ns = clock_mono_ns();
    uint64_t step_ns = w->begin_ns;
    pid_t pid = start_controller(f, words);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (step_ns > w->begin_ns + f->o.limit_ns) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return EXIT_LIMIT;
        }
        look(w, f, pid);
        step_ns = clock_mono_ns() + STEP_NS;
        clock_sleep_until(step_ns);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- results ---------------------------------------------------------------------------------- */

static struct snapshot *read_sum(const char *path)
{
    struct snapshot *s = NULL;
    uint8_t *bytes = mem_calloc(SUM_MAX, 1);
    FILE *in = fopen(path, "re");
    if (in == NULL)
        self_die("%s", path);
    size_t len = fread(bytes, 1, SUM_MAX, in);
    fclose(in);
    errno = 0;
    if (snapshot_decode(bytes, len, &s) != ERR_OK)
        self_die("%s is not a snapshot", path);
    mem_free(bytes);
    return s;
}

static struct snapshot *stop_fleet(struct fleet *f)
{
    char path[256];
    struct snapshot *sum = snapshot_new();
    for (uint32_t k = 0; k < f->o.processes; k++)
        kill(f->pids[k], SIGTERM);
    for (uint32_t k = 0; k < f->o.processes; k++) {
        waitpid(f->pids[k], NULL, 0);
        struct snapshot *part = read_sum(path_in(f, "sum", k, path, sizeof path));
        if (snapshot_add(sum, part, false) != ERR_OK)
            self_die("the sums do not add up");
        snapshot_free(part);
    }
    return sum;
}

static void print_hist(const struct snapshot *s, enum hist_kind kind)
{
    static const double percentiles[] = {50, 90, 99, 99.9};
    struct hist *h = snapshot_hist(s, kind);
    const char *name = hist_kind_name(kind);
    printf("%s_count=%" PRIu64 "\n%s_min=%" PRIu64 "\n%s_max=%" PRIu64 "\n%s_mean=%.0f\n", name,
           hist_count(h), name, hist_min(h), name, hist_max(h), name, hist_mean_exact(h));
    for (size_t i = 0; i < sizeof percentiles / sizeof percentiles[0]; i++) {
        uint64_t at = hist_value_at_percentile(h, percentiles[i]);
        printf("%s_p%g=%" PRIu64 "\n", name, percentiles[i],
               at < hist_max(h) ? at : hist_max(h)); /* as the report has it */
    }
    hist_free(h);
}

static void print_sent(const struct snapshot *sum)
{
    struct counters c = snapshot_counters(sum);
    for (size_t i = 0; i < COUNTERS_N; i++)
        printf("%s=%" PRIu64 "\n", counters_name(i), counters_get(&c, i));
    print_hist(sum, HIST_CORRECTED);
    print_hist(sum, HIST_UNCORRECTED);
    print_hist(sum, HIST_SEND_LAG);
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void print_watch(const struct fleet *f, const struct watch *w, int code)
{
    uint64_t window_ns = clock_elapsed(w->from.at_ns, w->to.at_ns);
    uint64_t cpu_ns = w->to.cpu_ns - w->from.cpu_ns, n = w->to.snapshots - w->from.snapshots;
    printf("exit=%d\nagents=%" PRIu32 "\n", code, f->o.agents);
    printf("connect_s=%.2f\nconnect_cpu_s=%.2f\n", seconds(clock_elapsed(w->begin_ns, w->held_ns)),
           seconds(w->held.cpu_ns));
    printf("window_s=%.2f\ncpu_percent=%.2f\nwindow_snapshots=%" PRIu64 "\ncpu_us=%.1f\n",
           seconds(window_ns), window_ns == 0 ? 0 : (double)cpu_ns / (double)window_ns * 100, n,
           n == 0 ? 0 : (double)cpu_ns / 1e3 / (double)n);
    printf("rss_held_kb=%" PRIu64 "\nrss_from_kb=%" PRIu64 "\nrss_to_kb=%" PRIu64
           "\npeak_kb=%" PRIu64 "\npeak_report_kb=%" PRIu64 "\n",
           w->held.rss_kb, w->from.rss_kb, w->to.rss_kb, w->peak_kb, w->peak_all_kb);
    printf("snapshots=%" PRIu64 "\n", sum_of(f, offsetof(struct board, snapshots)));
}

int main(int argc, char **argv)
{
    struct fleet f = {.o = {.agents = 10,
                            .processes = 1,
                            .settle_ns = 2 * NS_PER_SEC,
                            .window_ns = 5 * NS_PER_SEC,
                            .limit_ns = 60 * NS_PER_SEC}};
    struct watch w = {0};
    const char *words[WORDS_MAX + 3] = {0};
    self_options("[flags] --folder DIR -- hammer-ctl run [ARGUMENT...]", rows, ROWS, argc, argv,
                 &f.o, words, WORDS_MAX);
    errno = 0;
    if (words[0] == NULL || f.o.folder == NULL || f.o.processes > f.o.agents)
        self_die("a command and --folder are needed, and an agent for each process");
    self_raise_files();
    start_fleet(&f);
    int code = watch_controller(&w, &f, words);
    struct snapshot *sum = stop_fleet(&f);
    print_watch(&f, &w, code);
    print_sent(sum);
    snapshot_free(sum);
    mem_free(f.agents);
    option_clear(rows, ROWS, &f.o);
    return code;
}
