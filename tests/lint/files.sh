# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Sourced by the checks. Each is called with the source tree to look at, prints what is wrong as
# FILE:LINE: TEXT and ends with 1 if there was anything, with 77 (skipped) if it could not look.

# in_tree ROOT: goes there; file names in messages are relative to it.
in_tree() {
    cd "${1:?the source tree}" || exit 2
}

# The files of the tree whose names end so, e.g. files_named c h; without the build folders.
files_named() {
    for ending in "$@"; do
        find . \( -name .git -o -path './build' -o -path './build-*' \) -prune -o \
            -type f -name "*.$ending" -print
    done | sed 's|^\./||' | LC_ALL=C sort
}

# Every script, whatever its name: what begins with a shell's name, and what is sourced.
shell_scripts() {
    find . \( -name .git -o -path './build' -o -path './build-*' -o -name corpus \) -prune -o \
        -type f -size -256k -print | sed 's|^\./||' | LC_ALL=C sort | while IFS= read -r file; do
        case $(head -c 64 "$file" | head -n 1 | tr -d '\000') in
        '#!/bin/sh' | '#!/bin/bash' | '#!/usr/bin/env bash' | '# shellcheck shell='*)
            printf '%s\n' "$file"
            ;;
        esac
    done
}

# Shows standard input; 1 if there was any. The last command of a check.
report() {
    found=$(cat)
    [ -z "$found" ] && return 0
    printf '%s\n' "$found"
    return 1
}
