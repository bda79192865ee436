/* SPDX-License-Identifier: MIT */
#include "controller/report/doc_write.h"

#include <string.h>

#define INDENT 2

struct place {
    FILE *out;
    int depth;
};

/* Lines of a value begin deeper than the library knows. No string holds a raw line's end. */
static int write_part(const char *text, size_t len, void *arg)
{
    const struct place *p = arg;
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) + 1 : len;
        if (fwrite(text, 1, n, p->out) != n)
            return -1;
        if (end != NULL && fprintf(p->out, "%*s", p->depth * INDENT, "") < 0)
            return -1;
        text += n;
        len -= n;
    }
    return 0;
}

static bool write_value(const json_t *value, int depth, size_t flags, FILE *out)
{
    struct place p = {out, depth};
    return json_dump_callback(value, write_part, &p,
                              flags | JSON_INDENT(INDENT) | JSON_ENCODE_ANY) == 0;
}

static bool write_list(const struct doc_list *l, const void *arg, size_t flags, FILE *out)
{
    bool ok = fputc('[', out) != EOF;
    for (size_t i = 0; i < l->n && ok; i++) {
        json_t *element = l->make(arg, i);
        ok = element != NULL && fprintf(out, "%s\n%*s", i > 0 ? "," : "", 2 * INDENT, "") > 0 &&
             write_value(element, 2, flags, out);
        json_decref(element);
    }
    if (l->n > 0 && ok)
        ok = fprintf(out, "\n%*s", INDENT, "") > 0;
    return ok && fputc(']', out) != EOF;
}

static const struct doc_list *find(const struct doc_list *lists, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(lists[i].key, key) == 0)
            return &lists[i];
    return NULL;
}

bool doc_write(json_t *object, const struct doc_list *lists, size_t n_lists, const void *arg,
               size_t flags, FILE *out)
{
    const char *key, *before = "{";
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const struct doc_list *l = find(lists, n_lists, key);
        if (fprintf(out, "%s\n%*s\"%s\": ", before, INDENT, "", key) < 0)
            return false;
        if (!(l != NULL ? write_list(l, arg, flags, out) : write_value(value, 1, flags, out)))
            return false;
        before = ",";
    }
    return fputs("\n}\n", out) != EOF;
}
