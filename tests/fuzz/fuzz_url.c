/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "agent/client/request.h"
#include "common/mem.h"
#include "tests/fuzz/fuzz.h"

/* The input is a URL. What is refused says why in printable ASCII; what is accepted holds nothing
 * that could break a request apart, parses to itself when put together again, and compiles. */

static void check_refusal(const struct errmsg *msg)
{
    FUZZ_CHECK(msg->text[0] != '\0');
    for (const char *p = msg->text; *p != '\0'; p++)
        FUZZ_CHECK(*p >= ' ' && *p < 0x7f);
}

static void check_parts(const struct url_parts *u)
{
    FUZZ_CHECK(strcmp(u->scheme, u->tls ? "https" : "http") == 0);
    FUZZ_CHECK(u->host[0] != '\0' && u->port[0] >= '1' && u->port[0] <= '9');
    FUZZ_CHECK(strpbrk(u->host, "[]@/?# \r\n") == NULL);
    FUZZ_CHECK(u->path_query[0] == '/');
    for (const char *p = u->path_query; *p != '\0'; p++)
        FUZZ_CHECK(*p > ' ' && *p < 0x7f && *p != '#' && *p != '{');
}

static void check_again(const struct url_parts *u)
{
    size_t cap = strlen(u->path_query) + sizeof u->host + 32;
    char *url = mem_calloc(cap, 1);
    struct url_parts again;
    snprintf(url, cap, u->ipv6_literal ? "%s://[%s]:%s%s" : "%s://%s:%s%s", u->scheme, u->host,
             u->port, u->path_query);
    FUZZ_CHECK(url_parse(url, &again, NULL) == ERR_OK);
    FUZZ_CHECK(strcmp(u->host, again.host) == 0 && strcmp(u->port, again.port) == 0);
    FUZZ_CHECK(strcmp(u->path_query, again.path_query) == 0);
    FUZZ_CHECK(u->ipv6_literal == again.ipv6_literal && u->tls == again.tls);
    url_clear(&again);
    mem_free(url);
}

static void check_request(const struct url_parts *u)
{
    struct plan p = {.method = NULL};
    struct request r;
    FUZZ_CHECK(request_compile(&p, u, &r, NULL) == ERR_OK);
    FUZZ_CHECK(memmem(r.bytes, r.len, "\r\n\r\n", 4) == r.bytes + r.len - 4);
    FUZZ_CHECK(r.index_at == SIZE_MAX);
    request_clear(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *url = mem_dup(data, size);
    struct url_parts u;
    struct errmsg msg = {{0}};
    if (url_parse(url, &u, &msg) == ERR_OK) {
        check_parts(&u);
        check_again(&u);
        check_request(&u);
        url_clear(&u);
    } else {
        check_refusal(&msg);
    }
    mem_free(url);
    return 0;
}
