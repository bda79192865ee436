/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_HOSTILE_SCRIPT_H
#define HAMMER_TESTS_HOSTILE_SCRIPT_H

#include "tests/lib/hostile_server.h"

/* Short words for the steps of a hostile server's script. END closes the connection. */

/* clang-format off */
#define READ        {.op = HOSTILE_READ}
#define BODY(bytes) {.op = HOSTILE_READ, .n = (bytes)}
#define SEND(text)  {.op = HOSTILE_SEND, .bytes = (text)}
#define FLOOD(text) {.op = HOSTILE_FLOOD, .bytes = (text)}
#define SLOW(text)  {.op = HOSTILE_TRICKLE, .bytes = (text)}
#define HALF        {.op = HOSTILE_HALF_CLOSE}
#define RESET       {.op = HOSTILE_RESET}
#define HANG        {.op = HOSTILE_HANG}
#define STALL       {.op = HOSTILE_STALL}
#define AGAIN       {.op = HOSTILE_AGAIN}
#define END         {.op = HOSTILE_END}
/* clang-format on */

#define H11      "HTTP/1.1 200 OK\r\n"
#define CHUNKED  H11 "Transfer-Encoding: chunked\r\n\r\n"
#define GOOD     H11 "Content-Length: 5\r\n\r\nhello"
#define GOOD_BYE H11 "Connection: close\r\nContent-Length: 5\r\n\r\nhello"

#endif
