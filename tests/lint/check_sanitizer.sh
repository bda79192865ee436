#!/bin/bash
# SPDX-License-Identifier: MIT
# check_sanitizer.sh KIND BUILD_FOLDER: is that build really sanitized? Every program and test in it
# must be linked with the sanitizer, and a deliberate bug must be reported and end the process.
set -euo pipefail

kind=$1
build=$2
case $kind in
address) symbol=__asan_init report='AddressSanitizer: heap-buffer-overflow' ;;
undefined) symbol=__ubsan_handle report='runtime error: signed integer overflow' ;;
thread) symbol=__tsan_init report='ThreadSanitizer: data race' ;;
*)
    echo "check_sanitizer.sh: '$kind': accepted is address, undefined or thread" >&2
    exit 2
    ;;
esac

failed=0
programs=0
for program in "$build"/hammer-agent "$build"/hammer-ctl "$build"/hammer-target "$build"/tests/*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then
        continue
    fi
    programs=$((programs + 1))
    # No pipe: nm must not see it closed early.
    symbols=$(nm "$program")
    # A program too small to hold anything to check has no undefined-behaviour handlers.
    if [ "$kind" != undefined ] && [[ $symbols != *$symbol* ]]; then
        echo "$program: $symbol is missing: not built with the $kind sanitizer"
        failed=1
    fi
done
if [ "$programs" -lt 4 ]; then
    echo "$build: only $programs programs found"
    failed=1
fi

if output=$("$build/tests/sanitizer_canary" "$kind" 2>&1); then
    echo "$build/tests/sanitizer_canary: the $kind sanitizer let a deliberate bug pass"
    failed=1
elif [[ $output != *"$report"* ]]; then
    echo "$build/tests/sanitizer_canary: the report '$report' is missing from: $output"
    failed=1
fi
[ "$failed" -eq 0 ] && echo "$programs programs in $build carry the $kind sanitizer, and it bites"
exit "$failed"
