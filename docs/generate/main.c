/* SPDX-License-Identifier: MIT */

/*
 * Writes to stdout what is made from the programs' option tables:
 *   generate man TEMPLATE
 *   generate bash|zsh|fish PROGRAM
 */
#include <stdlib.h>
#include <string.h>

#include "docs/generate/program.h"

static const struct {
    const char *name;
    void (*write)(const struct doc_program *p, FILE *out);
} shells[] = {{"bash", doc_write_bash}, {"zsh", doc_write_zsh}, {"fish", doc_write_fish}};

static bool generate(const char *kind, const char *subject)
{
    static struct doc_program p;
    if (strcmp(kind, "man") == 0)
        return doc_write_man(subject, stdout);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, kind) != 0)
            continue;
        if (!doc_program_init(&p, subject)) {
            fprintf(stderr, "generate: %s: accepted is hammer-ctl or hammer-agent\n", subject);
            return false;
        }
        shells[i].write(&p, stdout);
        return true;
    }
    fprintf(stderr, "generate: %s: accepted is man, bash, zsh or fish\n", kind);
    return false;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: generate man TEMPLATE | generate bash|zsh|fish PROGRAM\n");
        return EXIT_FAILURE;
    }
    bool ok = generate(argv[1], argv[2]);
    return ok && fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
