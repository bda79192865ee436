/* SPDX-License-Identifier: MIT */
#include "tests/lib/terminal.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/watch/columns.h"
#include "tests/lib/process.h"

/* --- the screen ------------------------------------------------------------------------------- */

static void new_line(struct terminal *t, bool wrapped)
{
    t->wrapped[t->row] = wrapped;
    t->row++;
    ck_assert_uint_lt(t->row, TERMINAL_ROWS);
    if (t->row > t->last)
        t->last = t->row;
    t->wrap_next = false;
}

static void put_point(struct terminal *t, uint32_t point, size_t width)
{
    if (width == 0)
        return; /* marks have no cell of their own here */
    if (t->wrap_next || t->col + width > t->width) {
        new_line(t, true);
        t->col = 0;
    }
    t->cells[t->row][t->col] = point;
    if (width == 2)
        t->cells[t->row][t->col + 1] = 1;
    t->col += width;
    if (t->col == t->width) {
        t->col--;
        t->wrap_next = true;
    }
}

static void erase(struct terminal *t, size_t row, size_t col)
{
    memset(&t->cells[row][col], 0, (TERMINAL_COLS - col) * sizeof t->cells[0][0]);
    t->wrapped[row] = false;
}

static void obey(struct terminal *t, const char *sequence, char end)
{
    size_t n = strtoul(sequence, NULL, 10),
           top = t->last + 1 > t->height ? t->last + 1 - t->height : 0;
    t->escapes++;
    if (end == 'm') {
        t->colours++;
    } else if (end == 'A') {
        n = n == 0 ? 1 : n;
        t->row = t->row > top + n ? t->row - n : top;
        t->wrap_next = false;
    } else if (end == 'K' && n == 0) {
        erase(t, t->row, t->col); /* the last character of a full line, too */
    } else if (end == 'J' && n == 0) {
        erase(t, t->row, t->col);
        for (size_t i = t->row + 1; i <= t->last; i++)
            erase(t, i, 0);
    } else {
        ck_abort_msg("the terminal got ESC [ %s", sequence);
    }
}

/* One character or sequence; 0 = there is more to come of it. */
static size_t take(struct terminal *t, const char *s, const struct columns *columns)
{
    size_t len;
    if (s[0] == '\033') {
        size_t n = strspn(s + 1, "[0123456789;") + 1;
        ck_assert_msg(s[1] == '\0' || s[1] == '[', "the terminal got ESC %c", s[1]);
        if (s[n] == '\0')
            return 0;
        obey(t, s + 2, s[n]);
        return n + 1;
    }
    if (s[0] == '\r' || s[0] == '\n') {
        if (s[0] == '\n')
            new_line(t, false);
        t->col = s[0] == '\r' ? 0 : t->col;
        t->wrap_next = false;
        return 1;
    }
    uint32_t point = columns_point(s, &len);
    if (point == UINT32_MAX && strlen(s) < 4)
        return 0;
    ck_assert_msg(point >= 0x20 && point != UINT32_MAX, "the terminal got %d", s[0]);
    char one[8] = "";
    memcpy(one, s, len);
    put_point(t, point, columns_count(columns, one));
    return len;
}

void terminal_write(struct terminal *t, const char *text)
{
    struct columns *columns = columns_new(true);
    size_t cap = t->held + strlen(text) + 1, n;
    char *all = mem_calloc(cap, 1);
    const char *s = all;
    snprintf(all, cap, "%s%s", t->hold, text);
    while (*s != '\0' && (n = take(t, s, columns)) > 0)
        s += n;
    t->held = strlen(s);
    ck_assert_uint_lt(t->held, sizeof t->hold);
    memcpy(t->hold, s, t->held + 1);
    mem_free(all);
    columns_free(columns);
}

static size_t used(const struct terminal *t, size_t row)
{
    size_t n = t->width;
    while (n > 0 && t->cells[row][n - 1] == 0)
        n--;
    return n;
}

/* Writes all of it once more. */
void terminal_resize(struct terminal *t, size_t width, size_t height)
{
    struct terminal *old = mem_dup(t, sizeof *t);
    struct winsize size = {.ws_col = (unsigned short)width, .ws_row = (unsigned short)height};
    memset(t->cells, 0, sizeof t->cells);
    memset(t->wrapped, 0, sizeof t->wrapped);
    t->width = width;
    t->height = height;
    t->row = t->col = t->last = 0;
    t->wrap_next = false;
    for (size_t i = 0; i <= old->row; i++) { /* nothing is below the cursor */
        for (size_t k = 0; k < used(old, i); k++)
            if (old->cells[i][k] != 1)
                put_point(t, old->cells[i][k],
                          k + 1 < TERMINAL_COLS && old->cells[i][k + 1] == 1 ? 2 : 1);
        if (i < old->row && !old->wrapped[i]) {
            new_line(t, false);
            t->col = 0;
        }
    }
    mem_free(old);
    ck_assert_int_eq(ioctl(t->master, TIOCSWINSZ, &size), 0);
}

static size_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

static void row_text(const struct terminal *t, size_t row, char *out)
{
    size_t len = 0;
    for (size_t i = 0; i < used(t, row); i++)
        if (t->cells[row][i] != 1)
            len += put_utf8(t->cells[row][i] == 0 ? ' ' : t->cells[row][i], out + len);
    out[len] = '\0';
}

