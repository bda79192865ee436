/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_PLAN_H
#define HAMMER_PROTO_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/option.h"
#include "common/units.h"
#include "proto/schedule.h"
#include "proto/template.h"
#include "proto/url.h"

/*
 * What is to be sent, by the user's words: one struct, one option row per member. The controller
 * fills it from flags, checks it and ships it whole; every agent gets the same bytes plus its part.
 */

#define PLAN_BODY_MAX        (4u << 20)
#define PLAN_HEADERS_MAX     64
#define PLAN_HEADER_LINE_MAX 8192
#define PLAN_URL_MAX         8192
#define PLAN_METHOD_MAX      32
#define PLAN_THREADS_MAX     256
#define PLAN_CONNECTIONS_MAX 1000000
#define PLAN_SPIN_AUTO       UINT64_MAX
#define PLAN_SPIN_MAX        UINT64_C(1000000000)
#define PLAN_QUANTUM_MIN     UINT64_C(50000)
#define PLAN_CACERT_MAX      (1u << 20)
#define PLAN_CERT_MAX        (64u << 10)
#define PLAN_KEY_MAX         (64u << 10)
#define PLAN_SNI_MAX         253
#define PLAN_QUANTUM_MAX     UINT64_C(1000000)
#define PLAN_ROWS_MAX        2048 /* threads of an agent times rows of figures: 800 KiB each */
#define PLAN_ENTRIES_MAX     10000
#define PLAN_REQUESTS_BYTES  (64u << 20) /* of all requests, as an agent keeps them */
#define PLAN_WEIGHT_MAX      1000000
#define PLAN_NAME_MAX        63
#define PLAN_FILES_MAX       64 /* that {{line}} reads */
#define PLAN_FILES_BYTES     (6u << 20)
#define PLAN_ENV_MAX         64
#define PLAN_ENV_BYTES       (64u << 10) /* of one variable */
#define PLAN_GIVEN_MAX       256
#define PLAN_FOLLOW_MAX      50

/* The oldest version of TLS to be spoken; 0 = not given: 1.2. */
enum plan_tls {
    PLAN_TLS_1_2 = 12,
    PLAN_TLS_1_3 = 13
};

enum plan_arrivals {
    PLAN_CONSTANT, /* evenly spaced */
    PLAN_POISSON
};
#define PLAN_SEED_DEFAULT 1

/* What becomes of a request that finds every connection busy. */
enum plan_on_full {
    PLAN_WAIT,
    PLAN_GROW, /* opens another one, up to max_connections, then waits */
    PLAN_DROP  /* is never sent */
};

/* Which request is sent for an index: see pick.h. */
enum plan_order {
    PLAN_ORDER_AUTO, /* by weight where there are weights, else sequential */
    PLAN_ORDER_SEQUENTIAL,
    PLAN_ORDER_WEIGHT,
    PLAN_ORDER_RANDOM
};

/* One of several requests (-f, --urls). What it does not say holds from the plan. */
struct plan_entry {
    char *name; /* of its row in the report; NULL = none */
    char *url;
    char *method;               /* NULL = the plan's */
    struct option_list headers; /* beside the plan's; each replaces the plan's of that name */
    uint8_t *body;              /* owned; NULL = the plan's */
    size_t body_len;
    uint32_t weight; /* >= 1 */
};

