#!/bin/sh
# SPDX-License-Identifier: MIT
# No function body over 60 lines, no file over 600. The format puts the braces of a function, and of
# nothing else, alone into the first column.
. "${0%/*}/files.sh"
in_tree "$1"

# shellcheck disable=SC2046
awk -v function_max=60 -v file_max=600 '
FNR == 1 { begin = 0 }
/^[{]$/ { begin = FNR }
/^[}]$/ && begin {
    if (FNR - begin - 1 > function_max)
        printf "%s:%d: a function body of %d lines, at most %d\n", FILENAME, begin,
            FNR - begin - 1, function_max
    begin = 0
}
FNR == file_max + 1 { printf "%s:%d: more than %d lines\n", FILENAME, FNR, file_max }
' /dev/null $(files_named c h) | report
