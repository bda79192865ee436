/* SPDX-License-Identifier: MIT */
/* Where connections go and where they come from, as the servers at the other end see it. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/process.h"
#include "tests/lib/report.h"
#include "tests/lib/route_server.h"
#include "tests/lib/tls_front.h"

#define LIMIT_MS 40000
#define REQUESTS 60

static struct route_server *servers[3];
static struct agent_process agent;
static char dir[64], url[128], port[8];
/* What the last run reported: connections by address. */
static json_t *reached;

static void set_up(void)
{
    folder_make(dir);
}

static void tear_down(void)
{
    json_decref(reached);
    reached = NULL;
    if (agent.process.pid != 0)
        agent_stop(&agent);
    memset(&agent, 0, sizeof agent);
    for (size_t i = 0; i < 3; i++) {
        route_server_stop(servers[i]);
        servers[i] = NULL;
    }
    folder_remove(dir);
}

/* The i-th server, on the same port as the first. False = this machine has no such address. */
static bool start_server(size_t i, struct route_server_options o)
{
    if (i > 0)
        o.port = route_server_port(servers[0]);
    servers[i] = route_server_start(&o);
    if (servers[i] == NULL)
        printf("skipped: no server on %s\n", o.listen);
    else if (i == 0)
        snprintf(port, sizeof port, "%u", route_server_port(servers[0]));
    return servers[i] != NULL;
}

static struct route_server_seen seen_by(size_t i)
{
    struct route_server_seen seen;
    route_server_seen(servers[i], &seen);
    return seen;
}

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* 60 requests in 0.3 s to `url`, with a connection each if these flags say so. */
static void start(struct process *p, const char *const *flags)
{
    const char *args[PROCESS_ARGS_MAX] = {"run", "--json", "-r", "200", "-c", "4", "-t", "1"};
    size_t n = 8;
    for (; *flags != NULL; flags++)
        args[n++] = *flags;
    if (agent.process.pid != 0) {
        args[n++] = "--agents";
        args[n++] = agent.address;
    }
    args[n] = url;
    process_start(p, "hammer-ctl", args);
}

/* How many connections it says went to that address with the servers' port, or to that path. */
static size_t opened(const char *address)
{
    char key[128];
    snprintf(key, sizeof key, strchr(address, '/') == NULL ? "%s:%s" : "unix:%s", address, port);
    return (size_t)json_integer_value(json_object_get(reached, key));
}

static void keep_reached(json_t *r)
{
    int64_t sum = 0;
    const char *address;
    json_t *count;
    json_decref(reached);
    reached = json_incref(report_at(r, "addresses"));
    json_object_foreach(reached, address, count)
    {
        sum += json_integer_value(count);
    }
    ck_assert_int_eq(sum, report_int(r, "totals.connects"));
}

static void run_ok(const char *const *flags)
{
    struct process p;
    const char *args[PROCESS_ARGS_MAX] = {"-n", "60"};
    for (size_t n = 2; *flags != NULL; flags++)
        args[n++] = *flags;
    start(&p, args);
    json_t *r = report_wait(&p, 0, 4, LIMIT_MS);
    ck_assert_int_eq(report_int(r, "totals.ok"), REQUESTS);
    keep_reached(r);
    json_decref(r);
    process_end(&p);
}

/* Ends with that code and says why. */
static void expect(int code, const char *const *flags, const char *says)
{
    struct process p;
    const char *args[PROCESS_ARGS_MAX] = {"-n", "60"};
    for (size_t n = 2; *flags != NULL; flags++)
        args[n++] = *flags;
    start(&p, args);
    int got = process_wait(&p, LIMIT_MS);
    ck_assert_msg(got == code, "%d %s %.2000s", got, p.err, p.out);
    ck_assert_msg(strstr(p.err, says) != NULL || strstr(p.out, says) != NULL,
                  "\"%s\" is in neither: %s %.3000s", says, p.err, p.out);
    process_end(&p);
}

/* "name.test:PORT:ADDRESSES" */
static const char *resolve(const char *addresses)
{
    static char text[128];
    snprintf(text, sizeof text, "name.test:%s:%s", port, addresses);
    return text;
}

static void use_name(void)
{
    snprintf(url, sizeof url, "http://name.test:%s/", port);
}

