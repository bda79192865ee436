/* SPDX-License-Identifier: MIT */
#include "controller/report/looks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first of the three that is set is the one that counts (POSIX). */
static const char *locale_name(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0')
            return value;
    }
    return "";
}

static bool is_utf8(const char *locale)
{
    const char *charset = strchr(locale, '.');
    return charset != NULL &&
           (strncasecmp(charset + 1, "UTF-8", 5) == 0 || strncasecmp(charset + 1, "UTF8", 4) == 0);
}

bool looks_unicode(void)
{
    return is_utf8(locale_name());
}

bool looks_colour(void)
{
    const char *no = getenv("NO_COLOR"), *cli = getenv("CLICOLOR");
    return (no == NULL || no[0] == '\0') && (cli == NULL || strcmp(cli, "0") != 0);
}

void looks_settle(struct report_options *o)
{
    const char *term = getenv("TERM");
    bool dumb = term != NULL && strcmp(term, "dumb") == 0;
    o->unicode = !dumb && looks_unicode();
    o->colour = !dumb && term != NULL && looks_colour();
}
