/* SPDX-License-Identifier: MIT */
#include "proto/expect.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEAT_MAX 1000 /* of all intervals of an expression, multiplied */
#define GROUPS_MAX 100
#define DIGEST     "sha256:"

/* ---- status -------------------------------------------------------------------------------- */

static bool three_digits(const char *s, unsigned *code)
{
    for (size_t i = 0; i < 3; i++)
        if (s[i] < '0' || s[i] > '9')
            return false;
    *code = (unsigned)(s[0] - '0') * 100 + (unsigned)(s[1] - '0') * 10 + (unsigned)(s[2] - '0');
    return *code >= EXPECT_STATUS_MIN && *code <= EXPECT_STATUS_MAX;
}

/* One item of the list, len bytes. */
static bool range_of(const char *s, size_t len, unsigned *from, unsigned *to)
{
    if (len == 3 && s[0] >= '1' && s[0] <= '5' && (s[1] | 32) == 'x' && (s[2] | 32) == 'x') {
        *from = (unsigned)(s[0] - '0') * 100;
        *to = *from + 99;
        return true;
    }
    if (len == 3) {
        bool good = three_digits(s, from);
        *to = *from;
        return good;
    }
    return len == 7 && s[3] == '-' && three_digits(s, from) && three_digits(s + 4, to) &&
           *from <= *to;
}

enum err expect_status_parse(const char *text, struct expect_status *out)
{
    *out = (struct expect_status){{false}};
    for (;;) {
        size_t len = strcspn(text, ",");
        unsigned from = 0, to = 0;
        if (!range_of(text, len, &from, &to))
            return ERR_INVALID;
        for (unsigned code = from; code <= to; code++)
            out->codes[code] = true;
        if (text[len] == '\0')
            return ERR_OK;
        text += len + 1;
    }
}

/* ---- body ---------------------------------------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_digest(const char *s, uint8_t out[EXPECT_SHA256])
{
    if (strlen(s) != (size_t)2 * EXPECT_SHA256)
        return false;
    for (size_t i = 0; i < EXPECT_SHA256; i++) {
        int high = hex((char)tolower((unsigned char)s[2 * i]));
        int low = hex((char)tolower((unsigned char)s[2 * i + 1]));
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

enum err expect_body_parse(const char *text, struct expect_body *out)
{
    size_t len = strlen(text);
    *out = (struct expect_body){.kind = EXPECT_REGEX, .text = text, .len = len};
    if (len == 0 || len > EXPECT_BODY_TEXT)
        return ERR_INVALID;
    if (text[0] == '=') {
        out->kind = EXPECT_TEXT;
        out->text++;
        out->len--;
    } else if (strncmp(text, DIGEST, strlen(DIGEST)) == 0) {
        out->kind = EXPECT_DIGEST;
        return read_digest(text + strlen(DIGEST), out->sha256) ? ERR_OK : ERR_INVALID;
    }
    return ERR_OK;
}

/* The interval after a '{': its larger number, 1 if there is none. */
static unsigned long interval(const char *s)
{
    char *end;
    unsigned long low = strtoul(s, &end, 10), high = 0;
    if (*end == ',')
        high = strtoul(end + 1, NULL, 10);
    low = low > high ? low : high;
    return low > 0 ? low : 1;
}

/* Nested intervals multiply; whether these are nested is not asked. */
static const char *unbounded(const char *s)
{
    unsigned long product = 1, groups = 0;
    for (; *s != '\0'; s++) {
        if (*s == '\\' && s[1] >= '1' && s[1] <= '9')
            return "a back-reference";
        if (*s == '\\' && s[1] != '\0')
            s++;
        else if (*s == '(' && ++groups > GROUPS_MAX)
            return "more than 100 groups";
        else if (*s == '{') {
            unsigned long n = interval(s + 1);
            if (n > REPEAT_MAX / product)
                return "repetitions of more than 1000 in all";
            product *= n;
        }
    }
    return NULL;
}

/* May what matches be of any length? */
static bool repeats(const char *s)
{
    return s[strcspn(s, "*+")] != '\0' || strstr(s, ",}") != NULL;
}

static enum err compile(const char *regex, regex_t *out, char *why, size_t cap)
{
    int rc = regcomp(out, regex, REG_EXTENDED | REG_NOSUB);
    if (rc == 0)
        return ERR_OK;
    regerror(rc, out, why, cap);
    return ERR_INVALID;
}

/* regexec begins anew at each byte, and where a repetition runs to the end each time that is the
 * square of the body's length: seconds for 64 KiB that a server has made up for it. With all that
 * may stand in front as a part of the expression it goes over the body once. */
enum err expect_compile(const char *regex, regex_t *out, char *why, size_t cap)
{
    char whole[EXPECT_BODY_TEXT + 32];
    const char *bad = unbounded(regex);
    if (bad != NULL) {
        snprintf(why, cap, "%s", bad);
        return ERR_INVALID;
    }
    enum err e = compile(regex, out, why, cap); /* by itself: its errors are the user's */
    if (e != ERR_OK || !repeats(regex))
        return e;
    regfree(out);
    snprintf(whole, sizeof whole, "^([^a]|a)*(%s)", regex);
    return compile(whole, out, why, cap);
}
