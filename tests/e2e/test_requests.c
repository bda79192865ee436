/* SPDX-License-Identifier: MIT */
/* Many requests, templates and bodies: what reaches a server, byte by byte. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"
#include "tests/lib/request_trap.h"

#define N_OF(a) (sizeof(a) / sizeof(a)[0])

static struct request_trap *trap;
static char dir[64], url[64];

static void setup(void)
{
    folder_make(dir);
    trap = request_trap_start();
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", request_trap_port(trap));
}

static void teardown(void)
{
    request_trap_stop(trap);
    folder_remove(dir);
}

/* DIR/name with that text; every "URL/" in it is the trap's. */
static const char *file(const char *name, const char *text)
{
    static char paths[4][96];
    static size_t turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    for (const char *mark; (mark = strstr(text, "URL/")) != NULL; text = mark + 4)
        fprintf(f, "%.*s%s", (int)(mark - text), text, url);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
    return path;
}

/* hammer-ctl run --json with the words; all is answered. The report is the caller's. */
static json_t *run(const char *const *words)
{
    struct process p;
    const char *args[PROCESS_ARGS_MAX] = {"run", "--json", "-q", "-r", "1000"};
    size_t n = 5;
    for (; *words != NULL; words++)
        args[n++] = *words;
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 0 || code == 4, "exit code %d: %.500s", code, p.err);
    json_t *r = report_parse(p.out);
    report_check_ledger(r);
    ck_assert_int_eq(report_int(r, "totals.ok"), report_int(r, "totals.scheduled"));
    process_end(&p);
    return r;
}

static void run_only(const char *const *words)
{
    json_decref(run(words));
}

static size_t count_with(const char *text)
{
    size_t n = 0;
    for (size_t i = 0; i < request_trap_count(trap); i++)
        n += strstr(request_trap_get(trap, i), text) != NULL;
    return n;
}

/* --- flags of the one request ------------------------------------------------------------------
 */

#define HEAD(method, path) method " " path " HTTP/1.1\r\nHost: 127.0.0.1:"
#define USUAL              "User-Agent: hammer/" HAMMER_VERSION "\r\nAccept: */*\r\n"

