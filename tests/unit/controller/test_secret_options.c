/* SPDX-License-Identifier: MIT */
#include "controller/cmd/secret_options.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "controller/cmd/secret_source.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define CANARY      "c4n4ry"

/* One call with its own folder for files. */
struct call {
    char dir[64];
    struct secret_options s;
    struct option_list environment, headers;
    struct errmsg msg;
};

static void call_make(struct call *c)
{
    *c = (struct call){.dir = ""};
    folder_make(c->dir);
}

static void call_clear(struct call *c)
{
    mem_free(c->s.bearer);
    mem_free(c->s.basic);
    mem_free(c->s.redact);
    option_list_clear(&c->s.header_files);
    option_list_clear(&c->environment);
    option_list_clear(&c->headers);
    secret_options_clear(&c->s);
    folder_remove(c->dir);
}

/* The path; owned by the caller. */
static char *write_file(const struct call *c, const char *text, size_t len, mode_t mode)
{
    char path[96];
    snprintf(path, sizeof path, "%s/secret", c->dir);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
    return mem_strdup(path);
}

static char *write_text(const struct call *c, const char *text)
{
    return write_file(c, text, strlen(text), 0600);
}

static enum err load(struct call *c)
{
    return secret_options_load(&c->s, &c->environment, &c->headers, &c->msg);
}

static void check_refused(struct call *c, enum err e, const char *says)
{
    ck_assert_int_eq(e, ERR_INVALID);
    ck_assert_msg(strstr(c->msg.text, says) != NULL, "%s", c->msg.text);
    ck_assert_msg(strstr(c->msg.text, CANARY) == NULL, "%s", c->msg.text);
}

/* --- the command line ----------------------------------------------------------------------- */

START_TEST(test_no_secret_in_flags)
{
    static const char *const lines[] = {
        "Authorization: Bearer " CANARY,
        "authorization:" CANARY,
        "Proxy-Authorization: " CANARY,
        "Cookie: a=" CANARY,
        "x-api-key: " CANARY,
        "X-Mine: " CANARY,
        "X-Other: Basic " CANARY,
        "X-Auth-Token: ",
        "Authorization Bearer " CANARY,
    };
    for (size_t i = 0; i < N_OF(lines); i++) {
        struct call c;
        call_make(&c);
        c.s.redact = mem_strdup("X-Mine");
        option_list_add(&c.headers, "Accept: */*");
        option_list_add(&c.headers, lines[i]);
        check_refused(&c, secret_options_check(&c.s, &c.headers, &c.msg), "--bearer FILE");
        ck_assert_ptr_nonnull(strstr(c.msg.text, "--header-file FILE"));
        ck_assert_ptr_nonnull(strstr(c.msg.text, "HAMMER_HEADER in the environment"));
        call_clear(&c);
    }
    struct call c;
    call_make(&c);
    option_list_add(&c.headers, "Accept: */*");
    option_list_add(&c.headers, "Idempotency-Key: 1");
    option_list_add(&c.headers, "From: me@example.com");
    ck_assert(secret_options_check(&c.s, &c.headers, &c.msg) == ERR_OK);
    call_clear(&c);
}
END_TEST

/* --- what is sent --------------------------------------------------------------------------- */

static const struct {
    const char *file; /* of --bearer, or with a colon of --basic */
    const char *line;
} sent[] = {
    {"tok.en", "Authorization: Bearer tok.en"},
    {"tok.en\n", "Authorization: Bearer tok.en"},
    {"tok.en\r\n", "Authorization: Bearer tok.en"},
    {"Aladdin:open sesame\n", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}, /* RFC 7617 */
    {"test:123\xc2\xa3", "Authorization: Basic dGVzdDoxMjPCow=="},
    {":", "Authorization: Basic Og=="},
    {"a:b", "Authorization: Basic YTpi"},
    {"a:bc", "Authorization: Basic YTpiYw=="},
    {"a:bcd", "Authorization: Basic YTpiY2Q="},
};

START_TEST(test_authorization)
{
    struct call c;
    call_make(&c);
    char *path = write_text(&c, sent[_i].file);
    if (strchr(sent[_i].file, ':') != NULL)
        c.s.basic = path;
    else
        c.s.bearer = path;
    ck_assert_msg(load(&c) == ERR_OK, "%s", c.msg.text);
    ck_assert_uint_eq(c.headers.n, 1);
    ck_assert_str_eq(c.headers.items[0], sent[_i].line);
    ck_assert_str_eq(c.s.names, ",Authorization");
    call_clear(&c);
}
END_TEST

