package main

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
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
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
	c, err := config.ParseStored("airgap.yaml of bundle "+i.Name, []byte(i.Config))
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

// under reports whether an upgrade, or the way back from one, has begun and not ended.
func (r upgradeRecord) under() bool {
	return r.To.ID != "" && r.RolledBack.IsZero() && (r.Ended.IsZero() || len(r.Back) > 0)
}

// refuseAmidRollback is for an upgrade: on a host that has left the cluster it would go on
// with what is about to be taken back.
func (r upgradeRecord) refuseAmidRollback() error {
	if !r.under() || len(r.Back) == 0 {
		return nil
	}
	return advice.Add(fmt.Errorf("the upgrade to bundle %s (Kubernetes %s) is being taken back, and that has not ended", r.To.Name, r.To.Kubernetes), "airgap rollback ends it")
}

// refuseAmidUpgrade is for what an upgrade of the cluster must not meet. Only the first
// control-plane host is told of the end: the others keep their records for the way back,
// and ask the nodes. away are those to which the upgrade has not come.
func (s *site) refuseAmidUpgrade(r upgradeRecord, away []string, what string) error {
	first := s.config.Master().Name
	switch {
	case !r.under():
		return nil
	case s.node.Name == first:
		return advice.Add(fmt.Errorf("%s: the upgrade to bundle %s has not ended", what, r.To.Name), "airgap upgrade ends it, airgap rollback takes it back")
	case len(away) > 0:
		return advice.Add(fmt.Errorf("%s: the upgrade to bundle %s has not come to %s", what, r.To.Name, strings.Join(away, ", ")),
			"airgap upgrade on %s ends it, airgap rollback there takes it back; where it has ended, run this on %s", first, first)
	}
	return nil
}

// away are the nodes that do not say of themselves that they are as the upgrade has them.
func (r upgradeRecord) away(ctx context.Context, m kubeadm.Machine) ([]string, error) {
	if !r.under() {
		return nil, nil
	}
	client, err := m.Client(kubeadm.AdminConf)
	if err != nil {
		return nil, err
	}
	nodes, err := patiently(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	return without(nodes.Items, bundleNote, r.To.ID), nil
}

// without are the names of the nodes whose annotation is another one.
func without(nodes []corev1.Node, key, id string) (names []string) {
	for i := range nodes {
		if noted(&nodes[i], key, id) != nil {
			names = append(names, nodes[i].Name)
		}
	}
	return names
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
	if err := host.RemoveTree(upgradeDir); err != nil {
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
