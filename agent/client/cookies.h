/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_AGENT_COOKIES_H
#define HAMMER_AGENT_COOKIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The cookies of one connection, as RFC 6265 has them, but each goes back to the host that set it
 * only: Domain may not name another one, and widens nothing. At most COOKIES_MAX and COOKIES_BYTES;
 * a new one pushes out the oldest. No I/O; memory is taken when the first cookie comes.
 */

#define COOKIES_MAX   20
#define COOKIES_BYTES 4096 /* of names, values and paths together */
#define COOKIES_LINE  (COOKIES_BYTES + 3 * COOKIES_MAX)

struct cookie {
    uint32_t host; /* number of the host that set it */
    uint16_t name_len, value_len, path_len;
    bool secure;
    uint64_t until_s; /* since the epoch; UINT64_MAX = as long as the jar */
};

struct cookie_jar {
    size_t n, used;
    struct cookie each[COOKIES_MAX]; /* oldest first */
    char *bytes;                     /* name, value, path of each in turn; owned */
};

/* Where a response came from, or a request goes to. */
struct cookie_place {
    uint32_t host; /* a number for each host name, whatever the port */
    const char *name;
    const char *path; /* of the request; a query is not looked at */
    size_t path_len;
    bool tls;
    uint64_t now_s;
};

/* The value of a Set-Cookie field. What is no cookie is ignored. */
void cookies_set(struct cookie_jar *j, const struct cookie_place *from, const char *value,
                 size_t len);
/* "a=1; b=2", the longest paths first; how many bytes, 0 = none. line has COOKIES_LINE bytes. */
size_t cookies_line(const struct cookie_jar *j, const struct cookie_place *to, char *line);
void cookies_clear(struct cookie_jar *j);

/* Seconds since the epoch of an Expires attribute (RFC 6265 section 5.1.1), 0 for what lies before
 * it; false: no date. */
bool cookie_date(const char *text, size_t len, uint64_t *s);

#endif
