/* SPDX-License-Identifier: MIT */
#include "controller/watch/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mailbox.h"
#include "common/mem.h"

#define BUFFER       (256u << 10)
#define FULL         (BUFFER - DUMP_CSV_LINE) /* then there may be no room for a line */
#define SOON_NS      (200 * NS_PER_MS) /* lines are in the file so soon, for who follows it */
#define REOPEN_MS    100
#define STUCK_MS     2000 /* at the end a reader that takes nothing for so long is given up */
#define FINISH_NS    (30 * NS_PER_SEC)
#define LETTER_ROWS  0
#define LETTER_CLOSE 1

/* A message's rows on their way to the writer, who frees them. */
struct block {
    struct letter letter; /* first: the letter is the block */
    char agent[64];
    size_t len;
    uint8_t bytes[];
};

struct dump_file {
    struct dump_csv csv;
    struct loop *loop; /* the writer's, as what follows down to `ending` */
    struct mailbox *inbox;
    struct loop_timer *timer;
    char *path;
    int fd;               /* -1 = a FIFO without a reader so far */
    size_t used, flushed; /* of the buffer: filled, written */
    bool timed;           /* the timer is set */
    uint64_t end_by_ns;   /* then it gives up; NS_NEVER = the end has not come */
    char buffer[BUFFER];

    int ending; /* eventfd: readable once nothing follows */
    pthread_t thread;
    bool started, finished, stuck; /* main thread's, as the next */
    size_t queue_max;
    /* Told by the writer. */
    _Atomic size_t queued; /* bytes that are not yet lines */
    _Atomic uint64_t lines;
    _Atomic int problem; /* errno */
};

/* --- the writer ----------------------------------------------------------------------------- */

static bool broken(const struct dump_file *f)
{
    return atomic_load(&f->problem) != 0;
}

/* What is in the file of a line that is not whole is taken back, where that can be done. */
static void give_up(struct dump_file *f, int error)
{
    size_t whole = f->flushed;
    while (whole > 0 && f->buffer[whole - 1] != '\n')
        whole--;
    off_t half = (off_t)(f->flushed - whole);
    off_t at = f->fd >= 0 ? lseek(f->fd, 0, SEEK_CUR) : -1;
    if (half > 0 && at >= half && ftruncate(f->fd, at - half) != 0)
        log_debug("dump", "%s: the last line is not whole: %s", f->path, strerror(errno));
    atomic_store(&f->problem, error);
}

static void note_written(struct dump_file *f, size_t n)
{
    uint64_t lines = 0;
    const char *p = f->buffer + f->flushed, *end = p + n;
    while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        lines++;
        p++;
    }
    f->flushed += n;
    atomic_fetch_add(&f->lines, lines);
}

/* Nothing follows, and the main thread waits. */
static bool is_ending(struct dump_file *f)
{
    struct pollfd p = {.fd = f->ending, .events = POLLIN};
    if (f->end_by_ns == NS_NEVER && poll(&p, 1, 0) > 0)
        f->end_by_ns = clock_add(clock_mono_ns(), FINISH_NS);
    return f->end_by_ns != NS_NEVER;
}

/* false = it is the end, and nobody takes anything. */
static bool wait_for_reader(struct dump_file *f)
{
    struct pollfd p[] = {{.fd = f->fd, .events = POLLOUT}, {.fd = f->ending, .events = POLLIN}};
    bool ending = is_ending(f);
    poll(p, ending ? 1 : 2, ending ? STUCK_MS : -1);
    return !ending || (p[0].revents != 0 && clock_mono_ns() < f->end_by_ns);
}

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
}

/* A FIFO is opened as soon as somebody reads it. */
static bool has_file(struct dump_file *f)
{
    struct pollfd p = {.fd = f->ending, .events = POLLIN};
    while (f->fd < 0) {
        f->fd = open_file(f->path);
        if (f->fd >= 0)
            break;
        int error = errno;
        if (error != ENXIO || poll(&p, 1, REOPEN_MS) > 0) {
            give_up(f, error);
            return false;
        }
    }
    return true;
}

static void flush(struct dump_file *f)
{
    while (!broken(f) && f->flushed < f->used && has_file(f)) {
        ssize_t n = write(f->fd, f->buffer + f->flushed, f->used - f->flushed);
        if (n >= 0)
            note_written(f, (size_t)n);
        else if (errno == EAGAIN && !wait_for_reader(f))
            give_up(f, ETIMEDOUT);
        else if (errno != EAGAIN && errno != EINTR)
            give_up(f, errno);
    }
    f->used = f->flushed = 0;
    f->timed = false;
}

static void write_rows(struct dump_file *f, const struct block *b)
{
    struct dump_reader r;
    struct dump_row row;
    dump_reader_init(&r, b->bytes, b->len);
    while (!broken(f) && dump_get(&r, &row)) {
        f->used += dump_csv_line(&f->csv, b->agent, &row, f->buffer + f->used);
        if (f->used > FULL)
            flush(f);
    }
    if (f->used == 0 || f->timed)
        return;
    f->timed = true;
    loop_timer_at(f->timer, clock_mono_ns() + SOON_NS);
}

static void on_letter(void *arg, struct letter *l)
{
    struct dump_file *f = arg;
    struct block *b = (struct block *)(void *)l;
    if (l->kind == LETTER_CLOSE) {
        flush(f);
        if (f->fd >= 0 && close(f->fd) != 0)
            atomic_store(&f->problem, errno);
        f->fd = -1;
        loop_stop(f->loop);
    } else {
        write_rows(f, b);
        atomic_fetch_sub(&f->queued, sizeof *b + b->len);
    }
    mem_free(b);
}

