// Package upgraderecord is what a control-plane host writes down of an upgrade, for the way on
// and the way back.
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

// Record is what the first control-plane host writes down of the last upgrade,
// for going on with it and for taking it back.
type Record struct {
	From     BundleRef `json:"from"`
	To       BundleRef `json:"to"`
	Began    time.Time `json:"began"`
	Cordoned []string  `json:"cordoned"` // nodes that took no new pods before it began
	Changed  bool      `json:"changed"`  // what is in etcd, or a host, is or may be the new version's
	Ended    time.Time `json:"ended,omitzero"`
	// Of a rollback: when it began, and when it had come to its end.
	BackBegan  time.Time `json:"backBegan,omitzero"`
	RolledBack time.Time `json:"rolledBack,omitzero"`
}

// Upgrade returns the name under which the journal keeps the steps that this upgrade runs once.
func (r Record) Upgrade() string {
	return "upgrade to " + r.To.ID + " of " + r.Began.UTC().Format(time.RFC3339Nano)
}

// WayBack returns the name under which the journal keeps the steps that its rollback runs once.
func (r Record) WayBack() string { return "rollback of " + r.Upgrade() }

// BundleRef tells a bundle from all others.
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

// New returns the record of an upgrade that begins now.
func New(from, to *bundle.Index) (r Record, err error) {
	r = Record{Began: time.Now().UTC(), Cordoned: []string{}}
	if r.From, err = refTo(from); err != nil {
		return r, err
	}
	r.To, err = refTo(to)
	return r, err
}

// Files of UpgradeDir.
const (
	UpgradeRecordFile   = site.UpgradeDir + "/record.json"
	UpgradeBaselineFile = site.UpgradeDir + "/baseline.json"
)

// Read returns the record, empty if there was no upgrade.
func Read() (Record, error) {
	return host.ReadJSON[Record](UpgradeRecordFile)
}

// Under reports whether an upgrade, or the way back from one, has begun and not ended.
func (r Record) Under() bool {
	return r.To.ID != "" && r.RolledBack.IsZero() && (r.Ended.IsZero() || r.GoesBack())
}

// GoesBack reports whether a rollback has begun.
func (r Record) GoesBack() bool { return !r.BackBegan.IsZero() }

// RefuseAmidRollback is for an upgrade: on a host that has left the cluster it would go on
// with what is about to be taken back.
func (r Record) RefuseAmidRollback() error {
	if !r.Under() || !r.GoesBack() {
		return nil
	}
	return advice.Add(fmt.Errorf("the upgrade to bundle %s (Kubernetes %s) is being taken back, and that has not ended", r.To.Name, r.To.Kubernetes), "airgap rollback ends it")
}

// RefuseAmidUpgrade is for what an upgrade of the cluster must not meet. Only the first
// control-plane host is told of the end: the others keep their records for the way back,
// and ask the nodes. away are those to which the upgrade has not come.
func RefuseAmidUpgrade(s *site.Site, r Record, away []string, what string) error {
	first := s.Config.Master().Name
	switch {
	case !r.Under():
		return nil
	case s.Node.Name == first:
		return advice.Add(fmt.Errorf("%s: the upgrade to bundle %s has not ended", what, r.To.Name), "airgap upgrade ends it, airgap rollback takes it back")
	case len(away) > 0:
		return advice.Add(fmt.Errorf("%s: the upgrade to bundle %s has not come to %s", what, r.To.Name, strings.Join(away, ", ")),
			"airgap upgrade on %s ends it, airgap rollback there takes it back; where it has ended, run this on %s", first, first)
	}
	return nil
}

// Away are the nodes that do not say of themselves that they are as the upgrade has them.
func (r Record) Away(ctx context.Context, m kubeadm.Machine) ([]string, error) {
	if !r.Under() {
		return nil, nil
	}
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	nodes, err := kube.Patiently(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	return without(nodes.Items, site.BundleNote, r.To.ID), nil
}

// without are the names of the nodes whose annotation is another one.
func without(nodes []corev1.Node, key, id string) (names []string) {
	for i := range nodes {
		if site.Noted(&nodes[i], key, id) != nil {
			names = append(names, nodes[i].Name)
		}
	}
	return names
}

// Note changes the record.
func Note(change func(*Record)) error {
	r, err := Read()
	if err != nil {
		return err
	}
	change(&r)
	return host.WriteJSON(UpgradeRecordFile, r)
}

// begin forgets the upgrade before this one, and with it its way back.
func begin(r Record) error {
	if err := host.RemoveTree(site.UpgradeDir); err != nil {
		return err
	}
	if err := os.MkdirAll(site.UpgradeDir, 0o700); err != nil {
		return err
	}
	return host.WriteJSON(UpgradeRecordFile, r)
}

// BackupsBefore is where a control-plane host keeps itself as it was before it was
// upgraded to a bundle.
func BackupsBefore(id string) backup.Store {
	s := site.Backups()
	s.Dir, s.Keep = filepath.Join(site.UpgradeDir, "before-"+id[:12]), 1
	return s
}

// BackupBefore is the step that takes it, once for each upgrade.
func BackupBefore(id string) step.Step {
	s := backup.Once(BackupsBefore(id))
	s.Name, s.Title = "backup-before", "Back up the control plane as it is before the upgrade"
	return s
}
