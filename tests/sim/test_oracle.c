/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/client/client_null.h"
#include "agent/engine/engine.h"
#include "common/clock.h"
#include "common/hist_codec.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"
#include "tests/lib/client_tap.h"
#include "tests/lib/golden.h"
#include "tests/lib/server_model.h"

/*
 * Schedule, engine, client_null and recorder on a virtual clock against an independent simulation
 * of the same server (tests/data/oracle/oracle.py): every request's due, send, done and outcome
 * must be equal, without tolerance.
 */

#define T0          (1000 * NS_PER_SEC) /* not zero: due times are relative to it */
#define THREADS_MAX 4
#define ROWS_MAX    512

struct sample {
    uint64_t due, send, done;
    int outcome; /* 0 ok, 1 timeout, -1 none yet */
};

struct expected {
    struct rate rate;
    uint64_t connections, threads, duration_ns, timeout_ns, reconnect_ns;
    struct server_model_config server;
    uint64_t requests, ok, timeouts, waited, lag_max_ns, fnv;
    struct {
        double p;
        uint64_t corrected, uncorrected;
    } percentiles[16];
    size_t n_percentiles;
    struct {
        uint64_t index;
        struct sample s;
    } samples[ROWS_MAX];
    size_t n_samples;
};

/* --- the expected file ------------------------------------------------------------------------ */

/* Keys with one number. */
static const struct {
    const char *key;
    size_t offset;
} keys[] = {
    {"connections", offsetof(struct expected, connections)},
    {"threads", offsetof(struct expected, threads)},
    {"duration_ns", offsetof(struct expected, duration_ns)},
    {"timeout_ns", offsetof(struct expected, timeout_ns)},
    {"reconnect_ns", offsetof(struct expected, reconnect_ns)},
    {"service_ns", offsetof(struct expected, server.service_ns)},
    {"rtt_ns", offsetof(struct expected, server.rtt_ns)},
    {"pause_ns", offsetof(struct expected, server.pause_ns)},
    {"every", offsetof(struct expected, server.pause_every)},
    {"requests", offsetof(struct expected, requests)},
    {"ok", offsetof(struct expected, ok)},
    {"timeouts", offsetof(struct expected, timeouts)},
    {"waited", offsetof(struct expected, waited)},
    {"lag_max_ns", offsetof(struct expected, lag_max_ns)},
    {"fnv", offsetof(struct expected, fnv)},
};

static void read_percentile(struct expected *x, const char *line)
{
    size_t i = x->n_percentiles++;
    ck_assert_uint_lt(i, sizeof x->percentiles / sizeof x->percentiles[0]);
    int n = sscanf(line, "percentile %lf %" SCNu64 " %" SCNu64, &x->percentiles[i].p,
                   &x->percentiles[i].corrected, &x->percentiles[i].uncorrected);
    ck_assert_int_eq(n, 3);
}

static void read_sample(struct expected *x, const char *line)
{
    size_t i = x->n_samples++;
    ck_assert_uint_lt(i, ROWS_MAX);
    struct sample *s = &x->samples[i].s;
    int n = sscanf(line, "sample %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %d",
                   &x->samples[i].index, &s->due, &s->send, &s->done, &s->outcome);
    ck_assert_int_eq(n, 5);
}

static void read_freeze(struct expected *x, const char *line)
{
    uint32_t i = x->server.n_freezes++;
    ck_assert_uint_lt(i, SERVER_FREEZES);
    ck_assert_int_eq(sscanf(line, "freeze_ns %" SCNu64 " %" SCNu64, &x->server.freezes[i].at_ns,
                            &x->server.freezes[i].for_ns),
                     2);
}

static void read_rate(struct expected *x, const char *line)
{
    ck_assert_int_eq(sscanf(line, "rate %" SCNu64 " %" SCNu64, &x->rate.num, &x->rate.den), 2);
}

static void read_servers(struct expected *x, const char *line)
{
    ck_assert_int_eq(sscanf(line, "servers %" SCNu32, &x->server.servers), 1);
}

static const struct {
    const char *key;
    void (*read)(struct expected *x, const char *line);
} rows[] = {
    {"percentile", read_percentile}, {"sample", read_sample},
    {"freeze_ns", read_freeze},      {"rate", read_rate},
    {"servers", read_servers},
};

static void read_line(struct expected *x, const char *line)
{
    size_t len = strcspn(line, "\t");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].key) == len && memcmp(rows[i].key, line, len) == 0) {
            rows[i].read(x, line);
            return;
        }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strlen(keys[i].key) == len && memcmp(keys[i].key, line, len) == 0) {
            uint64_t v = strtoull(line + len, NULL, 10);
            memcpy((char *)x + keys[i].offset, &v, sizeof v);
            return;
        }
    ck_abort_msg("unknown row: %s", line);
}

