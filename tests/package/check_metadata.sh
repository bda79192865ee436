#!/bin/bash
# SPDX-License-Identifier: MIT
# check_metadata.sh TREE: do the packaging files agree with the rest of the tree? The version is the same
# in CMakeLists.txt, deploy/debian/changelog and CHANGELOG.md; what is needed to build is the same in
# deploy/deps and deploy/debian/control.
set -euo pipefail
cd "$1"
failed=0

fail() {
    printf '%s\n' "$*"
    failed=1
}

version=$(sed -n 's/^project(hammer VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || fail "CMakeLists.txt: no version"
packaged=$(sed -n '1s/^hammer (\([^)]*\)).*/\1/p' deploy/debian/changelog)
[ "$packaged" = "$version" ] ||
    fail "deploy/debian/changelog:1: version $packaged, CMakeLists.txt has $version"
newest=$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)
[ "$newest" = Unreleased ] || [[ $newest == "$version"* ]] ||
    fail "CHANGELOG.md: the newest is '$newest', accepted is Unreleased or $version"

# The compiler comes with every Debian build; check is for the tests.
control=$(awk '/^Build-Depends:/ { on = 1; sub(/.*:/, "") } /^[^ ]/ && !/^Build-Depends/ { if (on) exit }
    on' deploy/debian/control | tr ',|' '\n' | sed 's/(.*//' | tr -d ' ' | sed '/^$/d' | sort -u)
for list in deploy/deps/debian-*-build.txt; do
    while read -r package; do
        grep -qx -- "$package" <<<"$control" ||
            fail "$list: $package is missing from Build-Depends in deploy/debian/control"
    done < <(sed 's/#.*//' "$list" | tr -d ' ' | grep -vxE '|gcc|libc6-dev|check')
done
listed=$(cat deploy/deps/debian-*-{build,package}.txt | sed 's/#.*//' | tr -d ' ')
while read -r package; do
    grep -qx -- "$package" <<<"$listed" ||
        fail "deploy/debian/control: $package is in no list of deploy/deps"
done < <(grep -vxE 'debhelper-compat|dh-sequence-.*' <<<"$control")
exit "$failed"
