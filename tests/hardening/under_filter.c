/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * under_filter LIST PROGRAM [ARGUMENT...]: runs the program with the system calls of LIST (names,
 * one a line, as systemd-analyze syscall-filter shows them) and EPERM for all others: what the
 * unit's SystemCallFilter= and NoNewPrivileges= do. Needs libseccomp.so.2, which systemd brings; 77
 * without.
 */

#define SKIPPED 77
#define ALLOW   UINT32_C(0x7fff0000)           /* SCMP_ACT_ALLOW */
#define DENY    (UINT32_C(0x00050000) | EPERM) /* SCMP_ACT_ERRNO */
#define UNKNOWN (-1)                           /* __NR_SCMP_ERROR */

struct seccomp {
    void *(*init)(uint32_t action);
    int (*resolve)(const char *name);
    int (*rule)(void *ctx, uint32_t action, int call, unsigned n, const void *args);
    int (*load)(const void *ctx);
};

static void find(void *lib, const char *name, void *to)
{
    void *symbol = dlsym(lib, name);
    if (symbol == NULL) {
        fprintf(stderr, "under_filter: %s\n", dlerror());
        exit(SKIPPED);
    }
    memcpy(to, &symbol, sizeof symbol); /* ISO C has no cast from an object to a function */
}

static struct seccomp open_library(void)
{
    struct seccomp s;
    void *lib = dlopen("libseccomp.so.2", RTLD_NOW);
    if (lib == NULL) {
        fprintf(stderr, "under_filter: %s\n", dlerror());
        exit(SKIPPED);
    }
    find(lib, "seccomp_init", &s.init);
    find(lib, "seccomp_syscall_resolve_name", &s.resolve);
    find(lib, "seccomp_rule_add_array", &s.rule);
    find(lib, "seccomp_load", &s.load);
    return s;
}

/* How many calls the list allows; negative numbers are calls of other architectures. */
static unsigned allow_all(const struct seccomp *s, void *ctx, FILE *list)
{
    char name[64];
    unsigned n = 0;
    while (fscanf(list, "%63s", name) == 1) {
        int call = s->resolve(name);
        if (call != UNKNOWN && call >= 0 && s->rule(ctx, ALLOW, call, 0, NULL) == 0)
            n++;
    }
    return n;
}

int main(int argc, char **argv)
{
    FILE *list = argc > 2 ? fopen(argv[1], "r") : NULL;
    if (list == NULL) {
        fprintf(stderr, "usage: under_filter LIST PROGRAM [ARGUMENT...]\n");
        return 1;
    }
    struct seccomp s = open_library();
    void *ctx = s.init(DENY);
    if (ctx == NULL || allow_all(&s, ctx, list) < 100) {
        fprintf(stderr, "under_filter: %s: no list of system calls\n", argv[1]);
        return 1;
    }
    fclose(list);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || s.load(ctx) != 0) {
        fprintf(stderr, "under_filter: this kernel takes no filter: %s\n", strerror(errno));
        return SKIPPED;
    }
    execv(argv[2], argv + 2);
    fprintf(stderr, "under_filter: %s: %s\n", argv[2], strerror(errno));
    return 1;
}
