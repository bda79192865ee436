#!/bin/bash
# SPDX-License-Identifier: MIT
# check_report.sh MAKE_PAGES FOLDER: HTML reports of all kinds of runs, in a headless Chromium. The
# pictures it takes stay in the folder, for the eye.
set -euo pipefail

make_pages=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "skipped: there is no chromium"
    exit 77
}
command -v node >/dev/null || {
    echo "skipped: there is no node"
    exit 77
}

mkdir -p "$folder"
"$make_pages" "$folder"
exec node "$here/check_report.mjs" "$chromium" "$folder"
