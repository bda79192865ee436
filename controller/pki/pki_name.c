/* SPDX-License-Identifier: MIT */
#include "controller/pki/pki_name.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"

#define LABEL_MAX 63
#define ACCEPTED  "accepted is a DNS host name such as agent-1 or load1.example.org"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter_or_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Numbers that look like an address ("10.1", "127.0.0.1") are none in DNS either: the last label of
 * a host name is not numeric (RFC 3696). */
static bool is_address(const char *text)
{
    struct in6_addr six;
    const char *dot = strrchr(text, '.'), *last = dot != NULL ? dot + 1 : text;
    if (inet_pton(AF_INET6, text, &six) == 1 || text[0] == '[')
        return true;
    return last[0] != '\0' && strspn(last, "0123456789") == strlen(last);
}

/* What is wrong with the label; NULL = nothing. */
static const char *label_problem(const char *label, size_t len)
{
    if (len == 0)
        return "a part between dots is empty";
    if (len > LABEL_MAX)
        return "a part between dots is longer than 63 characters";
    for (size_t i = 0; i < len; i++)
        if (!is_letter_or_digit(label[i]) && label[i] != '-')
            return "only letters, digits, '-' and '.' are allowed";
    if (label[0] == '-' || label[len - 1] == '-')
        return "a part between dots begins or ends with '-'";
    return NULL;
}

static const char *problem_of(const char *text, size_t max)
{
    if (text[0] == '\0')
        return "a name is needed";
    if (is_address(text))
        return "IP addresses are not matched, only DNS names are";
    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ".");
        const char *problem = label_problem(at, len);
        if (problem != NULL)
            return problem;
        at += len;
        if (*at == '\0')
            break;
    }
    if (strlen(text) > max)
        return max == PKI_NAME_MAX ? "longer than 63 characters" : "longer than 253 characters";
    return NULL;
}

static enum err parse(const char *what, const char *text, size_t max, char *out, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    const char *problem = problem_of(text, max);
    if (problem != NULL)
        return errmsg_set(msg, ERR_INVALID, "%s %s: %s; " ACCEPTED, what,
                          units_format_shown(text, shown), problem);
    size_t i = 0;
    for (; text[i] != '\0'; i++) {
        out[i] = text[i];
        if (text[i] >= 'A' && text[i] <= 'Z')
            out[i] = (char)(text[i] - 'A' + 'a');
    }
    out[i] = '\0';
    return ERR_OK;
}

enum err pki_name_parse(const char *what, const char *text, char out[PKI_NAME_MAX + 1],
                        struct errmsg *msg)
{
    return parse(what, text, PKI_NAME_MAX, out, msg);
}

enum err pki_dns_parse(const char *what, const char *text, char out[PKI_DNS_MAX + 1],
                       struct errmsg *msg)
{
    return parse(what, text, PKI_DNS_MAX, out, msg);
}
