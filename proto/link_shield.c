/* SPDX-License-Identifier: MIT */
#include "proto/link_shield.h"

#include "common/libssl.h"
#include "common/mem.h"

#define VECTORS  8           /* frames that are looked at for one piece */
#define SEAL_MAX (32u << 10) /* of a piece; a record more may be in it */

/* RFC 8446, 5.1 and 5.2 */
#define RECORD_HEADER   5
#define RECORD_MAX      ((1u << 14) + 256)
#define RECORD_TYPE_MIN 20
#define RECORD_TYPE_MAX 23
#define RECORD_MAJOR    3

/* Ciphertext on its way out is in two places: OpenSSL appends to the pipe, also for what it has to
 * say on its own, while `away` is being sent and must not move. */
struct link_shield {
    struct link_keys *keys;
    SSL *ssl;
    struct link_pipe pipe;
    enum err end; /* ERR_OK while it goes on */
    bool bye;
    struct link_story story;
    uint8_t *away; /* NULL = nothing is being sent */
    size_t away_len, away_sent;
    size_t sealed; /* bytes of frames, in the clear, that are in `away` */
    uint8_t *in;   /* what came; only whole records of it are OpenSSL's to see */
    size_t in_cap, in_len;
};

/* --- life ------------------------------------------------------------------------------------- */

/* A name is a DNS name, even when it looks like an address. */
static bool expect(SSL *ssl, const char *name)
{
    return name == NULL || (SSL_set_tlsext_host_name(ssl, name) == 1 &&
                            X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl), name, 0) == 1);
}

/* Not zeroed: it costs only the pages that it has used. Nothing of it is OpenSSL's now. */
static void set_room(struct link_shield *s, size_t cap)
{
    uint8_t *in = mem_realloc(NULL, cap, 1);
    if (s->in_len > 0)
        memcpy(in, s->in, s->in_len);
    mem_free(s->in);
    s->in = in;
    s->in_cap = cap;
}

struct link_shield *link_shield_new(struct link_keys *keys, const char *server_name)
{
    struct link_shield *s = mem_calloc(1, sizeof *s);
    s->keys = link_keys_hold(keys);
    set_room(s, LINK_SHIELD_ROOM);
    s->ssl = link_keys_connect(keys, &s->pipe);
    if (s->ssl != NULL && expect(s->ssl, server_name))
        return s;
    link_shield_free(s);
    return NULL;
}

