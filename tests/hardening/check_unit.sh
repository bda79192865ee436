#!/bin/bash
# SPDX-License-Identifier: MIT
# systemd's own view of the unit: it is valid, and its exposure is at most 1.5 of 10.
#   check_unit.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail

source=$1
build=$2
threshold=15 # tenths
command -v systemd-analyze >/dev/null || {
    echo "skipped: systemd-analyze is missing (apt-get install systemd)"
    exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The program and its manual page are where the build left them, not where a package puts them.
unit=$dir/hammer-agent.service
sed -e "s|^ExecStart=/usr/bin/|ExecStart=$build/|" -e '/^Documentation=/d' \
    "$source/deploy/systemd/hammer-agent.service" >"$unit"
verdict=$(systemd-analyze verify "$unit" 2>&1) || {
    echo "$verdict"
    exit 1
}
# What it does not understand it ignores, and says so of this file.
if [[ $verdict == *hammer-agent.service* ]]; then
    echo "$verdict"
    exit 1
fi

exposure() {
    systemd-analyze security --offline=true --no-pager --threshold="$threshold" "$1"
}
exposure "$unit" || exit 1
# And the gate is one: without the filter and the rest it does not let pass.
sed -i -E '/^(Protect|Restrict|SystemCall|Private|Capability|NoNew)/d' "$unit"
if exposure "$unit" >"$dir/plain"; then
    echo "systemd-analyze lets an open unit pass:"
    cat "$dir/plain"
    exit 1
fi

if command -v systemd-sysusers >/dev/null; then
    mkdir -p "$dir/root/etc"
    systemd-sysusers --root="$dir/root" "$source/deploy/systemd/hammer.conf"
    grep -q '^hammer:' "$dir/root/etc/group" || {
        echo "hammer.conf makes no group hammer"
        exit 1
    }
fi
