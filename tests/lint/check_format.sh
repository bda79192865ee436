#!/bin/sh
# SPDX-License-Identifier: MIT
# The C files are as clang-format 14 leaves them; another major version formats differently.
. "${0%/*}/files.sh"
in_tree "$1"

major=14
for tool in "clang-format-$major" clang-format; do
    "$tool" --version 2>/dev/null | grep -q "version $major\." && break
    tool=
done
if [ -z "$tool" ]; then
    echo "skipped: clang-format $major is not installed"
    exit 77
fi
# shellcheck disable=SC2046
"$tool" --dry-run $(files_named c h) 2>&1 | sed -n 's/warning: code should be/should be/p' | report
