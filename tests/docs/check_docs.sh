#!/bin/bash
# SPDX-License-Identifier: MIT
# check_docs.sh man|bash|zsh|fish BUILD: are the manual pages, or that shell's completions, free of errors,
# and do they name exactly the options that --help names, for each program and each of its commands?
# Ends with 77 (skipped) where the tool that would read them is missing.
# The functions named after KIND are called by a name put together.
# shellcheck disable=SC2317
set -euo pipefail

kind=$1
build=$2
man=$build/docs/man
completions=$build/docs/completions
failed=0

fail() {
    printf '%s\n' "$*"
    failed=1
}

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

# What PROGRAM can be told to do, a line each: "run", "pki init", of a help page's list of commands.
listed_commands() {
    "$build/hammer-ctl" help "$@" | awk '/^$/ { part++ } part == 2 && /^  [a-z]/ { print $1 }'
}

commands_of() {
    local command word help
    if [ "$1" = hammer-agent ]; then
        echo selftest
        return
    fi
    for command in $(listed_commands | grep -vxE 'version|help'); do
        help=$("$build/hammer-ctl" "$command" --help)
        if [[ $help == *$'\n  -'* ]]; then
            echo "$command"
            # Takes what run takes; the manual says that and no more.
            [ "$command" != agents ] || [ "$kind" = man ] || echo "agents check"
            [ "$command" != runs ] || printf 'runs %s\n' show note rm
            continue
        fi
        for word in $(listed_commands "$command"); do
            echo "$command $word"
        done
    done
}

# --- what each source names: options_KIND PROGRAM [COMMAND [WORD]], a line each -----------------------

options_help() {
    # hammer-ctl's own two have no table.
    if [ "$*" = hammer-ctl ]; then
        printf '%s\n' -h --help --version
        return
    fi
    [ "$*" != "hammer-ctl agents check" ] || set -- hammer-ctl run
    "$build/$1" "${@:2}" --help | sed -n 's/^  \(-.*\)/\1/p' | sed 's/  .*//' | tr -s ', ' '\n' | grep '^-'
}

options_man() {
    local page section part
    page=$(echo "$man/$1".[1-8])
    case $* in
    hammer-ctl) section='OPTIONS IN PLACE OF A COMMAND' ;;
    hammer-agent) section=OPTIONS ;;
    'hammer-agent selftest') section='OPTIONS OF SELFTEST' ;;
    *) section=$2 ;;
    esac
    # The heading is the section's name, or begins with the command's. In it a line "pki init: ..."
    # begins the part of one word.
    part=${3+$2 $3}
    [ "$*" != "hammer-ctl runs" ] || part='runs [flags]'
    awk -v section="$section" -v part="$part" '
        /^\.S[HS] / {
            title = substr($0, 5)
            gsub(/"/, "", title)
            inside = title == section || (/^\.SS / && index(title, section " ") == 1)
        }
        part != "" && /^\\fI/ { named = index($0, part) == 4 }
        inside && (part == "" || named) && /^\\fB-/' "$page" |
        sed 's/\\f[BIR]//g; s/\\//g' | tr -s ', ' '\n' | grep '^-'
}

options_bash() (
    # shellcheck disable=SC1090
    source "$completions/$1"
    COMP_WORDS=("$@" -)
    # Read by the function that was sourced.
    # shellcheck disable=SC2034
    COMP_CWORD=$#
    COMPREPLY=()
    "_$1"
    printf '%s\n' "${COMPREPLY[@]}"
)

