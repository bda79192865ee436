/* SPDX-License-Identifier: MIT */
#include "agent/service/service.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "agent/service/audit.h"
#include "agent/service/endpoint.h"
#include "agent/service/notify.h"
#include "agent/service/selftest.h"
#include "common/clock.h"
#include "common/host.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"

#define REMIND_NS (60 * NS_PER_SEC)

struct service {
    struct setup *setup;
    struct loop *loop;
    struct endpoint *endpoint;
    struct notify *notify;
    struct audit *audit;         /* NULL for a spawned agent: its controller is its user's */
    struct loop_timer *reminder; /* of --insecure-listen */
};

/* Written beside and renamed, so that a reader never sees half a line. */
static enum err write_port_file(const char *path, const char *url, struct errmsg *msg)
{
    char tmp[4096];
    int n = snprintf(tmp, sizeof tmp, "%s.tmp", path);
    if (n < 0 || (size_t)n >= sizeof tmp)
        return errmsg_set(msg, ERR_INVALID, "--port-file %s: the name is too long", path);
    FILE *f = fopen(tmp, "w");
    if (f == NULL)
        return errmsg_set(msg, ERR_SYSTEM, "--port-file %s: %s", path, strerror(errno));
    fprintf(f, "%s\n", url);
    if (fclose(f) != 0 || rename(tmp, path) != 0)
        return errmsg_set(msg, ERR_SYSTEM, "--port-file %s: %s", path, strerror(errno));
    return ERR_OK;
}

/* What the self-test of this host has shown. That there was none is nothing to speak of. */
static uint64_t tested_rate(const struct agent_options *o)
{
    char path[4096];
    struct errmsg msg = {{0}};
    if (o->state != NULL)
        snprintf(path, sizeof path, "%s", o->state);
    else if (selftest_state_path(path, sizeof path, NULL) != ERR_OK)
        return 0;
    uint64_t rate = selftest_state_load(path, &msg);
    if (msg.text[0] != '\0')
        log_warn("selftest", "%s", msg.text);
    return rate;
}

/* --- what happens to it --------------------------------------------------------------------- */

/* A signal may still come while the last frames leave: then the endpoint is gone already. */
static void on_terminate(int signo, void *arg)
{
    struct service *s = arg;
    log_info("main", "%s: shutting down", strsignal(signo));
    notify_stopping(s->notify);
    if (s->endpoint != NULL)
        endpoint_shutdown(s->endpoint);
}

static void on_reload(int signo, void *arg)
{
    struct service *s = arg;
    struct policy *replaced;
    (void)signo;
    if (s->endpoint == NULL)
        return;
    notify_reloading(s->notify);
    bool all = setup_reload(s->setup, &replaced);
    endpoint_set_policy(s->endpoint, s->setup->policy);
    mem_free(replaced);
    struct errmsg msg = {{0}};
    if (s->audit != NULL && audit_reopen(s->audit, &msg) != ERR_OK) {
        log_error("reload", "%s; the old audit file stays in use", msg.text);
        all = false;
    }
    if (all)
        log_info("main", "reloaded");
    else
        log_warn("main", "reloaded, but for what is said above");
    notify_ready(s->notify);
}

static void remind(void *arg)
{
    struct service *s = arg;
    log_warn("main", "--insecure-listen: whoever reaches %s commands the load",
             endpoint_url(s->endpoint));
    loop_timer_at(s->reminder, clock_add(clock_mono_ns(), REMIND_NS));
}

static void on_status(void *arg, const char *text)
{
    struct service *s = arg;
    notify_status(s->notify, text);
}

/* --- life ----------------------------------------------------------------------------------- */

static enum err open_endpoint(struct service *s, struct errmsg *msg)
{
    const struct setup *setup = s->setup;
    const struct agent_options *o = &setup->options;
    char name[64];
    host_name(name, sizeof name);
    struct endpoint_config cfg = {.loop = s->loop,
                                  .policy = setup->policy,
                                  .placement = &setup->placement,
                                  .url = o->listen,
                                  .name = o->name != NULL ? o->name : name,
                                  .tls = setup->tls,
                                  .audit = s->audit,
                                  .tested_rate = tested_rate(o),
                                  .insecure = setup->listen == LISTEN_INSECURE,
                                  .once = o->once,
                                  .status = on_status,
                                  .arg = s};
    enum err e = listen_make_folder(o->listen, msg);
    return e == ERR_OK ? endpoint_new(&cfg, &s->endpoint, msg) : e;
}

static enum err start(struct service *s, struct errmsg *msg)
{
    static const struct {
        int signo;
        loop_signal_fn fn;
    } signals[] = {{SIGTERM, on_terminate}, {SIGINT, on_terminate}, {SIGHUP, on_reload}};
    const struct agent_options *o = &s->setup->options;
    enum err e = o->once ? ERR_OK : audit_open(o->audit, &s->audit, msg);
    if (e == ERR_OK)
        e = open_endpoint(s, msg);
    size_t n = sizeof signals / sizeof signals[0];
    if (o->once)
        n--; /* a spawned agent has no file to read again: it goes with the terminal */
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        e = loop_signal(s->loop, signals[i].signo, signals[i].fn, s);
    if (e == ERR_OK && o->port_file != NULL)
        e = write_port_file(o->port_file, endpoint_url(s->endpoint), msg);
    if (e != ERR_OK)
        return e;
    log_info("main", "version %s listens on %s", HAMMER_VERSION, endpoint_url(s->endpoint));
    if (s->setup->listen == LISTEN_INSECURE)
        remind(s);
    notify_status(s->notify, "idle");
    notify_ready(s->notify);
    return ERR_OK;
}

enum err service_run(struct setup *setup, struct errmsg *msg)
{
    struct service s = {.setup = setup};
    enum err e = loop_new(&s.loop, msg);
    if (e != ERR_OK)
        return e;
    s.notify = setup->options.once ? NULL : notify_new(s.loop);
    s.reminder = loop_timer_new(s.loop, remind, &s);
    e = start(&s, msg);
    if (e == ERR_OK)
        loop_run(s.loop);
    loop_timer_free(s.reminder);
    endpoint_free(s.endpoint);
    s.endpoint = NULL;
    loop_finish(s.loop); /* what was just sent may still have to leave */
    audit_close(s.audit);
    notify_free(s.notify);
    loop_free(s.loop);
    return e;
}