static struct expected *expected_read(const char *name)
{
    char path[512], line[256];
    snprintf(path, sizeof path, "%s/oracle/%s.tsv", TEST_DATA_DIR, name);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    struct expected *x = mem_calloc(1, sizeof *x);
    while (fgets(line, sizeof line, f) != NULL)
        read_line(x, line);
    fclose(f);
    return x;
}

/* --- the run ---------------------------------------------------------------------------------- */

struct sim {
    const struct expected *x;
    struct client_ops ops;
    struct server *server;
    uint32_t threads;
    struct engine *engines[THREADS_MAX];
    struct recorder *recorders[THREADS_MAX];
    struct sample *samples;
    uint64_t steps;
};

static void on_submitted(void *arg, uint64_t tag, uint64_t due_ns, uint64_t sent_ns)
{
    struct sim *m = arg;
    CHECK_MUST(tag < m->x->requests);
    if (m->samples[tag].send != UINT64_MAX)
        ck_abort_msg("request %" PRIu64 " sent twice", tag);
    m->samples[tag].due = due_ns - T0;
    m->samples[tag].send = sent_ns - T0;
    server_model_request(m->server, tag, sent_ns - T0);
}

static void on_result(void *arg, const struct client_result *r)
{
    struct sim *m = arg;
    struct sample *s = &m->samples[r->tag];
    if (s->outcome >= 0)
        ck_abort_msg("request %" PRIu64 " done twice", r->tag);
    CHECK_MUST(s->due == r->due_ns - T0);
    CHECK_MUST(s->send == r->sent_ns - T0);
    s->done = r->done_ns - T0;
    s->outcome = r->outcome == OUTCOME_TIMEOUT;
}

static void on_response(void *arg, uint64_t id, uint64_t now_ns)
{
    struct sim *m = arg;
    client_null_complete(engine_client(m->engines[id % m->threads]), id, 200, T0 + now_ns);
}

static void add_engine(struct sim *m, uint32_t k)
{
    const struct expected *x = m->x;
    struct share share = {1, 0, 1, m->threads, k};
    struct engine_config cfg = {.ops = &m->ops};
    struct errmsg msg = {{0}};
    ck_assert_int_eq(
        schedule_init(&cfg.schedule, &x->rate, &share, x->duration_ns, UINT64_MAX, &msg), ERR_OK);
    cfg.recorder = m->recorders[k] = recorder_new(k, series_map_one());
    cfg.timeout_ns = x->timeout_ns == 0 ? NS_NEVER : x->timeout_ns;
    cfg.env.connections =
        (uint32_t)(x->connections / m->threads + (k < x->connections % m->threads));
    ck_assert_int_eq(engine_new(&cfg, &m->engines[k], &msg), ERR_OK);
    struct client_null_hooks hooks = {m, on_submitted, x->reconnect_ns};
    client_null_set_hooks(engine_client(m->engines[k]), &hooks);
    client_tap_watch(engine_client(m->engines[k]), on_result, m);
    engine_open(m->engines[k], T0 - NS_PER_SEC);
    engine_pump(m->engines[k], T0 - NS_PER_SEC);
    ck_assert_int_eq(engine_phase(m->engines[k]), ENGINE_READY);
    engine_start(m->engines[k], T0);
}

/* Earliest instant at which anything happens, T0-based; UINT64_MAX when all engines have ended. */
static uint64_t next_event(const struct sim *m, uint64_t now_ns)
{
    bool running = false;
    uint64_t next = server_model_next(m->server);
    for (uint32_t k = 0; k < m->threads; k++) {
        uint64_t wake = engine_wake(m->engines[k]);
        running |= engine_phase(m->engines[k]) != ENGINE_ENDED;
        wake = wake == NS_NEVER ? wake : clock_elapsed(T0, wake);
        next = wake < next ? wake : next;
    }
    if (!running)
        return UINT64_MAX;
    return next < now_ns ? now_ns : next;
}

/* The engine at one instant: timeouts, then what is due; then the server's completions, responses
 * (a freed connection takes the oldest request) and arrivals. */
static void sim_run(struct sim *m)
{
    uint64_t now_ns = 0;
    while ((now_ns = next_event(m, now_ns)) != UINT64_MAX) {
        for (uint32_t k = 0; k < m->threads; k++)
            engine_pump(m->engines[k], T0 + now_ns);
        server_model_run(m->server, now_ns);
        if (++m->steps > 100 * m->x->requests)
            ck_abort_msg("the run does not end");
    }
}

