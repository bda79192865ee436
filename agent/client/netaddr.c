/* SPDX-License-Identifier: MIT */
#include "agent/client/netaddr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V4(a, b, c, d, n)                                                                          \
    {                                                                                              \
        {AF_INET, {a, b, c, d}}, n                                                                 \
    }
#define V6(n, ...)                                                                                 \
    {                                                                                              \
        {AF_INET6, {__VA_ARGS__}}, n                                                               \
    }

/* Where clouds keep the credentials of a machine, and what never leaves a link. */
static const struct prefix reserved[] = {
    V4(169, 254, 0, 0, 16),
    V4(100, 100, 100, 200, 32), /* Alibaba Cloud */
    V4(168, 63, 129, 16, 32),   /* Azure */
    V4(192, 0, 0, 192, 32),     /* Oracle Cloud */
    V6(10, 0xfe, 0x80),
    V6(128, 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54), /* Amazon: fd00:ec2::254 */
    V6(128, 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54), /* Google: fd20:ce::254 */
};

/* RFC 6890 and RFC 5771, without what is only documentation. */
static const struct prefix private[] = {
    V4(0, 0, 0, 0, 8),
    V4(10, 0, 0, 0, 8),
    V4(100, 64, 0, 0, 10),
    V4(127, 0, 0, 0, 8),
    V4(172, 16, 0, 0, 12),
    V4(192, 0, 0, 0, 24),
    V4(192, 168, 0, 0, 16),
    V4(198, 18, 0, 0, 15),
    V4(224, 0, 0, 0, 3),
    V6(127, 0),
    V6(7, 0xfc),
    V6(10, 0xfe, 0xc0),
    V6(8, 0xff),
};

/* IPv6 addresses that carry an IPv4 one, and at which bytes. */
static const struct {
    struct prefix prefix;
    uint8_t at[4];
    uint8_t flip; /* Teredo's bytes are inverted */
} carriers[] = {
    {V6(96, 0), {12, 13, 14, 15}, 0},                                  /* compatible */
    {V6(96, [8] = 0xff, 0xff), {12, 13, 14, 15}, 0},                   /* SIIT, RFC 2765 */
    {V6(96, 0x00, 0x64, 0xff, 0x9b), {12, 13, 14, 15}, 0},             /* NAT64, RFC 6052 */
    {V6(48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), {12, 13, 14, 15}, 0}, /* NAT64, RFC 8215 */
    {V6(48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), {6, 7, 9, 10}, 0},    /* the same as a /48 */
    {V6(16, 0x20, 0x02), {2, 3, 4, 5}, 0},                             /* 6to4, RFC 3056 */
    {V6(32, 0x20, 0x01), {12, 13, 14, 15}, 0xff},                      /* Teredo, RFC 4380 */
};

#define N(table) (sizeof(table) / sizeof((table)[0]))

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    uint8_t mask = (uint8_t)(0xff00u >> rest);
    return rest == 0 || ((a[whole] ^ b[whole]) & mask) == 0;
}

bool prefix_covers(const struct prefix *p, const struct netaddr *a)
{
    return a->family != 0 && p->addr.family == a->family &&
           same_prefix(p->addr.bytes, a->bytes, p->bits);
}

static void add_v4(struct netaddr out[NETADDR_REACHES_MAX], size_t *n, const uint8_t bytes[4])
{
    static const uint8_t any[4] = {0}, self[4] = {127, 0, 0, 1};
    if (*n < NETADDR_REACHES_MAX) {
        out[*n] = (struct netaddr){.family = AF_INET};
        memcpy(out[(*n)++].bytes, bytes, 4);
    }
    if (memcmp(bytes, any, 4) == 0)
        add_v4(out, n, self);
}

