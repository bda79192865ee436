/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/libssl.h"
#include "common/mem.h"
#include "proto/link_shield.h"
#include "tests/fuzz/fuzz.h"

/*
 * Byte 0: even = the rest is what a stranger sends to an agent; odd = a real controller's bytes on
 * their way to the agent, altered by the rest in threes (place high, place low, what is XORed in).
 * Byte 1: bytes a read. Whatever comes: no frame that the controller has not sent, in its order;
 * none at all from a stranger; all of them when nothing was altered; and a bounded answer.
 */

#define STEP_MAX (1 + 255 * 32) /* bytes from one end to the other at once */
#define FRAMES   5
#define LIFETIME 31536000L /* seconds */

/* --- keys: one certificate that is its own CA and good for both roles ------------------------- */

static void extend(X509 *x, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    FUZZ_CHECK(e != NULL && X509_add_ext(x, e, -1) == 1);
    X509_EXTENSION_free(e);
}

static X509 *certify(EVP_PKEY *key)
{
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -LIFETIME);
    X509_gmtime_adj(X509_getm_notAfter(x), LIFETIME);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"agent-1", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_set_pubkey(x, key);
    extend(x, NID_basic_constraints, "critical,CA:TRUE");
    extend(x, NID_subject_alt_name, "DNS:agent-1");
    extend(x, NID_ext_key_usage, "serverAuth,clientAuth");
    FUZZ_CHECK(X509_sign(x, key, EVP_sha256()) > 0);
    return x;
}

struct pems {
    char cert[2048], key[2048];
};

static void take(BIO *b, char *text, size_t cap)
{
    int n = BIO_read(b, text, (int)cap - 1);
    FUZZ_CHECK(n > 0);
    text[n] = '\0';
    BIO_free(b);
}

static void make_pems(struct pems *p)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = certify(key);
    BIO *cert = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(cert, x);
    PEM_write_bio_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL);
    take(cert, p->cert, sizeof p->cert);
    take(secret, p->key, sizeof p->key);
    X509_free(x);
    EVP_PKEY_free(key);
}

static struct link_keys *make_keys(const struct pems *p, bool server)
{
    struct link_keys *k = link_keys_new(server);
    FUZZ_CHECK(k != NULL && link_keys_trust(k, p->cert, NULL, NULL) == ERR_OK &&
               link_keys_own(k, p->cert, p->key, NULL) == ERR_OK);
    return k;
}

/* Made once: a key a run would be most of its time. */
static struct link_keys *keys_of(bool server)
{
    static struct link_keys *keys[2];
    if (keys[0] == NULL) {
        struct pems p;
        make_pems(&p);
        keys[0] = make_keys(&p, false);
        keys[1] = make_keys(&p, true);
    }
    return keys[server];
}

/* --- two ends --------------------------------------------------------------------------------- */

struct end {
    struct link_shield *shield;
    struct frame_rx rx;
    struct frame_tx tx;
    bool echoes;
    unsigned got; /* frames */
};

/* What the two ends and the wire between them do. */
struct wire {
    const uint8_t *edits;
    size_t len, step, at; /* at: bytes that went to the agent */
};

static void end_open(struct end *e, bool server)
{
    *e = (struct end){.shield = link_shield_new(keys_of(server), server ? NULL : "agent-1"),
                      .echoes = server};
    FUZZ_CHECK(e->shield != NULL);
    frame_rx_init(&e->rx, 4096);
    frame_tx_init(&e->tx);
}

static void end_close(struct end *e)
{
    link_shield_free(e->shield);
    frame_rx_fini(&e->rx);
    frame_tx_fini(&e->tx);
}

/* Frame i is i + 1 times the byte i. */
static void check_frame(struct end *e, const uint8_t *frame, size_t len)
{
    FUZZ_CHECK(e->got < FRAMES && len == e->got + 1);
    for (size_t i = 0; i < len; i++)
        FUZZ_CHECK(frame[i] == e->got);
    e->got++;
}

