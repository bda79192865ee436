/* SPDX-License-Identifier: MIT */
#include "controller/run/survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/host.h"
#include "common/mem.h"

#define DIAL_MS    3000
#define ANSWER_NS  (6 * NS_PER_SEC) /* a lookup of the target takes 3 s at most */
#define PROBING_NS (3 * NS_PER_SEC)
#define PROBE_NS   (300 * NS_PER_MS) /* no answer until then: the next one */

enum step {
    STEP_WAITING, /* for its turn */
    STEP_DIALING,
    STEP_ASKED,
    STEP_PROBING,
    STEP_OVER
};

struct member {
    struct survey *survey;
    size_t number;
    enum step step;
    struct link *link;
    uint64_t deadline_ns; /* of the step */
    uint64_t probe_by_ns; /* of the probe under way */
    uint64_t t1_ns;
    uint32_t probe;
    struct survey_agent *out;
};

struct survey {
    const struct survey_config *cfg;
    struct member *members;
    size_t n, next, busy, over;
    struct loop_timer *timer;
    char who[96], boot_id[64];
};

/* --- one agent ------------------------------------------------------------------------------ */

static void leave(struct member *m)
{
    link_close(m->link, 0);
    m->link = NULL;
    m->step = STEP_OVER;
    m->survey->busy--;
    m->survey->over++;
}

static void fail(struct member *m, const char *why)
{
    if (!m->out->reached)
        snprintf(m->out->problem, sizeof m->out->problem, "%.383s", why);
    msg_sanitise(m->out->problem);
    leave(m);
}

static bool send_msg(struct member *m, const struct msg *msg)
{
    uint8_t *frame;
    size_t len;
    if (msg_encode(msg, &frame, &len) != ERR_OK)
        return false;
    enum err e = link_send(m->link, frame, len);
    mem_free(frame);
    return e == ERR_OK;
}

static void fill_query(const struct member *m, struct msg *out)
{
    const struct survey_config *cfg = m->survey->cfg;
    struct msg q = {.type = MSG_QUERY};
    q.query.version_min = MSG_VERSION_MIN;
    q.query.version_max = MSG_VERSION_MAX;
    snprintf(q.query.build, sizeof q.query.build, "%s", HAMMER_VERSION);
    memcpy(q.query.controller, m->survey->who, sizeof q.query.controller);
    if (cfg->target != NULL) {
        snprintf(q.query.scheme, sizeof q.query.scheme, "%s", cfg->scheme);
        snprintf(q.query.target, sizeof q.query.target, "%s", cfg->target);
    }
    *out = q;
}

static void ask(struct member *m, uint64_t now_ns)
{
    const struct msg_halt *halt = m->survey->cfg->halt;
    struct msg q;
    if (halt != NULL)
        q = (struct msg){.type = MSG_HALT, .halt = *halt};
    else
        fill_query(m, &q);
    m->step = STEP_ASKED;
    m->deadline_ns = clock_add(now_ns, ANSWER_NS);
    if (!send_msg(m, &q))
        fail(m, "the question could not be sent");
}

static void probe(struct member *m, uint64_t now_ns)
{
    struct msg p = {.type = MSG_PROBE};
    if (m->probe == SURVEY_PROBES || now_ns >= m->deadline_ns) {
        leave(m);
        return;
    }
    m->probe++;
    m->t1_ns = p.probe.t1_ns = clock_mono_ns();
    p.probe.probe = m->probe;
    m->probe_by_ns = clock_add(m->t1_ns, PROBE_NS);
    if (!send_msg(m, &p))
        leave(m);
}

static void on_info(struct member *m, const struct msg_info *info, uint64_t now_ns)
{
    struct survey_agent *a = m->out;
    if (m->step != STEP_ASKED)
        return;
    a->reached = true;
    a->info = *info;
    a->same_clock = info->boot_id[0] != '\0' && strcmp(info->boot_id, m->survey->boot_id) == 0;
    m->step = STEP_PROBING;
    m->deadline_ns = clock_add(now_ns, PROBING_NS);
    if (a->same_clock || m->survey->cfg->halt != NULL)
        leave(m);
    else
        probe(m, now_ns);
}

static void on_probe_reply(struct member *m, const struct msg_probe_reply *p, uint64_t rx_ns)
{
    if (m->step != STEP_PROBING || p->probe != m->probe || p->t1_ns != m->t1_ns)
        return;
    (void)clock_estimate_add(&m->out->clock, m->t1_ns, p->t2_ns, p->t3_ns, rx_ns);
    probe(m, clock_mono_ns());
}

