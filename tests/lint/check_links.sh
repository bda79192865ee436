#!/bin/sh
# SPDX-License-Identifier: MIT
# Relative links in the documents lead to files that exist.
. "${0%/*}/files.sh"
in_tree "$1"

# FILE:LINE:TARGET for each inline link that is no address and no place in the same page.
links() {
    # shellcheck disable=SC2046
    awk '
    /^[ \t]*```/ { fenced = !fenced }
    FNR == 1 { fenced = 0 }
    !fenced {
        rest = $0
        while (match(rest, /\]\([^) ]+/)) {
            target = substr(rest, RSTART + 2, RLENGTH - 2)
            rest = substr(rest, RSTART + RLENGTH)
            sub(/#.*/, "", target)
            if (target != "" && target !~ /^[a-z]+:/)
                printf "%s:%d:%s\n", FILENAME, FNR, target
        }
    }' /dev/null $(files_named md)
}

links | while IFS=: read -r file line target; do
    case $target in
    /*) path=.$target ;;
    *) path=$(dirname "$file")/$target ;;
    esac
    [ -e "$path" ] || printf '%s:%s: the link leads nowhere: %s\n' "$file" "$line" "$target"
done | report
