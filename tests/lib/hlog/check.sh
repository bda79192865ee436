#!/bin/bash
# SPDX-License-Identifier: MIT
# Logs of real runs in the hands of the readers that people use: hdr-histogram-js, and Java's
# HistogramLogProcessor, whose percentile distribution hammer's own equals to the byte.
#   check.sh BIN    BIN: the build folder
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd)
jar=/usr/share/java/hdrhistogram.jar

missing() {
    echo "check.sh: $1 is missing: apt-get install $2" >&2
    exit 1
}
command -v node >/dev/null || missing node nodejs
command -v npm >/dev/null || missing npm npm
command -v java >/dev/null || missing java default-jre-headless
[ -r $jar ] || missing $jar libhdrhistogram-java

modules=$bin/tests/hlog
mkdir -p "$modules"
if ! cmp -s "$here/package-lock.json" "$modules/package-lock.json" ||
    ! [ -d "$modules/node_modules/hdr-histogram-js" ]; then
    cp "$here/package.json" "$modules/"
    (cd "$modules" && cp "$here/package-lock.json" . &&
        npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-timeout=20000) >&2
fi
export HDR_JS=$modules/node_modules/hdr-histogram-js/dist/index.js

work=$(mktemp -d)
"$bin/hammer-target" --listen 127.0.0.1:0 --port-file "$work/port" --freeze-at 1500ms \
    --freeze-for 400ms --slow '2%:30ms' 2>"$work/target.log" &
target=$!
trap 'kill $target 2>/dev/null; wait $target 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 200); do
    [ -s "$work/port" ] && break
    sleep 0.05
done

# run NAME FLAGS...: a run with its log, distributions and report; a busy machine may be the limit.
run() {
    local name=$work/$1 code=0
    shift
    "$bin/hammer-ctl" run -q --local 2 "$@" -o "$name.hlog" -o "$name.json" -o "$name.hgrm" \
        -o "hgrm-uncorrected:$name.u.hgrm" "http://$(cat "$work/port")/" >/dev/null || code=$?
    if [ $code -ne 0 ] && [ $code -ne 4 ]; then
        echo "check.sh: hammer-ctl $*: exit code $code" >&2
        exit 1
    fi
    node "$here/verify-hlog.mjs" compare "$name.hlog" "$name.json"
}

# by_java NAME HGRM FLAGS...: what Java makes of the log; its first line is the log's start.
by_java() {
    local name=$work/$1 hgrm=$work/$2
    shift 2
    java -cp $jar org.HdrHistogram.HistogramLogProcessor -i "$name.hlog" "$@" | tail -n +2 |
        diff -u - "$hgrm"
}

run open -r 700 -d 3s -c 16
by_java open open.hgrm
by_java open open.u.hgrm -tag uncorrected
run closed -n 3000 -c 8
by_java closed closed.hgrm
run stages --stages 1s@100,1s@100..900 -c 16 --interval 250ms
by_java stages stages.hgrm

# A log that is not right is found.
sed 's/^\(0.000,[0-9.]*\),[0-9.]*,/\1,9.999,/' "$work/open.hlog" >"$work/bad.hlog"
if node "$here/verify-hlog.mjs" hlog "$work/bad.hlog" >/dev/null 2>&1; then
    echo "check.sh: a wrong maximum was not found" >&2
    exit 1
fi
node "$here/verify-hlog.mjs" hlog "$work/open.hlog"
