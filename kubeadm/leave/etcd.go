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

// ErrNoEtcd says that a host has no member of etcd.
var ErrNoEtcd = errors.New("this host has no member of etcd")

// LocalEtcd asks the member that kubeadm has set up on this host, with the certificate
// that kubeadm makes for health checks. It needs no API server.
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

// EtcdBytes is how much the database of this host's member takes on the disk, and about
// what a snapshot of it takes; 0 where there is none.
func (m Member) EtcdBytes() (int64, error) {
	info, err := os.Stat(m.Path(node.EtcdDir + "/member/snap/db"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find out how large etcd's database is: %w", err)
	}
	return info.Size(), nil
}
