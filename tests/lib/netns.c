/* SPDX-License-Identifier: MIT */
#include "tests/lib/netns.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TUN_DEVICE "/dev/net/tun"
#define MTU        1400

#ifndef CLONE_NEWTIME /* glibc 2.31 does not know it */
#define CLONE_NEWTIME 0x80
#endif

static void must(bool ok, const char *what)
{
    if (!ok)
        ck_abort_msg("%s: %s", what, strerror(errno));
}

/* In a child: what it does to its namespaces is gone with it. */
static bool can_unshare(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWNET) == 0 && unshare(CLONE_NEWTIME) == 0 ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

const char *netns_missing(void)
{
    if (geteuid() != 0)
        return "network namespaces need root";
    int fd = open(TUN_DEVICE, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return TUN_DEVICE " cannot be opened, and the cables between namespaces are made of it";
    close(fd);
    return can_unshare() ? NULL : "this kernel or container makes no network or no time namespaces";
}

static void set_flags(int fd, const char *name)
{
    struct ifreq r = {.ifr_flags = IFF_UP | IFF_RUNNING};
    strncpy(r.ifr_name, name, IFNAMSIZ - 1);
    must(ioctl(fd, SIOCSIFFLAGS, &r) == 0, name);
}

static int fresh(void)
{
    must(unshare(CLONE_NEWNET) == 0, "unshare");
    int ns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(ns >= 0 && fd >= 0, "a network namespace");
    set_flags(fd, "lo");
    close(fd);
    return ns;
}

void netns_open(struct netns *n)
{
    n->fds[NETNS_FAR] = fresh();
    n->fds[NETNS_NEAR] = fresh();
}

void netns_close(struct netns *n)
{
    close(n->fds[NETNS_NEAR]);
    close(n->fds[NETNS_FAR]);
}

void netns_enter(const struct netns *n, enum netns_side side)
{
    must(setns(n->fds[side], CLONE_NEWNET) == 0, "setns");
}

static void set_address(int fd, unsigned long request, const char *name, const char *address)
{
    struct ifreq r = {0};
    struct sockaddr_in sa = {.sin_family = AF_INET};
    must(inet_pton(AF_INET, address, &sa.sin_addr) == 1, address);
    strncpy(r.ifr_name, name, IFNAMSIZ - 1);
    memcpy(&r.ifr_addr, &sa, sizeof sa);
    must(ioctl(fd, request, &r) == 0, address);
}

int netns_tun(const char *name, const char *local, const char *peer)
{
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strncpy(r.ifr_name, name, IFNAMSIZ - 1);
    int tun = open(TUN_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    must(tun >= 0 && ioctl(tun, TUNSETIFF, &r) == 0, TUN_DEVICE);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(fd >= 0, "socket");
    set_address(fd, SIOCSIFADDR, name, local);
    set_address(fd, SIOCSIFDSTADDR, name, peer);
    r.ifr_mtu = MTU;
    must(ioctl(fd, SIOCSIFMTU, &r) == 0, "MTU");
    set_flags(fd, name);
    close(fd);
    return tun;
}