struct plan {
    char *url;                  /* of the only request; with entries their first one's */
    char *method;               /* token, RFC 9110 section 9.1; NULL until plan_check: GET, or POST
                                   with a body */
    struct option_list headers; /* "Name: value" as given, checked */
    char *data;                 /* --data; NULL = none; copied to body by plan_check, not shipped */
    char *body_file;            /* --body FILE; read into body by plan_check, not shipped */
    char *body_lines;           /* --body-lines FILE; the body is its {{line}}; not shipped */
    uint64_t body_size;         /* --body-size; made into body by plan_check, not shipped */
    uint8_t *body;              /* owned; NULL = none (an empty body is not NULL) */
    size_t body_len;
    char *cacert_file;   /* --cacert; read into cacert by plan_check, not shipped */
    char *cert_file;     /* --cert; the same */
    char *key_file;      /* --key: a secret's source, read by the caller; not shipped */
    uint8_t *cacert;     /* PEM; NULL = the system's CAs */
    uint8_t *cert, *key; /* PEM, both or neither; the key is wiped by plan_clear */
    size_t cacert_len, cert_len, key_len;
    char *sni;                  /* NULL = the URL's host */
    uint32_t tls_min;           /* enum plan_tls */
    bool insecure;              /* any certificate will do */
    bool tls_no_resume;         /* each handshake in full */
    struct rate rate_per_agent; /* of one of weight 1; num 0 = not given; not shipped: see rate */
    struct rate rate;     /* num 0 = not given: closed loop at full speed; with stages their peak */
    uint64_t duration_ns; /* NS_NEVER = not bounded by time; with stages their sum */
    uint64_t requests;    /* UINT64_MAX = not bounded by count */
    uint64_t timeout_ns;
    uint64_t interval_ns;
    uint64_t spin_ns;             /* before each due time; PLAN_SPIN_AUTO = the workers find out */
    uint64_t dispatch_quantum_ns; /* due requests leave at multiples of it; 0 = each on its own */
    uint32_t connections;         /* whole run; 0 = the default of plan_split */
    uint32_t threads;             /* per agent; 0 = the agent's default */
    bool forever;
    uint32_t arrivals; /* enum plan_arrivals */
    uint64_t seed;     /* of what is random */
    bool seed_set;
    uint32_t jitter;          /* of evenly spaced arrivals, parts per billion of the distance */
    uint64_t warmup_ns;       /* what is due before counts apart; 0 = nothing */
    uint32_t on_full;         /* enum plan_on_full */
    uint32_t max_connections; /* whole run, of PLAN_GROW; 0 = not given */
    bool closed_loop;         /* with a rate too, latencies are from the send alone */
    uint64_t think_min_ns, think_max_ns; /* of a closed loop, before a connection's next request */
    bool phases;                         /* instants of each request's phases are recorded */
    bool dump;                           /* agents send a row of each request, see dump.h */
    uint32_t n_stages;                   /* 0 = the rate is constant */
    struct stage stages[PROFILE_STAGES_MAX];
    struct plan_entry *entries; /* owned; NULL = the plan has one request: its own */
    size_t n_entries;
    bool no_keepalive;                /* a connection for each request */
    uint32_t requests_per_connection; /* then it is replaced; 0 = no limit */
    uint64_t connect_timeout_ns;      /* 0 = timeout_ns */
    bool ipv4, ipv6;                  /* addresses of that family only; neither = both */
    struct option_list resolve;       /* "HOST:PORT:ADDR[,ADDR]" */
    struct option_list connect_to;    /* "HOST1:PORT1:HOST2:PORT2" */
    struct option_list source_ip;     /* addresses, used in turn */
    char *unix_socket;                /* NULL = over the network */
    char *proxy;                      /* "http://HOST:PORT"; NULL = none */
    uint64_t dns_refresh_ns; /* names are looked up again so often; 0 = only before the start */
    char *expect_status;     /* NULL = any status will do */
    char *expect_body;       /* NULL = any body will do */
    uint32_t follow;         /* redirects in a row at most; 0 = none is followed */
    bool cookies;            /* each connection keeps and sends them */
    bool debug_request;      /* one request, shown with its response */
    bool name_entries;       /* those without a name get "METHOD /path"; not shipped */
    uint32_t order;          /* enum plan_order */
    bool no_templates, chunked, expect_continue; /* of every request */
    struct template_named *files;                /* owned; what {{line}} reads, by its name */
    struct template_named *env;                  /* owned; what {{env}} stands for: secrets */
    size_t n_files, n_env;
    bool duration_set, requests_set, connections_set, threads_set, rate_set, body_size_set,
        rate_per_agent_set, max_connections_set, requests_per_connection_set;
    struct option_list given; /* what was given, see option_given: for reports */
};

/* One agent's part of the plan, cut by the controller. */
struct plan_part {
    uint32_t total, first, weight; /* residues, see struct share */
    uint32_t connections;          /* this agent's, >= threads */
    uint32_t threads;
    uint32_t max_connections; /* of PLAN_GROW, >= connections; 0 = no more than connections */
};

/* Option rows of the plan; `target` of option_parse is a struct plan. */
const struct option_row *plan_options(size_t *n);

/* Overwrites *p with what holds before any option is given. */
void plan_defaults(struct plan *p);

/* After parsing: reads the body file, applies defaults that depend on others (-d 10s when neither
 * -d nor -n), refuses contradictions and CR, LF, NUL in method, path and headers. Every error names
 * the flag, the value and the accepted form. */
enum err plan_check(struct plan *p, struct errmsg *msg) MUST_CHECK;

