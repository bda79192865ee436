/* SPDX-License-Identifier: MIT */
#include "agent/client/expectation.h"

#include <stdio.h>
#include <string.h>

#include "common/libcrypto.h"
#include "common/mem.h"

#define KEPT_MIN     4096
#define SEARCHED_MAX (2 * EXPECT_REGEX_BYTES)

static enum err make_regex(struct expectation *e, struct errmsg *msg)
{
    char why[128];
    if (expect_compile(e->body.text, &e->regex, why, sizeof why) != ERR_OK)
        return errmsg_set(msg, ERR_INVALID, "--expect-body: %s", why);
    e->regex_made = true;
    e->searched = 0;
    return ERR_OK;
}

static enum err init_body(struct expectation *e, const char *body, struct errmsg *msg)
{
    if (expect_body_parse(body, &e->body) != ERR_OK)
        return errmsg_set(msg, ERR_INVALID, "--expect-body: not a form that is accepted");
    return e->body.kind == EXPECT_REGEX ? make_regex(e, msg) : ERR_OK;
}

enum err expectation_init(struct expectation *e, const char *status, const char *body,
                          struct errmsg *msg)
{
    *e = (struct expectation){.any_status = status == NULL};
    if (status != NULL && expect_status_parse(status, &e->status) != ERR_OK)
        return errmsg_set(msg, ERR_INVALID, "--expect-status: not a list that is accepted");
    return body != NULL ? init_body(e, body, msg) : ERR_OK;
}

void expectation_clear(struct expectation *e)
{
    if (e->regex_made)
        regfree(&e->regex);
    *e = (struct expectation){.any_status = true};
}

void expectation_begin(const struct expectation *e, struct expect_seen *s)
{
    s->len = 0;
    s->matched = 0;
    s->differs = false;
    if (e->body.kind != EXPECT_DIGEST)
        return;
    if (s->digest == NULL)
        s->digest = EVP_MD_CTX_new();
    s->differs = s->digest == NULL || EVP_DigestInit_ex(s->digest, EVP_sha256(), NULL) != 1;
}

/* With a NUL behind: regexec needs none, but who looks over its shoulder does. */
static void keep(struct expect_seen *s, const char *bytes, size_t len)
{
    size_t room = EXPECT_REGEX_BYTES - s->len;
    len = len < room ? len : room;
    if (s->len + len > s->cap || s->kept == NULL) {
        s->cap = s->cap == 0 ? KEPT_MIN : s->cap;
        while (s->cap < s->len + len)
            s->cap *= 2;
        s->kept = mem_realloc(s->kept, s->cap + 1, 1); /* and a NUL: see found() */
    }
    memcpy(s->kept + s->len, bytes, len);
    s->len += len;
    s->kept[s->len] = '\0';
}

static void compare(const struct expect_body *b, struct expect_seen *s, const char *bytes,
                    size_t len)
{
    s->differs =
        s->differs || len > b->len - s->matched || memcmp(b->text + s->matched, bytes, len) != 0;
    if (!s->differs)
        s->matched += len;
}

void expectation_bytes(const struct expectation *e, struct expect_seen *s, const char *bytes,
                       size_t len)
{
    if (e->body.kind == EXPECT_REGEX)
        keep(s, bytes, len);
    else if (e->body.kind == EXPECT_TEXT)
        compare(&e->body, s, bytes, len);
    else if (e->body.kind == EXPECT_DIGEST && !s->differs)
        s->differs = EVP_DigestUpdate(s->digest, bytes, len) != 1;
}

static bool same_digest(const struct expect_body *b, struct expect_seen *s)
{
    uint8_t got[EVP_MAX_MD_SIZE];
    return EVP_DigestFinal_ex(s->digest, got, NULL) == 1 &&
           memcmp(got, b->sha256, EXPECT_SHA256) == 0;
}

/* A matcher keeps each state it has ever been in: made anew now and then, it cannot grow for as
 * long as a run lasts. */
static bool found(struct expectation *e, struct expect_seen *s)
{
    if (s->kept != NULL)
        s->kept[s->len] = '\0';
    regmatch_t where = {.rm_so = 0, .rm_eo = (regoff_t)s->len};
    if (e->searched > SEARCHED_MAX) {
        regfree(&e->regex);
        e->regex_made = false;
        if (make_regex(e, NULL) != ERR_OK)
            return false;
    }
    e->searched += s->len;
    return e->regex_made &&
           regexec(&e->regex, s->len > 0 ? s->kept : "", 1, &where, REG_STARTEND) == 0;
}

static bool body_is_good(struct expectation *e, struct expect_seen *s)
{
    if (s->differs)
        return false;
    if (e->body.kind == EXPECT_TEXT)
        return s->matched == e->body.len;
    if (e->body.kind == EXPECT_DIGEST)
        return same_digest(&e->body, s);
    return e->body.kind == EXPECT_ANY || found(e, s);
}

int expectation_judge(struct expectation *e, struct expect_seen *s, int status)
{
    if (!e->any_status && !e->status.codes[status])
        return status;
    return body_is_good(e, s) ? EXPECT_MET : EXPECT_DIFF;
}

void expectation_seen_clear(struct expect_seen *s)
{
    mem_free(s->kept);
    EVP_MD_CTX_free(s->digest);
    *s = (struct expect_seen){0};
}

void expectation_text(int code, char *buf, size_t cap)
{
    if (code == EXPECT_DIFF)
        snprintf(buf, cap, "expectation: body");
    else
        snprintf(buf, cap, "expectation: status %d", code);
}
