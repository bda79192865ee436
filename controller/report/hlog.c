/* SPDX-License-Identifier: MIT */
#include "controller/report/hlog.h"

#include <inttypes.h>
#include <time.h>

#include "common/clock.h"
#include "common/hist_log.h"
#include "common/mem.h"
#include "controller/report/report.h"

#define SECONDS_TEXT 32

/* Seconds with three digits, whatever the locale. */
static const char *seconds(uint64_t ns, char buf[SECONDS_TEXT])
{
    snprintf(buf, SECONDS_TEXT, "%" PRIu64 ".%03" PRIu64, ns / NS_PER_SEC,
             ns % NS_PER_SEC / NS_PER_MS);
    return buf;
}

struct hlog_head hlog_head_of(const struct result *r)
{
    return (struct hlog_head){.run_id = r->run_id,
                              .started_wall_ns = r->started_wall_ns,
                              .one_clock = result_one_clock(r),
                              .view = r->view};
}

/* No line over 126 bytes: the C reader splits it. What is foreign (a name) stays out. */
static void write_view(FILE *out, const struct result_view *v)
{
    char from[SECONDS_TEXT], to[SECONDS_TEXT];
    if (!v->partial)
        return;
    fprintf(out, "#[a part of the run: from %s s", seconds(v->from_ns, from));
    if (v->to_ns != 0)
        fprintf(out, " to %s s", seconds(v->to_ns, to));
    if (v->one_stage)
        fprintf(out, ", stage %" PRIu32, v->stage + 1);
    fprintf(out, "%s%s]\n", v->agent[0] != '\0' ? ", one agent" : "",
            v->request[0] != '\0' ? ", one request" : "");
}

enum err hlog_begin(FILE *out, const struct hlog_head *h)
{
    char start[SECONDS_TEXT], date[64];
    time_t at = (time_t)(h->started_wall_ns / NS_PER_SEC);
    struct tm tm;
    seconds(h->started_wall_ns, start);
    strftime(date, sizeof date, "%a %b %d %H:%M:%S UTC %Y", gmtime_r(&at, &tm));
    fprintf(out, "#[hammer %s, run %.32s]\n", HAMMER_VERSION, h->run_id);
    fputs(
        h->one_clock
            ? "#[latencies in ns from the send, the only clock of this run, hence without a tag]\n"
            : "#[latencies in ns; no tag: corrected, from the due time; Tag=uncorrected: from the "
              "send]\n",
        out);
    write_view(out, &h->view);
    fputs("#[Histogram log format version 1.3]\n", out);
    fprintf(out, "#[BaseTime: %s (seconds since epoch)]\n", start);
    fprintf(out, "#[StartTime: %s (seconds since epoch), %s]\n", start, date);
    fputs("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
          "\"Interval_Compressed_Histogram\"\n",
          out);
    return fflush(out) == 0 && !ferror(out) ? ERR_OK : ERR_SYSTEM;
}

/* The largest in ms, rounded, as the readers want it. */
static void write_line(FILE *out, const char *tag, const struct result_interval *row,
                       const struct hist *h)
{
    char from[SECONDS_TEXT], length[SECONDS_TEXT], max[SECONDS_TEXT];
    char *packed = hist_log_encode(h);
    fprintf(out, "%s%s,%s,%s,%s\n", tag, seconds(row->from_ns, from),
            seconds(row->to_ns - row->from_ns, length),
            seconds((hist_max_bucket(h) + 500) * 1000, max), packed);
    mem_free(packed);
}

static bool recorded(const struct hist *h)
{
    return h != NULL && hist_count(h) > 0;
}

enum err hlog_row(FILE *out, const struct merge_view *v)
{
    bool both = recorded(v->corrected);
    if (both)
        write_line(out, "", v->row, v->corrected);
    if (recorded(v->uncorrected))
        write_line(out, both ? "Tag=uncorrected," : "", v->row, v->uncorrected);
    return fflush(out) == 0 && !ferror(out) ? ERR_OK : ERR_SYSTEM;
}

const struct report_format report_hlog = {
    .name = "hlog", .suffix = ".hlog", .text = "HdrHistogram's log of intervals, both clocks"};
const struct report_format report_store = {
    .name = "hammer", .suffix = ".hammer", .text = "the whole run, for report, merge and compare"};
