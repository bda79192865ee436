/* SPDX-License-Identifier: MIT */
/* A marked secret goes in by every way that is accepted, and by those that are not: the server gets
 * it, and nothing that is printed, logged, written or seen in /proc has it. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hostile_server.h"
#include "tests/lib/process.h"

#define N_OF(table)  (sizeof(table) / sizeof(table)[0])
#define CANARY       "c4n4ry-5ecret"
#define CANARY_BASIC "Y2FuYXJ5OmM0bjRyeS01ZWNyZXQ=" /* of "canary:" CANARY */
#define ARGS_MAX     24
#define WAIT_MS      10000

static const struct hostile_step answers[] = {
    {HOSTILE_READ, NULL, 0},
    {HOSTILE_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Echo: " CANARY "\r\n\r\n", 0},
    {HOSTILE_AGAIN, NULL, 0},
    {HOSTILE_END, NULL, 0},
};
static const struct hostile_step breaks[] = {
    {HOSTILE_READ, NULL, 0},
    {HOSTILE_SEND, CANARY ": " CANARY "\r\n" CANARY "\r\n\r\n", 0},
    {HOSTILE_END, NULL, 0},
};

/* --- looking for it ------------------------------------------------------------------------- */

static void check_bytes(const char *bytes, size_t len, const char *where)
{
    if (memmem(bytes, len, CANARY, strlen(CANARY)) == NULL &&
        memmem(bytes, len, CANARY_BASIC, strlen(CANARY_BASIC)) == NULL)
        return;
    printf("%s: %.*s\n", where, (int)len, bytes);
    fflush(stdout);
    ck_abort_msg("the secret is in %s", where);
}

/* Returns how many bytes there were. */
static size_t check_file(const char *path)
{
    static char bytes[1 << 20];
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    size_t len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    check_bytes(bytes, len, path);
    return len;
}

static void check_process(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    ck_assert_msg(check_file(path) > 0, "%s cannot be read", path);
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    check_file(path);
}

/* The children too; there must be `n`. */
static void check_family(pid_t pid, int n)
{
    char path[64];
    int child, found = 0;
    check_process(pid);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    for (; fscanf(f, "%d", &child) == 1; found++)
        check_process((pid_t)child);
    fclose(f);
    ck_assert_int_eq(found, n);
}

static void check_folder(const char *dir)
{
    char path[512];
    const struct dirent *entry;
    size_t files = 0;
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (strchr(entry->d_name, '.') != NULL && entry->d_name[0] != '.')
            files += check_file(path) > 0;
    }
    closedir(d);
    ck_assert_uint_eq(files, 2); /* both reports */
}

static void check_printed(const struct process *p)
{
    check_bytes(p->out, strlen(p->out), "stdout");
    check_bytes(p->err, strlen(p->err), "stderr");
}

/* --- accepted ways -------------------------------------------------------------------------- */

static const struct way {
    const char *flag, *source; /* NULL = the folder's file "secret" */
    const char *file;          /* its text */
    const char *variable, *value;
    const char *sent; /* what the server must have got */
} ways[] = {
    {"--bearer", NULL, CANARY "\n", NULL, NULL, "Authorization: Bearer " CANARY "\r\n"},
    {"--basic", NULL, "canary:" CANARY, NULL, NULL, "Authorization: Basic " CANARY_BASIC "\r\n"},
    {"--header-file", NULL, "Accept: a\nX-Mine: " CANARY "\n", NULL, NULL,
     "X-Mine: " CANARY "\r\n"},
    {"--bearer", "env:MY_TOKEN", NULL, "MY_TOKEN", CANARY, "Bearer " CANARY "\r\n"},
    {"--bearer", "secret", CANARY, "CREDENTIALS_DIRECTORY", NULL, "Bearer " CANARY "\r\n"},
    {NULL, NULL, NULL, "HAMMER_HEADER", "Cookie: a=" CANARY, "Cookie: a=" CANARY "\r\n"},
    {NULL, NULL, NULL, "HAMMER_HEADER", "X-Mine: " CANARY, "X-Mine: " CANARY "\r\n"},
    {NULL, NULL, NULL, "HAMMER_URL", "/?x=1&token=" CANARY, "GET /?x=1&token=" CANARY " HTTP"},
};

#define LONG "15" /* seconds: until it is stopped */

struct scene {
    char dir[64], secret[80], json[80], text[80], url[96];
    const char *args[ARGS_MAX];
    size_t n;
};

static void add(struct scene *s, const char *arg)
{
    ck_assert_uint_lt(s->n, ARGS_MAX - 1);
    s->args[s->n++] = arg;
}

