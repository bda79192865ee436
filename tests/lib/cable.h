/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_CABLE_H
#define HAMMER_TESTS_CABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/netns.h"

/*
 * A cable between the namespaces of a test: a TUN device at each end and a thread that carries
 * packets from one to the other. It can be pulled, lose packets, take its time (each way its own),
 * and break connections with RST. All calls come from the test's thread and work at once. Cable
 * number K joins 10.77.K.1 (near) and 10.77.K.2 (far).
 */

enum cable_way {
    CABLE_THERE, /* near to far */
    CABLE_BACK
};

struct cable;

/* The calling thread is near before and after. `seed` decides which packets are lost. */
struct cable *cable_new(const struct netns *n, unsigned number, uint64_t seed);
void cable_free(struct cable *c);
/* 10.77.K.2 */
const char *cable_far_address(const struct cable *c);

/* Nothing arrives any more, either way, and nobody is told; what is under way is lost too. */
void cable_pull(struct cable *c);
void cable_plug(struct cable *c);
void cable_delay(struct cable *c, enum cable_way way, uint64_t ns);
/* So many of a hundred packets are lost, each way. */
void cable_loss(struct cable *c, unsigned percent);
/* On: every TCP packet with data arrives as a RST of its connection instead. */
void cable_reset(struct cable *c, bool on);
/* Nothing is wrong with it any more. */
void cable_mend(struct cable *c);
/* Packets that the cable has swallowed so far. */
uint64_t cable_lost(const struct cable *c);
/* Connections that it has reset: RSTs made. */
uint64_t cable_resets(const struct cable *c);

#endif
