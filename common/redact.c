/* SPDX-License-Identifier: MIT */
#include "common/redact.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

/* A longer name is taken for a secret's unread. */
#define NAME_MAX_LEN 128

/* Text that is cut at its room; cutting is safe because no secret ever gets in. */
struct out {
    char *buf;
    size_t cap, len;
};

static void put(struct out *o, const char *text, size_t len)
{
    for (size_t i = 0; i < len && o->len + 1 < o->cap; i++)
        o->buf[o->len++] = text[i];
}

static void put_redacted(struct out *o)
{
    put(o, REDACTED, sizeof REDACTED - 1);
}

static void put_end(struct out *o)
{
    if (o->cap > 0)
        o->buf[o->len] = '\0';
}

/* --- names ---------------------------------------------------------------------------------- */

/* Wherever they stand in a name, its separators left out: "X-Api-Key", "apiKey", "api_key". */
static const char *const anywhere[] = {
    "apikey",        "accesskey", "authkey",    "privatekey", "subscriptionkey",
    "authorization", "token",     "secret",     "passw",      "passphrase",
    "passcode",      "pwd",       "credential", "signature",  "session",
    "cookie",        "jwt",       "bearer",
};

/* Only as a word of their own: "monkey" and "author" are no secrets. A header's "key" is mostly
 * none either (Idempotency-Key, Surrogate-Key). */
static const char *const url_words[] = {"-key-", "-sig-", "-auth-", "-pass-", "-pw-",
                                        "-sid-", "-otp-", "-hmac-", "-psk-"};
static const char *const header_words[] = {"-auth-", "-pass-", "-pw-", "-sid-", "-otp-", "-psk-"};

/* A name made comparable: lower-case letters and digits only, and the same with '-' around each
 * word. */
struct name {
    char joined[NAME_MAX_LEN + 1];
    char words[2 * NAME_MAX_LEN + 3];
    size_t n_joined, n_words;
    bool too_long, lower_before;
};

static void name_break(struct name *n)
{
    if (n->n_words == 0 || n->words[n->n_words - 1] != '-')
        n->words[n->n_words++] = '-';
    n->lower_before = false;
}

static void name_add(struct name *n, unsigned char c)
{
    if (c >= 0x80 || !isalnum(c)) {
        name_break(n);
        return;
    }
    if (n->n_joined == NAME_MAX_LEN) {
        n->too_long = true;
        return;
    }
    if (isupper(c) && n->lower_before)
        name_break(n);
    n->joined[n->n_joined++] = n->words[n->n_words++] = (char)tolower(c);
    n->lower_before = !isupper(c);
}

static unsigned char hex_byte(const char *p)
{
    char digits[3] = {p[0], p[1], '\0'};
    return (unsigned char)strtoul(digits, NULL, 16);
}

/* "t%6Fken" is "token" to the server, so it is here. */
static void name_read(struct name *n, const char *text, size_t len)
{
    *n = (struct name){.n_joined = 0};
    name_break(n);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && len - i > 2 && isxdigit((unsigned char)text[i + 1]) &&
            isxdigit((unsigned char)text[i + 2])) {
            name_add(n, hex_byte(text + i + 1));
            i += 2;
        } else {
            name_add(n, (unsigned char)text[i]);
        }
    }
    name_break(n);
}

static bool name_is_secret(const struct name *n, const char *const *words, size_t n_words)
{
    if (n->too_long)
        return true;
    for (size_t i = 0; i < N_OF(anywhere); i++)
        if (strstr(n->joined, anywhere[i]) != NULL)
            return true;
    for (size_t i = 0; i < n_words; i++)
        if (strstr(n->words, words[i]) != NULL)
            return true;
    return false;
}

static bool is_secret_key(const char *key, size_t len)
{
    struct name n;
    name_read(&n, key, len);
    return name_is_secret(&n, url_words, N_OF(url_words));
}

static void trim(const char **text, size_t *len)
{
    while (*len > 0 && ((*text)[0] == ' ' || (*text)[0] == '\t')) {
        (*text)++;
        (*len)--;
    }
    while (*len > 0 && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
        (*len)--;
}

static bool is_listed(const char *name, size_t len, const char *list)
{
    while (list != NULL && *list != '\0') {
        const char *item = list;
        size_t item_len = strcspn(list, ",");
        list += item_len + (list[item_len] == ',');
        trim(&item, &item_len);
        if (item_len > 0 && item_len == len && strncasecmp(item, name, len) == 0)
            return true;
    }
    return false;
}

bool redact_is_secret_header(const char *name, size_t len, const char *extra)
{
    struct name n;
    trim(&name, &len);
    name_read(&n, name, len);
    return name_is_secret(&n, header_words, N_OF(header_words)) || is_listed(name, len, extra);
}

/* --- URLs ----------------------------------------------------------------------------------- */

/* "host", "host:", "host:80", "[::1]:80". An empty port is no good one here: "http:/user:..." */
static bool port_is_good(const char *host, const char *end)
{
    const char *bracket = *host == '[' ? memchr(host, ']', (size_t)(end - host)) : NULL;
    const char *from = bracket != NULL ? bracket : host;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    if (colon == NULL)
        return true;
    for (const char *p = colon + 1; p < end; p++)
        if (*p < '0' || *p > '9')
            return false;
    return colon + 1 < end;
}

/* The '@' that ends the user information of the authority at `start`; `start` itself when there is
 * none. A password may hold an unescaped '/' or '@': where there is one, or where the port makes no
 * sense, it goes up to the last '@' of the text. */
static const char *userinfo_end(const char *start)
{
    const char *end = start + strcspn(start, "/?#");
    if (memchr(start, '@', (size_t)(end - start)) == NULL && port_is_good(start, end))
        return start;
    const char *last = strrchr(start, '@');
    return last != NULL ? last : start;
}

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("-_.~%[]$+", c) != NULL);
}

