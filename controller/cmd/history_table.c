/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "controller/cmd/history_row.h"
#include "controller/watch/columns.h"

#define CELL 72
#define GAP  2

enum column {
    COLUMN_ID,
    COLUMN_START,
    COLUMN_NAME,
    COLUMN_DURATION,
    COLUMN_RATE,
    COLUMN_P50,
    COLUMN_P99,
    COLUMN_CHANGE,
    COLUMN_P999,
    COLUMN_ERRORS,
    COLUMN_STATE,
    COLUMN_TAGS,
    COLUMNS
};

/* `keep`: on a narrow terminal those with the lowest go first. */
static const struct {
    const char *title;
    bool right;
    int keep;
} columns[COLUMNS] = {
    [COLUMN_ID] = {"run", false, 99},        [COLUMN_START] = {"started", false, 80},
    [COLUMN_NAME] = {"name", false, 70},     [COLUMN_DURATION] = {"for", true, 20},
    [COLUMN_RATE] = {"rate", true, 60},      [COLUMN_P50] = {"p50", true, 40},
    [COLUMN_P99] = {"p99", true, 90},        [COLUMN_CHANGE] = {"change", true, 85},
    [COLUMN_P999] = {"p99.9", true, 30},     [COLUMN_ERRORS] = {"errors", true, 50},
    [COLUMN_STATE] = {"verdict", false, 75}, [COLUMN_TAGS] = {"tags", false, 10},
};

typedef char cells[COLUMNS][CELL];

static int width_of(const struct columns *c, const char *text)
{
    return (int)columns_count(c, text);
}

static void start_text(uint64_t wall_ns, char *buf, size_t cap)
{
    time_t at = (time_t)(wall_ns / NS_PER_SEC);
    struct tm tm;
    if (localtime_r(&at, &tm) == NULL || strftime(buf, cap, "%F %H:%M:%S", &tm) == 0)
        buf[0] = '\0';
}

static void latency_text(const struct history_row *row, uint64_t ns, char buf[CELL])
{
    char text[UNITS_TEXT];
    snprintf(buf, CELL, "%s", row->all ? units_format_latency(ns, text) : "-");
}

static void change_text(const struct history_row *row, const struct history_row *before,
                        char buf[CELL])
{
    if (before == NULL || !row->all || !before->all || before->p99 == 0)
        snprintf(buf, CELL, "-");
    else
        snprintf(buf, CELL, "%+.1f%%", 100.0 * ((double)row->p99 / (double)before->p99 - 1));
}

static void fill(const struct history_row *row, const struct history_row *before, cells c)
{
    char text[UNITS_TEXT];
    snprintf(c[COLUMN_ID], CELL, "%.8s", row->id);
    start_text(row->started_wall_ns, c[COLUMN_START], CELL);
    snprintf(c[COLUMN_NAME], CELL, "%s", row->name);
    snprintf(c[COLUMN_STATE], CELL, "%s", row->state);
    snprintf(c[COLUMN_TAGS], CELL, "%.64s", row->tags != NULL ? row->tags : "");
    for (int i = COLUMN_DURATION; i <= COLUMN_ERRORS; i++)
        snprintf(c[i], CELL, "-");
    if (!row->known)
        return;
    snprintf(c[COLUMN_DURATION], CELL, "%s", units_format_duration(row->duration_ns, text));
    if (row->target > 0)
        snprintf(c[COLUMN_RATE], CELL, "%.6g/%.6g", row->achieved, row->target);
    else
        snprintf(c[COLUMN_RATE], CELL, "%.6g", row->achieved);
    latency_text(row, row->p50, c[COLUMN_P50]);
    latency_text(row, row->p99, c[COLUMN_P99]);
    latency_text(row, row->p999, c[COLUMN_P999]);
    change_text(row, before, c[COLUMN_CHANGE]);
    snprintf(c[COLUMN_ERRORS], CELL, "%" PRIu64, row->errors);
}

/* Width of each column; 0 = it is left out. */
static void lay_out(const struct columns *known, cells *rows, size_t n, unsigned width,
                    bool over_time, int widths[COLUMNS])
{
    int total = 0;
    for (int i = 0; i < COLUMNS; i++) {
        widths[i] = 0;
        bool any = false;
        for (size_t k = 0; k < n; k++) {
            int w = width_of(known, rows[k][i]);
            any = any || w > 0;
            widths[i] = w > widths[i] ? w : widths[i];
        }
        if (!any || (i == COLUMN_CHANGE && !over_time))
            widths[i] = 0;
        else if (widths[i] < width_of(known, columns[i].title))
            widths[i] = width_of(known, columns[i].title);
        total += widths[i] > 0 ? widths[i] + GAP : 0;
    }
    while (width > 0 && total - GAP > (int)width) {
        int least = COLUMN_ID;
        for (int i = 0; i < COLUMNS; i++)
            if (widths[i] > 0 && columns[i].keep < columns[least].keep)
                least = i;
        if (least == COLUMN_ID)
            break;
        total -= widths[least] + GAP;
        widths[least] = 0;
    }
}

static void print_line(const struct columns *known, cells c, const int widths[COLUMNS], FILE *out)
{
    int owed = 0; /* blanks are not put at a line's end */
    for (int i = 0; i < COLUMNS; i++) {
        if (widths[i] == 0)
            continue;
        const char *text = c != NULL ? c[i] : columns[i].title;
        int pad = widths[i] - width_of(known, text);
        if (*text == '\0') {
            owed += widths[i] + GAP;
            continue;
        }
        fprintf(out, "%*s%s", owed + (columns[i].right ? pad : 0), "", text);
        owed = GAP + (columns[i].right ? 0 : pad);
    }
    fputc('\n', out);
}

void history_print_table(const struct history_row *rows, size_t n, unsigned width, bool over_time,
                         FILE *out)
{
    int widths[COLUMNS];
    struct columns *known = columns_new(true);
    cells *all = mem_calloc(n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        const struct history_row *row = over_time ? &rows[n - 1 - i] : &rows[i];
        fill(row, over_time && i > 0 ? row + 1 : NULL, all[i]);
    }
    lay_out(known, all, n, width, over_time, widths);
    print_line(known, NULL, widths, out);
    for (size_t i = 0; i < n; i++)
        print_line(known, all[i], widths, out);
    mem_free(all);
    columns_free(known);
}
