/* SPDX-License-Identifier: MIT */
#include "controller/report/doc.h"

json_t *doc_view(const struct result *r)
{
    const struct result_view *v = &r->view;
    if (!v->partial)
        return NULL;
    json_t *o = json_object();
    bool window = result_is_window(r);
    doc_set(o, "from_ns", window ? doc_integer(v->from_ns) : NULL);
    doc_set(o, "to_ns", window ? doc_integer(v->to_ns > 0 ? v->to_ns : r->end_ns) : NULL);
    doc_set(o, "agent", v->agent[0] != '\0' ? doc_text(v->agent) : NULL);
    doc_set(o, "stage", v->one_stage ? doc_integer(v->stage) : NULL);
    doc_set(o, "request", v->request[0] != '\0' ? doc_text(v->request) : NULL);
    doc_set(o, "ledger_closed", json_boolean(!window));
    doc_set(o, "judged", json_false());
    return o;
}
