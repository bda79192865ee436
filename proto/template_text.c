/* SPDX-License-Identifier: MIT */
#include "proto/template_text.h"

#include <string.h>

#include "common/units.h"

#define OPEN   "{{"
#define CLOSE  "}}"
#define BRACES 2

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static enum err refuse(const struct template_piece *p, const char *why, struct errmsg *msg)
{
    char text[UNITS_SHOWN], shown[UNITS_SHOWN];
    size_t len = p->len < sizeof text ? p->len : sizeof text - 1;
    memcpy(text, p->text, len);
    text[len] = '\0';
    return errmsg_set(msg, ERR_INVALID, "template %s: %s; " TEMPLATE_ACCEPTED,
                      units_format_shown(text, shown), why);
}

bool template_word(struct template_scan *args, const char **word, size_t *len)
{
    while (args->at < args->end && is_blank(*args->at))
        args->at++;
    *word = args->at;
    while (args->at < args->end && !is_blank(*args->at))
        args->at++;
    *len = (size_t)(args->at - *word);
    return *len > 0;
}

static struct template_scan args_of(const struct template_piece *p)
{
    return (struct template_scan){p->args, p->args + p->args_len};
}

/* --- one placeholder's arguments ------------------------------------------------------------ */

static const char *check_none(struct template_piece *p)
{
    return p->args_len == 0 ? NULL : "takes no argument";
}

/* Of at most 18 digits: nothing overflows. */
static bool take_number(struct template_scan *args, uint64_t *out)
{
    const char *word;
    size_t len;
    uint64_t n = 0;
    if (!template_word(args, &word, &len) || len > 18)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (word[i] < '0' || word[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(word[i] - '0');
    }
    *out = n;
    return true;
}

static const char *check_rand(struct template_piece *p)
{
    struct template_scan args = args_of(p);
    if (!take_number(&args, &p->low) || !take_number(&args, &p->high) || args.at != args.end)
        return "takes two whole numbers of at most 18 digits";
    return p->low <= p->high ? NULL : "its first number is the larger one";
}

static const char *check_pick(struct template_piece *p)
{
    struct template_scan args = args_of(p);
    const char *word;
    size_t len, n = 0;
    while (template_word(&args, &word, &len))
        n++;
    if (n == 0)
        return "takes one or more words";
    return n <= TEMPLATE_PICK_MAX ? NULL : "takes at most 1024 words";
}

static const char *check_line(struct template_piece *p)
{
    if (p->args_len == 0 || p->args_len > TEMPLATE_NAME_MAX)
        return "takes the name of a file";
    for (size_t i = 0; i < p->args_len; i++)
        if ((unsigned char)p->args[i] < ' ' || p->args[i] == 0x7f)
            return "a control character in the name of a file";
    return NULL;
}

static bool is_name_char(char c, bool first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!first && c >= '0' && c <= '9');
}

static const char *check_env(struct template_piece *p)
{
    for (size_t i = 0; i < p->args_len; i++)
        if (!is_name_char(p->args[i], i == 0))
            return "takes the name of an environment variable";
    return p->args_len > 0 && p->args_len <= TEMPLATE_NAME_MAX
               ? NULL
               : "takes the name of an environment variable";
}

static const struct {
    const char *word;
    enum template_kind kind;
    const char *(*check)(struct template_piece *p); /* NULL = good, else what is wrong */
} words[] = {
    {"seq", TEMPLATE_SEQ, check_none},   {"rand", TEMPLATE_RAND, check_rand},
    {"pick", TEMPLATE_PICK, check_pick}, {"uuid", TEMPLATE_UUID, check_none},
    {"line", TEMPLATE_LINE, check_line}, {"env", TEMPLATE_ENV, check_env},
};

/* --- the text ------------------------------------------------------------------------------- */

static void take_args(struct template_piece *p, const char *from, const char *to)
{
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    p->args = from;
    p->args_len = (size_t)(to - from);
}

static enum err take_placeholder(struct template_scan *s, struct template_piece *p,
                                 struct errmsg *msg)
{
    const char *inside = s->at + BRACES;
    const char *close = memmem(inside, (size_t)(s->end - inside), CLOSE, BRACES);
    p->len = (size_t)((close != NULL ? close + BRACES : s->end) - p->text);
    if (close == NULL)
        return refuse(p, "\"}}\" is missing", msg);
    struct template_scan words_in = {inside, close};
    const char *word, *why = "unknown";
    size_t len;
    (void)template_word(&words_in, &word, &len);
    take_args(p, words_in.at, close);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) != len || memcmp(words[i].word, word, len) != 0)
            continue;
        p->kind = words[i].kind;
        why = words[i].check(p);
    }
    s->at = close + BRACES;
    return why == NULL ? ERR_OK : refuse(p, why, msg);
}

enum err template_next(struct template_scan *s, struct template_piece *out, bool *more,
                       struct errmsg *msg)
{
    size_t left = (size_t)(s->end - s->at);
    *out = (struct template_piece){.kind = TEMPLATE_LITERAL, .text = s->at, .len = left};
    *more = left > 0;
    if (left == 0)
        return ERR_OK;
    const char *open = memmem(s->at, left, OPEN, BRACES);
    if (open == s->at)
        return take_placeholder(s, out, msg);
    if (open != NULL)
        out->len = (size_t)(open - s->at);
    s->at += out->len;
    return ERR_OK;
}

bool template_is_in(const void *text, size_t len)
{
    return len > 0 && memmem(text, len, OPEN, BRACES) != NULL;
}
