package recovery

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// steps are those of an installation. Some are given what the backup has, where a
// new cluster would make its own.
func (r Restoration) steps(v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) ([]step.Step, error) {
	s, m, k := r.Site, r.Site.Machine, r.Site.Config.Kubernetes
	steps, err := install.Steps(s, v, trusted, p)
	if err != nil {
		return nil, err
	}
	inherited, err := r.inherited()
	if err != nil {
		return nil, err
	}
	if k.EncryptionAtRest != encryption.NoEncryption {
		instead(steps, encryption.Encryption(m.Machine, k.EncryptionAtRest, func(context.Context) ([]byte, error) { return r.From.keys[encryption.EncryptionFile], nil }))
	}
	instead(steps, kubeadm.Restore(m, k, s.KubeNode(), s.Facts, kubeadm.Saved{Keys: r.From.keys, Snapshot: r.From.Snapshot()}))
	steps = insertAfter(steps, "kubeadm", leave.RevokeOld(m.Member, r.From.Etcd.Revision))
	return insertAfter(steps, "record", inherited...), nil
}

// Again are the steps for a host that had that very cluster, and has left it: what it
// shares with the other hosts is there.
func (r Restoration) Again(v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) ([]step.Step, error) {
	s, m, k := r.Site, r.Site.Machine, r.Site.Config.Kubernetes
	steps, err := install.Steps(s, v, trusted, p)
	if err != nil {
		return nil, err
	}
	instead(steps, kubeadm.Restore(m, k, s.KubeNode(), s.Facts, kubeadm.Saved{Keys: r.From.keys, Snapshot: r.From.Snapshot()}))
	return insertAfter(steps, "kubeadm", leave.RevokeOld(m.Member, r.From.Etcd.Revision)), nil
}

// inherited are the steps that a new cluster has none of.
func (r Restoration) inherited() ([]step.Step, error) {
	pki := trust.PKI{Dir: site.PKIDir, Group: site.ServiceGroup}
	history, err := r.historyStep()
	steps := []step.Step{
		history,
		r.untilFounded(registry.AuthorityStep(pki, r.From.ca, func(context.Context) ([]byte, error) { return r.From.caKey, nil })),
	}
	if users, err := r.From.File(site.UsersFile); err == nil {
		steps = append(steps, r.untilFounded(registry.UsersStep(registry.Users{File: site.UsersFile, Group: site.ServiceGroup}, users)))
	}
	return steps, err
}

// historyStep keeps which backup it is, so that a second run knows its own work,
// and what the old host's journal said.
func (r Restoration) historyStep() (step.Step, error) {
	about, err := json.MarshalIndent(restoredFrom{r.From.Sums, r.From.Node, r.From.Taken}, "", "  ")
	files := map[string][]byte{restoredName: about}
	if journal, missing := r.From.File(site.JournalFile); missing == nil {
		files[filepath.Base(site.JournalFile)] = journal
	}
	return site.FilesStep("restored", "Keep what the backup says of its host", site.RestoredDir, files), err
}

// untilFounded is a step for the way to the cluster only. Once there, what it brought
// may change, and a second run of the command must not set it back.
func (r Restoration) untilFounded(s step.Step) step.Step {
	done := s.Done
	s.Done = func(ctx context.Context) (bool, error) {
		if there, err := r.Site.Machine.Joined(); there || err != nil {
			return there, err
		}
		return done(ctx)
	}
	return s
}

// instead puts a step in the place of that of the same name.
func instead(steps []step.Step, s step.Step) { steps[placeOf(steps, s.Name)] = s }

// insertAfter puts steps behind that of a name.
func insertAfter(steps []step.Step, name string, more ...step.Step) []step.Step {
	return slices.Insert(steps, placeOf(steps, name)+1, more...)
}

// placeOf finds a step that every installation has. Without the place of init a
// restore would begin a new cluster.
func placeOf(steps []step.Step, name string) int {
	i := slices.IndexFunc(steps, func(s step.Step) bool { return s.Name == name })
	if i < 0 {
		panic("an installation has no step " + name)
	}
	return i
}
