/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/link_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Byte 0: limit in steps of 64; byte 1: bytes a read. The rest is the stream. Invariants: a frame
 * is never empty or over the limit, lies in the stream where its length says, and nothing is read
 * outside what was filled in (AddressSanitizer). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct frame_rx rx;
    struct errmsg msg;
    const uint8_t *stream = data + 2, *frame;
    size_t in = 0, out = 0, total = size - 2, room, len, step = 1 + (size_t)data[1] * 7;
    enum err e = ERR_TRUNCATED;
    frame_rx_init(&rx, 1 + (size_t)data[0] * 64);
    while (e == ERR_TRUNCATED && in < total) {
        uint8_t *p = frame_rx_room(&rx, &room);
        size_t n = total - in < step ? total - in : step;
        n = n < room ? n : room;
        if (n == 0)
            abort();
        memcpy(p, stream + in, n);
        in += n;
        frame_rx_filled(&rx, n);
        while ((e = frame_rx_next(&rx, &frame, &len, &msg)) == ERR_OK) {
            if (len == 0 || len > rx.max || out + FRAME_HEADER + len > in ||
                memcmp(frame, stream + out + FRAME_HEADER, len) != 0)
                abort();
            out += FRAME_HEADER + len;
        }
    }
    frame_rx_fini(&rx);
    return 0;
}
