/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "tests/bench/lib/net.h"
#include "tests/bench/lib/self.h"
#include "tests/bench/responder/responder.h"
#include "tests/bench/responder/response.h"

#define BODY_MAX   (UINT64_C(64) << 20)
#define STAMPS_MAX UINT64_C(20000000)
#define HOUR_NS    (3600 * NS_PER_SEC)

struct options {
    struct responder_options responder;
    char *port_file;
    char *stamp_file;
    char *counter_file;
    uint64_t stamps_max;
    uint32_t cpu;
};

static enum err parse_listen(const struct option_row *row, const char *value, void *target,
                             struct errmsg *msg)
{
    struct options *o = target;
    (void)row;
    return net_parse(value, &o->responder.listen, msg);
}

/* "1%:100ms" */
static enum err parse_slow(const struct option_row *row, const char *value, void *target,
                           struct errmsg *msg)
{
    struct options *o = target;
    char *rest;
    double percent = strtod(value, &rest);
    if (rest == value || strncmp(rest, "%:", 2) != 0 || !(percent > 0 && percent <= 100))
        return option_refuse(row, value, ERR_INVALID, msg);
    o->responder.slow_ppm = (uint32_t)(percent * 10000 + 0.5);
    return units_parse_duration(rest + 2, 0, &o->responder.slow_ns, msg);
}

#define AT(member) .offset = offsetof(struct options, member), .set_offset = OPTION_NO_SET
#define TIME(member, long_name, least, help)                                                       \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_DURATION, AT(member), .min = least,       \
        .max = HOUR_NS, .bare_unit = NS_PER_SEC, .meta = "TIME", .text = help                      \
    }
#define COUNT(member, long_name, least, most, help)                                                \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_COUNT, AT(member), .min = least,          \
        .max = most, .meta = "N", .text = help                                                     \
    }
#define TEXT(member, long_name, help)                                                              \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_STRING, AT(member), .meta = "FILE",       \
        .accepted = "a file name", .text = help                                                    \
    }
#define FLAG(member, long_name, help)                                                              \
    {                                                                                              \
        .name = long_name, .aliases = "", .type = OPTION_FLAG, AT(member), .text = help            \
    }

static const struct option_row rows[] = {
    {.name = "listen",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(responder.listen),
     .meta = "ADDRESS:PORT",
     .accepted = "127.0.0.1:PORT (loopback only)",
     .text = "where to listen, loopback only (default: 127.0.0.1:0, any free port)",
     .parse = parse_listen},
    FLAG(responder.shared, "shared", "let more responders listen on the same port"),
    TEXT(port_file, "port-file", "write ADDRESS:PORT there once listening"),
    {.name = "cpu",
     .aliases = "",
     .type = OPTION_U32,
     AT(cpu),
     .max = 1023,
     .meta = "N",
     .text = "run on this CPU only"},
    FLAG(responder.busy_poll, "busy-poll", "never sleep: requests are stamped as they come"),
    TEXT(stamp_file, "stamp", "at the end write a record per request there, see lib/stamps.h"),
    FLAG(responder.stamp_kernel, "stamp-kernel", "also ask the kernel when each request arrived"),
    TEXT(counter_file, "counter", "keep the number of requests there, for bench-cpu"),
    COUNT(stamps_max, "stamps-max", 1, STAMPS_MAX, "room for so many records (default: 1M)"),
    {.name = "slow",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(responder.slow_ns),
     .meta = "SHARE%:TIME",
     .accepted = "SHARE%:TIME, e.g. 1%:100ms",
     .text = "hold back this share of the responses, every 100th in turn for 1%",
     .parse = parse_slow},
    TIME(responder.freeze_at_ns, "freeze-at", 0, "stand still, so long after the first request"),
    TIME(responder.freeze_for_ns, "freeze-for", 1, "for so long (default: 1s)"),
    TIME(responder.freeze_every_ns, "freeze-every", 1, "and again, from begin to begin"),
    COUNT(responder.body_size, "body-size", 0, BODY_MAX,
          "bytes in the body (default: 13, 152 with the header)"),
    TIME(responder.lifetime_ns, "lifetime", 1, "end after this time in any case (default: 10m)"),
};

#define ROWS (sizeof rows / sizeof rows[0])

static void serve(struct options *o)
{
    uint64_t from_ns = clock_mono_ns(), cpu_from_ns = self_cpu_ns();
    struct responder *r = responder_new(&o->responder);
    if (o->port_file != NULL)
        net_write_address(o->port_file, &o->responder.listen);
    responder_run(r);
    uint64_t served = responder_served(r);
    double cpu_us = (double)(self_cpu_ns() - cpu_from_ns) / 1e3;
    if (o->stamp_file != NULL)
        stamps_write(responder_stamps(r), o->stamp_file);
    printf("served=%" PRIu64 " connections=%" PRIu64
           " seconds=%.3f cpu_us_per_request=%.3f unstamped=%" PRIu64 "\n",
           served, responder_connections(r), (double)clock_elapsed(from_ns, clock_mono_ns()) / 1e9,
           served > 0 ? cpu_us / (double)served : 0, responder_stamps(r)->lost);
    responder_free(r);
}

int main(int argc, char **argv)
{
    struct options o = {.responder = {.body_size = RESPONSE_BODY,
                                      .freeze_at_ns = NS_NEVER,
                                      .freeze_for_ns = NS_PER_SEC,
                                      .lifetime_ns = 600 * NS_PER_SEC},
                        .stamps_max = 1000000,
                        .cpu = SELF_NO_CPU};
    struct errmsg msg;
    if (net_parse("127.0.0.1:0", &o.responder.listen, &msg) != ERR_OK)
        return 1;
    self_options("[flags]", rows, ROWS, argc, argv, &o, NULL, 0);
    self_pin(o.cpu);
    self_raise_files();
    o.responder.stamps_max = o.stamp_file != NULL ? o.stamps_max : 0;
    o.responder.counter = o.counter_file != NULL ? counter_create(o.counter_file) : NULL;
    o.responder.stamp_kernel &= o.stamp_file != NULL;
    serve(&o);
    option_clear(rows, ROWS, &o);
    return 0;
}