static void write_secret(const struct scene *s, const char *text)
{
    int fd = open(s->secret, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void set_variable(const struct scene *s, const struct way *w)
{
    char value[256];
    bool url = strcmp(w->variable, "HAMMER_URL") == 0;
    snprintf(value, sizeof value, "%.*s%s", url ? (int)strlen(s->url) - 1 : 0, s->url,
             w->value != NULL ? w->value : s->dir);
    setenv(w->variable, value, 1);
}

static void scene_make(struct scene *s, const struct way *w, uint16_t port, const char *seconds)
{
    *s = (struct scene){.n = 0};
    folder_make(s->dir);
    snprintf(s->secret, sizeof s->secret, "%s/secret", s->dir);
    snprintf(s->json, sizeof s->json, "%s/r.json", s->dir);
    snprintf(s->text, sizeof s->text, "%s/r.txt", s->dir);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/", (unsigned)port);
    static const char *const common[] = {"run", "-v", "--debug", "-L", "-r", "20", "-c", "2", "-o"};
    for (size_t i = 0; i < N_OF(common); i++)
        add(s, common[i]);
    add(s, s->json);
    add(s, "-o");
    add(s, s->text);
    add(s, "-d");
    add(s, seconds);
    if (w->flag != NULL) {
        add(s, w->flag);
        add(s, w->source != NULL ? w->source : s->secret);
    }
    if (w->file != NULL)
        write_secret(s, w->file);
    if (w->variable != NULL)
        set_variable(s, w);
    if (w->variable == NULL || strcmp(w->variable, "HAMMER_URL") != 0)
        add(s, s->url);
}

/* While it runs its command line and environment, and those of its agents, can be looked at. */
static void run_scene(const struct scene *s, const struct way *w, struct hostile_server *h,
                      int children)
{
    struct process p;
    char head[HOSTILE_REQUEST_MAX + 1];
    process_start(&p, "hammer-ctl", s->args);
    if (w->variable != NULL)
        unsetenv(w->variable);
    uint64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    while (hostile_requests(h) == 0 && process_alive(&p) && clock_mono_ns() < until)
        clock_sleep_until(clock_mono_ns() + NS_PER_MS);
    if (!p.running)
        ck_abort_msg("ended with %d: %s", p.code, p.err);
    check_family(p.pid, children);
    kill(p.pid, SIGINT); /* however late the look came, it was still running */
    int code = process_wait(&p, 20000);
    ck_assert_msg(code == 130, "exit code %d: %s%s", code, p.out, p.err);
    hostile_last_head(h, head, sizeof head);
    ck_assert_msg(strstr(head, w->sent) != NULL, "the server got %s", head);
    check_printed(&p);
    check_folder(s->dir);
    ck_assert_ptr_nonnull(strstr(p.out, w->value == NULL || w->value[0] != '/' ? "http://127.0.0.1:"
                                                                               : "token=REDACTED"));
    process_end(&p);
}

START_TEST(test_local_agent)
{
    static const struct hostile_step *const script[] = {answers};
    struct hostile_server *h = hostile_start(script, 1);
    struct scene s;
    scene_make(&s, &ways[_i], hostile_port(h), LONG);
    run_scene(&s, &ways[_i], h, 1);
    hostile_stop(h);
    folder_remove(s.dir);
}
END_TEST

START_TEST(test_listening_agent)
{
    static const struct hostile_step *const script[] = {answers};
    static const char *const verbose[] = {"-v", NULL};
    struct hostile_server *h = hostile_start(script, 1);
    struct agent_process agent;
    struct scene s;
    agent_start(&agent, verbose);
    scene_make(&s, &ways[_i], hostile_port(h), LONG);
    add(&s, "--json");
    add(&s, "--agents");
    add(&s, agent.address);
    run_scene(&s, &ways[_i], h, 0);
    check_process(agent.process.pid);
    ck_assert_uint_gt(check_file(agent.process.err_path), 0);
    agent_stop(&agent);
    hostile_stop(h);
    folder_remove(s.dir);
}
END_TEST

/* --- a run that fails ----------------------------------------------------------------------- */

static void run_failing(const char *url, const char *says)
{
    struct way w = {"--bearer", NULL, CANARY, NULL, NULL, NULL};
    struct scene s;
    struct process p;
    scene_make(&s, &w, 1, "1");
    if (url != NULL)
        s.args[s.n - 1] = url;
    int code = process_run(&p, "hammer-ctl", s.args, 20000);
    ck_assert_msg(code != 0 && code < 128, "exit code %d: %s%s", code, p.out, p.err);
    ck_assert_msg(strstr(p.err, says) != NULL, "%s", p.err);
    check_printed(&p);
    process_end(&p);
    folder_remove(s.dir);
}

START_TEST(test_failing_targets)
{
    static const struct hostile_step *const script[] = {breaks};
    struct hostile_server *h = hostile_start(script, 1);
    char url[96];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/?sig=" CANARY, (unsigned)hostile_port(h));
    run_failing(NULL, ""); /* nobody listens there */
    run_failing("http://169.254.1.1/?token=" CANARY, "HAMMER_URL in the environment");
    run_failing("http://nobody.invalid/?token=" CANARY, "HAMMER_URL in the environment");
    run_failing(url, "HAMMER_URL in the environment"); /* no HTTP, and the secret in it */
    hostile_stop(h);
}
END_TEST

/* --- refused ways --------------------------------------------------------------------------- */

#define URL "http://127.0.0.1:1/"

static const struct {
    const char *args[8];
    const char *variable, *value;
    const char *says;
} refusals[] = {
    {{"-H", "Authorization: Bearer " CANARY, URL}, NULL, NULL, "--bearer FILE"},
    {{"--header=Cookie: a=" CANARY, URL}, NULL, NULL, "--header-file FILE"},
    {{"-HX-Mine: Basic " CANARY, URL}, NULL, NULL, "--basic"},
    {{"--redact", "X-Mine", "-H", "X-Mine: " CANARY, URL}, NULL, NULL, "HAMMER_HEADER"},
    {{"-H", "Authorization " CANARY, URL}, NULL, NULL, "not accepted on the command line"},
    {{"-H", "Authorization:", "Bearer", CANARY, URL}, NULL, NULL, "not accepted"},
    {{"-H", "X-Mine " CANARY, URL}, NULL, NULL, "no colon"},
    {{"--headers=Authorization: " CANARY, URL}, NULL, NULL, "did you mean --header"},
    {{"--bearer", CANARY, URL}, NULL, NULL, "--bearer: what it names cannot be opened"},
    {{"--basic", "canary:" CANARY, URL}, NULL, NULL, "--basic: what it names"},
    {{"--header-file", "Cookie: " CANARY, URL}, NULL, NULL, "--header-file: what it names"},
    {{"--bearer", "env:" CANARY, URL}, NULL, NULL, "no such variable"},
    {{"http://canary:" CANARY "@127.0.0.1:1/"}, NULL, NULL, "user information"},
    {{"http://canary:" CANARY "@127.0.0.1:1/", URL}, NULL, NULL, "two arguments"},
    {{"http://canary:" CANARY "@127.0.0.1:1/ x"}, NULL, NULL, "a space"},
    {{"https://canary:" CANARY "@127.0.0.1:1/"}, NULL, NULL, "user information"},
    {{"http://127.0.0.1:1/?token=" CANARY "{"}, NULL, NULL, "token=REDACTED"},
    {{"canary:" CANARY "@127.0.0.1:1"}, NULL, NULL, "user information"},
    {{NULL}, "HAMMER_URL", "http://canary:" CANARY "@127.0.0.1:1/", "user information"},
    {{NULL}, "HAMMER_URL", "http://127.0.0.1:1/?key=" CANARY "^", "key=REDACTED"},
    {{URL}, "HAMMER_HEADER", "Authorization: " CANARY "\r\nX: y", "CR, LF"},
    {{URL}, "HAMMER_HEADER", "Authorization " CANARY, "no colon"},
    {{URL}, "HAMMER_HEADER", CANARY, "no colon"},
    {{URL}, "HAMMER_BEARER", CANARY, "--bearer: what it names"},
};

START_TEST(test_refusals)
{
    const char *args[10] = {"run", "--debug"};
    struct process p;
    memcpy(args + 2, refusals[_i].args, sizeof refusals[_i].args);
    if (refusals[_i].variable != NULL)
        setenv(refusals[_i].variable, refusals[_i].value, 1);
    int code = process_run(&p, "hammer-ctl", args, 20000);
    ck_assert_msg(code == 1, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, refusals[_i].says) != NULL, "%s", p.err);
    check_printed(&p);
    process_end(&p);
}
END_TEST

/* --- in the wrong place --------------------------------------------------------------------- */

#define LOGIN "canary:" CANARY "@127.0.0.1:1"

static const struct {
    const char *program;
    const char *args[4];
    const char *says;
} misplaced[] = {
    {"hammer-ctl", {"http://" LOGIN "/"}, "http://REDACTED@127.0.0.1:1/: no command"},
    {"hammer-ctl", {"http://127.0.0.1:1/?token=" CANARY}, "token=REDACTED: no command"},
    {"hammer-ctl", {LOGIN}, "REDACTED@127.0.0.1:1: no such command"},
    {"hammer-ctl", {"--header=Authorization: " CANARY, URL}, "--header: no command"},
    {"hammer-ctl", {"-HAuthorization: " CANARY, URL}, "-HAuthorization: no command"},
    {"hammer-ctl", {"help", "http://" LOGIN "/"}, "http://REDACTED@127.0.0.1:1/: no command"},
    {"hammer-ctl", {"agents", "http://" LOGIN "/"}, "http://REDACTED@127.0.0.1:1/: accepted is"},
    {"hammer-ctl", {"agents", "--target", "http://" LOGIN "/"}, "user information"},
    {"hammer-ctl", {"agents", "check", "http://" LOGIN "/"}, "user information"},
    {"hammer-ctl", {"agents", "--agents", "tcp://" LOGIN}, "--agents tcp://REDACTED@127.0.0.1:1: "},
    {"hammer-ctl", {"agents", "--agents", "a@tcp://" LOGIN}, "--agents a@tcp://REDACTED@127"},
    {"hammer-ctl", {"agents", "--agents", LOGIN}, "--agents REDACTED@127.0.0.1:1: name"},
    {"hammer-ctl", {"agents", "--agents", "http://" LOGIN "/"}, "unknown transport"},
    {"hammer-ctl", {"pki", "http://" LOGIN "/"}, "pki http://REDACTED@127.0.0.1:1/: no such"},
    {"hammer-ctl", {"pki", "init", "http://" LOGIN "/"}, "one argument too many"},
    {"hammer-agent", {"http://" LOGIN "/"}, "REDACTED@127.0.0.1:1/: hammer-agent takes no"},
    {"hammer-agent", {"selftest", "http://" LOGIN "/"}, "hammer-agent selftest takes no argument"},
    {"hammer-agent", {"--listen", "tcp://" LOGIN}, "--listen tcp://REDACTED@127.0.0.1:1: accepted"},
    {"hammer-agent", {"--listen", "tls+tcp://" LOGIN}, "--listen tls+tcp://REDACTED@127.0.0.1:1"},
    {"hammer-agent", {"--listen", "http://" LOGIN "/"}, "--listen http://REDACTED@127.0.0.1:1/"},
};

START_TEST(test_misplaced)
{
    struct process p;
    const char *args[5] = {NULL};
    memcpy(args, misplaced[_i].args, sizeof misplaced[_i].args);
    int code = process_run(&p, misplaced[_i].program, args, 20000);
    ck_assert_msg(code == 1, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, misplaced[_i].says) != NULL, "%s", p.err);
    check_printed(&p);
    process_end(&p);
}
END_TEST

