/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "controller/report/dump_text.h"
#include "controller/report/figures.h"
#include "controller/report/report.h"
#include "controller/report/text.h"
#include "controller/report/timeline.h"
#include "controller/run/confidence.h"

#define ERRORS_SHOWN         5
#define INTERVAL             20 /* columns of a confidence interval: "999.99us..999.99ms" */
#define PERCENT(part, whole) ((whole) > 0 ? 100.0 * (double)(part) / (double)(whole) : 0.0)

struct text {
    FILE *out;
    const struct result *r;
    const struct report_options *o;
    struct counters c;
    bool closed;                          /* no due times */
    bool one_clock;                       /* from the send only */
    struct hist *corrected, *uncorrected; /* with one clock both are that one */
};

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* --- latency -----------------------------------------------------------------------------------
 */

struct latency_table {
    FILE *out;
    struct figures corrected, uncorrected;
    struct figures_all_due all;
    bool closed;    /* no due times */
    bool one_clock; /* the first column only, and it counts from the send */
    bool with_all;  /* the last column differs from the first */
    bool dim;
    size_t parts; /* that the intervals are made of */
    uint64_t part_ns;
    struct confidence first[FIGURES_PERCENTILES], second[FIGURES_PERCENTILES];
    struct text_row row;
};

static void cell(struct latency_table *l, const char *text, bool marked)
{
    text_cell(&l->row, 15, text, marked);
}

static void latency_cell(struct latency_table *l, uint64_t ns, bool marked)
{
    char text[UNITS_TEXT];
    cell(l, units_format_latency(ns, text), marked);
}

static void limit_cell(struct latency_table *l, uint64_t limit_ns, bool marked)
{
    char value[UNITS_TEXT], text[UNITS_TEXT + 4];
    snprintf(text, sizeof text, ">= %s", units_format_latency(limit_ns, value));
    cell(l, text, marked);
}

static void row_begin(struct latency_table *l, const char *name)
{
    l->row = (struct text_row){.out = l->out, .dim = l->dim};
    fprintf(l->out, "    %-7s", name);
}

/* "1.18..1.23ms": the unit once where it is the same. */
static void interval_cell(struct latency_table *l, const struct confidence *c)
{
    char lo[UNITS_TEXT], hi[UNITS_TEXT], text[2 * UNITS_TEXT + 4];
    units_format_latency(c->lo, lo);
    units_format_latency(c->hi, hi);
    size_t digits = strspn(lo, "0123456789.");
    if (strcmp(lo + digits, hi + strspn(hi, "0123456789.")) == 0 && c->has_hi)
        lo[digits] = '\0';
    if (c->lo == 0)
        snprintf(text, sizeof text, c->has_hi ? "<= %s" : "-", hi);
    else if (c->has_hi)
        snprintf(text, sizeof text, "%s..%s", lo, hi);
    else
        snprintf(text, sizeof text, ">= %s", lo);
    text_cell(&l->row, INTERVAL, text, false);
}

static void both_clocks(struct latency_table *l, uint64_t corrected, uint64_t uncorrected)
{
    latency_cell(l, corrected, false);
    if (!l->one_clock || l->with_all)
        text_cell(&l->row, INTERVAL, "", false);
    if (!l->one_clock)
        latency_cell(l, uncorrected, false);
}

static void row_percentile(struct latency_table *l, size_t i)
{
    char name[16];
    snprintf(name, sizeof name, "%s%%", figures_percentiles[i].key);
    row_begin(l, name);
    latency_cell(l, l->corrected.at[i], !l->first[i].supported);
    interval_cell(l, &l->first[i]);
    if (!l->one_clock)
        latency_cell(l, l->uncorrected.at[i], !l->second[i].supported);
    if (l->with_all && l->all.known[i])
        latency_cell(l, l->all.at[i], !l->all.supported[i]);
    else if (l->with_all)
        limit_cell(l, l->all.limit, !l->all.supported[i]);
    fputc('\n', l->out);
}

static void rows_of_table(struct latency_table *l)
{
    row_begin(l, "min");
    both_clocks(l, l->corrected.min, l->uncorrected.min);
    if (l->with_all)
        latency_cell(l, l->corrected.min, false);
    fputc('\n', l->out);
    row_begin(l, "mean");
    both_clocks(l, (uint64_t)(l->corrected.mean + 0.5), (uint64_t)(l->uncorrected.mean + 0.5));
    if (l->with_all)
        cell(l, "-", false);
    fputc('\n', l->out);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++)
        row_percentile(l, i);
    row_begin(l, "max");
    both_clocks(l, l->corrected.max, l->uncorrected.max);
    if (l->with_all)
        limit_cell(l, l->all.limit, false);
    fputc('\n', l->out);
}