static struct sim *sim_new(const struct expected *x)
{
    struct sim *m = mem_calloc(1, sizeof *m);
    m->x = x;
    m->ops = client_tap_ops();
    m->threads = (uint32_t)x->threads;
    ck_assert_uint_le(m->threads, THREADS_MAX);
    m->server = server_model_new(&x->server, on_response, m);
    m->samples = mem_calloc(x->requests, sizeof *m->samples);
    for (uint64_t i = 0; i < x->requests; i++)
        m->samples[i] = (struct sample){UINT64_MAX, UINT64_MAX, UINT64_MAX, -1};
    for (uint32_t k = 0; k < m->threads; k++)
        add_engine(m, k);
    return m;
}

static void sim_free(struct sim *m)
{
    for (uint32_t k = 0; k < m->threads; k++) {
        engine_free(m->engines[k]);
        recorder_free(m->recorders[k]);
    }
    server_model_free(m->server);
    mem_free(m->samples);
    mem_free(m);
}

/* --- comparison ------------------------------------------------------------------------------- */

static uint64_t fnv_u64(uint64_t h, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8)
        h = (h ^ (v & 0xFF)) * UINT64_C(0x100000001B3);
    return h;
}

static void check_samples(const struct sim *m)
{
    const struct expected *x = m->x;
    for (size_t i = 0; i < x->n_samples; i++) {
        const struct sample *want = &x->samples[i].s, *got = &m->samples[x->samples[i].index];
        ck_assert_msg(want->due == got->due && want->send == got->send && want->done == got->done &&
                          want->outcome == got->outcome,
                      "request %" PRIu64 ": due %" PRIu64 " send %" PRIu64 " done %" PRIu64
                      " outcome %d, the oracle has %" PRIu64 " %" PRIu64 " %" PRIu64 " %d",
                      x->samples[i].index, got->due, got->send, got->done, got->outcome, want->due,
                      want->send, want->done, want->outcome);
    }
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (uint64_t i = 0; i < x->requests; i++) {
        const struct sample *s = &m->samples[i];
        h = fnv_u64(fnv_u64(fnv_u64(h, s->due, 8), s->send, 8), s->done, 8);
        h = fnv_u64(h, (uint64_t)s->outcome, 1);
    }
    ck_assert_msg(h == x->fnv, "a sample between the listed ones differs from the oracle's");
}

/* What the recorders hold, added up as the agent does. */
struct totals {
    struct counters c;
    struct hist *hists[HIST_KINDS];
    uint64_t censored_age_ns;
};

static struct totals collect(struct sim *m)
{
    struct totals t = {0};
    for (int kind = 0; kind < HIST_KINDS; kind++)
        t.hists[kind] = hist_new_default();
    for (uint32_t k = 0; k < m->threads; k++) {
        struct part *p = recorder_take(m->recorders[k], true);
        counters_add(&t.c, &p->rows[0].counters);
        for (int kind = HIST_SEND_LAG; kind < HIST_KINDS; kind++)
            hist_rec_add_to(&p->hists[kind], t.hists[kind]);
        hist_rec_add_to(&p->rows[0].corrected, t.hists[HIST_CORRECTED]);
        hist_rec_add_to(&p->rows[0].uncorrected, t.hists[HIST_UNCORRECTED]);
        if (p->censored_age_ns > t.censored_age_ns)
            t.censored_age_ns = p->censored_age_ns;
    }
    return t;
}

static void totals_free(struct totals *t)
{
    for (int kind = 0; kind < HIST_KINDS; kind++)
        hist_free(t->hists[kind]);
}

static void check_counters(const struct expected *x, const struct totals *t)
{
    struct errmsg msg = {{0}};
    ck_assert_msg(counters_check(&t->c, &msg) == ERR_OK, "%s", msg.text);
    ck_assert_uint_eq(t->c.scheduled, x->requests);
    ck_assert_uint_eq(t->c.sent, x->requests);
    ck_assert_uint_eq(t->c.ok, x->ok);
    ck_assert_uint_eq(t->c.timeouts, x->timeouts);
    ck_assert_uint_eq(t->c.waited, x->waited);
    ck_assert_uint_eq(t->c.late, 0);
    ck_assert_uint_eq(hist_count(t->hists[HIST_CORRECTED]), x->ok);
    ck_assert_uint_eq(hist_count(t->hists[HIST_UNCORRECTED]), x->ok);
    ck_assert_uint_eq(hist_count(t->hists[HIST_WAIT]), x->waited);
    ck_assert_uint_eq(hist_max(t->hists[HIST_WAIT]), x->lag_max_ns);
    ck_assert_uint_eq(hist_count(t->hists[HIST_SEND_LAG]), x->requests - x->waited);
    ck_assert_uint_eq(hist_max(t->hists[HIST_SEND_LAG]), 0);
}

