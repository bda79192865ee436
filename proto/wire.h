/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_WIRE_H
#define HAMMER_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * msgpack, both ways. Encoding is msgpack-c's; decoding is a bounded pull reader of our own,
 * because msgpack-c allocates what the bytes ask for (8 GB for 5 bytes: measured). The reader never
 * allocates, checks each count against the bytes left, skips iteratively, and an error sticks:
 * after the first one every call fails and the caller asks once at the end with wire_end. Spec:
 * https://github.com/msgpack/msgpack/blob/master/spec.md
 */

/* --- writing ------------------------------------------------------------------------------- */

struct wire_out; /* growable; opaque over msgpack_packer */

struct wire_out *wire_out_new(void);
void wire_out_free(struct wire_out *w); /* NULL is fine */
/* Gives the bytes to the caller (free with mem_free) and empties the writer. */
uint8_t *wire_out_take(struct wire_out *w, size_t *len);
void wire_put_map(struct wire_out *w, uint32_t n);
void wire_put_array(struct wire_out *w, uint32_t n);
void wire_put_u64(struct wire_out *w, uint64_t v);
void wire_put_i64(struct wire_out *w, int64_t v);
void wire_put_bool(struct wire_out *w, bool v);
void wire_put_f64(struct wire_out *w, double v);
void wire_put_str(struct wire_out *w, const char *s);
void wire_put_text(struct wire_out *w, const char *s, size_t len); /* a string of len bytes */
void wire_put_bin(struct wire_out *w, const void *p, size_t len);

/* --- reading ------------------------------------------------------------------------------- */

struct wire_in {
    const uint8_t *p, *end;
    enum err err; /* first error, sticky */
};

/* Bytes that belong to the frame; valid as long as the frame is. */
struct wire_blob {
    const uint8_t *data;
    size_t len;
};

void wire_in_init(struct wire_in *r, const void *data, size_t len);
/* Number of pairs / elements, at most `max` (more is ERR_TOO_BIG) and never more than the bytes
 * left could hold. 0 after an error. */
uint32_t wire_get_map(struct wire_in *r, uint32_t max);
uint32_t wire_get_array(struct wire_in *r, uint32_t max);
uint64_t wire_get_u64(struct wire_in *r);
int64_t wire_get_i64(struct wire_in *r);
bool wire_get_bool(struct wire_in *r);
double wire_get_f64(struct wire_in *r); /* finite only */
/* Copies a string of at most cap-1 bytes, NUL-terminated; embedded NUL is ERR_CORRUPT, longer is
 * ERR_TOO_BIG. */
void wire_get_str(struct wire_in *r, char *buf, size_t cap);
struct wire_blob wire_get_bin(struct wire_in *r, size_t max);
/* A string of at most `max` bytes that stays in the frame; not terminated, no embedded NUL. */
struct wire_blob wire_get_text(struct wire_in *r, size_t max);
/* Next key of a map. Keys below 64 that *seen (start with 0) already has are ERR_CORRUPT; larger
 * ones are for the future and not tracked. UINT64_MAX after an error. */
uint64_t wire_get_key(struct wire_in *r, uint64_t *seen);
/* Skips one value of any kind and depth (iterative, bounded). */
void wire_skip(struct wire_in *r);
/* The caller found a contradiction: sticks like an error of the reader's own. */
void wire_fail(struct wire_in *r, enum err e);
/* The one check at the end: sticky error, else ERR_CORRUPT when bytes are left. */
enum err wire_end(const struct wire_in *r) MUST_CHECK;

/* --- structs by field table ------------------------------------------------------------------ */

enum wire_type {
    WIRE_U64,  /* uint64_t */
    WIRE_U32,  /* uint32_t, range-checked */
    WIRE_I64,  /* int64_t */
    WIRE_BOOL, /* bool */
    WIRE_STR,  /* char[size] */
    WIRE_ID,   /* uint8_t[size], exactly size bytes */
    WIRE_BLOB  /* struct wire_blob, at most size bytes */
};

struct wire_field {
    uint32_t key;     /* 1 .. 63, never reused */
    const char *name; /* as docs/protocol.md calls it */
    enum wire_type type;
    size_t offset;
    size_t size;   /* STR: capacity; ID: length; BLOB: maximum */
    bool required; /* decoding fails with ERR_CORRUPT when it is missing */
};

/* Writes {key: value} for every field. */
void wire_put_fields(struct wire_out *w, const struct wire_field *f, size_t n, const void *s);
/* Reads one map into the zeroed *s. Unknown keys are skipped, a duplicate key is ERR_CORRUPT,
 * at most WIRE_PAIRS_MAX pairs. Blobs point into the frame. */
#define WIRE_PAIRS_MAX 64
void wire_get_fields(struct wire_in *r, const struct wire_field *f, size_t n, void *s);

#endif
