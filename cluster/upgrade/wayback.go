package upgrade

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry/trust"
)

// wayBackMissing says why airgap rollback could not take this upgrade back, whatever is
// backed up before it; nil when it could. It judges this host's files as rollback and
// restore will judge their copies: the authorities' keys may be kept elsewhere, or not
// fit, etcd's data may lie where airgap does not restore them, or room lack.
func (u *upgrade) wayBackMissing() error {
	read := func(path string) ([]byte, error) { return os.ReadFile(filepath.Join("/", u.site.Machine.Root, path)) }
	id, err := kubeadm.ReadIdentity(read)
	if err != nil {
		return err
	}
	_, keys := kubeadm.SavedKeys(read, id.Encrypted, time.Now())
	etcd, err := u.site.Machine.EtcdBytes()
	if err != nil {
		return err
	}
	return errors.Join(id.Agrees(u.old.Config.Kubernetes), keys, registryKey(read), u.site.Machine.RoomToReturn(etcd, etcd))
}

func registryKey(read func(path string) ([]byte, error)) error {
	pki := trust.PKI{Dir: site.PKIDir}
	ca, err := read(pki.CAFile())
	if err != nil {
		return fmt.Errorf("read the registry's authority: %w", err)
	}
	key, err := read(pki.CAKeyFile())
	if err != nil {
		return fmt.Errorf("read the registry's authority: %w", err)
	}
	return trust.CheckAuthority(ca, key, time.Now())
}

func (u *upgrade) wayBack() string {
	if err := u.wayBackMissing(); err != nil {
		return "no way back: " + err.Error()
	}
	return fmt.Sprintf("way back: airgap rollback brings back Kubernetes %s and etcd's data of the moment before the first host is changed; what is written later is lost then", u.record.From.Kubernetes)
}
