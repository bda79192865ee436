/* SPDX-License-Identifier: MIT */
#include "tests/target/behaviour.h"

/* Spreads a share evenly: of any n responses in a row from the first, floor(n * ppm / 1e6). */
static bool in_share(uint32_t ppm, uint64_t n)
{
    unsigned __int128 scaled = (unsigned __int128)n * ppm;
    return scaled / HTTPD_EACH != (scaled - ppm) / HTTPD_EACH;
}

struct httpd_behaviour httpd_behaviour_of(const struct httpd_options *o, uint64_t n)
{
    struct httpd_behaviour b = {.status = 200, .delay_ns = o->delay_ns};
    if (o->every > 0 && n % o->every == 0)
        b.pause_ns = o->pause_ns;
    if (in_share(o->slow_ppm, n))
        b.delay_ns += o->slow_ns;
    if (in_share(o->status_ppm, n))
        b.status = o->status;
    return b;
}

bool httpd_behaviour_closes(const struct httpd_options *o, uint64_t n)
{
    return o->close_every > 0 && n % o->close_every == 0;
}
