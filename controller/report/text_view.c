/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/units.h"
#include "controller/report/text.h"

void text_view(FILE *out, const struct result *r)
{
    const struct result_view *v = &r->view;
    char from[UNITS_TEXT], to[UNITS_TEXT];
    if (!v->partial)
        return;
    fputc('\n', out);
    struct text_flow f = text_begin_at(out, 2);
    const char *glue = " ";
    text_item(&f, "", "Part of the run:");
    if (result_is_window(r)) {
        uint64_t end = v->to_ns > 0 ? v->to_ns : r->end_ns;
        text_item(&f, glue, "%s-%s", units_format_latency(v->from_ns, from),
                  units_format_latency(end, to));
        glue = ", ";
    }
    if (v->agent[0] != '\0') {
        text_item(&f, glue, "agent %s", v->agent);
        glue = ", ";
    }
    if (v->one_stage) {
        text_item(&f, glue, "stage %" PRIu32, v->stage + 1);
        glue = ", ";
    }
    if (v->request[0] != '\0')
        text_item(&f, glue, "request %s", v->request);
    text_end(&f);
}

static void note(FILE *out, const char *sentence)
{
    struct text_flow f = text_begin_at(out, TEXT_NOTE);
    text_words(&f, sentence);
    text_end(&f);
}

void text_counted(FILE *out, const struct counters *c)
{
    const struct {
        const char *name;
        uint64_t n;
    } all[] = {{"scheduled", c->scheduled},
               {"sent", c->sent},
               {"unsent", counters_unsent(c)},
               {"completed", c->completed},
               {"ok", c->ok},
               {"HTTP errors", c->http_errors},
               {"failed", counters_failed(c)},
               {"timeouts", c->timeouts},
               {"unfinished", c->unfinished}};
    struct text_flow f = text_begin(out, "Counted");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        text_item(&f, i == 0 ? "" : ", ", "%s %" PRIu64, all[i].name, all[i].n);
    text_end(&f);
    note(out, "a part has no closed ledger: requests were under way at its edges");
}

void text_row_note(FILE *out)
{
    note(out,
         "delays, status codes, error texts, connections, bytes and CPU are kept for the whole "
         "run only, not by stage or request");
}
