package dataplane

import (
	"strings"
	"testing"
)

// TestFix: each target of a round has its own first step.
func TestFix(t *testing.T) {
	for target, want := range map[string]string{
		"pod on w1, 64 KiB":           "network.mtu",
		"pod on w1":                   "the tunnel's UDP port",
		"name kubernetes.default.svc": "k8s-app=kube-dns",
		"hostPort 10479 of w1":        "a reload of firewalld on EL 8",
		"NodePort 30412 of w1":        "k8s-app=kube-proxy",
		"flows to w1":                 "one member of a link aggregation (LAG) or one of several routes (ECMP) between the nodes drops packets; network team",
		"packets to w1":               "of both nodes first: airgap verify --only host-links; without any, network team: read the counters of errors and drops",
		"bursts to w1":                "network team: remove the limit for UDP",
		"order of packets to w1":      "choose the link by flow",
		"round trips to w1":           "kubernetes.etcd.electionTimeout",
		"long connection to w1":       "network team: look for an idle limit or a fail-over",
	} {
		if got := (Failure{Target: target}).Fix(); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", target, got, want)
		}
	}
}