# _arguments is replaced: it needs a line being edited, and is only to say what it was given.
options_zsh() {
    # shellcheck disable=SC2016
    zsh -f -c '
        file=$1
        shift
        _arguments() {
            local spec
            for spec in "$@"; do
                [[ $spec == (\(*\)|\*)-* ]] || continue
                spec=${spec#\*}
                spec=${spec#\(*\)}
                print -r -- ${${spec%%\[*}%[+=]}
            done
        }
        _describe() { }
        words=("$@" -)
        CURRENT=$#words
        source $file' zsh "$completions/_$1" "$@"
}

options_fish() {
    # shellcheck disable=SC2016
    fish --no-config -c 'source $argv[1]; complete -C "$argv[2] -"' \
        "$completions/$1.fish" "$*" | cut -f 1 | grep '^-'
}

# --- are they well formed? -----------------------------------------------------------------------

render_man() {
    local page complaint
    for page in "$man"/*.[1-8]; do
        if [ -n "$render_mandoc" ]; then
            complaint=$(mandoc -T lint -W warning "$page" 2>&1) || true
        else
            complaint=$(groff -man -K utf8 -T utf8 -ww -z "$page" 2>&1)
        fi
        [ -z "$complaint" ] || fail "$page: $complaint"
    done
}

check_man() {
    local page
    [ -d "$man" ] || skip "no manual pages: scdoc was not there when they would have been built"
    render_mandoc=
    if ! command -v groff >/dev/null; then
        render_mandoc=$(command -v mandoc) || skip "neither groff nor mandoc is installed"
    fi
    for page in hammer-ctl.1 hammer-agent.8 hammer-plan.5 hammer-policy.5; do
        [ -s "$man/$page" ] || fail "$man/$page is missing"
    done
    render_man
}

# syntax SHELL FILE...
syntax() {
    local file
    for file in "${@:2}"; do
        "$1" -n "$file" || fail "$1 -n $file"
    done
}

check_bash() {
    syntax bash "$completions/hammer-ctl" "$completions/hammer-agent"
}

check_zsh() {
    command -v zsh >/dev/null || skip "zsh is not installed"
    syntax zsh "$completions/_hammer-ctl" "$completions/_hammer-agent"
}

check_fish() {
    command -v fish >/dev/null || skip "fish is not installed"
    syntax fish "$completions/hammer-ctl.fish" "$completions/hammer-agent.fish"
}

# compare PROGRAM [COMMAND]
compare() {
    local expected got
    expected=$(options_help "$@" | sort -u)
    got=$("options_$kind" "$@" | sort -u) || true
    [ "$(wc -l <<<"$expected")" -ge 3 ] || fail "$*: --help names no options"
    [ "$expected" = "$got" ] ||
        fail "$*: --help (<) and $kind (>) differ:" $'\n'"$(diff <(echo "$expected") <(echo "$got"))"
    compared=$((compared + 1))
}

# Every term of the plan page is a flag of run, and the variable goes by the same name.
compare_plan() {
    local title flag variable
    while read -r title flag variable; do
        [ "--$title" = "$flag" ] || fail "hammer-plan(5): $title has the flag $flag"
        [ "HAMMER_$(tr 'a-z-' 'A-Z_' <<<"$title")" = "$variable" ] ||
            fail "hammer-plan(5): $title has the variable $variable"
        grep -qx -- "$flag" <<<"$run_options" || fail "hammer-plan(5): run has no $flag"
        terms=$((terms + 1))
    done < <(awk '/^\.SS / { title = $2 }
        /^\\fB-/ {
            gsub(/\\f[BIR]|\\/, "")
            match($0, "--" title)
            print title, substr($0, RSTART, RLENGTH), $NF
        }' "$man/hammer-plan.5")
    [ "$terms" -ge 10 ] || fail "hammer-plan(5) has only $terms terms"
}

"check_$kind"
compared=0
for program in hammer-ctl hammer-agent; do
    compare "$program"
    while read -r command word; do
        compare "$program" "$command" ${word:+"$word"}
    done < <(commands_of "$program")
done
if [ "$kind" = man ]; then
    terms=0
    run_options=$(options_help hammer-ctl run)
    compare_plan
fi
echo "$kind: compared $compared commands with --help"
exit "$failed"
