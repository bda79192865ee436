/* SPDX-License-Identifier: MIT */
/*
 * Feeds files to a fuzz target without a fuzzer: each argument is a file or a folder whose files
 * are taken in order of name. A corpus without a single file is a failure: it would prove nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#define FILE_MAX (16u << 20)

static void die(const char *path, const char *why)
{
    fprintf(stderr, "fuzz replay: %s: %s\n", path, why);
    exit(EXIT_FAILURE);
}

/* The block is exactly as long as the input, so that a read past the end is seen. */
static uint8_t *read_all(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (f == NULL || data == NULL)
        die(path, strerror(errno));
    if (fread(data, 1, size, f) != size)
        die(path, "could not be read whole");
    fclose(f);
    return data;
}

static size_t replay(const char *path);

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static size_t replay_folder(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, visible, alphasort);
    if (n < 0)
        die(path, strerror(errno));
    size_t fed = 0;
    for (int i = 0; i < n; i++) {
        char *child;
        if (asprintf(&child, "%s/%s", path, entries[i]->d_name) < 0)
            die(path, "out of memory");
        fed += replay(child);
        free(child);
        free(entries[i]);
    }
    free(entries);
    return fed;
}

static size_t replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        die(path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return replay_folder(path);
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
        die(path, "accepted are files up to 16 MiB and folders");
    /* Named before it runs: the last name printed is the one that failed. */
    printf("%s (%lld bytes)\n", path, (long long)st.st_size);
    fflush(stdout);
    uint8_t *data = read_all(path, (size_t)st.st_size);
    LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    size_t fed = 0;
    for (int i = 1; i < argc; i++)
        fed += replay(argv[i]);
    if (fed == 0)
        die(argc > 1 ? argv[1] : "no argument", "no input; accepted are files and filled folders");
    printf("%zu inputs\n", fed);
    return EXIT_SUCCESS;
}
