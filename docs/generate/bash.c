/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "docs/generate/program.h"

/* Which options of a command: all, those that take a file's name, those that take anything else. */
enum kind {
    KIND_ALL,
    KIND_FILE,
    KIND_VALUE
};

static bool is_kind(const struct option_row *row, enum kind kind)
{
    if (kind == KIND_ALL)
        return true;
    return row->type != OPTION_FLAG && doc_takes_file(row) == (kind == KIND_FILE);
}

static void put_list(FILE *out, const struct doc_command *c, const char *name, enum kind kind)
{
    char word[OPTION_WORD];
    const struct option_row *row;
    bool first = true;
    fprintf(out, "        %s='", name);
    for (struct doc_walk w = {0}; (row = doc_next_row(c, &w)) != NULL;) {
        if (!is_kind(row, kind))
            continue;
        for (size_t i = 0; doc_next_spelling(row, &i, word, sizeof word); first = false)
            fprintf(out, "%s%s", first ? "" : " ", word);
    }
    fprintf(out, "'\n");
}

static void put_command(FILE *out, const struct doc_command *c)
{
    if (c->name == NULL)
        fprintf(out, "    *)\n");
    else if (c->word[0] == '\0')
        fprintf(out, "    %s)\n", c->name);
    else
        fprintf(out, "    '%s %s')\n", c->name, c->word);
    put_list(out, c, "options", KIND_ALL);
    put_list(out, c, "files", KIND_FILE);
    put_list(out, c, "values", KIND_VALUE);
    if (c->words != NULL)
        fprintf(out, "        ((COMP_CWORD == 2)) && words='%s'\n", c->words);
    fprintf(out, "        ;;\n");
}

/* The command's own command becomes part of its name, where it is one. */
static void put_word(FILE *out, const struct doc_command *c)
{
    fprintf(out,
            "    if [[ $command == %s ]] && ((COMP_CWORD > 2)) &&\n"
            "        [[ ' %s ' == *\" ${COMP_WORDS[2]} \"* ]]; then\n"
            "        command+=\" ${COMP_WORDS[2]}\"\n"
            "    fi\n",
            c->name, c->words);
}

static void put_commands(FILE *out, const struct doc_program *p)
{
    fprintf(out, "    ((COMP_CWORD == 1)) && words='");
    for (size_t i = 1; i < p->n_commands; i++)
        if (p->commands[i].word[0] == '\0')
            fprintf(out, "%s%s", i > 1 ? " " : "", p->commands[i].name);
    /* While the command itself is being typed, what may follow it is not due yet. */
    fprintf(out, "'\n    ((COMP_CWORD > 1)) && command=${COMP_WORDS[1]}\n");
    for (size_t i = 1; i < p->n_commands; i++)
        if (p->commands[i].words != NULL)
            put_word(out, &p->commands[i]);
    fprintf(out, "    case $command in\n");
    for (size_t i = 1; i < p->n_commands; i++)
        put_command(out, &p->commands[i]);
    put_command(out, &p->commands[0]);
    fprintf(out, "    esac\n");
}

void doc_write_bash(const struct doc_program *p, FILE *out)
{
    fprintf(out,
            "# bash completion for %s; made from its option tables\n"
            "# shellcheck shell=bash\n\n"
            "_%s() {\n"
            "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
            "    local command='' words='' options files values\n"
            "    # --name=VALUE comes as three words.\n"
            "    if [[ $cur == '=' ]]; then\n"
            "        cur=''\n"
            "    elif [[ $prev == '=' ]]; then\n"
            "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
            "    fi\n",
            p->name, p->name);
    put_commands(out, p);
    fprintf(out,
            "    COMPREPLY=()\n"
            "    if [[ \" $files \" == *\" $prev \"* ]]; then\n"
            "        compopt -o filenames 2>/dev/null\n"
            "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
            "    elif [[ \" $values \" != *\" $prev \"* ]]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$words $options\" -- \"$cur\")\n"
            "    fi\n"
            "}\n\n"
            "complete -F _%s %s\n",
            p->name, p->name);
}
