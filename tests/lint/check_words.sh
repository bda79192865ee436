#!/bin/sh
# SPDX-License-Identifier: MIT
# No notes to self: unfinished work is finished or filed, not marked. Every C file names its licence.
. "${0%/*}/files.sh"
in_tree "$1"

{
    # The words are put together here, or this file would find itself.
    {
        files_named c h md sh txt cmake json yml
        shell_scripts
    } | tr '\n' '\0' | xargs -0 grep -nHwE 'TO''DO|FIX''ME|X''XX|HA''CK'
    files_named c h | tr '\n' '\0' | xargs -0 awk '
        FNR == 1 && !/SPDX-License-Identifier: MIT/ {
            printf "%s:1: the SPDX line is missing\n", FILENAME
        }'
} | LC_ALL=C sort -u | report