/* Everything of plan_check that does not read files, on a plan already completed by it: for plans
 * that came over the wire. Looks at values only, never at the _set members. */
enum err plan_validate(const struct plan *p, struct errmsg *msg) MUST_CHECK;

/* With --rate-per-agent: the rate of the whole run is that of the agents that take part, of these
 * weights in sum. ERR_RANGE: more than a run may have. Before plan_check and once it is known. */
enum err plan_settle_rate(struct plan *p, uint64_t weights, struct errmsg *msg) MUST_CHECK;

/* --- requests -------------------------------------------------------------------------------- */

/* A request of the plan with all that holds for it. Borrowed from the plan. */
struct plan_request {
    const char *name; /* "" = none */
    const char *url;
    const char *method;
    const struct option_list *headers, *own; /* the plan's; the entry's, or NULL */
    const uint8_t *body;                     /* NULL = none */
    size_t body_len;
    uint32_t weight;
};

/* >= 1. */
size_t plan_request_count(const struct plan *p);
void plan_request_at(const struct plan *p, size_t i, struct plan_request *out);

/* A further entry: zeroed but for weight 1, to be filled in; the next call moves it. */
struct plan_entry *plan_add_entry(struct plan *p);
void plan_entry_clear(struct plan_entry *e);

/* "Name:" with nothing behind it: the header of that name is not sent at all. */
bool plan_header_removes(const char *line);

/* Are the bytes, of a URL, header or body, a template? Not with no_templates, nor what is no text:
 * a body with a NUL byte is sent as it is. */
bool plan_is_template(const struct plan *p, const void *bytes, size_t len);
/* Takes the URL of a request apart; unless no_templates, path and query may hold placeholders, and
 * path_query then has them as they are. */
enum err plan_url_parse(const struct plan *p, const char *url, struct url_parts *out,
                        struct errmsg *msg) MUST_CHECK;
/* The book for its templates; borrows the plan's files and variables. NULL with no_templates. */
enum err plan_book(const struct plan *p, struct template_book **out, struct errmsg *msg) MUST_CHECK;
/* Appends a text of the plan, as it is where it is no template. */
enum err plan_put_text(const struct plan *p, struct template_form *t,
                       const struct template_book *book, const void *text, size_t len,
                       enum template_place place, struct errmsg *msg) MUST_CHECK;

/* How long that text is at most; and (size may be NULL) the memory that it takes. */
enum err plan_text_max(const struct plan *p, const struct template_book *book, const void *text,
                       size_t len, enum template_place place, size_t *max, size_t *size,
                       struct errmsg *msg) MUST_CHECK;

/* Parts of plan_check and plan_validate. Where there are several requests, errors begin with which:
 * "request 3 (login): ". The first one reads the files of {{line}} and the environment. */
enum err plan_settle_requests(struct plan *p, struct errmsg *msg) MUST_CHECK;
enum err plan_check_requests(const struct plan *p, struct errmsg *msg) MUST_CHECK;

enum err plan_parse_order(const struct option_row *row, const char *value, void *target,
                          struct errmsg *msg);
/* What PLAN_ORDER_AUTO means here, else the plan's own. */
enum plan_order plan_order_of(const struct plan *p);
const char *plan_order_name(enum plan_order o); /* "sequential" "weight" "random" */

/* The rows of the report: each name once, in the order of the requests ("" where one has none).
 * of[i] (may be NULL) is the number of request i's. ERR_RANGE when there are more than `max`. */
enum err plan_names(const struct plan *p, size_t max, const char **names, size_t *n,
                    uint32_t *of) MUST_CHECK;
/* Names times stages, and the warm-up, against SNAPSHOT_SERIES_MAX. */
/* Rows of figures that each thread keeps: names times stages, and the warm-up. Of a plan whose
 * names are few enough. */
size_t plan_rows(const struct plan *p);
/* A thread each for so many rows: ERR_RANGE names both. */
enum err plan_check_rows(const struct plan *p, uint32_t threads, struct errmsg *msg) MUST_CHECK;
enum err plan_check_names(const struct plan *p, struct errmsg *msg) MUST_CHECK;

/* --- arrivals -------------------------------------------------------------------------------- */

enum err plan_parse_arrivals(const struct option_row *row, const char *value, void *target,
                             struct errmsg *msg);
enum err plan_parse_jitter(const struct option_row *row, const char *value, void *target,
                           struct errmsg *msg);
