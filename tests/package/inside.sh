#!/bin/sh
# SPDX-License-Identifier: MIT
# Run by check_install.sh inside the bare system, as root, with /packages holding the packages and
# hammer-target. Installs, uses, purges, compares.
set -eu
cd /packages

say() {
    printf '== %s\n' "$*"
}

die() {
    printf 'inside: %s\n' "$*" >&2
    exit 1
}

# Every name on the system but for what dpkg, apt and the test write for themselves.
names() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /packages -o -path /tmp \
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) \
        -prune -o -print | LC_ALL=C sort
}

# What the purge may leave: sysusers.d's groups stay, and editing /etc/group makes backups of it.
left_over() {
    LC_ALL=C comm -13 /tmp/before /tmp/after | grep -vxE '/etc/(group|gshadow|passwd|shadow)-|/etc/\.pwd\.lock'
}

# until_there FILE: at most 10 s.
until_there() {
    waited=0
    until [ -e "$1" ]; do
        waited=$((waited + 1))
        [ "$waited" -le 100 ] || die "$1 does not appear"
        sleep 0.1
    done
}

# run_load AS_USER ARGUMENT...: 200 requests, each of which must have arrived.
run_load() {
    user=$1
    shift
    status=0
    setpriv --reuid="$user" --regid="$user" --clear-groups env HOME=/nonexistent \
        hammer-ctl run "$@" -r 200 -d 1 -c 4 "$url" >/tmp/report 2>/tmp/errors || status=$?
    # 4 is the verdict generator-limited: the machine was busy, the counts hold all the same.
    if [ "$status" -ne 0 ] && [ "$status" -ne 4 ]; then
        cat /tmp/report /tmp/errors
        die "hammer-ctl run ended with $status"
    fi
    grep -q 'scheduled 200 = sent 200 + unsent 0' /tmp/report || {
        cat /tmp/report
        die "200 requests were due"
    }
}

say "installing what the packages depend on"
apt-get -q update >/tmp/log 2>&1 || { cat /tmp/log && die "apt-get update"; }
depends=$(for deb in hammer-*.deb; do dpkg-deb -f "$deb" Depends; done | paste -s -d ,)
DEBIAN_FRONTEND=noninteractive apt-get -q satisfy -y --no-install-recommends "$depends" \
    >/tmp/log 2>&1 || { cat /tmp/log && die "apt-get satisfy $depends"; }

names >/tmp/before
cp /etc/passwd /tmp/passwd
cp /etc/group /tmp/group

say "installing the packages"
dpkg -i hammer-agent_*.deb hammer-ctl_*.deb
differing=$(dpkg --verify hammer-agent hammer-ctl)
[ -z "$differing" ] || die "dpkg --verify: $differing"
getent group hammer >/dev/null || die "there is no group hammer"
diff /tmp/passwd /etc/passwd || die "a user was made"

version=$(dpkg-deb -f hammer-ctl_*.deb Version)
[ "$(hammer-agent --version)" = "hammer-agent $version" ] || die "hammer-agent --version"
[ "$(hammer-ctl version)" = "hammer-ctl $version" ] || die "hammer-ctl version"
for page in man1/hammer-ctl.1 man5/hammer-plan.5 man5/hammer-policy.5 man8/hammer-agent.8; do
    zcat "/usr/share/man/$page.gz" | grep -q '^\.TH' || die "no manual page $page"
done

hammer-agent --check-config >/tmp/config || die "hammer-agent --check-config"
grep -q 'ipc:///run/hammer/agent.sock' /tmp/config || die "it would listen on: $(cat /tmp/config)"
grep -q 'loopback.*/etc/hammer/policy.yml' /tmp/config || die "its policy: $(cat /tmp/config)"
hammer-agent selftest --seconds 1 >/tmp/selftest || die "hammer-agent selftest"

say "running a load with a local agent, as nobody"
./hammer-target --listen 127.0.0.1:0 --port-file /tmp/target --lifetime 2m 2>/tmp/target.log &
target=$!
until_there /tmp/target
url=http://$(cat /tmp/target)/
run_load 65534

say "running a load with the agent as the unit starts it"
unit=$(dpkg -L hammer-agent | grep '/hammer-agent\.service$')
mkdir /run/hammer
start=$(sed -n 's/^ExecStart=//p' "$unit")
# shellcheck disable=SC2086
$start 2>/tmp/agent.log &
agent=$!
until_there /run/hammer/agent.sock
run_load 0 --agents ipc:///run/hammer/agent.sock
kill "$agent"
wait "$agent" || die "hammer-agent ended with $?: $(cat /tmp/agent.log)"
kill "$target"
wait "$target" || die "hammer-target ended with $?: $(cat /tmp/target.log)"
rm -rf /run/hammer # systemd removes it with the unit
# What systemd would have made for the unit; the self-test has made /var/lib/hammer.
mkdir -p /etc/hammer/pki /var/lib/private/hammer
[ -f /var/lib/hammer/selftest.json ] || die "the self-test stored nothing"

say "purging"
dpkg --purge hammer-ctl hammer-agent
names >/tmp/after
left=$(left_over) || true
[ -z "$left" ] || die "left behind:
$left"
gone=$(LC_ALL=C comm -23 /tmp/before /tmp/after)
[ -z "$gone" ] || die "removed although not its own:
$gone"
diff /tmp/passwd /etc/passwd || die "/etc/passwd differs"
[ "$(diff /tmp/group /etc/group | grep -c '^[<>]')" -le 1 ] || die "/etc/group differs in more than hammer"
say "installed, used and purged; nothing is left but the group"
