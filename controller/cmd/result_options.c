/* SPDX-License-Identifier: MIT */
#include "controller/cmd/result_options.h"

#include <string.h>

#include "common/units.h"
#include "controller/cmd/tags.h"

enum err result_options_check_every(uint64_t every_ns, uint64_t interval_ns, struct errmsg *msg)
{
    char every[UNITS_TEXT], interval[UNITS_TEXT];
    if (every_ns == 0 || (every_ns >= interval_ns && every_ns % interval_ns == 0))
        return ERR_OK;
    units_format_duration(every_ns, every);
    units_format_duration(interval_ns, interval);
    return errmsg_set(msg, ERR_INVALID,
                      "--every %s: accepted is a multiple of --interval, which is %s", every,
                      interval);
}

enum err result_options_check_words(const struct result_options *o, struct errmsg *msg)
{
    char shown[UNITS_SHOWN];
    const char *text = o->description != NULL ? o->description : "";
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if ((text[i] >= 0 && text[i] < ' ') || text[i] == 0x7f)
            return errmsg_set(msg, ERR_INVALID,
                              "--description %s: a control character; accepted is a line of text",
                              units_format_shown(text, shown));
    if (len > DESCRIPTION_MAX)
        return errmsg_set(msg, ERR_RANGE, "--description %s: accepted are at most %d bytes",
                          units_format_shown(text, shown), DESCRIPTION_MAX);
    return tags_check("tag", &o->tags, msg);
}
