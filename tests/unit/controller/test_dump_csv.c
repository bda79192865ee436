/* SPDX-License-Identifier: MIT */
#include "controller/watch/dump_csv.h"

#include <string.h>

#include "common/mem.h"
#include "proto/snapshot.h"
#include "tests/lib/check_main.h"

#define NS UINT64_C(1000000000)

static struct plan plan;

static void setup(void)
{
    plan_defaults(&plan);
    plan.url = mem_strdup("http://127.0.0.1:1/");
    plan.method = mem_strdup("GET");
    plan.rate = (struct rate){100, 1};
}

static void teardown(void)
{
    plan_clear(&plan);
}

static void entries(const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct plan_entry *e = plan_add_entry(&plan);
        e->url = mem_strdup("http://127.0.0.1:1/");
        if (names[i] != NULL)
            e->name = mem_strdup(names[i]);
    }
}

static const char *line(const char *agent, const struct dump_row *row)
{
    static char buf[DUMP_CSV_LINE + 1];
    struct dump_csv c;
    dump_csv_init(&c, &plan);
    buf[dump_csv_line(&c, agent, row, buf)] = '\0';
    dump_csv_clear(&c);
    return buf;
}

static struct dump_row complete(void)
{
    return (struct dump_row){.index = 12,
                             .due_ns = 3 * NS + 5,
                             .sent_ns = 3 * NS + 105,
                             .done_ns = 4 * NS + 205,
                             .stage = 2,
                             .status = 200,
                             .bytes = 1234};
}

START_TEST(test_columns)
{
    struct dump_row row = complete();
    ck_assert_str_eq(dump_csv_header(), "index,agent,stage,request,due_s,sent_s,end_s,corrected_ns,"
                                        "uncorrected_ns,status,bytes,outcome,error\n");
    ck_assert_str_eq(line("a1", &row), "12,a1,2,,3.000000005,3.000000105,4.000000205,1000000200,"
                                       "1000000100,200,1234,ok,\n");
    plan.closed_loop = true; /* from the send alone */
    ck_assert_str_eq(line("a1", &row),
                     "12,a1,2,,3.000000005,3.000000105,4.000000205,,1000000100,200,1234,ok,\n");
    row.outcome = DUMP_TIMEOUT;
    row.error = "timeout and more";
    row.text = 7;
    row.status = 0;
    row.stage = SERIES_STAGE_WARMUP;
    ck_assert_str_eq(line("a1", &row), "12,a1,warmup,,3.000000005,3.000000105,4.000000205,,,,1234,"
                                       "timeout,timeout\n");
    row = (struct dump_row){
        .index = UINT64_MAX, .due_ns = UINT64_MAX, .outcome = DUMP_UNSENT_NO_CONNECTION};
    ck_assert_str_eq(line("a1", &row), "18446744073709551615,a1,0,,18446744073.709551615,,,,,,,"
                                       "unsent_no_connection,\n");
}
END_TEST

/* RFC 4180, section 2: quotes where there is a comma or a quote, and quotes twice. */
START_TEST(test_quotes)
{
    static const char *const names[] = {"say \"hi\"", NULL, "a,b", "plain"};
    struct dump_row row = complete();
    entries(names, 4);
    ck_assert_ptr_nonnull(strstr(line("x,y", &row), "12,\"x,y\",2,\"say \"\"hi\"\"\",3."));
    row.request = 1; /* it has no name: its number */
    ck_assert_ptr_nonnull(strstr(line("a", &row), ",2,#2,3."));
    row.request = 2;
    ck_assert_ptr_nonnull(strstr(line("a", &row), ",2,\"a,b\",3."));
    row.request = 3;
    ck_assert_ptr_nonnull(strstr(line("a", &row), ",2,plain,3."));
    row.request = 9999; /* of an agent that lies */
    ck_assert_ptr_nonnull(strstr(line("a", &row), ",2,#10000,3."));
}
END_TEST

/* Nothing that an agent says makes a line of its own. */
START_TEST(test_one_line_whatever_comes)
{
    char name[64], error[DUMP_TEXT];
    struct dump_row row = complete();
    memset(name, '"', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memset(error, '"', sizeof error);
    error[3] = '\x9b';
    error[4] = '\n';
    row = (struct dump_row){.index = UINT64_MAX,
                            .due_ns = 0,
                            .sent_ns = UINT64_MAX,
                            .done_ns = UINT64_MAX,
                            .bytes = UINT64_MAX,
                            .status = 999,
                            .error = error,
                            .text = DUMP_TEXT - 1,
                            .outcome = DUMP_HTTP_ERROR};
    const char *text = line(name, &row);
    ck_assert_uint_lt(strlen(text), DUMP_CSV_LINE);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_ptr_null(strchr(text, '\x9b'));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dump_csv");
    TCase *t = tcase_create("all");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_columns);
    tcase_add_test(t, test_quotes);
    tcase_add_test(t, test_one_line_whatever_comes);
    return check_main(s);
}
