/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "docs/generate/program.h"

/* Inside single quotes, with what _arguments or _describe would take as its own escaped. */
static void put_quoted(FILE *out, const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        char one[2] = {*text, '\0'};
        if (*text == '\'')
            fputs("'\\''", out);
        else
            doc_put_escaped(out, one, special);
    }
}

/* "(-r --rate)": each spelling excludes the others. */
static void put_exclusion(FILE *out, const struct option_row *row)
{
    char word[OPTION_WORD];
    if (row->type == OPTION_LIST) {
        fputs("*", out);
        return;
    }
    for (size_t at = 0; doc_next_spelling(row, &at, word, sizeof word);)
        fprintf(out, "%s%s", at == 1 ? "(" : " ", word);
    fputs(")", out);
}

static void put_row(FILE *out, const struct option_row *row)
{
    char word[OPTION_WORD];
    for (size_t at = 0; doc_next_spelling(row, &at, word, sizeof word);) {
        bool letter = strlen(word) == 2;
        fputs("            '", out);
        put_exclusion(out, row);
        fputs(word, out);
        if (row->type != OPTION_FLAG)
            fputs(letter ? "+" : "=", out);
        fputs("[", out);
        put_quoted(out, row->text, "[]\\");
        fputs("]", out);
        if (row->type != OPTION_FLAG) {
            fputs(":", out);
            put_quoted(out, row->meta != NULL ? row->meta : "value", ":\\");
            fputs(doc_takes_file(row) ? ":_files" : ": ", out);
        }
        fputs("'\n", out);
    }
}

static void put_arguments(FILE *out, const struct doc_command *c)
{
    const struct option_row *row;
    fputs("        specs=(\n", out);
    for (struct doc_walk w = {0}; (row = doc_next_row(c, &w)) != NULL;)
        put_row(out, row);
    if (c->words != NULL)
        fprintf(out, "            '1:what to do:(%s)'\n", c->words);
    fputs("        )\n", out);
}

static void put_described(FILE *out, const struct doc_program *p)
{
    fputs("    commands=(\n", out);
    for (size_t i = 1; i < p->n_commands; i++) {
        if (p->commands[i].word[0] != '\0')
            continue;
        fprintf(out, "        '%s:", p->commands[i].name);
        put_quoted(out, p->commands[i].text, ":\\");
        fputs("'\n", out);
    }
    fputs("    )\n", out);
}

/* The command's own command becomes part of its name, where it is one. */
static void put_word(FILE *out, const struct doc_command *c)
{
    fprintf(
        out,
        "    if [[ $command == %s ]] && (( CURRENT > 3 )) && [[ ' %s ' == *\" $words[3] \"* ]]; "
        "then\n"
        "        command+=\" $words[3]\"\n"
        "    fi\n",
        c->name, c->words);
}

void doc_write_zsh(const struct doc_program *p, FILE *out)
{
    fprintf(out,
            "#compdef %s\n"
            "# zsh completion for %s; made from its option tables\n\n"
            "_%s() {\n"
            "    local -a commands specs\n"
            "    local command=\n",
            p->name, p->name, p->name);
    put_described(out, p);
    fputs("    (( CURRENT > 2 )) && command=$words[2]\n", out);
    for (size_t i = 1; i < p->n_commands; i++)
        if (p->commands[i].words != NULL)
            put_word(out, &p->commands[i]);
    fputs("    case $command in\n", out);
    for (size_t i = 1; i < p->n_commands; i++) {
        const struct doc_command *c = &p->commands[i];
        int shifted = c->word[0] != '\0' ? 2 : 1;
        fprintf(out, "    '%s%s%s')\n", c->name, shifted == 2 ? " " : "", c->word);
        fprintf(out, "        shift %d words\n        (( CURRENT -= %d ))\n", shifted, shifted);
        put_arguments(out, c);
        fputs("        ;;\n", out);
    }
    fputs("    *)\n        (( CURRENT == 2 )) && _describe command commands\n", out);
    put_arguments(out, &p->commands[0]);
    fprintf(out,
            "        ;;\n    esac\n"
            "    _arguments -s -S $specs\n"
            "}\n\n"
            "_%s \"$@\"\n",
            p->name);
}
