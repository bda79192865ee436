/* SPDX-License-Identifier: MIT */
#include "proto/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

#define DURATION_DEFAULT (10 * NS_PER_SEC)
#define TIMEOUT_DEFAULT  (2 * NS_PER_SEC)
#define INTERVAL_DEFAULT (1 * NS_PER_SEC)
#define HOUR_NS          (3600 * NS_PER_SEC)

#define AT(member)         .offset = offsetof(struct plan, member), .set_offset = OPTION_NO_SET
#define AT_SET(member)     .offset = offsetof(struct plan, member), .set_offset = SET_OFFSET(member)
#define SET_OFFSET(member) offsetof(struct plan, member##_set)

static enum err parse_quantum(const struct option_row *row, const char *value, void *target,
                              struct errmsg *msg)
{
    (void)row, (void)msg; /* the row says what is accepted */
    uint64_t ns;
    enum err e = units_parse_duration(value, NS_PER_US, &ns, NULL);
    if (e == ERR_OK && ns != 0 && (ns < PLAN_QUANTUM_MIN || ns > PLAN_QUANTUM_MAX))
        e = ERR_RANGE;
    if (e == ERR_OK)
        ((struct plan *)target)->dispatch_quantum_ns = ns;
    return e;
}

static enum err parse_spin(const struct option_row *row, const char *value, void *target,
                           struct errmsg *msg)
{
    uint64_t *spin_ns = &((struct plan *)target)->spin_ns;
    if (strcmp(value, "auto") == 0) {
        *spin_ns = PLAN_SPIN_AUTO;
        return ERR_OK;
    }
    (void)row, (void)msg; /* the row says what is accepted */
    uint64_t ns;
    enum err e = units_parse_duration(value, NS_PER_US, &ns, NULL);
    if (e == ERR_OK && ns > PLAN_SPIN_MAX)
        e = ERR_RANGE;
    if (e == ERR_OK)
        *spin_ns = ns;
    return e;
}

/* A row with a set_offset may be left out: plan_validate then accepts its member's "not given". */
static const struct option_row rows[] = {
    {.name = "rate",
     .aliases = "-r -R --qps --rps",
     .type = OPTION_RATE,
     .offset = offsetof(struct plan, rate),
     .set_offset = offsetof(struct plan, rate_set),
     .meta = "RATE",
     .text = "requests per second over all agents: 2000, 1.5k, 0.1, 100/s, 6/m, 1/h; default: "
             "closed loop at full speed"},
    {.name = "duration",
     .aliases = "-d -z",
     .type = OPTION_DURATION,
     .offset = offsetof(struct plan, duration_ns),
     .set_offset = offsetof(struct plan, duration_set),
     .min = NS_PER_MS,
     .max = 365 * 24 * HOUR_NS,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "send what is due in this time: 10, 500ms, 1h30m; a bare number is seconds (default: "
             "10s, no limit with -n)"},
    {.name = "requests",
     .aliases = "-n",
     .type = OPTION_COUNT,
     .offset = offsetof(struct plan, requests),
     .set_offset = offsetof(struct plan, requests_set),
     .min = 1,
     .max = UINT64_C(1000000000000),
     .meta = "N",
     .text = "send this many requests over all agents; with -d the first to be reached ends the "
             "run (default: no limit)"},
    {.name = "forever",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(forever),
     .text = "no end: run until stopped"},
    {.name = "connections",
     .aliases = "-c",
     .type = OPTION_U32,
     AT_SET(connections),
     .min = 1,
     .max = PLAN_CONNECTIONS_MAX,
     .meta = "N",
     .text = "connections over all agents (default: 50, or one a thread if that is more)"},
    {.name = "threads",
     .aliases = "-t",
     .type = OPTION_U32,
     AT_SET(threads),
     .min = 1,
     .max = PLAN_THREADS_MAX,
     .meta = "N",
     .text = "threads of each agent (default: the agent's cores, at most 4)"},
    {.name = "method",
     .aliases = "-m -X",
     .type = OPTION_STRING,
     AT(method),
     .accepted = "a method such as GET or POST: a token of RFC 9110 section 5.6.2, at most 32 "
                 "characters",
     .meta = "METHOD",
     .text = "request method (default: GET, or POST when --data or --body is given)"},
    {.name = "header",
     .aliases = "-H",
     .type = OPTION_LIST,
     AT(headers),
     .accepted = "NAME: VALUE",
     .meta = "'NAME: VALUE'",
     .text = "add a header; replaces the default header of that name; may be repeated"},
    {.name = "data",
     .aliases = "",
     .type = OPTION_STRING,
     AT(data),
     .accepted = "a text of at most 4 MiB",
     .meta = "TEXT",
     .text = "request body"},
    {.name = "body",
     .aliases = "",
     .type = OPTION_STRING,
     AT(body_file),
     .accepted = "a readable regular file of at most 4 MiB",
     .meta = "FILE",
     .text = "request body from a file"},
    {.name = "timeout",
     .aliases = "-T",
     .type = OPTION_DURATION,
     AT(timeout_ns),
     .min = NS_PER_MS,
     .max = HOUR_NS,
     .bare_unit = NS_PER_MS,
     .meta = "TIME",
     .text = "time for a response, counted from the send; a bare number is milliseconds (default: "
             "2000ms)"},
    {.name = "interval",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(interval_ns),
     .min = 100 * NS_PER_MS,
     .max = 10 * NS_PER_SEC,
     .meta = "TIME",
     .text = "time between two snapshots of an agent, 100ms to 10s (default: 1s)"},
    {.name = "spin",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(spin_ns),
     .parse = parse_spin,
     .accepted = "auto, 0, or a time of at most 1s such as 50us; a bare number is microseconds",
     .meta = "TIME",
     .text = "wake up so long before a request is due and read the clock for the rest; auto costs "
             "at most 5 % of a core, a time up to a whole one, 0 never spins (default: auto)"},
    {.name = "dispatch-quantum",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(dispatch_quantum_ns),
     .parse = parse_quantum,
     .accepted = "0, or a time from 50us to 1ms; a bare number is microseconds",
     .meta = "TIME",
     .text =
         "send what is due only at multiples of this time, 50us to 1ms, several requests in one "
         "wake-up: less CPU time, less exact; at most connections / (2 * rate); 0 sends each at "
         "its own instant (default: 0)"},
};

