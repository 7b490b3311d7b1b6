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
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/registry/trust"
)

// SavedCluster is a backup that was found whole, with all that a restore takes
// from it.
type SavedCluster struct {
	*backup.Contents
	Etcd      etcd.SnapshotInfo
	keys      joincode.Parcel
	ca, caKey []byte // the registry's authority
}

// checkBackup reads and checks the whole of a backup.
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

// heldTo refuses to bring a cluster back with fewer demands on its bundles than it had. Which
// keys those are, the operator says, and not the backup.
func (s *SavedCluster) heldTo(given []string) error {
	text, err := s.File(site.RequiredFile)
	if errors.Is(err, fs.ErrNotExist) || len(given) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return advice.Add(fmt.Errorf("restore %s: the lost cluster required the keys of its bundles, and --require-key is missing", s.Dir),
		"give the fingerprint from your own records: --require-key SHA256:…; the backup has %s", strings.Join(strings.Fields(string(text)), ", "))
}

// choice is how pods' packets travelled; nil where airgap.yaml says it.
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