START_TEST(test_resolve)
{
    ck_assert(start_server(0, (struct route_server_options){0}));
    use_name();
    expect(2, FLAGS("-d", "1"), "cannot resolve name.test");
    ck_assert_uint_eq(seen_by(0).connections, 0);
    run_ok(FLAGS("--resolve", resolve("127.0.0.1")));
    ck_assert_uint_eq(seen_by(0).requests, REQUESTS);
    char host[64];
    snprintf(host, sizeof host, "\r\nHost: name.test:%s\r\n", port);
    ck_assert_ptr_nonnull(strstr(seen_by(0).head, host));
}
END_TEST

/* All addresses of a name in turn, whether a request opens the connection or the one before was
 * replaced. */
static const struct {
    const char *flag;
    size_t least, most; /* connections to each of three */
} turns[] = {
    {"--no-keepalive", REQUESTS / 3, REQUESTS / 3},
    {"--requests-per-connection=2", 8, 14},
};

START_TEST(test_addresses_in_turn)
{
    char address[16];
    ck_assert(start_server(0, (struct route_server_options){0}));
    if (!start_server(1, (struct route_server_options){.listen = "127.0.0.2"}) ||
        !start_server(2, (struct route_server_options){.listen = "127.0.0.3"}))
        return;
    use_name();
    run_ok(FLAGS(turns[_i].flag, "--resolve", resolve("127.0.0.1,127.0.0.2,127.0.0.3")));
    for (size_t i = 0; i < 3; i++) {
        size_t seen = seen_by(i).connections;
        ck_assert_uint_ge(seen, turns[_i].least);
        ck_assert_uint_le(seen, turns[_i].most);
        snprintf(address, sizeof address, "127.0.0.%zu", i + 1);
        ck_assert_uint_le(opened(address), seen);
        ck_assert_uint_ge(opened(address) + 4, seen); /* on their way at the end */
    }
}
END_TEST

START_TEST(test_connect_to)
{
    char to[64];
    ck_assert(start_server(0, (struct route_server_options){0}));
    snprintf(url, sizeof url, "http://name.test:81/");
    snprintf(to, sizeof to, "name.test:81:127.0.0.1:%s", port);
    run_ok(FLAGS("--connect-to", to));
    ck_assert_uint_eq(seen_by(0).requests, REQUESTS);
    ck_assert_ptr_nonnull(strstr(seen_by(0).head, "\r\nHost: name.test:81\r\n"));
}
END_TEST

static const struct {
    const char *flag;
    bool v4, v6;
} families[] = {{NULL, true, true}, {"-4", true, false}, {"-6", false, true}};

START_TEST(test_families)
{
    ck_assert(start_server(0, (struct route_server_options){0}));
    if (!start_server(1, (struct route_server_options){.listen = "::1"}))
        return;
    use_name();
    run_ok(FLAGS("--no-keepalive", "--resolve", resolve("127.0.0.1,[::1]"), families[_i].flag));
    ck_assert_uint_eq(seen_by(0).connections > 0, families[_i].v4);
    ck_assert_uint_eq(seen_by(1).connections > 0, families[_i].v6);
    ck_assert_uint_eq(opened("127.0.0.1"), seen_by(0).connections);
    ck_assert_uint_eq(opened("[::1]"), seen_by(1).connections);
    ck_assert_uint_eq(opened("127.0.0.1") + opened("[::1]"), REQUESTS);
}
END_TEST

START_TEST(test_source_addresses)
{
    ck_assert(start_server(0, (struct route_server_options){0}));
    snprintf(url, sizeof url, "http://127.0.0.1:%s/", port);
    run_ok(FLAGS("--no-keepalive"));
    ck_assert_uint_eq(seen_by(0).n_peers, 1);
    ck_assert_str_eq(seen_by(0).peers[0].address, "127.0.0.1");
    run_ok(FLAGS("--no-keepalive", "--source-ip", "127.0.0.2,127.0.0.3"));
    struct route_server_seen seen = seen_by(0);
    ck_assert_uint_eq(seen.n_peers, 3);
    for (size_t i = 1; i < 3; i++) {
        const char *address = seen.peers[i].address;
        ck_assert(strcmp(address, "127.0.0.2") == 0 || strcmp(address, "127.0.0.3") == 0);
        ck_assert_uint_ge(seen.peers[i].connections, REQUESTS / 2 - 4);
        ck_assert_uint_le(seen.peers[i].connections, REQUESTS / 2 + 4);
    }
    expect(2, FLAGS("--source-ip", "192.0.2.1"), "192.0.2.1");
}
END_TEST

