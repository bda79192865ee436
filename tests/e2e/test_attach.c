/* SPDX-License-Identifier: MIT */
/* hammer-ctl is killed in the middle of a run: its agents, another hammer-ctl, and the totals. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"

#define AGENTS   2
#define LEASE_NS (3 * NS_PER_SEC)
#define GRACE_NS (2 * NS_PER_SEC)

static char home[64], state[96];
static char list[160];
static struct target_process target;
static struct agent_process agents[AGENTS];

static void set_up(void)
{
    folder_make(home);
    snprintf(state, sizeof state, "%s/state", home);
    setenv("XDG_STATE_HOME", state, 1);
    setenv("XDG_CONFIG_HOME", home, 1);
    target_start(&target, NULL);
    for (size_t i = 0; i < AGENTS; i++)
        agent_start(&agents[i], NULL);
    snprintf(list, sizeof list, "%s,%s", agents[0].address, agents[1].address);
}

static void tear_down(void)
{
    for (size_t i = 0; i < AGENTS; i++)
        agent_stop(&agents[i]);
    if (target.process.pid != 0)
        target_stop(&target);
    struct process p;
    const char *args[] = {"-rf", home, NULL};
    ck_assert_int_eq(process_run(&p, "/bin/rm", args, 10000), 0);
    process_end(&p);
}

/* --- what there is -------------------------------------------------------------------------- */

