/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_TEST_PKI_H
#define HAMMER_TESTS_TEST_PKI_H

#include <stdbool.h>

#include "proto/link_tls.h"

/*
 * Certificates for tests, made on the spot (P-256) in a private folder: a CA with an agent and a
 * controller that work, and whatever else a test wants to see refused. Everything that can fail
 * ends the test.
 */

struct test_pki; /* one CA */

/* A folder under /tmp; the caller removes it with test_pki_remove. */
struct test_pki *test_pki_new(void);
struct test_pki *test_pki_named(const char *ca);
/* Another CA whose files are in the same folder as `dir` of the first; "rogue-ca.crt". */
struct test_pki *test_pki_rogue(const struct test_pki *p);
void test_pki_free(struct test_pki *p);
/* Removes the folder and all in it, then frees. */
void test_pki_remove(struct test_pki *p);

enum test_pki_usage {
    TEST_PKI_SERVER, /* serverAuth */
    TEST_PKI_CLIENT, /* clientAuth */
    TEST_PKI_NONE    /* no extended key usage */
};

struct test_pki_cert {
    const char *file; /* FILE.crt and FILE.key (0600) are written */
    const char *name; /* DNS name, or "IP:ADDRESS" */
    enum test_pki_usage usage;
    long from_s, to_s; /* validity, seconds from now; both 0 = from an hour ago for an hour */
};

/* Signs it and writes both files. */
void test_pki_issue(const struct test_pki *p, const struct test_pki_cert *c);
/* Writes FILE: a list that revokes the certificate in REVOKED.crt (NULL = nobody), next update
 * `to_s` seconds from now. */
void test_pki_crl(const struct test_pki *p, const char *file, const char *revoked, long to_s);
/* FOLDER/FILE; one of eight buffers in turn. */
const char *test_pki_path(const struct test_pki *p, const char *file);
/* Writes FILE: a key of TYPE ("EC", "ED25519"), encrypted when a passphrase is given. */
void test_pki_key(const struct test_pki *p, const char *file, const char *type,
                  const char *passphrase);
/* Overwrites FILE with a text. */
void test_pki_write(const struct test_pki *p, const char *file, const char *text);

/* ca.crt with NAME.crt and NAME.key of the folder, and crl.pem when it exists. */
struct link_tls *test_pki_tls(const struct test_pki *p, enum link_tls_role role, const char *name);

/* What the two ends of a link need: a CA with both certificates loaded, for "agent-1". */
struct test_pki_pair {
    struct test_pki *pki;
    struct link_tls *agent, *controller;
    struct link_options listen, dial;
};

void test_pki_pair_open(struct test_pki_pair *p);
void test_pki_pair_close(struct test_pki_pair *p);

#endif
