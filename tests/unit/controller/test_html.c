/* SPDX-License-Identifier: MIT */
/* The writer of the HTML report, its axes, and the lines it draws. */
#include "controller/report/html/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "controller/report/html/html_curves.h"
#include "controller/report/html/html_scale.h"
#include "tests/lib/check_main.h"

/* Of the seed that is printed; each test runs in a process of its own. */
static uint64_t next(void)
{
    static uint64_t state;
    if (state == 0)
        state = check_seed();
    return check_random(&state);
}

static char *written(const char *text)
{
    char *out = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&out, &len);
    html_text(f, text);
    fclose(f);
    return out;
}

START_TEST(test_text)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
        {"gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x94\xa8",
         "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x94\xa8"},
        {"\x01\t\n\x7f", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xff", "\xef\xbf\xbd"},
        {"\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* an overlong < */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* half a surrogate pair */
        {"\xe2\x80\xae"
         "a",
         "\xef\xbf\xbd"
         "a"},                                    /* right to left from here */
        {"\xc2\x85", "\xef\xbf\xbd"},             /* C1 */
        {"\xe6\x97", "\xef\xbf\xbd\xef\xbf\xbd"}, /* cut short */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *out = written(cases[i].in);
        ck_assert_str_eq(out, cases[i].out);
        free(out);
    }
}
END_TEST

/* Whatever the bytes: what comes out is UTF-8 that ends nothing. */
START_TEST(test_random_text)
{
    for (int round = 0; round < 2000; round++) {
        char in[64];
        for (size_t i = 0; i + 1 < sizeof in; i++)
            in[i] = (char)(next() % 255 + 1);
        in[sizeof in - 1] = '\0';
        char *out = written(in);
        json_t *valid = json_string(out);
        ck_assert_ptr_nonnull(valid);
        ck_assert_ptr_null(strpbrk(out, "<>\"'"));
        json_decref(valid);
        free(out);
    }
}
END_TEST

START_TEST(test_json)
{
    char *out = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&out, &len);
    json_t *o = json_pack("{s:s}", "a", "</script><!--&\xe2\x80\xa8");
    ck_assert(html_json(f, o));
    fclose(f);
    ck_assert_ptr_null(strpbrk(out, "<>&"));
    json_t *back = json_loads(out, 0, NULL);
    ck_assert(json_equal(o, back));
    json_decref(back);
    json_decref(o);
    free(out);
}
END_TEST

START_TEST(test_numbers)
{
    char b[HTML_NUMBER];
#define S "\xe2\x80\xaf"
    ck_assert_str_eq(html_count(0, b), "0");
    ck_assert_str_eq(html_count(999, b), "999");
    ck_assert_str_eq(html_count(1234567, b), "1" S "234" S "567");
    ck_assert_str_eq(html_count(UINT64_MAX, b),
                     "18" S "446" S "744" S "073" S "709" S "551" S "615");
    ck_assert_str_eq(html_latency(255600, b), "255.60" S "\xc2\xb5s");
    ck_assert_str_eq(html_latency(1040 * NS_PER_MS, b), "1.04" S "s");
    ck_assert_str_eq(html_latency(150 * NS_PER_SEC, b), "2.50" S "min");
    ck_assert_str_eq(html_share(0, 0, b), "-");
    ck_assert_str_eq(html_share(0, 5, b), "0" S "%");
    ck_assert_str_eq(html_share(5, 5, b), "100" S "%");
    ck_assert_str_eq(html_share(999999, 1000000, b), "> 99.99" S "%");
    ck_assert_str_eq(html_share(1, 1000000, b), "< 0.01" S "%");
    ck_assert_str_eq(html_rate(NAN, b), "-");
    ck_assert_str_eq(html_rate(12345.6, b), "12" S "346");
    ck_assert_str_eq(html_rate(0.1, b), "0.1");
}
END_TEST

static void check_scale(const struct scale *s)
{
    ck_assert(s->min < s->max);
    ck_assert(scale_place(s, s->min) == 0 && scale_place(s, s->max) == 1);
    ck_assert_uint_ge(s->n, 1);
    ck_assert_uint_le(s->n, SCALE_TICKS);
    for (size_t i = 0; i < s->n; i++) {
        ck_assert(s->ticks[i].at >= s->min * 0.999 && s->ticks[i].at <= s->max * 1.001);
        ck_assert(s->ticks[i].label[0] != '\0');
        if (i > 0)
            ck_assert(s->ticks[i].at > s->ticks[i - 1].at);
    }
}

