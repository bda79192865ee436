/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "controller/report/text.h"
#include "controller/watch/live_line.h"

#define NAME_WIDE   24
#define NAME_NARROW 10
#define WORD        10

/* Those that need an eye come first. */
enum concern {
    CONCERN_LOST,
    CONCERN_REFUSED,
    CONCERN_LATE,
    CONCERN_NONE,
    CONCERNS
};

static enum concern concern_of(const struct progress_agent *a)
{
    if (a->state == COORD_LOST)
        return CONCERN_LOST;
    if (a->state == COORD_REFUSED)
        return CONCERN_REFUSED;
    return progress_agent_late(a) ? CONCERN_LATE : CONCERN_NONE;
}

static enum live_style style_of(const struct progress_agent *a)
{
    enum concern c = concern_of(a);
    if (c == CONCERN_LATE)
        return LIVE_WARN;
    if (c != CONCERN_NONE)
        return LIVE_BAD;
    return a->state == COORD_RUNNING || a->state == COORD_DONE ? LIVE_GOOD : LIVE_PLAIN;
}

static void agent_row(struct live_writer *w, const struct progress_agent *a)
{
    char time[LIVE_TIME];
    const char *name = a->name[0] != '\0' ? a->name : text_without_scheme(a->address);
    live_begin(w);
    live_text(w, LIVE_PLAIN, name, live_is_wide(w) ? NAME_WIDE : NAME_NARROW, true);
    live_piece(w, LIVE_PLAIN, " ");
    live_text(w, style_of(a), progress_agent_word(a), WORD, live_is_wide(w));
    if (progress_agent_late(a))
        live_piece(w, LIVE_WARN, " for %s",
                   live_time(clock_elapsed(a->late_since_ns, w->p->now_ns), time));
    if (a->problem[0] != '\0' && live_left(w) > 8) {
        live_piece(w, LIVE_PLAIN, "  ");
        live_text(w, LIVE_PLAIN, a->problem, live_left(w), false);
        return;
    }
    if (a->sent > 0)
        live_piece(w, LIVE_PLAIN, "  sent %" PRIu64, a->sent);
    if (a->errors > 0)
        live_piece(w, LIVE_BAD, "  errors %" PRIu64, a->errors);
    if (a->backlog > 0)
        live_piece(w, LIVE_WARN, "  backlog %" PRIu64, a->backlog);
}

/* Of those that have no row of their own. */
static void rest_row(struct live_writer *w, size_t shown, const size_t n[CONCERNS])
{
    static const char *const words[CONCERNS] = {
        [CONCERN_LOST] = "lost", [CONCERN_REFUSED] = "refused", [CONCERN_LATE] = "late"};
    static const enum live_style styles[CONCERNS] = {
        [CONCERN_LOST] = LIVE_BAD, [CONCERN_REFUSED] = LIVE_BAD, [CONCERN_LATE] = LIVE_WARN};
    size_t rest = w->p->n_agents - shown;
    const char *glue = ": ";
    live_begin(w);
    live_piece(w, LIVE_PLAIN, shown > 0 ? "and %zu more" : "%zu agents", rest);
    for (size_t c = 0; c < CONCERN_NONE; c++) {
        if (n[c] == 0)
            continue;
        live_piece(w, styles[c], "%s%zu %s", glue, n[c], words[c]);
        glue = ", ";
    }
}

void live_agents(struct live_writer *w, size_t room)
{
    const struct progress *p = w->p;
    size_t left[CONCERNS] = {0};
    if (room == 0 || p->n_agents == 0)
        return;
    for (size_t i = 0; i < p->n_agents; i++)
        left[concern_of(&p->agents[i])]++;
    size_t rows = p->n_agents <= room ? p->n_agents : room - 1, shown = 0;
    for (size_t c = 0; c < CONCERNS && shown < rows; c++)
        for (size_t i = 0; i < p->n_agents && shown < rows && left[c] > 0; i++) {
            if (concern_of(&p->agents[i]) != (enum concern)c)
                continue;
            agent_row(w, &p->agents[i]);
            left[c]--;
            shown++;
        }
    if (shown < p->n_agents)
        rest_row(w, shown, left);
}
