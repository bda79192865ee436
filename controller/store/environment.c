/* SPDX-License-Identifier: MIT */
#include "controller/store/environment.h"

#include <gnu/libc-version.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/host.h"
#include "common/mem.h"
#include "common/redact.h"
#include "controller/report/doc.h"

#define COMMAND_LINE_MAX (128u << 10)
#define LINE_MAX_BYTES   512

/* --- the command line ----------------------------------------------------------------------- */

static bool is_flag(const char *word, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(word, *names) == 0)
            return true;
    return false;
}

/* What is behind "--NAME=" or a short flag's letter; NULL = the word is none of these flags. */
static const char *value_of(const char *word, const char *const *names)
{
    for (; *names != NULL; names++) {
        size_t len = strlen(*names);
        if (strncmp(word, *names, len) != 0)
            continue;
        if (len > 2 && word[len] == '=')
            return word + len + 1;
        if (len == 2 && word[len] != '\0')
            return word + len;
    }
    return NULL;
}

/* Bodies are kept with the plan, and here only clutter. */
static void redact_value(const char *value, bool header, char *to, size_t cap)
{
    if (header)
        redact_header(value, NULL, to, cap);
    else
        snprintf(to, cap, "(%zu bytes)", strlen(value));
}

char *environment_word(const char *before, const char *word)
{
    static const char *const headers[] = {"-H", "--header", NULL};
    static const char *const bodies[] = {"--data", NULL};
    size_t cap = (strlen(word) + 8) * sizeof REDACTED, at;
    char *to = mem_calloc(cap, 1);
    bool header = before != NULL && is_flag(before, headers);
    if (header || (before != NULL && is_flag(before, bodies))) {
        redact_value(word, header, to, cap);
        return to;
    }
    const char *value = value_of(word, headers);
    header = value != NULL;
    if (value == NULL)
        value = value_of(word, bodies);
    bool url = value == NULL;
    if (url) /* what is in front of a flag's value would hide its scheme */
        value = word[0] == '-' && strchr(word, '=') != NULL ? strchr(word, '=') + 1 : word;
    at = (size_t)(value - word);
    memcpy(to, word, at);
    if (url)
        redact_url(value, to + at, cap - at);
    else
        redact_value(value, header, to + at, cap - at);
    return to;
}

static json_t *command_line(void)
{
    json_t *words = json_array();
    char *text = mem_calloc(COMMAND_LINE_MAX + 1, 1);
    const char *before = NULL;
    FILE *f = fopen("/proc/self/cmdline", "re");
    size_t len = f != NULL ? fread(text, 1, COMMAND_LINE_MAX, f) : 0;
    if (f != NULL)
        fclose(f);
    for (const char *word = text; word < text + len; word += strlen(word) + 1) {
        char *kept = environment_word(before, word);
        json_array_append_new(words, doc_text(kept));
        mem_free(kept);
        before = word;
    }
    explicit_bzero(text, len);
    mem_free(text);
    return words;
}

/* --- the machine ---------------------------------------------------------------------------- */

/* "model name : AMD ..." of the first CPU; null where the kernel does not say. */
static json_t *cpu_model(void)
{
    char line[LINE_MAX_BYTES];
    json_t *model = NULL;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f != NULL && model == NULL && fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(line, ':');
        if (colon == NULL || strncmp(line, "model name", 10) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        model = doc_text(colon + 1 + strspn(colon + 1, " \t"));
    }
    if (f != NULL)
        fclose(f);
    return model;
}

static json_t *memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? doc_integer((uint64_t)pages * (uint64_t)size) : NULL;
}

char *environment_json(void)
{
    char host[256];
    struct utsname u;
    json_t *o = json_object();
    host_name(host, sizeof host);
    doc_set(o, "host", doc_text(host));
    if (uname(&u) == 0) {
        char kernel[sizeof u.sysname + sizeof u.release + 2];
        snprintf(kernel, sizeof kernel, "%s %s", u.sysname, u.release);
        doc_set(o, "kernel", doc_text(kernel));
        doc_set(o, "machine", doc_text(u.machine));
    }
    doc_set(o, "cpus", doc_integer(host_cores()));
    doc_set(o, "cpu_model", cpu_model());
    doc_set(o, "memory_bytes", memory());
    doc_set(o, "hammer", doc_text(HAMMER_VERSION));
    doc_set(o, "libc", doc_text(gnu_get_libc_version()));
    doc_set(o, "command_line", command_line());
    char *dumped = json_dumps(o, JSON_COMPACT);
    char *text = mem_strdup(dumped);
    json_decref(o);
    free(dumped);
    return text;
}