/* --- the file of defaults ------------------------------------------------------------------- */

static const struct {
    const char *text;
    mode_t mode;
    int code;
    const char *says;
} files[] = {
    {"header: 'Authorization: Bearer " CANARY "'\nverbose: true\n", 0600, 2, ""}, /* nobody there */
    {"header: 'Authorization: Bearer " CANARY "'\n", 0644, 1, "chmod 600"},
    {"header: {Authorization: " CANARY "}\n", 0600, 1, "ctl.yml:1:9: header: accepted is"},
    {"header: Authorization: " CANARY "\n", 0600, 1, "ctl.yml:1:"},
    {"header: ['Cookie: a', 'Cookie " CANARY "']\n", 0600, 1, "no colon"},
    {"Authorization: " CANARY "\n", 0600, 1, "unknown key Authorization"},
    {"url: 'http://canary:" CANARY "@h/'\n", 0600, 1, "unknown key url"},
    {"bearer: " CANARY "\n", 0600, 1, "--bearer: what it names cannot be opened"},
};

START_TEST(test_defaults_file)
{
    char dir[64], path[96];
    struct process p;
    const char *args[] = {"run", "--debug", "-n", "1", URL, NULL};
    folder_make(dir);
    snprintf(path, sizeof path, "%s/hammer", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/hammer/ctl.yml", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_eq(write(fd, files[_i].text, strlen(files[_i].text)),
                     (ssize_t)strlen(files[_i].text));
    ck_assert_int_eq(fchmod(fd, files[_i].mode), 0);
    close(fd);
    setenv("XDG_CONFIG_HOME", dir, 1);
    int code = process_run(&p, "hammer-ctl", args, 20000);
    ck_assert_msg(code == files[_i].code, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, files[_i].says) != NULL, "%s", p.err);
    check_printed(&p);
    process_end(&p);
    folder_remove(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("secrets");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 90);
    tcase_add_loop_test(t, test_local_agent, 0, N_OF(ways));
    tcase_add_loop_test(t, test_listening_agent, 0, N_OF(ways));
    tcase_add_test(t, test_failing_targets);
    tcase_add_loop_test(t, test_refusals, 0, N_OF(refusals));
    tcase_add_loop_test(t, test_misplaced, 0, N_OF(misplaced));
    tcase_add_loop_test(t, test_defaults_file, 0, N_OF(files));
    return check_main(s);
}
