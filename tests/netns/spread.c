/* SPDX-License-Identifier: MIT */
#include "tests/netns/spread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/netns.h"
#include "tests/lib/process.h"

#define WIDTH_MAX 64
#define LIMIT_S   120 /* of one case */
#define REPEAT    "HAMMER_FAULT_REPETITION"

struct job {
    pid_t pid;
    char label[96];
    char out[32];
    uint64_t begin_ns;
};

struct spread {
    struct job jobs[WIDTH_MAX];
    size_t width, running, done, failed;
};

int spread_repetition(void)
{
    const char *text = getenv(REPEAT);
    return text != NULL ? atoi(text) : 0;
}

static size_t setting(const char *name, size_t otherwise, size_t max)
{
    const char *text = getenv(name);
    unsigned long n = text != NULL ? strtoul(text, NULL, 10) : otherwise;
    return n >= 1 && n <= max ? n : otherwise;
}

/* In the child: a suite of this one test. */
static int run_one(const struct spread_case *c, int i, size_t repetition)
{
    char text[16];
    snprintf(text, sizeof text, "%zu", repetition);
    setenv(REPEAT, text, 1);
    Suite *s = suite_create(c->name);
    TCase *t = tcase_create(c->name);
    tcase_set_timeout(t, LIMIT_S);
    tcase_add_loop_test(t, c->test, i, i + 1);
    suite_add_tcase(s, t);
    return check_main(s);
}

static void start(struct spread *s, const struct spread_case *c, int i, size_t repetition)
{
    struct job *j = s->jobs;
    while (j->pid != 0)
        j++;
    snprintf(j->label, sizeof j->label, "%s[%d] #%zu", c->name, i, repetition);
    strcpy(j->out, "/tmp/hammer-case-XXXXXX");
    int fd = mkstemp(j->out);
    if (fd < 0) {
        perror(j->out);
        exit(EXIT_FAILURE);
    }
    fflush(stdout);
    j->begin_ns = clock_mono_ns();
    j->pid = fork();
    if (j->pid == 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        close(fd);
        int code = run_one(c, i, repetition);
        fflush(stdout);
        _exit(code);
    }
    close(fd);
    s->running++;
}

static void finish_one(struct spread *s)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0)
        return;
    for (struct job *j = s->jobs; j < s->jobs + s->width; j++) {
        if (j->pid != pid)
            continue;
        bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        double took_s = (double)(clock_mono_ns() - j->begin_ns) / 1e9;
        printf("%s %s %.1f s\n", good ? "ok  " : "FAIL", j->label, took_s);
        if (!good) {
            char *text = file_read(j->out);
            printf("%s\n", text != NULL ? text : "");
            mem_free(text);
        }
        fflush(stdout);
        unlink(j->out);
        j->pid = 0;
        s->running--;
        s->done++;
        s->failed += !good;
    }
}

static bool wanted(const char *name, int argc, char **argv)
{
    bool any = argc < 2;
    for (int k = 1; k < argc; k++)
        any = any || strncmp(name, argv[k], strlen(argv[k])) == 0;
    return any;
}

int spread_main(const struct spread_case *cases, size_t n, int argc, char **argv)
{
    struct spread s = {.width = setting("HAMMER_FAULT_WIDTH", 16, WIDTH_MAX)};
    size_t repeat = setting("HAMMER_FAULT_REPEAT", 1, 10000);
    const char *missing = netns_missing();
    if (missing != NULL) {
        printf("skipped: %s\n", missing);
        return 77;
    }
    check_seed(); /* one for all */
    for (size_t r = 0; r < repeat; r++) {
        for (size_t k = 0; k < n; k++) {
            int loops = cases[k].loops > 0 ? cases[k].loops : 1;
            for (int i = 0; i < loops && wanted(cases[k].name, argc, argv); i++) {
                if (s.running == s.width)
                    finish_one(&s);
                start(&s, &cases[k], i, r);
            }
        }
    }
    while (s.running > 0)
        finish_one(&s);
    printf("%zu cases, %zu failed\n", s.done, s.failed);
    return s.failed == 0 && s.done > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
