/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/service/selftest.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/option.h"
#include "common/redact.h"
#include "common/units.h"

#define EXIT_BAD_INPUT 1
#define EXIT_COULD_NOT 2
#define SECONDS        20
#define SECONDS_MAX    600

struct selftest_options {
    uint32_t seconds;
    char *state;
    bool json, help;
};

#define AT(member) .offset = offsetof(struct selftest_options, member), .set_offset = OPTION_NO_SET

static const struct option_row rows[] = {
    {.name = "seconds",
     .aliases = "",
     .type = OPTION_U32,
     AT(seconds),
     .min = 1,
     .max = SECONDS_MAX,
     .meta = "N",
     .text = "take at most about N seconds (default: 20; fewer make shorter, coarser steps)"},
    {.name = "state",
     .aliases = "",
     .type = OPTION_STRING,
     AT(state),
     .meta = "FILE",
     .accepted = "a file name",
     .text = "store the result in FILE (default: /var/lib/hammer/selftest.json for root, else "
             "$XDG_STATE_HOME/hammer/selftest.json)"},
    {.name = "json", .aliases = "", .type = OPTION_FLAG, AT(json), .text = "print JSON, no table"},
    {.name = "help",
     .aliases = "-h",
     .type = OPTION_FLAG,
     AT(help),
     .text = "print this help and exit"},
};
#define ROWS (sizeof rows / sizeof rows[0])

const struct option_row *selftest_options(size_t *n)
{
    *n = ROWS;
    return rows;
}

static void usage(void)
{
    printf("usage: hammer-agent selftest [flags]\n\n"
           "Finds the highest rate at which this host sends on time (send lag p99 below 1 ms),\n"
           "against a server of its own on loopback, and stores it: hammer-ctl run warns when a\n"
           "plan asks this agent for more.\n\n");
    option_help(rows, ROWS, stdout);
}

static void print_head(const struct selftest_result *r)
{
    printf("%" PRIu32 " load thread%s, %" PRIu32 " connections, 127.0.0.1, %" PRIu32
           " core%s shared with the server\n\n",
           r->workers, r->workers == 1 ? "" : "s", r->connections, r->cores,
           r->cores == 1 ? "" : "s");
    printf("  %9s %9s %13s %10s %10s %12s %5s  %s\n", "rate/s", "achieved", "send lag p50", "p99",
           "max", "receive p99", "CPU", "verdict");
    fflush(stdout);
}

static void print_step(void *arg, const struct selftest_step *s)
{
    char p50[UNITS_TEXT], p99[UNITS_TEXT], max[UNITS_TEXT], receive[UNITS_TEXT];
    (void)arg;
    printf("  %9" PRIu64 " %9" PRIu64 " %13s %10s %10s %12s %4" PRIu32 "%%  %s\n", s->rate,
           s->achieved, units_format_latency(s->send_p50_ns, p50),
           units_format_latency(s->send_p99_ns, p99), units_format_latency(s->send_max_ns, max),
           units_format_latency(s->receive_p99_ns, receive), s->cpu_percent,
           selftest_verdict_name(selftest_judge(s)));
    fflush(stdout);
}

static void print_end(const struct selftest_result *r, const char *path)
{
    if (r->tested_rate == 0)
        printf("\nNo rate held, not even %u/s: this host is too busy or too slow (send lag p99 of\n"
               "1 ms or more); try again when nothing else runs here\n",
               SELFTEST_FIRST);
    else
        printf("\nHighest rate held: %" PRIu64 "/s (send lag p99 below 1 ms)%s\n", r->tested_rate,
               r->complete ? "" : "; the time was up, there may be more");
    printf("Stored in %s\n", path);
}

static enum err run(const struct selftest_options *o, const char *path, struct errmsg *msg)
{
    struct selftest_result r;
    selftest_describe(&r);
    if (!o->json)
        print_head(&r);
    enum err e = selftest_run(o->seconds * NS_PER_SEC, o->json ? NULL : print_step, NULL, &r, msg);
    if (e == ERR_OK && o->json && selftest_write_json(&r, stdout) != ERR_OK)
        e = errmsg_set(msg, ERR_SYSTEM, "the result could not be written");
    if (e == ERR_OK)
        e = selftest_state_save(path, &r, msg);
    if (e == ERR_OK && !o->json)
        print_end(&r, path);
    return e;
}

int selftest_main(int argc, char **argv)
{
    struct selftest_options o = {.seconds = SECONDS};
    struct errmsg msg = {{0}};
    char path[4096];
    const char *rest[1];
    char shown[200];
    size_t n_rest = 0;
    int code = EXIT_BAD_INPUT;
    enum err e = option_environment(rows, ROWS, &o, &msg);
    if (e == ERR_OK)
        e = option_parse(rows, ROWS, argc, argv, &o, rest, 1, &n_rest, &msg);
    if (e == ERR_OK && n_rest > 0) {
        redact_url(rest[0], shown, sizeof shown);
        e = errmsg_set(&msg, ERR_INVALID, "%s: hammer-agent selftest takes no argument", shown);
    }
    if (e == ERR_OK && o.help) {
        usage();
    } else if (e == ERR_OK) {
        log_open("hammer-agent", LOG_LEVEL_ERROR);
        signal(SIGPIPE, SIG_IGN);
        code = EXIT_COULD_NOT;
        if (o.state != NULL)
            snprintf(path, sizeof path, "%s", o.state);
        else
            e = selftest_state_path(path, sizeof path, &msg);
        if (e == ERR_OK)
            e = run(&o, path, &msg);
    }
    if (e != ERR_OK)
        fprintf(stderr, "hammer-agent: %s\n", msg.text[0] != '\0' ? msg.text : err_str(e));
    option_clear(rows, ROWS, &o);
    return e == ERR_OK ? 0 : code;
}