static void check_percentiles(const struct expected *x, const struct totals *t)
{
    struct hist_geometry g = hist_geometry_default();
    for (size_t i = 0; i < x->n_percentiles; i++) {
        double p = x->percentiles[i].p;
        uint64_t corrected = hist_value_at_percentile(t->hists[HIST_CORRECTED], p);
        uint64_t uncorrected = hist_value_at_percentile(t->hists[HIST_UNCORRECTED], p);
        ck_assert_uint_eq(hist_index(&g, corrected), hist_index(&g, x->percentiles[i].corrected));
        ck_assert_uint_eq(hist_index(&g, uncorrected),
                          hist_index(&g, x->percentiles[i].uncorrected));
    }
    size_t last = x->n_percentiles - 1;
    ck_assert_uint_eq(hist_max(t->hists[HIST_CORRECTED]), x->percentiles[last].corrected);
    ck_assert_uint_eq(hist_min(t->hists[HIST_CORRECTED]), x->percentiles[0].corrected);
    ck_assert_uint_eq(hist_max(t->hists[HIST_UNCORRECTED]), x->percentiles[last].uncorrected);
}

static void check_censored(const struct sim *m, const struct totals *t)
{
    uint64_t oldest = 0;
    for (uint64_t i = 0; i < m->x->requests; i++)
        if (m->samples[i].outcome == 1 && m->samples[i].done - m->samples[i].due > oldest)
            oldest = m->samples[i].done - m->samples[i].due;
    ck_assert_uint_eq(t->censored_age_ns, oldest);
}

#define GOLDEN_NAME 0 /* columns of vectors.tsv */
#define GOLDEN_V2   22

struct golden {
    char name[128];
    const struct hist *h;
    int found;
};

static void compare_golden(void *arg, char *const *fields, size_t n)
{
    struct golden *g = arg;
    if (n <= GOLDEN_V2 || strcmp(fields[GOLDEN_NAME], g->name) != 0)
        return;
    size_t want_len, len, cap = hist_encode_max(g->h);
    uint8_t *want = golden_base64(fields[GOLDEN_V2], &want_len);
    uint8_t *got = mem_calloc(cap, 1);
    ck_assert_int_eq(hist_encode(g->h, got, cap, &len), ERR_OK);
    ck_assert_uint_eq(len, want_len);
    ck_assert_mem_eq(got, want, len);
    mem_free(got);
    free(want);
    g->found++;
}

/* Byte for byte what Java's HdrHistogram made of the oracle's samples. */
static void check_golden(const char *name, const char *kind, const struct hist *h)
{
    struct golden g = {.h = h};
    snprintf(g.name, sizeof g.name, "oracle_%s_%s", name, kind);
    golden_each(TEST_DATA_DIR "/golden/vectors.tsv", compare_golden, &g);
    ck_assert_msg(g.found == 1, "%s is not in vectors.tsv", g.name);
}

static const struct {
    const char *name;
    bool golden; /* Java's encoding of the same samples is there */
} cases[] = {
    {"case_a_2000rps_50us", true}, {"case_a_2000rps_189us", false}, {"case_b_200rps_20w", true},
    {"case_b_200rps_2w", false},   {"case_c_midgap", false},        {"case_d_timeout500ms", false},
    {"case_e_odd_rate", false},
};
#define CASES (int)(sizeof cases / sizeof cases[0])

START_TEST(test_case_equals_the_oracle)
{
    struct expected *x = expected_read(cases[_i].name);
    struct sim *m = sim_new(x);
    sim_run(m);
    check_samples(m);
    struct totals t = collect(m);
    check_counters(x, &t);
    check_percentiles(x, &t);
    check_censored(m, &t);
    if (cases[_i].golden) {
        check_golden(cases[_i].name, "corrected", t.hists[HIST_CORRECTED]);
        check_golden(cases[_i].name, "uncorrected", t.hists[HIST_UNCORRECTED]);
    }
    totals_free(&t);
    sim_free(m);
    mem_free(x);
}
END_TEST

/* Every file is used: a new case that nobody runs would prove nothing. */
START_TEST(test_every_case_is_run)
{
    DIR *d = opendir(TEST_DATA_DIR "/oracle");
    ck_assert_ptr_nonnull(d);
    int files = 0;
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        files += strstr(e->d_name, ".tsv") != NULL;
    closedir(d);
    ck_assert_int_eq(files, CASES);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("oracle");
    TCase *tc = tcase_create("oracle");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test_case_equals_the_oracle, 0, CASES);
    tcase_add_test(tc, test_every_case_is_run);
    suite_add_tcase(s, tc);
    return check_main(s);
}
