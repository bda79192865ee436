/* SPDX-License-Identifier: MIT */
#include "controller/cmd/local_agents.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/url.h"

#define START_NS (5 * NS_PER_SEC)
#define STOP_NS  (2 * NS_PER_SEC)
#define POLL_NS  (2 * NS_PER_MS)

struct local_agents {
    char dir[64];
    uint32_t n;
    pid_t pids[LOCAL_AGENTS_MAX]; /* 0 = gone */
};

/* hammer-agent in hammer-ctl's own folder, so that a build tree works without installing. */
static void find_program(char *path, size_t cap)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        char *slash = strrchr(self, '/');
        if (slash != NULL) {
            *slash = '\0';
            int len = snprintf(path, cap, "%s/hammer-agent", self);
            if (len > 0 && (size_t)len < cap && access(path, X_OK) == 0)
                return;
        }
    }
    snprintf(path, cap, "hammer-agent"); /* execvp looks in PATH */
}

static void socket_path(const struct local_agents *l, uint32_t i, char *buf, size_t cap)
{
    snprintf(buf, cap, "%s/%" PRIu32, l->dir, i);
}

/* Written by the agent once it listens; its socket exists a moment earlier, and refuses until then.
 */
static void ready_path(const struct local_agents *l, uint32_t i, char *buf, size_t cap)
{
    snprintf(buf, cap, "%s/%" PRIu32 ".url", l->dir, i);
}

/* The controller's settings are not the agent's, and some are secrets. Kept are those that only an
 * agent knows. */
static void clean_environment(void)
{
    static const char *const kept[] = {URL_TEST_INDEX_ENV "=",
                                       "HAMMER_STATE=", "HAMMER_CPU=", "HAMMER_REALTIME="};
    char **to = environ;
    for (char **v = environ; *v != NULL; v++) {
        bool keep = strncmp(*v, "HAMMER_", 7) != 0;
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            keep = keep || strncmp(*v, kept[i], strlen(kept[i])) == 0;
        if (keep)
            *to++ = *v;
    }
    *to = NULL;
}

static enum err spawn(struct local_agents *l, uint32_t i, const char *program, struct errmsg *msg)
{
    char url[128], name[32], ready[96];
    pid_t parent = getpid();
    snprintf(url, sizeof url, "ipc://%s/%" PRIu32, l->dir, i);
    snprintf(name, sizeof name, "local-%" PRIu32, i + 1);
    ready_path(l, i, ready, sizeof ready);
    pid_t pid = fork();
    if (pid < 0)
        return errmsg_set(msg, ERR_SYSTEM, "cannot start a local agent: %s", strerror(errno));
    if (pid > 0) {
        l->pids[i] = pid;
        return ERR_OK;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* kept over exec: it goes with its controller */
    if (getppid() != parent)
        _exit(127);
    clean_environment();
    setpgid(0, 0); /* Ctrl-C reaches the controller only; it stops the agents itself */
    execlp(program, "hammer-agent", "--once", "--listen", url, "--name", name, "--port-file", ready,
           "--allow-target", "any", "--allow-target", "unix:*", (char *)NULL);
    fprintf(stderr, "hammer-ctl: cannot execute %s: %s\n", program, strerror(errno));
    _exit(127);
}

static enum err wait_listening(struct local_agents *l, uint32_t i, struct errmsg *msg)
{
    char path[96];
    struct stat st;
    ready_path(l, i, path, sizeof path);
    uint64_t until = clock_mono_ns() + START_NS;
    for (;;) {
        if (stat(path, &st) == 0)
            return ERR_OK;
        if (waitpid(l->pids[i], NULL, WNOHANG) == l->pids[i]) {
            l->pids[i] = 0;
            return errmsg_set(msg, ERR_CLOSED, "the local agent ended before it listened");
        }
        uint64_t now = clock_mono_ns();
        if (now >= until)
            return errmsg_set(msg, ERR_TIMEOUT, "the local agent does not listen after 5 s");
        clock_sleep_until(now + POLL_NS);
    }
}

enum err local_agents_start(uint32_t n, struct inventory *inv, struct local_agents **out,
                            struct errmsg *msg)
{
    struct local_agents *l = mem_calloc(1, sizeof *l);
    char program[PATH_MAX + 32];
    l->n = n;
    snprintf(l->dir, sizeof l->dir, "/tmp/hammer-XXXXXX");
    if (mkdtemp(l->dir) == NULL) {
        enum err e =
            errmsg_set(msg, ERR_SYSTEM, "cannot make a folder in /tmp: %s", strerror(errno));
        mem_free(l);
        return e;
    }
    find_program(program, sizeof program);
    enum err e = ERR_OK;
    for (uint32_t i = 0; i < n && e == ERR_OK; i++)
        e = spawn(l, i, program, msg);
    for (uint32_t i = 0; i < n && e == ERR_OK; i++) {
        char url[128], address[32];
        e = wait_listening(l, i, msg);
        snprintf(url, sizeof url, "ipc://%s/%" PRIu32, l->dir, i);
        snprintf(address, sizeof address, "local-%" PRIu32, i + 1);
        inventory_add(inv, address, url, 1);
    }
    if (e != ERR_OK) {
        local_agents_stop(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

/* true once the child is reaped. */
static bool reap(struct local_agents *l, uint32_t i)
{
    if (l->pids[i] != 0 && waitpid(l->pids[i], NULL, WNOHANG) != 0)
        l->pids[i] = 0;
    return l->pids[i] == 0;
}

static void signal_all(const struct local_agents *l, int signo)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->pids[i] != 0)
            kill(l->pids[i], signo);
}

static bool wait_all(struct local_agents *l, uint64_t until)
{
    for (;;) {
        bool all = true;
        for (uint32_t i = 0; i < l->n; i++)
            all = reap(l, i) && all;
        uint64_t now = clock_mono_ns();
        if (all || now >= until)
            return all;
        clock_sleep_until(now + POLL_NS);
    }
}

static void remove_folder(const struct local_agents *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        char path[96];
        socket_path(l, i, path, sizeof path);
        unlink(path);
        ready_path(l, i, path, sizeof path);
        unlink(path);
    }
    rmdir(l->dir);
}

void local_agents_abandon(struct local_agents *l)
{
    if (l == NULL)
        return;
    signal_all(l, SIGTERM);
    remove_folder(l);
}

void local_agents_stop(struct local_agents *l)
{
    if (l == NULL)
        return;
    signal_all(l, SIGTERM);
    if (!wait_all(l, clock_mono_ns() + STOP_NS)) {
        signal_all(l, SIGKILL);
        wait_all(l, clock_mono_ns() + STOP_NS);
    }
    remove_folder(l);
    mem_free(l);
}
