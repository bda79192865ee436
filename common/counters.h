/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_COUNTERS_H
#define HAMMER_COMMON_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * The ledger and everything else that is counted, declared once: name and meaning. Order is the
 * wire order: append only. The ledger (docs/measuring.md):
 *   scheduled = sent + unsent            unsent    = no_connection + stopped + dropped
 *   sent = completed + failed + timeouts + unfinished
 *   completed = ok + http_errors         failed    = connect + tls + read + write + protocol
 * While a run is going on, sent also holds what is in flight and scheduled what waits.
 */
#define COUNTERS(X)                                                                                \
    X(scheduled, "requests that were due")                                                         \
    X(sent, "requests whose first byte was handed to the kernel")                                  \
    X(unsent_no_connection, "due, but no connection was free before the end")                      \
    X(unsent_stopped, "due, but the run was stopped first")                                        \
    X(unsent_dropped, "due, but dropped because every connection was busy")                        \
    X(completed, "complete responses")                                                             \
    X(ok, "complete responses with a status below 400")                                            \
    X(http_errors, "complete responses with status 4xx or 5xx")                                    \
    X(failed_tls, "sent, then a TLS error")                                                        \
    X(failed_read, "sent, then EOF or reset before the response was complete")                     \
    X(failed_write, "the request could not be written whole")                                      \
    X(failed_protocol, "bytes against RFC 9112, or a header block over the limit")                 \
    X(timeouts, "no complete response within the timeout, counted from the send")                  \
    X(unfinished, "in flight when the run ended")                                                  \
    X(connect_errors, "connection attempts that failed (outside the ledger)")                      \
    X(connects, "connections opened")                                                              \
    X(retries, "requests sent again on a fresh connection")                                        \
    X(saturated, "latencies above one hour, recorded as one hour")                                 \
    X(bytes_in, "bytes read")                                                                      \
    X(bytes_out, "bytes written")                                                                  \
    X(fault_fd_limit, "generator fault: out of file descriptors (EMFILE, ENFILE)")                 \
    X(fault_ports, "generator fault: out of local ports (EADDRNOTAVAIL)")                          \
    X(fault_memory, "generator fault: out of kernel memory (ENOBUFS, ENOMEM)")                     \
    X(waited, "requests that waited because every connection was busy")                            \
    X(late, "requests sent over 1 ms late (a dispatch quantum not counted) although a connection " \
            "was idle")                                                                            \
    X(handshakes, "TLS handshakes that succeeded")                                                 \
    X(resumed, "of these, those that resumed a session")                                           \
    X(handshake_errors, "TLS handshakes that failed (outside the ledger)")                         \
    X(failed_connect, "sent, but the connection that was opened for it failed")                    \
    X(unexpected,                                                                                  \
      "complete responses that are not as --expect-status or --expect-body wants them")            \
    X(redirects, "redirects followed (--follow)")                                                  \
    X(reused, "requests sent on a connection that had carried one before")                         \
    X(head_bytes, "of the bytes read: status lines, headers and trailers of responses")            \
    X(body_bytes, "of the bytes read: bodies of responses")                                        \
    X(limit_ns,                                                                                    \
      "time with a request waiting and every connection busy, ns, added up over the workers")      \
    X(lookups, "names looked up again during the run")                                             \
    X(lookup_errors, "of these, those that failed: the old addresses stay")

struct counters {
#define X(name, text) uint64_t name;
    COUNTERS(X)
#undef X
};

enum {
#define X(name, text) COUNTER_##name,
    COUNTERS(X)
#undef X
    COUNTERS_N
};

/* a += b, member by member. */
void counters_add(struct counters *a, const struct counters *b);

/* Value, name and meaning of counter i (0 .. COUNTERS_N - 1). */
uint64_t counters_get(const struct counters *c, size_t i);
void counters_set(struct counters *c, size_t i, uint64_t value);
const char *counters_name(size_t i);
const char *counters_text(size_t i);

bool counters_equal(const struct counters *a, const struct counters *b);

/* Sums the ledger needs. */
uint64_t counters_unsent(const struct counters *c);
uint64_t counters_failed(const struct counters *c);
uint64_t counters_faults(const struct counters *c);

/* Checks the ledger of a FINISHED run. ERR_CORRUPT names the equation that does not hold, with its
 * numbers. */
enum err counters_check(const struct counters *c, struct errmsg *msg) MUST_CHECK;

#endif
