/* SPDX-License-Identifier: MIT */
#include "controller/run/inventory.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/redact.h"
#include "common/units.h"

#define HOST_MAX     INVENTORY_HOST_MAX
#define IPC_PATH_MAX 107 /* sun_path with its NUL */
#define ITEM_MAX     512

enum scheme {
    ANY, /* none given */
    PLAIN,
    TLS,
    IPC
};

/* One item on its way: `text` is cut in place, from both ends inwards. */
struct item {
    const char *shown; /* the whole item for messages */
    char text[ITEM_MAX];
    struct inventory_agent agent;
    enum scheme scheme;
    char host[HOST_MAX + 1]; /* canonical, with brackets */
    char place[112];         /* HOST:PORT */
    bool loopback, ip;
    struct errmsg *msg;
};

static enum err refuse(const struct item *it, const char *why)
{
    return errmsg_set(it->msg, ERR_INVALID, "--agents %s: %s", it->shown, why);
}

/* 0 = not a decimal number from 1 to max. */
static uint32_t small_number(const char *s, uint32_t max)
{
    uint32_t v = 0;
    if (*s == '\0')
        return 0;
    for (; *s != '\0'; s++) {
        if (*s < '0' || *s > '9')
            return 0;
        v = v * 10 + (uint32_t)(*s - '0');
        if (v > max)
            return 0;
    }
    return v;
}