/* First run in the folder of journals; false = there is none. */
static bool find_run(char id[33])
{
    char path[128];
    struct dirent *d;
    bool found = false;
    snprintf(path, sizeof path, "%s/hammer/runs", state);
    DIR *dir = opendir(path);
    while (dir != NULL && !found && (d = readdir(dir)) != NULL) {
        found = d->d_name[0] != '.';
        snprintf(id, 33, "%.32s", d->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

static void check_no_journal(void)
{
    char id[33] = "";
    ck_assert_msg(!find_run(id), "the journal of %s is still there", id);
}

/* Snapshots have been kept: the load is under way. */
static void wait_for_records(char id[33])
{
    char path[200];
    struct stat st;
    uint64_t until_ns = clock_mono_ns() + 20 * NS_PER_SEC;
    while (clock_mono_ns() < until_ns) {
        if (find_run(id)) {
            snprintf(path, sizeof path, "%s/hammer/runs/%s/journal", state, id);
            if (stat(path, &st) == 0 && st.st_size > 2000)
                return;
        }
        clock_sleep_until(clock_mono_ns() + 10 * NS_PER_MS);
    }
    ck_abort_msg("no journal was written");
}

static void start_run(struct process *p, const char *rate, const char *duration,
                      const char *const *more)
{
    const char *args[PROCESS_ARGS_MAX] = {"run", "--agents",   list,    "-r",    rate,
                                          "-d",  duration,     "-c",    "4",     "--lease",
                                          "3s",  "--interval", "200ms", "--json"};
    size_t n = 14;
    for (; more != NULL && *more != NULL; more++)
        args[n++] = *more;
    args[n] = target.url;
    process_start(p, "hammer-ctl", args);
}

/* A run under way whose hammer-ctl is killed. Returns when. */
static uint64_t orphan_with(const char *rate, const char *duration, const char *const *more,
                            char id[33])
{
    struct process p;
    start_run(&p, rate, duration, more);
    wait_for_records(id);
    uint64_t killed_ns = clock_mono_ns();
    process_signal(&p, SIGKILL);
    ck_assert_int_eq(process_wait(&p, 10000), 128 + SIGKILL);
    process_end(&p);
    return killed_ns;
}

static uint64_t orphan(const char *rate, const char *duration, char id[33])
{
    return orphan_with(rate, duration, NULL, id);
}

static int ctl(struct process *p, const char *a, const char *b, const char *c, const char *d)
{
    const char *args[] = {a, b, c, d, NULL};
    return process_run(p, "hammer-ctl", args, 60000);
}

static json_t *attach(const char *id, int *code)
{
    struct process p;
    *code = ctl(&p, "attach", id, "--json", NULL);
    ck_assert_msg(p.out[0] == '{', "%d %s", *code, p.err);
    json_t *r = report_parse(p.out);
    process_end(&p);
    return r;
}

/* The server's own count, and when it got the last request. */
static int64_t requests_seen(uint64_t *last_ns)
{
    process_signal(&target.process, SIGTERM);
    process_wait(&target.process, 5000);
    char *log = file_read(target.log);
    ck_assert_ptr_nonnull(log);
    int64_t n = 0;
    *last_ns = 0;
    for (char *line = log, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, n++) {
        uint64_t at_ns = strtoull(line, NULL, 10);
        *last_ns = at_ns > *last_ns ? at_ns : *last_ns;
    }
    mem_free(log);
    return n;
}

/* Does any text of the array have the words? */
static bool says(json_t *r, const char *path, const char *words)
{
    json_t *texts = report_at(r, path), *text;
    size_t i;
    json_array_foreach(texts, i,
                       text) if (json_is_string(text) &&
                                 strstr(json_string_value(text), words) != NULL) return true;
    return false;
}

static void must_say(json_t *r, const char *path, const char *words)
{
    if (says(r, path, words))
        return;
    char *dump = json_dumps(report_at(r, path), 0);
    ck_abort_msg("\"%s\" is not in %s: %.2000s", words, path, dump);
}

/* --- taken over ----------------------------------------------------------------------------- */

START_TEST(test_inside_the_lease)
{
    char id[33];
    int code;
    uint64_t last_ns;
    orphan("300", "5", id);
    struct process p;
    ck_assert_int_eq(ctl(&p, "status", NULL, NULL, NULL), 0);
    ck_assert_msg(strstr(p.out, "finishes the report") && strstr(p.out, ": running, lease"), "%s",
                  p.out);
    process_end(&p);
    json_t *r = attach(id, &code);
    ck_assert_msg(code == 0 || code == 4, "%d", code);
    report_check_ledger(r);
    ck_assert_str_eq(report_text_at(r, "run.id"), id);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 1500);
    ck_assert_int_eq(report_int(r, "totals.sent"), requests_seen(&last_ns));
    must_say(r, "verdict.warnings", "its agents went on");
    json_decref(r);
    check_no_journal();
}
END_TEST

START_TEST(test_after_the_lease)
{
    char id[33];
    int code;
    uint64_t last_ns, killed_ns = orphan("300", "60", id);
    uint64_t until_ns = clock_mono_ns() + 20 * NS_PER_SEC;
    struct process p;
    for (bool stopped = false; !stopped && clock_mono_ns() < until_ns;) {
        ck_assert_int_eq(ctl(&p, "status", id, NULL, NULL), 0);
        const char *first = strstr(p.out, "keeps its results");
        stopped = first != NULL && strstr(first + 1, "keeps its results") != NULL;
        process_end(&p);
    }
    json_t *r = attach(id, &code);
    ck_assert_int_eq(code, 3);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.sent"), requests_seen(&last_ns));
    ck_assert_uint_lt(last_ns, killed_ns + LEASE_NS + GRACE_NS);
    ck_assert_uint_gt(last_ns, killed_ns + NS_PER_SEC);
    must_say(r, "verdict.reasons", "agents stopped by themselves");
    json_decref(r);
    check_no_journal();
}
END_TEST

/* The one that took over is killed as well. */
START_TEST(test_killed_again)
{
    char id[33];
    int code;
    uint64_t last_ns;
    struct process p;
    orphan("200", "6", id);
    const char *args[] = {"attach", id, "--json", NULL};
    process_start(&p, "hammer-ctl", args);
    struct stat before, now;
    char path[200];
    snprintf(path, sizeof path, "%s/hammer/runs/%s/journal", state, id);
    ck_assert_int_eq(stat(path, &before), 0);
    uint64_t until_ns = clock_mono_ns() + 10 * NS_PER_SEC;
    do {
        clock_sleep_until(clock_mono_ns() + 10 * NS_PER_MS);
        ck_assert_int_eq(stat(path, &now), 0);
    } while (now.st_size < before.st_size + 2000 && clock_mono_ns() < until_ns);
    struct process busy;
    ck_assert_int_eq(ctl(&busy, "attach", id, NULL, NULL), 2);
    ck_assert_msg(strstr(busy.err, "is still at it") != NULL, "%s", busy.err);
    process_end(&busy);
    process_signal(&p, SIGKILL);
    process_wait(&p, 10000);
    process_end(&p);
    json_t *r = attach(id, &code);
    ck_assert_msg(code == 0 || code == 4, "%d", code);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 1200);
    ck_assert_int_eq(report_int(r, "totals.sent"), requests_seen(&last_ns));
    json_decref(r);
    check_no_journal();
}
END_TEST

/* One agent is gone for good: the report is made of what the journal has, and says so. */
START_TEST(test_one_agent_gone)
{
    char id[33];
    struct process p;
    orphan("200", "3", id);
    agent_stop(&agents[1]);
    ck_assert_int_eq(ctl(&p, "attach", id, "--json", "--wait-agents=1s"), 3);
    json_t *r = report_parse(p.out);
    ck_assert_int_gt(report_int(r, "agents.0.totals.scheduled"), 0); /* stopped: abort */
    ck_assert_int_gt(report_int(r, "agents.1.totals.scheduled"), 0);
    must_say(r, "verdict.reasons", agents[1].address);
    ck_assert_msg(strstr(p.err, "hammer-ctl attach") != NULL, "%s", p.err);
    json_decref(r);
    process_end(&p);
    char again[33];
    ck_assert(find_run(again));
    ck_assert_str_eq(id, again);
    agent_start(&agents[1], NULL);
}
END_TEST

/* Replaced as a whole: another inode. */
static ino_t record_of(const char *id)
{
    char path[200];
    struct stat st;
    snprintf(path, sizeof path, "%s/hammer/runs/%s/run", state, id);
    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_ino;
}

/* The hammer-ctl dies as soon as it has written down that the others are to take over: whether they
 * were told or not, whoever attaches sees to it, and the ledger adds up. */
START_TEST(test_a_lost_agents_share_is_taken_over_all_the_same)
{
    static const char *const more[] = {"--on-agent-loss", "redistribute", NULL};
    char id[33];
    struct process p;
    int code;
    start_run(&p, "200", "12", more);
    wait_for_records(id);
    ino_t before = record_of(id);
    process_signal(&agents[1].process, SIGKILL);
    uint64_t until_ns = clock_mono_ns() + 20 * NS_PER_SEC;
    while (record_of(id) == before && clock_mono_ns() < until_ns)
        clock_sleep_until(clock_mono_ns() + NS_PER_MS);
    process_signal(&p, SIGKILL);
    process_wait(&p, 10000);
    process_end(&p);
    json_t *r = attach(id, &code);
    ck_assert_int_eq(code, 3);
    report_check_ledger(r);
    ck_assert_str_eq(report_text_at(r, "agents.1.state"), "lost");
    ck_assert_int_gt(report_int(r, "agents.1.loss.taken_over_from"), 0);
    ck_assert_int_lt(report_int(r, "agents.1.loss.last_index"),
                     report_int(r, "agents.1.loss.taken_over_from"));
    ck_assert_int_eq(report_int(r, "totals.scheduled") + report_int(r, "agents.1.loss.count"),
                     2400);
    must_say(r, "verdict.reasons", "nothing was heard of it"); /* not when the other one came */
    json_decref(r);
    agent_stop(&agents[1]);
    agent_start(&agents[1], NULL);
}
END_TEST

START_TEST(test_names)
{
    char id[33], none[33] = "0";
    struct process p;
    ck_assert_int_eq(ctl(&p, "attach", "4f", NULL, NULL), 1);
    ck_assert_msg(strstr(p.err, "4f: no such run") != NULL, "%s", p.err);
    process_end(&p);
    ck_assert_int_eq(ctl(&p, "attach", NULL, NULL, NULL), 1);
    process_end(&p);
    ck_assert_int_eq(ctl(&p, "attach", "../x", NULL, NULL), 1);
    process_end(&p);
    ck_assert_int_eq(ctl(&p, "status", NULL, NULL, NULL), 0);
    ck_assert_msg(strstr(p.out, "no runs") != NULL, "%s", p.out);
    process_end(&p);
    ck_assert_int_eq(ctl(&p, "stop", NULL, NULL, NULL), 1);
    process_end(&p);
    orphan("100", "2", id);
    none[0] = id[0] == '0' ? '1' : '0';
    ck_assert_int_eq(ctl(&p, "attach", none, NULL, NULL), 1);
    ck_assert_msg(strstr(p.err, "there are ") != NULL, "%s", p.err);
    process_end(&p);
    id[4] = '\0';
    int code = ctl(&p, "attach", id, NULL, NULL);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, p.err);
    process_end(&p);
    check_no_journal();
}
END_TEST

