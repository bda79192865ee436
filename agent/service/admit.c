/* SPDX-License-Identifier: MIT */
#include "agent/service/admit.h"

#include "agent/service/policy_caps.h"

static void take_down(const struct admit_config *cfg, const struct msg_prepare *p,
                      const struct admit_order *order, bool decoded, struct audit_run *record)
{
    struct audit_order o = {.peer = cfg->peer,
                            .controller = cfg->controller,
                            .run = cfg->run,
                            .plan_bytes = p->plan.data,
                            .plan_len = p->plan.len,
                            .plan = decoded ? &order->plan : NULL,
                            .part = &order->part,
                            .policy = cfg->policy};
    audit_run_set(record, &o);
}

enum err admit(const struct admit_config *cfg, const struct msg_prepare *p,
               struct admit_order *order, struct audit_run *record, enum refuse_code *code,
               struct errmsg *msg)
{
    *code = REFUSE_PLAN;
    order->part = (struct plan_part){.total = p->total,
                                     .first = p->first,
                                     .weight = p->weight,
                                     .connections = p->connections,
                                     .threads = p->threads,
                                     .max_connections = p->max_connections};
    enum err e = plan_decode(p->plan.data, p->plan.len, &order->plan, msg);
    take_down(cfg, p, order, e == ERR_OK, record);
    if (e == ERR_OK)
        e = plan_part_check(&order->part, msg);
    if (e != ERR_OK)
        return e;
    *code = REFUSE_POLICY;
    e = policy_check_plan(cfg->policy, &order->plan, &order->part, msg);
    if (e != ERR_OK)
        return e;
    *code = REFUSE_PLAN; /* of whatever else stands in its way */
    return audit_run_begin(cfg->audit, record, msg);
}