static const struct flag {
    const char *words[8];
    const char *begins, *ends;
} flags[] = {
    {{NULL}, HEAD("GET", "/"), "\r\n" USUAL "\r\n"},
    {{"-H", "Accept;", "-H", "User-Agent:", "-H", "X: y"}, HEAD("GET", "/"), "X: y\r\n\r\n"},
    {{"--body-size", "30"},
     HEAD("POST", "/"),
     USUAL "Content-Length: 30\r\n\r\nabcdefghijklmnopqrstuvwxyzbcde"},
    {{"--data", "{{seq}}-{{seq}}"}, HEAD("POST", "/"), USUAL "Content-Length: 3\r\n\r\n0-0"},
    {{"--data", "{{seq}}", "--no-templates"},
     HEAD("POST", "/"),
     USUAL "Content-Length: 7\r\n\r\n{{seq}}"},
    {{"--data", "abc", "--chunked"},
     HEAD("POST", "/"),
     USUAL "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
    {{"--data", "abc", "--expect-continue"},
     HEAD("POST", "/"),
     "Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"},
    {{"-H", "X: {{env REQUESTS_E2E}}"}, HEAD("GET", "/"), "X: from outside\r\n\r\n"},
};

START_TEST(test_flags)
{
    const struct flag *f = &flags[_i];
    const char *words[16] = {"-n", "1", "-c", "1", "-t", "1", url};
    size_t n = 7;
    for (size_t i = 0; f->words[i] != NULL; i++)
        words[n++] = f->words[i];
    setenv("REQUESTS_E2E", "from outside", 1);
    run_only(words);
    ck_assert_uint_eq(request_trap_count(trap), 1);
    bool expects = strstr(f->ends, "Expect:") != NULL; /* the body came after the 100 */
    ck_assert_uint_eq(request_trap_held_back(trap), expects);
    const char *got = request_trap_get(trap, 0);
    size_t len = strlen(got), end = strlen(f->ends);
    ck_assert_msg(strncmp(got, f->begins, strlen(f->begins)) == 0, "%s", got);
    ck_assert_msg(len >= end && strcmp(got + len - end, f->ends) == 0, "%s", got);
}
END_TEST

START_TEST(test_lines_of_a_file)
{
    const char *lines = file("bodies", "one\ntwo\r\n{\"three\": 3}\n");
    const char *const words[] = {"-n", "9", "-c", "3", "--body-lines", lines, url, NULL};
    run_only(words);
    ck_assert_uint_eq(request_trap_count(trap), 9);
    ck_assert_uint_eq(count_with("Content-Length: 3\r\n\r\none"), 3);
    ck_assert_uint_eq(count_with("Content-Length: 3\r\n\r\ntwo"), 3);
    ck_assert_uint_eq(count_with("Content-Length: 12\r\n\r\n{\"three\": 3}"), 3);
}
END_TEST

/* What {{env}} stands for goes to the server and nowhere else. */
START_TEST(test_variables_stay_secret)
{
    char report[96];
    snprintf(report, sizeof report, "%s/r.json", dir);
    setenv("REQUESTS_E2E", "hunter2secret", 1);
    char with[160];
    snprintf(with, sizeof with, "%s?k={{env REQUESTS_E2E}}", url);
    const char *const args[] = {
        "run", "-n", "2", "-c", "1", "-v", "--debug", "-o", report, "-H", "X: {{env REQUESTS_E2E}}",
        with,  NULL};
    struct process p;
    process_run(&p, "hammer-ctl", args, 60000);
    char *json = file_read(report);
    ck_assert_ptr_null(strstr(json, "hunter2secret"));
    ck_assert_ptr_null(strstr(p.out, "hunter2secret"));
    ck_assert_ptr_null(strstr(p.err, "hunter2secret"));
    ck_assert_ptr_nonnull(strstr(p.out, "{{env REQUESTS_E2E}}"));
    ck_assert_uint_eq(count_with("/?k=hunter2secret"), 2);
    ck_assert_uint_eq(count_with("X: hunter2secret"), 2);
    mem_free(json);
    process_end(&p);
}
END_TEST

/* --- many --------------------------------------------------------------------------------------
 */

static const char plan[] = "connections: 6\n"
                           "threads: 1\n"
                           "requests:\n"
                           "  - url: URL/login/{{uuid}}\n"
                           "    method: PUT\n"
                           "    data: '{\"n\": {{seq}}, \"d\": {{rand 1 1000000}}}'\n"
                           "    weight: 2\n"
                           "  - url: URL/cart?x={{pick a b c d}}\n"
                           "    headers: [\"X-Id: {{rand 1 1000000}}\"]\n"
                           "  - url: URL/home\n"
                           "    weight: 5\n";

/* Sorted copies of what the trap kept; the caller frees them with free_texts. */
static size_t take_texts(char **texts)
{
    size_t n = request_trap_count(trap);
    request_trap_sort(trap);
    for (size_t i = 0; i < n; i++)
        texts[i] = mem_strdup(request_trap_get(trap, i));
    request_trap_forget(trap);
    return n;
}

static void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mem_free(texts[i]);
}

/* One agent or three: the same requests, byte by byte. */
START_TEST(test_any_number_of_agents_sends_the_same)
{
    static char *one[REQUEST_TRAP_MAX], *three[REQUEST_TRAP_MAX];
    static const char *const orders[] = {"weight", "random", "sequential"};
    const char *path = file("plan.yml", plan);
    const char *alone[] = {"-n", "400", "-f", path, "--order", orders[_i], NULL};
    const char *more[] = {"-n", "400", "-f", path, "--order", orders[_i], "--local", "3", NULL};
    run_only(alone);
    size_t n = take_texts(one);
    run_only(more);
    ck_assert_uint_eq(n, 400);
    ck_assert_uint_eq(take_texts(three), 400);
    size_t different = 0;
    for (size_t i = 0; i < n; i++) {
        ck_assert_str_eq(one[i], three[i]);
        different += i == 0 || strcmp(one[i], one[i - 1]) != 0;
    }
    ck_assert_uint_gt(different, 50);
    free_texts(one, n);
    free_texts(three, n);
}
END_TEST