START_TEST(test_unix_socket)
{
    char path[96], allow[112];
    snprintf(path, sizeof path, "%s/socket", dir);
    snprintf(allow, sizeof allow, "unix:%s", path);
    ck_assert(start_server(0, (struct route_server_options){.listen = path}));
    snprintf(url, sizeof url, "http://name.test/there");
    agent_start(&agent, FLAGS("--allow-target", allow));
    run_ok(FLAGS("--unix-socket", path));
    struct route_server_seen seen = seen_by(0);
    ck_assert_uint_eq(seen.requests, REQUESTS);
    ck_assert_uint_eq(seen.connections, 4);
    ck_assert_uint_eq(opened(path), 4);
    ck_assert_str_eq(seen.peers[0].address, "unix");
    ck_assert_int_eq(strncmp(seen.head, "GET /there HTTP/1.1\r\nHost: name.test\r\n", 38), 0);
}
END_TEST

static const char *proxy_url(void)
{
    static char text[64];
    snprintf(text, sizeof text, "http://127.0.0.1:%s", port);
    return text;
}

/* The proxy knows the name, we need not. */
START_TEST(test_proxy)
{
    ck_assert(start_server(0, (struct route_server_options){0}));
    snprintf(url, sizeof url, "http://name.test:81/x?y");
    run_ok(FLAGS("--proxy", proxy_url()));
    struct route_server_seen seen = seen_by(0);
    ck_assert_uint_eq(seen.requests, REQUESTS);
    ck_assert_uint_eq(seen.tunnels, 0);
    ck_assert_int_eq(strncmp(seen.head, "GET http://name.test:81/x?y HTTP/1.1\r\n", 38), 0);
    ck_assert_ptr_nonnull(strstr(seen.head, "\r\nHost: name.test:81\r\n"));
}
END_TEST

/* TLS is with the server behind, under its own name. */
START_TEST(test_proxy_tunnel)
{
    struct tls_front_seen seen_front;
    struct route_server *behind = route_server_start(&(struct route_server_options){0});
    ck_assert_ptr_nonnull(behind);
    struct test_pki *pki = test_pki_new();
    test_pki_issue(pki, &(struct test_pki_cert){"server", "name.test", TEST_PKI_SERVER, 0, 0});
    struct tls_front *front =
        tls_front_start(&(struct tls_front_options){.pki = pki, .port = route_server_port(behind)});
    ck_assert(start_server(0, (struct route_server_options){.connect_to = tls_front_port(front)}));
    snprintf(url, sizeof url, "https://name.test:444/x");
    run_ok(FLAGS("--proxy", proxy_url(), "--cacert", test_pki_path(pki, "ca.crt")));
    struct route_server_seen seen = seen_by(0), beyond;
    ck_assert_uint_eq(seen.requests, 0);
    ck_assert_uint_eq(seen.tunnels, 4);
    ck_assert_int_eq(strncmp(seen.connect, "CONNECT name.test:444 HTTP/1.1\r\n", 32), 0);
    tls_front_seen(front, &seen_front);
    ck_assert_str_eq(seen_front.sni, "name.test");
    ck_assert_uint_eq(seen_front.handshakes, 4);
    route_server_seen(behind, &beyond);
    ck_assert_uint_eq(beyond.requests, REQUESTS);
    ck_assert_int_eq(strncmp(beyond.head, "GET /x HTTP/1.1\r\nHost: name.test:444\r\n", 38), 0);
    tls_front_stop(front);
    route_server_stop(behind);
    test_pki_remove(pki);
}
END_TEST

/* For http a response like others, for https no way to the server. */
START_TEST(test_proxy_refuses)
{
    struct process p;
    ck_assert(start_server(0, (struct route_server_options){.refuse = 407}));
    snprintf(url, sizeof url, "http://name.test/");
    start(&p, FLAGS("-n", "60", "--proxy", proxy_url()));
    json_t *r = report_wait(&p, 0, 4, LIMIT_MS);
    ck_assert_int_eq(report_int(r, "status_codes.407"), REQUESTS);
    ck_assert_int_eq(report_int(r, "totals.http_errors"), REQUESTS);
    json_decref(r);
    process_end(&p);
    snprintf(url, sizeof url, "https://name.test/");
    expect(2, FLAGS("-k", "--proxy", proxy_url()), "407");
    ck_assert_uint_ge(seen_by(0).tunnels, 1);
}
END_TEST

/* --- names that move ------------------------------------------------------------------------ */

static void write_hosts(const char *path, const char *address)
{
    FILE *f = fopen(path, "w"); /* the same file, it is mounted */
    ck_assert_ptr_nonnull(f);
    fprintf(f, "127.0.0.1 localhost\n%s name.test\n", address);
    ck_assert_int_eq(fclose(f), 0);
}

