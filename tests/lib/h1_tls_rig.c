/* SPDX-License-Identifier: MIT */
#include "tests/lib/h1_tls_rig.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "proto/plan_tls.h"
#include "tests/lib/test_pem.h"

static void make_pki(struct h1_tls *t)
{
    t->pki = test_pki_new();
    t->rogue = test_pki_rogue(t->pki);
    const struct test_pki_cert certs[] = {
        {"server", "server.test", TEST_PKI_SERVER, 0, 0},
        {"address", "IP:127.0.0.1", TEST_PKI_SERVER, 0, 0},
        {"wild", "*.wild.test", TEST_PKI_SERVER, 0, 0},
        {"expired", "server.test", TEST_PKI_SERVER, -7200, -3600},
        {"early", "server.test", TEST_PKI_SERVER, 3600, 7200},
        {"client", "server.test", TEST_PKI_CLIENT, 0, 0},
    };
    for (size_t i = 0; i < sizeof certs / sizeof certs[0]; i++)
        test_pki_issue(t->pki, &certs[i]);
    test_pki_write(t->pki, "self.crt", test_pem_cert);
    test_pki_write(t->pki, "self.key", test_pem_key);
}

static uint8_t *read_pem(const struct h1_tls *t, const char *name, const char *ending, size_t *len)
{
    char file[96];
    snprintf(file, sizeof file, "%s%s", name, ending);
    FILE *f = fopen(test_pki_path(t->pki, file), "r");
    ck_assert_ptr_nonnull(f);
    uint8_t *text = mem_calloc(PLAN_KEY_MAX, 1);
    *len = fread(text, 1, PLAN_KEY_MAX, f);
    fclose(f);
    return text;
}

static void make_context(struct h1_tls *t, const struct h1_tls_config *cfg)
{
    struct plan p;
    struct url_parts u;
    struct errmsg msg = {{0}};
    plan_defaults(&p);
    p.url = mem_strdup(cfg->url != NULL ? cfg->url : "https://server.test/");
    p.sni = mem_strdup(cfg->sni);
    p.tls_min = cfg->tls_min;
    p.insecure = cfg->insecure;
    p.tls_no_resume = cfg->no_resume;
    if (!cfg->no_ca && !cfg->insecure)
        p.cacert = read_pem(t, cfg->ca != NULL ? cfg->ca : "ca.crt", "", &p.cacert_len);
    if (cfg->client != NULL) {
        p.cert = read_pem(t, cfg->client, ".crt", &p.cert_len);
        p.key = read_pem(t, cfg->client, ".key", &p.key_len);
    }
    ck_assert_msg(plan_tls_check(&p, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(url_parse(p.url, &u, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_msg(tls_context_new(&p, &u, &t->context, &msg) == ERR_OK, "%s", msg.text);
    url_clear(&u);
    plan_clear(&p);
}

static void open_client(struct h1_tls *t, const struct h1_tls_config *cfg, uint16_t port)
{
    make_context(t, cfg);
    const char *method = cfg->method != NULL ? cfg->method : cfg->body > 0 ? "PUT" : "GET";
    struct h1_rig_config rig = {.connections = cfg->connections,
                                .timeout_ms = cfg->timeout_ms,
                                .request = h1_rig_request(method, "/", cfg->body),
                                .target = h1_rig_target(&port, 1),
                                .tls = t->context,
                                .rules = cfg->rules,
                                .others = cfg->other,
                                .n_others = cfg->other != NULL};
    h1_rig_open(&t->rig, &rig);
}

void h1_tls_open(struct h1_tls *t, const struct h1_tls_config *cfg)
{
    memset(t, 0, sizeof *t);
    make_pki(t);
    t->scripts[0] = cfg->script;
    t->server = hostile_start(t->scripts, 1);
    struct tls_front_options front = cfg->front;
    front.pki = t->pki;
    front.port = hostile_port(t->server);
    t->front = tls_front_start(&front);
    open_client(t, cfg, tls_front_port(t->front));
}

void h1_tls_open_port(struct h1_tls *t, const struct h1_tls_config *cfg, uint16_t port)
{
    memset(t, 0, sizeof *t);
    make_pki(t);
    open_client(t, cfg, port);
}

void h1_tls_close(struct h1_tls *t)
{
    if (!t->closed)
        h1_rig_close(&t->rig);
    tls_context_free(t->context);
    if (t->front != NULL)
        tls_front_stop(t->front);
    if (t->server != NULL)
        hostile_stop(t->server);
    test_pki_free(t->rogue);
    test_pki_remove(t->pki);
}