static void note(FILE *out, const char *sentence)
{
    struct text_flow f = text_begin_at(out, TEXT_NOTE);
    text_words(&f, sentence);
    text_end(&f);
}

/* What the marks say. */
static void note_samples(const struct latency_table *l)
{
    struct text_flow f = {0};
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        const struct confidence *c = &l->first[i];
        if (c->supported)
            continue;
        if (f.out != NULL) {
            text_item(&f, ", ", "%s%% %" PRIu64, figures_percentiles[i].key, c->needed);
            continue;
        }
        f = text_begin_at(l->out, TEXT_NOTE);
        text_item(&f, "", "~ too few samples (%" PRIu64 "): %s%% needs %" PRIu64,
                  l->corrected.count, figures_percentiles[i].key, c->needed);
    }
    if (f.out != NULL)
        text_end(&f);
}

/* What the intervals are made of, and how many independent events a tail has. */
static void note_confidence(const struct latency_table *l)
{
    struct text_flow f = text_begin_at(l->out, TEXT_NOTE);
    char length[UNITS_TEXT];
    if (l->first[0].method == CONFIDENCE_INDEPENDENT)
        text_words(&f, "95 % CI: as if no request depended on another (the run is too short to "
                       "see bursts)");
    else
        text_item(&f, "", "95 %% CI: by %zu parts of %s%s", l->parts,
                  units_format_duration(timeline_rounded(l->part_ns), length),
                  l->first[0].method == CONFIDENCE_SHORT_BLOCKS ? " (a short run: a rough one)"
                                                                : "");
    const char *glue = "; ";
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        if (figures_percentiles[i].p < 99 || l->first[i].tail_events < 0.05)
            continue;
        text_item(&f, glue, glue[0] == ';' ? "tail events: %s%% %.*f" : "%s%% %.*f",
                  figures_percentiles[i].key, l->first[i].tail_events < 10 ? 1 : 0,
                  l->first[i].tail_events);
        glue = ", ";
    }
    text_end(&f);
}

static void notes_of_table(const struct latency_table *l)
{
    note(l->out,
         l->closed ? "latency: from the send; a closed loop has no due times, so nothing "
                     "is corrected for waiting"
         : l->one_clock
             ? "latency: from the send (--closed-loop); what a request waited "
               "before it is left out"
             : "corrected: from when a request was due; uncorrected: from when it was sent");
    if (l->with_all) {
        char text[160];
        snprintf(text, sizeof text,
                 "all due: as the first column, but the %" PRIu64 " of %" PRIu64
                 " requests that never completed count as slowest",
                 l->all.incomplete, l->all.count);
        note(l->out, text);
    }
    note_confidence(l);
    note_samples(l);
}

static void trust(struct latency_table *l, const struct text *t)
{
    enum blocks_clock main = t->one_clock ? BLOCKS_UNCORRECTED : BLOCKS_CORRECTED;
    struct confidence_run *first = confidence_new(t->r->blocks, main);
    struct confidence_run *second = confidence_new(t->r->blocks, BLOCKS_UNCORRECTED);
    for (size_t i = 0; i < FIGURES_PERCENTILES; i++) {
        l->first[i] = confidence_at(first, t->corrected, figures_percentiles[i].p);
        l->second[i] = confidence_at(second, t->uncorrected, figures_percentiles[i].p);
    }
    l->parts = confidence_parts(first);
    l->part_ns = confidence_part_ns(first);
    confidence_free(first);
    confidence_free(second);
}

static void write_latency(const struct text *t)
{
    fputc('\n', t->out);
    struct latency_table l = {.out = t->out,
                              .closed = t->closed,
                              .one_clock = t->one_clock,
                              .dim = t->o->colour && isatty(fileno(t->out)),
                              .corrected = figures_of(t->corrected),
                              .uncorrected = figures_of(t->uncorrected),
                              .all = figures_all_due(t->r->total, t->corrected)};
    if (l.corrected.count == 0) {
        text_label(t->out, "Latency");
        fprintf(t->out, "nothing to show: no request completed\n\n");
        return;
    }
    l.with_all = l.all.incomplete > 0 && !result_is_window(t->r);
    trust(&l, t);
    fprintf(t->out, "  %-9s%15s%*s", "Latency", t->one_clock ? "latency" : "corrected", INTERVAL,
            "95 % CI");
    if (!t->one_clock)
        fprintf(t->out, "%15s", "uncorrected");
    fprintf(t->out, l.with_all ? "%15s\n" : "\n", "all due");
    rows_of_table(&l);
    notes_of_table(&l);
    fputc('\n', t->out);
    if (t->o->spectrum)
        text_spectrum(t->out, t->r);
}