/* The plan's secrets are in the journal, and nowhere else. */
START_TEST(test_secret)
{
    char id[33], path[200];
    struct process p;
    setenv("HAMMER_HEADER", "X-Plain: s3cr3t-of-the-test", 1);
    orphan("100", "2", id);
    unsetenv("HAMMER_HEADER");
    snprintf(path, sizeof path, "/bin/grep -rlq s3cr3t-of-the-test %s", state);
    ck_assert_int_eq(system(path), 0);
    ck_assert_int_eq(ctl(&p, "status", NULL, NULL, NULL), 0);
    ck_assert_ptr_null(strstr(p.out, "s3cr3t"));
    process_end(&p);
    int code = ctl(&p, "attach", id, "--json", "-v");
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, p.err);
    ck_assert_msg(strstr(p.out, "X-Plain") != NULL && strstr(p.out, "s3cr3t") == NULL, "%s", p.out);
    ck_assert_ptr_null(strstr(p.err, "s3cr3t"));
    process_end(&p);
    ck_assert_int_ne(system(path), 0);
    check_no_journal();
}
END_TEST

/* --- stopped from elsewhere ----------------------------------------------------------------- */

START_TEST(test_stop_from_another_machine)
{
    char id[33], wrong[3] = "00", elsewhere[96];
    struct process run, p;
    uint64_t last_ns;
    start_run(&run, "200", "60", NULL);
    wait_for_records(id);
    wrong[0] = id[0] == '0' ? '1' : '0';
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", home);
    setenv("XDG_STATE_HOME", elsewhere, 1);
    ck_assert_int_eq(ctl(&p, "stop", id, NULL, NULL), 1);
    ck_assert_msg(strstr(p.err, "--agents LIST") != NULL, "%s", p.err);
    process_end(&p);
    ck_assert_int_eq(ctl(&p, "stop", "--agents", list, wrong), 2);
    ck_assert_msg(strstr(p.out, "another run is under way") != NULL, "%s", p.out);
    process_end(&p);
    ck_assert(process_alive(&run));
    id[6] = '\0';
    int code = ctl(&p, "stop", "--agents", list, id);
    ck_assert_msg(code == 0, "%s%s", p.out, p.err);
    ck_assert_msg(strstr(p.out, "is stopped") != NULL, "%s", p.out);
    process_end(&p);
    ck_assert_int_eq(process_wait(&run, 20000), 3);
    json_t *r = report_parse(run.out);
    report_check_ledger(r);
    must_say(r, "verdict.reasons", "halted by ");
    ck_assert_int_eq(report_int(r, "totals.sent"), requests_seen(&last_ns));
    json_decref(r);
    process_end(&run);
    ck_assert_int_eq(ctl(&p, "stop", "--agents", list, NULL), 0);
    ck_assert_msg(strstr(p.out, "nothing to stop") != NULL, "%s", p.out);
    process_end(&p);
    setenv("XDG_STATE_HOME", state, 1);
    check_no_journal();
}
END_TEST

