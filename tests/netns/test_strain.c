/* SPDX-License-Identifier: MIT */
/* Runs while something else goes wrong: strangers at the agent's port, a controller that does not
 * read or is replaced, a full disk. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/report.h"
#include "tests/netns/rig.h"
#include "tests/netns/spread.h"

#define PORT     7400
#define STRANGER "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

static json_t *good_report(struct rig *r)
{
    int code = rig_wait(r, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.2000s%.2000s", code, r->ctl.out,
                  r->ctl.err);
    return rig_report(r);
}

/* All of the plan's requests were answered, and the target has seen each of them once. */
static void check_whole(struct rig *r, json_t *report, size_t planned)
{
    struct rig_seen s;
    ck_assert_int_eq(report_int(report, "totals.scheduled"), (int64_t)planned);
    ck_assert_int_eq(report_int(report, "totals.ok"), (int64_t)planned);
    rig_seen_load(r, &s, planned);
    for (size_t i = 0; i < planned; i++)
        ck_assert_uint_eq(s.times[i], 1);
    rig_seen_free(&s);
}

static void finish_whole(struct rig *r, size_t planned)
{
    json_t *report = good_report(r);
    rig_check_next(r, 0);
    check_whole(r, report, planned);
    json_decref(report);
    rig_close(r);
}

/* --- strangers ------------------------------------------------------------------------------ */

