/* SPDX-License-Identifier: MIT */
#include "common/option.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/units.h"
#include "tests/lib/check_main.h"

#define N_OF(table) (sizeof(table) / sizeof(table)[0])
#define REST_MAX    2

struct target {
    bool quiet, verbose;
    uint32_t small;
    uint64_t count, wait_ns;
    struct rate rate;
    char *name;
    struct option_list headers;
    int even;
    bool small_set, rate_set;
};

static enum err parse_even(const struct option_row *row, const char *value, void *target,
                           struct errmsg *msg)
{
    uint64_t v;
    if (units_parse_count(value, &v, NULL) != ERR_OK)
        return ERR_INVALID;
    if (v % 2 != 0)
        return errmsg_set(msg, ERR_INVALID, "%s: odd; accepted is an even number", value);
    *(int *)(void *)((char *)target + row->offset) = (int)v;
    return ERR_OK;
}

#define AT(member) .offset = offsetof(struct target, member), .set_offset = OPTION_NO_SET

static const struct option_row rows[] = {
    {.name = "quiet", .aliases = "-q", .type = OPTION_FLAG, AT(quiet), .text = "say nothing"},
    {.name = "verbose", .aliases = "-v", .type = OPTION_FLAG, AT(verbose), .text = "say more"},
    {.name = "small",
     .aliases = "-s",
     .type = OPTION_U32,
     .offset = offsetof(struct target, small),
     .set_offset = offsetof(struct target, small_set),
     .min = 1,
     .max = 1000,
     .meta = "N",
     .text = "a small number"},
    {.name = "count",
     .aliases = "",
     .type = OPTION_COUNT,
     AT(count),
     .min = 1,
     .max = 5000000,
     .meta = "N",
     .text = "a number whose help sentence is long enough to be wrapped, because nobody likes a "
             "terminal that breaks the words of a sentence wherever the window ends"},
    {.name = "wait-time",
     .aliases = "-w",
     .type = OPTION_DURATION,
     AT(wait_ns),
     .min = NS_PER_MS,
     .max = 10 * NS_PER_SEC,
     .bare_unit = NS_PER_MS,
     .meta = "TIME",
     .text = "how long"},
    {.name = "rate",
     .aliases = "-r -R --qps --requests-per-second-as-some-like-it",
     .type = OPTION_RATE,
     .offset = offsetof(struct target, rate),
     .set_offset = offsetof(struct target, rate_set),
     .meta = "RATE",
     .text = "how fast"},
    {.name = "name", .aliases = "-n", .type = OPTION_STRING, AT(name), .text = "a name"},
    {.name = "header",
     .aliases = "-H",
     .type = OPTION_LIST,
     AT(headers),
     .accepted = "NAME: VALUE",
     .meta = "LINE",
     .text = "a header"},
    {.name = "even",
     .aliases = "-e",
     .type = OPTION_CUSTOM,
     AT(even),
     .accepted = "an even number",
     .parse = parse_even,
     .text = "two four six"},
};

#define WORDS_MAX 8
struct line {
    char *words[WORDS_MAX]; /* from index 1; NULL ends */
    const char *rest[REST_MAX];
    size_t n_rest;
    struct target t;
    struct errmsg msg;
};

static enum err parse(struct line *l)
{
    int argc = 1;
    while (argc < WORDS_MAX && l->words[argc] != NULL)
        argc++;
    return option_parse(rows, N_OF(rows), argc, l->words, &l->t, l->rest, REST_MAX, &l->n_rest,
                        &l->msg);
}

static void clear(struct line *l)
{
    option_clear(rows, N_OF(rows), &l->t);
    ck_assert_ptr_null(l->t.name);
    ck_assert_uint_eq(l->t.headers.n, 0);
}

static void parse_ok(struct line *l)
{
    enum err e = parse(l);
    ck_assert_msg(e == ERR_OK, "%s", l->msg.text);
}

START_TEST(test_every_spelling)
{
    struct line spellings[] = {
        {.words = {"p", "--small", "20"}}, {.words = {"p", "--small=20"}},
        {.words = {"p", "-s20"}},          {.words = {"p", "-s", "20"}},
        {.words = {"p", "-qvs20"}},        {.words = {"p", "-qv", "-s", "20"}},
    };
    for (size_t i = 0; i < N_OF(spellings); i++) {
        parse_ok(&spellings[i]);
        ck_assert_uint_eq(spellings[i].t.small, 20);
        ck_assert(spellings[i].t.small_set && !spellings[i].t.rate_set);
        ck_assert(spellings[i].t.quiet == (i >= 4) && spellings[i].t.verbose == (i >= 4));
    }
    char *rates[] = {"-r", "-R", "--rate", "--qps", "--requests-per-second-as-some-like-it"};
    for (size_t i = 0; i < N_OF(rates); i++) {
        struct line l = {.words = {"p", rates[i], "6/m"}};
        parse_ok(&l);
        ck_assert(l.t.rate.num == 1 && l.t.rate.den == 10 && l.t.rate_set);
    }
}
END_TEST

