/* SPDX-License-Identifier: MIT */
/*
 * Two agents at 5000 requests a second for HAMMER_SOAK_SECONDS (default 20): totals exact, nobody's
 * memory or descriptors grow after a quarter of it. Ten minutes of it under the label soak.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define SECONDS_MIN 8
#define SECONDS_MAX 3600
#define RSS_KIB     1536 /* of growth: what one more thread's arena may take */
#define RSS_PER_MIN 32   /* and of the controller: it keeps each interval, for the timeline */

struct watched {
    const char *name;
    pid_t pid;
    long kib; /* after the warm-up */
    size_t fds;
};

static long resident_kib(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    char *text = file_read(path), *at = text != NULL ? strstr(text, "VmRSS:") : NULL;
    long kib = at != NULL ? strtol(at + 6, NULL, 10) : -1;
    mem_free(text);
    return kib;
}

static size_t descriptors(pid_t pid)
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static void measure(struct watched *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        w[i].kib = resident_kib(w[i].pid);
        w[i].fds = descriptors(w[i].pid);
    }
}

static void compare(const struct watched *w, size_t n, unsigned long seconds)
{
    for (size_t i = 0; i < n; i++) {
        long kib = resident_kib(w[i].pid);
        long more = RSS_KIB + (long)(RSS_PER_MIN * seconds / 60);
        printf("%s: %ld KiB after the warm-up, %ld KiB at the end, %zu descriptors\n", w[i].name,
               w[i].kib, kib, descriptors(w[i].pid));
        ck_assert_uint_le(descriptors(w[i].pid), w[i].fds);
        if (!process_sanitized()) /* sanitizers keep freed memory */
            ck_assert_msg(kib <= w[i].kib + more, "%s grew from %ld to %ld KiB", w[i].name,
                          w[i].kib, kib);
    }
}

static unsigned long soak_seconds(void)
{
    const char *text = getenv("HAMMER_SOAK_SECONDS");
    unsigned long s = text != NULL ? strtoul(text, NULL, 10) : 20;
    ck_assert_msg(s >= SECONDS_MIN && s <= SECONDS_MAX,
                  "HAMMER_SOAK_SECONDS=%s: accepted is %d to %d", text, SECONDS_MIN, SECONDS_MAX);
    return s;
}

static void sleep_s(double s)
{
    clock_sleep_until(clock_mono_ns() + (uint64_t)(s * 1e9));
}

/* "served N of N requests" of the target that was told to end. */
static uint64_t served(struct target_process *t)
{
    process_signal(&t->process, SIGTERM);
    process_wait(&t->process, 10000);
    const char *at = strstr(t->process.out, "served ");
    if (at == NULL)
        at = strstr(t->process.err, "served ");
    ck_assert_ptr_nonnull(at);
    return strtoull(at + strlen("served "), NULL, 10);
}

static void check_totals(const char *out, uint64_t requests, uint64_t seen)
{
    json_t *r = report_parse(out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), (int64_t)requests);
    ck_assert_int_eq(report_int(r, "totals.sent"), (int64_t)requests);
    ck_assert_int_eq(report_int(r, "totals.ok"), (int64_t)requests);
    ck_assert_uint_eq(seen, requests);
    json_decref(r);
}

START_TEST(test_soak)
{
    static const char *const quiet[] = {"--log", "/dev/null", "--lifetime", "60m", NULL};
    struct target_process target;
    struct agent_process agents[2];
    struct process p;
    char list[160], duration[16];
    const unsigned long seconds = soak_seconds(), rate = process_sanitized() ? 500 : 5000;
    target_start(&target, quiet);
    for (size_t i = 0; i < 2; i++)
        agent_start(&agents[i], NULL);
    snprintf(list, sizeof list, "%s,%s", agents[0].address, agents[1].address);
    snprintf(duration, sizeof duration, "%lu", seconds);
    const char *args[] = {"run", "--agents", list,       "-r", rate == 5000 ? "5k" : "500",
                          "-d",  duration,   "-c",       "20", "-T",
                          "10s", "--json",   target.url, NULL};
    process_start(&p, "hammer-ctl", args);
    sleep_s((double)seconds / 4 + 1);
    struct watched w[] = {{"agent 0", agents[0].process.pid, 0, 0},
                          {"agent 1", agents[1].process.pid, 0, 0},
                          {"hammer-ctl", p.pid, 0, 0}};
    measure(w, 3);
    sleep_s((double)seconds * 3 / 4 - 3);
    ck_assert(process_alive(&p));
    compare(w, 3, seconds);
    int code = process_wait(&p, 30000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.2000s%.2000s", code, p.out, p.err);
    check_totals(p.out, rate * seconds, served(&target));
    process_end(&p);
    for (size_t i = 0; i < 2; i++)
        agent_stop(&agents[i]);
    target_stop(&target);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("soak");
    TCase *t = tcase_create("soak");
    tcase_set_timeout(t, 3800);
    tcase_add_test(t, test_soak);
    suite_add_tcase(s, t);
    return check_main(s);
}
