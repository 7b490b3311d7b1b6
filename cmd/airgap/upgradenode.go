package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/verify/nodereport"
)

// What an upgrade does on one host, whoever began it: airgap upgrade on the first
// control-plane host for itself, airgap join on the others.

// behind says in what this host, a node already, is not as the bundle has it, so that
// it has to be upgraded; "" for nothing.
func (s *site) behind(ctx context.Context) (string, error) {
	return s.machine.Behind(ctx, s.config.Kubernetes, s.kubeNode())
}

// mayUpgrade refuses to upgrade a host whose turn has not come: its pods are still
// there, or the API servers are not upgraded yet.
func (s *site) mayUpgrade(ctx context.Context) error {
	reason, err := s.behind(ctx)
	if err != nil || reason == "" {
		return err
	}
	turn, err := s.ownNote(ctx, upgradeNote)
	if err != nil {
		return err
	}
	if turn == s.index.ID() {
		return nil
	}
	return advice.Add(fmt.Errorf("this host is a node already, and has %s", reason),
		"airgap upgrade on %s, the first control-plane host, upgrades one host after the other, and says when it is this one's turn", s.config.Master().Name)
}

// refuseUpgrade keeps airgap install from what takes more care.
func (s *site) refuseUpgrade(ctx context.Context, dir string) error {
	reason, err := s.behind(ctx)
	if err != nil || reason == "" {
		return err
	}
	return advice.Add(fmt.Errorf("install %s: this cluster has %s", dir, reason), "airgap upgrade %s brings it there, one host after the other", dir)
}

// upgradeBefore are the steps of a host that is to be upgraded which come before all
// that a joining host does. The kubelet's package is not among them: it must not be
// newer than the API server.
func (s *site) upgradeBefore(ctx context.Context, from source, addr string, first bool) ([]step.Step, error) {
	reason, err := s.behind(ctx)
	if err != nil || reason == "" {
		return nil, err
	}
	steps := []step.Step{s.packagesFirst(from, addr)}
	if s.servesRegistry() {
		steps = append(steps, kubeadm.APIServerFiles(s.machine, s.config.Kubernetes))
	}
	return append(steps, s.upgrade(first).ControlPlane()), nil
}

func (s *site) upgrade(first bool) kubeadm.Upgrade {
	return kubeadm.Upgrade{Machine: s.machine, Config: s.config.Kubernetes, Node: s.kubeNode(), Facts: s.facts, First: first}
}

// packagesFirst are kubeadm's package and those that it may want with it.
func (s *site) packagesFirst(from source, addr string) step.Step {
	made := s.packagesOf(from, addr, func(p rpm.NEVRA) bool {
		return slices.Contains([]string{"kubeadm", "kubectl", "cri-tools", "kubernetes-cni"}, p.Name)
	})
	made.Name, made.Title = "packages-kubeadm", "Install the new kubeadm with dnf"
	return made
}

// prepareSteps get everything onto this host that its upgrade takes, while it goes on
// as it was.
func (s *site) prepareSteps(ctx context.Context, h *hub, v *bundle.View, p ui.Progress) ([]step.Step, error) {
	var steps []step.Step
	if s.servesRegistry() {
		record, err := s.preparing(ctx, h)
		if err != nil {
			return nil, err
		}
		steps = append([]step.Step{recordStep(record)}, s.registrySteps(v, h.trusted, p)...)
		steps = append(steps, backupBefore(s.index.ID()))
	}
	images, err := s.imagesStep()
	if err != nil {
		return nil, err
	}
	return append(steps, images, s.noteStep("prepared", "Say that this host is prepared", preparedNote)), nil
}

// preparing is what another control-plane host writes down of an upgrade, for the way
// back.
func (s *site) preparing(ctx context.Context, h *hub) (upgradeRecord, error) {
	record, err := readUpgradeRecord()
	if err != nil || record.under() && record.To.ID == s.index.ID() {
		return record, err
	}
	old, err := s.installedIndex(ctx, h.trusted)
	if err != nil {
		return record, err
	}
	return newUpgrade(old, s.index)
}

// imagesStep pulls what this host needs to come back, by the new bundle.
func (s *site) imagesStep() (step.Step, error) {
	names, err := bootstrapImages(s.config, s.node, s.index.Lock)
	if err != nil {
		return step.Step{}, err
	}
	digests := map[string]string{}
	for _, i := range s.index.Lock.Images {
		if slices.Contains(names, i.Name) {
			digests[i.Name] = i.Digest
		}
	}
	return kubeadm.ImagesStep(s.machine, digests), nil
}

// runPrepare gets onto this host, a node already, what its upgrade takes.
func (a *app) runPrepare(ctx context.Context, s *site, h *hub) error {
	if joined, err := s.machine.Joined(); err != nil || !joined {
		return cmp.Or(err, advice.Add(errors.New("prepare an upgrade: this host is no node"), "without --prepare it joins"))
	}
	release, err := lockHost()
	if err != nil {
		return err
	}
	defer release()
	var v *bundle.View
	if s.servesRegistry() {
		if v, err = h.view(ctx); err != nil {
			return err
		}
	}
	p := a.newProgress()
	steps, err := s.prepareSteps(ctx, h, v, p)
	if err != nil {
		return err
	}
	result, err := runSteps(ctx, steps, p)
	if err != nil {
		return advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	done := installed{Node: s.node.Name, Changed: result.Changed, Unchanged: result.Unchanged}
	return a.print(done, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: prepared (%d steps ran, %d held already); airgap upgrade on %s goes on\n", done.Node, done.Changed, done.Unchanged, s.config.Master().Name)
		return err
	})
}

// ownSteps upgrade the first control-plane host, which takes the new bundle from the
// stick.
func (u *upgrade) ownSteps(ctx context.Context) ([]step.Step, error) {
	s, from := u.site, fromView(u.view)
	steps := s.firstSteps()
	before, err := s.upgradeBefore(ctx, from, s.registryAddr(), true)
	if err != nil {
		return nil, err
	}
	if len(before) > 0 {
		before = append(before, u.drainStep(s.node))
	}
	steps = append(append(steps, before...), s.nodeSteps(from, s.registryAddr(), u.p)...)
	if len(before) > 0 {
		steps = append(steps, s.upgrade(true).Kubelet())
	}
	return append(steps,
		kubeadm.AgreementStep(s.machine, nodereport.LocalKubelet().Driver),
		kubeadm.Permissions(s.machine, s.config.Kubernetes),
		kubeadm.ApproverStep(s.machine),
		s.noteStep("bundle-note", "Say which bundle this host is as", bundleNote),
		s.upkeepStep(),
		s.nodeReportUnitStep(u.p),
		u.releaseStep(s.node)), nil
}
