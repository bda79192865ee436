/* SPDX-License-Identifier: MIT */
#include "controller/report/doc_write.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/check_main.h"

#define FLAGS JSON_REAL_PRECISION(12)

/* Nested, empty and full, with everything that a string has to hide. */
static json_t *element(const void *arg, size_t i)
{
    const char *text = arg;
    json_t *inner = json_object(), *list = json_array(), *o = json_object();
    for (size_t k = 0; k < i % 4; k++)
        json_array_append_new(list, json_integer((json_int_t)k));
    json_object_set_new(inner, "list", list);
    json_object_set_new(inner, "text", json_string(text));
    json_object_set_new(o, "inner", inner);
    json_object_set_new(o, "number", json_real((double)i / 3));
    json_object_set_new(o, "empty", json_object());
    return o;
}

static json_t *scalar(const void *arg, size_t i)
{
    (void)arg;
    return json_integer((json_int_t)i);
}

static json_t *object(size_t n_elements, size_t n_scalars, bool whole, const char *text)
{
    json_t *o = json_object(), *elements = json_array(), *scalars = json_array();
    for (size_t i = 0; i < n_elements && whole; i++)
        json_array_append_new(elements, element(text, i));
    for (size_t i = 0; i < n_scalars && whole; i++)
        json_array_append_new(scalars, scalar(NULL, i));
    json_object_set_new(o, "first", json_string(text));
    json_object_set_new(o, "elements", whole ? elements : json_null());
    json_object_set_new(o, "middle", element(text, 3));
    json_object_set_new(o, "scalars", whole ? scalars : json_null());
    json_object_set_new(o, "last", json_true());
    if (!whole) {
        json_decref(elements);
        json_decref(scalars);
    }
    return o;
}

static void check_same(size_t n_elements, size_t n_scalars)
{
    static const char text[] = "a\n\"b\"\\ \t {}[],: \xc3\xa9";
    const struct doc_list lists[] = {{"elements", n_elements, element},
                                     {"scalars", n_scalars, scalar}};
    json_t *all = object(n_elements, n_scalars, true, text);
    json_t *parts = object(n_elements, n_scalars, false, text);
    char *want = json_dumps(all, FLAGS | JSON_INDENT(2)), *got = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&got, &len);
    ck_assert(doc_write(parts, lists, 2, text, FLAGS, out));
    fclose(out);
    ck_assert_uint_eq(len, strlen(want) + 1);
    ck_assert_int_eq(got[len - 1], '\n');
    got[len - 1] = '\0';
    ck_assert_str_eq(got, want);
    free(got);
    free(want);
    json_decref(all);
    json_decref(parts);
}

START_TEST(test_as_if_written_whole)
{
    for (size_t n = 0; n < 5; n++)
        for (size_t k = 0; k < 3; k++)
            check_same(n, k);
}
END_TEST

static json_t *none(const void *arg, size_t i)
{
    (void)arg, (void)i;
    return NULL;
}

START_TEST(test_failures_are_told)
{
    const struct doc_list broken = {"last", 1, none}, many = {"last", 10000, element};
    FILE *out = fopen("/dev/null", "w"), *full = fopen("/dev/full", "w");
    json_t *o = object(0, 0, false, "");
    ck_assert(!doc_write(o, &broken, 1, "", FLAGS, out));
    ck_assert(!doc_write(o, &many, 1, "", FLAGS, full)); /* more than the stream holds back */
    json_decref(o);
    fclose(out);
    fclose(full);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("doc_write");
    TCase *t = tcase_create("doc_write");
    tcase_add_test(t, test_as_if_written_whole);
    tcase_add_test(t, test_failures_are_told);
    suite_add_tcase(s, t);
    return check_main(s);
}
