/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_INDEX_H
#define HAMMER_CONTROLLER_PKI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "controller/pki/pki_cert.h"

/*
 * The list of every certificate that the CA has issued, oldest first: what can be shown and
 * revoked, even after the files are gone. As text: one JSON object a line. Pure; main thread.
 */

#define PKI_INDEX_MAX 50000 /* entries */
#define PKI_TIME_TEXT 32    /* "2026-11-30T17:23:39Z" */
#define PKI_FILE_TEXT (PKI_NAME_MAX + 20)

struct pki_entry {
    enum pki_role role;
    char name[PKI_NAME_MAX + 1];
    char *dns; /* all names, space-separated; owned */
    char serial[PKI_SERIAL_TEXT];
    int64_t not_before_s, not_after_s;
    int64_t revoked_s;        /* 0 = not revoked */
    char file[PKI_FILE_TEXT]; /* "agents/NAME.crt"; "" = a later one took its place */
};

struct pki_index {
    struct pki_entry *entries;
    size_t n;
};

enum pki_state {
    PKI_VALID,
    PKI_EXPIRED,
    PKI_REVOKED
};

/* `file` is named in errors ("FILE:LINE: what"). *out is overwritten, empty on error. */
enum err pki_index_parse(const char *file, const char *text, struct pki_index *out,
                         struct errmsg *msg) MUST_CHECK;
/* Owned by the caller. */
char *pki_index_text(const struct pki_index *index);
/* Copies the entry and its names. */
void pki_index_add(struct pki_index *index, const struct pki_entry *e);
void pki_index_clear(struct pki_index *index);

enum pki_state pki_entry_state(const struct pki_entry *e, int64_t now_s);
/* "valid", "expired", "revoked". */
const char *pki_state_name(enum pki_state s);
/* Whole days, 0 when it is over. */
int64_t pki_days_left(int64_t not_after_s, int64_t now_s);

/* "2026-11-30T17:23:39Z", UTC. */
const char *pki_time_text(int64_t s, char buf[PKI_TIME_TEXT]);

#endif
