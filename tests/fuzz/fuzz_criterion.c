/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "controller/compare/criterion.h"

/* A --fail-if as typed. What is accepted reads back as the same and has a limit that can be held
 * against something; what is refused says so. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok)
{
    if (!ok)
        abort();
}

static void check(const struct criterion *c)
{
    struct criterion again;
    require(criterion_parse(c->text, &again, NULL) == ERR_OK);
    require(criterion_same_figure(c, &again) && strcmp(c->label, again.label) == 0);
    require(isfinite(c->limit) && c->limit >= 0);
    require(c->metric != CRITERION_PERCENTILE || (c->percentile > 0 && c->percentile <= 100));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct criterion c;
    struct errmsg msg = {{0}};
    char *text = mem_dup(data, size);
    if (criterion_parse(text, &c, &msg) == ERR_OK)
        check(&c);
    else
        require(strstr(msg.text, "accepted") != NULL);
    mem_free(text);
    return 0;
}
