#!/bin/bash
# SPDX-License-Identifier: MIT
# Every shell script parses in its own shell and passes shellcheck, where that is installed.
. "${0%/*}/files.sh"
in_tree "$1"

check_one() {
    local file=$1 shell='bash'
    grep -qE -m 1 '^#!/bin/sh|^# shellcheck shell=sh' < <(head -n 1 "$file") && shell='sh'
    "$shell" -n "$file" 2>&1
    if command -v shellcheck >/dev/null; then
        # Sourced files are checked by themselves; the note that they were not followed says nothing.
        shellcheck --format=gcc --exclude=SC1090,SC1091 "$file"
    fi
}

command -v shellcheck >/dev/null || echo "shellcheck is not installed: syntax only" >&2
shell_scripts | while IFS= read -r file; do
    check_one "$file"
done | report