START_TEST(test_the_seed_decides)
{
    static char *one[REQUEST_TRAP_MAX], *other[REQUEST_TRAP_MAX];
    const char *path = file("plan.yml", plan);
    const char *first[] = {"-n", "100", "-f", path, NULL};
    const char *second[] = {"-n", "100", "-f", path, "--seed", "2", NULL};
    run_only(first);
    size_t n = take_texts(one), same = 0;
    run_only(second);
    ck_assert_uint_eq(take_texts(other), n);
    for (size_t i = 0; i < n; i++)
        same += strstr(one[i], "/home") == NULL && strcmp(one[i], other[i]) == 0;
    ck_assert_uint_lt(same, 20);
    free_texts(one, n);
    free_texts(other, n);
}
END_TEST

START_TEST(test_weights)
{
    const char *path = file("plan.yml", plan);
    const char *words[] = {"-n", "800", "-f", path, NULL};
    run_only(words);
    ck_assert_uint_eq(count_with("PUT /login/"), 200);
    ck_assert_uint_eq(count_with("GET /cart?x="), 100);
    ck_assert_uint_eq(count_with("GET /home "), 500);
}
END_TEST

START_TEST(test_lists_of_other_tools)
{
    const char *siege = file("siege", "H=URL/\n${H}a\n${H}b POST x=1\n# c\n${H}c DELETE\n");
    const char *words[] = {"-n", "9", "-c", "1", "--urls", siege, NULL};
    run_only(words);
    ck_assert_uint_eq(count_with("GET /a "), 3);
    ck_assert_uint_eq(count_with("POST /b "), 3);
    ck_assert_uint_eq(count_with("application/x-www-form-urlencoded\r\nContent-Length: 3"), 3);
    ck_assert_uint_eq(count_with("DELETE /c "), 3);
    request_trap_forget(trap);
    file("body", "of a file");
    char text[256];
    snprintf(text, sizeof text, "GET URL/a\nX-Y: z\n\nPOST URL/b\n@%s/body\n", dir);
    const char *vegeta = file("vegeta", text);
    words[5] = vegeta;
    run_only(words);
    ck_assert_uint_eq(count_with("GET /a "), 5);
    ck_assert_uint_eq(count_with("X-Y: z\r\n"), 5);
    ck_assert_uint_eq(count_with("Content-Length: 9\r\n\r\nof a file"), 4);
}
END_TEST

/* --- names: the server's own log against the ledger of each -------------------------------------
 */

static size_t log_lines_with(const char *log, const char *text)
{
    char *all = file_read(log), *save = NULL;
    size_t n = 0;
    for (char *l = strtok_r(all, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save))
        n += strstr(l, text) != NULL;
    mem_free(all);
    return n;
}

static json_t *row_of(json_t *report, const char *name)
{
    json_t *rows = report_at(report, "requests");
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strcmp(report_text_at(json_array_get(rows, i), "name"), name) == 0)
            return json_array_get(rows, i);
    ck_abort_msg("no row %s", name);
}

