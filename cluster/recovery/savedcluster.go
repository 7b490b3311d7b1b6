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
	if errors.Is(err, fs.ErrNotExist) || len(given) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return advice.Add(fmt.Errorf("restore %s: the lost cluster required the keys of its bundles, and --require-key is missing", s.Dir),
		"name the fingerprint from your own records: --require-key SHA256:…; the backup lists %s", strings.Join(strings.Fields(string(text)), ", "))
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
