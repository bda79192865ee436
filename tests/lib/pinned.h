/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_TESTS_PINNED_H
#define HAMMER_TESTS_PINNED_H

#include <stddef.h>
#include <stdint.h>

/*
 * Encodings pinned as files of the fuzz corpora: tests/fuzz/corpus/<name> must hold exactly these
 * bytes. A change means that older programs will not understand the new ones: think about the
 * version first. HAMMER_WRITE_PINNED=1 in the environment writes the files instead.
 * `data_dir` is TEST_DATA_DIR.
 */
void pinned_check(const char *data_dir, const char *name, const uint8_t *bytes, size_t len);

#endif
