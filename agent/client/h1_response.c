/* SPDX-License-Identifier: MIT */
#include "agent/client/h1_response.h"

#include <string.h>

static enum h1_state fail(struct h1_response *r, enum h1_error error)
{
    r->error = error;
    r->phase = H1_PHASE_END;
    return r->state = H1_BROKEN;
}

static bool no_body(const struct h1_response *r)
{
    return r->head_method || r->status < 200 || r->status == 204 || r->status == 304;
}

/* RFC 9112 section 9.3; a 1.0 message with a transfer coding is never reused (section 6.1). Taken
 * from the header block, so that trailers have no say. */
static bool reusable(const llhttp_t *p)
{
    if (p->flags & F_CONNECTION_CLOSE)
        return false;
    if (p->http_minor == 0)
        return (p->flags & F_CONNECTION_KEEP_ALIVE) && !(p->flags & F_TRANSFER_ENCODING);
    return true;
}

static enum h1_error judge(const llhttp_t *p)
{
    if (p->http_major != 1)
        return H1_BAD_RESPONSE;
    if ((p->flags & F_TRANSFER_ENCODING) && (p->flags & F_CONTENT_LENGTH))
        return H1_BAD_RESPONSE;
    if (p->status_code < 100 || p->status_code > 599)
        return H1_BAD_STATUS;
    return p->status_code == 101 ? H1_UPGRADE : 0;
}

/* Return values are llhttp's. Pausing gives the exact position; only a chunked body goes on with
 * the parser. */
static int on_headers_complete(llhttp_t *p)
{
    struct h1_response *r = p->data;
    r->error = judge(p);
    if (r->error != 0)
        return -1;
    r->status = p->status_code;
    r->keep_alive = reusable(p);
    r->left = p->content_length;
    if (r->tap != NULL && r->tap->fields != NULL && r->status >= 200)
        h1_fields_end(r->tap->fields);
    if (no_body(r)) {
        r->phase = H1_PHASE_END;
    } else if ((p->flags & F_TRANSFER_ENCODING) && (p->flags & F_CHUNKED)) {
        r->phase = H1_PHASE_CHUNK_LINE;
    } else if (llhttp_message_needs_eof(p)) {
        r->phase = H1_PHASE_UNTIL_EOF;
        r->left = UINT64_MAX;
        r->keep_alive = false;
    } else {
        r->phase = r->left > 0 ? H1_PHASE_BODY : H1_PHASE_END;
    }
    return HPE_PAUSED;
}

static int on_message_complete(llhttp_t *p)
{
    struct h1_response *r = p->data;
    r->phase = H1_PHASE_END;
    return HPE_PAUSED;
}

static int on_chunk_header(llhttp_t *p)
{
    struct h1_response *r = p->data;
    r->body_bytes += p->content_length;
    r->phase = p->content_length == 0 ? H1_PHASE_TRAILER : H1_PHASE_CHUNK_DATA;
    return HPE_PAUSED;
}

static int on_chunk_complete(llhttp_t *p)
{
    struct h1_response *r = p->data;
    r->phase = H1_PHASE_CHUNK_LINE;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = on_headers_complete,
    .on_message_complete = on_message_complete,
    .on_chunk_header = on_chunk_header,
    .on_chunk_complete = on_chunk_complete,
};

/* ---- for a tap ---- */

static int on_field(llhttp_t *p, const char *at, size_t len)
{
    const struct h1_response *r = p->data;
    if (r->tap->fields != NULL && p->status_code >= 200)
        h1_fields_name(r->tap->fields, at, len);
    return 0;
}

static int on_value(llhttp_t *p, const char *at, size_t len)
{
    const struct h1_response *r = p->data;
    if (r->tap->fields != NULL && p->status_code >= 200)
        h1_fields_value(r->tap->fields, at, len);
    return 0;
}

/* A value may be empty. */
static int on_field_complete(llhttp_t *p)
{
    return on_value(p, "", 0);
}

static void show_body(const struct h1_response *r, const char *bytes, size_t len)
{
    if (r->tap != NULL && r->tap->body != NULL && len > 0)
        r->tap->body(r->tap->arg, bytes, len);
}

/* Of a chunk: only chunked bodies go through the parser. */
static int on_body(llhttp_t *p, const char *at, size_t len)
{
    show_body(p->data, at, len);
    return 0;
}

static const llhttp_settings_t tapped_settings = {
    .on_header_field = on_field,
    .on_header_field_complete = on_field_complete,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
    .on_chunk_header = on_chunk_header,
    .on_chunk_complete = on_chunk_complete,
};

static void start_parser(struct h1_response *r)
{
    llhttp_init(&r->parser, HTTP_RESPONSE, r->tap != NULL ? &tapped_settings : &settings);
    r->parser.data = r;
    /* Any digit is let through; judge() wants major 1. A higher minor version is read as 1.1 (RFC
     * 9110 section 2.5), which llhttp alone would refuse. */
    r->parser.lenient_flags |= LENIENT_VERSION;
    /* judge() refuses a length beside a coding: versions of llhttp notice it at different bytes. */
    r->parser.lenient_flags |= LENIENT_CHUNKED_LENGTH;
}

