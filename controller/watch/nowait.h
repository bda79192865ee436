/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_NOWAIT_H
#define HAMMER_CONTROLLER_NOWAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text for a terminal or a pipe that may not take it: a terminal stopped with Ctrl-S, a pipe nobody
 * reads. Nothing here waits for it but nowait_flush, which has a limit. What was not taken is kept,
 * up to a bound; beyond it a text is refused whole. The descriptor's own mode is left alone, others
 * share it. Main thread.
 */

#define NOWAIT_KEPT (64u << 10) /* bytes; a longer text is refused at once */

struct nowait;

/* Writes where `fd` leads. Never NULL. */
struct nowait *nowait_new(int fd);
void nowait_free(struct nowait *w); /* what is kept is lost; NULL is fine */

/* The whole text is written or kept, or (false) none of it. */
bool nowait_write(struct nowait *w, const char *text, size_t len);
/* Tries again; true = nothing is kept any more. */
bool nowait_retry(struct nowait *w);
/* Until nothing is kept or the time is over. */
bool nowait_flush(struct nowait *w, uint64_t limit_ns);
/* Texts that were refused. */
uint64_t nowait_refused(const struct nowait *w);

#endif