static size_t reaches_v6(const struct in6_addr *six, struct netaddr out[NETADDR_REACHES_MAX])
{
    static const uint8_t isatap[3] = {0x00, 0x5e, 0xfe};
    size_t n = 0;
    if (IN6_IS_ADDR_V4MAPPED(six)) {
        add_v4(out, &n, &six->s6_addr[12]);
        return n;
    }
    struct netaddr *self = &out[n++];
    *self = (struct netaddr){.family = AF_INET6};
    memcpy(self->bytes, six->s6_addr, 16);
    if (IN6_IS_ADDR_UNSPECIFIED(six)) {
        out[n] = *self;
        out[n++].bytes[15] = 1;
    } else if ((six->s6_addr[8] & 0xfd) == 0 && memcmp(&six->s6_addr[9], isatap, 3) == 0) {
        add_v4(out, &n, &six->s6_addr[12]);
    }
    for (size_t i = 0; i < N(carriers) && !IN6_IS_ADDR_LOOPBACK(six); i++) {
        if (!prefix_covers(&carriers[i].prefix, self) || IN6_IS_ADDR_UNSPECIFIED(six))
            continue;
        uint8_t four[4];
        for (size_t k = 0; k < 4; k++)
            four[k] = six->s6_addr[carriers[i].at[k]] ^ carriers[i].flip;
        add_v4(out, &n, four);
    }
    return n;
}

size_t netaddr_reaches(const struct sockaddr *sa, struct netaddr out[NETADDR_REACHES_MAX])
{
    size_t n = 0;
    if (sa->sa_family == AF_INET) {
        add_v4(out, &n, (const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr);
        return n;
    }
    if (sa->sa_family == AF_INET6)
        return reaches_v6(&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, out);
    out[0] = (struct netaddr){0};
    return 1;
}

uint16_t netaddr_port(const struct sockaddr *sa)
{
    if (sa->sa_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)sa)->sin_port);
    if (sa->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)sa)->sin6_port);
    return 0;
}

const char *netaddr_text(const struct netaddr *a, char buf[NETADDR_TEXT])
{
    if (a->family == 0 || inet_ntop(a->family, a->bytes, buf, NETADDR_TEXT) == NULL)
        snprintf(buf, NETADDR_TEXT, "an address of an unknown kind");
    return buf;
}

static unsigned bits_of(int family)
{
    return family == AF_INET6 ? 128 : 32;
}

static enum err parse_bits(const char *text, unsigned most, unsigned *bits)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > most)
        return ERR_INVALID;
    *bits = (unsigned)n;
    return ERR_OK;
}

/* The kernel goes to the IPv4 address, so that is what a rule has to speak of. */
static void unmap(struct prefix *p)
{
    struct in6_addr six;
    memcpy(&six, p->addr.bytes, sizeof six);
    if (p->addr.family != AF_INET6 || p->bits < 96 || !IN6_IS_ADDR_V4MAPPED(&six))
        return;
    p->bits -= 96;
    p->addr = (struct netaddr){.family = AF_INET};
    memcpy(p->addr.bytes, &six.s6_addr[12], 4);
}

enum err prefix_parse(const char *text, struct prefix *out)
{
    struct prefix p = {.addr.family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};
    const char *slash = strchr(text, '/');
    size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
    char addr[NETADDR_TEXT];
    if (len >= sizeof addr)
        return ERR_INVALID;
    memcpy(addr, text, len);
    addr[len] = '\0';
    if (inet_pton(p.addr.family, addr, p.addr.bytes) != 1)
        return ERR_INVALID;
    p.bits = bits_of(p.addr.family);
    if (slash != NULL && parse_bits(slash + 1, p.bits, &p.bits) != ERR_OK)
        return ERR_INVALID;
    unmap(&p);
    *out = p;
    return ERR_OK;
}

bool prefix_has_host_bits(const struct prefix *p)
{
    for (unsigned i = p->bits; i < bits_of(p->addr.family); i++)
        if ((p->addr.bytes[i / 8] & (0x80u >> i % 8)) != 0)
            return true;
    return false;
}

const char *prefix_text(const struct prefix *p, char buf[NETADDR_TEXT])
{
    char addr[NETADDR_TEXT];
    snprintf(buf, NETADDR_TEXT, "%.48s/%u", netaddr_text(&p->addr, addr), p->bits);
    return buf;
}

const struct prefix *netaddr_reserved(const struct netaddr *a)
{
    for (size_t i = 0; i < N(reserved); i++)
        if (prefix_covers(&reserved[i], a))
            return &reserved[i];
    return NULL;
}

bool netaddr_private(const struct netaddr *a)
{
    for (size_t i = 0; i < N(private); i++)
        if (prefix_covers(&private[i], a))
            return true;
    return netaddr_reserved(a) != NULL;
}
