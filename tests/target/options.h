/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TARGET_OPTIONS_H
#define HAMMER_TARGET_OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Command line of hammer-target. Parsed by hand on purpose: the server that judges hammer in tests
 * shares as little code with it as it can.
 */

/* A listening address; loopback only. */
struct httpd_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } sa;
    socklen_t len;
};

/* A share of all responses in parts per million; 1 000 000 = each. */
#define HTTPD_EACH UINT32_C(1000000)

struct httpd_options {
    struct httpd_address listen;
    const char *port_file; /* NULL = none; points into argv, like log_file */
    const char *log_file;
    uint64_t pause_ns; /* the whole server stops this long ... */
    uint64_t every;    /* ... before each response whose number is a multiple of this; 0 = never */
    uint64_t freeze_at_ns; /* from the first request; NS_NEVER = no freeze */
    uint64_t freeze_for_ns;
    uint64_t delay_ns;    /* added to each response */
    uint64_t slow_ns;     /* added to the slow share */
    uint32_t slow_ppm;    /* 0 = none */
    uint32_t status;      /* of the status share; the others get 200 */
    uint32_t status_ppm;  /* 0 = all 200 */
    uint64_t close_every; /* close after so many responses of a connection; 0 = never */
    bool announce_close;  /* say so in a Connection header */
    uint64_t body_size;   /* bytes */
    bool chunked;         /* answer with Transfer-Encoding: chunked */
    uint64_t requests;    /* stop after so many responses; 0 = no limit */
    uint64_t lifetime_ns; /* stop after this time in any case */
    bool help;            /* print the help and stop */
};

/* Fills `o` with defaults and argv. ERR_INVALID: `msg` names the flag, the value and what is
 * accepted. */
enum err httpd_options_parse(int argc, char *const *argv, struct httpd_options *o,
                             struct errmsg *msg) MUST_CHECK;

/* The text of --help. */
const char *httpd_options_help(void);

/* "127.0.0.1:8080" or "[::1]:0". Any address but loopback is ERR_INVALID. */
enum err httpd_address_parse(const char *text, struct httpd_address *out,
                             struct errmsg *msg) MUST_CHECK;

/* Longest text of an address with its port, NUL included. */
#define HTTPD_ADDRESS_TEXT 64
void httpd_address_format(const struct httpd_address *a, char buf[HTTPD_ADDRESS_TEXT]);

#endif
