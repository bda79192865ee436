/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/clock.h"
#include "proto/plan.h"

/* The plan's options, one row a member. Groups stand together, so that --help does. */

#define HOUR_NS (3600 * NS_PER_SEC)

/* What is given is kept for the report; a test sees to it that every row says so. */
#define GIVEN      .given_offset = offsetof(struct plan, given)
#define AT(member) .offset = offsetof(struct plan, member), .set_offset = OPTION_NO_SET, GIVEN
#define AT_SET(member)                                                                             \
    .offset = offsetof(struct plan, member), .set_offset = offsetof(struct plan, member##_set),    \
    GIVEN

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

static enum err parse_tls_min(const struct option_row *row, const char *value, void *target,
                              struct errmsg *msg)
{
    (void)row, (void)msg;
    uint32_t *version = &((struct plan *)target)->tls_min;
    if (strcmp(value, "1.2") == 0)
        *version = PLAN_TLS_1_2;
    else if (strcmp(value, "1.3") == 0)
        *version = PLAN_TLS_1_3;
    else
        return ERR_INVALID;
    return ERR_OK;
}

static enum err parse_tls_resume(const struct option_row *row, const char *value, void *target,
                                 struct errmsg *msg)
{
    (void)row, (void)msg;
    bool off = strcmp(value, "off") == 0;
    if (!off && strcmp(value, "on") != 0)
        return ERR_INVALID;
    ((struct plan *)target)->tls_no_resume = off;
    return ERR_OK;
}

/* A row with a set_offset may be left out: plan_validate then accepts its member's "not given". */
static const struct option_row rows[] = {
    {.name = "rate",
     .aliases = "-r -R --qps --rps",
     .type = OPTION_RATE,
     GIVEN,
     .offset = offsetof(struct plan, rate),
     .set_offset = offsetof(struct plan, rate_set),
     .meta = "RATE",
     .text = "requests per second over all agents: 2000, 1.5k, 0.1, 100/s, 6/m, 1/h; default: "
             "closed loop at full speed"},
    {.name = "rate-per-agent",
     .aliases = "",
     .type = OPTION_RATE,
     AT_SET(rate_per_agent),
     .meta = "RATE",
     .text = "the rate of each agent instead of -r's of all together; one of weight 2 (HOST*2) has "
             "twice as much"},
    {.name = "duration",
     .aliases = "-d -z",
     .type = OPTION_DURATION,
     GIVEN,
     .offset = offsetof(struct plan, duration_ns),
     .set_offset = offsetof(struct plan, duration_set),
     .min = NS_PER_MS,
     .max = 365 * 24 * HOUR_NS,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "send what is due in this time: 10, 500ms, 1h30m; a bare number is seconds (default: "
             "10s, no limit with -n)"},
    {.name = "stages",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(n_stages),
     .parse = plan_parse_stages,
     .accepted = "TIME@RATE or TIME@RATE..RATE, one or more with commas between",
     .meta = "LIST",
     .text = "rates one after another instead of -r and -d: 30s@200,60s@100..2000 sends 200/s for "
             "30 s, then 100/s rising to 2000/s in 60 s; rates as -r takes them, and 0 at one end "
             "of a ramp"},
    {.name = "arrivals",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(arrivals),
     .parse = plan_parse_arrivals,
     .accepted = "constant or poisson",
     .meta = "HOW",
     .text =
         "constant: evenly spaced; poisson: at random with the rate as the mean, as independent "
         "users arrive (default: constant)"},
    {.name = "seed",
     .aliases = "",
     .type = OPTION_COUNT,
     AT_SET(seed),
     .min = 0,
     .max = UINT64_MAX - 1,
     .meta = "N",
     .text = "of all that is random, such as --arrivals poisson, --order random and templates: the "
             "same seed is the same load, on any number of agents (default: 1)"},
    {.name = "jitter",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(jitter),
     .parse = plan_parse_jitter,
     .accepted = "a percentage from 0 to 100 such as 20%",
     .meta = "PERCENT",
     .text =
         "send each request late by a random part of the distance to the next one, at most this "
         "much of it; the order and the rate stay (default: 0)"},
    {.name = "requests",
     .aliases = "-n",
     .type = OPTION_COUNT,
     GIVEN,
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
    {.name = "on-full",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(on_full),
     .parse = plan_parse_on_full,
     .accepted = "wait, grow or drop",
     .meta = "WHAT",
     .text = "a request that is due while every connection is busy: wait = is sent as soon as one "
             "is free, and the wait counts; grow = opens another, up to --max-connections; drop = "
             "is never sent, and counts as that (default: wait)"},
    {.name = "max-connections",
     .aliases = "",
     .type = OPTION_U32,
     AT_SET(max_connections),
     .min = 1,
     .max = PLAN_CONNECTIONS_MAX,
     .meta = "N",
     .text = "with --on-full grow: connections over all agents at most"},
    {.name = "warmup",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(warmup_ns),
     .min = 0,
     .max = 24 * HOUR_NS,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "requests that are due in the first TIME of the run are sent and reported apart: they "
             "are in no other figure (default: 0)"},
    {.name = "closed-loop",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(closed_loop),
     .text =
         "measure from the send alone, as closed-loop tools do, with a rate as well: one latency "
         "column, in which no request waits for a connection"},
    {.name = "think",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(think_max_ns),
     .parse = plan_parse_think,
     .accepted = "a time of at most 1h, or two such as 100ms..2s",
     .meta = "TIME[..TIME]",
     .text = "without a rate: time between a response and the next request on that connection, or "
             "two times between which it is at random (default: 0)"},
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
     .text = "add a header; replaces the default header of that name, and 'NAME;' leaves that out; "
             "may be repeated"},
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
    {.name = "body-lines",
     .aliases = "",
     .type = OPTION_STRING,
     AT(body_lines),
     .accepted = "a readable regular file of at most 6 MiB",
     .meta = "FILE",
     .text = "request bodies: the lines of the file in turn, one a request"},
    {.name = "body-size",
     .aliases = "",
     .type = OPTION_COUNT,
     AT_SET(body_size),
     .min = 0,
     .max = PLAN_BODY_MAX,
     .meta = "N",
     .text = "request body of that many bytes, letters, the same each time"},
    {.name = "chunked",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(chunked),
     .text = "send the body with Transfer-Encoding: chunked instead of Content-Length"},
    {.name = "expect-continue",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(expect_continue),
     .text =
         "send a request that has a body with Expect: 100-continue, and the body when the server "
         "has answered that, or after 1s"},
    {.name = "order",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(order),
     .parse = plan_parse_order,
     .accepted = "sequential, weight or random",
     .meta = "HOW",
     .text =
         "which of several requests is sent next: sequential, one after the other; weight, each "
         "exactly in proportion; random, the weights as odds (default: weight where there are "
         "different weights, else sequential)"},
    {.name = "no-templates",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(no_templates),
     .text = "send {{...}} in URL, headers and body as it is; without this flag {{seq}}, "
             "{{rand A B}}, {{pick A B ...}}, {{uuid}}, {{line FILE}} and {{env NAME}} become a "
             "value for each request"},
    {.name = "ipv4",
     .aliases = "-4",
     .type = OPTION_FLAG,
     AT(ipv4),
     .text = "connect to IPv4 addresses only"},
    {.name = "ipv6",
     .aliases = "-6",
     .type = OPTION_FLAG,
     AT(ipv6),
     .text = "connect to IPv6 addresses only"},
    {.name = "no-keepalive",
     .aliases = "--disable-keepalive",
     .type = OPTION_FLAG,
     AT(no_keepalive),
     .text = "a new connection for each request, opened when it is sent: connecting is part of its "
             "latency; says so with Connection: close"},
    {.name = "requests-per-connection",
     .aliases = "",
     .type = OPTION_U32,
     AT_SET(requests_per_connection),
     .min = 1,
     .max = 1000000000,
     .meta = "N",
     .text = "replace a connection after so many responses, in the background; 1 is --no-keepalive "
             "(default: no limit)"},
    {.name = "connect-timeout",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(connect_timeout_ns),
     .min = 0,
     .max = HOUR_NS,
     .bare_unit = NS_PER_MS,
     .meta = "TIME",
     .text =
         "time for opening a connection, its handshake included; a bare number is milliseconds, "
         "0 = as for a response (default: 0)"},
    {.name = "resolve",
     .aliases = "",
     .type = OPTION_LIST,
     AT(resolve),
     .accepted = "HOST:PORT:ADDRESS[,ADDRESS...], HOST may be *",
     .meta = "HOST:PORT:ADDR",
     .text = "connections to HOST:PORT go to these addresses, as curl has it; may be repeated"},
    {.name = "connect-to",
     .aliases = "",
     .type = OPTION_LIST,
     AT(connect_to),
     .accepted = "HOST1:PORT1:HOST2:PORT2, any of them may be empty",
     .meta = "H1:P1:H2:P2",
     .text = "connections to H1:P1 go to H2:P2, as curl has it; empty: any, or the same; may be "
             "repeated"},
    {.name = "source-ip",
     .aliases = "",
     .type = OPTION_LIST,
     AT(source_ip),
     .accepted = "IP addresses of the agent's host with commas between",
     .meta = "LIST",
     .text = "connect from these addresses of the agent's host in turn"},
    {.name = "unix-socket",
     .aliases = "",
     .type = OPTION_STRING,
     AT(unix_socket),
     .accepted = "an absolute path of at most 107 bytes",
     .meta = "PATH",
     .text = "connect to this UNIX socket of the agent's host; the agent's policy must name it"},
    {.name = "proxy",
     .aliases = "-x",
     .type = OPTION_STRING,
     AT(proxy),
     .accepted = "http://HOST:PORT",
     .meta = "URL",
     .text = "through this HTTP proxy: http with the whole URL in the request, https by CONNECT"},
    {.name = "dns-refresh",
     .aliases = "",
     .type = OPTION_DURATION,
     AT(dns_refresh_ns),
     .min = 0,
     .max = 24 * HOUR_NS,
     .bare_unit = NS_PER_SEC,
     .meta = "TIME",
     .text = "look names up again so often, for connections that are opened from then on; a bare "
             "number is seconds, 0 = never (default: 0)"},
    {.name = "expect-status",
     .aliases = "",
     .type = OPTION_STRING,
     AT(expect_status),
     .accepted = "status codes from 100 to 599 such as 200,204 or 2xx or 200-299, with commas "
                 "between",
     .meta = "LIST",
     .text = "responses with another status count as unexpected: 200,204 or 2xx or 200-299"},
    {.name = "expect-body",
     .aliases = "",
     .type = OPTION_STRING,
     AT(expect_body),
     .accepted = "a POSIX extended regular expression, sha256: and 64 hexadecimal digits, or =TEXT",
     .meta = "REGEX",
     .text =
         "responses whose body does not match count as unexpected: a POSIX extended regular "
         "expression found in its first 64 KiB, sha256:HEX of all of it, or =TEXT, exactly that"},
    {.name = "follow",
     .aliases = "",
     .type = OPTION_U32,
     AT(follow),
     .min = 0,
     .max = PLAN_FOLLOW_MAX,
     .meta = "N",
     .text = "follow up to N redirects in a row, to hosts that the plan names; the request's due "
             "time and timeout stay those of the first (default: 0)"},
    {.name = "cookies",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(cookies),
     .text = "each connection keeps the cookies that it is given, as one browser would, and sends "
             "them back"},
    {.name = "debug-request",
     .aliases = "",
     .type = OPTION_FLAG,
     AT(debug_request),
     .text =
         "send one request and no more, from one agent, and show it with its response, the first "
         "4 KiB of its body and timings instead of a report; secrets are not shown"},
    {.name = "insecure",
     .aliases = "-k",
     .type = OPTION_FLAG,
     AT(insecure),
     .text = "https: do not verify the target's certificate (says nothing about agents)"},
    {.name = "cacert",
     .aliases = "",
     .type = OPTION_STRING,
     AT(cacert_file),
     .accepted = "a readable regular file of at most 1 MiB with CA certificates in PEM form",
     .meta = "FILE",
     .text = "https: CA certificates that the target's one must come from, sent to the agents "
             "(default: those that each agent's system trusts)"},
    {.name = "cert",
     .aliases = "",
     .type = OPTION_STRING,
     AT(cert_file),
     .accepted = "a readable regular file of at most 64 KiB with a certificate in PEM form",
     .meta = "FILE",
     .text = "https: client certificate shown to the target, followed by its intermediate ones; "
             "needs --key"},
    {.name = "key",
     .aliases = "",
     .type = OPTION_STRING,
     AT(key_file),
     .accepted = "FILE, env:NAME or -",
     .meta = "FILE",
     .text = "https: private key of --cert in PEM form, without a passphrase; a secret: nobody but "
             "you may be able to read it, agents get it over their link; also env:NAME or -"},
    {.name = "tls-min",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(tls_min),
     .parse = parse_tls_min,
     .accepted = "1.2 or 1.3",
     .meta = "VERSION",
     .text = "https: oldest version of TLS to speak, 1.2 or 1.3 (default: 1.2)"},
    {.name = "tls-resume",
     .aliases = "",
     .type = OPTION_CUSTOM,
     AT(tls_no_resume),
     .parse = parse_tls_resume,
     .accepted = "on or off",
     .meta = "on|off",
     .text = "https: new connections resume the session of an earlier one of their thread; off: "
             "each handshake in full (default: on)"},
    {.name = "sni",
     .aliases = "",
     .type = OPTION_STRING,
     AT(sni),
     .accepted = "a host name, no IP address",
     .meta = "NAME",
     .text = "https: server name to ask for and to find in the certificate (default: the URL's "
             "host; an IP address is not sent)"},
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
