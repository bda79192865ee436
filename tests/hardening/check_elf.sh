#!/bin/bash
# SPDX-License-Identifier: MIT
# Position independent, relocations read-only and bound at the start, stack protector, fortified libc
# calls, no executable stack: read out of the programs as they were built.
#   check_elf.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail

build=$2
command -v readelf >/dev/null || {
    echo "skipped: readelf is missing (apt-get install binutils)"
    exit 77
}

bad=0
# expect PROGRAM WHAT PATTERN READELF_OPTION
expect() {
    # The whole output is read: grep -q would end readelf early.
    if [ "$(readelf -W "$4" "$build/$1" | grep -cE "$3")" -eq 0 ]; then
        echo "$build/$1: no $2 (readelf $4 shows no '$3')"
        bad=1
    fi
}

for program in hammer-agent hammer-ctl; do
    expect "$program" 'position independent code' 'Type: +DYN ' -h
    expect "$program" 'position independent executable' '\(FLAGS_1\).*PIE' -d
    expect "$program" 'read-only relocations' '^ +GNU_RELRO' -l
    expect "$program" 'binding at the start' '\(FLAGS(_1)?\).*NOW' -d
    expect "$program" 'stack without execution' '^ +GNU_STACK .* RW +0x' -l
    expect "$program" 'stack protector' ' __stack_chk_fail(@|$)' --dyn-syms
    expect "$program" 'fortified libc call' ' __[a-z]+_chk(@|$)' --dyn-syms
    if [ "$(readelf -Wl "$build/$program" | grep -cE '^ +LOAD .* RWE ')" -ne 0 ]; then
        echo "$build/$program: a segment is writable and executable"
        bad=1
    fi
done
exit "$bad"
