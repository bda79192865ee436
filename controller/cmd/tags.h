/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_TAGS_H
#define HAMMER_CONTROLLER_TAGS_H

#include "common/err.h"
#include "common/option.h"

/* PURE: a run's tags. Words of letters, digits and . _ -, kept in lower case, each once. */

#define TAGS_MAX 16
#define TAG_MAX  32 /* bytes of one */

/* Checks them; an error names the flag (without the dashes) and the tag. */
enum err tags_check(const char *flag, const struct option_list *tags,
                    struct errmsg *msg) MUST_CHECK;
/* Comma-separated, of checked ones; NULL = none. The caller's. */
char *tags_text(const struct option_list *tags);
/* `had` (NULL = none) and those of `add`, without those of `drop`; never NULL. More than TAGS_MAX
 * are refused. The caller's. */
enum err tags_change(const char *had, const struct option_list *add, const struct option_list *drop,
                     char **out, struct errmsg *msg) MUST_CHECK;

#endif
