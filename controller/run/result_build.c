/* SPDX-License-Identifier: MIT */
#include "controller/run/result_build.h"

#include <string.h>

#include "controller/run/verdict.h"

void result_conclude(struct result *r, const struct condition_list *slo)
{
    result_settle(r);
    objectives_judge(r, slo);
    verdict_eval(r);
}

/* Before and after the part nothing was looked at: lines without anything in them say nothing. */
static bool says_nothing(const struct result_interval *row)
{
    return row->agents_reporting == 0 && row->agents_lost == 0;
}

static void drop_edges(struct result *r)
{
    size_t first = 0;
    while (r->n_intervals > 0 && says_nothing(&r->intervals[r->n_intervals - 1]))
        r->n_intervals--;
    while (first < r->n_intervals && says_nothing(&r->intervals[first]))
        first++;
    r->n_intervals -= first;
    if (first > 0)
        memmove(r->intervals, r->intervals + first, r->n_intervals * sizeof *r->intervals);
}

void result_conclude_part(struct result *r, const char *whole_status, int whole_exit_code)
{
    struct verdict *v = &r->verdict;
    result_settle(r);
    drop_edges(r);
    *v = (struct verdict){.status = STATUS_INCOMPLETE, .exit_code = whole_exit_code};
    for (int s = 0; s < STATUS_COUNT; s++)
        if (strcmp(result_status_name((enum result_status)s), whole_status) == 0)
            v->status = (enum result_status)s;
}
