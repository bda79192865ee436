#!/bin/bash
# SPDX-License-Identifier: MIT
# check_kubernetes.sh BUILD [schema]: do the manifests in deploy/kubernetes hold together? kubectl builds
# them (no cluster is asked), kubernetes.py looks at what comes out, and hammer itself reads the policy,
# the list of agents and the command lines in them. With `schema` each object is held against Kubernetes'
# own schema instead (npm: kubernetes-models). Ends with 77 (skipped) where the tools are missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
cd "$here/../../deploy/kubernetes"

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

die() {
    printf '%s\n' "$*"
    exit 1
}

command -v kubectl >/dev/null || skip "kubectl is not installed"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
for part in agents run; do
    kubectl kustomize "$part" >"$work/$part.yaml" || die "kubectl kustomize $part"
done

if [ "${2-}" = schema ]; then
    command -v npm >/dev/null || skip "npm is not installed"
    modules=$build/tests/npm
    mkdir -p "$modules"
    [ -d "$modules/node_modules/kubernetes-models" ] ||
        npm install --silent --no-audit --no-fund --prefix "$modules" kubernetes-models@5 js-yaml@4 \
            >"$work/npm.log" 2>&1 || skip "npm could not install kubernetes-models: $(tail -n 1 "$work/npm.log")"
    node "$here/kubernetes_schema.mjs" "$modules/node_modules" "$work/agents.yaml" "$work/run.yaml"
    exit
fi

python3 -c 'import yaml' 2>/dev/null || skip "python3-yaml is not installed"
python3 "$here/kubernetes.py" . "$work" || exit 1

# The agent takes its arguments, and the policy.
mapfile -t arguments <"$work/agent.args"
sed 's/#.*//' agents/policy.yml >"$work/policy.yml"
"$build/hammer-agent" "${arguments[@]}" --listen ipc:///run/x --policy "$work/policy.yml" \
    --check-config >"$work/checked" 2>&1 || die "hammer-agent: $(cat "$work/checked")"
grep -q 'targets \*\.svc\.cluster\.local' "$work/checked" || die "the policy reads: $(cat "$work/checked")"
# hammer-ctl takes its arguments (--help is the last of them) and the list.
mapfile -t arguments <"$work/ctl.args"
"$build/hammer-ctl" "${arguments[@]}" --help >/dev/null 2>"$work/said" || die "hammer-ctl: $(cat "$work/said")"
status=0
"$build/hammer-ctl" agents --inventory run/agents.yml --tls-ca /nowhere 2>"$work/said" || status=$?
# It has read the list when it misses the certificate.
[[ $status = 2 && $(cat "$work/said") == *'/nowhere: no such file'* ]] || die "agents.yml: $(cat "$work/said")"
echo "the manifests hold together"
