/* SPDX-License-Identifier: MIT */
#include "controller/cmd/result_options.h"

#include "common/units.h"

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
