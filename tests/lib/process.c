/* SPDX-License-Identifier: MIT */
#include "tests/lib/process.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

#define POLL_NS (2 * NS_PER_MS)

bool process_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

/* The sanitized builds are several times slower. */
static uint64_t scaled(uint64_t ms)
{
    return process_sanitized() ? 4 * ms : ms;
}

static void redirect(const char *path, int fd)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(126);
    close(file);
}

/* Ours, with data_path. Made before the fork: malloc's locks may be held by another thread then,
 * and nobody in the child would ever let go of them. */
static char **make_environment(struct process *p)
{
    size_t n = 0;
    while (environ[n] != NULL)
        n++;
    char **env = mem_calloc(n + 2, sizeof *env);
    memcpy(env, environ, n * sizeof *env);
    snprintf(p->data_env, sizeof p->data_env, "XDG_DATA_HOME=%s", p->data_path);
    if (p->data_path[0] != '\0')
        env[n] = p->data_env; /* there is no other */
    return env;
}

void process_start(struct process *p, const char *program, const char *const *args)
{
    char path[512];
    char *argv[PROCESS_ARGS_MAX + 2];
    size_t n = 0;
    *p = (struct process){0};
    snprintf(path, sizeof path, "%s%s%s", program[0] == '/' ? "" : TEST_BIN_DIR,
             program[0] == '/' ? "" : "/", program);
    argv[n++] = path;
    for (; args != NULL && *args != NULL; args++) {
        ck_assert_uint_lt(n, PROCESS_ARGS_MAX);
        argv[n++] = (char *)(uintptr_t)*args;
    }
    argv[n] = NULL;
    strcpy(p->out_path, "/tmp/hammer-out-XXXXXX");
    strcpy(p->err_path, "/tmp/hammer-err-XXXXXX");
    int a = mkstemp(p->out_path), b = mkstemp(p->err_path);
    ck_assert(a >= 0 && b >= 0);
    close(a);
    close(b);
    if (strcmp(program, "hammer-ctl") == 0 && getenv("XDG_DATA_HOME") == NULL)
        folder_make(p->data_path); /* the user's own history is not for tests */
    char **env = make_environment(p);
    pid_t parent = getpid();
    p->pid = fork();
    ck_assert_int_ge(p->pid, 0);
    if (p->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(126);
        redirect("/dev/null", STDIN_FILENO);
        redirect(p->out_path, STDOUT_FILENO);
        redirect(p->err_path, STDERR_FILENO);
        execve(path, argv, env);
        _exit(127);
    }
    mem_free(env);
    p->running = true;
}

static void reaped(struct process *p, int status)
{
    p->running = false;
    p->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    mem_free(p->out);
    mem_free(p->err);
    p->out = file_read(p->out_path);
    p->err = file_read(p->err_path);
    /* Most tests do not look at how an agent ended. */
    if (p->err != NULL && strstr(p->err, "Sanitizer: ") != NULL) {
        printf("%s", p->err);
        fflush(stdout);
        ck_abort_msg("process %d was reported by a sanitizer", (int)p->pid);
    }
}

bool process_alive(struct process *p)
{
    int status;
    if (p->running && waitpid(p->pid, &status, WNOHANG) == p->pid)
        reaped(p, status);
    return p->running;
}

int process_wait(struct process *p, uint64_t timeout_ms)
{
    uint64_t until = clock_mono_ns() + scaled(timeout_ms) * NS_PER_MS;
    while (process_alive(p)) {
        if (clock_mono_ns() > until) {
            kill(p->pid, SIGKILL);
            int status;
            waitpid(p->pid, &status, 0);
            reaped(p, status);
            ck_abort_msg("process %d did not end within %lu ms\nstdout: %s\nstderr: %s",
                         (int)p->pid, (unsigned long)timeout_ms, p->out, p->err);
        }
        clock_sleep_until(clock_mono_ns() + POLL_NS);
    }
    return p->code;
}

void process_signal(struct process *p, int signo)
{
    if (p->running)
        kill(p->pid, signo);
}

void process_end(struct process *p)
{
    if (p->pid == 0)
        return;
    process_signal(p, SIGTERM);
    uint64_t until = clock_mono_ns() + scaled(5000) * NS_PER_MS;
    while (process_alive(p) && clock_mono_ns() < until)
        clock_sleep_until(clock_mono_ns() + POLL_NS);
    if (p->running) {
        int status;
        kill(p->pid, SIGKILL);
        waitpid(p->pid, &status, 0);
        reaped(p, status);
    }
    unlink(p->out_path);
    unlink(p->err_path);
    folder_remove(p->data_path);
    mem_free(p->out);
    mem_free(p->err);
    *p = (struct process){0};
}

