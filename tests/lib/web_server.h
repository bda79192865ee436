/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_WEB_SERVER_H
#define HAMMER_TESTS_WEB_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/lib/process.h"
#include "tests/lib/test_pki.h"

/*
 * The web servers that people use, each in a folder of its own on free ports of 127.0.0.1, for
 * HTTP and HTTPS, with a log of which port was asked, what the status was, and the client's port.
 * All answer 404 to /missing and 200 to /. Failures abort the check test. One thread.
 */

struct web_server_kind {
    const char *name, *program, *package;
    const char *conf; /* in tests/data/servers; @...@ is filled in */
    const char *args[8];
    bool light; /* the default run has it */
    bool json;  /* its log is JSON objects */
    bool stdout_log;
};

extern const struct web_server_kind web_server_kinds[];
extern const size_t web_server_kinds_n;

/* NULL = not known. */
const struct web_server_kind *web_server_kind(const char *name);
bool web_server_installed(const struct web_server_kind *kind);

struct web_server {
    const struct web_server_kind *kind;
    struct process process;
    char dir[64];
    char log[96];
    unsigned http, https;
};

/* Returns once it listens. The certificate is `server` of that pki. */
void web_server_start(struct web_server *s, const struct web_server_kind *kind,
                      const struct test_pki *pki);
/* Ends it in order, so that its log is whole. */
void web_server_stop(struct web_server *s);
/* Removes its folder. */
void web_server_remove(struct web_server *s);

struct web_server_count {
    size_t requests, ok, missing; /* by status 200 and 404; others are in requests alone */
    size_t connections;           /* different ports of clients */
};

/* What its log says of one of its ports. After web_server_stop. */
void web_server_count(const struct web_server *s, unsigned port, struct web_server_count *out);

/* One that nobody has now. */
unsigned web_server_free_port(void);

#endif