static void write_head(const struct text *t)
{
    text_head(t->out, t->r, t->o);
}

static void write_timeline(const struct text *t)
{
    text_timeline(t->out, t->r, t->o);
}

static void write_slices(const struct text *t)
{
    text_slices(t->out, t->r, SLICE_STAGE);
    text_slices(t->out, t->r, SLICE_NAME);
    text_warmup(t->out, t->r);
}

static void write_peers(const struct text *t)
{
    if (!t->o->spectrum)
        return;
    text_phases(t->out, t->r);
    text_peers(t->out, t->r);
}

/* --- what was counted --------------------------------------------------------------------------
 */

struct named_count {
    const char *name;
    uint64_t n;
};

static void counts(FILE *out, const char *label, const char *glue, const struct named_count *all,
                   size_t n)
{
    struct text_flow f = text_begin(out, label);
    for (size_t i = 0; i < n; i++)
        text_item(&f, i == 0 ? "" : glue, "%s %" PRIu64, all[i].name, all[i].n);
    text_end(&f);
}

static void write_ledger(const struct text *t)
{
    const struct counters *c = &t->c;
    char took[UNITS_TEXT], bytes[UNITS_TEXT];
    fprintf(t->out, "  %" PRIu64 " request%s in %s", c->completed, plural(c->completed),
            figures_measured_ns(t->r) > 0 ? units_format_latency(figures_measured_ns(t->r), took)
                                          : "0s");
    if (!result_is_row(t->r))
        fprintf(t->out, ", %s read", units_format_bytes((double)c->bytes_in, bytes));
    fputc('\n', t->out);
    if (result_is_window(t->r)) {
        text_counted(t->out, c);
        return;
    }
    const struct named_count scheduled[] = {
        {"scheduled", c->scheduled}, {"= sent", c->sent}, {"+ unsent", counters_unsent(c)}};
    const struct named_count sent[] = {{"sent", c->sent},
                                       {"= completed", c->completed},
                                       {"+ failed", counters_failed(c)},
                                       {"+ timeouts", c->timeouts},
                                       {"+ unfinished", c->unfinished}};
    const struct named_count completed[] = {
        {"completed", c->completed}, {"= ok", c->ok}, {"+ HTTP errors", c->http_errors}};
    const struct named_count unsent[] = {{"no free connection", c->unsent_no_connection},
                                         {"run stopped first", c->unsent_stopped},
                                         {"dropped", c->unsent_dropped}};
    counts(t->out, "Ledger", " ", scheduled, 3);
    counts(t->out, "", " ", sent, 5);
    counts(t->out, "", " ", completed, 3);
    if (counters_unsent(c) > 0)
        counts(t->out, "Unsent", ", ", unsent, 3);
    if (!t->r->view.partial)
        text_check(t->out, t->r);
}

static void write_rates(const struct text *t)
{
    double achieved = figures_achieved(t->r), target = figures_target(t->r);
    char text[UNITS_TEXT];
    text_label(t->out, "Requests/sec");
    fprintf(t->out, achieved > 0 && achieved < 1 ? "%.6g   (" : "%.2f   (", achieved);
    if (target > 0)
        fprintf(t->out, "target %.6g, %.2f %%; ", target, 100 * achieved / target);
    uint64_t of = result_is_window(t->r) ? t->c.completed : t->c.scheduled;
    fprintf(t->out, "success %.4g %%)\n", PERCENT(t->c.ok, of));
    if (result_is_row(t->r))
        return;
    uint64_t elapsed = figures_measured_ns(t->r);
    double bytes = elapsed > 0 ? (double)t->c.bytes_in * (double)NS_PER_SEC / (double)elapsed : 0;
    text_label(t->out, "Transfer/sec");
    fprintf(t->out, "%s\n", units_format_bytes(bytes, text));
}

