/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_watch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/mem.h"

#define TEXT_MIN 256

static struct h1_watch *watch_of(const struct slot *s)
{
    const struct client_h1 *c = s->client;
    const struct client_rules *r = &c->env.rules;
    bool each = c->watch->expects || r->follow > 0 || r->cookies || r->debug;
    return &c->watch->each[each ? s - c->slots : 0];
}

static const struct url_parts *origin_of(const struct slot *s)
{
    return &s->client->env.requests->origins[s->aim];
}

static void keep_text(char **to, size_t *len, size_t *cap, const char *bytes, size_t n)
{
    if (n > *cap) {
        *cap = *cap == 0 ? TEXT_MIN : *cap;
        while (*cap < n)
            *cap *= 2;
        *to = mem_realloc(*to, *cap, 1);
    }
    if (n > 0)
        memcpy(*to, bytes, n);
    *len = n;
}

/* ---- what comes ---- */

/* Cookies have no ports. */
static uint32_t host_number(const struct slot *s)
{
    const struct reqset *q = s->client->env.requests;
    uint32_t i = 0;
    while (strcasecmp(q->origins[i].host, q->origins[s->aim].host) != 0)
        i++;
    return i;
}

static struct cookie_place place_of(const struct slot *s, const struct h1_watch *w)
{
    const struct url_parts *u = origin_of(s);
    return (struct cookie_place){.host = host_number(s),
                                 .name = u->host,
                                 .path = w->path,
                                 .path_len = w->path_len,
                                 .tls = u->tls,
                                 .now_s = clock_wall_ns() / NS_PER_SEC};
}

static void take_location(struct slot *s, const char *value, size_t len)
{
    struct h1_watch *w = watch_of(s);
    if (s->client->env.rules.follow > 0 && w->location_len == 0)
        keep_text(&w->location, &w->location_len, &w->location_cap, value, len);
}

static void take_cookie(struct slot *s, const char *value, size_t len)
{
    struct h1_watch *w = watch_of(s);
    if (!s->client->env.rules.cookies)
        return;
    struct cookie_place from = place_of(s, w);
    cookies_set(&w->jar, &from, value, len);
}

static void take_server(struct slot *s, const char *value, size_t len)
{
    struct h1_watching *all = s->client->watch;
    if (all->first != s)
        return;
    size_t n = len < sizeof all->server ? len : sizeof all->server - 1;
    memcpy(all->server, value, n);
    all->server[n] = '\0';
}

