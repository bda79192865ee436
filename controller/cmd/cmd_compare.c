/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "controller/cmd/cmd.h"
#include "controller/cmd/compare_options.h"
#include "controller/store/replay.h"

#define PARTS_MAX (2 * CRITERIA_MAX)

/* The runs, made anew, and the parts of them that criteria with a scope are about. */
struct runs {
    const struct compare_options *o;
    struct replayed *baseline[RANK_TEST_MAX], *candidate[RANK_TEST_MAX];
    struct compared_side sides[2]; /* baseline, candidate */
    struct replayed *parts[PARTS_MAX];
    size_t n_parts;
    enum err error; /* of a part */
    struct errmsg why;
};

/* The user's words were wrong, or what they mean could not be read. */
static int code_of(enum err e)
{
    bool input = e == ERR_INVALID || e == ERR_RANGE || e == ERR_NOT_FOUND;
    return input ? EXIT_BAD_INPUT : EXIT_COULD_NOT;
}

static enum err load_side(const struct compare_options *o, const char *const *words, size_t n,
                          struct replayed **into, struct compared_side *side, struct errmsg *msg)
{
    const struct replay_options options = {.db = o->results.db};
    for (size_t i = 0; i < n; i++) {
        enum err e = replay_run(words[i], &options, &into[i], msg);
        if (e != ERR_OK)
            return e;
        const struct result *r = replayed_result(into[i]);
        side->runs[side->n++] = (struct compared_run){.id = r->run_id, .name = r->name, .r = r};
    }
    return ERR_OK;
}

/* The same run by two names. */
static enum err check_ids(const struct runs *r, struct errmsg *msg)
{
    const char *ids[2 * RANK_TEST_MAX];
    size_t n = 0;
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < r->sides[s].n; i++)
            ids[n++] = r->sides[s].runs[i].id;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(ids[i], ids[j]) == 0)
                return errmsg_set(msg, ERR_INVALID,
                                  "run %.8s: given twice; accepted is each run once", ids[i]);
    return ERR_OK;
}

/* Once the runs are known: do they have what the flags name? */
static enum err check_criteria(const struct runs *r, struct errmsg *msg)
{
    struct errmsg why = {{0}};
    for (size_t i = 0; i < r->o->n_criteria; i++)
        for (size_t s = 0; s < 2; s++)
            for (size_t j = 0; j < r->sides[s].n; j++) {
                const struct criterion *c = &r->o->criteria[i];
                enum err e = criterion_check(c, r->sides[s].runs[j].r->plan, &why);
                if (e != ERR_OK)
                    return errmsg_set(msg, e, "--fail-if %s", why.text);
            }
    return ERR_OK;
}

static const struct blocks *part(void *arg, bool candidate, const struct criterion *c)
{
    struct runs *r = arg;
    struct replay_options options = {.db = r->o->results.db};
    options.view.partial = true;
    snprintf(options.view.request, sizeof options.view.request, "%s", c->name);
    options.view.one_stage = c->stage > 0;
    options.view.stage = c->stage > 0 ? c->stage - 1 : 0;
    if (r->error != ERR_OK || r->n_parts == PARTS_MAX)
        return NULL;
    r->error = replay_run(candidate ? r->o->candidate[0] : r->o->baseline[0], &options,
                          &r->parts[r->n_parts], &r->why);
    if (r->error != ERR_OK)
        return NULL;
    return replayed_result(r->parts[r->n_parts++])->blocks;
}

static int refuse(const struct comparison *c, struct errmsg *msg)
{
    for (size_t i = 0; i < c->differences.n; i++)
        fprintf(stderr, "hammer-ctl: %s\n", c->differences.items[i]);
    errmsg_set(msg, ERR_REFUSED,
               "these runs cannot be compared; --anyway shows the figures, without a verdict");
    return EXIT_COULD_NOT;
}

static int judge(struct runs *r, struct errmsg *msg)
{
    struct comparison c;
    const struct comparison_question q = {.baseline = &r->sides[0],
                                          .candidate = &r->sides[1],
                                          .criteria = r->o->criteria,
                                          .n_criteria = r->o->n_criteria,
                                          .by_default = r->o->fail_if.n == 0,
                                          .part = part,
                                          .arg = r};
    comparison_make(&q, &c);
    int code = c.exit_code;
    if (r->error != ERR_OK) {
        *msg = r->why;
        code = code_of(r->error);
    } else if (c.differences.n > 0 && !r->o->anyway) {
        code = refuse(&c, msg);
    } else if (!r->o->format->write(&c, stdout)) {
        errmsg_set(msg, ERR_SYSTEM, "the comparison could not be written: %s", strerror(errno));
        code = EXIT_COULD_NOT;
    }
    comparison_clear(&c);
    return code;
}

static int compare(const struct compare_options *o, struct errmsg *msg)
{
    struct runs *r = mem_calloc(1, sizeof *r);
    r->o = o;
    enum err e = load_side(o, o->baseline, o->n_baseline, r->baseline, &r->sides[0], msg);
    if (e == ERR_OK)
        e = load_side(o, o->candidate, o->n_candidate, r->candidate, &r->sides[1], msg);
    if (e == ERR_OK)
        e = check_ids(r, msg);
    if (e == ERR_OK)
        e = check_criteria(r, msg);
    int code = e == ERR_OK ? judge(r, msg) : code_of(e);
    for (size_t i = 0; i < RANK_TEST_MAX; i++) {
        replayed_free(r->baseline[i]);
        replayed_free(r->candidate[i]);
    }
    for (size_t i = 0; i < r->n_parts; i++)
        replayed_free(r->parts[i]);
    mem_free(r);
    return code;
}

static int exec(int argc, char **argv)
{
    struct compare_options o;
    struct errmsg msg = {{0}};
    int code = EXIT_BAD_INPUT;
    enum err e = compare_options_parse(argc, argv, &o, &msg);
    if (e == ERR_OK && o.help) {
        compare_options_help();
        code = 0;
    } else if (e == ERR_OK) {
        log_open("hammer-ctl", o.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
        code = compare(&o, &msg);
    }
    if (msg.text[0] != '\0')
        fprintf(stderr, "hammer-ctl: %s\n", msg.text);
    compare_options_clear(&o);
    return code;
}

const struct cmd_entry cmd_compare = {.name = "compare",
                                      .usage = COMPARE_USAGE,
                                      .text =
                                          "gate a build: has it become worse than the baseline?",
                                      .has_help = true,
                                      .exec = exec,
                                      .options = compare_options_groups};