START_TEST(test_every_type)
{
    struct line l = {
        .words = {"p", "--count=1.5k", "-w250", "-H", "A: 1", "--header=B: 2", "--even=4", "-nx"}};
    parse_ok(&l);
    ck_assert_uint_eq(l.t.count, 1500);
    ck_assert_uint_eq(l.t.wait_ns, 250 * NS_PER_MS);
    ck_assert_uint_eq(l.t.headers.n, 2);
    ck_assert_str_eq(l.t.headers.items[0], "A: 1");
    ck_assert_str_eq(l.t.headers.items[1], "B: 2");
    ck_assert_int_eq(l.t.even, 4);
    ck_assert_str_eq(l.t.name, "x");
    clear(&l);
    struct line again = {.words = {"p", "--name", "x", "-n", "", "-s1", "-s2"}};
    parse_ok(&again);
    ck_assert_str_eq(again.t.name, "");
    ck_assert_uint_eq(again.t.small, 2);
    clear(&again);
}
END_TEST

START_TEST(test_positional)
{
    struct line l = {.words = {"p", "url", "-q", "--", "-v"}};
    parse_ok(&l);
    ck_assert_uint_eq(l.n_rest, 2);
    ck_assert_str_eq(l.rest[0], "url");
    ck_assert_str_eq(l.rest[1], "-v");
    ck_assert(l.t.quiet && !l.t.verbose);
    struct line dash = {.words = {"p", "-"}};
    parse_ok(&dash);
    ck_assert_str_eq(dash.rest[0], "-");
    struct line nothing = {.words = {"p"}};
    parse_ok(&nothing);
    ck_assert_uint_eq(nothing.n_rest, 0);
}
END_TEST

struct refused {
    struct line line;
    enum err e;
    const char *text;
};

START_TEST(test_refused)
{
    struct refused cases[] = {
        {{.words = {"p", "--small", "0"}},
         ERR_RANGE,
         "--small 0: accepted is a whole number from 1 to 1000"},
        {{.words = {"p", "-s", "1k", "-s1001"}},
         ERR_RANGE,
         "--small 1001: accepted is a whole number from 1 to 1000"},
        {{.words = {"p", "-s", "4294967297"}}, ERR_RANGE, "--small 4294967297: accepted"},
        {{.words = {"p", "-s", "ten"}},
         ERR_INVALID,
         "--small ten: accepted is a whole number from 1 to 1000"},
        {{.words = {"p", "-s", "-5"}}, ERR_INVALID, "--small -5: accepted is"},
        {{.words = {"p", "-s", ""}}, ERR_INVALID, "--small \"\": accepted is"},
        {{.words = {"p", "-s"}}, ERR_INVALID, "--small (no value): accepted is a whole number"},
        {{.words = {"p", "--count=0"}}, ERR_RANGE, "--count 0: accepted is"},
        {{.words = {"p", "-w", "0"}},
         ERR_RANGE,
         "--wait-time 0: accepted is a duration from 1ms to 10s (a bare number is milliseconds)"},
        {{.words = {"p", "-w", "5x"}}, ERR_INVALID, "--wait-time 5x: unknown unit; accepted is a "},
        {{.words = {"p", "-r", "-5"}}, ERR_INVALID, "--rate -5: accepted is a rate"},
        {{.words = {"p", "--qps=0"}}, ERR_RANGE, "--rate 0: accepted is a rate above 0"},
        {{.words = {"p", "-e3"}}, ERR_INVALID, "--even 3: odd; accepted is an even number"},
        {{.words = {"p", "-ex"}}, ERR_INVALID, "--even x: accepted is an even number"},
        {{.words = {"p", "--quiet=1"}}, ERR_INVALID, "--quiet 1: accepted is the flag alone"},
        {{.words = {"p", "--smal", "3"}},
         ERR_INVALID,
         "unknown option --smal: did you mean --small?"},
        {{.words = {"p", "--waittime=3"}}, ERR_INVALID, "did you mean --wait-time?"},
        {{.words = {"p", "--rtae", "3"}}, ERR_INVALID, "did you mean --rate?"},
        {{.words = {"p", "--qsp", "3"}}, ERR_INVALID, "did you mean --qps?"},
        {{.words = {"p", "--co", "3"}}, ERR_INVALID, "did you mean --count?"},
        {{.words = {"p", "-rate", "50"}}, ERR_INVALID, "unknown option -rate: did you mean --rate"},
        {{.words = {"p", "-name=x"}}, ERR_INVALID, "did you mean --name?"},
        {{.words = {"p", "-S", "3"}}, ERR_INVALID, "unknown option -S: did you mean -s?"},
        {{.words = {"p", "-x"}}, ERR_INVALID, "unknown option -x: accepted are the options that"},
        {{.words = {"p", "-qx"}}, ERR_INVALID, "unknown option -qx: accepted are"},
        {{.words = {"p", "--zzzzzz"}}, ERR_INVALID, "unknown option --zzzzzz: accepted are"},
        {{.words = {"p", "--=3"}}, ERR_INVALID, "unknown option --: accepted are"},
        {{.words = {"p", "a", "b", "c"}},
         ERR_INVALID,
         "unexpected argument c: accepted beside the options is at most 2"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        enum err e = parse(&cases[i].line);
        const char *said = cases[i].line.msg.text;
        ck_assert_msg(e == cases[i].e, "case %zu gave %s: %s", i, err_str(e), said);
        ck_assert_msg(strstr(said, cases[i].text) != NULL, "case %zu: %s", i, said);
        clear(&cases[i].line);
    }
}
END_TEST

START_TEST(test_long_words_are_harmless)
{
    char word[300] = "--";
    memset(word + 2, 's', sizeof word - 3);
    for (size_t len = sizeof word - 1; len > 2; len--) {
        word[len] = '\0';
        struct line l = {.words = {"p", word}};
        ck_assert(parse(&l) == ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(l.msg.text, "unknown option --s"));
    }
    memset(word, 'x', sizeof word - 1);
    memcpy(word, "-s", 2);
    struct line l = {.words = {"p", word}};
    ck_assert(parse(&l) == ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(l.msg.text, "accepted is a whole number from 1 to 1000"));
}
END_TEST

START_TEST(test_environment)
{
    setenv("HAMMER_WAIT_TIME", "2s", 1);
    setenv("HAMMER_SMALL", "7", 1);
    setenv("HAMMER_QUIET", "1", 1);
    setenv("HAMMER_VERBOSE", "0", 1);
    setenv("HAMMER_HEADER", "A: env", 1);
    setenv("HAMMER_NAME", "", 1);
    struct line l = {.words = {"p", "-s8", "-H", "B: 1", "-H", "C: 2"}};
    ck_assert(option_environment(rows, N_OF(rows), &l.t, &l.msg) == ERR_OK);
    ck_assert_uint_eq(l.t.wait_ns, 2 * NS_PER_SEC);
    ck_assert(l.t.small == 7 && l.t.small_set && l.t.quiet && !l.t.verbose);
    ck_assert_str_eq(l.t.headers.items[0], "A: env");
    ck_assert_ptr_null(l.t.name);
    parse_ok(&l);
    ck_assert_uint_eq(l.t.small, 8);
    ck_assert_uint_eq(l.t.wait_ns, 2 * NS_PER_SEC);
    ck_assert_uint_eq(l.t.headers.n, 2);
    ck_assert_str_eq(l.t.headers.items[0], "B: 1");
    clear(&l);
    static const char *const bad[][3] = {
        {"HAMMER_WAIT_TIME", "1h", "HAMMER_WAIT_TIME=1h: accepted is a duration from 1ms to 10s"},
        {"HAMMER_WAIT_TIME", "x", "HAMMER_WAIT_TIME=x: accepted is a duration"},
        {"HAMMER_QUIET", "yes", "HAMMER_QUIET=yes: accepted is 1 or 0"},
    };
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct line b = {.words = {"p"}};
        setenv(bad[i][0], bad[i][1], 1);
        ck_assert(option_environment(rows, N_OF(rows), &b.t, &b.msg) != ERR_OK);
        ck_assert_msg(strstr(b.msg.text, bad[i][2]) != NULL, "%s", b.msg.text);
        unsetenv(bad[i][0]);
        clear(&b);
    }
}
END_TEST

