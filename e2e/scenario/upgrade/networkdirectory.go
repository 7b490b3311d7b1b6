package upgrade

import (
	"context"
	"errors"
)

// sharedDirectory makes the last worker look as an airgap without a network directory of its own left it:
// its runtime reads the pod network from the directory that podman reads.
func (u *Upgrading) sharedDirectory(ctx context.Context) error {
	return u.E.Script(ctx, u.L.Machines[len(u.L.Machines)-1],
		"mkdir -p /etc/cni/net.d && mv /etc/airgap/cni/net.d/10-flannel.conflist /etc/cni/net.d/",
		"sed -i 's|/etc/airgap/cni/net.d|/etc/cni/net.d|' /etc/containerd/config.toml && systemctl restart containerd")
}

// ownDirectory checks that the pod network of every host is in airgap's directory, and nowhere else.
func (u *Upgrading) ownDirectory(ctx context.Context) error {
	var failed []error
	for _, m := range u.L.Machines {
		failed = append(failed, u.E.Script(ctx, m,
			"test -s /etc/airgap/cni/net.d/10-flannel.conflist && test ! -e /etc/cni/net.d/10-flannel.conflist",
			"/opt/airgap/bin/containerd --config /etc/containerd/config.toml config dump | grep -q \"conf_dir = '/etc/airgap/cni/net.d'\""))
	}
	return errors.Join(failed...)
}
