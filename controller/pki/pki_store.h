/* SPDX-License-Identifier: MIT */
#ifndef HAMMER_CONTROLLER_PKI_STORE_H
#define HAMMER_CONTROLLER_PKI_STORE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

/*
 * A folder of keys and certificates that only its owner may enter (mode 0700). A file appears whole
 * or not at all, with exactly the mode given, whatever the umask; links are never followed; nothing
 * is replaced unless the caller says so. Names are relative to the folder: "ca.key",
 * "agents/web1.crt". Errors name the whole path. Main thread.
 */

#define PKI_MODE_SECRET 0600
#define PKI_MODE_PUBLIC 0644

struct pki_store;

/* Opens the folder. ERR_NOT_FOUND where there is none; a folder of somebody else or with another
 * mode is refused. With `create`, it and its parents are made first. */
enum err pki_store_open(const char *dir, bool create, struct pki_store **out,
                        struct errmsg *msg) MUST_CHECK;
void pki_store_close(struct pki_store *s); /* NULL is fine */
/* Against other processes, until close: waits up to 5 s, then ERR_BUSY. */
enum err pki_store_lock(struct pki_store *s, struct errmsg *msg) MUST_CHECK;
const char *pki_store_dir(const struct pki_store *s);

/* Makes a folder inside, mode 0700; one that is there is checked as the store itself. */
enum err pki_store_folder(const struct pki_store *s, const char *name,
                          struct errmsg *msg) MUST_CHECK;
/* Is there anything by that name? */
bool pki_store_has(const struct pki_store *s, const char *name);
/* The file as a string, owned by the caller. A secret (mode 0600) that others may read is refused.
 * ERR_NOT_FOUND, ERR_REFUSED, ERR_TOO_BIG (32 MiB), ERR_SYSTEM. */
enum err pki_store_read(const struct pki_store *s, const char *name, mode_t mode, char **text,
                        struct errmsg *msg) MUST_CHECK;
/* ERR_REFUSED when it is there and `replace` is false. */
enum err pki_store_write(const struct pki_store *s, const char *name, const char *text, mode_t mode,
                         bool replace, struct errmsg *msg) MUST_CHECK;

#endif
