/* SPDX-License-Identifier: MIT */
#include "tests/lib/cable.h"

#include <check.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/lib/check_main.h"

#define PACKET_MAX 2048
/* Beyond it a packet is lost, as in any router. */
#define QUEUE_MAX  4096

struct packet {
    TAILQ_ENTRY(packet) link;
    uint64_t due_ns;
    size_t len;
    uint8_t bytes[];
};

TAILQ_HEAD(packets, packet);

struct way {
    int from, to;
    struct packets queue; /* in the order of arrival, which is kept */
    size_t n;
    _Atomic uint64_t delay_ns;
};

struct cable {
    pthread_t thread;
    int wake; /* eventfd: stop */
    struct way ways[2];
    uint64_t random;
    atomic_bool pulled, reset, stop;
    atomic_uint loss_percent;
    _Atomic uint64_t lost, resets;
    char far[16];
};

/* --- RST ------------------------------------------------------------------------------------ */

static uint32_t sum_words(const void *bytes, size_t len, uint32_t sum)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i + 1 < len; i += 2)
        sum += (uint32_t)(b[i] << 8 | b[i + 1]);
    return sum;
}

static uint16_t fold(uint32_t sum)
{
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

/* Turns a TCP packet with data into a bare RST, whose sequence number is the one expected. */
static bool make_reset(struct packet *p)
{
    struct iphdr ip;
    struct tcphdr tcp;
    if (p->len < sizeof ip + sizeof tcp)
        return false;
    memcpy(&ip, p->bytes, sizeof ip);
    size_t head = (size_t)ip.ihl * 4;
    if (ip.version != 4 || ip.protocol != IPPROTO_TCP || p->len < head + sizeof tcp)
        return false;
    memcpy(&tcp, p->bytes + head, sizeof tcp);
    if (p->len <= head + (size_t)tcp.doff * 4)
        return false;
    p->len = head + sizeof tcp;
    ip.tot_len = htons((uint16_t)p->len);
    ip.check = 0;
    memcpy(p->bytes, &ip, sizeof ip);
    ip.check = fold(sum_words(p->bytes, head, 0));
    memcpy(p->bytes, &ip, sizeof ip);
    tcp.doff = sizeof tcp / 4;
    tcp.psh = tcp.urg = 0;
    tcp.rst = 1;
    tcp.check = 0;
    uint32_t sum = sum_words(&ip.saddr, 2 * sizeof ip.saddr, IPPROTO_TCP + (uint32_t)sizeof tcp);
    tcp.check = fold(sum_words(&tcp, sizeof tcp, sum));
    memcpy(p->bytes + head, &tcp, sizeof tcp);
    return true;
}

/* --- the carrier ---------------------------------------------------------------------------- */

static void forget(struct way *w)
{
    struct packet *p;
    while ((p = TAILQ_FIRST(&w->queue)) != NULL) {
        TAILQ_REMOVE(&w->queue, p, link);
        mem_free(p);
    }
    w->n = 0;
}

static bool swallow(struct cable *c, const struct way *w)
{
    unsigned percent = atomic_load(&c->loss_percent);
    return atomic_load(&c->pulled) || w->n >= QUEUE_MAX ||
           (percent > 0 && check_below(&c->random, 100) < percent);
}

static void take(struct cable *c, struct way *w)
{
    uint8_t bytes[PACKET_MAX];
    ssize_t n;
    while ((n = read(w->from, bytes, sizeof bytes)) > 0) {
        if (swallow(c, w)) {
            atomic_fetch_add(&c->lost, 1);
            continue;
        }
        struct packet *p = mem_calloc(1, sizeof *p + (size_t)n);
        p->len = (size_t)n;
        p->due_ns = clock_mono_ns() + atomic_load(&w->delay_ns);
        memcpy(p->bytes, bytes, p->len);
        if (atomic_load(&c->reset) && make_reset(p))
            atomic_fetch_add(&c->resets, 1);
        TAILQ_INSERT_TAIL(&w->queue, p, link);
        w->n++;
    }
}

/* Returns when the next one is due. */
static uint64_t deliver(struct cable *c, struct way *w)
{
    struct packet *p;
    if (atomic_load(&c->pulled)) {
        atomic_fetch_add(&c->lost, w->n);
        forget(w);
    }
    while ((p = TAILQ_FIRST(&w->queue)) != NULL && p->due_ns <= clock_mono_ns()) {
        (void)!write(w->to, p->bytes, p->len); /* a full device loses it */
        TAILQ_REMOVE(&w->queue, p, link);
        w->n--;
        mem_free(p);
    }
    return p != NULL ? p->due_ns : UINT64_MAX;
}

static void *carry(void *arg)
{
    struct cable *c = arg;
    struct pollfd fds[] = {{.fd = c->ways[CABLE_THERE].from, .events = POLLIN},
                           {.fd = c->ways[CABLE_BACK].from, .events = POLLIN},
                           {.fd = c->wake, .events = POLLIN}};
    while (!atomic_load(&c->stop)) {
        uint64_t due_ns = UINT64_MAX;
        for (int i = 0; i < 2; i++) {
            take(c, &c->ways[i]);
            uint64_t next_ns = deliver(c, &c->ways[i]);
            due_ns = next_ns < due_ns ? next_ns : due_ns;
        }
        uint64_t left_ns = clock_elapsed(clock_mono_ns(), due_ns);
        struct timespec ts = {.tv_sec = (time_t)(left_ns / NS_PER_SEC),
                              .tv_nsec = (long)(left_ns % NS_PER_SEC)};
        ppoll(fds, 3, due_ns != UINT64_MAX ? &ts : NULL, NULL);
    }
    return NULL;
}

/* --- life ----------------------------------------------------------------------------------- */

static void start_thread(struct cable *c)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int e = pthread_create(&c->thread, NULL, carry, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ck_assert_int_eq(e, 0);
}

struct cable *cable_new(const struct netns *n, unsigned number, uint64_t seed)
{
    struct cable *c = mem_calloc(1, sizeof *c);
    char name[16], near[16];
    snprintf(name, sizeof name, "cable%u", number);
    snprintf(near, sizeof near, "10.77.%u.1", number);
    snprintf(c->far, sizeof c->far, "10.77.%u.2", number);
    c->random = seed;
    c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_ge(c->wake, 0);
    int near_fd = netns_tun(name, near, c->far);
    netns_enter(n, NETNS_FAR);
    int far_fd = netns_tun(name, c->far, near);
    netns_enter(n, NETNS_NEAR);
    for (int i = 0; i < 2; i++) {
        c->ways[i].from = i == CABLE_THERE ? near_fd : far_fd;
        c->ways[i].to = i == CABLE_THERE ? far_fd : near_fd;
        TAILQ_INIT(&c->ways[i].queue);
    }
    start_thread(c);
    return c;
}

static void nudge(struct cable *c)
{
    uint64_t one = 1;
    (void)!write(c->wake, &one, sizeof one);
}

void cable_free(struct cable *c)
{
    if (c == NULL)
        return;
    atomic_store(&c->stop, true);
    nudge(c);
    pthread_join(c->thread, NULL);
    for (int i = 0; i < 2; i++) {
        forget(&c->ways[i]);
        close(c->ways[i].from);
    }
    close(c->wake);
    mem_free(c);
}

const char *cable_far_address(const struct cable *c)
{
    return c->far;
}

void cable_pull(struct cable *c)
{
    atomic_store(&c->pulled, true);
}

void cable_plug(struct cable *c)
{
    atomic_store(&c->pulled, false);
}

void cable_delay(struct cable *c, enum cable_way way, uint64_t ns)
{
    atomic_store(&c->ways[way].delay_ns, ns);
}

void cable_loss(struct cable *c, unsigned percent)
{
    atomic_store(&c->loss_percent, percent);
}

void cable_reset(struct cable *c, bool on)
{
    atomic_store(&c->reset, on);
}

void cable_mend(struct cable *c)
{
    cable_plug(c);
    cable_loss(c, 0);
    cable_reset(c, false);
    cable_delay(c, CABLE_THERE, 0);
    cable_delay(c, CABLE_BACK, 0);
}

uint64_t cable_lost(const struct cable *c)
{
    return atomic_load(&c->lost);
}

uint64_t cable_resets(const struct cable *c)
{
    return atomic_load(&c->resets);
}
