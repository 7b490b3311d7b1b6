package dataplane

import "strings"

// Fix returns where to look first.
func (f Failure) Fix() string {
	switch {
	case f.ofFlows():
		return "one member of a link aggregation (LAG) or one of several routes (ECMP) between the nodes drops packets; network team: compare the counters of all members, " +
			"and take the bad one out; it shows in airgap preflight --all-hosts --only path-quality, too"
	case strings.HasPrefix(f.Target, packetsTo):
		return "read the findings about the cards of both nodes first: airgap verify --only host-links; without any, network team: read the counters of errors and drops of all interfaces between the nodes"
	case strings.HasPrefix(f.Target, burstsTo):
		return "network team: remove the limit for UDP between the nodes (a policer, storm control, protection against UDP floods), or find the slow link; it shows in airgap preflight --all-hosts --only path-quality, too"
	case strings.HasPrefix(f.Target, orderTo):
		return "network team: let port channels, bonds and routes choose the link by flow, not by packet; it shows in airgap preflight --all-hosts --only path-quality, too"
	case strings.HasPrefix(f.Target, tripsTo):
		return "network team: find what holds packets between the nodes (full queues, a long way, a busy hypervisor); " +
			"or set kubernetes.etcd.electionTimeout in airgap.yaml to ten of these round trips; it shows in airgap preflight --all-hosts --only etcd-latency, too"
	case strings.HasPrefix(f.Target, longTo):
		return "network team: look for an idle limit or a fail-over of a stateful firewall between the nodes at that time; " +
			"to clear this finding: kubectl -n " + Namespace + " rollout restart daemonset " + Name
	case strings.HasSuffix(f.Target, ", 64 KiB"):
		return "small packets pass and large packets do not: network.mtu in airgap.yaml is larger than the network allows; measure it: airgap preflight --all-hosts"
	case strings.HasPrefix(f.Target, "pod on "):
		return "test the network between the hosts: airgap preflight --all-hosts; on both hosts, check that the firewall allows the tunnel's UDP port"
	case strings.HasPrefix(f.Target, "name "):
		return "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide; if a Service answers by its address, only CoreDNS has failed"
	case strings.HasPrefix(f.Target, "hostPort "):
		return "if the node's NodePort answers, its rules of hostPort are missing: a reload of firewalld on EL 8 drops them for all its pods (journalctl -u firewalld); " +
			"restart its pods with a hostPort, and kubectl -n " + Namespace + " rollout restart daemonset " + Name
	default:
		return "kubectl -n kube-system logs -l k8s-app=kube-proxy; on that node, check that its rules exist: iptables-save, or nft list ruleset"
	}
}
