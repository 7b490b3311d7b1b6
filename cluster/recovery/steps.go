package recovery

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"path/filepath"
	"slices"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// steps returns the steps of an installation. Some use keys and data of the backup instead of new ones.
func (r Restoration) steps(v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) ([]step.Step, error) {
	s, m, k := r.Site, r.Site.Machine, r.Site.Config.Kubernetes
	steps, err := install.Steps(s, v, trusted, p)
	if err != nil {
		return nil, err
	}
	restoredSteps, err := r.restoredSteps()
	if err != nil {
		return nil, err
	}
	if k.EncryptionAtRest != encryption.NoEncryption {
		replaceStep(steps, encryption.Encryption(m.Machine, k.EncryptionAtRest, func(context.Context) ([]byte, error) { return r.From.keys[encryption.EncryptionFile], nil }))
	}
	replaceStep(steps, kubeadm.Restore(m, k, s.KubeNode(), s.Facts, kubeadm.Saved{Keys: r.From.keys, Snapshot: r.From.Snapshot()}))
	forgotten := upgraderecord.UnshareStep(func() (kubernetes.Interface, error) { return kube.Client(m.Machine, kube.AdminConf) })
	steps = insertAfter(steps, "kubeadm", leave.RevokeRestoredTokens(m.Member, r.From.Etcd.Revision), forgotten)
	return insertAfter(steps, "record", restoredSteps...), nil
}

// Again returns the steps for a host that has left the same cluster: the files that all hosts share are
// still present.
func (r Restoration) Again(v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) ([]step.Step, error) {
	s, m, k := r.Site, r.Site.Machine, r.Site.Config.Kubernetes
	steps, err := install.Steps(s, v, trusted, p)
	if err != nil {
		return nil, err
	}
	replaceStep(steps, kubeadm.Restore(m, k, s.KubeNode(), s.Facts, kubeadm.Saved{Keys: r.From.keys, Snapshot: r.From.Snapshot()}))
	return insertAfter(steps, "kubeadm", leave.RevokeRestoredTokens(m.Member, r.From.Etcd.Revision)), nil
}

// restoredSteps returns the steps that an installation does not have.
func (r Restoration) restoredSteps() ([]step.Step, error) {
	pki := trust.PKI{Dir: site.PKIDir, Group: site.ServiceGroup}
	history, err := r.historyStep()
	steps := []step.Step{
		history,
		r.untilJoined(registry.AuthorityStep(pki, r.From.ca, func(context.Context) ([]byte, error) { return r.From.caKey, nil })),
	}
	if users, err := r.From.File(site.UsersFile); err == nil {
		steps = append(steps, r.untilJoined(registry.UsersStep(registry.Users{File: site.UsersFile, Group: site.ServiceGroup}, users)))
	}
	return steps, err
}

// historyStep records the backup, so that a second run recognizes its own work, and keeps the journal of
// the old host.
func (r Restoration) historyStep() (step.Step, error) {
	about, err := json.MarshalIndent(restoredFrom{r.From.Sums, r.From.Node, r.From.Taken}, "", "  ")
	files := map[string][]byte{restoredName: about}
	if journal, missing := r.From.File(site.JournalFile); missing == nil {
		files[filepath.Base(site.JournalFile)] = journal
	}
	return site.FilesStep("restored", "Record the backup and the journal of its host", site.RestoredDir, files), err
}

// untilJoined returns a step that runs only until this host is in the cluster. Later its result may
// change, and a second run must not replace it.
func (r Restoration) untilJoined(s step.Step) step.Step {
	done := s.Done
	s.Done = func(ctx context.Context) (bool, error) {
		if joined, err := r.Site.Machine.Joined(); joined || err != nil {
			return joined, err
		}
		return done(ctx)
	}
	return s
}

// replaceStep replaces the step with the same name.
func replaceStep(steps []step.Step, s step.Step) { steps[indexOf(steps, s.Name)] = s }

// insertAfter inserts steps after the step with this name.
func insertAfter(steps []step.Step, name string, more ...step.Step) []step.Step {
	return slices.Insert(steps, indexOf(steps, name)+1, more...)
}

// indexOf returns the index of a step. It panics if an installation has no such step: without the step
// kubeadm, a restore would create a new cluster.
func indexOf(steps []step.Step, name string) int {
	i := slices.IndexFunc(steps, func(s step.Step) bool { return s.Name == name })
	if i < 0 {
		panic("an installation has no step " + name)
	}
	return i
}