/* Length of the "=", or of the "%3D" of a URL within the URL, whose last byte is p; 0 = none. */
static size_t equals_until(const char *key, const char *p)
{
    if (*p == '=')
        return 1;
    return p - key >= 2 && strncasecmp(p - 2, "%3D", 3) == 0 ? 3 : 0;
}

/* "SCHEME://" in front: the text's beginning is then no authority. */
static bool has_scheme(const char *url)
{
    const char *p = url;
    while (isalnum((unsigned char)*p) || (*p != '\0' && strchr("+-.", *p) != NULL))
        p++;
    return p > url && strncmp(p, "://", 3) == 0;
}

struct url_scan {
    const char *authority; /* where the next one begins */
    const char *key;       /* where the key in front of the next '=' begins */
    const char *hidden;    /* nothing before this is shown */
};

static void hide(struct url_scan *s, const char *until)
{
    if (until > s->hidden)
        s->hidden = until;
}

/* Returns whether the byte at p is shown. All rules see all bytes, hidden ones too. A secret's
 * value ends at '&' only: it may hold any other byte. */
static bool scan_byte(struct url_scan *s, const char *p)
{
    if (strncmp(p, "://", 3) == 0)
        s->authority = p + 3 + strspn(p + 3, "/\\");
    if (p == s->authority)
        hide(s, userinfo_end(p));
    bool shown = p >= s->hidden;
    size_t equals = equals_until(s->key, p);
    if (equals > 0 && is_secret_key(s->key, (size_t)(p + 1 - s->key) - equals))
        hide(s, p + 1 + strcspn(p + 1, "&"));
    if (equals > 0 || !is_key_char(*p))
        s->key = p + 1;
    return shown;
}

/* One pass into 9 bytes for each of the text's and a NUL. */
static void redact_once(const char *url, char *to)
{
    struct url_scan s = {.key = url, .hidden = url};
    bool shown_before = true;
    s.authority = has_scheme(url) ? NULL : url + strspn(url, "/\\");
    for (const char *p = url; *p != '\0'; p++) {
        bool shown = scan_byte(&s, p);
        if (shown)
            *to++ = *p;
        else if (shown_before)
            to = stpcpy(to, REDACTED);
        shown_before = shown;
    }
    *to = '\0';
}

/* What is left may read in another way than the whole did ("?a@b" is a query only as long as the
 * '?' is there), so it is read again until nothing changes. Each pass hides bytes of the text, so
 * there is an end. */
void redact_url(const char *url, char *buf, size_t cap)
{
    struct out o = {.buf = buf, .cap = cap};
    size_t size = (sizeof REDACTED) * (strlen(url) + 2);
    char *now = mem_calloc(size, 1), *next = mem_calloc(size, 1);
    redact_once(url, next);
    do {
        char *swap = now;
        now = next;
        next = swap;
        redact_once(now, next);
    } while (strcmp(now, next) != 0);
    put(&o, now, strlen(now));
    put_end(&o);
    mem_free(next);
    mem_free(now);
}

/* --- headers -------------------------------------------------------------------------------- */

/* "Bearer eyJ..." under whatever name. */
static bool has_scheme_word(const char *value)
{
    static const char *const words[] = {"Bearer ", "Basic ", "Digest ", "Token ", "ApiKey "};
    for (size_t i = 0; i < N_OF(words); i++)
        if (strncasecmp(value, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* "Authorization Basic dXNlcg:" has a colon, but what is in front of it is no name. */
static bool is_name(const char *name, size_t len)
{
    trim(&name, &len);
    for (size_t i = 0; i < len; i++)
        if (name[i] <= ' ' || name[i] >= 0x7f || strchr("\"(),/;<=>?@[\\]{}", name[i]) != NULL)
            return false;
    return true;
}

void redact_header(const char *line, const char *extra, char *buf, size_t cap)
{
    struct out o = {.buf = buf, .cap = cap};
    const char *colon = strchr(line, ':');
    if (colon == NULL || !is_name(line, (size_t)(colon - line))) { /* where is the secret? */
        if (*line != '\0')
            put_redacted(&o);
        put_end(&o);
        return;
    }
    size_t name_len = (size_t)(colon - line);
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    put(&o, line, (size_t)(value - line));
    if (*value == '\0') {
        put_end(&o);
    } else if (redact_is_secret_header(line, name_len, extra) || has_scheme_word(value)) {
        put_redacted(&o);
        put_end(&o);
    } else if (cap > 0) { /* a Referer holds a URL */
        redact_url(value, buf + o.len, cap - o.len);
    }
}
