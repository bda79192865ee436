/* SPDX-License-Identifier: MIT */
#include "agent/client/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "agent/client/netaddr.h"

void target_addr_text(const struct target_addr *a, char *buf, size_t cap)
{
    char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";
    if (a->sa.ss_family == AF_UNIX) {
        snprintf(buf, cap, "unix:%s", ((const struct sockaddr_un *)(const void *)&a->sa)->sun_path);
        return;
    }
    getnameinfo((const struct sockaddr *)&a->sa, a->len, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(buf, cap, a->sa.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static bool known(const struct target *t, const struct addrinfo *ai)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->addrs[i].len == ai->ai_addrlen &&
            memcmp(&t->addrs[i].sa, ai->ai_addr, ai->ai_addrlen) == 0)
            return true;
    return false;
}

static void keep(struct target *t, const struct addrinfo *list)
{
    for (const struct addrinfo *ai = list; ai != NULL && t->n < TARGET_ADDRS_MAX;
         ai = ai->ai_next) {
        struct target_addr *a = &t->addrs[t->n];
        if (ai->ai_addrlen > sizeof a->sa || known(t, ai))
            continue;
        memcpy(&a->sa, ai->ai_addr, ai->ai_addrlen);
        a->len = ai->ai_addrlen;
        t->n++;
    }
}

static enum err resolve(const char *host, const char *port, int family, struct target *out,
                        struct errmsg *msg)
{
    struct addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return errmsg_set(msg, ERR_NOT_FOUND, "cannot resolve %s: %s", host,
                          rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    keep(out, list);
    freeaddrinfo(list);
    return out->n > 0 ? ERR_OK
                      : errmsg_set(msg, ERR_NOT_FOUND, "cannot resolve %s: no address", host);
}

size_t target_parse_addresses(const char *list, const char *port, struct target_addr *out,
                              size_t max)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST};
    size_t n = 0;
    while (*list != '\0' && n < max) {
        char host[INET6_ADDRSTRLEN + 1];
        size_t len = strcspn(list, ",");
        struct addrinfo *found = NULL;
        snprintf(host, sizeof host, "%.*s", (int)len, list);
        if (getaddrinfo(host, port, &hints, &found) == 0) {
            memcpy(&out[n].sa, found->ai_addr, found->ai_addrlen);
            out[n++].len = found->ai_addrlen;
            freeaddrinfo(found);
        }
        list += len + (list[len] == ',');
    }
    return n;
}

static void keep_fixed(const struct route *r, int family, struct target *out)
{
    struct target_addr all[TARGET_ADDRS_MAX];
    size_t n = target_parse_addresses(r->addresses, r->port, all, TARGET_ADDRS_MAX);
    for (size_t i = 0; i < n; i++)
        if (family == AF_UNSPEC || family == all[i].sa.ss_family)
            out->addrs[out->n++] = all[i];
}

static void keep_unix(const char *path, struct target *out)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
    memcpy(&out->addrs[0].sa, &sa, sizeof sa);
    out->addrs[0].len = sizeof sa;
    out->n = 1;
}

enum err target_route(const struct route *r, int family, struct target *out, struct errmsg *msg)
{
    enum err e = ERR_OK;
    memset(out, 0, sizeof *out);
    if (r->unix_path != NULL)
        keep_unix(r->unix_path, out);
    else if (r->fixed)
        keep_fixed(r, family, out);
    else
        e = resolve(r->host, r->port, family, out, msg);
    if (e == ERR_OK && out->n == 0)
        e = errmsg_set(msg, ERR_NOT_FOUND, "--resolve has no IPv%d address for %s:%s",
                       family == AF_INET ? 4 : 6, r->host, r->port);
    if (e == ERR_OK)
        target_addr_text(&out->addrs[0], out->text, sizeof out->text);
    return e;
}

enum err target_resolve(const char *host, const char *port, struct target *out, struct errmsg *msg)
{
    struct route r = {0};
    snprintf(r.host, sizeof r.host, "%s", host);
    snprintf(r.port, sizeof r.port, "%s", port);
    return target_route(&r, AF_UNSPEC, out, msg);
}

static bool has(const struct target *t, const struct target_addr *a)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->addrs[i].len == a->len && memcmp(&t->addrs[i].sa, &a->sa, a->len) == 0)
            return true;
    return false;
}

bool target_same_addresses(const struct target *a, const struct target *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++)
        same = has(b, &a->addrs[i]);
    return same;
}

bool target_allows(const struct target *t, const struct sockaddr *sa)
{
    if (t->guard.allows != NULL)
        return t->guard.allows(t->guard.arg, sa);
    struct netaddr reached[NETADDR_REACHES_MAX];
    size_t n = netaddr_reaches(sa, reached);
    for (size_t i = 0; i < n; i++)
        if (reached[i].family == 0 || netaddr_reserved(&reached[i]) != NULL)
            return false;
    return true;
}
