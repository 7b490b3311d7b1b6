// Package upgraderecord reads and writes the record of an upgrade on a control-plane host. A later
// run of the upgrade or a rollback continues from it.
package upgraderecord

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/kube"
)

// Record describes the last upgrade of the cluster.
type Record struct {
	From     BundleRef `json:"from"`
	To       BundleRef `json:"to"`
	Began    time.Time `json:"began"`
	Cordoned []string  `json:"cordoned"` // nodes that were cordoned before the upgrade
	Changed  bool      `json:"changed"`  // the upgrade may have changed etcd or a host
	// ChangedAt is the time right before the first change, and Backups are the control-plane hosts that had their backup
	// then. Records of an older airgap do not have them.
	ChangedAt time.Time `json:"changedAt,omitzero"`
	Backups   []string  `json:"backups,omitempty"`
	Ended     time.Time `json:"ended,omitzero"`
	// Start and end of the rollback of this upgrade.
	RollbackBegan time.Time `json:"backBegan,omitzero"`
	RolledBack    time.Time `json:"rolledBack,omitzero"`
}

// UpgradeName returns the name of this upgrade in the journal. Its one-time steps are recorded there.
func (r Record) UpgradeName() string {
	return "upgrade to " + r.To.ID + " of " + r.Began.UTC().Format(time.RFC3339Nano)
}

// RollbackName returns the name of the rollback in the journal. Its one-time steps are recorded there.
func (r Record) RollbackName() string { return "rollback of " + r.UpgradeName() }

// BundleRef identifies a bundle.
type BundleRef struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Kubernetes string `json:"kubernetes"`
}

func refTo(i *bundle.Index) (BundleRef, error) {
	c, err := config.ParseStored("airgap.yaml of bundle "+i.Name, []byte(i.Config))
	if err != nil {
		return BundleRef{}, err
	}
	return BundleRef{Name: i.Name, ID: i.ID(), Kubernetes: c.Kubernetes.Version}, nil
}

// New returns the record of an upgrade that starts now.
func New(from, to *bundle.Index) (r Record, err error) {
	r = Record{Began: time.Now().UTC(), Cordoned: []string{}}
	if r.From, err = refTo(from); err != nil {
		return r, err
	}
	r.To, err = refTo(to)
	return r, err
}

// Files in UpgradeDir.
const (
	UpgradeRecordFile   = site.UpgradeDir + "/record.json"
	UpgradeBaselineFile = site.UpgradeDir + "/baseline.json"
)

// Read returns the record. It is empty if there was no upgrade.
func Read() (Record, error) {
	return host.ReadJSON[Record](UpgradeRecordFile)
}

// InProgress reports whether an upgrade or its rollback has started and not ended.
func (r Record) InProgress() bool {
	return r.To.ID != "" && r.RolledBack.IsZero() && (r.Ended.IsZero() || r.HasRollback())
}

// HasRollback reports whether a rollback has begun.
func (r Record) HasRollback() bool { return !r.RollbackBegan.IsZero() }

// RefuseDuringRollback returns an error during a rollback. An upgrade must not continue then: the
// host may have left the cluster already.
func (r Record) RefuseDuringRollback() error {
	if !r.InProgress() || !r.HasRollback() {
		return nil
	}
	return advice.Add(fmt.Errorf("the rollback of the upgrade to bundle %s (Kubernetes %s) is not finished", r.To.Name, r.To.Kubernetes), "finish the rollback: airgap rollback")
}

// RefuseDuringUpgrade returns an error if an action cannot run during an upgrade of the cluster. action
// begins the error. Only the record of the first control-plane host contains the end of an upgrade.
// The other hosts keep their records for a rollback, so they depend on pending: the nodes that are
// not upgraded yet.
func RefuseDuringUpgrade(s *site.Site, r Record, pending []string, action string) error {
	first := s.Config.Master().Name
	switch {
	case !r.InProgress():
		return nil
	case s.Node.Name == first:
		return advice.Add(fmt.Errorf("%s: the upgrade to bundle %s is not finished", action, r.To.Name), "finish it with airgap upgrade, or roll it back with airgap rollback")
	case len(pending) > 0:
		return advice.Add(fmt.Errorf("%s: these nodes are not upgraded to bundle %s yet: %s", action, r.To.Name, strings.Join(pending, ", ")),
			"on %s, finish the upgrade with airgap upgrade, or roll it back with airgap rollback; if the upgrade is finished, run this command on %s", first, first)
	}
	return nil
}

// Pending returns the names of the nodes without the bundle of an upgrade in progress.
func (r Record) Pending(ctx context.Context, m kubeadm.Machine) ([]string, error) {
	if !r.InProgress() {
		return nil, nil
	}
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	nodes, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	return notAnnotated(nodes.Items, site.BundleNote, r.To.ID), nil
}

// notAnnotated returns the names of the nodes without this value in the annotation.
func notAnnotated(nodes []corev1.Node, key, id string) (names []string) {
	for i := range nodes {
		if site.Noted(&nodes[i], key, id) != nil {
			names = append(names, nodes[i].Name)
		}
	}
	return names
}

// Note changes the record on disk.
func Note(change func(*Record)) error {
	r, err := Read()
	if err != nil {
		return err
	}
	change(&r)
	return host.WriteJSON(UpgradeRecordFile, r)
}

// Change notes the first change of a host.
func (r *Record) Change(cordoned, backups []string, now time.Time) {
	r.Changed, r.Cordoned, r.Backups, r.ChangedAt = true, cordoned, backups, now.UTC()
}

// clocksDiffer is more than the clocks of two hosts may differ during an upgrade (preflight: clock-skew).
const clocksDiffer = time.Minute

// TooLate reports whether a backup is not of the state before the upgrade: its host joined later, or took it again. It
// is good enough to repair files of that host, and not to restore the cluster.
func (r Record) TooLate(taken time.Time) bool {
	return !r.ChangedAt.IsZero() && taken.After(r.ChangedAt.Add(clocksDiffer))
}

// begin replaces the record and the backup of the previous upgrade, which cannot be rolled back
// after that.
func begin(r Record) error {
	if err := host.RemoveTree(site.UpgradeDir); err != nil {
		return err
	}
	if err := os.MkdirAll(site.UpgradeDir, 0o700); err != nil {
		return err
	}
	return host.WriteJSON(UpgradeRecordFile, r)
}

// BackupsBefore returns the store for the backup from before the upgrade to a bundle. Each
// control-plane host has one.
func BackupsBefore(id string) backup.Store {
	s := site.Backups()
	s.Dir, s.Keep = filepath.Join(site.UpgradeDir, "before-"+id[:12]), 1
	return s
}

// BackupBefore returns the step that takes this backup once for each upgrade.
func BackupBefore(id string) step.Step {
	s := backup.Once(BackupsBefore(id))
	s.Name, s.Title = "backup-before", "Back up the control plane before the upgrade"
	return s
}
