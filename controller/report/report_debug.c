/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"
#include "common/units.h"
#include "controller/report/phases.h"
#include "controller/report/report.h"
#include "controller/run/result.h"
#include "proto/msg.h"

/* What --debug-request prints. The agent's text has a mark at the begin of each line, see
 * agent/client/h1_debug.h. */

#define MARK 2

/* Of a header block the fields; the first line is a URL as far as secrets go. */
static void redact_line(const char *line, const char *secrets, bool first, char *shown, size_t cap)
{
    if (first || strchr(line, ':') == NULL)
        redact_url(line, shown, cap);
    else
        redact_header(line, secrets, shown, cap);
}

static void write_lines(const char *text, const char *secrets, FILE *out)
{
    char last = '\0';
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        char *line = mem_dup(text, len), *shown = mem_calloc(2 * len + 64, 1);
        bool head = len >= MARK && (*line == '>' || *line == '<');
        msg_sanitise(line);
        if (head)
            redact_line(line + MARK, secrets, *line != last, shown, 2 * len + 64);
        fprintf(out, "%.*s%s\n", head ? MARK : (int)len, line, shown);
        last = *line;
        mem_free(shown);
        mem_free(line);
        text += len + (text[len] == '\n');
    }
}

static void write_timing(const char *label, struct hist *h, FILE *out)
{
    char text[UNITS_TEXT];
    if (hist_count(h) > 0)
        fprintf(out, "* %-14s %s\n", label, units_format_latency(hist_max(h), text));
    hist_free(h);
}

static enum err write_debug(const struct result *r, const struct report_options *o, FILE *out)
{
    static const enum phase shown[] = {PHASE_DNS,    PHASE_CONNECT,    PHASE_TLS,
                                       PHASE_UPLOAD, PHASE_FIRST_BYTE, PHASE_DOWNLOAD};
    const struct snapshot *s = r->total;
    if (s->debug != NULL)
        write_lines(s->debug, o->secret_headers, out);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        write_timing(phases_label(shown[i]), phases_hist(s, shown[i]), out);
    write_timing("total", snapshot_hist(s, HIST_UNCORRECTED), out);
    for (size_t i = 0; i < s->n_errors; i++)
        fprintf(out, "* %s\n", s->errors[i].text);
    for (size_t i = 0; i < r->verdict.n_reasons && !report_debug_answered(r); i++)
        fprintf(out, "* %s\n", r->verdict.reasons[i]);
    return ferror(out) ? ERR_SYSTEM : ERR_OK;
}

const struct report_format report_debug = {"debug", write_debug};

bool report_debug_answered(const struct result *r)
{
    struct counters c = snapshot_counters(r->total);
    return c.completed == 1 && c.unexpected == 0;
}
