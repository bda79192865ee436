/* SPDX-License-Identifier: MIT */
#include "tests/netns/rig.h"

#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report.h"

#define UNSHARE   "/usr/bin/unshare"
#define AHEAD     "3600"
#define PATH      "f/"
#define RSS_KIB   8192 /* what a first run may leave in the allocator */
#define NEXT_PATH "next/{i}"

static const char *const names[RIG_AGENTS_MAX] = {"load0", "load1"};

void rig_sleep(uint64_t ms)
{
    clock_sleep_until(clock_mono_ns() + ms * NS_PER_MS);
}

/* --- certificates --------------------------------------------------------------------------- */

static void ctl_ok(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    struct process p;
    const char *args[] = {a, b, c, d, e, NULL};
    int code = process_run(&p, "hammer-ctl", args, 30000);
    ck_assert_msg(code == 0, "hammer-ctl %s %s: %s", a, b, p.err);
    process_end(&p);
}

static const char *pki_file(const struct rig *r, size_t agent, const char *file)
{
    static char bufs[8][160];
    static unsigned next;
    char *buf = bufs[next++ % 8];
    snprintf(buf, sizeof bufs[0], "%s/%s/%s", r->home, names[agent], file);
    return buf;
}

static void make_certificates(struct rig *r)
{
    ctl_ok("pki", "init", NULL, NULL, NULL);
    ctl_ok("pki", "controller", "desk", NULL, NULL);
    for (size_t i = 0; i < r->n; i++)
        ctl_ok("pki", "agent", names[i], "--out", pki_file(r, i, ""));
}

/* --- processes ------------------------------------------------------------------------------ */

static size_t agent_args(const struct rig *r, size_t i, const char *url, const char *port_file,
                         const char **args)
{
    const char *const plain[] = {"--insecure-listen"};
    const char *const tls[] = {"--tls-ca",   pki_file(r, i, "ca.crt"),
                               "--tls-cert", pki_file(r, i, "agent.crt"),
                               "--tls-key",  pki_file(r, i, "agent.key")};
    const char *const all[] = {"--listen", url, "--port-file", port_file, "--name", names[i], "-v"};
    size_t n = 0;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        args[n++] = all[k];
    for (size_t k = 0; r->tls && k < sizeof tls / sizeof tls[0]; k++)
        args[n++] = tls[k];
    if (!r->tls)
        args[n++] = plain[0];
    args[n] = NULL;
    return n;
}

static void start_agent(struct rig *r, size_t i)
{
    struct agent_process *a = &r->agents[i];
    char url[64], port_file[96];
    const char *args[PROCESS_ARGS_MAX] = {"-T", "--monotonic", AHEAD, TEST_BIN_DIR "/hammer-agent"};
    folder_make(a->dir);
    snprintf(port_file, sizeof port_file, "%s/port", a->dir);
    snprintf(url, sizeof url, "%stcp://%s:7400", r->tls ? "tls+" : "",
             cable_far_address(r->cables[i]));
    agent_args(r, i, url, port_file, args + 4);
    process_start(&a->process, UNSHARE, args); /* which becomes the agent */
    mem_free(file_wait_line(port_file, 20000));
    snprintf(a->address, sizeof a->address, "%s:7400", cable_far_address(r->cables[i]));
    size_t len = strlen(r->list);
    snprintf(r->list + len, sizeof r->list - len, "%s%s%stcp://%s", i > 0 ? "," : "",
             r->tls ? names[i] : "", r->tls ? "@tls+" : "", a->address);
}

static size_t count_fds(const struct process *p)
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)p->pid);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static long rss_kib(const struct process *p)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)p->pid);
    char *text = file_read(path), *at = text != NULL ? strstr(text, "VmRSS:") : NULL;
    long kib = at != NULL ? strtol(at + 6, NULL, 10) : -1;
    mem_free(text);
    return kib;
}

