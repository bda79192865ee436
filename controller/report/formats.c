/* SPDX-License-Identifier: MIT */
#include "controller/report/formats.h"

#include <string.h>

const struct report_format *const formats_all[] = {
    &report_text,
    &report_json,
    &report_csv,
    &report_csv_percentiles,
    &report_csv_summary,
    &report_hlog,
    &report_hgrm,
    &report_hgrm_uncorrected,
    &report_html,
    &report_junit,
    &report_markdown,
    &report_store,
    NULL,
};

const struct report_format *formats_named(const char *name, size_t len)
{
    for (size_t i = 0; formats_all[i] != NULL; i++)
        if (strlen(formats_all[i]->name) == len && memcmp(formats_all[i]->name, name, len) == 0)
            return formats_all[i];
    return NULL;
}

const struct report_format *formats_of_file(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && formats_all[i] != NULL; i++)
        if (formats_all[i]->suffix != NULL && strcmp(formats_all[i]->suffix, dot) == 0)
            return formats_all[i];
    return NULL;
}

static void append(char buf[FORMATS_TEXT], const char *word)
{
    size_t len = strlen(buf);
    snprintf(buf + len, FORMATS_TEXT - len, "%s%s", len > 0 ? ", " : "", word);
}

const char *formats_names(char buf[FORMATS_TEXT])
{
    buf[0] = '\0';
    for (size_t i = 0; formats_all[i] != NULL; i++)
        append(buf, formats_all[i]->name);
    return buf;
}

const char *formats_suffixes(char buf[FORMATS_TEXT])
{
    buf[0] = '\0';
    for (size_t i = 0; formats_all[i] != NULL; i++)
        if (formats_all[i]->suffix != NULL)
            append(buf, formats_all[i]->suffix);
    return buf;
}
