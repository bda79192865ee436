/* SPDX-License-Identifier: MIT */
#include "agent/service/listen.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/client/target.h"
#include "agent/service/agent_options.h"
#include "agent/service/policy.h"
#include "common/log.h"
#include "common/redact.h"
#include "proto/link_url.h"

#define ACCEPTED    "ipc://PATH, tls+tcp://HOST:PORT, or tcp://HOST:PORT on loopback"
#define FOLDER      "/run/hammer"
#define GROUPS_MAX  1024  /* of one user */
#define ENTRY_BYTES 16384 /* of one line of the user or group database */

static const char tcp_scheme[] = "tcp://";
static const char tls_scheme[] = "tls+tcp://";

/* --- addresses ------------------------------------------------------------------------------ */

/* Every address the host resolves to must be loopback. */
static bool host_is_loopback(const char *host)
{
    struct policy loopback;
    struct target t;
    policy_loopback_only(&loopback);
    if (host[0] == '\0' || strcmp(host, "*") == 0) /* every interface, to nng */
        return false;
    return target_resolve(host, "1", &t, NULL) == ERR_OK &&
           policy_check(&loopback, &t, NULL) == ERR_OK;
}

/* "HOST:PORT" without the brackets of an IPv6 address; false = it is not that. */
static bool cut_host(const char *at, char *host, size_t cap)
{
    const char *colon = strrchr(at, ':');
    if (colon == NULL || (size_t)(colon - at) >= cap)
        return false;
    size_t len = (size_t)(colon - at);
    if (len >= 2 && at[0] == '[' && at[len - 1] == ']') {
        at++;
        len -= 2;
    }
    memcpy(host, at, len);
    host[len] = '\0';
    return true;
}

static enum err refuse(const char *url, struct errmsg *msg)
{
    char shown[100];
    redact_url(url, shown, sizeof shown);
    return errmsg_set(msg, ERR_INVALID, "--listen %s: accepted is " ACCEPTED, shown);
}

static enum err check_tcp(const char *url, bool insecure, enum listen_kind *kind,
                          struct errmsg *msg)
{
    char host[256];
    if (!cut_host(url + strlen(tcp_scheme), host, sizeof host))
        return refuse(url, msg);
    *kind = host_is_loopback(host) ? LISTEN_LOOPBACK : LISTEN_INSECURE;
    if (insecure || *kind == LISTEN_LOOPBACK)
        return ERR_OK;
    return errmsg_set(msg, ERR_REFUSED,
                      "--listen %.100s: other machines reach this address, and over tcp:// whoever "
                      "connects commands the load. With TLS only your controllers do:\n"
                      "  hammer-ctl pki init\n"
                      "  hammer-ctl pki agent NAME --out DIR     (copy DIR to " AGENT_PKI_DEFAULT
                      ")\n"
                      "  hammer-agent --listen tls+tcp://%.60s\n"
                      "--insecure-listen goes without, on a network you trust",
                      url, url + strlen(tcp_scheme));
}

enum err listen_check(const char *url, bool insecure, enum listen_kind *kind, struct errmsg *msg)
{
    if (link_url_path(url) == NULL && strchr(url, '@') != NULL) /* user information */
        return refuse(url, msg);
    if (strncmp(url, tcp_scheme, strlen(tcp_scheme)) == 0)
        return check_tcp(url, insecure, kind, msg);
    *kind = LISTEN_TLS;
    if (strncmp(url, tls_scheme, strlen(tls_scheme)) == 0 && url[strlen(tls_scheme)] != '\0')
        return ERR_OK;
    *kind = LISTEN_IPC;
    const char *path = link_url_path(url);
    if (path != NULL && path[0] == '/')
        return ERR_OK;
    return refuse(url, msg);
}

/* --- the local socket ----------------------------------------------------------------------- */

static bool find_group(gid_t *gid)
{
    char buf[ENTRY_BYTES];
    struct group entry, *found = NULL;
    if (getgrnam_r(LISTEN_GROUP, &entry, buf, sizeof buf, &found) != 0 || found == NULL)
        return false;
    *gid = entry.gr_gid;
    return true;
}

enum err listen_make_folder(const char *url, struct errmsg *msg)
{
    gid_t gid;
    const char *path = link_url_path(url);
    if (path == NULL || strncmp(path, FOLDER "/", strlen(FOLDER "/")) != 0)
        return ERR_OK;
    if (mkdir(FOLDER, 0750) == 0) {
        if (find_group(&gid) && chown(FOLDER, (uid_t)-1, gid) != 0)
            log_debug("listen", FOLDER ": not given to the group " LISTEN_GROUP ": %s",
                      strerror(errno));
        return ERR_OK;
    }
    if (errno == EEXIST && access(FOLDER, W_OK | X_OK) == 0)
        return ERR_OK;
    return errmsg_set(msg, ERR_SYSTEM,
                      "cannot listen on %.100s: " FOLDER
                      ": %s. The systemd unit makes this folder; "
                      "elsewhere choose a place with --listen ipc://PATH",
                      url, strerror(errno));
}

void listen_share(const char *url)
{
    gid_t gid;
    const char *path = link_url_path(url);
    if (path == NULL || !find_group(&gid))
        return;
    if (lchown(path, (uid_t)-1, gid) != 0)
        log_info("listen", "%s: cannot be given to the group " LISTEN_GROUP ": %s", path,
                 strerror(errno));
}

bool listen_allows_uid(uint64_t uid)
{
    char buf[ENTRY_BYTES];
    struct passwd entry, *found = NULL;
    gid_t group, groups[GROUPS_MAX];
    int n = GROUPS_MAX;
    if (uid == 0 || uid == geteuid())
        return true;
    if (uid > UINT32_MAX || !find_group(&group) ||
        getpwuid_r((uid_t)uid, &entry, buf, sizeof buf, &found) != 0 || found == NULL)
        return false;
    if (getgrouplist(entry.pw_name, entry.pw_gid, groups, &n) < 0)
        n = GROUPS_MAX; /* of more than that the first ones count */
    for (int i = 0; i < n; i++)
        if (groups[i] == group)
            return true;
    return false;
}
