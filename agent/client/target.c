/* SPDX-License-Identifier: MIT */
#include "agent/client/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void address_text(const struct target_addr *a, char *buf, size_t cap)
{
    char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";
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

enum err target_resolve(const char *host, const char *port, struct target *out, struct errmsg *msg)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    memset(out, 0, sizeof *out);
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return errmsg_set(msg, ERR_NOT_FOUND, "cannot resolve %s: %s", host,
                          rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    keep(out, list);
    freeaddrinfo(list);
    if (out->n == 0)
        return errmsg_set(msg, ERR_NOT_FOUND, "cannot resolve %s: no address", host);
    address_text(&out->addrs[0], out->text, sizeof out->text);
    return ERR_OK;
}

static bool forbidden_v4(uint32_t host_order)
{
    return (host_order >> 16) == 0xA9FE; /* 169.254/16: link-local, cloud metadata */
}

static bool forbidden_v6(const struct in6_addr *a)
{
    /* The one metadata service that is not link-local: fd00:ec2::254. */
    static const uint8_t metadata[16] = {0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54};
    if (IN6_IS_ADDR_LINKLOCAL(a) || memcmp(a, metadata, sizeof metadata) == 0)
        return true;
    uint32_t v4;
    memcpy(&v4, &a->s6_addr[12], sizeof v4);
    return (IN6_IS_ADDR_V4MAPPED(a) || IN6_IS_ADDR_V4COMPAT(a)) && forbidden_v4(ntohl(v4));
}

static bool forbidden(const struct target_addr *a)
{
    if (a->sa.ss_family == AF_INET)
        return forbidden_v4(ntohl(((const struct sockaddr_in *)&a->sa)->sin_addr.s_addr));
    if (a->sa.ss_family == AF_INET6)
        return forbidden_v6(&((const struct sockaddr_in6 *)&a->sa)->sin6_addr);
    return true;
}

enum err target_check(const struct target *t, struct errmsg *msg)
{
    for (size_t i = 0; i < t->n; i++) {
        if (!forbidden(&t->addrs[i]))
            continue;
        char text[sizeof t->text];
        address_text(&t->addrs[i], text, sizeof text);
        return errmsg_set(msg, ERR_REFUSED,
                          "target %s: link-local and metadata addresses are never a target", text);
    }
    return ERR_OK;
}
