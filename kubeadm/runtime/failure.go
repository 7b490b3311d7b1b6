package runtime

import (
	"context"
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/etcd"
)

// Explain adds the last log lines of the failed unit and a hint to a failure. If the context has
// ended, it returns only that error.
func Explain(ctx context.Context, m host.Machine, f host.Failure) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", f.What, ctx.Err()) // an interruption needs no explanation
	}
	f.Said = lastLogLines(ctx, m, f.Unit)
	if f.Next == "" {
		f.Next = engineOn(m).nextStep(f.Err.Error() + f.Said)
	}
	if f.Next == "" {
		f.Next = "read the log: journalctl -u " + f.Unit
	}
	return &f
}

func lastLogLines(ctx context.Context, m host.Machine, unit string) string {
	out, err := m.Host.Run(ctx, host.Cmd{Name: "journalctl", Args: []string{"-u", unit, "-n", "8", "--no-pager", "-o", "cat"}})
	if err != nil {
		return "" // the caller reports the failure itself
	}
	return strings.TrimSpace(string(out))
}

// nextStep returns a hint for the most frequent failures. It recognizes stable texts of kubeadm, the
// kubelet and the runtimes.
func (e engine) nextStep(text string) string {
	for _, known := range []struct{ words, next string }{
		{"[ERROR CRI]", "the runtime does not answer: check systemctl status " + e.name},
		{"[ERROR ImagePull]", "an image pull failed: run airgap registry status, then read journalctl -u " + e.name},
		{"[ERROR Swap]", "disable swap: run swapoff -a and remove swap from /etc/fstab, or set hostSettings.swap: disable in airgap.yaml"},
		{"[ERROR Port-", "another program listens on a port of the control plane: find it with ss -ltnp"},
		{"[ERROR FileAvailable", "this host has files of another cluster: run airgap reset for a cluster of airgap, kubeadm reset for any other"},
		{"[ERROR DirAvailable", "this host has files of another cluster: run airgap reset for a cluster of airgap, kubeadm reset for any other"},
		{"[ERROR SystemVerification]", "the kernel does not have a required feature; to ignore the check, set kubernetes.ignorePreflightErrors"},
		{"[ERROR ", "fix the errors above; to ignore a check, add it to kubernetes.ignorePreflightErrors"},
		{"cgroup v1", "boot with cgroup v2, or set kubernetes.overrides.kubelet.failCgroupV1: false"},
		{"certificate has expired or is not yet valid", "run airgap certs on a control-plane host; if a certificate has expired, run airgap certs renew, otherwise compare the clocks of the hosts: chronyc tracking"},
		{"token ID", "the join token has expired or is for another cluster: create a new one on a control-plane host"},
		{"JWS", "the join token has expired or is for another cluster: create a new one on a control-plane host"},
		{"database space exceeded", etcd.MakeRoom},
		{"no route to host", "the API server is not reachable: check the firewall and the route to its port 6443"},
		{"connection refused", "the API server is not running: read journalctl -u kubelet on a control-plane host"},
		{"kubelet is not healthy", "read the log: journalctl -u kubelet"},
	} {
		if strings.Contains(text, known.words) {
			return known.next
		}
	}
	return ""
}
