/* SPDX-License-Identifier: MIT */
#include "proto/plan_route.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/redact.h"
#include "proto/url.h"

/* One field of "HOST:PORT:...": an IPv6 host stands in brackets. Borrowed. */
struct field {
    const char *text;
    size_t len;
};

static enum err refuse(const char *name, const char *value, struct errmsg *msg)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    return option_refuse(option_find(rows, n, name), value, ERR_INVALID, msg);
}

/* Up to the next colon, which is required unless it is the last field. */
static bool take_field(const char **at, bool last, struct field *out)
{
    const char *p = *at, *end;
    if (*p == '[') {
        end = strchr(p, ']');
        if (end == NULL)
            return false;
        *out = (struct field){p + 1, (size_t)(end - p - 1)};
        end++;
    } else {
        end = p + strcspn(p, ":");
        *out = (struct field){p, (size_t)(end - p)};
    }
    if (*end != (last ? '\0' : ':'))
        return false;
    *at = last ? end : end + 1;
    return true;
}

static bool is_host(const struct field *f)
{
    for (size_t i = 0; i < f->len; i++)
        if (f->text[i] <= ' ' || f->text[i] >= 0x7f || strchr("/@?#,*%", f->text[i]) != NULL)
            return false;
    return f->len < 254;
}

static bool is_port(const struct field *f)
{
    char text[6];
    if (f->len == 0 || f->len >= sizeof text || strspn(f->text, "0123456789") < f->len)
        return false;
    memcpy(text, f->text, f->len);
    text[f->len] = '\0';
    long port = strtol(text, NULL, 10);
    return port >= 1 && port <= 65535;
}

static bool is_address(const char *text, size_t len)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    }
    if (len == 0 || len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inet_pton(AF_INET, copy, bytes) == 1 || inet_pton(AF_INET6, copy, bytes) == 1;
}

/* "ADDR[,ADDR...]" */
static bool are_addresses(const char *list)
{
    if (strlen(list) >= PLAN_ROUTE_TEXT)
        return false;
    for (;;) {
        size_t len = strcspn(list, ",");
        if (!is_address(list, len))
            return false;
        if (list[len] == '\0')
            return true;
        list += len + 1;
    }
}

struct resolve {
    struct field host, port;
    const char *addresses;
};

static bool parse_resolve(const char *text, struct resolve *r)
{
    if (!take_field(&text, false, &r->host) || !take_field(&text, false, &r->port))
        return false;
    r->addresses = text;
    bool any = r->host.len == 1 && r->host.text[0] == '*';
    return (any || (r->host.len > 0 && is_host(&r->host))) && is_port(&r->port) &&
           are_addresses(text);
}

struct detour {
    struct field host, port, to_host, to_port;
};

static bool parse_detour(const char *text, struct detour *d)
{
    if (!take_field(&text, false, &d->host) || !take_field(&text, false, &d->port) ||
        !take_field(&text, false, &d->to_host) || !take_field(&text, true, &d->to_port))
        return false;
    return is_host(&d->host) && is_host(&d->to_host) && (d->port.len == 0 || is_port(&d->port)) &&
           (d->to_port.len == 0 || is_port(&d->to_port));
}

/* --- checks ----------------------------------------------------------------------------------- */

static enum err check_list(const struct option_list *l, const char *name, size_t most,
                           bool (*fits)(const char *item), struct errmsg *msg)
{
    if (l->n > most)
        return errmsg_set(msg, ERR_INVALID, "--%s given %zu times: accepted is at most %zu", name,
                          l->n, most);
    for (size_t i = 0; i < l->n; i++)
        if (strlen(l->items[i]) >= PLAN_ROUTE_TEXT || !fits(l->items[i]))
            return refuse(name, l->items[i], msg);
    return ERR_OK;
}

static bool fits_resolve(const char *item)
{
    struct resolve r;
    return parse_resolve(item, &r);
}

static bool fits_detour(const char *item)
{
    struct detour d;
    return parse_detour(item, &d);
}

/* "http://HOST:PORT" and nothing else: who the proxy lets through is no matter of its address. */
static enum err check_proxy(const struct plan *p, struct errmsg *msg)
{
    struct url_parts u;
    char shown[2 * UNITS_SHOWN]; /* it may have a password */
    if (p->proxy == NULL)
        return ERR_OK;
    if (p->unix_socket != NULL)
        return errmsg_set(msg, ERR_INVALID,
                          "--proxy with --unix-socket: accepted is one of the two");
    redact_url(p->proxy, shown, sizeof shown);
    if (strncasecmp(p->proxy, "https://", 8) == 0 || url_parse(p->proxy, &u, NULL) != ERR_OK)
        return refuse("proxy", shown, msg);
    bool bare = strcmp(u.path_query, "/") == 0;
    url_clear(&u);
    return bare ? ERR_OK : refuse("proxy", shown, msg);
}

