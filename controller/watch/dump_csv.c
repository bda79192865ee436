/* SPDX-License-Identifier: MIT */
#include "controller/watch/dump_csv.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/msg.h"
#include "proto/snapshot.h"

#define SECOND_DIGITS 9
#define NUMBER_TEXT   20

void dump_csv_init(struct dump_csv *c, const struct plan *p)
{
    *c = (struct dump_csv){.one_clock = p->rate.num == 0 || p->closed_loop,
                           .n_names = plan_request_count(p)};
    c->names = mem_calloc(c->n_names, sizeof *c->names);
    for (size_t i = 0; i < c->n_names; i++) {
        struct plan_request r;
        plan_request_at(p, i, &r);
        c->names[i] = mem_strdup(r.name);
    }
}

void dump_csv_clear(struct dump_csv *c)
{
    for (size_t i = 0; i < c->n_names; i++)
        mem_free(c->names[i]);
    mem_free(c->names);
    *c = (struct dump_csv){0};
}

const char *dump_csv_header(void)
{
    return "index,agent,stage,request,due_s,sent_s,end_s,corrected_ns,uncorrected_ns,status,bytes,"
           "outcome,error\n";
}

/* --- fields; each returns where the next one begins ------------------------------------------- */

static char *put_number(char *to, uint64_t v)
{
    char digits[NUMBER_TEXT];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

/* Exact, to the nanosecond. */
static char *put_seconds(char *to, uint64_t ns)
{
    to = put_number(to, ns / NS_PER_SEC);
    *to++ = '.';
    uint64_t rest = ns % NS_PER_SEC;
    for (size_t i = SECOND_DIGITS; i > 0; i--) {
        to[i - 1] = (char)('0' + rest % 10);
        rest /= 10;
    }
    return to + SECOND_DIGITS;
}

static char *put_plain(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len);
    return to + len;
}

/* In quotes only where it must be. */
static char *put_text(char *to, const char *text)
{
    if (strpbrk(text, "\",\r\n") == NULL)
        return put_plain(to, text);
    *to++ = '"';
    for (; *text != '\0'; text++) {
        if (*text == '"')
            *to++ = '"';
        *to++ = *text;
    }
    *to++ = '"';
    return to;
}

static char *put_request(char *to, const struct dump_csv *c, uint32_t request)
{
    char number[NUMBER_TEXT];
    const char *name = request < c->n_names ? c->names[request] : "";
    if (name[0] != '\0' || c->n_names <= 1)
        return put_text(to, name);
    snprintf(number, sizeof number, "#%u", (unsigned)request + 1);
    return put_plain(to, number);
}

static char *put_latencies(char *to, const struct dump_csv *c, const struct dump_row *row)
{
    bool complete = dump_was_completed(row->outcome);
    if (complete && !c->one_clock)
        to = put_number(to, clock_elapsed(row->due_ns, row->done_ns));
    *to++ = ',';
    if (complete)
        to = put_number(to, clock_elapsed(row->sent_ns, row->done_ns));
    *to++ = ',';
    if (complete)
        to = put_number(to, row->status);
    *to++ = ',';
    return to;
}

static char *put_times(char *to, const struct dump_row *row)
{
    bool sent = dump_was_sent(row->outcome);
    to = put_seconds(to, row->due_ns);
    *to++ = ',';
    if (sent)
        to = put_seconds(to, row->sent_ns);
    *to++ = ',';
    if (sent)
        to = put_seconds(to, row->done_ns);
    *to++ = ',';
    return to;
}

static char *put_error(char *to, const struct dump_row *row)
{
    char text[DUMP_TEXT];
    if (row->error == NULL)
        return to;
    size_t len = row->text < sizeof text ? row->text : sizeof text - 1;
    memcpy(text, row->error, len);
    text[len] = '\0';
    msg_sanitise(text);
    return put_text(to, text);
}

size_t dump_csv_line(const struct dump_csv *c, const char *agent, const struct dump_row *row,
                     char buf[DUMP_CSV_LINE])
{
    char *to = put_number(buf, row->index);
    *to++ = ',';
    to = put_text(to, agent);
    *to++ = ',';
    to = row->stage == SERIES_STAGE_WARMUP ? put_plain(to, "warmup") : put_number(to, row->stage);
    *to++ = ',';
    to = put_request(to, c, row->request);
    *to++ = ',';
    to = put_times(to, row);
    to = put_latencies(to, c, row);
    if (dump_was_sent(row->outcome))
        to = put_number(to, row->bytes);
    *to++ = ',';
    to = put_plain(to, dump_outcome_name(row->outcome));
    *to++ = ',';
    to = put_error(to, row);
    *to++ = '\n';
    return (size_t)(to - buf);
}
