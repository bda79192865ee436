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

/* What is shorter is no secret, and much else has it too. */
#define SECRET_MIN 4

/* Of a header block the fields; the first line is a URL as far as secrets go. */
static void redact_line(const char *line, const char *secrets, bool first, char *shown, size_t cap)
{
    if (first || strchr(line, ':') == NULL)
        redact_url(line, shown, cap);
    else
        redact_header(line, secrets, shown, cap);
}

/* Owned, in place of `line`: without that text. */
static char *hide(char *line, const char *secret, size_t len)
{
    size_t n = 0;
    for (char *at = line; (at = memmem(at, strlen(at), secret, len)) != NULL; at += len)
        n++;
    if (n == 0)
        return line;
    char *shown = mem_calloc(strlen(line) + n * sizeof REDACTED + 1, 1), *to = shown, *at = line;
    for (char *found; (found = memmem(at, strlen(at), secret, len)) != NULL; at = found + len) {
        memcpy(to, at, (size_t)(found - at));
        to = stpcpy(to + (found - at), REDACTED);
    }
    strcpy(to, at);
    mem_free(line);
    return shown;
}

/* {{env}} stands for a secret wherever it is, in a URL or a body too, and in a response that has it
 * back. One of several lines is hidden line by line, as it is written. */
static char *hide_variables(char *line, const struct plan *p)
{
    for (size_t i = 0; i < p->n_env; i++) {
        const char *at = (const char *)p->env[i].bytes, *end = at + p->env[i].len;
        while (at < end) {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            size_t len = (size_t)((newline != NULL ? newline : end) - at);
            size_t bare = len > 0 && at[len - 1] == '\r' ? len - 1 : len;
            if (bare >= SECRET_MIN)
                line = hide(line, at, bare);
            at += len + (newline != NULL);
        }
    }
    return line;
}

static void write_lines(const char *text, const struct plan *plan, const char *secrets, FILE *out)
{
    char last = '\0';
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        char *line = hide_variables(mem_dup(text, len), plan);
        size_t cap = 2 * strlen(line) + 64;
        char *shown = mem_calloc(cap, 1);
        bool head = len >= MARK && (*line == '>' || *line == '<');
        msg_sanitise(line);
        if (head)
            redact_line(line + MARK, secrets, *line != last, shown, cap);
        fprintf(out, "%.*s%s\n", head ? MARK : (int)strlen(line), line, shown);
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
        write_lines(s->debug, r->plan, o->secret_headers, out);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        write_timing(phases_label(shown[i]), phases_hist(s, shown[i]), out);
    write_timing("total", snapshot_hist(s, HIST_UNCORRECTED), out);
    for (size_t i = 0; i < s->n_errors; i++)
        fprintf(out, "* %s\n", s->errors[i].text);
    for (size_t i = 0; i < r->verdict.n_reasons && !report_debug_answered(r); i++)
        fprintf(out, "* %s\n", r->verdict.reasons[i]);
    return ferror(out) ? ERR_SYSTEM : ERR_OK;
}

const struct report_format report_debug = {.name = "debug", .write = write_debug};

bool report_debug_answered(const struct result *r)
{
    struct counters c = snapshot_counters(r->total);
    return c.completed == 1 && c.unexpected == 0;
}
