/* SPDX-License-Identifier: MIT */
#include "controller/cmd/conditions.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"

char *conditions_text(const struct condition_list *l)
{
    char *text = mem_calloc(l->n + 1, CONDITION_TEXT + 1);
    size_t len = 0;
    for (size_t i = 0; i < l->n; i++)
        len += (size_t)sprintf(text + len, "%s\n", l->items[i].text);
    return text;
}

enum err conditions_read(const struct wire_blob *blob, const char *whose, struct condition_list *l,
                         struct errmsg *msg)
{
    char *text = mem_calloc(blob->len + 1, 1), *save = NULL;
    enum err e = ERR_OK;
    if (blob->len > 0)
        memcpy(text, blob->data, blob->len);
    for (char *at = strtok_r(text, "\n", &save); at != NULL && e == ERR_OK;
         at = strtok_r(NULL, "\n", &save))
        e = condition_list_add(l, whose, at, msg);
    mem_free(text);
    return e;
}
