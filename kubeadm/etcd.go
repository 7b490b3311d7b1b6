package kubeadm

import (
	"cmp"
	"strings"

	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/node"
)

// secretsOf returns a client for the etcd of this host's API server, and the key prefix of its
// Secrets.
func (m Machine) secretsOf() (*etcd.Client, string, error) {
	flags, err := node.Flags(m.Machine, node.APIServer)
	if err != nil {
		return nil, "", err
	}
	server, _, _ := strings.Cut(flags["etcd-servers"], ",")
	c, err := etcd.New(server, etcd.Files{CA: m.Path(flags["etcd-cafile"]), Certificate: m.Path(flags["etcd-certfile"]), Key: m.Path(flags["etcd-keyfile"])})
	return c, cmp.Or(flags["etcd-prefix"], "/registry") + "/secrets/", err
}
