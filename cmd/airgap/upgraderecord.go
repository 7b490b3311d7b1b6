package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/backup"
)

// upgradeRecord is what the first control-plane host writes down of the last upgrade,
// for going on with it and for taking it back.
type upgradeRecord struct {
	From     bundleRef `json:"from"`
	To       bundleRef `json:"to"`
	Began    time.Time `json:"began"`
	Cordoned []string  `json:"cordoned"` // nodes that took no new pods before it began
	Changed  bool      `json:"changed"`  // what is in etcd, or a host, is or may be the new version's
	Verified []string  `json:"verified"` // nodes after whose upgrade the cluster was as before
	Ended    time.Time `json:"ended,omitzero"`
	// Of a rollback: what is done of it, and when it had come to its end.
	Back       []string  `json:"back,omitempty"`
	RolledBack time.Time `json:"rolledBack,omitzero"`
}

// bundleRef tells a bundle from all others.
type bundleRef struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Kubernetes string `json:"kubernetes"`
}

func refTo(i *bundle.Index) (bundleRef, error) {
	c, err := config.Parse("airgap.yaml of bundle "+i.Name, []byte(i.Config))
	if err != nil {
		return bundleRef{}, err
	}
	return bundleRef{Name: i.Name, ID: i.ID(), Kubernetes: c.Kubernetes.Version}, nil
}

func newUpgrade(from, to *bundle.Index) (r upgradeRecord, err error) {
	r = upgradeRecord{Began: time.Now().UTC(), Cordoned: []string{}, Verified: []string{}}
	if r.From, err = refTo(from); err != nil {
		return r, err
	}
	r.To, err = refTo(to)
	return r, err
}

// Files of upgradeDir.
const (
	upgradeRecordFile   = upgradeDir + "/record.json"
	upgradeBaselineFile = upgradeDir + "/baseline.json"
)

func readUpgradeRecord() (upgradeRecord, error) {
	return host.ReadJSON[upgradeRecord](upgradeRecordFile)
}

// under reports whether an upgrade has begun and not ended.
func (r upgradeRecord) under() bool {
	return r.To.ID != "" && r.Ended.IsZero() && r.RolledBack.IsZero()
}

// refuseAmidUpgrade is for what an upgrade of the cluster must not meet. Only the first
// control-plane host is told of the end: the others keep their records for the way back.
func (s *site) refuseAmidUpgrade(r upgradeRecord, what string) error {
	if s.node.Name != s.config.Master().Name || !r.under() {
		return nil
	}
	return hint(fmt.Errorf("%s: the upgrade to bundle %s has not ended", what, r.To.Name), "airgap upgrade ends it, airgap rollback takes it back")
}

// note changes the record.
func noteUpgrade(change func(*upgradeRecord)) error {
	r, err := readUpgradeRecord()
	if err != nil {
		return err
	}
	change(&r)
	return host.WriteJSON(upgradeRecordFile, r)
}

// beginUpgrade forgets the upgrade before this one, and with it its way back.
func beginUpgrade(r upgradeRecord) error {
	if err := os.RemoveAll(upgradeDir); err != nil {
		return err
	}
	if err := os.MkdirAll(upgradeDir, 0o700); err != nil {
		return err
	}
	return host.WriteJSON(upgradeRecordFile, r)
}

// backupsBefore is where a control-plane host keeps itself as it was before it was
// upgraded to a bundle.
func backupsBefore(id string) backup.Store {
	s := backups()
	s.Dir, s.Keep = filepath.Join(upgradeDir, "before-"+id[:12]), 1
	return s
}

// backupBefore is the step that takes it, once for each upgrade.
func backupBefore(id string) step.Step {
	s := backup.Once(backupsBefore(id))
	s.Name, s.Title = "backup-before", "Back up the control plane as it is before the upgrade"
	return s
}
