package kubeadm

import (
	"bytes"
	"context"
	"errors"
	"os"

	"airgap.dev/airgap/internal/host"
)

// Residue is what the network plugin leaves on a host, as its package knows:
// kubeadm reset does not touch it.
type Residue struct {
	Links []string // network interfaces
	Paths []string // files and directories
}

// Reset takes this host out of its cluster: containers, certificates, etcd's
// data, the network plugin's residue. It returns what stays, in words.
func Reset(ctx context.Context, m Machine, r Residue) ([]string, error) {
	if err := m.leave(ctx); err != nil {
		return nil, err
	}
	for _, link := range r.Links {
		if _, err := os.Stat(m.path("/sys/class/net/" + link)); err != nil {
			continue
		}
		if err := m.run(ctx, "ip", "link", "delete", link); err != nil {
			return nil, err
		}
	}
	for _, p := range r.Paths {
		if err := os.RemoveAll(m.path(p)); err != nil {
			return nil, err
		}
	}
	return m.remains(ctx), nil
}

// leave undoes init or join. On a host where kubeadm never began it does
// nothing, so that a cluster of somebody else stays as it is.
func (m Machine) leave(ctx context.Context) error {
	s, err := m.state()
	if err != nil || s == untouched {
		return err
	}
	if err := m.kubeadm(ctx, "reset", "--force", "--cri-socket", "unix://"+CRISocket); err != nil {
		return err
	}
	if err := m.run(ctx, "systemctl", "disable", "--now", "kubelet"); err != nil {
		return err
	}
	return errors.Join(
		ignoreMissing(os.Remove(m.path(ConfigFile))),
		ignoreMissing(os.Remove(m.path(joinConfigFile))),
		ignoreMissing(os.Remove(m.path(stateFile))),
	)
}

// remains tells what a reset leaves behind that a person may care about.
func (m Machine) remains(ctx context.Context) []string {
	var stays []string
	tables, err := m.Host.Run(ctx, host.Cmd{Name: "nft", Args: []string{"list", "ruleset"}})
	if err == nil && hasKubeRules(tables) {
		stays = append(stays, "packet filter rules of kube-proxy: gone with the next reboot")
	}
	for _, p := range []struct{ path, words string }{
		{"/var/lib/containerd", "images of the runtime"},
		{logDir, "logs"},
		{"/root/.kube", "kubeconfigs, perhaps of the cluster that is gone"},
	} {
		if _, err := os.Stat(m.path(p.path)); err == nil {
			stays = append(stays, p.path+": "+p.words)
		}
	}
	return stays
}

func hasKubeRules(ruleset []byte) bool {
	return bytes.Contains(ruleset, []byte("KUBE-")) || bytes.Contains(ruleset, []byte("kube-proxy"))
}
