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
	} {
		if got := (Failure{Target: target}).Fix(); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", target, got, want)
		}
	}
}
