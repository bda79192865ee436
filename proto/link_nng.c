/* SPDX-License-Identifier: MIT */
#include "proto/link_nng.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>

#include "common/clock.h"

void link_block_signals(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    /* The first call of any kind starts all of nng's threads; they inherit the mask. */
    nng_aio *aio = NULL;
    if (nng_aio_alloc(&aio, NULL, NULL) == 0)
        nng_aio_free(aio);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Runs on a thread of nng. */
static void op_done(void *arg)
{
    struct link_op *op = arg;
    op->done_ns = clock_mono_ns();
    mailbox_post(op->box, &op->letter);
}

enum err link_op_init(struct link_op *op, int kind, struct mailbox *box)
{
    *op = (struct link_op){.letter = {.kind = kind}, .box = box};
    return nng_aio_alloc(&op->aio, op_done, op) == 0 ? ERR_OK : ERR_NOMEM;
}

void link_op_stop(struct link_op *op)
{
    if (op->aio != NULL)
        nng_aio_stop(op->aio);
}

void link_op_free(struct link_op *op)
{
    if (op->aio != NULL)
        nng_aio_free(op->aio);
    op->aio = NULL;
}

struct link_op *link_op_take(struct letter *l)
{
    struct link_op *op = (struct link_op *)l;
    op->busy = false;
    return op;
}

static const struct {
    int error;
    const char *text;
} reasons[] = {
    {NNG_ECONNREFUSED, "connection refused"},
    {NNG_ECLOSED, "closed by the peer"},
    {NNG_ECONNSHUT, "closed by the peer"},
    {NNG_ECONNRESET, "reset by the peer"},
    {NNG_ETIMEDOUT, "timed out"},
    {NNG_EUNREACHABLE, "host unreachable"},
    {NNG_EADDRINVAL, "the address does not resolve"},
    {NNG_EADDRINUSE, "address already in use"},
    {NNG_EPERM, "permission denied"},
    {NNG_ENOENT, "no such file or directory"},
    {NNG_ENOFILES, "out of file descriptors"},
    {NNG_ENOMEM, "out of memory"},
};

const char *link_nng_reason(int nng_error)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].error == nng_error)
            return reasons[i].text;
    return nng_strerror(nng_error);
}

bool link_nng_transient(int nng_error)
{
    return nng_error == NNG_ECANCELED || nng_error == NNG_ECLOSED || nng_error == NNG_EAGAIN ||
           nng_error == NNG_EINTR;
}

unsigned link_nng_port(const nng_sockaddr *sa)
{
    if (sa->s_family == NNG_AF_INET)
        return ntohs(sa->s_in.sa_port);
    if (sa->s_family == NNG_AF_INET6)
        return ntohs(sa->s_in6.sa_port);
    return 0;
}

static void label_ipc(nng_stream *s, char *buf, size_t cap)
{
    uint64_t pid = 0, uid = 0;
    if (nng_stream_get_uint64(s, NNG_OPT_IPC_PEER_PID, &pid) == 0 &&
        nng_stream_get_uint64(s, NNG_OPT_IPC_PEER_UID, &uid) == 0)
        snprintf(buf, cap, "ipc pid %llu uid %llu", (unsigned long long)pid,
                 (unsigned long long)uid);
    else
        snprintf(buf, cap, "ipc peer");
}

void link_nng_peer(nng_stream *s, char *buf, size_t cap)
{
    nng_sockaddr sa = {0};
    char host[INET6_ADDRSTRLEN] = "?";
    if (nng_stream_get_addr(s, NNG_OPT_REMADDR, &sa) != 0) {
        snprintf(buf, cap, "peer already gone");
    } else if (sa.s_family == NNG_AF_INET) {
        inet_ntop(AF_INET, &sa.s_in.sa_addr, host, sizeof host);
        snprintf(buf, cap, "tcp %s:%u", host, link_nng_port(&sa));
    } else if (sa.s_family == NNG_AF_INET6) {
        inet_ntop(AF_INET6, sa.s_in6.sa_addr, host, sizeof host);
        snprintf(buf, cap, "tcp [%s]:%u", host, link_nng_port(&sa));
    } else {
        label_ipc(s, buf, cap);
    }
}

bool link_nng_connected(nng_stream *s)
{
    nng_sockaddr sa;
    return nng_stream_get_addr(s, NNG_OPT_REMADDR, &sa) == 0;
}