START_TEST(test_refuse_and_find)
{
    struct errmsg msg = {{0}};
    const struct option_row *row = option_find(rows, N_OF(rows), "small");
    ck_assert_ptr_eq(row, &rows[2]);
    ck_assert_ptr_null(option_find(rows, N_OF(rows), "-s"));
    ck_assert(option_refuse(row, "2000", ERR_RANGE, &msg) == ERR_RANGE);
    ck_assert_str_eq(msg.text, "--small 2000: accepted is a whole number from 1 to 1000");
}
END_TEST

START_TEST(test_help)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    option_help(rows, N_OF(rows), out);
    fclose(out);
    static const char *const fragments[] = {
        "  -q, --quiet           say nothing\n",
        "  -s, --small N         a small number\n",
        ("  -r, -R, --rate, --qps, --requests-per-second-as-some-like-it RATE\n"
         "                        how fast\n"),
        "\n                       ",
    };
    for (size_t i = 0; i < N_OF(fragments); i++)
        ck_assert_msg(strstr(text, fragments[i]) != NULL, "%s not in\n%s", fragments[i], text);
    size_t lines = 0;
    for (char *line = text; *line != '\0'; lines++) {
        size_t len = strcspn(line, "\n");
        ck_assert_msg(len <= 100, "%.*s", (int)len, line);
        ck_assert_msg(len > 0 && line[len - 1] != ' ', "%.*s|", (int)len, line);
        line += len + 1;
    }
    ck_assert_uint_ge(lines, N_OF(rows) + 2);
    free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("option");
    TCase *tc = tcase_create("option");
    tcase_add_test(tc, test_every_spelling);
    tcase_add_test(tc, test_every_type);
    tcase_add_test(tc, test_positional);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_long_words_are_harmless);
    tcase_add_test(tc, test_environment);
    tcase_add_test(tc, test_refuse_and_find);
    tcase_add_test(tc, test_help);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return check_main(suite());
}
