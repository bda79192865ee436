/* SPDX-License-Identifier: MIT */
#include "agent/engine/dump_ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/clock.h"
#include "tests/lib/check_main.h"

#define RING  64u
#define MANY  200000u
#define REST  1000u
#define RATE  1000u
#define T0_NS UINT64_C(1000000000)

static struct client_result result(uint64_t tag)
{
    return (struct client_result){.outcome = OUTCOME_OK,
                                  .status = 200 + (int)(tag % 300),
                                  .tag = tag,
                                  .due_ns = T0_NS + tag,
                                  .sent_ns = T0_NS + 2 * tag,
                                  .done_ns = T0_NS + 3 * tag,
                                  .bytes = 7 * tag};
}

static void pacer(struct pacer *p)
{
    struct schedule s;
    struct share all = {1, 0, 1, 1, 0};
    struct errmsg msg = {{0}};
    struct rate rate = {RATE, 1};
    ck_assert_int_eq(schedule_init(&s, &rate, &all, NS_NEVER, UINT64_MAX, &msg), ERR_OK);
    pacer_init(p, &s, 0);
    pacer_start(p, T0_NS);
}

static void assert_record(const struct dump_record *d)
{
    CHECK_MUST(d->due_ns == T0_NS + d->index && d->sent_ns == T0_NS + 2 * d->index);
    CHECK_MUST(d->done_ns == T0_NS + 3 * d->index && d->bytes == 7 * d->index);
    CHECK_MUST(d->status == 200 + d->index % 300);
    CHECK_MUST(d->outcome == (d->status < 400 ? DUMP_OK : DUMP_HTTP_ERROR));
}

/* --- two threads ------------------------------------------------------------------------------ */

struct pair {
    struct dump_ring *ring;
    struct pacer pacer;
    bool patient; /* the writer lets the reader have its turn */
    atomic_bool over;
};

static void *write_all(void *arg)
{
    struct pair *p = arg;
    for (uint64_t i = 0; i < MANY; i++) {
        struct client_result r = result(i);
        dump_ring_result(p->ring, &r);
        if (p->patient && i % (RING / 2) == 0)
            sched_yield();
    }
    dump_ring_rest(p->ring, &p->pacer, (struct pacer_range){MANY, REST}, DUMP_UNSENT_STOPPED);
    atomic_store(&p->over, true);
    return NULL;
}

/* Returns how many records came: in order, whole, each once; the rest last or in between. */
static uint64_t read_all(struct pair *p)
{
    uint64_t n = 0, next = 0, rest = MANY;
    for (bool over = false; !over;) {
        const struct dump_record *d;
        over = atomic_load(&p->over);
        for (; (d = dump_ring_peek(p->ring)) != NULL; n++) {
            if (d->outcome == DUMP_UNSENT_STOPPED) {
                CHECK_MUST(d->index == rest++ && d->sent_ns == 0);
                CHECK_MUST(d->due_ns == T0_NS + d->index * (NS_PER_SEC / RATE));
            } else {
                CHECK_MUST(d->index >= next && d->index < MANY);
                next = d->index + 1;
                assert_record(d);
            }
            dump_ring_next(p->ring);
        }
        if (p->patient)
            sched_yield();
    }
    ck_assert_uint_eq(rest, MANY + REST);
    return n;
}

START_TEST(test_between_two_threads)
{
    struct pair p = {.ring = dump_ring_new(RING), .patient = _i == 1};
    pthread_t thread;
    pacer(&p.pacer);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_all, &p), 0);
    uint64_t n = read_all(&p);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(n + dump_ring_dropped(p.ring), MANY + REST);
    dump_ring_free(p.ring);
}
END_TEST

/* --- one ----------------------------------------------------------------------------------------
 */

START_TEST(test_a_full_ring_counts)
{
    struct dump_ring *r = dump_ring_new(RING);
    for (uint64_t i = 0; i < RING + 5; i++) {
        struct client_result res = result(i);
        dump_ring_result(r, &res);
    }
    ck_assert_uint_eq(dump_ring_dropped(r), 5);
    assert_record(dump_ring_peek(r));
    dump_ring_next(r);
    struct client_result res = result(99);
    dump_ring_result(r, &res); /* there is room again */
    dump_ring_result(r, &res);
    ck_assert_uint_eq(dump_ring_dropped(r), 6);
    for (uint64_t i = 1; i < RING; i++, dump_ring_next(r))
        ck_assert_uint_eq(dump_ring_peek(r)->index, i);
    ck_assert_uint_eq(dump_ring_peek(r)->index, 99);
    dump_ring_free(r);
}
END_TEST

/* However many there are, they cost no more than the ring has room for. */
START_TEST(test_given_up_by_the_billion)
{
    struct dump_ring *r = dump_ring_new(RING);
    struct pacer p;
    uint64_t billion = UINT64_C(1000000000);
    pacer(&p);
    dump_ring_unsent(r, &p, (struct pacer_range){10, billion}, DUMP_UNSENT_DROPPED);
    ck_assert_uint_eq(dump_ring_dropped(r), billion - RING);
    for (uint64_t i = 0; i < RING; i++, dump_ring_next(r)) {
        ck_assert_uint_eq(dump_ring_peek(r)->index, 10 + i);
        ck_assert_uint_eq(dump_ring_peek(r)->outcome, DUMP_UNSENT_DROPPED);
    }
    ck_assert_ptr_null(dump_ring_peek(r));
    dump_ring_rest(r, &p, (struct pacer_range){20, billion}, DUMP_UNSENT_NO_CONNECTION);
    for (uint64_t i = 0; i < 5000; i++, dump_ring_next(r))
        ck_assert_uint_eq(dump_ring_peek(r)->index, 20 + i);
    ck_assert_ptr_nonnull(dump_ring_peek(r));
    dump_ring_drop(r);
    ck_assert_ptr_null(dump_ring_peek(r));
    ck_assert_uint_eq(dump_ring_dropped(r), 2 * billion - RING - 5000);
    dump_ring_free(r);
}
END_TEST

START_TEST(test_outcomes)
{
    static const enum dump_outcome rows[OUTCOMES] = {
        [OUTCOME_OK] = DUMP_OK,
        [OUTCOME_TLS] = DUMP_TLS,
        [OUTCOME_READ] = DUMP_READ,
        [OUTCOME_WRITE] = DUMP_WRITE,
        [OUTCOME_PROTOCOL] = DUMP_PROTOCOL,
        [OUTCOME_TIMEOUT] = DUMP_TIMEOUT,
        [OUTCOME_UNFINISHED] = DUMP_UNFINISHED,
        [OUTCOME_CONNECT] = DUMP_CONNECT,
    };
    struct dump_ring *r = dump_ring_new(RING);
    for (int o = 0; o < OUTCOMES; o++) {
        struct client_result res = {.outcome = (enum outcome)o, .error = 100 + o};
        dump_ring_result(r, &res);
        ck_assert_uint_eq(dump_ring_peek(r)->outcome, rows[o]);
        ck_assert_int_eq(dump_ring_peek(r)->error, 100 + o);
        dump_ring_next(r);
    }
    dump_ring_free(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dump_ring");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_between_two_threads, 0, 2);
    tcase_add_test(t, test_a_full_ring_counts);
    tcase_add_test(t, test_given_up_by_the_billion);
    tcase_add_test(t, test_outcomes);
    return check_main(s);
}
