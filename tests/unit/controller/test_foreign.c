/* SPDX-License-Identifier: MIT */
#include "controller/report/foreign.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/lib/check_main.h"

#define LONGEST 60

typedef void (*foreign_fn)(FILE *out, const char *text);

static char *written(foreign_fn fn, const char *text)
{
    char *got = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&got, &len);
    fn(out, text);
    fclose(out);
    return got;
}

static const struct {
    foreign_fn fn;
    const char *text, *want;
} examples[] = {
    {foreign_xml, "a<b>&\"c'", "a&#60;b&#62;&#38;&#34;c&#39;"},
    {foreign_xml, "]]>\x01\x7f\n", "]]&#62;???"},
    {foreign_xml, "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x94\xa8",
     "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x94\xa8"},
    {foreign_xml, "\xc3", "?"},             /* cut */
    {foreign_xml, "\xc0\xaf", "?"},         /* overlong '/' */
    {foreign_xml, "\xe0\x80\xbc", "?"},     /* overlong '<' */
    {foreign_xml, "\xed\xa0\x80", "?"},     /* half a surrogate pair */
    {foreign_xml, "\xef\xbf\xbf", "?"},     /* U+FFFF */
    {foreign_xml, "\xf4\x90\x80\x80", "?"}, /* above U+10FFFF */
    {foreign_xml, "\xff\xfe", "??"},
    {foreign_xml,
     "a\xe2\x80\xae"
     "b",
     "a?b"},                        /* right to left */
    {foreign_xml, "\xc2\x85", "?"}, /* a C1 control */
    {foreign_markdown, "a|b`c`", "a&#124;b&#96;c&#96;"},
    {foreign_markdown, "@me #12", "&#64;<!-- -->me &#35;<!-- -->12"},
    {foreign_markdown, "http://x", "http&#58;//x"},
    {foreign_markdown, "**[b](c)** <b>", "&#42;&#42;&#91;b&#93;(c)&#42;&#42; &#60;b&#62;"},
    {foreign_csv, "plain", "plain"},
    {foreign_csv, "a,b", "\"a,b\""},
    {foreign_csv, "a\"b", "\"a\"\"b\""},
    {foreign_csv, "=1+1", "\"'=1+1\""},
    {foreign_csv, "-2", "\"'-2\""},
    {foreign_csv, "@SUM(A1)", "\"'@SUM(A1)\""},
    {foreign_csv, "+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""},
    {foreign_csv, "a\nb", "\"a?b\""},
    {foreign_csv, "", ""},
};

START_TEST(test_examples)
{
    char *got = written(examples[_i].fn, examples[_i].text);
    ck_assert_str_eq(got, examples[_i].want);
    free(got);
}
END_TEST

static void random_text(uint64_t *rng, char text[LONGEST + 1])
{
    static const char likely[] = "<>&\"'|`@#=+-,\n\r\t\\*_[]\xc3\xe2\xf0\x80\xbf";
    size_t len = check_below(rng, LONGEST);
    for (size_t i = 0; i < len; i++)
        text[i] = check_below(rng, 2) == 0 ? likely[check_below(rng, sizeof likely - 1)]
                                           : (char)(1 + check_below(rng, 255));
    text[len] = '\0';
}

/* Whatever comes in: what goes out is UTF-8 without controls, and none of the characters with a
 * meaning is left alone. */
static void check_texts(foreign_fn fn, const char *never)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 5000; i++) {
        char text[LONGEST + 1];
        random_text(&rng, text);
        char *got = written(fn, text);
        ck_assert_msg(strpbrk(got, never) == NULL, "%s", got);
        for (size_t at = 0; got[at] != '\0';) {
            uint32_t c;
            size_t n = foreign_next(got + at, &c);
            CHECK_MUST(n > 0 && (c != '?' || got[at] == '?'));
            at += n;
        }
        free(got);
    }
}

START_TEST(test_random_xml)
{
    check_texts(foreign_xml, "<>\"'\n\r\t");
}
END_TEST

START_TEST(test_random_markdown)
{
    check_texts(foreign_markdown, "|`*_[]\\\"'\n\r\t");
}
END_TEST

START_TEST(test_random_csv)
{
    uint64_t rng = check_seed();
    for (int i = 0; i < 5000; i++) {
        char text[LONGEST + 1];
        random_text(&rng, text);
        char *got = written(foreign_csv, text);
        size_t len = strlen(got), quotes = 0;
        bool quoted = got[0] == '"';
        CHECK_MUST(strpbrk(got, "\r\n\t") == NULL);
        for (size_t k = 0; k < len; k++)
            quotes += got[k] == '"';
        CHECK_MUST(quotes % 2 == 0 && (quoted ? got[len - 1] == '"' : quotes == 0));
        CHECK_MUST(quoted || strchr(got, ',') == NULL);
        CHECK_MUST(strchr("=+-@", got[quoted]) == NULL || got[quoted] == '\0');
        free(got);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("foreign");
    TCase *t = tcase_create("foreign");
    tcase_add_loop_test(t, test_examples, 0, sizeof examples / sizeof examples[0]);
    tcase_add_test(t, test_random_xml);
    tcase_add_test(t, test_random_markdown);
    tcase_add_test(t, test_random_csv);
    suite_add_tcase(s, t);
    return check_main(s);
}