void link_shield_free(struct link_shield *s)
{
    if (s == NULL)
        return;
    SSL_free(s->ssl);
    ERR_clear_error();
    link_keys_drop(s->keys);
    mem_free(s->pipe.out);
    mem_free(s->away);
    mem_free(s->in);
    mem_free(s);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* libssl's first entry says what happened; entries of libcrypto before it are about a signature or
 * the like. An alert of the peer's is a reason above SSL_AD_REASON_OFFSET. */
static void remember(struct link_shield *s)
{
    unsigned long e = ERR_get_error();
    while (e != 0 && ERR_GET_LIB(e) != ERR_LIB_SSL)
        e = ERR_get_error();
    int reason = ERR_GET_REASON(e);
    if (reason > SSL_AD_REASON_OFFSET)
        s->story.alert = reason - SSL_AD_REASON_OFFSET;
    else
        s->story.reason = reason;
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        s->story.verify = SSL_get_verify_result(s->ssl);
}

/* What a call that has returned `rc`, which was no success, means. */
static enum err failed(struct link_shield *s, int rc)
{
    int why = SSL_get_error(s->ssl, rc);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return ERR_TRUNCATED;
    if (why == SSL_ERROR_ZERO_RETURN) {
        s->end = ERR_CLOSED;
    } else {
        remember(s);
        s->end = ERR_CORRUPT;
    }
    ERR_clear_error();
    return s->end;
}

void link_shield_bye(struct link_shield *s)
{
    if (s->bye || s->end == ERR_CORRUPT || !SSL_is_init_finished(s->ssl))
        return;
    ERR_clear_error();
    SSL_shutdown(s->ssl);
    ERR_clear_error();
    s->bye = true;
}

enum err link_shield_end(const struct link_shield *s)
{
    return s != NULL ? s->end : ERR_OK;
}

const struct link_story *link_shield_story(struct link_shield *s)
{
    s->story.finished = SSL_is_init_finished(s->ssl);
    return &s->story;
}

/* --- in --------------------------------------------------------------------------------------- */

/* OpenSSL takes 17 kB for as long as it waits for the rest of a record. Where a thousand peers send
 * at the same instant, most of them are in the middle of one. So it gets them whole. */

/* Bytes of the record that begins here, at least its header. What cannot be one is for OpenSSL to
 * refuse, and has the length that is there. */
static size_t record_len(const uint8_t *p, size_t n)
{
    if (n < RECORD_HEADER)
        return RECORD_HEADER;
    size_t len = (size_t)p[3] << 8 | p[4];
    bool plausible = p[0] >= RECORD_TYPE_MIN && p[0] <= RECORD_TYPE_MAX && p[1] == RECORD_MAJOR &&
                     len <= RECORD_MAX;
    return plausible ? RECORD_HEADER + len : n;
}

uint8_t *link_shield_room(struct link_shield *s, struct frame_rx *rx, size_t *len)
{
    if (s == NULL)
        return frame_rx_room(rx, len);
    size_t taken = s->in_len > 0 ? (size_t)(s->pipe.in - s->in) : 0;
    s->in_len -= taken;
    if (taken > 0 && s->in_len > 0)
        memmove(s->in, s->pipe.in, s->in_len);
    size_t need = record_len(s->in, s->in_len);
    need = need > LINK_SHIELD_ROOM ? need : LINK_SHIELD_ROOM;
    if (need <= s->in_len) /* cannot be: OpenSSL has had every whole record */
        need = s->in_len + LINK_SHIELD_ROOM;
    if (need != s->in_cap)
        set_room(s, need);
    s->pipe.in = s->in;
    s->pipe.in_len = 0;
    *len = s->in_cap - s->in_len;
    return s->in + s->in_len;
}

void link_shield_filled(struct link_shield *s, struct frame_rx *rx, size_t n)
{
    if (s == NULL) {
        frame_rx_filled(rx, n);
        return;
    }
    size_t whole = 0, next;
    s->in_len += n;
    while (whole < s->in_len &&
           (next = record_len(s->in + whole, s->in_len - whole)) <= s->in_len - whole)
        whole += next;
    s->pipe.in = s->in;
    s->pipe.in_len = whole;
}

enum err link_shield_open(struct link_shield *s, struct frame_rx *rx)
{
    size_t room, n;
    if (s == NULL)
        return ERR_TRUNCATED;
    if (s->end != ERR_OK)
        return s->end;
    uint8_t *p = frame_rx_room(rx, &room);
    ERR_clear_error();
    int rc = SSL_read_ex(s->ssl, p, room, &n);
    if (rc != 1) {
        frame_rx_rest(rx);
        return failed(s, rc);
    }
    frame_rx_filled(rx, n);
    return ERR_OK;
}

/* --- out -------------------------------------------------------------------------------------- */

static bool has_place(const struct link_shield *s)
{
    return s->end == ERR_OK && s->pipe.out_len < SEAL_MAX;
}

static void seal(struct link_shield *s, const struct frame_tx *t)
{
    struct iovec vec[VECTORS];
    if (SSL_in_before(s->ssl)) {
        ERR_clear_error();
        int rc = SSL_do_handshake(s->ssl); /* its first words: it cannot be over */
        (void)failed(s, rc);
    }
    if (s->bye || !SSL_is_init_finished(s->ssl))
        return;
    size_t n = frame_tx_vectors(t, vec, VECTORS), wrote;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = vec[i].iov_base;
        for (size_t left = vec[i].iov_len; left > 0; left -= wrote) {
            if (!has_place(s))
                return;
            ERR_clear_error();
            int rc = SSL_write_ex(s->ssl, p + (vec[i].iov_len - left), left, &wrote);
            if (rc != 1) {
                (void)failed(s, rc);
                return;
            }
            s->sealed += wrote;
        }
    }
}

size_t link_shield_vectors(struct link_shield *s, const struct frame_tx *t, struct iovec *iov,
                           size_t max)
{
    if (s == NULL)
        return frame_tx_vectors(t, iov, max);
    if (s->away == NULL) {
        seal(s, t);
        s->away = s->pipe.out;
        s->away_len = s->pipe.out_len;
        s->away_sent = 0;
        s->pipe.out = NULL;
        s->pipe.out_len = s->pipe.out_cap = 0;
    }
    if (s->away == NULL || max == 0)
        return 0;
    iov->iov_base = s->away + s->away_sent;
    iov->iov_len = s->away_len - s->away_sent;
    return 1;
}

void link_shield_sent(struct link_shield *s, struct frame_tx *t, size_t n)
{
    if (s == NULL) {
        frame_tx_sent(t, n);
        return;
    }
    s->away_sent += n;
    if (s->away_sent < s->away_len)
        return;
    mem_free(s->away);
    s->away = NULL;
    frame_tx_sent(t, s->sealed);
    s->sealed = 0;
}
