/* SPDX-License-Identifier: MIT */
#include "tests/target/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define HOUR_NS   (3600 * NS_PER_SEC)
#define BODY_MAX  (UINT64_C(16) << 20)
#define COUNT_MAX (UINT64_MAX >> 1)

/* A parser gets the member and the text; false = not acceptable. */
typedef bool parse_fn(const char *text, void *member);

static bool parse_number(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    if (*text == '\0')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (n > (max - (uint64_t)(*text - '0')) / 10)
            return false;
        n = n * 10 + (uint64_t)(*text - '0');
    }
    *out = n;
    return *text == '\0' && n <= max;
}

/* A non-negative decimal number; `rest` is what follows it. */
static bool parse_decimal(const char *text, double *value, const char **rest)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtod(text, &end);
    *rest = end;
    return true;
}

static bool parse_duration_ns(const char *text, uint64_t *out)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"us", NS_PER_US}, {"ms", NS_PER_MS}, {"s", NS_PER_SEC}, {"m", 60 * NS_PER_SEC}};
    double value;
    const char *rest;
    if (!parse_decimal(text, &value, &rest))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(rest, units[i].name) != 0)
            continue;
        double ns = value * (double)units[i].ns;
        *out = ns <= (double)HOUR_NS ? (uint64_t)(ns + 0.5) : UINT64_MAX;
        return *out <= HOUR_NS;
    }
    return false;
}

/* "1%:" in front of `*text`, which moves behind it. More than 100 % and nothing are refused. */
static bool parse_share(const char **text, uint32_t *ppm)
{
    double percent;
    const char *rest;
    if (!parse_decimal(*text, &percent, &rest) || percent > 100 || strncmp(rest, "%:", 2) != 0)
        return false;
    *ppm = (uint32_t)(percent * 10000 + 0.5);
    *text = rest + 2;
    return *ppm > 0;
}

static bool parse_duration(const char *text, void *member)
{
    return parse_duration_ns(text, member);
}

static bool parse_count(const char *text, void *member)
{
    return parse_number(text, COUNT_MAX, member);
}

static bool parse_positive(const char *text, void *member)
{
    return parse_number(text, COUNT_MAX, member) && *(uint64_t *)member > 0;
}

static bool parse_body_size(const char *text, void *member)
{
    return parse_number(text, BODY_MAX, member);
}

static bool parse_text(const char *text, void *member)
{
    *(const char **)member = text;
    return *text != '\0';
}

static bool parse_listen(const char *text, void *member)
{
    return httpd_address_parse(text, member, NULL) == ERR_OK;
}

static bool parse_slow(const char *text, void *options)
{
    struct httpd_options *o = options;
    return parse_share(&text, &o->slow_ppm) && parse_duration_ns(text, &o->slow_ns);
}

static bool parse_status(const char *text, void *options)
{
    struct httpd_options *o = options;
    uint64_t status;
    o->status_ppm = HTTPD_EACH;
    if (strchr(text, '%') != NULL && !parse_share(&text, &o->status_ppm))
        return false;
    if (!parse_number(text, 599, &status) || status < 200)
        return false;
    o->status = (uint32_t)status;
    return true;
}

/* parse == NULL: a flag without a value, member is a bool. */
static const struct row {
    const char *name;
    parse_fn *parse;
    size_t offset;
    const char *accepted;
} rows[] = {
    {"--listen", parse_listen, offsetof(struct httpd_options, listen),
     "127.0.0.1:PORT or [::1]:PORT (loopback only)"},
    {"--port-file", parse_text, offsetof(struct httpd_options, port_file), "a file name"},
    {"--log", parse_text, offsetof(struct httpd_options, log_file), "a file name"},
    {"--pause", parse_duration, offsetof(struct httpd_options, pause_ns), "0us to 60m"},
    {"--every", parse_positive, offsetof(struct httpd_options, every), "a whole number from 1"},
    {"--freeze-at", parse_duration, offsetof(struct httpd_options, freeze_at_ns), "0us to 60m"},
    {"--freeze-for", parse_duration, offsetof(struct httpd_options, freeze_for_ns), "0us to 60m"},
    {"--delay", parse_duration, offsetof(struct httpd_options, delay_ns), "0us to 60m"},
    {"--slow", parse_slow, 0, "SHARE%:DURATION, e.g. 1%:100ms"},
    {"--status", parse_status, 0, "200 to 599, or SHARE%:STATUS, e.g. 10%:503"},
    {"--close-every", parse_positive, offsetof(struct httpd_options, close_every),
     "a whole number from 1"},
    {"--announce-close", NULL, offsetof(struct httpd_options, announce_close), ""},
    {"--body-size", parse_body_size, offsetof(struct httpd_options, body_size),
     "bytes from 0 to 16777216"},
    {"--chunked", NULL, offsetof(struct httpd_options, chunked), ""},
    {"--requests", parse_count, offsetof(struct httpd_options, requests),
     "a whole number, 0 = no limit"},
    {"--lifetime", parse_duration, offsetof(struct httpd_options, lifetime_ns), "0us to 60m"},
    {"--help", NULL, offsetof(struct httpd_options, help), ""},
};

