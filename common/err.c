/* SPDX-License-Identifier: MIT */
#include "common/err.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[ERR_COUNT] = {
    [ERR_OK] = "ok",
    [ERR_INVALID] = "not acceptable",
    [ERR_RANGE] = "out of range",
    [ERR_NOMEM] = "out of memory",
    [ERR_TRUNCATED] = "truncated",
    [ERR_CORRUPT] = "corrupt",
    [ERR_TOO_BIG] = "too big",
    [ERR_SYSTEM] = "system error",
    [ERR_TIMEOUT] = "timed out",
    [ERR_CLOSED] = "closed",
    [ERR_BUSY] = "busy",
    [ERR_VERSION] = "version mismatch",
    [ERR_STATE] = "not allowed in this state",
    [ERR_REFUSED] = "refused",
    [ERR_NOT_FOUND] = "not found",
};

const char *err_str(enum err e)
{
    if ((unsigned)e >= ERR_COUNT)
        return "unknown error";
    return names[e];
}

enum err errmsg_set(struct errmsg *msg, enum err e, const char *fmt, ...)
{
    if (msg == NULL)
        return e;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg->text, sizeof msg->text, fmt, ap);
    va_end(ap);
    return e;
}