size_t terminal_count(const struct terminal *t, const char *text)
{
    char row[4 * TERMINAL_COLS + 1];
    size_t n = 0;
    for (size_t i = 0; i <= t->last; i++) {
        row_text(t, i, row);
        n += strstr(row, text) != NULL;
    }
    return n;
}

char *terminal_text(const struct terminal *t)
{
    char *text = mem_calloc(TERMINAL_ROWS, 4 * TERMINAL_COLS + 2);
    size_t len = 0;
    for (size_t i = 0; i <= t->last; i++) {
        row_text(t, i, text + len);
        len += strlen(text + len);
        text[len++] = '\n';
    }
    return text;
}

/* --- the program ------------------------------------------------------------------------------ */

static void become(const struct terminal *t, const char *slave, const char *const *env, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    int tty = open(slave, O_RDWR); /* and it is the controlling terminal */
    int out = open(t->out_path, O_WRONLY | O_TRUNC), null = open("/dev/null", O_RDONLY);
    if (tty < 0 || out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(tty, 2) < 0)
        _exit(126);
    close(tty);
    close(out);
    close(null);
    close(t->master);
    setenv("HAMMER_NO_SAVE", "1", 1); /* the user's own history is not for tests */
    unsetenv("NO_COLOR");
    unsetenv("CLICOLOR");
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    for (; env != NULL && *env != NULL; env++)
        putenv((char *)(uintptr_t)*env);
    execv(argv[0], argv);
    _exit(127);
}

void terminal_start(struct terminal *t, size_t width, size_t height, const char *const *env,
                    const char *program, const char *const *args)
{
    char path[512], slave[64];
    char *argv[PROCESS_ARGS_MAX + 2] = {path};
    struct winsize size = {.ws_col = (unsigned short)width, .ws_row = (unsigned short)height};
    memset(t, 0, sizeof *t);
    t->width = width;
    t->height = height;
    snprintf(path, sizeof path, "%s/%s", TEST_BIN_DIR, program);
    for (size_t n = 1; *args != NULL; args++) {
        ck_assert_uint_lt(n, PROCESS_ARGS_MAX);
        argv[n++] = (char *)(uintptr_t)*args;
    }
    strcpy(t->out_path, "/tmp/hammer-out-XXXXXX");
    int out = mkstemp(t->out_path);
    t->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    ck_assert(out >= 0 && t->master >= 0 && grantpt(t->master) == 0 && unlockpt(t->master) == 0);
    close(out);
    ck_assert_int_eq(ptsname_r(t->master, slave, sizeof slave), 0);
    ck_assert_int_eq(ioctl(t->master, TIOCSWINSZ, &size), 0);
    t->pid = fork();
    ck_assert_int_ge(t->pid, 0);
    if (t->pid == 0)
        become(t, slave, env, argv);
}

void terminal_type(struct terminal *t, const char *keys)
{
    ck_assert_int_eq(write(t->master, keys, strlen(keys)), (ssize_t)strlen(keys));
}

void terminal_hold(struct terminal *t, bool held)
{
    terminal_type(t, held ? "\023" : "\021");
}

/* false = the program has closed it. */
static bool pump(struct terminal *t, int wait_ms)
{
    char bytes[4097];
    struct pollfd p = {.fd = t->master, .events = POLLIN};
    if (poll(&p, 1, wait_ms) == 0)
        return true;
    ssize_t n = read(t->master, bytes, sizeof bytes - 1);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    bytes[n] = '\0';
    terminal_write(t, bytes);
    return true;
}

static void give_up(struct terminal *t, const char *what)
{
    char *text = terminal_text(t);
    kill(t->pid, SIGKILL);
    ck_abort_msg("%s\n%s", what, text);
}

static uint64_t until(uint64_t timeout_ms)
{
    return clock_mono_ns() + (process_sanitized() ? 4 : 1) * timeout_ms * NS_PER_MS;
}

void terminal_wait(struct terminal *t, const char *text, uint64_t timeout_ms)
{
    uint64_t until_ns = until(timeout_ms);
    while (terminal_count(t, text) == 0)
        if (!pump(t, 20) || clock_mono_ns() > until_ns)
            give_up(t, text);
}

void terminal_wait_count(struct terminal *t, const char *text, size_t n, uint64_t timeout_ms)
{
    uint64_t until_ns = until(timeout_ms);
    while (terminal_count(t, text) != n)
        if (!pump(t, 20) || clock_mono_ns() > until_ns)
            give_up(t, text);
}

int terminal_end(struct terminal *t, uint64_t timeout_ms)
{
    uint64_t until_ns = until(timeout_ms);
    int status = 0;
    while (waitpid(t->pid, &status, WNOHANG) == 0) {
        if (clock_mono_ns() > until_ns)
            give_up(t, "it does not end");
        if (!pump(t, 20))
            clock_sleep_until(clock_mono_ns() + 2 * NS_PER_MS);
    }
    for (int i = 0; i < 100 && pump(t, 0); i++)
        continue;
    close(t->master);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char *terminal_stdout(struct terminal *t)
{
    char *text = file_read(t->out_path);
    unlink(t->out_path);
    return text;
}
