/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/target/options.h"

#define ACCEPTED "accepted is 127.0.0.1:PORT or [::1]:PORT (loopback only, port 0..65535)"

static bool parse_port(const char *text, in_port_t *port)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long n = strtoul(text, &end, 10);
    if (*end != '\0' || n > 65535)
        return false;
    *port = htons((uint16_t)n);
    return true;
}

static bool parse_v4(const char *host, const char *port, struct httpd_address *out)
{
    struct sockaddr_in *sin = &out->sa.v4;
    sin->sin_family = AF_INET;
    out->len = sizeof *sin;
    return inet_pton(AF_INET, host, &sin->sin_addr) == 1 &&
           ntohl(sin->sin_addr.s_addr) >> 24 == 127 && parse_port(port, &sin->sin_port);
}

static bool parse_v6(const char *host, const char *port, struct httpd_address *out)
{
    struct sockaddr_in6 *sin = &out->sa.v6;
    sin->sin6_family = AF_INET6;
    out->len = sizeof *sin;
    return inet_pton(AF_INET6, host, &sin->sin6_addr) == 1 &&
           IN6_IS_ADDR_LOOPBACK(&sin->sin6_addr) && parse_port(port, &sin->sin6_port);
}

enum err httpd_address_parse(const char *text, struct httpd_address *out, struct errmsg *msg)
{
    char host[64];
    bool v6 = text[0] == '[';
    const char *begin = v6 ? text + 1 : text;
    const char *end = strstr(begin, v6 ? "]:" : ":");
    *out = (struct httpd_address){0};
    if (end == NULL || (size_t)(end - begin) >= sizeof host)
        return errmsg_set(msg, ERR_INVALID, ACCEPTED);
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    if (v6 ? parse_v6(host, end + 2, out) : parse_v4(host, end + 1, out))
        return ERR_OK;
    return errmsg_set(msg, ERR_INVALID, ACCEPTED);
}

void httpd_address_format(const struct httpd_address *a, char buf[HTTPD_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "";
    bool v6 = a->sa.any.sa_family == AF_INET6;
    const void *ip = v6 ? (const void *)&a->sa.v6.sin6_addr : (const void *)&a->sa.v4.sin_addr;
    unsigned port = ntohs(v6 ? a->sa.v6.sin6_port : a->sa.v4.sin_port);
    inet_ntop(a->sa.any.sa_family, ip, host, sizeof host);
    snprintf(buf, HTTPD_ADDRESS_TEXT, v6 ? "[%s]:%u" : "%s:%u", host, port);
}