static void start_head(struct h1_response *r)
{
    r->phase = H1_PHASE_HEAD;
    r->used = 0;
    h1_head_start(&r->head);
}

void h1_response_start(struct h1_response *r, bool head_method, struct h1_known *known)
{
    r->known = known;
    r->tap = NULL;
    r->status = 0;
    r->keep_alive = false;
    r->error = 0;
    r->head_bytes = 0;
    r->body_bytes = 0;
    r->state = H1_MORE;
    r->head_method = head_method;
    r->extension = false;
    r->go_on = false; /* it was said of another request */
    r->trailer = H1_TRAILER_START;
    r->extra = H1_HEADER_MAX;
    start_head(r);
}

void h1_response_tap(struct h1_response *r, const struct h1_tap *tap)
{
    r->tap = tap;
    r->known = NULL; /* what is known hides its fields */
    if (tap->fields != NULL)
        h1_fields_start(tap->fields);
}

/* Runs the parser over the bytes; true = no error, *used bytes were taken. */
static bool parse(struct h1_response *r, const char *bytes, size_t len, size_t *used)
{
    llhttp_errno_t e = llhttp_execute(&r->parser, bytes, len);
    *used = len;
    if (e == HPE_OK)
        return true;
    if (e == HPE_PAUSED) {
        *used = (size_t)(llhttp_get_error_pos(&r->parser) - bytes);
        llhttp_resume(&r->parser);
        return true;
    }
    fail(r, r->error != 0 ? r->error : H1_BAD_RESPONSE);
    return false;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A 1xx came before the final response (RFC 9110 section 15.2): pay for it and start again. */
static void end_of_message(struct h1_response *r)
{
    if (r->status >= 200) {
        r->state = H1_COMPLETE;
        return;
    }
    if (r->used > r->extra) {
        fail(r, H1_HEADER_TOO_LARGE);
        return;
    }
    r->extra -= r->used;
    r->go_on = r->go_on || r->status == 100;
    r->status = 0;
    start_head(r);
}

/* The same bytes mean the same thing. */
static size_t recognise(struct h1_response *r, const char *bytes, size_t len)
{
    const struct h1_known *k = r->known;
    if (k == NULL || k->len == 0 || len < k->len || memcmp(bytes, k->bytes, k->len) != 0)
        return 0;
    r->status = k->status;
    r->keep_alive = k->keep_alive;
    r->phase = k->phase;
    r->left = k->body;
    return k->len;
}

/* Only a final header block that came in one piece, and what follows without the parser's help. */
static void remember(struct h1_response *r, const char *bytes, size_t len, bool whole)
{
    struct h1_known *k = r->known;
    if (k == NULL || r->status < 200)
        return;
    k->len = 0;
    k->body = 0;
    if (!whole || len > H1_KNOWN_MAX || r->phase == H1_PHASE_CHUNK_LINE)
        return;
    k->len = len;
    k->status = r->status;
    k->keep_alive = r->keep_alive;
    k->phase = r->phase;
    k->body = r->left;
    memcpy(k->bytes, bytes, len);
}

/* The parser must find the end of the header block where its empty line is. */
static bool parse_head(struct h1_response *r, const char *bytes, const struct h1_head_piece *piece)
{
    size_t used = 0;
    if (piece->held_len > 0 && !parse(r, piece->held, piece->held_len, &used))
        return false;
    if (used != piece->held_len || r->phase != H1_PHASE_HEAD)
        return false;
    if (piece->len > 0 && !parse(r, bytes + piece->from, piece->len, &used))
        return false;
    return (piece->len == 0 || used == piece->len) &&
           (r->head.line == H1_LINE_END) == (r->phase != H1_PHASE_HEAD);
}

/* Through the parser; the number of bytes taken. */
static size_t parse_new_head(struct h1_response *r, char *bytes, size_t len)
{
    struct h1_head_piece piece;
    len = smaller(len, H1_HEADER_MAX - r->used);
    if (len == 0) {
        fail(r, H1_HEADER_TOO_LARGE);
        return 0;
    }
    if (!h1_head_take(&r->head, bytes, len, &piece) || !parse_head(r, bytes, &piece)) {
        fail(r, r->error != 0 ? r->error : H1_BAD_RESPONSE);
        return 0;
    }
    r->used += piece.taken;
    return piece.taken;
}

static size_t feed_head(struct h1_response *r, char *bytes, size_t len)
{
    bool whole = r->used == 0;
    size_t used = whole ? recognise(r, bytes, len) : 0;
    if (used == 0) {
        if (whole)
            start_parser(r);
        used = parse_new_head(r, bytes, len);
        if (r->state == H1_MORE && r->phase != H1_PHASE_HEAD)
            remember(r, bytes, used, whole);
    }
    r->head_bytes += used;
    if (r->state == H1_MORE && r->phase == H1_PHASE_END)
        end_of_message(r);
    else if (r->phase == H1_PHASE_CHUNK_LINE)
        r->used = 0;
    return used;
}

static size_t feed_trailer(struct h1_response *r, char *bytes, size_t len)
{
    size_t used = 0;
    len = smaller(len, r->extra - r->used);
    if (len == 0) {
        fail(r, H1_HEADER_TOO_LARGE);
        return 0;
    }
    r->trailer = h1_trailer_take(r->trailer, bytes, len, &used);
    r->used += used;
    r->head_bytes += used;
    if (r->trailer == H1_TRAILER_BAD) {
        fail(r, H1_BAD_RESPONSE);
    } else if (r->trailer == H1_TRAILER_END) {
        r->phase = H1_PHASE_END;
        end_of_message(r);
    }
    return used;
}

enum h1_state h1_response_skip(struct h1_response *r, uint64_t n)
{
    r->body_bytes += n;
    if (r->phase == H1_PHASE_UNTIL_EOF)
        return r->state;
    r->left -= n;
    if (r->left == 0) {
        r->phase = H1_PHASE_END;
        end_of_message(r);
    }
    return r->state;
}

uint64_t h1_response_skippable(const struct h1_response *r)
{
    bool body = r->phase == H1_PHASE_BODY || r->phase == H1_PHASE_UNTIL_EOF;
    return body && (r->tap == NULL || r->tap->body == NULL) ? r->left : 0;
}

static size_t feed_body(struct h1_response *r, char *bytes, size_t len)
{
    size_t used = len < r->left ? len : (size_t)r->left;
    show_body(r, bytes, used);
    h1_response_skip(r, used);
    return used;
}

static size_t feed_chunk_data(struct h1_response *r, char *bytes, size_t len)
{
    size_t used = 0;
    if (parse(r, bytes, len, &used) && r->phase == H1_PHASE_END)
        end_of_message(r);
    return used;
}

static bool extension_starts(char c)
{
    return c == ';' || c == ' ' || c == '\t';
}

/* Skips an extension up to its CR: unknown ones must be ignored (RFC 9112 section 7.1.1), and
 * llhttp refuses quoted pairs and whitespace in them. */
static size_t skip_extension(struct h1_response *r, const char *bytes, size_t len)
{
    size_t n = 0;
    while (n < len && bytes[n] != '\r') {
        unsigned char c = (unsigned char)bytes[n++];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            fail(r, H1_BAD_RESPONSE);
            return n;
        }
    }
    r->extension = n == len;
    return n;
}