START_TEST(test_each_name_has_its_ledger)
{
    static const struct {
        const char *name, *path;
    } rows[] = {{"login", " /in/"}, {"GET /items", " /items?"}, {"home", " / "}};
    struct target_process target;
    target_start(&target, NULL);
    char text[640];
    snprintf(text, sizeof text,
             "url: %s\nrequests:\n"
             " - {url: \"/in/{{seq}}\", name: login, weight: 2, method: POST, data: x}\n"
             " - {url: \"/items?n={{rand 1 99}}\", weight: 7}\n"
             " - {url: \"/\", name: home, weight: 3}\n",
             target.url);
    const char *path = file("plan.yml", text);
    const char *words[] = {"-n", "600", "-f", path, "--local", "3", "-c", "9", NULL};
    json_t *r = run(words);
    process_signal(&target.process, SIGTERM); /* writes its log */
    process_wait(&target.process, 10000);
    int64_t sum = 0;
    for (size_t i = 0; i < N_OF(rows); i++) {
        json_t *row = row_of(r, rows[i].name);
        ck_assert_int_eq(report_int(row, "totals.sent"),
                         (int64_t)log_lines_with(target.log, rows[i].path));
        ck_assert_int_eq(report_int(row, "totals.ok"), report_int(row, "totals.sent"));
        sum += report_int(row, "totals.sent");
    }
    ck_assert_int_eq(sum, 600);
    ck_assert_uint_eq(json_array_size(report_at(r, "requests")), N_OF(rows));
    ck_assert_int_eq(report_int(row_of(r, "login"), "totals.sent"), 100);
    ck_assert_int_eq(report_int(row_of(r, "GET /items"), "totals.sent"), 350);
    json_decref(r);
    target_stop(&target);
}
END_TEST

/* The last request of many is held against the agent's policy as the only one would be. */
START_TEST(test_no_request_escapes_the_policy)
{
    static const char *const last[] = {" - url: http://192.0.2.1/\n",
                                       " - {url: URL/, method: PUT, data: \"{{rand 1 10}}\"}\n"};
    static const char *const says[] = {"192.0.2.1", "max_body 1 bytes"};
    const char *policy = file("policy.yml", "targets:\n  - cidr: 127.0.0.0/8\nmax_body: 1\n");
    const char *agent_args[] = {"--policy", policy, NULL};
    struct agent_process agent;
    char text[512];
    strcpy(text, "requests:\n");
    for (int i = 0; i < 5; i++)
        strcat(text, " - url: URL/\n");
    strcat(text, last[_i]);
    const char *args[] = {"run",      "-n",          "12", "-f", file("plan.yml", text),
                          "--agents", agent.address, NULL};
    struct process p;
    agent_start(&agent, agent_args);
    int code = process_run(&p, "hammer-ctl", args, 60000);
    ck_assert_msg(code == 2, "exit code %d: %s", code, p.err);
    ck_assert_msg(strstr(p.err, says[_i]) != NULL || strstr(p.out, says[_i]) != NULL, "%s", p.err);
    ck_assert_uint_eq(request_trap_count(trap), 0);
    process_end(&p);
    agent_stop(&agent);
}
END_TEST

/* As many rows as there may be. */
START_TEST(test_sixty_four_names)
{
    char *text = mem_calloc(64, 64);
    strcpy(text, "requests:\n");
    for (int i = 0; i < 64; i++)
        sprintf(text + strlen(text), " - url: URL/%d\n", i);
    const char *path = file("plan.yml", text);
    const char *words[] = {"-n", "640", "-f", path, "-c", "4", NULL};
    json_t *r = run(words);
    ck_assert_uint_eq(json_array_size(report_at(r, "requests")), 64);
    ck_assert_int_eq(report_int(row_of(r, "GET /63"), "totals.ok"), 10);
    json_decref(r);
    mem_free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("requests");
    TCase *t = tcase_create("requests");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, test_flags, 0, (int)N_OF(flags));
    tcase_add_test(t, test_lines_of_a_file);
    tcase_add_test(t, test_variables_stay_secret);
    tcase_add_loop_test(t, test_any_number_of_agents_sends_the_same, 0, 3);
    tcase_add_test(t, test_the_seed_decides);
    tcase_add_test(t, test_weights);
    tcase_add_test(t, test_lists_of_other_tools);
    tcase_add_test(t, test_each_name_has_its_ledger);
    tcase_add_loop_test(t, test_no_request_escapes_the_policy, 0, 2);
    tcase_add_test(t, test_sixty_four_names);
    suite_add_tcase(s, t);
    return check_main(s);
}
