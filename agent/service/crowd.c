/* SPDX-License-Identifier: MIT */
#include "agent/service/crowd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define ADDRESS_MAX 46
#define NETWORK     8 /* bytes of a /64 */

/* "tls+tcp [ADDRESS]:PORT" */
static bool network_of(const char *peer, unsigned char network[NETWORK])
{
    char text[ADDRESS_MAX];
    unsigned char bytes[16];
    const char *open = strchr(peer, '['), *close = strrchr(peer, ']');
    if (open == NULL || close == NULL || close < open || close - open > (int)sizeof text)
        return false;
    size_t len = (size_t)(close - open - 1);
    memcpy(text, open + 1, len);
    text[len] = '\0';
    if (inet_pton(AF_INET6, text, bytes) != 1 ||
        IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)bytes))
        return false;
    memcpy(network, bytes, NETWORK);
    return true;
}

/* What comes behind is the port, or nothing. */
static size_t host_len(const char *peer)
{
    const char *colon = strrchr(peer, ':');
    return colon != NULL ? (size_t)(colon - peer) : strlen(peer);
}

bool crowd_same_host(const char *a, const char *b)
{
    unsigned char na[NETWORK], nb[NETWORK];
    const char *ua = strstr(a, " uid "), *ub = strstr(b, " uid ");
    if (ua != NULL && ub != NULL)
        return strcmp(ua, ub) == 0;
    if (network_of(a, na) && network_of(b, nb))
        return memcmp(na, nb, NETWORK) == 0;
    return host_len(a) == host_len(b) && strncmp(a, b, host_len(a)) == 0;
}

size_t crowd_pick(const char *const *peers, size_t n)
{
    size_t pick = 0, most = 0;
    for (size_t i = n; i-- > 0;) { /* from the oldest on: a later host must have more */
        size_t same = 0;
        for (size_t k = 0; k < n; k++)
            same += crowd_same_host(peers[i], peers[k]);
        if (same > most) {
            most = same;
            pick = i;
        }
    }
    return pick;
}
