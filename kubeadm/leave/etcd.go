package leave

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/node"
)

// ErrNoEtcd is the error on a host without an etcd member.
var ErrNoEtcd = errors.New("this host has no member of etcd")

// LocalEtcd returns a client for this host's etcd member. It uses kubeadm's certificate for health
// checks and needs no API server. The error is ErrNoEtcd if the host has no member.
func (m Member) LocalEtcd() (*etcd.Client, error) {
	if _, err := os.Stat(m.Path(node.ManifestOf(node.Etcd))); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrNoEtcd
		}
		return nil, err
	}
	const pki = "/etc/kubernetes/pki/etcd/"
	files := etcd.Files{CA: m.Path(pki + "ca.crt"), Certificate: m.Path(pki + "healthcheck-client.crt"), Key: m.Path(pki + "healthcheck-client.key")}
	return etcd.New(cmp.Or(m.EtcdURL, "https://127.0.0.1:2379"), files)
}

// EtcdBytes is the size of this host's etcd database in bytes, which is about the size of a
// snapshot; 0 without a database.
func (m Member) EtcdBytes() (int64, error) {
	info, err := os.Stat(m.Path(node.EtcdDir + "/member/snap/db"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the size of etcd's database: %w", err)
	}
	return info.Size(), nil
}
