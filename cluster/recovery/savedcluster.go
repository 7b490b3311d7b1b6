package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry/trust"
)

// SavedCluster is a checked backup with the data for a restore.
type SavedCluster struct {
	*backup.Contents
	Etcd      etcd.SnapshotInfo
	keys      jointoken.ControlPlaneSecrets
	ca, caKey []byte // of the registry, PEM
}

// checkBackup reads and checks a complete backup.
func checkBackup(ctx context.Context, c *backup.Contents) (s *SavedCluster, err error) {
	pki := trust.PKI{Dir: site.PKIDir}
	s = &SavedCluster{Contents: c}
	if s.Etcd, err = c.Check(ctx, time.Now(), pki.CAFile(), pki.CAKeyFile()); err != nil {
		return nil, err
	}
	if s.keys, err = c.Keys(time.Now()); err != nil {
		return nil, err
	}
	if s.ca, err = c.File(pki.CAFile()); err != nil {
		return nil, err
	}
	if s.caKey, err = c.File(pki.CAKeyFile()); err != nil {
		return nil, err
	}
	return s, trust.CheckAuthority(s.ca, s.caKey, time.Now())
}

// checkRequiredKeys returns an error if the lost cluster required keys for its bundles, and the operator
// names none. The keys come from the operator, never from the backup.
func (s *SavedCluster) checkRequiredKeys(given []string) error {
	text, err := s.File(site.RequiredFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	before, least, err := site.SplitKeys(strings.Fields(string(text)))
	if err != nil {
		return fmt.Errorf("restore %s: read %s: %w", s.Dir, site.RequiredFile, err)
	}
	now, count, err := site.SplitKeys(given)
	if err != nil {
		return err
	}
	if len(before) > 0 && len(now) == 0 {
		return advice.Add(fmt.Errorf("restore %s: the lost cluster required the keys of its bundles, and --require-key is missing", s.Dir),
			"name the fingerprint from your own records: --require-key SHA256:…; the backup lists %s", strings.Join(before, ", "))
	}
	if count < least {
		return advice.Add(fmt.Errorf("restore %s: in the lost cluster, %d keys had to sign a bundle", s.Dir, least), "add --require-keys %d", least)
	}
	return nil
}

// choice returns the encapsulation that the cluster used; nil if airgap.yaml defines it.
func (s *SavedCluster) choice() (*site.NetworkChoice, error) {
	path := filepath.Join(site.NetworkDir, site.ChoiceName)
	if !s.Has(path) {
		return nil, nil
	}
	text, err := s.File(path)
	if err != nil {
		return nil, err
	}
	return site.ParseChoice(text)
}