void rig_open(struct rig *r, const struct rig_config *cfg)
{
    *r = (struct rig){.n = cfg->agents > 0 ? cfg->agents : 1, .tls = cfg->tls};
    uint64_t seed = check_seed();
    folder_make(r->home);
    setenv("XDG_CONFIG_HOME", r->home, 1);
    setenv("XDG_STATE_HOME", r->home, 1);
    setenv("XDG_DATA_HOME", r->home, 1);
    setenv("HAMMER_TEST_INDEX", "1", 1);
    netns_open(&r->ns);
    if (r->tls)
        make_certificates(r);
    for (size_t i = 0; i < r->n; i++)
        r->cables[i] = cable_new(&r->ns, (unsigned)i, check_random(&seed));
    netns_enter(&r->ns, NETNS_FAR);
    target_start(&r->target, cfg->target_args);
    for (size_t i = 0; i < r->n; i++)
        start_agent(r, i);
    netns_enter(&r->ns, NETNS_NEAR);
    for (size_t i = 0; i < r->n; i++) {
        r->fds[i] = count_fds(&r->agents[i].process);
        r->rss_kib[i] = rss_kib(&r->agents[i].process);
    }
}

void rig_close(struct rig *r)
{
    rig_drop(r);
    for (size_t i = 0; i < r->n; i++) {
        process_signal(&r->agents[i].process, SIGCONT);
        agent_stop(&r->agents[i]);
        cable_free(r->cables[i]);
    }
    if (r->target.process.pid != 0)
        target_stop(&r->target);
    folder_remove(r->home);
    netns_close(&r->ns);
}

/* --- runs ----------------------------------------------------------------------------------- */

static void start_run(struct rig *r, struct process *p, const struct rig_load *load,
                      const char *path)
{
    char url[160];
    snprintf(url, sizeof url, "%s%s", r->target.url, path);
    const char *args[PROCESS_ARGS_MAX] = {
        "run", "--agents", r->list, "-r", load->rate, "-d", load->duration, "--lease", load->lease,
        "-c",  "8",        "-t",    "1",  "-T",       "2s", "--json",       url};
    size_t n = 17;
    if (!r->tls)
        args[n++] = "--insecure-agents";
    for (size_t k = 0; k < 8 && load->more[k] != NULL; k++)
        args[n++] = load->more[k];
    process_start(p, "hammer-ctl", args);
}

void rig_run(struct rig *r, const struct rig_load *load)
{
    start_run(r, &r->ctl, load, PATH "{i}");
    r->ctl_running = true;
}

int rig_wait(struct rig *r, uint64_t timeout_ms)
{
    return process_wait(&r->ctl, timeout_ms);
}

json_t *rig_report(struct rig *r)
{
    if (r->ctl.out == NULL || r->ctl.out[0] == '\0')
        return NULL;
    json_t *report = report_parse(r->ctl.out);
    report_check_ledger(report);
    return report;
}

void rig_drop(struct rig *r)
{
    if (!r->ctl_running)
        return;
    process_signal(&r->ctl, SIGKILL);
    process_signal(&r->ctl, SIGCONT);
    process_end(&r->ctl);
    r->ctl_running = false;
}

static void still_there(struct rig *r, uint64_t until, const char *what)
{
    if (process_alive(&r->ctl) && clock_mono_ns() < until)
        return;
    char *err = file_read(r->ctl.err_path), *log = file_read(r->agents[0].process.err_path);
    ck_abort_msg("waiting in vain for \"%s\"; hammer-ctl: %.2000s\nagent 0: %.4000s", what, err,
                 log);
}

void rig_wait_log(struct rig *r, size_t agent, const char *text)
{
    uint64_t until = clock_mono_ns() + 30 * NS_PER_SEC;
    for (bool there = false; !there; rig_sleep(2)) {
        char *log = file_read(r->agents[agent].process.err_path);
        there = log != NULL && strstr(log, text) != NULL;
        mem_free(log);
        if (!there)
            still_there(r, until, text);
    }
}

