/* SPDX-License-Identifier: MIT */
#include "tests/lib/web_server.h"

#include <check.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

#define START_MS 20000
#define STOP_MS  20000

const struct web_server_kind web_server_kinds[] = {
    {.name = "nginx",
     .program = "/usr/sbin/nginx",
     .package = "nginx-light",
     .conf = "nginx.conf",
     .args = {"-c", "@CONF@"},
     .light = true},
    {.name = "node",
     .program = "/usr/bin/node",
     .package = "nodejs",
     .conf = "node.js",
     .args = {"@CONF@"}},
    {.name = "apache2",
     .program = "/usr/sbin/apache2",
     .package = "apache2",
     .conf = "apache2.conf",
     .args = {"-DFOREGROUND", "-f", "@CONF@"}},
    {.name = "caddy",
     .program = "/usr/bin/caddy",
     .package = "caddy",
     .conf = "Caddyfile",
     .args = {"run", "--adapter", "caddyfile", "--config", "@CONF@"},
     .json = true},
    {.name = "haproxy",
     .program = "/usr/sbin/haproxy",
     .package = "haproxy",
     .conf = "haproxy.cfg",
     .args = {"-db", "-f", "@CONF@"},
     .stdout_log = true},
    {.name = "h2o",
     .program = "/usr/bin/h2o",
     .package = "h2o",
     .conf = "h2o.yaml",
     .args = {"-c", "@CONF@"}},
    {.name = "lighttpd",
     .program = "/usr/sbin/lighttpd",
     .package = "lighttpd lighttpd-mod-openssl",
     .conf = "lighttpd.conf",
     .args = {"-D", "-f", "@CONF@"}},
};
const size_t web_server_kinds_n = sizeof web_server_kinds / sizeof web_server_kinds[0];

const struct web_server_kind *web_server_kind(const char *name)
{
    for (size_t i = 0; i < web_server_kinds_n; i++)
        if (strcmp(web_server_kinds[i].name, name) == 0)
            return &web_server_kinds[i];
    return NULL;
}

bool web_server_installed(const struct web_server_kind *kind)
{
    return access(kind->program, X_OK) == 0;
}

unsigned web_server_free_port(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0 &&
              getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
    close(fd);
    return ntohs(sa.sin_port);
}

static void write_file(const char *dir, const char *name, const char *text, const char *more)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "%s%s", text, more);
    ck_assert_int_eq(fclose(f), 0);
}

/* What stands for @NAME@ at the beginning of `text`, and how long that is; 0 = it is none. */
static size_t value_of(const struct web_server *s, const char *text, char *buf, size_t cap)
{
    char http[12], https[12];
    snprintf(http, sizeof http, "%u", s->http);
    snprintf(https, sizeof https, "%u", s->https);
    const struct {
        const char *name, *value;
    } values[] = {
        {"@DIR@", s->dir},
        {"@LOG@", s->log},
        {"@HTTP@", http},
        {"@HTTPS@", https},
        {"@USER@", geteuid() == 0 ? "root" : getenv("USER")},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        size_t n = strlen(values[i].name);
        if (strncmp(text, values[i].name, n) != 0)
            continue;
        snprintf(buf, cap, "%s", values[i].value != NULL ? values[i].value : "nobody");
        return n;
    }
    return 0;
}

static void write_conf(const struct web_server *s)
{
    char from[512], to[160], value[128];
    snprintf(from, sizeof from, "%s/servers/%s", TEST_DATA_DIR, s->kind->conf);
    snprintf(to, sizeof to, "%s/%s", s->dir, s->kind->conf);
    char *text = file_read(from);
    ck_assert_msg(text != NULL, "%s cannot be read", from);
    FILE *f = fopen(to, "w");
    ck_assert_ptr_nonnull(f);
    for (const char *c = text; *c != '\0';) {
        size_t n = value_of(s, c, value, sizeof value);
        if (n == 0)
            fputc(*c, f);
        else
            fputs(value, f);
        c += n == 0 ? 1 : n;
    }
    ck_assert_int_eq(fclose(f), 0);
    mem_free(text);
}

/* Servers that run as another user must get into the folder. */
static void make_folder(struct web_server *s, const struct test_pki *pki)
{
    char www[96];
    folder_make(s->dir);
    snprintf(www, sizeof www, "%s/www", s->dir);
    snprintf(s->log, sizeof s->log, "%s/access.log", s->dir);
    ck_assert(chmod(s->dir, 0755) == 0 && mkdir(www, 0755) == 0);
    write_file(www, "index.html", "hello\n", "");
    char *cert = file_read(test_pki_path(pki, "server.crt"));
    char *key = file_read(test_pki_path(pki, "server.key"));
    ck_assert(cert != NULL && key != NULL);
    write_file(s->dir, "server.pem", cert, key);
    mem_free(cert);
    mem_free(key);
}

