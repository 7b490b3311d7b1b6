package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/verify/nodereport"
)

// runPrepare gets onto this host, a node already, what its upgrade takes.
func (a *app) runPrepare(ctx context.Context, s *site.Site, h *join.Hub) error {
	if joined, err := s.Machine.Joined(); err != nil || !joined {
		return cmp.Or(err, advice.Add(errors.New("prepare an upgrade: this host is no node"), "without --prepare it joins"))
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	var v *bundle.View
	if s.ServesRegistry() {
		if v, err = h.View(ctx); err != nil {
			return err
		}
	}
	p := a.newProgress()
	steps, err := join.PrepareSteps(ctx, s, h, v, p)
	if err != nil {
		return err
	}
	result, err := runSteps(ctx, steps, p)
	if err != nil {
		return advice.Add(err, "run the same command again when it is mended: finished steps are not repeated")
	}
	done := installed{Node: s.Node.Name, Changed: result.Changed, Unchanged: result.Unchanged}
	return a.print(done, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: prepared (%d steps ran, %d held already); airgap upgrade on %s goes on\n", done.Node, done.Changed, done.Unchanged, s.Config.Master().Name)
		return err
	})
}

// ownSteps upgrade the first control-plane host, which takes the new bundle from the
// stick.
func (u *upgrade) ownSteps(ctx context.Context) ([]step.Step, error) {
	s, from := u.site, nodesteps.FromView(u.view)
	steps := nodesteps.FirstSteps(s)
	before, err := join.UpgradeBefore(ctx, s, from, s.RegistryAddr(), true)
	if err != nil {
		return nil, err
	}
	if len(before) > 0 {
		before = append(before, u.drainStep(s.Node))
	}
	steps = append(append(steps, before...), nodesteps.Steps(s, from, s.RegistryAddr(), u.p)...)
	if len(before) > 0 {
		steps = append(steps, join.Upgrade(s, true).Kubelet())
	}
	return append(steps,
		kubeadm.AgreementStep(s.Machine, nodereport.LocalKubelet().Driver),
		kubeadm.Permissions(s.Machine, s.Config.Kubernetes),
		kubeadm.ApproverStep(s.Machine),
		nodesteps.NoteStep(s, "bundle-note", "Say which bundle this host is as", site.BundleNote),
		nodesteps.UpkeepStep(s),
		nodesteps.NodeReportUnitStep(s, u.p),
		u.releaseStep(s.Node)), nil
}
