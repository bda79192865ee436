# SPDX-License-Identifier: MIT
"""kubernetes.py MANIFESTS BUILT: what check_kubernetes.sh wants to know of the files in MANIFESTS, and of
agents.yaml and run.yaml in BUILT, which kubectl made of them. Writes the arguments of both programs to
BUILT/agent.args and BUILT/ctl.args, one a line."""
import glob
import os
import sys

import yaml

manifests, built = sys.argv[1:]
problems = []


def expect(ok, text):
    if not ok:
        problems.append(text)


def listed(part):
    """The kustomization names each file that is there, and no other."""
    with open(os.path.join(manifests, part, "kustomization.yaml")) as f:
        k = yaml.safe_load(f)
    named = {"kustomization.yaml", *k["resources"]}
    for generator in k["configMapGenerator"]:
        named |= set(generator["files"])
    there = {os.path.basename(p) for p in glob.glob(os.path.join(manifests, part, "*"))}
    expect(named == there, f"{part}: listed {sorted(named)}, there {sorted(there)}")


def objects(part):
    with open(os.path.join(built, part + ".yaml")) as f:
        found = list(yaml.safe_load_all(f))
    for o in found:
        place = o["metadata"]["name"] if o["kind"] == "Namespace" else o["metadata"].get("namespace")
        expect(place == "hammer", f"{o['kind']} {o['metadata']['name']}: not in the namespace hammer")
    return {(o["kind"], o["metadata"]["name"].rsplit("-", 1)[0] if o["kind"] == "ConfigMap" else
             o["metadata"]["name"]): o for o in found}


def restricted(pod, what):
    """Kubernetes' Pod Security Standard "restricted", and a read-only system."""
    c = pod["securityContext"]
    expect(c.get("runAsNonRoot") is True and c.get("runAsUser") == 10001, f"{what}: root")
    expect(c["seccompProfile"]["type"] == "RuntimeDefault", f"{what}: seccomp")
    expect(pod["automountServiceAccountToken"] is False, f"{what}: has an account's token")
    expect(pod["enableServiceLinks"] is False, f"{what}: gets HAMMER_* variables of services")
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        expect(not pod.get(key), f"{what}: {key}")
    kinds = {k for v in pod["volumes"] for k in v if k != "name"}
    expect(kinds <= {"secret", "configMap", "emptyDir"}, f"{what}: volumes {kinds}")
    for container in pod["containers"]:
        s = container["securityContext"]
        expect(s.get("allowPrivilegeEscalation") is False, f"{what}: privilege escalation")
        expect(s.get("readOnlyRootFilesystem") is True, f"{what}: its system can be written to")
        expect(s["capabilities"] == {"drop": ["ALL"]}, f"{what}: capabilities {s['capabilities']}")
        r = container["resources"]
        expect({"cpu", "memory"} <= set(r["limits"]) and r["requests"], f"{what}: resources")
        image = container["image"]
        expect("/" not in image and image.endswith(":0.1.0"), f"{what}: image {image}")


def mounted(pod, what):
    volumes = {v["name"] for v in pod["volumes"]}
    used = {m["name"] for c in pod["containers"] for m in c["volumeMounts"]}
    expect(volumes == used, f"{what}: volumes {volumes}, mounted {used}")


def selects(selector, labels):
    return all(labels.get(k) == v for k, v in selector.items())


for name in ("agents", "run"):
    listed(name)
agents, run = objects("agents"), objects("run")
expect(set(agents) == {("Namespace", "hammer"), ("Service", "hammer-agents"), ("StatefulSet", "hammer-agent"),
                       ("ConfigMap", "hammer-policy"), ("NetworkPolicy", "hammer-agent"),
                       ("NetworkPolicy", "hammer-ctl")}, f"agents: {sorted(agents)}")
expect(set(run) == {("Job", "hammer-run"), ("ConfigMap", "hammer-inventory")}, f"run: {sorted(run)}")
labels = agents["Namespace", "hammer"]["metadata"]["labels"]
expect(labels["pod-security.kubernetes.io/enforce"] == "restricted", "the namespace is not restricted")

stateful = agents["StatefulSet", "hammer-agent"]["spec"]
agent, ctl = stateful["template"], run["Job", "hammer-run"]["spec"]["template"]
agent_labels, ctl_labels = agent["metadata"]["labels"], ctl["metadata"]["labels"]
for what, template in (("agent", agent), ("controller", ctl)):
    restricted(template["spec"], what)
    mounted(template["spec"], what)
expect(run["Job", "hammer-run"]["spec"]["backoffLimit"] == 0, "a failed run is repeated")
expect(stateful["serviceName"] == "hammer-agents", "the agents have no names")
expect(selects(stateful["selector"]["matchLabels"], agent_labels), "the StatefulSet misses its pods")
expect(selects(agents["Service", "hammer-agents"]["spec"]["selector"], agent_labels), "the Service misses them")
spread = agent["spec"]["topologySpreadConstraints"][0]
expect(spread["topologyKey"] == "kubernetes.io/hostname" and spread["maxSkew"] == 1 and
       selects(spread["labelSelector"]["matchLabels"], agent_labels), "several agents on one node")

# Who reaches the agents: the controller's pods, one port.
policy = agents["NetworkPolicy", "hammer-agent"]["spec"]
expect(selects(policy["podSelector"]["matchLabels"], agent_labels), "the agents are not protected")
expect(set(policy["policyTypes"]) == {"Ingress", "Egress"}, "only one direction is held")
expect(len(policy["ingress"]) == 1 and policy["ingress"][0]["ports"] == [{"port": 7400}], "other ports")
sources = policy["ingress"][0]["from"]
expect(len(sources) == 1 and set(sources[0]) == {"podSelector"} and
       sources[0]["podSelector"]["matchLabels"] == ctl_labels, f"others reach the agents: {sources}")
expect(not selects(sources[0]["podSelector"]["matchLabels"], agent_labels), "agents reach agents")
own = agents["NetworkPolicy", "hammer-ctl"]["spec"]
expect(own["podSelector"]["matchLabels"] == ctl_labels and "ingress" not in own and
       "Ingress" in own["policyTypes"], "the controller can be reached")

# One line for each replica, by the name that the Service gives it.
inventory = yaml.safe_load(run["ConfigMap", "hammer-inventory"]["data"]["agents.yml"])["agents"]
names = [a["address"] for a in inventory]
expect(names == [f"hammer-agent-{i}.hammer-agents" for i in range(stateful["replicas"])], f"agents.yml: {names}")

for name, template in (("agent", agent), ("ctl", ctl)):
    with open(os.path.join(built, name + ".args"), "w") as f:
        f.writelines(a + "\n" for a in template["spec"]["containers"][0]["args"])
for p in problems:
    print(p)
sys.exit(1 if problems else 0)
