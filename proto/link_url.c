/* SPDX-License-Identifier: MIT */
#include "proto/link_url.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "common/redact.h"

#define ACCEPTED "accepted: tcp://HOST:PORT, tcp://[IPV6]:PORT, tls+tcp://HOST:PORT, ipc:///PATH"

static const char tcp_scheme[] = "tcp://";
static const char tls_scheme[] = "tls+tcp://";
static const char ipc_scheme[] = "ipc://";

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"
#define IPV6_CHARS "0123456789abcdefABCDEF:."
#define HOST_MAX   253
#define SHOWN      200

static const char *after(const char *url, const char *scheme)
{
    size_t n = strlen(scheme);
    return strncmp(url, scheme, n) == 0 ? url + n : NULL;
}

const char *link_url_path(const char *url)
{
    return after(url, ipc_scheme);
}

bool link_url_tls(const char *url)
{
    return after(url, tls_scheme) != NULL;
}

const char *link_url_stream(const char *url)
{
    return link_url_tls(url) ? url + strlen(tls_scheme) - strlen(tcp_scheme) : url;
}

static enum err check_path(const char *shown, const char *path, struct errmsg *msg)
{
    const size_t max = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (path[0] != '/' || path[1] == '\0')
        return errmsg_set(msg, ERR_INVALID, "address \"%s\": the path must be absolute (%s)", shown,
                          ACCEPTED);
    if (strlen(path) > max)
        return errmsg_set(msg, ERR_INVALID,
                          "address \"%s\": the path has %zu bytes, a socket's path at most %zu",
                          shown, strlen(path), max);
    return ERR_OK;
}

/* End of the host part (its ':'), NULL when the host is not acceptable. */
static const char *skip_host(const char *host, enum link_url_use use)
{
    if (host[0] == '[') {
        size_t n = strspn(host + 1, IPV6_CHARS);
        return n >= 2 && host[1 + n] == ']' ? host + n + 2 : NULL;
    }
    if (use == LINK_URL_LISTEN && (host[0] == ':' || strncmp(host, "*:", 2) == 0))
        return strchr(host, ':');
    size_t n = strspn(host, NAME_CHARS);
    return n > 0 && n <= HOST_MAX ? host + n : NULL;
}

static bool port_is_good(const char *text, enum link_url_use use)
{
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 5 || text[n] != '\0' || (n > 1 && text[0] == '0'))
        return false;
    unsigned long port = 0;
    for (size_t i = 0; i < n; i++)
        port = port * 10 + (unsigned long)(text[i] - '0');
    return port <= 65535 && (port > 0 || use == LINK_URL_LISTEN);
}

static enum err check_host(const char *shown, const char *host, enum link_url_use use,
                           struct errmsg *msg)
{
    const char *end = skip_host(host, use);
    if (strchr(host, '@') != NULL)
        return errmsg_set(msg, ERR_INVALID, "address \"%s\": no user information is accepted (%s)",
                          shown, ACCEPTED);
    if (end == NULL || (*end != ':' && *end != '\0'))
        return errmsg_set(msg, ERR_INVALID, "address \"%s\": no usable host (%s)", shown, ACCEPTED);
    if (*end == '\0')
        return errmsg_set(msg, ERR_INVALID, "address \"%s\": the port is missing (%s)", shown,
                          ACCEPTED);
    if (!port_is_good(end + 1, use))
        return errmsg_set(msg, ERR_INVALID, "address \"%s\": port \"%s\" is not in %d..65535",
                          shown, end + 1, use == LINK_URL_DIAL);
    return ERR_OK;
}

/* Nobody's user information belongs into an address, so none is in what messages say of it. */
enum err link_url_check(const char *url, enum link_url_use use, struct errmsg *msg)
{
    char shown[SHOWN];
    const char *host = after(url, link_url_tls(url) ? tls_scheme : tcp_scheme);
    const char *path = link_url_path(url);
    redact_url(url, shown, sizeof shown);
    if (host != NULL)
        return check_host(shown, host, use, msg);
    if (path != NULL)
        return check_path(shown, path, msg);
    return errmsg_set(msg, ERR_INVALID, "address \"%s\": unknown scheme (%s)", shown, ACCEPTED);
}

void link_url_label(const char *url, char *buf, size_t cap)
{
    const char *rest = strstr(url, "://");
    if (rest == NULL)
        snprintf(buf, cap, "%s", url);
    else
        snprintf(buf, cap, "%.*s %s", (int)(rest - url), url, rest + 3);
}

void link_url_with_port(const char *url, unsigned port, char *buf, size_t cap)
{
    const char *colon = strrchr(url, ':');
    if (link_url_path(url) != NULL || colon == NULL)
        snprintf(buf, cap, "%s", url);
    else
        snprintf(buf, cap, "%.*s:%u", (int)(colon - url), url, port);
}