static int dial(const struct rig *r, size_t agent, uint16_t port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval limit = {.tv_sec = 5};
    ck_assert_int_eq(inet_pton(AF_INET, cable_far_address(r->cables[agent]), &sa.sin_addr), 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Each way to open a connection and go. */
static void probe(const struct rig *r, unsigned way)
{
    const struct linger reset = {.l_onoff = 1};
    char sink[512];
    int fd = dial(r, 0, PORT);
    if (fd < 0) /* the agent has enough of us: it may refuse */
        return;
    if (way % 2 == 1)
        (void)!send(fd, STRANGER, strlen(STRANGER), MSG_NOSIGNAL);
    if (way % 4 == 3) /* what does it answer? */
        while (recv(fd, sink, sizeof sink, 0) > 0)
            ;
    if (way % 8 < 4)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
}

/* A scan of the ports around, HTTP requests, connections closed and reset at once: the run does not
 * notice. */
START_TEST(test_strangers)
{
    struct rig r;
    rig_open(&r, &(struct rig_config){.tls = _i % 2 != 0});
    rig_run(&r, &(struct rig_load){"200", "5", "5s", {"--interval", "200ms"}});
    rig_wait_requests(&r, 100);
    for (uint16_t port = PORT - 50; port < PORT + 50; port++) {
        int fd = dial(&r, 0, port);
        ck_assert(fd < 0 || port == PORT);
        if (fd >= 0)
            close(fd);
    }
    for (unsigned i = 0; i < 400; i++)
        probe(&r, i);
    ck_assert(process_alive(&r.ctl));
    finish_whole(&r, 1000);
}
END_TEST

/* A second agent on the same socket says so and goes; the first goes on serving. */
START_TEST(test_second_listener)
{
    struct rig r;
    struct agent_process first;
    struct process second;
    char url[128], list[128];
    rig_open(&r, &(struct rig_config){0});
    snprintf(url, sizeof url, "ipc://%s/agent.sock", r.home);
    snprintf(list, sizeof list, "%s", url);
    netns_enter(&r.ns, NETNS_FAR);
    const char *args[] = {"--listen", url, NULL};
    first = (struct agent_process){0};
    process_start(&first.process, "hammer-agent", args);
    for (uint64_t until = clock_mono_ns() + 10 * NS_PER_SEC; access(url + 6, F_OK) != 0;
         rig_sleep(5))
        ck_assert_uint_lt(clock_mono_ns(), until);
    netns_enter(&r.ns, NETNS_NEAR);
    snprintf(r.list, sizeof r.list, "%s", list);
    rig_run(&r, &(struct rig_load){"200", "4", "5s", {NULL}});
    rig_wait_requests(&r, 100);
    int code = process_run(&second, "hammer-agent", args, 10000);
    ck_assert_int_ne(code, 0);
    ck_assert_msg(strstr(second.err, "agent.sock") != NULL, "%s", second.err);
    process_end(&second);
    json_t *report = good_report(&r);
    rig_check_next(&r, 0); /* at the same socket */
    check_whole(&r, report, 800);
    json_decref(report);
    process_end(&first.process);
    rig_close(&r);
}
END_TEST

/* --- the controller ------------------------------------------------------------------------- */

/* Four seconds in which it reads nothing: intervals may come added together, counts are exact. */
START_TEST(test_controller_does_not_read)
{
    struct rig r;
    int64_t sent = 0, completed = 0;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    rig_run(&r, &(struct rig_load){"400", "7", "10s", {"--interval", "100ms"}});
    rig_wait_requests(&r, 200);
    process_signal(&r.ctl, SIGSTOP);
    rig_sleep(4000);
    process_signal(&r.ctl, SIGCONT);
    json_t *report = good_report(&r), *timeline = report_at(report, "timeline");
    for (size_t i = 0; i < json_array_size(timeline); i++) {
        sent += report_int(json_array_get(timeline, i), "sent");
        completed += report_int(json_array_get(timeline, i), "completed");
    }
    ck_assert_int_eq(sent, 2800);
    ck_assert_int_eq(completed, 2800);
    rig_check_next(&r, 0);
    check_whole(&r, report, 2800);
    json_decref(report);
    rig_close(&r);
}
END_TEST

static void runs_folder(const struct rig *r, char buf[128])
{
    snprintf(buf, 128, "%.64s/hammer/runs", r->home);
}

/* The only run that this home knows of. */
static void find_run(const struct rig *r, char run[64])
{
    char path[128];
    runs_folder(r, path);
    DIR *dir = opendir(path);
    ck_assert_msg(dir != NULL, "%s: %s", path, strerror(errno));
    run[0] = '\0';
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.')
            snprintf(run, 64, "%.63s", e->d_name);
    closedir(dir);
    ck_assert_str_ne(run, "");
}

/* Killed; another takes over, within the lease (nothing is lost) or after it (the load has ended,
 * and what there was of it is known exactly). */
START_TEST(test_attach)
{
    struct rig r;
    struct rig_seen s;
    char run[64];
    bool in_time = _i / 2 == 0;
    rig_open(&r, &(struct rig_config){.agents = 2, .tls = _i % 2 != 0});
    rig_run(&r, &(struct rig_load){"200", "6", in_time ? "8s" : "3s", {"--interval", "200ms"}});
    rig_wait_requests(&r, 100);
    process_signal(&r.ctl, SIGKILL);
    ck_assert_int_eq(rig_wait(&r, 5000), 128 + SIGKILL);
    rig_drop(&r);
    find_run(&r, run);
    rig_sleep(in_time ? 1000 : 5000);
    const char *args[] = {"attach", run, "--json", NULL};
    process_start(&r.ctl, "hammer-ctl", args);
    r.ctl_running = true;
    int code = rig_wait(&r, 30000);
    ck_assert_msg(in_time ? code == 0 || code == 4 : code == 3, "exit code %d: %.2000s%.2000s",
                  code, r.ctl.out, r.ctl.err);
    json_t *report = rig_report(&r);
    rig_check_next(&r, 1000);
    rig_seen_load(&r, &s, 1200);
    ck_assert_int_eq(report_int(report, "totals.sent"), (int64_t)s.total);
    if (in_time)
        ck_assert_uint_eq(s.total, 1200);
    rig_seen_free(&s);
    json_decref(report);
    rig_close(&r);
}
END_TEST

static void make_folder(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        ck_abort_msg("%s: %s", path, strerror(errno));
}

/* No room for the journal: the run goes on without it, and says so. */
START_TEST(test_disk_full)
{
    struct rig r;
    char path[128];
    rig_open(&r, &(struct rig_config){.tls = _i % 2 != 0});
    snprintf(path, sizeof path, "%.64s/hammer", r.home);
    make_folder(path);
    runs_folder(&r, path);
    make_folder(path);
    ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
    ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    if (mount("none", path, "tmpfs", 0, "size=16k,mode=0700") != 0)
        ck_abort_msg("tmpfs on %s: %s", path, strerror(errno));
    rig_run(&r, &(struct rig_load){"200", "4", "5s", {"--interval", "100ms"}});
    json_t *report = good_report(&r);
    ck_assert_msg(strstr(r.ctl.err, "journal") != NULL, "not a word of it: %s", r.ctl.err);
    rig_check_next(&r, 0);
    check_whole(&r, report, 800);
    json_decref(report);
    umount(path);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    const struct spread_case cases[] = {
        {"reading", test_controller_does_not_read, 2},
        {"attach", test_attach, 4},
        {"strangers", test_strangers, 2},
        {"listener", test_second_listener, 1},
        {"disk", test_disk_full, 2},
    };
    return spread_main(cases, sizeof cases / sizeof cases[0], argc, argv);
}