static void write_socket_errors(const struct text *t)
{
    const struct counters *c = &t->c;
    struct text_flow f = text_begin(t->out, "Socket errors");
    text_item(&f, "", "connect %" PRIu64, c->connect_errors);
    text_item(&f, ", ", "read %" PRIu64, c->failed_read);
    text_item(&f, ", ", "write %" PRIu64, c->failed_write);
    text_item(&f, ", ", "timeout %" PRIu64, c->timeouts);
    if (c->failed_protocol > 0)
        text_item(&f, ", ", "protocol %" PRIu64, c->failed_protocol);
    if (c->failed_connect > 0)
        text_item(&f, ", ", "own connection %" PRIu64, c->failed_connect);
    if (c->failed_tls > 0)
        text_item(&f, ", ", "tls %" PRIu64, c->failed_tls);
    if (c->retries > 0)
        text_item(&f, "; ", "retries %" PRIu64, c->retries);
    text_end(&f);
    if (counters_faults(c) > 0) {
        const struct named_count faults[] = {{"descriptors", c->fault_fd_limit},
                                             {"local ports", c->fault_ports},
                                             {"kernel memory", c->fault_memory}};
        counts(t->out, "Generator faults", ", ", faults, 3);
    }
    if (c->saturated > 0) {
        text_label(t->out, "Saturated");
        fprintf(t->out, "%" PRIu64 " latencies above one hour are recorded as one hour\n",
                c->saturated);
    }
}

static void write_traffic(const struct text *t)
{
    text_traffic(t->out, t->r, t->o, &t->c);
}

static void write_tls(const struct text *t)
{
    text_tls(t->out, t->r, &t->c);
}

static void write_status(const struct text *t)
{
    struct text_flow f = text_begin(t->out, "Status codes");
    for (int code = SNAPSHOT_STATUS_MIN; code <= SNAPSHOT_STATUS_MAX; code++)
        if (t->r->total->status[code] > 0)
            text_item(&f, ", ", "%d: %" PRIu64, code, t->r->total->status[code]);
    if (f.items == 0)
        text_item(&f, "", "none");
    text_end(&f);
}

/* Rows of the total, most frequent first; equal counts keep the order by text. */
static size_t sorted_errors(const struct snapshot *s, const struct error_row **rows)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_errors; i++) {
        size_t at = n++;
        while (at > 0 && rows[at - 1]->count < s->errors[i].count) {
            rows[at] = rows[at - 1];
            at--;
        }
        rows[at] = &s->errors[i];
    }
    return n;
}

static void write_errors(const struct text *t)
{
    const struct snapshot *s = t->r->total;
    const struct error_row *rows[SNAPSHOT_ERRORS_MAX];
    size_t n = sorted_errors(s, rows);
    size_t shown = t->o->verbose || n < ERRORS_SHOWN ? n : ERRORS_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        struct text_flow f = text_begin(t->out, i == 0 ? "Errors" : "");
        text_item(&f, "", "%" PRIu64 " x", rows[i]->count);
        text_words(&f, rows[i]->text);
        text_end(&f);
    }
    if (n == 0) {
        text_label(t->out, "Errors");
        fprintf(t->out, "none\n");
    }
    if (shown < n) {
        text_label(t->out, "");
        fprintf(t->out, "and %zu other text%s (all with -v)\n", n - shown, plural(n - shown));
    }
    if (s->errors_other > 0) {
        text_label(t->out, "");
        fprintf(t->out, "%" PRIu64 " x other texts, not kept\n", s->errors_other);
    }
}

/* --- whose delay it was ------------------------------------------------------------------------
 */

#define LAG_LABEL  16
#define LAG_COLUMN 9

struct lag {
    const char *label, *whose, *what; /* what: those that were delayed */
    enum hist_kind kind;
    uint64_t count;
};

static void write_lag(const struct text *t, const struct lag *l)
{
    struct hist *h = snapshot_hist(t->r->total, l->kind);
    struct figures f = figures_of(h);
    struct text_row row = {.out = t->out};
    fprintf(t->out, "  %-*s", LAG_LABEL, l->label);
    if (f.count > 0) {
        text_cell_latency(&row, LAG_COLUMN, (uint64_t)(f.mean + 0.5), false);
        text_cell_latency(&row, LAG_COLUMN, figures_at(h, 99), false);
        text_cell_latency(&row, LAG_COLUMN, f.max, false);
        fprintf(t->out, "  %s", l->whose);
        if (l->what != NULL)
            fprintf(t->out, "; %" PRIu64 " %s", l->count, l->what);
        fputc('\n', t->out);
    } else {
        bool unknown = l->kind == HIST_RECEIVE && t->c.handshakes > 0;
        fprintf(t->out, "%*s\n", unknown ? 2 * LAG_COLUMN : LAG_COLUMN,
                unknown ? "not known in TLS" : "none");
    }
    hist_free(h);
}

