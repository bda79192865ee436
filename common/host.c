/* SPDX-License-Identifier: MIT */
#include "common/host.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

void host_boot_id(char *buf, size_t cap)
{
    char boot[48] = "", ns[64] = "";
    buf[0] = '\0';
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, boot, 36);
    close(fd);
    ssize_t m = readlink("/proc/self/ns/time", ns, sizeof ns - 1);
    if (n != 36)
        return;
    /* "time:[4026531834]": the digits are enough. */
    const char *digits = m > 0 ? strchr(ns, '[') : NULL;
    int len = snprintf(buf, cap, "%s/%s", boot, digits != NULL ? digits + 1 : "");
    if (len > 0 && (size_t)len < cap && buf[len - 1] == ']')
        buf[len - 1] = '\0';
}

uint32_t host_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (uint32_t)n : 1;
}

uint32_t host_cores_online(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

uint64_t host_fd_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0)
        return 1024;
    if (r.rlim_cur < r.rlim_max) {
        struct rlimit up = {.rlim_cur = r.rlim_max, .rlim_max = r.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &up) == 0)
            return up.rlim_cur;
    }
    return r.rlim_cur;
}

uint64_t host_fds_used(void)
{
    int fd = open("/", O_PATH | O_CLOEXEC);
    if (fd < 0)
        return host_fd_limit(); /* none is free */
    close(fd);
    return (uint64_t)fd;
}

void host_no_core_files(void)
{
    struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &none); /* lowering is always allowed */
}

uint32_t host_local_ports(void)
{
    unsigned first = 0, last = 0;
    FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (f == NULL)
        return 0;
    int n = fscanf(f, "%u %u", &first, &last);
    fclose(f);
    return n == 2 && first > 0 && last >= first && last <= UINT16_MAX ? last - first + 1 : 0;
}

void host_std_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDONLY); /* takes the lowest number: fd */
}

void host_random(void *buf, size_t len)
{
    if (getrandom(buf, len, 0) != (ssize_t)len) {
        fprintf(stderr, "hammer: no random bytes: %s\n", strerror(errno));
        abort();
    }
}

void host_name(char *buf, size_t cap)
{
    if (gethostname(buf, cap) != 0)
        snprintf(buf, cap, "unknown");
    buf[cap - 1] = '\0';
}

void host_who(char *buf, size_t cap)
{
    char name[64];
    host_name(name, sizeof name);
    const struct passwd *pw = getpwuid(getuid());
    if (pw != NULL)
        snprintf(buf, cap, "%.24s@%.48s:%d", pw->pw_name, name, (int)getpid());
    else
        snprintf(buf, cap, "%u@%.48s:%d", (unsigned)getuid(), name, (int)getpid());
}

void host_hex(const uint8_t *bytes, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}
