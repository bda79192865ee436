#!/bin/sh
# SPDX-License-Identifier: MIT
# Relative links in the documents lead to files that exist, and so do the paths they name: `common/hist`
# stands for common/hist.c or .h, and `proto/link*.c` for whatever fits.
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

# FILE:LINE:PATH for each `path` of this tree.
paths() {
    # shellcheck disable=SC2046
    awk '
    {
        n = split($0, part, "`")
        for (i = 2; i < n; i += 2)
            if (part[i] ~ /^(common|proto|agent|controller|tests|deploy|docs)\/[A-Za-z0-9_.\/*-]+$/)
                printf "%s:%d:%s\n", FILENAME, FNR, part[i]
    }' /dev/null $(files_named md)
}

# exists PATTERN: unquoted on purpose.
exists() {
    for candidate in $1 $1.c $1.h; do
        [ ! -e "$candidate" ] || return 0
    done
    return 1
}

missing_links() {
    links | while IFS=: read -r file line target; do
        case $target in
        /*) path=.$target ;;
        *) path=$(dirname "$file")/$target ;;
        esac
        [ -e "$path" ] || printf '%s:%s: the link leads nowhere: %s\n' "$file" "$line" "$target"
    done
}

missing_paths() {
    paths | while IFS=: read -r file line path; do
        exists "$path" || printf '%s:%s: there is no %s\n' "$file" "$line" "$path"
    done
}

{
    missing_links
    missing_paths
} | report
