/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "controller/cmd/run_options.h"

/* What `run --help`, the man page and the completions show of the flags, in which order. */

/* Who looks for a flag looks for what it is about, not for the table it stands in: a heading may
 * have rows of both. Every row is under exactly one, a test sees to it. */
size_t run_options_groups(struct option_group groups[])
{
    static const struct {
        const char *title; /* NULL = more of the one before */
        bool own;
        const char *names;
    } headings[RUN_OPTIONS_GROUPS] = {
        {"The load", false,
         "rate rate-per-agent duration stages arrivals seed jitter requests forever warmup "
         "closed-loop think"},
        {NULL, true, "abort-on max-connect-failures slo"},
        {"Requests", true, "file urls again"},
        {NULL, false,
         "method header data body body-lines body-size chunked expect-continue order "
         "no-templates debug-request"},
        {NULL, true, "header-file bearer basic redact"},
        {"Connections", false,
         "connections threads on-full max-connections ipv4 ipv6 no-keepalive "
         "requests-per-connection connect-timeout resolve connect-to source-ip unix-socket proxy "
         "dns-refresh"},
        {"Responses", false, "expect-status expect-body follow cookies timeout"},
        {"TLS to the target", false, "insecure cacert cert key tls-min tls-resume sni"},
        {"Measuring", false, "interval spin dispatch-quantum"},
        {"Agents", true,
         "agents inventory local tls-ca tls-cert tls-key tls-crl insecure-agents wait-agents "
         "min-agents on-agent-loss lease force no-journal"},
        {"Report and history", true,
         "format json output latency u_latency every dump-requests metrics verbose debug quiet "
         "name description tag db no-save repeat interleave-with help"},
    };
    const struct option_group own = run_options_own();
    size_t n_plan;
    const struct option_row *plan = plan_options(&n_plan);
    for (size_t i = 0; i < RUN_OPTIONS_GROUPS; i++)
        groups[i] = (struct option_group){.title = headings[i].title,
                                          .rows = headings[i].own ? own.rows : plan,
                                          .n = headings[i].own ? own.n : n_plan,
                                          .names = headings[i].names};
    return RUN_OPTIONS_GROUPS;
}

void run_options_help(void)
{
    struct option_group groups[RUN_OPTIONS_GROUPS];
    printf("usage: hammer-ctl run [flags] URL\n"
           "       hammer-ctl run [flags] -f FILE | --urls FILE | --again RUN\n");
    option_help_groups(groups, run_options_groups(groups), stdout);
    printf("\nDurations: 500ms 0.6s 30s 2m 1h30m. Rates: 0.1 2000 2k 100/s 6/m 1/h.\n"
           "Every flag can be given in the environment: HAMMER_RATE=2k, the URL as HAMMER_URL,\n"
           "or by its long name in ~/.config/hammer/ctl.yml (rate: 2k); a flag beats the\n"
           "environment, that the file.\n"
           "Exit codes: 0 valid, 1 bad input, 2 could not run, 3 incomplete or no data,\n"
           "4 generator-limited, 99 aborted or slo-failed, 130 interrupted.\n");
}
