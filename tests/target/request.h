/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_REQUEST_H
#define HAMMER_TARGET_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PURE: finds the next request in received bytes. */

/* A header block over this is refused. */
#define HTTPD_REQUEST_HEAD_MAX 65536

enum httpd_request_found {
    HTTPD_REQUEST_PARTIAL, /* the head is not complete yet */
    HTTPD_REQUEST_HEAD,    /* `out` is filled; out->head_len bytes were the head, body_len follow */
    HTTPD_REQUEST_BAD      /* not HTTP/1.x, or a body whose length is not told by Content-Length */
};

struct httpd_request {
    const char *path; /* points into the bytes given */
    size_t path_len;
    size_t head_len;
    uint64_t body_len;
    bool is_head; /* method HEAD: the response has no body */
    bool http10;  /* may not be answered in chunks */
    bool closes;  /* the connection ends with the response */
    bool expects; /* waits for 100 Continue before it sends the body */
};

enum httpd_request_found httpd_request_find(const char *bytes, size_t len,
                                            struct httpd_request *out);

#endif
