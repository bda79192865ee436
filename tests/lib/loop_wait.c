/* SPDX-License-Identifier: MIT */
#include "tests/lib/loop_wait.h"

struct loop *loop_wait_new(void)
{
    struct loop *l = NULL;
    struct errmsg msg = {{0}};
    ck_assert_msg(loop_new(&l, &msg) == ERR_OK, "%s", msg.text);
    return l;
}

static void nothing(void *arg)
{
    (void)arg;
}

void loop_wait_turn(struct loop *l)
{
    struct loop_timer *limit = loop_timer_new(l, nothing, NULL);
    loop_timer_at(limit, clock_mono_ns() + 20 * NS_PER_MS);
    loop_turn(l, 1);
    loop_timer_free(limit);
}
