package join

import (
	"context"
	"fmt"
	"slices"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
)

// MayUpgrade refuses to upgrade a host whose turn has not come: its pods are still
// there, or the API servers are not upgraded yet.
func MayUpgrade(ctx context.Context, s *site.Site) error {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return err
	}
	turn, err := s.OwnNote(ctx, site.UpgradeNote)
	if err != nil {
		return err
	}
	if turn == s.Index.ID() {
		return nil
	}
	return advice.Add(fmt.Errorf("this host is a node already, and has %s", reason),
		"airgap upgrade on %s, the first control-plane host, upgrades one host after the other, and says when it is this one's turn", s.Config.Master().Name)
}

// UpgradeBefore are the steps of a host that is to be upgraded which come before all
// that a joining host does. The kubelet's package is not among them: it must not be
// newer than the API server.
func UpgradeBefore(ctx context.Context, s *site.Site, from nodesteps.Source, addr string, first bool) ([]step.Step, error) {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return nil, err
	}
	steps := []step.Step{packagesFirst(s, from, addr)}
	if s.ServesRegistry() {
		steps = append(steps, kubeadm.APIServerFiles(s.Machine, s.Config.Kubernetes))
	}
	return append(steps, Upgrade(s, first).ControlPlane()), nil
}

// Upgrade returns kubeadm's part of this host's upgrade; first is for the first control-plane host.
func Upgrade(s *site.Site, first bool) kubeadm.Upgrade {
	return kubeadm.Upgrade{Machine: s.Machine, Config: s.Config.Kubernetes, Node: s.KubeNode(), Facts: s.Facts, First: first}
}

// packagesFirst are kubeadm's package and those that it may want with it.
func packagesFirst(s *site.Site, from nodesteps.Source, addr string) step.Step {
	made := nodesteps.PackagesOf(s, from, addr, func(p rpm.NEVRA) bool {
		return slices.Contains([]string{"kubeadm", "kubectl", "cri-tools", "kubernetes-cni"}, p.Name)
	})
	made.Name, made.Title = "packages-kubeadm", "Install the new kubeadm with dnf"
	return made
}

// PrepareSteps get everything onto this host that its upgrade takes, while it goes on
// as it was.
func PrepareSteps(ctx context.Context, s *site.Site, h *Hub, v *bundle.View, p ui.Progress) ([]step.Step, error) {
	var steps []step.Step
	if s.ServesRegistry() {
		record, err := preparing(ctx, s, h)
		if err != nil {
			return nil, err
		}
		steps = append([]step.Step{upgraderecord.RecordStep(record)}, nodesteps.RegistrySteps(s, v, h.Trusted, p)...)
		steps = append(steps, upgraderecord.BackupBefore(s.Index.ID()))
	}
	images, err := ImagesStep(s)
	if err != nil {
		return nil, err
	}
	return append(steps, images, nodesteps.NoteStep(s, "prepared", "Say that this host is prepared", site.PreparedNote)), nil
}

// preparing is what another control-plane host writes down of an upgrade, for the way
// back.
func preparing(ctx context.Context, s *site.Site, h *Hub) (upgraderecord.Record, error) {
	record, err := upgraderecord.Read()
	if err != nil || record.Under() && record.To.ID == s.Index.ID() {
		return record, err
	}
	old, err := s.InstalledIndex(ctx, h.Trusted)
	if err != nil {
		return record, err
	}
	return upgraderecord.New(old, s.Index)
}

// ImagesStep pulls what this host needs to come back, by the new bundle.
func ImagesStep(s *site.Site) (step.Step, error) {
	names, err := nodesteps.BootstrapImages(s.Config, s.Node, s.Index.Lock)
	if err != nil {
		return step.Step{}, err
	}
	digests := map[string]string{}
	for _, i := range s.Index.Lock.Images {
		if slices.Contains(names, i.Name) {
			digests[i.Name] = i.Digest
		}
	}
	return kubeadm.ImagesStep(s.Machine, digests), nil
}