/* Beyond what was asked for. */
static void write_late(const struct result *r, char *text, size_t size)
{
    uint64_t asked_ns = r->plan != NULL ? r->plan->dispatch_quantum_ns : 0;
    char bound[UNITS_TEXT];
    snprintf(text, size, "over %s late", units_format_duration(NS_PER_MS + asked_ns, bound));
}

/* A closed loop owes nothing to a schedule: what was read late is all there is to say. */
static void write_lags(const struct text *t)
{
    char late[UNITS_TEXT + 16];
    write_late(t->r, late, sizeof late);
    const struct lag lags[] = {
        {"Send lag", "hammer's", late, HIST_SEND_LAG, t->c.late},
        {"Receive lag", "hammer's", NULL, HIST_RECEIVE, 0},
        {"Connection wait", "the server's", "waited", HIST_WAIT, t->c.waited},
    };
    fprintf(t->out, "\n  %-*s%*s%*s%*s\n", LAG_LABEL, "Delays", LAG_COLUMN, "mean", LAG_COLUMN,
            "99%", LAG_COLUMN, "max");
    for (size_t i = t->closed ? 1 : 0; i < (t->closed ? 2 : 3); i++)
        write_lag(t, &lags[i]);
}

/* --- what it is worth --------------------------------------------------------------------------
 */

static void write_agents(const struct text *t)
{
    fputc('\n', t->out);
    text_agents(t->out, t->r);
    fputc('\n', t->out);
    text_losses(t->out, t->r);
    text_stalls(t->out, t->r);
}

static void write_verdict(const struct text *t)
{
    text_verdict(t->out, t->r, &t->c);
}

static void write_dump(const struct text *t)
{
    char text[DUMP_TEXT_LINE];
    if (t->r->dump.file == NULL)
        return;
    dump_text(&t->r->dump, text, sizeof text);
    struct text_flow f = text_begin(t->out, "Requests dump");
    text_words(&f, text);
    text_end(&f);
}

static void write_nothing(const struct text *t)
{
    if (t->r->view.partial) {
        fprintf(t->out, "\n  Nothing was measured in this part.\n");
        return;
    }
    if (t->r->warmup != NULL && snapshot_counters(t->r->warmup).scheduled > 0) {
        fputc('\n', t->out);
        text_warmup(t->out, t->r);
        fprintf(t->out, "  Nothing was measured: the run ended within its warm-up.\n");
        return;
    }
    fprintf(t->out, "\n  Nothing was sent: the run ended before its first request was due.\n");
}

static void write_row_note(const struct text *t)
{
    text_row_note(t->out);
}

struct sections {
    void (*const *write)(const struct text *);
    size_t n;
};

static struct sections sections_for(const struct text *t)
{
    const struct counters *c = &t->c;
    static void (*const all[])(const struct text *) = {
        write_head,  write_latency,       write_timeline, write_slices,  write_peers,  write_ledger,
        write_rates, write_socket_errors, write_tls,      write_traffic, write_status, write_errors,
        write_dump,  write_lags,          write_agents,   write_verdict,
    };
    static void (*const nothing[])(const struct text *) = {write_head, write_nothing, write_dump,
                                                           write_agents, write_verdict};
    static void (*const rows[])(const struct text *) = {
        write_head,  write_latency,  write_timeline, write_slices, write_ledger,
        write_rates, write_row_note, write_agents,   write_verdict};
    if (c->scheduled == 0 && c->completed == 0)
        return (struct sections){nothing, sizeof nothing / sizeof nothing[0]};
    if (result_is_row(t->r))
        return (struct sections){rows, sizeof rows / sizeof rows[0]};
    return (struct sections){all, sizeof all / sizeof all[0]};
}

static enum err write_text(const struct result *r, const struct report_options *o, FILE *out)
{
    struct text t = {.out = out, .r = r, .o = o, .c = snapshot_counters(r->total)};
    t.closed = figures_closed_loop(r);
    t.one_clock = result_one_clock(r);
    t.corrected = figures_main_hist(r, r->total);
    t.uncorrected = snapshot_hist(r->total, HIST_UNCORRECTED);
    struct sections s = sections_for(&t);
    for (size_t i = 0; i < s.n; i++)
        s.write[i](&t);
    hist_free(t.corrected);
    hist_free(t.uncorrected);
    return fflush(out) == 0 && !ferror(out) ? ERR_OK : ERR_SYSTEM;
}

const struct report_format report_text = {
    .name = "text", .suffix = ".txt", .text = "for the eye", .write = write_text};