START_TEST(test_scales)
{
    for (int round = 0; round < 5000; round++) {
        uint64_t a = next() >> (next() % 64), b = next() >> (next() % 64);
        if (a > b) {
            uint64_t swap = a;
            a = b;
            b = swap;
        }
        a >>= 16; /* three days are enough */
        b >>= 16;
        struct scale s = scale_latency(a, b);
        check_scale(&s);
        ck_assert(s.min <= fmax((double)a, 1) && s.max >= (double)b);
        s = scale_time(a, b);
        check_scale(&s);
        s = scale_count((double)a / 7);
        check_scale(&s);
        ck_assert(s.max >= (double)a / 7 * 0.999999);
        s = scale_percentile(a);
        check_scale(&s);
    }
}
END_TEST

START_TEST(test_labels)
{
    struct scale s = scale_latency(900 * NS_PER_US, 90 * NS_PER_MS);
    ck_assert_str_eq(s.ticks[0].label, "500" S "\xc2\xb5s");
    ck_assert_str_eq(s.ticks[1].label, "1" S "ms");
    ck_assert_str_eq(s.ticks[s.n - 1].label, "100" S "ms");
    s = scale_time(0, 600 * NS_PER_SEC);
    ck_assert_str_eq(s.ticks[1].label, "2:00");
    s = scale_percentile(10000);
    ck_assert_str_eq(s.ticks[1].label, "50" S "%");
    ck_assert_str_eq(s.ticks[5].label, "99.99" S "%");
}
END_TEST

/* --- lines ------------------------------------------------------------------------------------ */

/* Of many rows few points remain, and no peak is lost. */
START_TEST(test_thinning)
{
    for (int i = 0; i < _i; i++)
        next();
    static struct plan plan = {.rate = {1, 1}, .requests = UINT64_MAX};
    size_t rows = 1 + next() % 20000, points = 100 + next() % 900;
    struct result *r = result_new(1);
    uint64_t highest = 0, lowest = UINT64_MAX;
    r->plan = &plan;
    r->n_intervals = rows;
    r->intervals = mem_calloc(rows, sizeof *r->intervals);
    r->duration_ns = r->end_ns = rows * NS_PER_SEC;
    for (size_t i = 0; i < rows; i++) {
        uint64_t value = 1 + next() % 1000000;
        highest = value > highest ? value : highest;
        lowest = value < lowest ? value : lowest;
        r->intervals[i] = (struct result_interval){.from_ns = i * NS_PER_SEC,
                                                   .to_ns = (i + 1) * NS_PER_SEC,
                                                   .completed = value,
                                                   .corrected = {.count = 1, .p99 = value}};
    }
    struct curves t = curves_of(r, points);
    double min, max;
    ck_assert_uint_le(t.n, points);
    ck_assert_uint_ge(t.n, rows < points / 3 ? rows : points / 3);
    ck_assert(curves_range(&t, LINE_CORRECTED_P99, &min, &max));
    ck_assert(min == (double)lowest && max == (double)highest);
    ck_assert(curves_range(&t, LINE_ACHIEVED, &min, &max));
    ck_assert(min == (double)lowest && max == (double)highest);
    ck_assert(!curves_range(&t, LINE_UNCORRECTED_P99, &min, &max));
    for (size_t i = 1; i < t.n; i++)
        ck_assert(t.at_ns[i] > t.at_ns[i - 1]);
    curves_clear(&t);
    result_free(r);
}
END_TEST

START_TEST(test_bands)
{
    static struct plan plan = {
        .rate = {1, 1}, .requests = UINT64_MAX, .duration_ns = 4000 * NS_PER_SEC};
    struct result *r = result_new(1);
    r->plan = &plan;
    r->duration_ns = r->end_ns = 4000 * NS_PER_SEC;
    r->n_stalls = 3000;
    r->stalls = mem_calloc(r->n_stalls, sizeof *r->stalls);
    for (size_t i = 0; i < r->n_stalls; i++)
        r->stalls[i] = (struct stall){.begin_ns = i * NS_PER_SEC,
                                      .length_ns = NS_PER_MS * (i == 77 ? 999 : 100 + i % 50)};
    struct curves t = curves_of(r, 100);
    struct bands *b = bands_of(r, &t);
    bool longest = false;
    ck_assert_uint_le(b->n, BANDS_MAX);
    ck_assert_uint_gt(b->n, 0);
    ck_assert_uint_eq(b->n + b->left_out, 3000);
    for (size_t i = 0; i < b->n; i++)
        longest = longest || b->items[i].from_ns == 77 * NS_PER_SEC;
    ck_assert(longest);
    mem_free(b);
    curves_clear(&t);
    result_free(r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("html");
    TCase *t = tcase_create("html");
    tcase_add_test(t, test_text);
    tcase_add_test(t, test_random_text);
    tcase_add_test(t, test_json);
    tcase_add_test(t, test_numbers);
    tcase_add_test(t, test_scales);
    tcase_add_test(t, test_labels);
    tcase_add_loop_test(t, test_thinning, 0, 10);
    tcase_add_test(t, test_bands);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return check_main(suite());
}
