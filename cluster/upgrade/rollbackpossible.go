package upgrade

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry/trust"
)

// rollbackBlocked returns the reasons why airgap rollback could not roll back this upgrade, even with a
// complete backup; nil if it could. It checks this host's files as rollback and restore will check their
// copies. The keys of the CAs may be stored elsewhere or not match, the etcd data may be in a directory
// that airgap does not restore, or the disk may be too full.
func (u *upgrade) rollbackBlocked() error {
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
	return errors.Join(id.Matches(u.old.Config.Kubernetes), keys, registryKey(read), u.site.Machine.RollbackSpace(etcd, etcd))
}

func registryKey(read func(path string) ([]byte, error)) error {
	pki := trust.PKI{Dir: site.PKIDir}
	ca, err := read(pki.CAFile())
	if err != nil {
		return fmt.Errorf("read the registry's CA: %w", err)
	}
	key, err := read(pki.CAKeyFile())
	if err != nil {
		return fmt.Errorf("read the key of the registry's CA: %w", err)
	}
	return trust.CheckAuthority(ca, key, time.Now())
}

func (u *upgrade) rollbackNote() string {
	if err := u.rollbackBlocked(); err != nil {
		return "airgap rollback would be impossible: " + err.Error()
	}
	if onlyOthersHaveBackup(u.record, u.site.Node.Name) {
		return fmt.Sprintf("airgap rollback on %s needs the backup of %s: only these have one from before the first host was changed", u.site.Node.Name, hostrange.Join(u.record.Backups))
	}
	return fmt.Sprintf("airgap rollback restores Kubernetes %s and the etcd data from before the first host is changed; all later writes are lost then", u.record.From.Kubernetes)
}
