package runtime

import (
	"context"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

func TestNextStep(t *testing.T) {
	for text, want := range map[string]string{
		"[ERROR ImagePull]: failed to pull image registry.k8s.io/pause:3.10.2":      "airgap registry status",
		"[ERROR Mem]: the system RAM (1200 MB) is less than the minimum":            "ignorePreflightErrors",
		"x509: certificate has expired or is not yet valid: current time is before": "clocks",
		"kubelet is configured to not run on a host using cgroup v1":                "failCgroupV1",
		`could not find a JWS signature in the cluster-info ConfigMap for token ID`: "create a new one",
		"something never seen": "",
	} {
		if got := containerd().nextStep(text); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestInterruptedIsNotExplained(t *testing.T) {
	f, m := hosttest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Explain(ctx, m, host.Failure{What: "kubeadm init", Err: errors.New("signal: terminated"), Unit: "kubelet"})
	if !errors.Is(err, context.Canceled) || len(f.Calls) > 0 {
		t.Errorf("got %v, ran %v", err, f.Calls)
	}
}