/* /etc/hosts of this process and its children is that file from now on; NULL, or why not. */
static const char *own_hosts(const char *path)
{
    if (geteuid() != 0)
        return "an /etc/hosts of its own needs root";
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(path, "/etc/hosts", NULL, MS_BIND, NULL) != 0)
        return "no mount namespaces here";
    return NULL;
}

static void wait_requests(size_t i, size_t n)
{
    uint64_t until = clock_mono_ns() + LIMIT_MS * NS_PER_MS;
    while (seen_by(i).requests < n) {
        ck_assert_msg(clock_mono_ns() < until, "%zu requests", seen_by(i).requests);
        clock_sleep_until(clock_mono_ns() + 5 * NS_PER_MS);
    }
}

/* The name gets another address in the middle of the run: once with, once without a look. */
START_TEST(test_dns_refresh)
{
    struct process p;
    char hosts[96];
    snprintf(hosts, sizeof hosts, "%s/hosts", dir);
    write_hosts(hosts, "127.0.0.1");
    const char *why = own_hosts(hosts);
    if (why != NULL) {
        printf("skipped: %s\n", why);
        return;
    }
    ck_assert(start_server(0, (struct route_server_options){0}));
    ck_assert(start_server(1, (struct route_server_options){.listen = "127.0.0.2"}));
    use_name();
    start(&p,
          FLAGS("-r", "100", "-n", "350", "--no-keepalive", _i == 1 ? "--dns-refresh" : NULL, "1"));
    wait_requests(0, 50);
    write_hosts(hosts, "127.0.0.2");
    json_t *r = report_wait(&p, 0, 4, LIMIT_MS);
    ck_assert_int_eq(report_int(r, "totals.ok"), 350);
    keep_reached(r);
    ck_assert_uint_eq(opened("127.0.0.1"), seen_by(0).connections);
    ck_assert_uint_eq(opened("127.0.0.2"), seen_by(1).connections);
    ck_assert_uint_eq(seen_by(0).requests + seen_by(1).requests, 350);
    if (_i == 1)
        ck_assert_uint_ge(seen_by(1).requests, 50);
    else
        ck_assert_uint_eq(seen_by(1).requests, 0);
    json_decref(r);
    process_end(&p);
}
END_TEST

/* --- what an agent that listens does not do ------------------------------------------------- */

static const struct {
    const char *flag, *value, *url, *says;
} refusals[] = {
    {"--resolve", "name.test:80:10.1.2.3", "http://name.test/", "10.1.2.3"},
    {"--resolve", "name.test:80:127.0.0.1,10.1.2.3", "http://name.test/", "10.1.2.3"},
    {"--connect-to", "name.test:80:10.1.2.3:80", "http://name.test/", "10.1.2.3"},
    {"--proxy", "http://10.1.2.3:3128", "http://127.0.0.1/", "10.1.2.3"},
    /* Whom the proxy would ask counts as well. */
    {"--proxy", "http://127.0.0.1:3128", "http://10.1.2.3/", "10.1.2.3"},
    {"--proxy", "http://127.0.0.1:3128", "https://10.1.2.3/", "10.1.2.3"},
    {"--unix-socket", "/run/some.sock", "http://name.test/", "/run/some.sock"},
};

START_TEST(test_policy)
{
    agent_start(&agent, NULL);
    snprintf(url, sizeof url, "%s", refusals[_i].url);
    expect(2, FLAGS(refusals[_i].flag, refusals[_i].value), refusals[_i].says);
    expect(2, FLAGS(refusals[_i].flag, refusals[_i].value), "policy");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("routes");
    TCase *t = tcase_create("routes");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_resolve);
    tcase_add_loop_test(t, test_addresses_in_turn, 0, (int)(sizeof turns / sizeof turns[0]));
    tcase_add_test(t, test_connect_to);
    tcase_add_loop_test(t, test_families, 0, (int)(sizeof families / sizeof families[0]));
    tcase_add_test(t, test_source_addresses);
    tcase_add_test(t, test_unix_socket);
    tcase_add_test(t, test_proxy);
    tcase_add_test(t, test_proxy_tunnel);
    tcase_add_test(t, test_proxy_refuses);
    tcase_add_loop_test(t, test_dns_refresh, 0, 2);
    tcase_add_loop_test(t, test_policy, 0, (int)(sizeof refusals / sizeof refusals[0]));
    suite_add_tcase(s, t);
    return check_main(s);
}
