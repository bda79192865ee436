#!/bin/bash
# SPDX-License-Identifier: MIT
# The checks themselves: each accepts a small clean tree and reports the one thing broken in a copy.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
failed=0

clean_tree() {
    rm -rf -- "$work/tree"
    mkdir -p "$work"/tree/{common,proto,agent,controller,docs}
    cp "$here/../../.clang-format" "$work/tree/"
    cd "$work/tree"
    printf '/* SPDX-License-Identifier: MIT */\nint a(void);\n' >common/a.h
    printf '/* SPDX-License-Identifier: MIT */\n#include "common/a.h"\n' >agent/b.c
    printf '#!/bin/sh\nexit 0\n' >run
    printf '[a](../common/a.h) [web](https://example.org/)\n' >docs/a.md
}

# expect CHECK TEXT: the check must fail and print the text; without a text it must pass.
expect() {
    local output status=0
    output=$("$here/check_$1.sh" "$work/tree" 2>&1) || status=$?
    [ "$status" -ne 77 ] || return 0
    if [ -z "${2-}" ] && [ "$status" -ne 0 ]; then
        echo "check_$1.sh fails on a clean tree: $output"
        failed=1
    elif [ -n "${2-}" ] && { [ "$status" -eq 0 ] || [[ $output != *"$2"* ]]; }; then
        echo "check_$1.sh: expected '$2', status $status, got: $output"
        failed=1
    fi
}

# breaks CHECK TEXT FILE LINE...: appends the lines to a clean tree's file.
breaks() {
    local check=$1 text=$2 file=$3
    shift 3
    clean_tree
    printf '%s\n' "$@" >>"$file"
    expect "$check" "$text"
}

clean_tree
for check in includes sizes words format shell links; do
    expect "$check"
done

breaks includes 'agent/b.c:3:' agent/b.c '#include "controller/x.h"'
breaks includes 'controller/b.c:1:' controller/b.c '#include "agent/x.h"'
breaks includes 'common/a.h:3:' common/a.h '#include "proto/x.h"'
breaks includes 'proto/b.c:1:' proto/b.c '#include <nng/nng.h>'
breaks includes '' proto/link_io.c '#include <nng/nng.h>'
mapfile -t lines < <(yes '    a();' | head -n 61)
breaks sizes 'agent/b.c:4: a function body of 61' agent/b.c 'int f(void)' '{' "${lines[@]}" '}'
breaks sizes '' agent/b.c 'int f(void)' '{' "${lines[@]:1}" '}'
mapfile -t lines < <(yes 'int a(void);' | head -n 600)
breaks sizes 'common/a.h:601:' common/a.h "${lines[@]}"
breaks words 'docs/a.md:2:' docs/a.md 'a TO''DO here'
breaks words 'run:3:' run '# FIX''ME'
breaks words 'common/c.h:1: the SPDX' common/c.h 'int c(void);'
breaks format 'common/a.h:3:' common/a.h 'int   c(void);'
breaks shell 'run:' run 'if true; then'
breaks links 'docs/a.md:2: the link leads nowhere: gone.md' docs/a.md '[gone](gone.md#x)'
# shellcheck disable=SC2016
breaks links 'docs/a.md:2: there is no common/b' docs/a.md 'see `common/b` and `common/*.h`'
# shellcheck disable=SC2016
breaks links '' docs/a.md 'see `common/a`, `common/*.h` and `common`'
exit "$failed"
