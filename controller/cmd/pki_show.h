/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_SHOW_H
#define HAMMER_CONTROLLER_PKI_SHOW_H

#include <stdint.h>
#include <stdio.h>

#include "controller/pki/pki.h"

/* `hammer-ctl pki show`: the CA and every certificate, as a table or as JSON. */
void pki_show_table(const struct pki *p, int64_t now_s, FILE *out);
void pki_show_json(const struct pki *p, int64_t now_s, FILE *out);
/* One line for each certificate in use, the CA included, that is near its end or over. `dir` is
 * --dir as it was given, NULL = it was not. */
void pki_show_warnings(const struct pki *p, const char *dir, int64_t now_s, FILE *out);

#endif
