/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "controller/run/condition.h"

/* A condition as typed. What is accepted reads back as the same, and is measured; what is refused
 * says so. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok)
{
    if (!ok)
        abort();
}

static struct snapshot *some_figures(void)
{
    struct snapshot *s = snapshot_new();
    struct series *one = snapshot_series(s, 1, "login");
    one->counters.scheduled = one->counters.sent = 7;
    one->counters.completed = one->counters.ok = 6;
    one->counters.timeouts = 1;
    s->status[200] = 6;
    hist_record(series_hist(one, HIST_CORRECTED), 2000000, 6);
    hist_record(series_hist(one, HIST_UNCORRECTED), 1000000, 6);
    return s;
}

static void measure(const struct condition *c, const struct snapshot *s)
{
    struct condition_figure f;
    char said[CONDITION_SAID];
    if (!condition_measure(c, s, 0, 1000000000, &f))
        return;
    (void)condition_holds(c, &f);
    require(strlen(condition_say(c, &f, said)) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct condition c, again;
    struct errmsg msg = {{0}};
    char *text = mem_dup(data, size);
    if (condition_parse(text, &c, &msg) == ERR_OK) {
        require(condition_parse(c.text, &again, &msg) == ERR_OK);
        require(strcmp(c.text, again.text) == 0 && c.metric == again.metric && c.op == again.op);
        require(c.value == again.value && c.for_ns == again.for_ns && c.stage == again.stage);
        struct snapshot *s = some_figures(), *none = snapshot_new();
        measure(&c, s);
        measure(&c, none);
        snapshot_free(none);
        snapshot_free(s);
    } else {
        require(msg.text[0] != '\0');
    }
    mem_free(text);
    return 0;
}