#define N_ROWS (sizeof rows / sizeof rows[0])

const struct option_row *plan_options(size_t *n)
{
    *n = N_ROWS;
    return rows;
}

void plan_defaults(struct plan *p)
{
    *p = (struct plan){
        .rate = {.num = 0, .den = 1},
        .duration_ns = NS_NEVER,
        .requests = UINT64_MAX,
        .timeout_ns = TIMEOUT_DEFAULT,
        .interval_ns = INTERVAL_DEFAULT,
        .spin_ns = PLAN_SPIN_AUTO,
    };
}

/* --- the body --- */

static void set_body(struct plan *p, uint8_t *owned, size_t len)
{
    mem_free(p->body);
    p->body = owned;
    p->body_len = len;
}

static enum err refuse_file(const char *path, const char *why, const char *detail,
                            struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    const struct option_row *row = option_find(rows, N_ROWS, "body");
    return errmsg_set(msg, ERR_INVALID, "--body %s: %s%s; accepted is %s",
                      units_format_shown(path, shown), why, detail, row->accepted);
}

/* At most `max` bytes; *len == max says that there may be more. */
static enum err read_bytes(int fd, uint8_t *buf, size_t max, size_t *len)
{
    *len = 0;
    while (*len < max) {
        ssize_t n = read(fd, buf + *len, max - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_SYSTEM;
        if (n == 0)
            break;
        *len += (size_t)n;
    }
    return ERR_OK;
}

static enum err read_body(struct plan *p, int fd, struct errmsg *msg)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return refuse_file(p->body_file, "cannot be read: ", strerror(errno), msg);
    if (!S_ISREG(st.st_mode))
        return refuse_file(p->body_file, "not a regular file", "", msg);
    size_t len, max = PLAN_BODY_MAX + 1;
    uint8_t *bytes = mem_calloc(max, 1);
    enum err e = read_bytes(fd, bytes, max, &len);
    if (e != ERR_OK)
        e = refuse_file(p->body_file, "cannot be read: ", strerror(errno), msg);
    else if (len == max)
        e = refuse_file(p->body_file, "too big", "", msg);
    else
        set_body(p, mem_dup(bytes, len), len);
    mem_free(bytes);
    return e;
}

static enum err load_body(struct plan *p, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    if (p->data != NULL && p->body_file != NULL)
        return errmsg_set(msg, ERR_INVALID, "--data with --body %s: accepted is one of the two",
                          units_format_shown(p->body_file, shown));
    if (p->data != NULL)
        set_body(p, mem_dup(p->data, strlen(p->data)), strlen(p->data));
    if (p->body_file == NULL)
        return ERR_OK;
    /* O_NONBLOCK: a FIFO without a writer must not hang the command; fstat then refuses it. */
    int fd = open(p->body_file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return refuse_file(p->body_file, "cannot be opened: ", strerror(errno), msg);
    enum err e = read_body(p, fd, msg);
    close(fd);
    return e;
}

enum err plan_check(struct plan *p, struct errmsg *msg)
{
    enum err e = load_body(p, msg);
    if (e != ERR_OK)
        return e;
    if (p->method == NULL)
        p->method = mem_strdup(p->body != NULL ? "POST" : "GET");
    if (!p->forever && p->duration_ns == NS_NEVER && p->requests == UINT64_MAX)
        p->duration_ns = DURATION_DEFAULT;
    return plan_validate(p, msg);
}

/* --- ownership --- */

void plan_clear(struct plan *p)
{
    option_clear(rows, N_ROWS, p);
    mem_free(p->url);
    mem_free(p->body);
    memset(p, 0, sizeof *p);
}

enum err plan_copy(struct plan *to, const struct plan *from)
{
    *to = *from;
    to->url = mem_strdup(from->url);
    to->method = mem_strdup(from->method);
    to->data = mem_strdup(from->data);
    to->body_file = mem_strdup(from->body_file);
    to->body = mem_dup(from->body, from->body_len);
    to->headers = (struct option_list){0};
    for (size_t i = 0; i < from->headers.n; i++)
        option_list_add(&to->headers, from->headers.items[i]);
    return ERR_OK;
}
