/* SPDX-License-Identifier: MIT */
#include "tests/bench/lib/self.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/clock.h"

_Noreturn void self_die(const char *fmt, ...)
{
    int error = errno;
    va_list ap;
    fprintf(stderr, "%s: ", program_invocation_short_name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, error != 0 ? ": %s\n" : "\n", strerror(error));
    exit(2);
}

/* Before anything else is parsed: a broken option does not hide the help. */
static void help(const char *usage, const struct option_row *rows, size_t n, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") != 0)
            continue;
        printf("usage: %s %s\n\n", program_invocation_short_name, usage);
        option_help(rows, n, stdout);
        exit(0);
    }
}

void self_options(const char *usage, const struct option_row *rows, size_t n, int argc, char **argv,
                  void *target, const char **rest, size_t rest_max)
{
    struct errmsg msg = {{0}};
    size_t n_rest = 0;
    for (size_t i = 0; i < rest_max; i++)
        rest[i] = NULL;
    help(usage, rows, n, argc, argv);
    enum err e = option_parse(rows, n, argc, argv, target, rest, rest_max, &n_rest, &msg);
    if (e == ERR_OK)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, msg.text);
    exit(1);
}

void self_pin(uint32_t cpu)
{
    cpu_set_t set;
    if (cpu == SELF_NO_CPU)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        self_die("--cpu %u", cpu);
}

void self_raise_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static uint64_t tv_ns(struct timeval tv)
{
    return (uint64_t)tv.tv_sec * NS_PER_SEC + (uint64_t)tv.tv_usec * NS_PER_US;
}

uint64_t self_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return tv_ns(usage.ru_utime) + tv_ns(usage.ru_stime);
}