static bool is_name(const char *s)
{
    for (const char *c = s; *c != '\0'; c++)
        if (!((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
              *c == '-' || *c == '.' || *c == '_'))
            return false;
    return *s != '\0';
}

/* "...*WEIGHT" */
static enum err cut_weight(struct item *it)
{
    char *star = strrchr(it->text, '*');
    it->agent.weight = 1;
    if (star == NULL)
        return ERR_OK;
    *star = '\0';
    it->agent.weight = small_number(star + 1, INVENTORY_WEIGHT_MAX);
    if (it->agent.weight == 0)
        return refuse(it, "weight; accepted is HOST[:PORT]*WEIGHT with a weight from 1 to 1000");
    return ERR_OK;
}

/* "NAME@..."; *rest = what follows. */
static enum err cut_name(struct item *it, char **rest)
{
    char *scheme = strstr(it->text, "://"), *at = strchr(it->text, '@');
    *rest = it->text;
    if (at == NULL || (scheme != NULL && scheme < at))
        return ERR_OK;
    *at = '\0';
    *rest = at + 1;
    if (!is_name(it->text) || strlen(it->text) >= sizeof it->agent.name)
        return refuse(it, "name; accepted is NAME@HOST[:PORT] with letters, digits, '.', '-' and "
                          "'_', at most 63");
    memcpy(it->agent.name, it->text, strlen(it->text) + 1);
    return ERR_OK;
}

static enum err read_ipc(struct item *it, char *path)
{
    size_t len = strlen(path);
    it->loopback = true;
    for (const char *c = path; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return refuse(it, "space, control or non-ASCII character; accepted is ipc:///PATH");
    if (*path != '/' || len < 2 || len > IPC_PATH_MAX)
        return refuse(it, "path; accepted is ipc:///PATH with an absolute path of at most 107 "
                          "bytes");
    snprintf(it->agent.address, sizeof it->agent.address, "ipc://%s", path);
    snprintf(it->agent.url, sizeof it->agent.url, "ipc://%s", path);
    return ERR_OK;
}

/* "[ADDRESS]" */
static enum err read_ipv6(struct item *it, const char *text)
{
    struct in6_addr a;
    char canonical[INET6_ADDRSTRLEN];
    if (inet_pton(AF_INET6, text, &a) != 1)
        return refuse(it, "not an IPv6 address; accepted is [ADDRESS][:PORT] such as [::1]:7400");
    inet_ntop(AF_INET6, &a, canonical, sizeof canonical);
    snprintf(it->host, sizeof it->host, "[%s]", canonical);
    it->ip = true;
    it->loopback = IN6_IS_ADDR_LOOPBACK(&a);
    return ERR_OK;
}

static enum err read_host(struct item *it, const char *text)
{
    struct in_addr a;
    size_t len = strlen(text);
    if (!is_name(text) || len > HOST_MAX)
        return refuse(it, "host; accepted is HOST[:PORT] with a name or an address of at most 100 "
                          "characters");
    for (size_t i = 0; i <= len; i++)
        it->host[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
    it->ip = inet_pton(AF_INET, it->host, &a) == 1;
    if (!it->ip && strspn(it->host, "0123456789.") == len)
        return refuse(it, "not an IPv4 address; accepted is four numbers such as 127.0.0.1:7400");
    it->loopback = it->ip ? ntohl(a.s_addr) >> 24 == 127 : strcmp(it->host, "localhost") == 0;
    return ERR_OK;
}

/* Parts the host from ":PORT"; *port stays NULL when there is none. */
static enum err cut_port(struct item *it, char *text, char **port)
{
    char *colon = strchr(text, ':');
    *port = NULL;
    if (*text == '[') {
        char *end = strchr(text, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return refuse(it, "brackets; accepted is [ADDRESS][:PORT] such as [::1]:7400");
        *end = '\0';
        colon = end[1] == ':' ? end + 1 : NULL;
    } else if (colon != NULL && strchr(colon + 1, ':') != NULL) {
        return refuse(it, "an IPv6 address needs brackets; accepted is [ADDRESS][:PORT] such as "
                          "[::1]:7400");
    }
    if (colon != NULL) {
        *colon = '\0';
        *port = colon + 1;
    }
    return ERR_OK;
}

static enum err read_tcp(struct item *it, char *text)
{
    char *port_text;
    enum err e = cut_port(it, text, &port_text);
    if (e != ERR_OK)
        return e;
    uint32_t port = INVENTORY_DEFAULT_PORT;
    if (port_text != NULL)
        port = small_number(port_text, UINT16_MAX);
    if (port == 0)
        return refuse(it, "port; accepted is HOST[:PORT] with a port from 1 to 65535");
    e = *text == '[' ? read_ipv6(it, text + 1) : read_host(it, text);
    if (e != ERR_OK)
        return e;
    snprintf(it->place, sizeof it->place, "%s:%" PRIu32, it->host, port);
    return ERR_OK;
}

static enum err read_address(struct item *it, char *text)
{
    static const struct {
        const char *text;
        enum scheme scheme;
        enum err (*read)(struct item *it, char *text);
    } schemes[] = {
        {"tcp://", PLAIN, read_tcp}, {"tls+tcp://", TLS, read_tcp}, {"ipc://", IPC, read_ipc}};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i].text);
        it->scheme = schemes[i].scheme;
        if (strncmp(text, schemes[i].text, len) == 0)
            return schemes[i].read(it, text + len);
    }
    it->scheme = ANY;
    if (strstr(text, "://") != NULL)
        return refuse(it, "unknown transport; accepted is HOST[:PORT], tcp://HOST[:PORT], "
                          "tls+tcp://HOST[:PORT] or ipc:///PATH");
    return read_tcp(it, text);
}

static enum err settle_plain(struct item *it, bool insecure)
{
    if (it->agent.name[0] != '\0')
        return refuse(it, "only TLS can check a name; accepted is NAME@HOST[:PORT] or "
                          "NAME@tls+tcp://HOST[:PORT]");
    if (it->scheme == IPC)
        return ERR_OK;
    if (!it->loopback && !insecure)
        return refuse(it, "plain tcp to another host; accepted is HOST[:PORT] or "
                          "tls+tcp://HOST[:PORT], which use TLS, or any with --insecure-agents "
                          "(anyone on the way can read and change it)");
    snprintf(it->agent.address, sizeof it->agent.address, "%s", it->place);
    snprintf(it->agent.url, sizeof it->agent.url, "tcp://%s", it->place);
    return ERR_OK;
}

static enum err settle_tls(struct item *it)
{
    bool named = it->agent.name[0] != '\0';
    if (!named && it->ip)
        return refuse(it, "TLS checks the name in the agent's certificate, and an IP address is "
                          "none; accepted is NAME@ADDRESS[:PORT], or plain tcp with "
                          "--insecure-agents");
    snprintf(it->agent.server_name, sizeof it->agent.server_name, "%s",
             named ? it->agent.name : it->host);
    snprintf(it->agent.address, sizeof it->agent.address, "tls+tcp://%s", it->place);
    snprintf(it->agent.url, sizeof it->agent.url, "tls+tcp://%s", it->place);
    return ERR_OK;
}

static enum err read_item(struct item *it, bool insecure)
{
    char *rest;
    enum err e = cut_weight(it);
    if (e == ERR_OK)
        e = cut_name(it, &rest);
    if (e == ERR_OK)
        e = read_address(it, rest);
    if (e != ERR_OK)
        return e;
    bool wanted = it->agent.name[0] != '\0' || (!it->loopback && !insecure);
    if (it->scheme == TLS || (it->scheme == ANY && wanted))
        return settle_tls(it);
    return settle_plain(it, insecure);
}

static void add(struct inventory *inv, const struct inventory_agent *agent)
{
    inv->agents = mem_realloc(inv->agents, inv->n + 1, sizeof *inv->agents);
    inv->agents[inv->n++] = *agent;
}

/* Without the transport: the same port by TLS and without it is one agent. */
static const char *place(const char *url)
{
    return strstr(url, "://") + 3;
}

static enum err add_item(struct inventory *inv, const struct item *it)
{
    for (size_t i = 0; i < inv->n; i++)
        if (strcmp(place(inv->agents[i].url), place(it->agent.url)) == 0)
            return refuse(it, "given twice; accepted is each agent once (use *WEIGHT for a larger "
                              "share)");
    if (inv->n >= INVENTORY_MAX)
        return refuse(it, "one too many; accepted is at most 1024 agents");
    add(inv, &it->agent);
    return ERR_OK;
}

/* For messages: without user information, which no address takes but which somebody may have
 * written. NAME@ is none. */
static void show_item(const char *text, char buf[UNITS_SHOWN])
{
    char shown[ITEM_MAX], name[ITEM_MAX];
    size_t len = strcspn(text, "@");
    snprintf(name, sizeof name, "%.*s", (int)len, text);
    if (text[len] != '@' || !is_name(name))
        len = 0;
    else
        len++;
    memcpy(shown, text, len);
    redact_url(text + len, shown + len, sizeof shown - len);
    units_format_shown(shown, buf);
}

/* One item of the list, blanks around it ignored. */
static enum err parse_item(struct inventory *inv, const char *text, size_t len, bool insecure,
                           struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    struct item it = {.shown = shown, .msg = msg};
    for (; len > 0 && *text == ' '; len--)
        text++;
    while (len > 0 && text[len - 1] == ' ')
        len--;
    snprintf(it.text, sizeof it.text, "%.*s", (int)(len < ITEM_MAX ? len : ITEM_MAX - 1), text);
    show_item(it.text, shown);
    if (len == 0)
        return refuse(&it, "empty item; accepted is [NAME@]HOST[:PORT][*WEIGHT], comma-separated");
    if (len >= ITEM_MAX)
        return refuse(&it, "too long; accepted is [NAME@]HOST[:PORT][*WEIGHT], comma-separated");
    enum err e = read_item(&it, insecure);
    return e == ERR_OK ? add_item(inv, &it) : e;
}

enum err inventory_parse(const char *text, int insecure, struct inventory *out, struct errmsg *msg)
{
    *out = (struct inventory){0};
    for (;;) {
        size_t len = strcspn(text, ",");
        enum err e = parse_item(out, text, len, insecure != 0, msg);
        if (e != ERR_OK) {
            inventory_clear(out);
            return e;
        }
        if (text[len] == '\0')
            return ERR_OK;
        text += len + 1;
    }
}

void inventory_add(struct inventory *inv, const char *address, const char *url, uint32_t weight)
{
    struct inventory_agent agent = {.weight = weight};
    snprintf(agent.address, sizeof agent.address, "%s", address);
    snprintf(agent.url, sizeof agent.url, "%s", url);
    add(inv, &agent);
}

bool inventory_uses_tls(const struct inventory *inv)
{
    for (size_t i = 0; i < inv->n; i++)
        if (inv->agents[i].server_name[0] != '\0')
            return true;
    return false;
}

void inventory_clear(struct inventory *inv)
{
    mem_free(inv->agents);
    *inv = (struct inventory){0};
}
