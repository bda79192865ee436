/* SPDX-License-Identifier: MIT */

/*
 * Fills in a manual page's template. In it
 *   @version@             anywhere is the version, and a line
 *   @commands PROGRAM@    all commands with their flags, a section each
 *   @options PROGRAM [COMMAND]@   the flags
 *   @plan@                the plan's terms: the flag, the variable, what is accepted.
 * The result is scdoc's language.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "docs/generate/program.h"
#include "proto/plan.h"

#define LINE_MAX_LEN 1024

static void put_text(FILE *out, const char *text)
{
    doc_put_escaped(out, text, "\\*_<>[]#|");
}

static void put_spellings(FILE *out, const struct option_row *row)
{
    char word[OPTION_WORD];
    for (size_t at = 0; doc_next_spelling(row, &at, word, sizeof word);) {
        fputs(at == 1 ? "*" : ", *", out);
        put_text(out, word);
        fputs("*", out);
    }
    if (row->meta != NULL) {
        fputs(" _", out);
        put_text(out, row->meta);
        fputs("_", out);
    }
}

static void put_accepted(FILE *out, const struct option_row *row)
{
    char form[512];
    if (row->type == OPTION_FLAG)
        return;
    option_accepted(row, form, sizeof form);
    fputs("\n\tAccepted: ", out);
    put_text(out, form);
    fputs(".\n", out);
}

static void put_row(FILE *out, const struct option_row *row)
{
    put_spellings(out, row);
    fputs("\n\t", out);
    put_text(out, row->text);
    fputs("\n\n", out);
}

/* "The load:", or "pki agent NAME: issue a certificate for an agent's host". */
static void put_title(FILE *out, const struct doc_command *c, const struct option_group *g)
{
    if (g->title == NULL)
        return;
    fputs("_", out);
    if (g->word != NULL && g->text != NULL)
        fprintf(out, "%s ", c->name);
    put_text(out, g->title);
    fputs("_:", out);
    if (g->text != NULL) {
        fputs(" ", out);
        put_text(out, g->text);
    }
    fputs("\n\n", out);
}

static void put_groups(FILE *out, const struct doc_command *c)
{
    for (size_t i = 0; i < c->n_groups; i++) {
        const struct option_group *g = &c->groups[i];
        const struct option_row *row;
        put_title(out, c, g);
        if (g->elsewhere)
            continue;
        for (size_t at = 0; (row = option_group_next(g, &at)) != NULL;)
            put_row(out, row);
    }
}

static void put_commands(FILE *out, const struct doc_program *p)
{
    for (size_t i = 1; i < p->n_commands; i++) {
        const struct doc_command *c = &p->commands[i];
        if (c->word[0] != '\0')
            continue;
        fprintf(out, "## %s\n\n", c->usage); /* scdoc knows no escapes in a heading */
        fputc(toupper((unsigned char)c->text[0]), out);
        put_text(out, c->text + 1);
        fputs(".\n\n", out);
        put_groups(out, c);
    }
}

static void put_variable(FILE *out, const char *name)
{
    fputs("*HAMMER\\_", out);
    for (; *name != '\0'; name++) {
        if (*name == '-')
            fputs("\\_", out);
        else
            fputc(toupper((unsigned char)*name), out);
    }
    fputs("*", out);
}

static void put_plan(FILE *out)
{
    size_t n;
    const struct option_row *rows = plan_options(&n);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "## %s\n\n", rows[i].name);
        put_spellings(out, &rows[i]);
        fputs(", ", out);
        put_variable(out, rows[i].name);
        fputs("\n\t", out);
        put_text(out, rows[i].text);
        fputs("\n", out);
        put_accepted(out, &rows[i]);
        fputs("\n", out);
    }
}

/* "@options hammer-agent selftest@": words[0..2]. */
static bool put_directive(FILE *out, char *const words[3])
{
    static struct doc_program p; /* large; one thread */
    if (strcmp(words[0], "plan") == 0 && words[1] == NULL) {
        put_plan(out);
        return true;
    }
    if (words[1] == NULL || !doc_program_init(&p, words[1]))
        return false;
    if (strcmp(words[0], "commands") == 0 && words[2] == NULL) {
        put_commands(out, &p);
        return true;
    }
    const struct doc_command *c =
        words[2] == NULL ? &p.commands[0] : doc_command_find(&p, words[2]);
    if (strcmp(words[0], "options") != 0 || c == NULL)
        return false;
    put_groups(out, c);
    return true;
}

static void put_line(FILE *out, const char *line)
{
    static const char version[] = "@version@";
    for (const char *at; (at = strstr(line, version)) != NULL; line = at + strlen(version))
        fprintf(out, "%.*s%s", (int)(at - line), line, HAMMER_VERSION);
    fputs(line, out);
}

static bool take_line(FILE *out, char *line)
{
    char *words[3] = {0}, *rest = NULL;
    size_t len = strcspn(line, "\n");
    if (len < 3 || line[0] != '@' || line[len - 1] != '@' || strncmp(line, "@version@", 9) == 0) {
        put_line(out, line);
        return true;
    }
    line[len - 1] = '\0';
    for (size_t i = 0; i < 3; i++)
        words[i] = strtok_r(i == 0 ? line + 1 : NULL, " ", &rest);
    return words[0] != NULL && put_directive(out, words);
}

bool doc_write_man(const char *template_path, FILE *out)
{
    char line[LINE_MAX_LEN];
    unsigned n = 0;
    bool ok = true;
    FILE *in = fopen(template_path, "r");
    if (in == NULL) {
        fprintf(stderr, "%s: %s\n", template_path, strerror(errno));
        return false;
    }
    while (ok && fgets(line, sizeof line, in) != NULL) {
        n++;
        ok = take_line(out, line);
        if (!ok)
            fprintf(stderr, "%s:%u: unknown directive @%s\n", template_path, n, line + 1);
    }
    fclose(in);
    return ok;
}