static void on_field(void *arg, const char *name, const char *value, size_t len)
{
    static const struct {
        const char *name;
        void (*take)(struct slot *s, const char *value, size_t len);
    } wanted[] = {
        {"Location", take_location}, {"Set-Cookie", take_cookie}, {"Server", take_server}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (strcasecmp(name, wanted[i].name) == 0)
            wanted[i].take(arg, value, len);
    struct client_h1 *c = ((struct slot *)arg)->client;
    if (c->env.rules.debug)
        h1_debug_field(&c->watch->debug, name, value, len);
}

static void on_body(void *arg, const char *bytes, size_t len)
{
    struct slot *s = arg;
    expectation_bytes(&s->client->watch->expectation, &watch_of(s)->seen, bytes, len);
    if (s->client->env.rules.debug)
        h1_debug_body(&s->client->watch->debug, bytes, len);
}

/* ---- what goes ---- */

bool slot_hops(const struct slot *s)
{
    return s->client->watching && s->request == &watch_of(s)->request;
}

/* The path of what is sent; a hop has its own. */
static void note_path(struct slot *s, struct h1_watch *w)
{
    struct request_bytes r;
    if (s->request == &w->request)
        return;
    w->hops = 0;
    w->as_get = false;
    request_render(s->request, s->tag, s->client->scratch, &r);
    struct request_text path = request_path(&r);
    keep_text(&w->path, &w->path_len, &w->path_cap, path.at, path.len);
}

static void choose_cookies(struct slot *s, struct h1_watch *w)
{
    w->cookie_len = 0;
    if (w->jar.n == 0)
        return;
    if (w->cookie == NULL)
        w->cookie = mem_calloc(COOKIES_LINE, 1);
    struct cookie_place to = place_of(s, w);
    w->cookie_len = cookies_line(&w->jar, &to, w->cookie);
}

/* Of all that are under way, the first one sent; if that failed, another. */
static bool is_first(struct slot *s)
{
    struct h1_watching *all = s->client->watch;
    if (s->client->first_told ||
        (all->first != NULL && all->first != s && slot_in_flight(all->first)))
        return false;
    all->first = s;
    all->server[0] = '\0';
    return true;
}

void slot_watch(struct slot *s)
{
    struct client_h1 *c = s->client;
    const struct client_rules *rules = &c->env.rules;
    bool fields = is_first(s) || rules->follow > 0 || rules->cookies || rules->debug;
    bool body = expectation_wants_body(&c->watch->expectation) || rules->debug;
    struct h1_watch *w = watch_of(s);
    s->edited = false;
    if (rules->follow > 0 || rules->cookies) {
        note_path(s, w);
        choose_cookies(s, w);
        s->edited = w->hops > 0 || w->cookie_len > 0;
    }
    s->edited = s->edited || rules->debug;
    if (!fields && !body)
        return;
    w->location_len = 0;
    w->fields.arg = s;
    w->tap = (struct h1_tap){
        .fields = fields ? &w->fields : NULL, .body = body ? on_body : NULL, .arg = s};
    if (body)
        expectation_begin(&c->watch->expectation, &w->seen);
    h1_response_tap(&s->response, &w->tap);
}

void slot_edit(struct slot *s, struct request_bytes *r)
{
    struct client_h1 *c = s->client;
    const struct h1_watch *w = watch_of(s);
    struct request_edit e = {.as_get = w->as_get, .cookie = {w->cookie, w->cookie_len}};
    char prefix[300];
    if (w->hops > 0) {
        uint32_t was = c->env.requests->requests[reqset_pick(c->env.requests, s->tag)].origin;
        e.target = (struct request_text){w->path, w->path_len};
        e.host = s->aim != was ? c->watch->hosts[s->aim] : NULL;
        if (c->env.rules.proxy && !origin_of(s)->tls) {
            int n = snprintf(prefix, sizeof prefix, "http://%s", c->watch->hosts[s->aim]);
            e.prefix = (struct request_text){prefix, (size_t)n};
        }
    }
    struct request_bytes plain = *r;
    if (w->hops > 0 || w->cookie_len > 0)
        request_edit(&e, &plain, c->watch->edited, r);
    if (c->env.rules.debug && s->written == 0)
        h1_debug_sent(&c->watch->debug, r);
}

/* ---- redirects ---- */

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* RFC 9110 section 15.4: 303 asks for GET, but for HEAD; after 301 and 302 everybody makes a GET of
 * a POST. */
static bool becomes_get(const struct slot *s, const struct h1_watch *w, int status)
{
    struct request_bytes r;
    if (s->request->head_method || w->as_get || status >= 307)
        return w->as_get;
    request_render(s->request, s->tag, s->client->scratch, &r);
    return status == 303 || (r.len > 5 && memcmp(r.bytes, "POST ", 5) == 0);
}

static void report_redirect(struct slot *s, enum redirect_error error)
{
    const struct client_env *env = &s->client->env;
    if (env->fault != NULL)
        env->fault(env->arg, FAULT_REDIRECT, (int)error);
}

/* Which of the plan's origins; false: none. */
static bool find_origin(const struct reqset *q, const struct location *l, uint32_t *number)
{
    for (uint32_t i = 0; i < q->n_origins; i++) {
        *number = i;
        if (location_is_at(l, &q->origins[i]))
            return true;
    }
    return false;
}

/* Makes the hop the slot's request. */
static bool prepare_hop(struct slot *s, uint32_t *origin)
{
    struct client_h1 *c = s->client;
    struct h1_watch *w = watch_of(s);
    struct location *to = &c->watch->location;
    enum redirect_error error = REDIRECT_BAD;
    if (w->hops >= c->env.rules.follow) {
        error = REDIRECT_MANY;
    } else if (w->location_len > 0 && location_resolve(origin_of(s), w->path, w->path_len,
                                                       w->location, w->location_len, to)) {
        error = REDIRECT_ELSEWHERE;
        if (find_origin(c->env.requests, to, origin))
            error = REDIRECT_FINE;
    }
    if (error != REDIRECT_FINE) {
        report_redirect(s, error);
        return false;
    }
    w->as_get = becomes_get(s, w, s->response.status);
    keep_text(&w->path, &w->path_len, &w->path_cap, to->path, to->path_len);
    w->hops++;
    w->request = *s->request;
    w->request.origin = *origin;
    if (w->as_get) {
        w->request.expect_continue = false;
        w->request.idempotent = true;
    }
    s->request = &w->request;
    return true;
}

bool slot_follow(struct slot *s, bool reuse, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    uint32_t origin;
    if (c->env.rules.debug)
        h1_debug_end(&c->watch->debug, s->response.parser.http_minor, s->response.status);
    if (c->env.rules.follow == 0 || !is_redirect(s->response.status))
        return false;
    if (c->quiet) { /* nothing more is sent, and this is not the answer */
        slot_fail(s, OUTCOME_UNFINISHED, 0, now_ns);
        return true;
    }
    if (!prepare_hop(s, &origin))
        return false;
    c->traffic.redirects++;
    if (reuse && origin == s->aim) {
        slot_send(s, now_ns);
        return true;
    }
    if (s->holding) /* redirected instead of 100: that body is not sent there */
        slot_let_body_go(s);
    conn_close(&s->conn);
    slot_move(s, SLOT_OPENING);
    slot_aim(s, origin);
    slot_connect(s, now_ns);
    return true;
}

/* ---- the end ---- */

static void tell_first(struct slot *s, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    const struct client_env *env = &c->env;
    c->first_told = true;
    c->watching =
        c->watch->expects || env->rules.follow > 0 || env->rules.cookies || env->rules.debug;
    if (env->first != NULL)
        env->first(env->arg, now_ns, s->response.body_bytes, c->watch->server);
}

int slot_judge(struct slot *s, uint64_t now_ns)
{
    struct client_h1 *c = s->client;
    int code = EXPECT_MET;
    if (c->watch->expects)
        code = expectation_judge(&c->watch->expectation, &watch_of(s)->seen, s->response.status);
    if (c->watch->first == s && !c->first_told)
        tell_first(s, now_ns);
    return code;
}

void slot_debug(const struct slot *s)
{
    const struct client_h1 *c = s->client;
    const struct h1_debug *d = &c->watch->debug;
    if (c->env.debug != NULL && d->len > 0)
        c->env.debug(c->env.arg, d->text, d->len);
}

static void name_hosts(struct client_h1 *c)
{
    const struct reqset *q = c->env.requests;
    c->watch->hosts = mem_calloc(q->n_origins, sizeof *c->watch->hosts);
    for (size_t i = 0; i < q->n_origins; i++) {
        const struct url_parts *u = &q->origins[i];
        bool own = !url_default_port(u);
        snprintf(c->watch->hosts[i], sizeof c->watch->hosts[i], "%s%s%s%s%s",
                 u->ipv6_literal ? "[" : "", u->host, u->ipv6_literal ? "]" : "", own ? ":" : "",
                 own ? u->port : "");
    }
}

enum err h1_watch_init(struct client_h1 *c, struct errmsg *msg)
{
    const struct client_rules *r = &c->env.rules;
    c->watch = mem_calloc(1, sizeof *c->watch);
    enum err e = expectation_init(&c->watch->expectation, r->expect_status, r->expect_body, msg);
    if (e != ERR_OK)
        return e;
    c->watching = true;
    c->watch->expects = r->expect_status != NULL || r->expect_body != NULL;
    bool edits = r->follow > 0 || r->cookies;
    size_t n = edits || c->watch->expects || r->debug ? c->n_slots : 1;
    c->watch->each = mem_calloc(n, sizeof *c->watch->each);
    c->watch->n = n;
    for (size_t i = 0; i < n; i++)
        c->watch->each[i].fields.fn = on_field;
    if (!edits)
        return ERR_OK;
    name_hosts(c);
    c->watch->edited =
        mem_calloc(reqset_longest(c->env.requests) + sizeof(struct location) +
                       sizeof *c->watch->hosts * 2 + COOKIES_LINE + REQUEST_EDIT_MORE,
                   1);
    return ERR_OK;
}

void h1_watch_clear(struct client_h1 *c)
{
    if (c->watch == NULL)
        return;
    for (size_t i = 0; i < c->watch->n; i++) {
        struct h1_watch *w = &c->watch->each[i];
        h1_fields_clear(&w->fields);
        expectation_seen_clear(&w->seen);
        cookies_clear(&w->jar);
        mem_free(w->path);
        mem_free(w->location);
        mem_free(w->cookie);
    }
    expectation_clear(&c->watch->expectation);
    h1_debug_clear(&c->watch->debug);
    mem_free(c->watch->each);
    mem_free(c->watch->edited);
    mem_free(c->watch->hosts);
    mem_free(c->watch);
}
