/* SPDX-License-Identifier: MIT */
#include "tests/lib/protocol_doc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

#define DOC_MAX (256u << 10)

/* Text from the heading's line to the next heading; caller frees. */
static char *section(const char *data_dir, const char *heading)
{
    char path[1024];
    const char *tests = strstr(data_dir, "/tests/data");
    ck_assert_ptr_nonnull(tests);
    snprintf(path, sizeof path, "%.*s/docs/protocol.md", (int)(tests - data_dir), data_dir);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    char *text = calloc(1, DOC_MAX);
    size_t len = fread(text, 1, DOC_MAX - 1, f);
    fclose(f);
    ck_assert_uint_lt(len, DOC_MAX - 1);
    char line[128];
    snprintf(line, sizeof line, "# %s\n", heading);
    char *at = strstr(text, line);
    ck_assert_msg(at != NULL, "docs/protocol.md has no heading '%s'", heading);
    at += strlen(line);
    char *end = strstr(at, "\n#");
    char *cut = strndup(at, end == NULL ? strlen(at) : (size_t)(end + 1 - at));
    free(text);
    return cut;
}

static void type_text(const struct wire_field *f, char *buf, size_t cap)
{
    switch (f->type) {
    case WIRE_U64:
        snprintf(buf, cap, "u64");
        break;
    case WIRE_U32:
        snprintf(buf, cap, "u32");
        break;
    case WIRE_I64:
        snprintf(buf, cap, "i64");
        break;
    case WIRE_BOOL:
        snprintf(buf, cap, "bool");
        break;
    case WIRE_STR:
        snprintf(buf, cap, "str, at most %zu", f->size - 1);
        break;
    case WIRE_ID:
        snprintf(buf, cap, "bin, %zu bytes", f->size);
        break;
    case WIRE_BLOB:
        snprintf(buf, cap, "bin, at most %zu", f->size);
        break;
    }
}

void protocol_doc_fields(const char *data_dir, const char *heading, const struct wire_field *f,
                         size_t n)
{
    char table[8192];
    size_t len = (size_t)snprintf(table, sizeof table,
                                  "| key | name | type | needed |\n|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        char type[64];
        type_text(&f[i], type, sizeof type);
        len += (size_t)snprintf(table + len, sizeof table - len, "| %u | %s | %s | %s |\n",
                                f[i].key, f[i].name, type, f[i].required ? "yes" : "no");
        ck_assert_uint_lt(len, sizeof table);
    }
    protocol_doc_has(data_dir, heading, table);
    ck_assert_uint_eq(protocol_doc_rows(data_dir, heading), n);
}

void protocol_doc_has(const char *data_dir, const char *heading, const char *text)
{
    char *s = section(data_dir, heading);
    ck_assert_msg(strstr(s, text) != NULL, "docs/protocol.md under '%s' lacks:\n%s", heading, text);
    free(s);
}

size_t protocol_doc_rows(const char *data_dir, const char *heading)
{
    char *s = section(data_dir, heading), *save = NULL;
    size_t rows = 0;
    for (char *line = strtok_r(s, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "|--", 3) == 0)
            rows--; /* and its title line */
        else
            rows += line[0] == '|';
    }
    free(s);
    return rows;
}
