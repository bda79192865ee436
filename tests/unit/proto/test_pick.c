/* SPDX-License-Identifier: MIT */
#include "proto/pick.h"

#include "common/mem.h"
#include "tests/lib/check_main.h"

#define ENTRIES_MAX 40

static void plan_of(struct plan *p, const uint32_t *weights, size_t n, uint32_t order)
{
    plan_defaults(p);
    p->order = order;
    for (size_t i = 0; i < n; i++) {
        struct plan_entry *e = plan_add_entry(p);
        e->url = mem_strdup("http://h/");
        e->weight = weights[i];
    }
}

static void count(const struct pick *k, uint64_t from, uint64_t n, uint64_t *seen)
{
    for (uint64_t i = from; i < from + n; i++) {
        uint32_t at = pick_at(k, i);
        CHECK_MUST(at < k->n);
        seen[at]++;
    }
}

static uint64_t random_weights(uint64_t *rng, uint32_t *weights, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weights[i] = 1 + (uint32_t)check_below(rng, check_below(rng, 4) == 0 ? 1000 : 5);
    return sum;
}

/* Wherever one begins, as many of each as it weighs, in as many as all weigh. */
START_TEST(test_weights_are_exact)
{
    uint64_t rng = check_seed();
    for (int round = 0; round < 200; round++) {
        uint32_t weights[ENTRIES_MAX];
        uint64_t seen[ENTRIES_MAX] = {0};
        size_t n = 2 + check_below(&rng, ENTRIES_MAX - 1);
        uint64_t sum = random_weights(&rng, weights, n), from = check_random(&rng) >> 2;
        struct plan p;
        struct pick k;
        plan_of(&p, weights, n, PLAN_ORDER_WEIGHT);
        pick_init(&k, &p);
        count(&k, from - from % sum, sum, seen);
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(seen[i], weights[i]);
        count(&k, from, sum, seen);
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(seen[i], 2 * weights[i]);
        pick_clear(&k);
        plan_clear(&p);
    }
}
END_TEST

/* Of 1 in 10 not ten of the other first: any k in a row have the share of k, but for two. */
START_TEST(test_weights_are_mixed)
{
    static const uint32_t weights[] = {900, 100, 3000};
    struct plan p;
    struct pick k;
    plan_of(&p, weights, 3, PLAN_ORDER_WEIGHT);
    pick_init(&k, &p);
    for (uint64_t from = 0; from < 4000; from += 7) {
        uint64_t seen[3] = {0};
        count(&k, from, 200, seen);
        ck_assert_uint_ge(seen[0], 45 - 3);
        ck_assert_uint_le(seen[0], 45 + 3);
        ck_assert_uint_ge(seen[1], 5 - 2);
        ck_assert_uint_le(seen[1], 5 + 2);
    }
    pick_clear(&k);
    plan_clear(&p);
}
END_TEST

START_TEST(test_sequential_takes_turns)
{
    static const uint32_t same[] = {2, 2, 2}, different[] = {1, 5, 9};
    struct plan p;
    struct pick k;
    for (int i = 0; i < 2; i++) {
        plan_of(&p, i == 0 ? same : different, 3, i == 0 ? PLAN_ORDER_AUTO : PLAN_ORDER_SEQUENTIAL);
        pick_init(&k, &p);
        for (uint64_t n = 0; n < 12; n++)
            ck_assert_uint_eq(pick_at(&k, n), n % 3);
        pick_clear(&k);
        plan_clear(&p);
    }
    plan_of(&p, different, 3, PLAN_ORDER_AUTO);
    ck_assert_int_eq(plan_order_of(&p), PLAN_ORDER_WEIGHT);
    plan_clear(&p);
}
END_TEST

START_TEST(test_random_follows_the_seed_and_the_weights)
{
    static const uint32_t weights[] = {1, 3};
    uint64_t seen[2] = {0}, others = 0, repeats = 0, n = 40000;
    struct plan p;
    struct pick k, other;
    plan_of(&p, weights, 2, PLAN_ORDER_RANDOM);
    pick_init(&k, &p);
    p.seed = 7;
    pick_init(&other, &p);
    count(&k, 0, n, seen);
    for (uint64_t i = 0; i < n; i++) {
        others += pick_at(&k, i) != pick_at(&other, i);
        repeats += pick_at(&k, i) == pick_at(&k, i + 1);
    }
    /* Means 10000, 15000 (2 * 1/4 * 3/4) and 25000; all deviations below 110. */
    ck_assert_uint_ge(seen[0], 10000 - 600);
    ck_assert_uint_le(seen[0], 10000 + 600);
    ck_assert_uint_ge(others, 15000 - 600);
    ck_assert_uint_le(others, 15000 + 600);
    ck_assert_uint_ge(repeats, 25000 - 600);
    ck_assert_uint_le(repeats, 25000 + 600);
    pick_clear(&k);
    pick_clear(&other);
    plan_clear(&p);
}
END_TEST

/* Agents of every machine and of every later version must agree: these are for ever. */
START_TEST(test_golden_values)
{
    static const uint32_t weights[] = {5, 1, 3, 2};
    static const char by_weight[] = "0202020303102020203031",
                      random[] = "0300232003330233021101121130232120030210";
    struct plan p;
    struct pick k;
    for (int round = 0; round < 2; round++) {
        const char *expected = round == 0 ? by_weight : random;
        plan_of(&p, weights, 4, round == 0 ? PLAN_ORDER_WEIGHT : PLAN_ORDER_RANDOM);
        pick_init(&k, &p);
        char got[64] = "";
        for (uint64_t i = 0; expected[i] != '\0'; i++)
            got[i] = (char)('0' + pick_at(&k, i));
        ck_assert_str_eq(got, expected);
        pick_clear(&k);
        plan_clear(&p);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pick");
    TCase *t = tcase_create("pick");
    tcase_add_test(t, test_weights_are_exact);
    tcase_add_test(t, test_weights_are_mixed);
    tcase_add_test(t, test_sequential_takes_turns);
    tcase_add_test(t, test_random_follows_the_seed_and_the_weights);
    tcase_add_test(t, test_golden_values);
    suite_add_tcase(s, t);
    return check_main(s);
}
