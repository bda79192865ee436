/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_COMMON_HOST_H
#define HAMMER_COMMON_HOST_H

#include <stddef.h>
#include <stdint.h>

/* What this machine and process are. Any thread; set-up only. */

/* Boot id and time namespace: two processes with the same text read the same CLOCK_MONOTONIC.
 * "" when the kernel does not say. */
void host_boot_id(char *buf, size_t cap);
/* CPUs this process may run on, at least 1. */
uint32_t host_cores(void);
/* CPUs of the machine that run, at least 1. */
uint32_t host_cores_online(void);
/* Raises the soft limit of open files to the hard one and returns it. */
uint64_t host_fd_limit(void);
/* Open descriptors of this process, at least: the numbers below the lowest free one. One system
 * call, however many there are; callable at any time. */
uint64_t host_fds_used(void);
/* How many local ports the kernel gives to outgoing connections; 0 = unknown. */
uint32_t host_local_ports(void);
/* From here on the process leaves no core file: its memory holds secrets. */
void host_no_core_files(void);
/* Opens /dev/null for reading in place of standard descriptors that are closed: a socket must not
 * become 1 or 2 and get what is printed. Writing to them still fails. First thing in main. */
void host_std_fds(void);
/* Random bytes of the kernel; ends the process when there are none. */
void host_random(void *buf, size_t len);
/* "user@host:pid". */
void host_who(char *buf, size_t cap);
void host_name(char *buf, size_t cap);
/* 2 len hex digits and a NUL. */
void host_hex(const uint8_t *bytes, size_t len, char *out);

#endif
