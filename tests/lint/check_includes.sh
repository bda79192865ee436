#!/bin/sh
# SPDX-License-Identifier: MIT
# The direction of includes: common <- proto <- agent | controller; agent and controller never meet;
# nng only in proto/link*; hammer-target, the judge, takes from common alone.
. "${0%/*}/files.sh"
in_tree "$1"

# shellcheck disable=SC2046
awk '
function allow(folder, others,    n, i, list) {
    n = split(others, list, " ")
    for (i = 1; i <= n; i++)
        ok[folder, list[i]] = 1
    known[folder] = others
}
function folder_of(path) {
    if (path ~ /^tests\/target\//)
        return "tests/target"
    sub(/\/.*/, "", path)
    return path
}
BEGIN {
    allow("common", "common")
    allow("proto", "common proto")
    allow("agent", "common proto agent")
    allow("controller", "common proto controller")
    allow("tests/target", "common tests/target")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    from = folder_of(FILENAME)
    split($0, part, "\"")
    to = folder_of(part[2])
    if ((from in known) && !((from, to) in ok))
        printf "%s:%d: %s includes \"%s\", but only: %s\n", FILENAME, FNR, from, part[2], known[from]
}
/^[ \t]*#[ \t]*include[ \t]*<nng\// {
    if ((folder_of(FILENAME) in known) && FILENAME !~ /^proto\/link[^\/]*$/)
        printf "%s:%d: only proto/link* includes nng\n", FILENAME, FNR
}' /dev/null $(files_named c h) | report