/* A look at the kernel's table instead of a connection, which would be in the log. */
static bool listens(unsigned port)
{
    char want[40];
    snprintf(want, sizeof want, "0100007F:%04X 00000000:0000 0A", port);
    char *table = file_read("/proc/net/tcp");
    bool found = table != NULL && strstr(table, want) != NULL;
    mem_free(table);
    return found;
}

static void wait_listening(struct web_server *s)
{
    uint64_t until = clock_mono_ns() + START_MS * NS_PER_MS;
    while (!listens(s->http) || !listens(s->https)) {
        ck_assert_msg(process_alive(&s->process), "%s ended: %s %s", s->kind->name, s->process.out,
                      s->process.err);
        ck_assert_msg(clock_mono_ns() < until, "%s does not listen", s->kind->name);
        clock_sleep_until(clock_mono_ns() + 5 * NS_PER_MS);
    }
}

/* Some keep files beside their configuration: not in the user's folder. */
static void start_process(struct web_server *s, const char *const *args)
{
    const char *before = getenv("XDG_CONFIG_HOME");
    char *keep = before != NULL ? mem_strdup(before) : NULL;
    ck_assert_int_eq(setenv("XDG_CONFIG_HOME", s->dir, 1), 0);
    process_start(&s->process, s->kind->program, args);
    if (keep != NULL)
        setenv("XDG_CONFIG_HOME", keep, 1);
    else
        unsetenv("XDG_CONFIG_HOME");
    mem_free(keep);
}

void web_server_start(struct web_server *s, const struct web_server_kind *kind,
                      const struct test_pki *pki)
{
    char conf[160];
    const char *args[sizeof kind->args / sizeof kind->args[0] + 1] = {NULL};
    *s = (struct web_server){.kind = kind};
    s->http = web_server_free_port();
    do
        s->https = web_server_free_port();
    while (s->https == s->http);
    make_folder(s, pki);
    write_conf(s);
    snprintf(conf, sizeof conf, "%s/%s", s->dir, kind->conf);
    for (size_t i = 0; kind->args[i] != NULL; i++)
        args[i] = strcmp(kind->args[i], "@CONF@") == 0 ? conf : kind->args[i];
    start_process(s, args);
    wait_listening(s);
}

void web_server_stop(struct web_server *s)
{
    process_signal(&s->process, SIGTERM);
    (void)process_wait(&s->process, STOP_MS);
    if (s->kind->stdout_log)
        write_file(s->dir, "access.log", s->process.out, "");
    process_end(&s->process);
}

void web_server_remove(struct web_server *s)
{
    if (s->process.running)
        process_end(&s->process);
    if (s->dir[0] != '\0')
        folder_remove(s->dir);
    *s = (struct web_server){0};
}

struct log_line {
    unsigned port, status, client;
};

static bool parse_words(const char *line, struct log_line *out)
{
    return sscanf(line, "%u %u %u", &out->port, &out->status, &out->client) == 3;
}

static bool parse_json(const char *line, struct log_line *out)
{
    const char *host, *client;
    int status;
    json_t *o = json_loads(line, 0, NULL);
    bool good = json_unpack(o, "{s{ssss}si}", "request", "host", &host, "remote_port", &client,
                            "status", &status) == 0 &&
                strchr(host, ':') != NULL;
    if (good)
        *out = (struct log_line){(unsigned)atoi(strchr(host, ':') + 1), (unsigned)status,
                                 (unsigned)atoi(client)};
    json_decref(o);
    return good;
}

static void count_line(const struct log_line *l, bool seen[65536], struct web_server_count *out)
{
    ck_assert_uint_lt(l->client, 65536);
    out->requests++;
    out->ok += l->status == 200;
    out->missing += l->status == 404;
    out->connections += !seen[l->client];
    seen[l->client] = true;
}

void web_server_count(const struct web_server *s, unsigned port, struct web_server_count *out)
{
    struct log_line l;
    char *text = file_read(s->log), *rest = NULL;
    bool *seen = mem_calloc(65536, sizeof *seen);
    *out = (struct web_server_count){0};
    ck_assert_msg(text != NULL, "%s wrote no log", s->kind->name);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        bool good = s->kind->json ? parse_json(line, &l) : parse_words(line, &l);
        ck_assert_msg(good, "%s: a line of its log: %s", s->kind->name, line);
        if (l.port == port)
            count_line(&l, seen, out);
    }
    mem_free(seen);
    mem_free(text);
}
