package runtime

import (
	"context"
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/etcd"
)

// Explain adds the last words of the failed unit and a next step.
func Explain(ctx context.Context, m host.Machine, f host.Failure) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", f.What, ctx.Err()) // interrupted: nothing to explain
	}
	f.Said = lastWords(ctx, m, f.Unit)
	if f.Next == "" {
		f.Next = engineOn(m).nextStep(f.Err.Error() + f.Said)
	}
	if f.Next == "" {
		f.Next = "journalctl -u " + f.Unit + " has more"
	}
	return &f
}

func lastWords(ctx context.Context, m host.Machine, unit string) string {
	out, err := m.Host.Run(ctx, host.Cmd{Name: "journalctl", Args: []string{"-u", unit, "-n", "8", "--no-pager", "-o", "cat"}})
	if err != nil {
		return "" // the failure itself is told anyway
	}
	return strings.TrimSpace(string(out))
}

// nextStep knows the failures that sites meet most, by words that kubeadm, kubelet
// and the runtimes have used for years.
func (e engine) nextStep(text string) string {
	for _, known := range []struct{ words, next string }{
		{"[ERROR CRI]", "the runtime does not answer: systemctl status " + e.name},
		{"[ERROR ImagePull]", "an image did not come from the registry: airgap registry status, then journalctl -u " + e.name},
		{"[ERROR Swap]", "turn swap off: swapoff -a, and take it out of /etc/fstab; or hostSettings.swap: disable in airgap.yaml"},
		{"[ERROR Port-", "another program listens on a port of the control plane: ss -ltnp names it"},
		{"[ERROR FileAvailable", "remains of another cluster are on this host: airgap reset removes ours, kubeadm reset any"},
		{"[ERROR DirAvailable", "remains of another cluster are on this host: airgap reset removes ours, kubeadm reset any"},
		{"[ERROR SystemVerification]", "the kernel lacks what Kubernetes needs; if you know better: kubernetes.ignorePreflightErrors"},
		{"[ERROR ", "remedy the errors above; a check that does not fit your site goes to kubernetes.ignorePreflightErrors"},
		{"cgroup v1", "boot with cgroup v2, or set kubernetes.overrides.kubelet.failCgroupV1: false"},
		{"certificate has expired or is not yet valid", "airgap certs, on a control-plane host, lists what has ended, and airgap certs renew renews it; where nothing has, compare the clocks of the hosts: chronyc tracking"},
		{"token ID", "the code expired or is for another cluster: make a new one on a control-plane host"},
		{"JWS", "the code expired or is for another cluster: make a new one on a control-plane host"},
		{"database space exceeded", etcd.MakeRoom},
		{"no route to host", "the API server cannot be reached: check firewall and routes to its port 6443"},
		{"connection refused", "the API server is not up: on a control-plane host, journalctl -u kubelet"},
		{"kubelet is not healthy", "journalctl -u kubelet tells why"},
	} {
		if strings.Contains(text, known.words) {
			return known.next
		}
	}
	return ""
}