static enum err check_unix(const struct plan *p, struct errmsg *msg)
{
    if (p->unix_socket == NULL)
        return ERR_OK;
    if (p->unix_socket[0] != '/' || strlen(p->unix_socket) > PLAN_UNIX_MAX)
        return refuse("unix-socket", p->unix_socket, msg);
    if (p->source_ip.n > 0 || p->ipv4 || p->ipv6 || p->resolve.n > 0 || p->connect_to.n > 0)
        return errmsg_set(msg, ERR_INVALID,
                          "--unix-socket with -4, -6, --resolve, --connect-to or --source-ip: "
                          "accepted is the socket alone");
    return ERR_OK;
}

enum err plan_check_routes(const struct plan *p, struct errmsg *msg)
{
    if (p->ipv4 && p->ipv6)
        return errmsg_set(msg, ERR_INVALID,
                          "-4/--ipv4 with -6/--ipv6: accepted is one of the two; none is both");
    char text[UNITS_TEXT];
    if (p->dns_refresh_ns != 0 && p->dns_refresh_ns < NS_PER_SEC)
        return errmsg_set(msg, ERR_RANGE,
                          "--dns-refresh %s: accepted is 0, or a time from 1s to 24h",
                          units_format_duration(p->dns_refresh_ns, text));
    enum err e = check_list(&p->resolve, "resolve", PLAN_ROUTES_MAX, fits_resolve, msg);
    if (e == ERR_OK)
        e = check_list(&p->connect_to, "connect-to", PLAN_ROUTES_MAX, fits_detour, msg);
    if (e == ERR_OK)
        e = check_list(&p->source_ip, "source-ip", PLAN_SOURCES_MAX, are_addresses, msg);
    if (e == ERR_OK)
        e = check_unix(p, msg);
    return e == ERR_OK ? check_proxy(p, msg) : e;
}

/* --- the way ---------------------------------------------------------------------------------- */

/* An empty field stands for any. */
static bool is(const struct field *f, const char *text)
{
    return f->len == 0 || (strlen(text) == f->len && strncasecmp(f->text, text, f->len) == 0);
}

static void set(char *to, size_t cap, const struct field *f)
{
    if (f->len > 0)
        snprintf(to, cap, "%.*s", (int)f->len, f->text);
}

static void take_detour(const struct plan *p, struct route *r)
{
    for (size_t i = 0; i < p->connect_to.n; i++) {
        struct detour d;
        if (!parse_detour(p->connect_to.items[i], &d) || !is(&d.host, r->host) ||
            !is(&d.port, r->port))
            continue;
        r->renamed = d.to_host.len > 0;
        set(r->host, sizeof r->host, &d.to_host);
        set(r->port, sizeof r->port, &d.to_port);
        return;
    }
}

/* The last one wins, as later options do. */
static void take_addresses(const struct plan *p, struct route *r)
{
    for (size_t i = 0; i < p->resolve.n; i++) {
        struct resolve found;
        if (!parse_resolve(p->resolve.items[i], &found) || !is(&found.port, r->port))
            continue;
        if (!is(&found.host, r->host) && found.host.text[0] != '*')
            continue;
        size_t n = 0;
        for (const char *c = found.addresses; *c != '\0'; c++)
            if (*c != '[' && *c != ']')
                r->addresses[n++] = *c;
        r->addresses[n] = '\0';
        r->fixed = true;
    }
}

void plan_route(const struct plan *p, const char *host, const char *port, struct route *out)
{
    struct url_parts u;
    *out = (struct route){.unix_path = p->unix_socket};
    snprintf(out->host, sizeof out->host, "%s", host);
    snprintf(out->port, sizeof out->port, "%s", port);
    if (p->unix_socket != NULL)
        return;
    if (p->proxy != NULL && url_parse(p->proxy, &u, NULL) == ERR_OK) {
        out->proxy = true;
        out->renamed = true;
        snprintf(out->host, sizeof out->host, "%s", u.host);
        snprintf(out->port, sizeof out->port, "%s", u.port);
        url_clear(&u);
    } else {
        take_detour(p, out);
    }
    take_addresses(p, out);
}
