/* SPDX-License-Identifier: MIT */
/* On a terminal: a block of lines on stderr, redrawn twice a second. docs/live.md. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/report/looks.h"
#include "controller/watch/nowait.h"
#include "controller/watch/observer.h"
#include "controller/watch/progress.h"
#include "controller/watch/screen.h"
#include "controller/watch/terminal.h"

#define FRAME_NS  (500 * NS_PER_MS)
#define WINDOW_NS NS_PER_SEC
/* What a terminal that takes nothing gets at the end. */
#define LEAVE_NS  (300 * NS_PER_MS)
#define NOTE_MAX  1024

struct live_observer {
    const struct observer_run *run;
    struct progress *progress;
    struct columns *columns;
    struct live_options options;
    struct live_frame frame;
    struct screen screen;
    struct nowait *out;
    struct loop_timer *timer;
    size_t agent; /* whose message is under way */
    bool over;    /* the run is: nothing more is drawn */
};

/* Lines are one column shorter than the terminal: what erasing does at the end of a full line
 * differs. */
static void render(struct live_observer *l, size_t *width, size_t *height)
{
    const struct observer_run *run = l->run;
    terminal_size(STDERR_FILENO, width, height);
    if (run->coordinator != NULL)
        progress_look(l->progress, run->coordinator, run->inventory, clock_mono_ns());
    l->options.width = *width - 1;
    l->options.height = screen_room(*height);
    live_render(l->progress, &l->options, &l->frame);
}

static void draw(struct live_observer *l, const char *above)
{
    size_t width, height;
    render(l, &width, &height);
    screen_draw(&l->screen, width, height, above, &l->frame);
    if (!nowait_write(l->out, l->screen.text, l->screen.len))
        screen_forget(&l->screen);
}

/* A frame that the terminal does not take in time is left out. */
static void on_timer(void *arg)
{
    struct live_observer *l = arg;
    if (l->over)
        return;
    if (nowait_retry(l->out) && l->run->coordinator != NULL && terminal_is_ours(STDERR_FILENO))
        draw(l, NULL);
    loop_timer_at(l->timer, clock_add(clock_mono_ns(), FRAME_NS));
}

static void on_signal(int signo, void *arg)
{
    struct live_observer *l = arg;
    if (signo == SIGCONT)
        screen_forget(&l->screen); /* the shell has written below it */
    if (!l->over)
        loop_timer_at(l->timer, clock_mono_ns());
}

static enum err open_live(const struct observer_run *run, void **self, struct errmsg *msg)
{
    if (!terminal_is_live(run->options))
        return ERR_OK;
    struct live_observer *l = mem_calloc(1, sizeof *l);
    l->run = run;
    l->progress = progress_new(run->inventory->n, &run->options->plan, WINDOW_NS);
    l->columns = columns_new(looks_unicode());
    l->options = (struct live_options){.colour = looks_colour(), .columns = l->columns};
    l->out = nowait_new(STDERR_FILENO);
    l->timer = loop_timer_new(run->loop, on_timer, l);
    loop_timer_at(l->timer, clock_add(clock_mono_ns(), FRAME_NS));
    *self = l;
    enum err e = loop_signal(run->loop, SIGWINCH, on_signal, l);
    if (e == ERR_OK)
        e = loop_signal(run->loop, SIGCONT, on_signal, l);
    return e == ERR_OK ? e : errmsg_set(msg, e, "SIGWINCH and SIGCONT cannot be watched");
}

static void on_message(void *self, size_t agent, const struct msg *msg)
{
    (void)msg;
    ((struct live_observer *)self)->agent = agent;
}

static void on_snapshot(void *self, const struct snapshot *s)
{
    const struct live_observer *l = self;
    progress_snapshot(l->progress, l->agent, s);
}

static void on_interval(void *self, const struct merge_view *v)
{
    progress_interval(((struct live_observer *)self)->progress, v);
}

static bool on_note(void *self, const char *text)
{
    struct live_observer *l = self;
    char line[NOTE_MAX], shown[4 * NOTE_MAX];
    if (l->over || l->screen.n == 0)
        return false;
    snprintf(line, sizeof line, "hammer-ctl: %s", text);
    columns_fit(l->columns, line, SIZE_MAX, shown, sizeof shown);
    draw(l, shown);
    return true;
}

/* The report comes, or a last word. */
static void leave(struct live_observer *l)
{
    size_t width, height;
    if (l->over)
        return;
    l->over = true;
    loop_timer_at(l->timer, NS_NEVER);
    terminal_size(STDERR_FILENO, &width, &height);
    screen_erase(&l->screen, width);
    if (terminal_is_ours(STDERR_FILENO))
        nowait_write(l->out, l->screen.text, l->screen.len);
    nowait_flush(l->out, LEAVE_NS);
}

static bool on_finish(void *self, const struct result *r)
{
    (void)r;
    leave(self);
    return true;
}

static void close_live(void *self)
{
    struct live_observer *l = self;
    leave(l);
    loop_signal_forget(l->run->loop, l);
    if (nowait_refused(l->out) > 0)
        l->run->note(l->run->arg, "the terminal took nothing for a while: what was to be shown "
                                  "then is missing");
    loop_timer_free(l->timer);
    nowait_free(l->out);
    screen_clear(&l->screen);
    live_clear(&l->frame);
    columns_free(l->columns);
    progress_free(l->progress);
    mem_free(l);
}

const struct observer_kind observe_live = {.name = "live",
                                           .open = open_live,
                                           .message = on_message,
                                           .snapshot = on_snapshot,
                                           .interval = on_interval,
                                           .note = on_note,
                                           .finish = on_finish,
                                           .close = close_live};
