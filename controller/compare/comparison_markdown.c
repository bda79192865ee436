/* SPDX-License-Identifier: MIT */
#include "controller/compare/comparison.h"

/* Names come from users: nothing in them may end a cell or begin a tag. */
static void put(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|' || *text == '\\' || *text == '`' || *text == '*' || *text == '_')
            fputc('\\', out);
        fputs(*text == '<'                 ? "&lt;"
              : *text == '&'               ? "&amp;"
              : (unsigned char)*text < ' ' ? "?"
                                           : (const char[]){*text, '\0'},
              out);
    }
}

static void side(FILE *out, const char *label, const struct compared_side *s)
{
    char name[120];
    fprintf(out, "**%s**: ", label);
    for (size_t i = 0; i < s->n; i++) {
        fputs(i > 0 ? ", " : "", out);
        put(out, comparison_run_name(&s->runs[i], name, sizeof name));
    }
    fputs("  \n", out);
}

static void row(const struct comparison_row *r, FILE *out)
{
    char baseline[COMPARISON_SAID], candidate[COMPARISON_SAID], change[COMPARISON_SAID],
        interval[2 * COMPARISON_SAID], smallest[COMPARISON_SAID], missed[COMPARISON_MISSED];
    fputs("| ", out);
    put(out, r->gate.judged ? r->criterion.text : r->criterion.label);
    fprintf(out, " | %s | %s | %s | %s | %s | %s%s%s |\n",
            comparison_say(&r->criterion, r->baseline, baseline),
            comparison_say(&r->criterion, r->candidate, candidate),
            comparison_say_change(&r->gate, &r->criterion, r->gate.effect.estimate, change),
            comparison_say_interval(r, interval), comparison_say_smallest(r, smallest),
            r->gate.judged ? gate_verdict_name(r->gate.verdict) : "",
            comparison_say_missed(r, missed)[0] != '\0' ? ": " : "", missed);
}

static bool write_markdown(const struct comparison *c, FILE *out)
{
    char advice[COMPARISON_ADVICE];
    fprintf(out, "### Load comparison: %s\n\n", gate_verdict_name(c->verdict));
    side(out, "Baseline", c->baseline);
    side(out, "Candidate", c->candidate);
    for (size_t i = 0; i < c->differences.n; i++) {
        fputs("\n- not alike: ", out);
        put(out, c->differences.items[i]);
    }
    fputs("\n| | baseline | candidate | change | 95 % interval | smallest shown | |\n"
          "|---|---:|---:|---:|---:|---:|---|\n",
          out);
    for (size_t i = 0; i < c->n_rows; i++)
        row(&c->rows[i], out);
    fprintf(out,
            "\nMethod: %s. Smallest shown: the smallest change for the worse that these runs "
            "could have shown.\n",
            comparison_method(c));
    comparison_advice(c, advice);
    if (advice[0] != '\0')
        fprintf(out, "\n%s\n", advice);
    return ferror(out) == 0 && fflush(out) == 0;
}

const struct comparison_format comparison_markdown = {"markdown", write_markdown};