static void on_timer(void *arg)
{
    flush(arg);
}

static void *writer_main(void *arg)
{
    struct dump_file *f = arg;
    pthread_setname_np(pthread_self(), "hammer-dump");
    loop_run(f->loop);
    return NULL;
}

/* --- before the run ------------------------------------------------------------------------- */

/* The folder of one that is not there yet. */
static int check_access(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) == 0 ? 0 : errno;
    if (errno != ENOENT)
        return errno;
    char *folder = mem_strdup(path), *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[1] = '\0';
    int error = access(slash != NULL ? folder : ".", W_OK | X_OK) == 0 ? 0 : errno;
    mem_free(folder);
    return error;
}

enum err dump_file_check(const char *path, struct errmsg *msg)
{
    if (strcmp(path, "-") == 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--dump-requests -: the report goes there; accepted is a file, a FIFO or "
                          "/dev/fd/N");
    int error = check_access(path);
    if (error == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID,
                      "--dump-requests %s: %s; accepted is a file that can be written", path,
                      strerror(error));
}

/* --- the main thread ------------------------------------------------------------------------ */

static int start_thread(struct dump_file *f)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&f->thread, NULL, writer_main, f);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    f->started = rc == 0;
    return rc;
}

static enum err build(struct dump_file *f, struct errmsg *msg)
{
    enum err e = loop_new(&f->loop, msg);
    if (e == ERR_OK)
        e = mailbox_new(f->loop, on_letter, f, &f->inbox, msg);
    if (e != ERR_OK)
        return e;
    f->timer = loop_timer_new(f->loop, on_timer, f);
    f->ending = eventfd(0, EFD_CLOEXEC);
    int rc = f->ending < 0 ? errno : start_thread(f);
    if (rc != 0)
        return errmsg_set(msg, ERR_SYSTEM, "cannot start the thread that writes %s: %s", f->path,
                          strerror(rc));
    return ERR_OK;
}

enum err dump_file_open(const char *path, const struct plan *plan, size_t queue,
                        struct dump_file **out, struct errmsg *msg)
{
    int fd = open_file(path);
    if (fd < 0 && errno != ENXIO)
        return errmsg_set(msg, ERR_SYSTEM, "--dump-requests %s: %s", path, strerror(errno));
    struct dump_file *f = mem_calloc(1, sizeof *f);
    f->fd = fd;
    f->end_by_ns = NS_NEVER;
    f->ending = -1;
    f->queue_max = queue;
    f->path = mem_strdup(path);
    dump_csv_init(&f->csv, plan);
    f->used = strlen(dump_csv_header());
    memcpy(f->buffer, dump_csv_header(), f->used);
    enum err e = build(f, msg);
    if (e != ERR_OK) {
        dump_file_close(f);
        return e;
    }
    *out = f;
    return ERR_OK;
}

bool dump_file_add(struct dump_file *f, const char *agent, const struct msg_requests *m)
{
    size_t size = sizeof(struct block) + m->data.len;
    if (broken(f) || atomic_load(&f->queued) + size > f->queue_max)
        return false;
    struct block *b = mem_calloc(1, size);
    b->letter.kind = LETTER_ROWS;
    snprintf(b->agent, sizeof b->agent, "%s", agent);
    b->len = m->data.len;
    memcpy(b->bytes, m->data.data, m->data.len);
    atomic_fetch_add(&f->queued, size);
    mailbox_post(f->inbox, &b->letter);
    return true;
}

static bool unread(int error)
{
    return error == ETIMEDOUT || error == ENXIO || error == EPIPE;
}

const char *dump_file_problem(const struct dump_file *f)
{
    int error = atomic_load(&f->problem);
    if (unread(error))
        return "nobody reads it";
    return error == 0 ? "" : strerror(error);
}

bool dump_file_failed(const struct dump_file *f)
{
    int error = atomic_load(&f->problem);
    return error != 0 && !unread(error);
}

void dump_file_finish(struct dump_file *f)
{
    if (f->finished || !f->started)
        return;
    struct block *last = mem_calloc(1, sizeof *last);
    last->letter.kind = LETTER_CLOSE;
    mailbox_post(f->inbox, &last->letter);
    if (eventfd_write(f->ending, 1) != 0)
        atomic_store(&f->problem, errno);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)((FINISH_NS + STUCK_MS * NS_PER_MS) / NS_PER_SEC) + 1;
    f->finished = true;
    f->stuck = pthread_timedjoin_np(f->thread, NULL, &until) != 0;
    if (f->stuck)
        atomic_store(&f->problem, ETIMEDOUT);
}

uint64_t dump_file_lines(const struct dump_file *f)
{
    uint64_t lines = atomic_load(&f->lines);
    return lines > 0 ? lines - 1 : 0; /* the header is none */
}

void dump_file_close(struct dump_file *f)
{
    if (f == NULL)
        return;
    dump_file_finish(f);
    if (f->stuck)
        return; /* in a system call that does not return: what it uses goes with the process */
    if (f->inbox != NULL)
        mailbox_free(f->inbox);
    loop_timer_free(f->timer);
    loop_free(f->loop);
    if (f->fd >= 0)
        close(f->fd);
    if (f->ending >= 0)
        close(f->ending);
    dump_csv_clear(&f->csv);
    mem_free(f->path);
    mem_free(f);
}