/* As many of them as there is room for; how many that were. */
static size_t put_some(struct end *e, const uint8_t *bytes, size_t n)
{
    const uint8_t *frame;
    size_t room, len;
    enum err o, f = ERR_TRUNCATED;
    uint8_t *p = link_shield_room(e->shield, &e->rx, &room);
    FUZZ_CHECK(room > 0);
    n = n < room ? n : room;
    memcpy(p, bytes, n);
    link_shield_filled(e->shield, &e->rx, n);
    while ((o = link_shield_open(e->shield, &e->rx)) == ERR_OK)
        while ((f = frame_rx_next(&e->rx, &frame, &len, NULL)) == ERR_OK) {
            check_frame(e, frame, len);
            if (e->echoes)
                frame_tx_push(&e->tx, frame, len);
        }
    FUZZ_CHECK(f == ERR_TRUNCATED && (o == ERR_TRUNCATED || o == link_shield_end(e->shield)));
    return n;
}

static void put(struct end *e, const uint8_t *bytes, size_t n)
{
    size_t done = 0;
    while (done < n && link_shield_end(e->shield) == ERR_OK)
        done += put_some(e, bytes + done, n - done);
}

static void alter(struct wire *w, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i + 3 <= w->len; i += 3) {
        size_t place = (size_t)w->edits[i] << 8 | w->edits[i + 1];
        if (place >= w->at && place < w->at + n)
            bytes[place - w->at] ^= w->edits[i + 2];
    }
    w->at += n;
}

/* Moves what one end has to say to the other; false = nothing. */
static bool carry(struct wire *w, struct end *from, struct end *to, bool to_agent)
{
    struct iovec v;
    uint8_t bytes[STEP_MAX];
    if (link_shield_vectors(from->shield, &from->tx, &v, 1) == 0)
        return false;
    size_t n = v.iov_len < w->step ? v.iov_len : w->step;
    FUZZ_CHECK(n > 0 && v.iov_len <= LINK_PIPE_MAX);
    memcpy(bytes, v.iov_base, n);
    link_shield_sent(from->shield, &from->tx, n);
    if (to_agent)
        alter(w, bytes, n);
    put(to, bytes, n);
    return true;
}

static bool altered(const struct wire *w)
{
    for (size_t i = 0; i + 3 <= w->len; i += 3)
        if (w->edits[i + 2] != 0)
            return true;
    return false;
}

static void honest(struct wire *w)
{
    struct end controller, agent;
    uint8_t frame[FRAMES];
    end_open(&controller, false);
    end_open(&agent, true);
    for (unsigned i = 0; i < FRAMES; i++) {
        memset(frame, (int)i, sizeof frame);
        frame_tx_push(&controller.tx, frame, i + 1);
    }
    bool more = true;
    while (more) {
        more = carry(w, &controller, &agent, true);
        more = carry(w, &agent, &controller, false) || more;
    }
    FUZZ_CHECK(controller.got <= agent.got);
    FUZZ_CHECK(altered(w) || (controller.got == FRAMES && agent.got == FRAMES));
    end_close(&controller);
    end_close(&agent);
}

static void stranger(struct wire *w)
{
    struct end agent;
    struct iovec v;
    end_open(&agent, true);
    for (size_t i = 0; i < w->len; i += w->step) {
        put(&agent, w->edits + i, w->len - i < w->step ? w->len - i : w->step);
        if (link_shield_vectors(agent.shield, &agent.tx, &v, 1) > 0)
            FUZZ_CHECK(v.iov_len <= LINK_PIPE_MAX);
    }
    FUZZ_CHECK(agent.got == 0 && !link_shield_story(agent.shield)->finished);
    link_shield_bye(agent.shield);
    end_close(&agent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct wire w = {.edits = data + 2, .len = size - 2, .step = 1 + (size_t)data[1] * 32};
    if (data[0] % 2 == 0)
        stranger(&w);
    else
        honest(&w);
    return 0;
}