/* Does anything of the plan depend on the seed? */
bool plan_is_random(const struct plan *p);
enum err plan_check_arrivals(const struct plan *p, struct errmsg *msg) MUST_CHECK;
const char *plan_arrivals_name(const struct plan *p); /* "constant" "poisson" */

/* --- what is measured, and what if every connection is busy --------------------------------------
 */

enum err plan_parse_on_full(const struct option_row *row, const char *value, void *target,
                            struct errmsg *msg);
enum err plan_parse_think(const struct option_row *row, const char *value, void *target,
                          struct errmsg *msg);
enum err plan_check_load(const struct plan *p, struct errmsg *msg) MUST_CHECK;
const char *plan_on_full_name(const struct plan *p); /* "wait" "grow" "drop" */
/* --- connections ----------------------------------------------------------------------------- */

enum err plan_check_connections(const struct plan *p, struct errmsg *msg) MUST_CHECK;
/* Requests that a connection carries at most, by the plan's options; 0 = no limit. */
uint32_t plan_per_connection(const struct plan *p);

/* --- responses ------------------------------------------------------------------------------- */

/* Part of plan_check: with --debug-request the load is one request. */
void plan_settle_debug(struct plan *p);
enum err plan_check_responses(const struct plan *p, struct errmsg *msg) MUST_CHECK;

/* --- stages ---------------------------------------------------------------------------------- */

/* The option's parser. An error names the stage. */
enum err plan_parse_stages(const struct option_row *row, const char *value, void *target,
                           struct errmsg *msg);
/* Parts of plan_check and plan_validate. */
enum err plan_settle_stages(struct plan *p, struct errmsg *msg) MUST_CHECK;
enum err plan_check_stages(const struct plan *p, struct errmsg *msg) MUST_CHECK;
struct rate plan_stages_peak(const struct plan *p);
/* "60s@100..2000", as the option takes it. */
#define PLAN_STAGE_TEXT (4 * UNITS_TEXT)
const char *plan_stage_text(const struct stage *s, char buf[PLAN_STAGE_TEXT]);
/* The stage in which an instant after t0 lies: 0 .. n_stages - 1, 0 without stages. */
size_t plan_stage_at(const struct plan *p, uint64_t ns);

/* A checked plan's schedule for that share, whatever its rate does; `requests` bounds the index
 * (the plan's own, or fewer). */
enum err plan_schedule(const struct plan *p, const struct share *share, uint64_t requests,
                       struct schedule *s, struct errmsg *msg) MUST_CHECK;
/* When that request of the whole run is due, ns after t0; UINT64_MAX = after the end. */
uint64_t plan_due_of_index(const struct plan *p, uint64_t i);

/* Splits connections by weight (largest remainder, at least 1 each) and settles the thread count:
 * threads = plan's, else the smaller of 4 and the agent's cores; an explicit -c below the number of
 * workers is an error when -t was explicit, else threads shrink to fit. Sum of connections is the
 * plan's (or, by default, the larger of 50 and the number of workers). n >= 1, weights >= 1.
 * What max_connections has beyond the connections is split by weight too; fewer than those is an
 * error. A dispatch quantum above connections / (2 * rate) is an error: the requests of one wake-up
 * would wait for each other. */
enum err plan_split(const struct plan *p, const uint32_t *weights, const uint32_t *cores, size_t n,
                    struct plan_part *parts, struct errmsg *msg) MUST_CHECK;

/* A part that came over the wire: residues inside the total, at least one thread and at least as
 * many connections as threads, both within the bounds of the options. */
enum err plan_part_check(const struct plan_part *part, struct errmsg *msg) MUST_CHECK;
/* Connections that the part may have open at most. */
uint32_t plan_part_most(const struct plan_part *part);

void plan_clear(struct plan *p); /* frees members, zeroes */
/* Deep copy; what `to` held before is overwritten, not freed. */
enum err plan_copy(struct plan *to, const struct plan *from) MUST_CHECK;

/* Wire form (msgpack map, keys in docs/protocol.md). encode: *buf is malloc'ed, caller frees.
 * decode: `to` is initialised; bounded, nothing is trusted; the same checks as plan_check. */
#define PLAN_WIRE_MAX ((8u << 20) - 4096) /* MSG_BLOB_MAX */
enum err plan_encode(const struct plan *p, uint8_t **buf, size_t *len) MUST_CHECK;
enum err plan_decode(const uint8_t *buf, size_t len, struct plan *to,
                     struct errmsg *msg) MUST_CHECK;

#endif