START_TEST(test_files_and_environment)
{
    struct call c;
    call_make(&c);
    char *path = write_text(&c, "# mine\nX-A: 1\r\n\nX-B:2\nX-C: \xc3\xa4");
    option_list_add(&c.s.header_files, path);
    mem_free(path);
    option_list_add(&c.headers, "Accept: flag");
    option_list_add(&c.environment, "ACCEPT: environment"); /* the flag wins */
    option_list_add(&c.environment, "X-E: environment");
    c.s.redact = mem_strdup("X-R");
    ck_assert_msg(load(&c) == ERR_OK, "%s", c.msg.text);
    static const char *const want[] = {"Accept: flag", "X-E: environment", "X-A: 1", "X-B:2",
                                       "X-C: \xc3\xa4"};
    ck_assert_uint_eq(c.headers.n, N_OF(want));
    for (size_t i = 0; i < N_OF(want); i++)
        ck_assert_str_eq(c.headers.items[i], want[i]);
    ck_assert_str_eq(c.s.names, "X-R,X-E,X-A,X-B,X-C");
    ck_assert_uint_eq(c.environment.n, 0);
    call_clear(&c);
}
END_TEST

/* --- what is refused ------------------------------------------------------------------------ */

static const struct {
    char kind; /* 'b'earer, 'u'ser:password, 'h'eader file */
    const char *text;
    size_t len;
    const char *says;
} refused[] = {
#define TEXT(t) t, sizeof t - 1
    {'b', TEXT("\n"), "--bearer: the token is empty"},
    {'b', TEXT("Bearer " CANARY),
     "--bearer: a space, a control or a non-ASCII character at byte 7"},
    {'b', TEXT(CANARY "\r"), "at byte 7"},
    {'b', TEXT(CANARY "\n\n"), "at byte 7"},
    {'b', TEXT(CANARY "\0x"), "at byte 7"},
    {'b', TEXT(CANARY "\xc3\xa4"), "at byte 7"},
    {'u', TEXT(CANARY), "--basic: no colon"},
    {'u', TEXT("a:" CANARY "\r"), "--basic: a control character"},
    {'u', TEXT("a:" CANARY "\nb:c\n"), "--basic: a control character"},
    {'u', TEXT("a:" CANARY "\0"), "--basic: a control character"},
    {'h', TEXT("A: b\nCookie: " CANARY "\0\n"), "line 2: CR, NUL"},
    {'h', TEXT("Cookie: " CANARY "\rX: y\n"), "line 1: CR, NUL"},
    {'h', TEXT("A: b\n\nCookie " CANARY "\n"), "line 3: no colon"},
    {'h', TEXT("Authorization: " CANARY "\nauthorization: b"), "Authorization is set 2 times"},
    {'h', TEXT(""), "is empty"},
#undef TEXT
};

static void set_source(struct call *c, char kind, const char *source)
{
    if (kind == 'b')
        c->s.bearer = mem_strdup(source);
    else if (kind == 'u')
        c->s.basic = mem_strdup(source);
    else
        option_list_add(&c->s.header_files, source);
}

START_TEST(test_refused_texts)
{
    struct call c;
    call_make(&c);
    char *path = write_file(&c, refused[_i].text, refused[_i].len, 0600);
    set_source(&c, refused[_i].kind, path);
    mem_free(path);
    check_refused(&c, load(&c), refused[_i].says);
    call_clear(&c);
}
END_TEST

/* The secret itself where its file's name belongs. */
START_TEST(test_secret_as_source)
{
    static const char *const sources[] = {
        CANARY, "env:" CANARY, "env:", "", "./" CANARY, "a:" CANARY};
    for (size_t i = 0; i < N_OF(sources); i++)
        for (const char *kind = "buh"; *kind != '\0'; kind++) {
            struct call c;
            call_make(&c);
            set_source(&c, *kind, sources[i]);
            check_refused(&c, load(&c), "accepted is FILE, env:NAME or - for stdin");
            call_clear(&c);
        }
}
END_TEST

