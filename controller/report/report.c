/* SPDX-License-Identifier: MIT */
#include "controller/report/report.h"

#include <string.h>

const struct report_format *report_find(const char *name)
{
    static const struct report_format *const formats[] = {&report_text, &report_json};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}
