#!/bin/bash
# SPDX-License-Identifier: MIT
# check_ansible.sh: is deploy/ansible well formed, and what would it do to this machine? Only would:
# --check changes nothing. Ends with 77 (skipped) where ansible-playbook is missing.
set -euo pipefail
cd "$(dirname "$0")/../../deploy/ansible"

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

die() {
    printf '%s\n' "$*"
    exit 1
}

command -v ansible-playbook >/dev/null || skip "ansible-playbook is not installed"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
export ANSIBLE_HOME=$work/home ANSIBLE_LOCAL_TEMP=$work/tmp ANSIBLE_REMOTE_TEMP=$work/tmp
export ANSIBLE_NOCOLOR=1 ANSIBLE_RETRY_FILES_ENABLED=0 ANSIBLE_LOCALHOST_WARNING=0 LC_ALL=C.UTF-8

ansible-playbook -i inventory.example.yml agents.yml --syntax-check >"$work/out" 2>&1 || die "$(cat "$work/out")"
hosts=$(ansible-playbook -i inventory.example.yml agents.yml --list-hosts 2>&1)
[[ $hosts == *load1.example.org* && $hosts == *load2.example.org* ]] || die "the example's hosts: $hosts"

# play NAME=VALUE...: against this machine, without touching it.
play() {
    local status=0 setting settings=()
    for setting in "$@"; do
        settings+=(-e "$setting")
    done
    ansible-playbook -i 'localhost,' -c local -e hosts=localhost --check --diff \
        -e ansible_python_interpreter="$(command -v python3)" -e ansible_become=false \
        "${settings[@]}" "$work/play.yml" >"$work/out" 2>&1 || status=$?
    return "$status"
}
cat >"$work/play.yml" <<END
- hosts: localhost
  roles:
    - role: $PWD/roles/hammer_agent
END
mkdir "$work/pki"
for file in ca.crt crl.pem agent.crt agent.key; do
    echo "$file" >"$work/pki/$file"
done
: >"$work/hammer-agent.deb"
[ "$(id -u)" -eq 0 ] || skip "--check needs root (the syntax is right)"
play "hammer_package=$work/hammer-agent.deb" "hammer_pki=$work/pki" hammer_name=a1 "hammer_policy=$PWD/policy.yml" ||
    die "--check: $(cat "$work/out")"
for line in '+listen: "tls+tcp://0.0.0.0:7400"' '+name: "a1"' 'failed=0'; do
    grep -qF -- "$line" "$work/out" || die "missing: $line in $(cat "$work/out")"
done
grep -qF 'agent.key' "$work/out" || die "the key is not brought"
! grep -qxF '+agent.key' "$work/out" || die "the key is shown"
# A mistake is told before anything is done.
play hammer_package= && die "no package, and nobody says so"
grep -qF 'hammer_package is the path' "$work/out" || die "$(cat "$work/out")"
play "hammer_package=$work/hammer-agent.deb" "hammer_pki=$work/pki" hammer_listen=tcp://0.0.0.0:7400 &&
    die "certificates and plain tcp, and nobody says so"
echo "the role holds together"