static size_t feed_size(struct h1_response *r, const char *bytes, size_t len)
{
    size_t n = 0, used = 0;
    while (n < len && !extension_starts(bytes[n]) && bytes[n] != '\n')
        n++;
    if (n < len && bytes[n] == '\n') /* to the end of the line only: cost stays linear */
        n++;
    if (n == 0) { /* a size must come first: let the parser refuse what else begins a line */
        if (r->used > 0)
            r->extension = true;
        else
            (void)parse(r, bytes, 1, &used);
        return used;
    }
    (void)parse(r, bytes, n, &used);
    return used;
}

static size_t feed_chunk_line(struct h1_response *r, char *bytes, size_t len)
{
    size_t limit = H1_CHUNK_LINE_FREE + r->extra;
    len = smaller(len, limit - r->used);
    if (len == 0) {
        fail(r, H1_HEADER_TOO_LARGE);
        return 0;
    }
    size_t used = r->extension ? skip_extension(r, bytes, len) : feed_size(r, bytes, len);
    r->used += used;
    if (r->state == H1_MORE && r->phase != H1_PHASE_CHUNK_LINE) {
        if (r->used > H1_CHUNK_LINE_FREE)
            r->extra -= r->used - H1_CHUNK_LINE_FREE;
        r->used = 0;
    }
    return used;
}

typedef size_t (*feed_fn)(struct h1_response *r, char *bytes, size_t len);

static const feed_fn feeders[H1_PHASE_END] = {
    [H1_PHASE_HEAD] = feed_head,
    [H1_PHASE_BODY] = feed_body,
    [H1_PHASE_UNTIL_EOF] = feed_body,
    [H1_PHASE_CHUNK_LINE] = feed_chunk_line,
    [H1_PHASE_CHUNK_DATA] = feed_chunk_data,
    [H1_PHASE_TRAILER] = feed_trailer,
};

enum h1_state h1_response_feed(struct h1_response *r, char *bytes, size_t len, size_t *used)
{
    size_t done = 0;
    while (r->state == H1_MORE && done < len)
        done += feeders[r->phase](r, bytes + done, len - done);
    *used = done;
    return r->state;
}

enum h1_state h1_response_eof(struct h1_response *r)
{
    if (r->phase == H1_PHASE_UNTIL_EOF) {
        r->phase = H1_PHASE_END;
        r->state = H1_COMPLETE;
    }
    return r->state;
}