/* A run that nobody commands is stopped as well, and its report can still be had. */
START_TEST(test_stop_an_orphan)
{
    char id[33];
    struct process p;
    int code;
    uint64_t last_ns;
    orphan("200", "60", id);
    ck_assert_int_eq(ctl(&p, "stop", id, NULL, NULL), 0);
    process_end(&p);
    json_t *r = attach(id, &code);
    ck_assert_int_eq(code, 3);
    report_check_ledger(r);
    must_say(r, "verdict.reasons", "halted by ");
    ck_assert_int_eq(report_int(r, "totals.sent"), requests_seen(&last_ns));
    json_decref(r);
    check_no_journal();
}
END_TEST

/* --- taken by force ------------------------------------------------------------------------- */

START_TEST(test_force)
{
    char id[33], remedy[64];
    struct process p;
    int code = 0;
    const char *force[] = {"--force", NULL};
    orphan("200", "60", id);
    snprintf(remedy, sizeof remedy, "hammer-ctl attach %.8s", id);
    uint64_t until_ns = clock_mono_ns() + 20 * NS_PER_SEC;
    bool named = false;
    while (!named && clock_mono_ns() < until_ns) {
        start_run(&p, "100", "1", NULL);
        ck_assert_int_eq(process_wait(&p, 30000), 2);
        named = strstr(p.err, remedy) != NULL && strstr(p.err, "--force") != NULL;
        process_end(&p);
    }
    ck_assert_msg(named, "nobody named %s", remedy);
    start_run(&p, "100", "1", force);
    code = process_wait(&p, 30000);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, p.err);
    json_t *r = report_parse(p.out);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 100);
    json_decref(r);
    process_end(&p);
    r = attach(id, &code);
    ck_assert_int_eq(code, 3);
    must_say(r, "verdict.reasons", "no longer has the run");
    ck_assert_int_gt(report_int(r, "totals.sent"), 0);
    json_decref(r);
    check_no_journal();
}
END_TEST

