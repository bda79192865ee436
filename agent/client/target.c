/* SPDX-License-Identifier: MIT */
#include "agent/client/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "agent/client/netaddr.h"

void target_addr_text(const struct target_addr *a, char *buf, size_t cap)
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
    target_addr_text(&out->addrs[0], out->text, sizeof out->text);
    return ERR_OK;
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