static void on_frame(struct member *m, const struct link_info *info)
{
    struct msg msg;
    enum err e = msg_decode(info->frame, info->len, &msg);
    if (e == ERR_NOT_FOUND)
        return;
    if (e != ERR_OK)
        fail(m, "it sent bytes that are not a hammer message");
    else if (msg.type == MSG_INFO)
        on_info(m, &msg.info, info->rx_ns);
    else if (msg.type == MSG_PROBE_REPLY)
        on_probe_reply(m, &msg.probe_reply, info->rx_ns);
    else if (msg.type == MSG_REFUSE)
        fail(m, msg.refuse.text);
}

/* An agent that does not know the question hangs up after its 5 s without HELLO; one that refuses
 * our certificate, or shows one that we refuse, at once. */
static void on_down(struct member *m, const char *reason)
{
    char why[384];
    bool hung_up = m->step == STEP_ASKED && strncmp(reason, "TLS", 3) != 0;
    bool plain = strncmp(m->survey->cfg->inventory->agents[m->number].url, "tcp:", 4) == 0;
    snprintf(
        why, sizeof why,
        !hung_up ? "%.380s"
        : plain  ? "it hung up without an answer (%.120s): an agent that wants TLS (NAME@HOST), "
                   "or older than this hammer-ctl?"
                : "it hung up without an answer (%.120s): hammer-agent older than this hammer-ctl?",
        reason);
    fail(m, why);
}

static void settle(struct survey *s);

static void on_link(void *arg, struct link *l, enum link_event ev, const struct link_info *info)
{
    struct member *m = arg;
    (void)l;
    if (ev == LINK_UP)
        ask(m, clock_mono_ns());
    else if (ev == LINK_FRAME)
        on_frame(m, info);
    else
        on_down(m, info->reason);
    settle(m->survey);
}

/* --- all of them ---------------------------------------------------------------------------- */

static void begin(struct member *m, uint64_t now_ns)
{
    struct errmsg msg = {{0}};
    const struct inventory_agent *agent = &m->survey->cfg->inventory->agents[m->number];
    struct link_options o = {0};
    if (m->survey->cfg->link != NULL)
        o = *m->survey->cfg->link;
    o.server_name = agent->server_name;
    m->survey->busy++;
    m->step = STEP_DIALING;
    m->deadline_ns = clock_add(now_ns, (DIAL_MS + 500) * NS_PER_MS); /* the link's own is first */
    if (link_dial(m->survey->cfg->loop, agent->url, &o, DIAL_MS, on_link, m, &m->link, &msg) !=
        ERR_OK)
        fail(m, msg.text);
}

static uint64_t due(const struct member *m)
{
    if (m->step == STEP_WAITING || m->step == STEP_OVER)
        return NS_NEVER;
    if (m->step == STEP_PROBING && m->probe_by_ns < m->deadline_ns)
        return m->probe_by_ns;
    return m->deadline_ns;
}

/* Fills free places, and sets the timer to what is due first. */
static void settle(struct survey *s)
{
    uint64_t now_ns = clock_mono_ns(), first = NS_NEVER;
    while (s->next < s->n && s->busy < SURVEY_AT_ONCE)
        begin(&s->members[s->next++], now_ns);
    for (size_t i = 0; i < s->next; i++)
        first = due(&s->members[i]) < first ? due(&s->members[i]) : first;
    if (s->over == s->n)
        loop_stop(s->cfg->loop);
    else
        loop_timer_at(s->timer, first);
}

static void on_timer(void *arg)
{
    struct survey *s = arg;
    uint64_t now_ns = clock_mono_ns();
    for (size_t i = 0; i < s->next; i++) {
        struct member *m = &s->members[i];
        if (now_ns < due(m))
            continue;
        if (m->step == STEP_PROBING)
            probe(m, now_ns);
        else
            fail(m, m->step == STEP_ASKED ? "no answer within 6 s" : "no connection within 3 s");
    }
    settle(s);
}

enum err survey_run(const struct survey_config *cfg, struct survey_agent *agents)
{
    struct survey s = {.cfg = cfg, .n = cfg->inventory->n};
    s.members = mem_calloc(s.n + 1, sizeof *s.members);
    s.timer = loop_timer_new(cfg->loop, on_timer, &s);
    host_who(s.who, sizeof s.who);
    host_boot_id(s.boot_id, sizeof s.boot_id);
    for (size_t i = 0; i < s.n; i++) {
        agents[i] = (struct survey_agent){0};
        s.members[i] = (struct member){.survey = &s, .number = i, .out = &agents[i]};
    }
    loop_timer_at(s.timer, clock_mono_ns());
    loop_run(cfg->loop);
    for (size_t i = 0; i < s.n; i++) {
        link_close(s.members[i].link, 0);
        if (s.members[i].step != STEP_OVER && !agents[i].reached)
            snprintf(agents[i].problem, sizeof agents[i].problem, "interrupted");
    }
    loop_timer_free(s.timer);
    mem_free(s.members);
    return s.over == s.n ? ERR_OK : ERR_CLOSED;
}
