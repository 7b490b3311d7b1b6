# Prints the state of a cluster: its objects by kind and name, its nodes, its pods, the members
# of etcd. It leaves out objects that change without a command.
set -eu
export KUBECONFIG=/etc/kubernetes/admin.conf
kinds=$(kubectl api-resources --verbs=list -o name | grep -vE '^(events|componentstatuses|certificatesigningrequests)(\.|$)' | paste -sd,)
kubectl get "$kinds" -A --ignore-not-found --no-headers -o custom-columns=KIND:.kind,NS:.metadata.namespace,NAME:.metadata.name | sed 's/^/object	/'
kubectl get nodes -o jsonpath='{range .items[*]}node	{.metadata.name} {.status.nodeInfo.kubeletVersion} {.status.nodeInfo.containerRuntimeVersion} {.spec.podCIDR} {.spec.taints[*].key} {range .status.conditions[*]}{.type}={.status} {end}{"\n"}{end}'
kubectl get nodes -o jsonpath='{range .items[*]}labels	{.metadata.name} {.metadata.labels}{"\n"}{end}'
kubectl get pods -A -o jsonpath='{range .items[*]}pod	{.metadata.namespace}/{.metadata.name} {.status.phase} {.spec.nodeName} {range .status.containerStatuses[*]}{.image} ready={.ready} {end}{"\n"}{end}'
kubectl -n kube-system get cm kubeadm-config kubelet-config kube-proxy coredns -o jsonpath='{range .items[*]}config	{.metadata.name} {.data}{"\n"}{end}'
pki=/etc/kubernetes/pki/etcd
python3 - $pki <<'PY'
import json, ssl, sys, urllib.request
pki = sys.argv[1]
tls = ssl.create_default_context(cafile=pki + "/ca.crt")
tls.load_cert_chain(pki + "/healthcheck-client.crt", pki + "/healthcheck-client.key")
ask = urllib.request.Request("https://127.0.0.1:2379/v3/cluster/member/list", data=b"{}", method="POST")
for m in json.load(urllib.request.urlopen(ask, context=tls))["members"]:
    print("etcd\t" + m["name"], *m["peerURLs"])
PY
