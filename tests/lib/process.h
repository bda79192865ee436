/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_PROCESS_H
#define HAMMER_TESTS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Real processes for end-to-end tests: start, wait with a deadline, read what they printed. Every
 * process started here is killed at the end of the test program, whatever happens to the test
 * (PR_SET_PDEATHSIG). Programs are looked up in the build folder. A failure aborts the check test.
 */

#define PROCESS_ARGS_MAX 40

/* Is this an ASan or TSan build? Memory figures mean nothing there and everything is slower. */
bool process_sanitized(void);

struct process {
    pid_t pid;
    bool running;
    int code; /* exit code, or 128 + signal */
    char out_path[64], err_path[64];
    char data_path[64]; /* hammer-ctl's XDG_DATA_HOME, where the test has set none; else "" */
    char data_env[96];
    char *out, *err; /* filled by process_wait; owned */
};

/* Starts `TEST_BIN_DIR/program`, or an absolute path, with the arguments (NULL ends them). stdout
 * and stderr go to files.
 */
void process_start(struct process *p, const char *program, const char *const *args);
/* Waits; a process that is not done in time is killed and the test fails. Returns the exit code. */
int process_wait(struct process *p, uint64_t timeout_ms);
/* Is it still running? */
bool process_alive(struct process *p);
void process_signal(struct process *p, int signo);
/* Stops (SIGTERM, then SIGKILL) if needed and frees. */
void process_end(struct process *p);

/* start + wait. */
int process_run(struct process *p, const char *program, const char *const *args,
                uint64_t timeout_ms);

/* A fresh folder under /tmp, removed by folder_remove. */
void folder_make(char path[64]);
void folder_remove(const char *path);
/* Waits until the file has a whole line and returns it without the newline (owned by the caller).
 */
char *file_wait_line(const char *path, uint64_t timeout_ms);
/* Whole file, NUL-terminated; NULL when it cannot be read. */
char *file_read(const char *path);

/* hammer-target on a free port with further arguments. */
struct target_process {
    struct process process;
    char dir[64];
    char log[96];
    char address[64]; /* "127.0.0.1:PORT" */
    char url[96];     /* "http://127.0.0.1:PORT/" */
};
void target_start(struct target_process *t, const char *const *args);
void target_stop(struct target_process *t); /* SIGTERM: flushes its log */
/* Requests in its log, which it flushes once a second and at its end. */
size_t target_logged(const struct target_process *t);

/* hammer-agent on a free tcp port; `--listen tls+tcp://127.0.0.1:0` among the arguments wins. */
struct agent_process {
    struct process process;
    char dir[64];
    char address[64]; /* "127.0.0.1:PORT" */
};
void agent_start(struct agent_process *a, const char *const *args);
void agent_stop(struct agent_process *a);
/* n of them without arguments; their addresses as --agents takes them. */
void agents_start(struct agent_process *agents, size_t n, char *list, size_t cap);

#endif