START_TEST(test_modes)
{
    static const struct {
        mode_t mode;
        bool fine;
    } cases[] = {{0600, true},  {0400, true},  {0700, true},  {0711, true}, {0640, false},
                 {0604, false}, {0620, false}, {0602, false}, {0666, false}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct call c;
        call_make(&c);
        c.s.bearer = write_file(&c, CANARY, strlen(CANARY), cases[i].mode);
        enum err e = load(&c);
        if (cases[i].fine)
            ck_assert_msg(e == ERR_OK, "%s", c.msg.text);
        else
            check_refused(&c, e, "chmod 600");
        call_clear(&c);
    }
}
END_TEST

START_TEST(test_options_file)
{
    struct call c;
    call_make(&c);
    char *path = write_file(&c, "x", 1, 0644);
    option_list_add(&c.headers, "Accept: a");
    ck_assert(secret_options_check_file(&c.s, &c.headers, path, &c.msg) == ERR_OK);
    option_list_add(&c.headers, "Cookie: a=" CANARY);
    check_refused(&c, secret_options_check_file(&c.s, &c.headers, path, &c.msg),
                  "header Cookie: a secret, and other users");
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert(secret_options_check_file(&c.s, &c.headers, path, &c.msg) == ERR_OK);
    mem_free(path);
    call_clear(&c);
}
END_TEST

/* systemd keeps others out of that folder by other means than the mode. */
START_TEST(test_credentials)
{
    struct call c;
    call_make(&c);
    mem_free(write_file(&c, "cred\n", 5, 0644));
    setenv("CREDENTIALS_DIRECTORY", c.dir, 1);
    c.s.bearer = mem_strdup("secret");
    ck_assert_msg(load(&c) == ERR_OK, "%s", c.msg.text);
    ck_assert_str_eq(c.headers.items[0], "Authorization: Bearer cred");
    mem_free(c.s.bearer);
    c.s.bearer = mem_strdup("./secret"); /* with a slash: not a credential's name */
    option_list_clear(&c.headers);
    secret_options_clear(&c.s);
    check_refused(&c, load(&c), "cannot be opened");
    unsetenv("CREDENTIALS_DIRECTORY");
    call_clear(&c);
}
END_TEST

START_TEST(test_variable_is_read_once)
{
    struct call c;
    call_make(&c);
    setenv("MY_TOKEN", CANARY, 1);
    const char *value = getenv("MY_TOKEN");
    c.s.bearer = mem_strdup("env:MY_TOKEN");
    ck_assert_msg(load(&c) == ERR_OK, "%s", c.msg.text);
    ck_assert_str_eq(c.headers.items[0], "Authorization: Bearer " CANARY);
    ck_assert_ptr_null(getenv("MY_TOKEN"));
    ck_assert_ptr_nonnull(value);
    call_clear(&c);
}
END_TEST

START_TEST(test_what_is_no_file)
{
    struct call c;
    call_make(&c);
    c.s.bearer = mem_strdup(c.dir);
    check_refused(&c, load(&c), "is a folder");
    secret_options_clear(&c.s);
    mem_free(c.s.bearer);
    c.s.bearer = mem_strdup("/dev/zero");
    check_refused(&c, load(&c), "longer than 256 KiB");
    call_clear(&c);
}
END_TEST

START_TEST(test_stdin)
{
    struct call c;
    int ends[2];
    call_make(&c);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "piped\n", 6), 6);
    close(ends[1]);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    c.s.bearer = mem_strdup("-");
    ck_assert_msg(load(&c) == ERR_OK, "%s", c.msg.text);
    ck_assert_str_eq(c.headers.items[0], "Authorization: Bearer piped");
    close(ends[0]);
    call_clear(&c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("secret_options");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, test_no_secret_in_flags);
    tcase_add_loop_test(t, test_authorization, 0, N_OF(sent));
    tcase_add_test(t, test_files_and_environment);
    tcase_add_loop_test(t, test_refused_texts, 0, N_OF(refused));
    tcase_add_test(t, test_secret_as_source);
    tcase_add_test(t, test_modes);
    tcase_add_test(t, test_options_file);
    tcase_add_test(t, test_credentials);
    tcase_add_test(t, test_variable_is_read_once);
    tcase_add_test(t, test_what_is_no_file);
    tcase_add_test(t, test_stdin);
    return check_main(s);
}
