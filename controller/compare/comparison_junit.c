/* SPDX-License-Identifier: MIT */
#include "controller/compare/comparison.h"

static void put(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        fputs(*text == '<'                 ? "&lt;"
              : *text == '>'               ? "&gt;"
              : *text == '&'               ? "&amp;"
              : *text == '"'               ? "&quot;"
              : (unsigned char)*text < ' ' ? "?"
                                           : (const char[]){*text, '\0'},
              out);
}

/* JUnit knows no "inconclusive": an error says that the test could not be decided. */
static void verdict(const struct comparison *c, const struct comparison_row *r, FILE *out)
{
    char change[COMPARISON_SAID], interval[2 * COMPARISON_SAID];
    bool regression = r->gate.verdict == GATE_REGRESSION && c->differences.n == 0;
    if (r->gate.verdict == GATE_PASS && c->differences.n == 0)
        return;
    fprintf(out, "      <%s type=\"%s\" message=\"", regression ? "failure" : "error",
            regression ? "regression" : "inconclusive");
    put(out, comparison_say_change(&r->gate, &r->criterion, r->gate.effect.estimate, change));
    fputs(", 95 % interval ", out);
    put(out, comparison_say_interval(r, interval));
    for (size_t i = 0; i < c->differences.n; i++) {
        fputs("; ", out);
        put(out, c->differences.items[i]);
    }
    fputs("\"/>\n", out);
}

static size_t count(const struct comparison *c, bool regressions)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct gate_row *g = &c->rows[i].gate;
        bool regression = g->verdict == GATE_REGRESSION && c->differences.n == 0;
        bool passed = g->verdict == GATE_PASS && c->differences.n == 0;
        n += g->judged && (regressions ? regression : !regression && !passed);
    }
    return n;
}

static bool write_junit(const struct comparison *c, FILE *out)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"hammer compare\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
            c->n_judged, count(c, true), count(c, false));
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct comparison_row *r = &c->rows[i];
        if (!r->gate.judged)
            continue;
        fputs("    <testcase classname=\"hammer.compare\" name=\"", out);
        put(out, r->criterion.text);
        fputs("\">\n", out);
        verdict(c, r, out);
        fputs("    </testcase>\n", out);
    }
    fputs("  </testsuite>\n</testsuites>\n", out);
    return ferror(out) == 0 && fflush(out) == 0;
}

const struct comparison_format comparison_junit = {"junit", write_junit};
