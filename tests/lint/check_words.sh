#!/bin/sh
# SPDX-License-Identifier: MIT
# No notes to self: unfinished work is finished or filed, not marked. Every C file names its licence.
. "${0%/*}/files.sh"
in_tree "$1"

{
    # The words are put together here, or this file would find itself.
    files_named c h md sh txt cmake json yml | while IFS= read -r file; do
        grep -nHwE 'TO''DO|FIX''ME|X''XX|HA''CK' "$file"
    done
    shell_scripts | while IFS= read -r file; do
        grep -nHwE 'TO''DO|FIX''ME|X''XX|HA''CK' "$file"
    done
    files_named c h | while IFS= read -r file; do
        head -n 1 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
            printf '%s:1: the SPDX line is missing\n' "$file"
    done
} | LC_ALL=C sort -u | report