int process_run(struct process *p, const char *program, const char *const *args,
                uint64_t timeout_ms)
{
    process_start(p, program, args);
    return process_wait(p, timeout_ms);
}

/* --- files ---------------------------------------------------------------------------------- */

void folder_make(char path[64])
{
    strcpy(path, "/tmp/hammer-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

void folder_remove(const char *path)
{
    if (path[0] != '\0')
        nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

char *file_read(const char *path)
{
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return NULL;
    size_t len = 0, cap = 4096, n;
    char *text = mem_calloc(cap, 1);
    while ((n = fread(text + len, 1, cap - len - 1, f)) > 0) {
        len += n;
        if (cap - len < 2)
            text = mem_realloc(text, cap *= 2, 1);
    }
    text[len] = '\0';
    fclose(f);
    return text;
}

char *file_wait_line(const char *path, uint64_t timeout_ms)
{
    uint64_t until = clock_mono_ns() + scaled(timeout_ms) * NS_PER_MS;
    for (;;) {
        char *text = file_read(path);
        char *end = text != NULL ? strchr(text, '\n') : NULL;
        if (end != NULL) {
            *end = '\0';
            return text;
        }
        mem_free(text);
        if (clock_mono_ns() > until)
            ck_abort_msg("%s has no line after %lu ms", path, (unsigned long)timeout_ms);
        clock_sleep_until(clock_mono_ns() + POLL_NS);
    }
}

/* --- our own programs ----------------------------------------------------------------------- */

static size_t copy_args(const char **to, size_t n, const char *const *args)
{
    for (; args != NULL && *args != NULL; args++)
        to[n++] = *args;
    to[n] = NULL;
    return n;
}

void target_start(struct target_process *t, const char *const *args)
{
    char port_file[96];
    *t = (struct target_process){0};
    folder_make(t->dir);
    snprintf(port_file, sizeof port_file, "%s/port", t->dir);
    snprintf(t->log, sizeof t->log, "%s/log", t->dir);
    const char *argv[PROCESS_ARGS_MAX] = {"--listen", "127.0.0.1:0", "--port-file", port_file,
                                          "--log",    t->log,        "--lifetime",  "120s"};
    copy_args(argv, 8, args);
    process_start(&t->process, "hammer-target", argv);
    char *line = file_wait_line(port_file, 10000);
    snprintf(t->address, sizeof t->address, "%s", line);
    snprintf(t->url, sizeof t->url, "http://%s/", line);
    mem_free(line);
}

void target_stop(struct target_process *t)
{
    process_signal(&t->process, SIGTERM);
    process_wait(&t->process, 5000);
    process_end(&t->process);
    folder_remove(t->dir);
}

void agent_start(struct agent_process *a, const char *const *args)
{
    char port_file[96];
    *a = (struct agent_process){0};
    folder_make(a->dir);
    snprintf(port_file, sizeof port_file, "%s/port", a->dir);
    const char *argv[PROCESS_ARGS_MAX] = {"--listen", "tcp://127.0.0.1:0", "--port-file",
                                          port_file};
    copy_args(argv, 4, args);
    process_start(&a->process, "hammer-agent", argv);
    char *line = file_wait_line(port_file, 10000);
    const char *address = strstr(line, "tcp://"); /* or tls+tcp:// */
    ck_assert_msg(address != NULL, "%s", line);
    snprintf(a->address, sizeof a->address, "%s", address + strlen("tcp://"));
    mem_free(line);
}

void agent_stop(struct agent_process *a)
{
    process_end(&a->process);
    folder_remove(a->dir);
}

size_t target_logged(const struct target_process *t)
{
    char *text = file_read(t->log);
    size_t n = 0;
    for (const char *p = text; p != NULL && *p != '\0'; p++)
        n += *p == '\n';
    mem_free(text);
    return n;
}

void agents_start(struct agent_process *agents, size_t n, char *list, size_t cap)
{
    size_t len = 0;
    list[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        agent_start(&agents[i], NULL);
        len += (size_t)snprintf(list + len, cap - len, "%s%s", i > 0 ? "," : "", agents[i].address);
        ck_assert_uint_lt(len, cap);
    }
}
