/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "docs/generate/program.h"

static void put_condition(FILE *out, const struct doc_program *p, const struct doc_command *c)
{
    fprintf(out, "complete -c %s -n '", p->name);
    if (c->name == NULL) {
        fputs("not __fish_seen_subcommand_from", out);
        for (size_t i = 1; i < p->n_commands; i++)
            if (p->commands[i].word[0] == '\0')
                fprintf(out, " %s", p->commands[i].name);
    } else {
        fprintf(out, "__fish_seen_subcommand_from %s", c->name);
    }
    if (c->words != NULL)
        fprintf(out, "; and not __fish_seen_subcommand_from %s", c->words);
    if (c->word[0] != '\0')
        fprintf(out, "; and __fish_seen_subcommand_from %s", c->word);
    fputs("'", out);
}

static void put_text(FILE *out, const char *text)
{
    fputs(" -d '", out);
    doc_put_escaped(out, text, "'\\");
    fputs("'\n", out);
}

static void put_row(FILE *out, const struct option_row *row)
{
    char word[OPTION_WORD];
    for (size_t at = 0; doc_next_spelling(row, &at, word, sizeof word);) {
        bool letter = strlen(word) == 2;
        fprintf(out, " -%s %s", letter ? "s" : "l", word + (letter ? 1 : 2));
    }
    if (row->type != OPTION_FLAG)
        fputs(doc_takes_file(row) ? " -r -F" : " -x", out);
    put_text(out, row->text);
}

void doc_write_fish(const struct doc_program *p, FILE *out)
{
    fprintf(out, "# fish completion for %s; made from its option tables\n\ncomplete -c %s -f\n",
            p->name, p->name);
    for (size_t i = 1; i < p->n_commands; i++) {
        fprintf(out, "complete -c %s -n __fish_use_subcommand -a %s", p->name, p->commands[i].name);
        put_text(out, p->commands[i].text);
    }
    for (size_t i = 0; i < p->n_commands; i++) {
        const struct doc_command *c = &p->commands[i];
        const struct option_row *row;
        for (struct doc_walk w = {0}; (row = doc_next_row(c, &w)) != NULL;) {
            put_condition(out, p, c);
            put_row(out, row);
        }
        if (c->words == NULL)
            continue;
        put_condition(out, p, c);
        fprintf(out, " -a '%s'\n", c->words);
    }
}
