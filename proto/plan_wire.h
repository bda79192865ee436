/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_PROTO_PLAN_WIRE_H
#define HAMMER_PROTO_PLAN_WIRE_H

#include "proto/plan.h"
#include "proto/wire.h"

/* What plan_codec.c leaves to plan_codec_requests.c: values of outer keys, without the key. */

void plan_put_list(struct wire_out *w, const struct option_list *l);
/* At most max_items texts of at most max bytes. */
void plan_get_list(struct wire_in *r, uint32_t max_items, size_t max, struct option_list *l);
char *plan_get_text(struct wire_in *r, size_t max);
void plan_get_bytes(struct wire_in *r, size_t max, uint8_t **bytes, size_t *len);

void plan_put_entries(struct wire_out *w, const struct plan *p);
void plan_get_entries(struct wire_in *r, struct plan *p);
void plan_put_named(struct wire_out *w, const struct template_named *list, size_t n);
/* At most max_items whose bytes sum up to at most max. */
void plan_get_named(struct wire_in *r, uint32_t max_items, size_t max, struct template_named **list,
                    size_t *n);

#endif