static const struct row *find_row(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
            return &rows[i];
    return NULL;
}

/* Takes argv[*i] and, unless it is written --flag=value or needs none, the value behind it. */
static enum err take(int argc, char *const *argv, int *i, struct httpd_options *o,
                     struct errmsg *msg)
{
    const char *arg = argv[*i];
    const char *equals = strchr(arg, '=');
    size_t len = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
    const struct row *row = find_row(arg, len);
    if (row == NULL)
        return errmsg_set(msg, ERR_INVALID, "%s: unknown argument; see --help", arg);
    void *member = (char *)o + row->offset;
    if (row->parse == NULL) {
        if (equals != NULL)
            return errmsg_set(msg, ERR_INVALID, "%s: takes no value", arg);
        *(bool *)member = true;
        return ERR_OK;
    }
    if (equals == NULL && *i + 1 >= argc)
        return errmsg_set(msg, ERR_INVALID, "%s: a value is missing; accepted is %s", row->name,
                          row->accepted);
    const char *value = equals != NULL ? equals + 1 : argv[++*i];
    if (!row->parse(value, member))
        return errmsg_set(msg, ERR_INVALID, "%s %s: accepted is %s", row->name, value,
                          row->accepted);
    return ERR_OK;
}

static enum err check_pairs(const struct httpd_options *o, struct errmsg *msg)
{
    if ((o->pause_ns > 0) != (o->every > 0))
        return errmsg_set(msg, ERR_INVALID, "--pause and --every: both are needed");
    if ((o->freeze_at_ns != NS_NEVER) != (o->freeze_for_ns > 0))
        return errmsg_set(msg, ERR_INVALID, "--freeze-at and --freeze-for: both are needed");
    if (o->announce_close && o->close_every == 0)
        return errmsg_set(msg, ERR_INVALID, "--announce-close: --close-every is needed too");
    return ERR_OK;
}

enum err httpd_options_parse(int argc, char *const *argv, struct httpd_options *o,
                             struct errmsg *msg)
{
    *o = (struct httpd_options){
        .freeze_at_ns = NS_NEVER, .status = 200, .body_size = 13, .lifetime_ns = 600 * NS_PER_SEC};
    enum err e = httpd_address_parse("127.0.0.1:8080", &o->listen, msg);
    for (int i = 1; i < argc && e == ERR_OK; i++)
        e = take(argc, argv, &i, o, msg);
    return e != ERR_OK ? e : check_pairs(o, msg);
}

const char *httpd_options_help(void)
{
    return "usage: hammer-target [flags]\n"
           "A small HTTP/1.1 server that misbehaves on request; for tests and demos.\n"
           "\n"
           "  --listen ADDRESS:PORT  where to listen, loopback only; port 0 = any free port\n"
           "                         (default 127.0.0.1:8080)\n"
           "  --port-file FILE       write ADDRESS:PORT there once listening\n"
           "  --log FILE             a line per request: read_ns written_ns path status\n"
           "                         arrived_ns (CLOCK_MONOTONIC; written_ns and status 0 = the\n"
           "                         client left unanswered)\n"
           "  --pause 200ms --every 3000\n"
           "                         stop the whole server before every 3000th response\n"
           "  --freeze-at 2s --freeze-for 1s\n"
           "                         stop the whole server once, counted from the first request\n"
           "  --delay 5ms            answer each request that much later\n"
           "  --slow 1%:100ms        answer this share later, every 100th in turn\n"
           "  --status 503           answer with this status; 10%:503 = only that share\n"
           "  --close-every N        close a connection after N responses, unannounced\n"
           "  --announce-close       announce it with Connection: close\n"
           "  --body-size N          bytes in each body (default 13)\n"
           "  --chunked              send bodies with Transfer-Encoding: chunked\n"
           "  --requests N           stop after N responses (default 0 = no limit)\n"
           "  --lifetime 10m         stop after this time in any case (default 10m)\n"
           "\n"
           "SIGTERM and SIGINT write the log, print a summary line and end the server.\n";
}
