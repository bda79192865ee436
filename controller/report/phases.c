/* SPDX-License-Identifier: MIT */
#include "controller/report/phases.h"

#include "common/mem.h"

/* Of a phase made of two kinds both are added up: a request is in one of them. */
static const struct {
    const char *key, *label;
    enum hist_kind kinds[2];
    bool always; /* recorded without --latency as well */
} rows[PHASES] = {
    [PHASE_DNS] = {"dns", "look-up", {HIST_DNS, HIST_KINDS}, false},
    [PHASE_CONNECT] = {"connect", "connect", {HIST_CONNECT, HIST_KINDS}, false},
    [PHASE_TLS] = {"tls", "TLS handshake", {HIST_TLS, HIST_KINDS}, true},
    [PHASE_QUEUE] = {"queue", "queue", {HIST_SEND_LAG, HIST_WAIT}, true},
    [PHASE_UPLOAD] = {"upload", "upload", {HIST_UPLOAD, HIST_KINDS}, false},
    [PHASE_FIRST_BYTE] = {"first_byte", "first byte", {HIST_FIRST_BYTE, HIST_KINDS}, false},
    [PHASE_DOWNLOAD] = {"download", "download", {HIST_DOWNLOAD, HIST_KINDS}, false},
};

const char *phases_key(enum phase p)
{
    return rows[p].key;
}

const char *phases_label(enum phase p)
{
    return rows[p].label;
}

struct hist *phases_hist(const struct snapshot *s, enum phase p)
{
    struct hist *h = snapshot_hist(s, rows[p].kinds[0]);
    if (rows[p].kinds[1] == HIST_KINDS)
        return h;
    struct hist *other = snapshot_hist(s, rows[p].kinds[1]);
    if (hist_add(h, other) != ERR_OK)
        hist_reset(h); /* cannot happen: 128 x SNAPSHOT_COUNT_MAX is below 2^63 */
    hist_free(other);
    return h;
}

bool phases_any(const struct snapshot *s)
{
    for (size_t i = 0; i < s->n_series; i++)
        for (size_t p = 0; p < PHASES; p++) {
            const struct hist *h = s->series[i].hists[rows[p].kinds[0]];
            if (!rows[p].always && h != NULL && hist_count(h) > 0)
                return true;
        }
    return false;
}
