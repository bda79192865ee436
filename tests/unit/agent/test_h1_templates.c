/* SPDX-License-Identifier: MIT */
/* Requests with templates over real sockets: however the kernel cuts them, each is whole. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/client/client_h1.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/h1_rig.h"

#define CONNECTIONS 3
#define UUIDS       9000
#define PIECE       400 /* a placeholder, and what stands behind it */
#define RECEIVE_BUF (64 << 10)

struct server {
    int listener, conns[CONNECTIONS];
    struct h1_rig rig;
};

static struct request templated(size_t uuids)
{
    struct plan p;
    struct url_parts u;
    struct request r;
    struct errmsg msg = {""};
    plan_defaults(&p);
    p.method = mem_strdup("POST");
    p.url = mem_strdup("http://localhost/{{seq}}");
    p.body_len = uuids * PIECE;
    p.body = mem_calloc(p.body_len + 1, 1);
    memset(p.body, 'x', p.body_len);
    for (size_t i = 0; i < uuids; i++)
        memcpy(p.body + i * PIECE, "{{uuid}}", 8);
    ck_assert_int_eq(plan_url_parse(&p, p.url, &u, &msg), ERR_OK);
    ck_assert_msg(request_compile_entry(&p, 0, NULL, &u, &r, &msg) == ERR_OK, "%s", msg.text);
    url_clear(&u);
    plan_clear(&p);
    return r;
}

static void start(struct server *s, size_t uuids)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    int small = RECEIVE_BUF; /* inherited by what it accepts */
    ck_assert_int_eq(setsockopt(s->listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    ck_assert_int_eq(bind(s->listener, (struct sockaddr *)&sa, len), 0);
    ck_assert_int_eq(listen(s->listener, 8), 0);
    ck_assert_int_eq(getsockname(s->listener, (struct sockaddr *)&sa, &len), 0);
    uint16_t port = ntohs(sa.sin_port);
    struct h1_rig_config cfg = {
        .connections = CONNECTIONS, .request = templated(uuids), .target = h1_rig_target(&port, 1)};
    h1_rig_open(&s->rig, &cfg);
    h1_rig_wait_idle(&s->rig, CONNECTIONS);
    struct timeval limit = {.tv_sec = 10};
    setsockopt(s->listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (int i = 0; i < CONNECTIONS; i++) {
        s->conns[i] = accept(s->listener, NULL, NULL);
        ck_assert_int_ge(s->conns[i], 0);
    }
}

static void finish(struct server *s)
{
    h1_rig_close(&s->rig);
    request_clear(&s->rig.request);
    for (int i = 0; i < CONNECTIONS; i++)
        close(s->conns[i]);
    close(s->listener);
}

/* Reads what there is of each connection's request, a turn of the client in between. */
static void read_all(struct server *s, char *const *got, size_t *lens, const size_t *expected)
{
    size_t left = 1;
    for (int turn = 0; left > 0 && turn < 100000; turn++) {
        left = 0;
        for (int i = 0; i < CONNECTIONS; i++) {
            size_t want = expected[i] + 1 - lens[i], most = 50000;
            ssize_t n =
                recv(s->conns[i], got[i] + lens[i], want < most ? want : most, MSG_DONTWAIT);
            lens[i] += n > 0 ? (size_t)n : 0;
            left += lens[i] < expected[i];
        }
        h1_rig_turn(&s->rig, 1);
    }
}

static void check_sent(size_t uuids)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    struct server s;
    start(&s, uuids);
    const struct request *r = &s.rig.request;
    char *expected[CONNECTIONS], *got[CONNECTIONS];
    size_t lens[CONNECTIONS] = {0}, expected_lens[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++) {
        struct request_bytes b;
        expected[i] = mem_calloc(r->len, 1);
        got[i] = mem_calloc(r->len + 1, 1);
        request_render(r, (uint64_t)i, expected[i], &b);
        expected_lens[i] = b.len;
        h1_rig_submit(&s.rig);
    }
    read_all(&s, got, lens, expected_lens);
    for (int i = 0; i < CONNECTIONS; i++) {
        int request = got[i][6] - '0'; /* "POST /N": slots serve in turn, but in their own order */
        ck_assert(request >= 0 && request < CONNECTIONS);
        ck_assert_uint_eq(lens[i], expected_lens[request]);
        ck_assert(memcmp(got[i], expected[request], lens[i]) == 0);
        ck_assert_int_gt(send(s.conns[i], answer, strlen(answer), MSG_NOSIGNAL), 0);
    }
    h1_rig_wait(&s.rig, &s.rig.outcomes[OUTCOME_OK], CONNECTIONS);
    for (int i = 0; i < CONNECTIONS; i++) {
        mem_free(expected[i]);
        mem_free(got[i]);
    }
    finish(&s);
}

START_TEST(test_small_requests)
{
    check_sent(1);
}
END_TEST

START_TEST(test_short_writes_go_on_where_they_ended)
{
    check_sent(UUIDS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("h1_templates");
    TCase *t = tcase_create("h1_templates");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_small_requests);
    tcase_add_test(t, test_short_writes_go_on_where_they_ended);
    suite_add_tcase(s, t);
    return check_main(s);
}