/* Calls back for each request of the log: "arrived" in ns and the index. */
static size_t each_request(const char *log, void (*fn)(void *arg, uint64_t at, uint64_t i),
                           void *arg)
{
    char *text = file_read(log), *save = NULL;
    size_t n = 0;
    for (char *l = text != NULL ? strtok_r(text, "\n", &save) : NULL; l != NULL;
         l = strtok_r(NULL, "\n", &save)) {
        const char *at = strstr(l, " /" PATH), *last = strrchr(l, ' ');
        if (at == NULL)
            continue;
        n++;
        if (fn != NULL)
            fn(arg, strtoull(last, NULL, 10), strtoull(at + 2 + strlen(PATH), NULL, 10));
    }
    mem_free(text);
    return n;
}

void rig_wait_requests(struct rig *r, size_t n)
{
    uint64_t until = clock_mono_ns() + 30 * NS_PER_SEC;
    for (; each_request(r->target.log, NULL, NULL) < n; rig_sleep(10))
        still_there(r, until, "requests at the target");
}

static void see(void *arg, uint64_t at, uint64_t i)
{
    struct rig_seen *s = arg;
    ck_assert_uint_lt(i, s->max);
    if (s->times[i]++ == 0)
        s->arrived_ns[i] = at;
    if (at > s->last_ns[i % 2])
        s->last_ns[i % 2] = at;
}

void rig_seen_load(struct rig *r, struct rig_seen *s, size_t max)
{
    *s = (struct rig_seen){.max = max,
                           .arrived_ns = mem_calloc(max, sizeof *s->arrived_ns),
                           .times = mem_calloc(max, sizeof *s->times)};
    process_signal(&r->target.process, SIGTERM);
    process_wait(&r->target.process, 10000);
    s->total = each_request(r->target.log, see, s);
}

void rig_seen_free(struct rig_seen *s)
{
    mem_free(s->arrived_ns);
    mem_free(s->times);
}

/* --- the next run --------------------------------------------------------------------------- */

static int next_run(struct rig *r, struct process *p)
{
    static const struct rig_load load = {"50", "200ms", "3s", {"--force", NULL}};
    start_run(r, p, &load, NEXT_PATH);
    return process_wait(p, 30000);
}

static void check_leaks(struct rig *r, size_t i)
{
    const struct process *p = &r->agents[i].process;
    uint64_t until = clock_mono_ns() + 10 * NS_PER_SEC;
    while (count_fds(p) > r->fds[i] && clock_mono_ns() < until) /* it closes after BYE */
        rig_sleep(5);
    ck_assert_msg(count_fds(p) <= r->fds[i], "agent %zu has %zu descriptors, and had %zu", i,
                  count_fds(p), r->fds[i]);
    long kib = rss_kib(p);
    if (!process_sanitized())
        ck_assert_msg(kib <= r->rss_kib[i] + RSS_KIB, "agent %zu has %ld KiB, and had %ld", i, kib,
                      r->rss_kib[i]);
}

void rig_check_next(struct rig *r, uint64_t within_ms)
{
    struct process p;
    uint64_t until = clock_mono_ns() + within_ms * NS_PER_MS;
    int code;
    rig_drop(r);
    for (size_t i = 0; i < r->n; i++)
        cable_mend(r->cables[i]);
    while ((code = next_run(r, &p)) == 2 && clock_mono_ns() < until) { /* busy */
        process_end(&p);
        rig_sleep(100);
    }
    ck_assert_msg(code == 0 || code == 4, "the next run: exit code %d: %.2000s%.2000s", code, p.out,
                  p.err);
    json_t *report = report_parse(p.out);
    report_check_ledger(report);
    ck_assert_int_eq(report_int(report, "totals.ok"), 10);
    json_decref(report);
    process_end(&p);
    for (size_t i = 0; i < r->n; i++)
        check_leaks(r, i);
}
