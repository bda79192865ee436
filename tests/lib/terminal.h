/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_TERMINAL_H
#define HAMMER_TESTS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A program whose stderr is a terminal, and that terminal: a model of a screen that obeys what the
 * program may use (CR, LF, cursor up, erase, colours) and fails the test at anything else. It wraps
 * lines anew when it is resized, as most terminals do. stdout goes to a file.
 */

#define TERMINAL_ROWS 400 /* with what has scrolled out */
#define TERMINAL_COLS 240

struct terminal {
    pid_t pid;
    int master;
    char out_path[64];
    size_t width, height;
    size_t row, col; /* of the cursor; rows are counted from the first one ever */
    size_t last;     /* row */
    bool wrap_next;
    bool wrapped[TERMINAL_ROWS];                  /* the row goes on in the next one */
    uint32_t cells[TERMINAL_ROWS][TERMINAL_COLS]; /* code points; 1 = right half of a wide one */
    size_t colours;                               /* sequences seen */
    size_t escapes;                               /* of any kind */
    size_t held;
    char hold[64]; /* the begin of a sequence */
};

/* `env`: NAME=VALUE, NULL ends them; it has TERM=xterm and LC_ALL=C.UTF-8 otherwise. */
void terminal_start(struct terminal *t, size_t width, size_t height, const char *const *env,
                    const char *program, const char *const *args);
/* Text that another process writes. */
void terminal_write(struct terminal *t, const char *text);
/* What a user types. */
void terminal_type(struct terminal *t, const char *keys);
void terminal_resize(struct terminal *t, size_t width, size_t height);
/* Output is held up, as with Ctrl-S, or goes on. */
void terminal_hold(struct terminal *t, bool held);

/* Takes what comes until a row contains the text; fails after the time. */
void terminal_wait(struct terminal *t, const char *text, uint64_t timeout_ms);
/* The same for as many of it, no more and no less. */
void terminal_wait_count(struct terminal *t, const char *text, size_t n, uint64_t timeout_ms);
/* Takes what comes until the program ends; its exit code. */
int terminal_end(struct terminal *t, uint64_t timeout_ms);
/* Rows, of all that there ever were, that contain the text. */
size_t terminal_count(const struct terminal *t, const char *text);
/* All rows. The caller frees it. */
char *terminal_text(const struct terminal *t);
/* What went to stdout; the caller frees it. The file is removed. */
char *terminal_stdout(struct terminal *t);

#endif
