/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "proto/plan.h"

/* Lines are the words of a command line. A plan that passes its check must survive a copy and a
 * split; one that does not must be refused with a text. */

#define WORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok)
{
    if (!ok)
        abort();
}

static size_t cut_words(char *text, char **words)
{
    size_t n = 0;
    words[n++] = text; /* argv[0], never read */
    for (char *p = text; p != NULL && n < WORDS_MAX; n++) {
        words[n] = p;
        p = strchr(p, '\n');
        if (p != NULL)
            *p++ = '\0';
    }
    return n;
}

static void check_good(const struct plan *p)
{
    static const uint32_t weights[] = {1, 1000, 3}, cores[] = {1, 64, 0};
    struct plan_part parts[3];
    struct plan copy;
    struct errmsg msg = {{0}};
    require(plan_copy(&copy, p) == ERR_OK);
    require(plan_validate(&copy, NULL) == ERR_OK);
    if (plan_split(&copy, weights, cores, 3, parts, &msg) != ERR_OK)
        require(msg.text[0] != '\0');
    else if (copy.connections != 0)
        require(parts[0].connections + parts[1].connections + parts[2].connections ==
                copy.connections);
    plan_clear(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX];
    const char *rest[1];
    size_t n_rows, n_rest;
    struct plan p;
    struct errmsg msg = {{0}};
    const struct option_row *rows = plan_options(&n_rows);
    char *text = mem_dup(data, size);
    if (text == NULL)
        return 0;
    size_t argc = cut_words(text, words);
    plan_defaults(&p);
    enum err e = option_parse(rows, n_rows, (int)argc, words, &p, rest, 1, &n_rest, &msg);
    /* Files are not the fuzzer's to read. */
    if (e == ERR_OK && p.body_file == NULL) {
        p.url = mem_strdup(n_rest == 1 ? rest[0] : NULL);
        e = plan_check(&p, &msg);
        if (e == ERR_OK)
            check_good(&p);
    }
    require(e == ERR_OK || msg.text[0] != '\0');
    plan_clear(&p);
    mem_free(text);
    return 0;
}