/* --- no room, no folder --------------------------------------------------------------------- */

static void run_without_journal(const char *note, const char *const *more)
{
    struct process p;
    uint64_t last_ns;
    start_run(&p, "200", "3", more);
    int code = process_wait(&p, 30000);
    ck_assert_msg(code == 0 || code == 4, "%d %s", code, p.err);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.scheduled"), 600);
    ck_assert_int_eq(report_int(r, "totals.sent"), requests_seen(&last_ns));
    const char *said = note != NULL ? strstr(p.err, note) : p.err;
    ck_assert_msg(said != NULL, "\"%s\" is not in %s", note, p.err);
    if (note != NULL)
        ck_assert_msg(strstr(said + 1, note) == NULL, "said twice: %s", p.err);
    json_decref(r);
    process_end(&p);
    check_no_journal();
}

START_TEST(test_disk_full)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        printf("skipped: a mount of its own needs root: %s\n", strerror(errno));
        return;
    }
    ck_assert_int_eq(mkdir(state, 0700), 0);
    ck_assert_int_eq(mount("tmpfs", state, "tmpfs", 0, "size=16k,mode=700"), 0);
    run_without_journal("No space left on device; the run goes on", NULL);
    ck_assert_int_eq(umount(state), 0);
}
END_TEST

START_TEST(test_no_folder)
{
    setenv("XDG_STATE_HOME", "/proc/none", 1);
    run_without_journal("no journal is kept", NULL);
}
END_TEST

START_TEST(test_no_journal_asked)
{
    const char *more[] = {"--no-journal", NULL};
    run_without_journal(NULL, more);
    ck_assert_int_ne(access(state, F_OK), 0);
}
END_TEST

/* The journal has the conditions, and what was counted before. */
START_TEST(test_it_is_still_aborted)
{
    static const char *const more[] = {"--abort-on", "status.200>700", "--abort-on", "p99>1h",
                                       NULL};
    char id[33];
    int code;
    orphan_with("200", "60", more, id);
    json_t *r = attach(id, &code);
    ck_assert_msg(code == 99 || code == 4, "exit code %d", code);
    ck_assert_str_eq(report_text_at(r, "plan.abort_on.0"), "status.200>700");
    ck_assert_str_eq(report_text_at(r, "plan.abort_on.1"), "p99>1h");
    ck_assert_int_gt(report_int(r, "totals.ok"), 700);
    ck_assert_int_lt(report_int(r, "totals.ok"), 200 * 40);
    json_decref(r);
    check_no_journal();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("attach");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_inside_the_lease);
    tcase_add_test(t, test_it_is_still_aborted);
    tcase_add_test(t, test_after_the_lease);
    tcase_add_test(t, test_killed_again);
    tcase_add_test(t, test_one_agent_gone);
    tcase_add_test(t, test_a_lost_agents_share_is_taken_over_all_the_same);
    tcase_add_test(t, test_names);
    tcase_add_test(t, test_secret);
    tcase_add_test(t, test_stop_from_another_machine);
    tcase_add_test(t, test_stop_an_orphan);
    tcase_add_test(t, test_force);
    tcase_add_test(t, test_disk_full);
    tcase_add_test(t, test_no_folder);
    tcase_add_test(t, test_no_journal_asked);
    return check_main(s);
}
