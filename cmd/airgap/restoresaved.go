package main

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/registry"
)

// savedCluster is a backup that was found whole, with all that a restore takes
// from it.
type savedCluster struct {
	*backup.Contents
	etcd      kubeadm.SnapshotInfo
	keys      kubeadm.Parcel
	ca, caKey []byte // the registry's authority
}

// openBackup reads and checks the whole of a backup.
func openBackup(ctx context.Context, dir string) (*savedCluster, error) {
	c, err := backup.Open(dir)
	if err != nil {
		return nil, hint(err, "name the directory that holds etcd.db and SHA256SUMS, in "+backupDir+" or a copy of it")
	}
	pki := registry.PKI{Dir: pkiDir}
	s := &savedCluster{Contents: c}
	if s.etcd, err = c.Check(ctx, time.Now(), pki.CAFile(), pki.CAKeyFile()); err != nil {
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
	return s, registry.CheckAuthority(s.ca, s.caKey, time.Now())
}

// requiredKeys are the values of --require-key, else what the backup's host held to.
func (s *savedCluster) requiredKeys(values []string) []string {
	if text, err := s.File(requiredFile); err == nil && len(values) == 0 {
		return strings.Fields(string(text))
	}
	return values
}

// choice is how pods' packets travelled; nil where airgap.yaml says it.
func (s *savedCluster) choice() (*networkChoice, error) {
	path := filepath.Join(networkDir, choiceName)
	if !s.Has(path) {
		return nil, nil
	}
	text, err := s.File(path)
	if err != nil {
		return nil, err
	}
	return parseChoice(text)
}
