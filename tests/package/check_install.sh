#!/bin/bash
# SPDX-License-Identifier: MIT
# check_install.sh PACKAGES TARGET: installs the packages of that folder in a bare system of this machine's
# own release, uses them there against hammer-target (TARGET), purges them and compares what is left with
# what was there before. Needs root, mmdebstrap and the network; ends with 77 (skipped) without them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
packages=$1
target=$2

# shellcheck source=deploy/bare-system.sh
. "$here/../../deploy/bare-system.sh"
missing=$(bare_missing)
[ -n "$missing" ] || compgen -G "$packages/*.deb" >/dev/null || missing="no packages in $packages"
if [ -n "$missing" ]; then
    echo "skipped: $missing"
    exit 77
fi
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

work=$(mktemp -d)
system=$work/system
trap 'rm -rf --one-file-system -- "$work"' EXIT
trap 'exit 130' INT TERM

bare_make "$suite" "$system"
mkdir "$system/packages"
(cd "$packages" && sha256sum --quiet -c SHA256SUMS)
cp "$packages"/hammer-{agent,ctl}_*.deb "$here/inside.sh" "$target" "$system/packages/"
bare_run "$system" /packages/inside.sh
