/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "controller/report/roster.h"
#include "controller/report/text.h"
#include "controller/run/survey_check.h"

#define NAME_WIDTH 26
#define ROW_WIDTH  100

/* Words behind a label, on as many lines as it takes. */
static void wrapped(FILE *out, const char *label, const char *text)
{
    size_t indent = strlen(label), column = indent;
    fputs(label, out);
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");
        bool first = column == indent;
        if (!first && column + 1 + len > ROW_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)len, text);
        column += len + !first;
        text += len;
    }
    fputc('\n', out);
}

/* Its name and the address it was asked at, once where they are the same. */
static void name_text(const struct roster *r, size_t i, char *buf, size_t cap)
{
    const struct inventory_agent *inv = &r->inventory->agents[i];
    const struct survey_agent *a = &r->agents[i];
    const char *name = a->reached && a->info.agent[0] != '\0' ? a->info.agent : inv->name;
    if (name[0] == '\0' || strcmp(name, inv->address) == 0) {
        snprintf(buf, cap, "%s", inv->address);
        return;
    }
    snprintf(buf, cap, "%s (%s)", name, inv->address);
    if (strlen(buf) > NAME_WIDTH)
        snprintf(buf, cap, "%s (%s)", name, text_without_scheme(inv->address));
}

static void number(uint64_t n, char buf[UNITS_TEXT])
{
    if (n == 0)
        snprintf(buf, UNITS_TEXT, "-");
    else
        snprintf(buf, UNITS_TEXT, "%" PRIu64, n);
}

static void clock_text(const struct survey_agent *a, char *buf, size_t cap)
{
    char offset[UNITS_TEXT], error[UNITS_TEXT];
    if (a->same_clock)
        snprintf(buf, cap, "0 (same clock)");
    else if (a->clock.good == 0)
        snprintf(buf, cap, "unknown");
    else
        snprintf(buf, cap, "%s +-%s", units_format_offset(a->clock.offset_ns, offset),
                 units_format_latency(clock_estimate_error(&a->clock), error));
}

static void write_holder(const struct msg_info *info, FILE *out)
{
    char text[256], run[48] = "";
    if (info->state == AGENT_IDLE)
        return;
    if (info->run[0] != '\0')
        snprintf(run, sizeof run, ", run %.8s", info->run);
    snprintf(text, sizeof text, "%s for %" PRIu64 " s%s, lease ends in %" PRIu64 " s", info->holder,
             info->held_ms / 1000, run, (info->lease_left_ms + 999) / 1000);
    if (info->orphan)
        snprintf(text, sizeof text, "%s, gone for too long%s: its results are kept", info->holder,
                 run);
    wrapped(out, "      held by ", text);
}

static void write_target(const struct msg_info *info, FILE *out)
{
    char text[700], took[UNITS_TEXT], in[48] = "";
    if (info->target == INFO_TARGET_NONE)
        return;
    if (info->target == INFO_TARGET_REACHED)
        snprintf(in, sizeof in, " in %s", units_format_latency(info->connect_us * NS_PER_US, took));
    snprintf(text, sizeof text, "%s%s%s%s", info_target_name(info->target), in,
             info->addresses[0] != '\0' ? ": " : "", info->addresses);
    wrapped(out, "      target  ", text);
    if (info->problem[0] != '\0')
        wrapped(out, "              ", info->problem);
}

static void write_access(const struct msg_info *info, FILE *out)
{
    if (info->policy[0] != '\0')
        wrapped(out, "      policy  ", info->policy);
    if (info->insecure != 0)
        wrapped(out,
                "      insecure: ", "whoever reaches it commands its load (--insecure-listen)");
}

static void write_agent(const struct roster *r, size_t i, FILE *out)
{
    const struct survey_agent *a = &r->agents[i];
    const struct msg_info *info = &a->info;
    char name[256], fds[UNITS_TEXT], ports[UNITS_TEXT], tested[UNITS_TEXT], clock[96];
    name_text(r, i, name, sizeof name);
    if (strlen(name) > NAME_WIDTH) {
        fprintf(out, "  %s\n", name);
        name[0] = '\0';
    }
    if (!a->reached) {
        fprintf(out, "  %-*s %-8s %s\n", NAME_WIDTH, name, "-", "unreachable");
        return;
    }
    number(info->fd_limit, fds);
    number(info->ports, ports);
    number(info->tested_rate, tested);
    clock_text(a, clock, sizeof clock);
    fprintf(out, "  %-*s %-8s %-9s %5" PRIu32 " %8s %6s %8s  %s\n", NAME_WIDTH, name, info->build,
            agent_state_name(info->state), info->cores, fds, ports, tested, clock);
    write_holder(info, out);
    write_access(info, out);
    write_target(info, out);
}

/* An agent's summary of its policy is for people, so the plan is not held against it here; that
 * there is more in it than targets can be seen. */
static bool any_caps(const struct roster *r)
{
    for (size_t i = 0; i < r->inventory->n; i++)
        if (strchr(r->agents[i].info.policy, ';') != NULL)
            return true;
    return false;
}

static void write_check(const struct roster *r, FILE *out)
{
    size_t refused = 0;
    fputc('\n', out);
    for (size_t i = 0; i < r->n_problems; i++) {
        refused += r->problems[i].refused;
        wrapped(out, r->problems[i].refused ? "  refused  " : "  warning  ", r->problems[i].text);
    }
    if (refused > 0)
        fprintf(out, "  preflight failed: run would not start\n");
    else if (!any_caps(r))
        fprintf(out, "  preflight passed: run would start\n");
    else
        fprintf(out,
                "  preflight passed: run would start if the plan is within the policies' caps\n"
                "           (behind the targets above; agents check them when it starts)\n");
}

void roster_text(const struct roster *r, FILE *out)
{
    if (r->target != NULL)
        fprintf(out, "Target %s\n\n", r->target);
    fprintf(out, "  %-*s %-8s %-9s %5s %8s %6s %8s  %s\n", NAME_WIDTH, "Agent", "version", "state",
            "cores", "fd limit", "ports", "tested/s", "clock offset");
    for (size_t i = 0; i < r->inventory->n; i++)
        write_agent(r, i, out);
    if (r->checked)
        write_check(r, out);
}
