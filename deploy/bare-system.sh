# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by what needs a bare Debian beside the machine's own: makes one in a folder with mmdebstrap and
# runs a script in it. Needs root and the network.

# bare_missing: prints what is missing for it; nothing = all there.
bare_missing() {
    [ "$(id -u)" -eq 0 ] || echo "needs root: run it with sudo"
    command -v mmdebstrap >/dev/null || echo "mmdebstrap is missing: apt-get install mmdebstrap"
}

# bare_make SUITE DIR
bare_make() {
    local mirror
    # The mirror this machine itself installs from, or mmdebstrap's own choice.
    # shellcheck disable=SC1091,SC2016
    mirror=$(. /etc/os-release && apt-get indextargets --format '$(CODENAME) $(REPO_URI)' \
        'Created-By: Packages' | sed -n "s/^${VERSION_CODENAME:-none} //p" | head -n 1)
    # shellcheck disable=SC2086
    mmdebstrap --quiet --mode=root --variant=apt "$1" "$2" ${mirror:+$mirror}
    # A bare chroot knows no names, a bare machine does.
    printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n' >"$2/etc/hosts"
}

# bare_run DIR SCRIPT [ARGUMENT...]: SCRIPT is a path inside. The mounts live in a namespace of their
# own and end with it, and so does every process.
bare_run() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child sh -c '
        system=$1
        shift
        mount -t proc proc "$system/proc" &&
            exec chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
                HOME=/root sh "$@"' sh "$@"
}
