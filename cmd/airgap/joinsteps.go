package main

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/nodereport"
)

// joinSteps is the whole way of this host into the cluster, in order; stored
// says that its store needs no more room.
func (s *site) joinSteps(ctx context.Context, h *hub, a *admission, p ui.Progress) (steps []step.Step, stored bool, err error) {
	up, err := s.upgradeBefore(ctx, h.open, h.addr, false)
	if err != nil {
		return nil, false, err
	}
	if !s.servesRegistry() {
		return s.workerSteps(h, a, up, p), true, nil
	}
	v, err := h.view(ctx)
	if err != nil {
		return nil, false, err
	}
	s.toStore, err = registry.Store{Dir: storeDir}.Left(v, h.trusted...)
	return s.controlPlaneSteps(h, v, a, up, p), s.toStore == 0, err
}

// workerSteps has the steps of an upgrade, up, where this host is a node already and
// not as the bundle has it.
func (s *site) workerSteps(h *hub, a *admission, up []step.Step, p ui.Progress) []step.Step {
	steps := append(s.firstSteps(),
		filesStep("authority", "Trust the registry's authority", pkiDir, map[string][]byte{filepath.Base(registry.PKI{Dir: pkiDir}.CAFile()): h.ca}),
		filesStep("index", "Keep the signed index", indexDir, s.keptIndex(h)),
	)
	steps = append(append(steps, up...), s.nodeSteps(h.open, h.addr, p)...)
	steps = append(steps, s.memberSteps(h, a, up)...)
	return append(append(steps, s.labelSteps()...), s.upkeepStep(), s.nodeReportUnitStep(p))
}

// memberSteps make this host a node, or its kubelet the upgraded one.
func (s *site) memberSteps(h *hub, a *admission, up []step.Step) []step.Step {
	steps := []step.Step{
		kubeadm.Join(s.machine, s.config.Kubernetes, s.kubeNode(), h.material, a.ticket),
		kubeadm.AgreementStep(s.machine, nodereport.LocalKubelet().Driver),
		kubeadm.Permissions(s.machine, s.config.Kubernetes),
		s.noteStep("bundle-note", "Say which bundle this host is as", bundleNote),
	}
	if len(up) > 0 {
		steps = append([]step.Step{s.upgrade(false).Kubelet()}, steps...)
	}
	return steps
}

// controlPlaneSteps make this host the equal of the first one: it has the same
// keys, the whole bundle, and serves it.
func (s *site) controlPlaneSteps(h *hub, v *bundle.View, a *admission, up []step.Step, p ui.Progress) []step.Step {
	m := s.machine
	steps := append(s.firstSteps(), registry.AuthorityStep(registry.PKI{Dir: pkiDir}, h.ca, a.authorityKey))
	steps = append(steps, s.registrySteps(v, h.trusted, p)...)
	steps = append(append(steps, up...), s.nodeSteps(fromStore(s.index.ID(), h.trusted), s.registryAddr(), p)...)
	steps = append(steps, kubeadm.BeforeControlPlane(m, s.config.Kubernetes, a.encryptionKeys)...)
	steps = append(steps, s.memberSteps(h, a, up)...)
	steps = append(steps, kubeadm.ApproverStep(m), kubeadm.SpreadDNS(m), backup.Step(backups(), s.config.Backup.EncryptTo))
	steps = append(steps, s.labelSteps()...)
	return append(steps,
		s.upkeepStep(),
		s.nodeReportUnitStep(p),
		s.joinMaterialStep(v.Top()),
	)
}

// fromStore reads from the bundle in this host's store, which need not be there
// before the first read.
func fromStore(name string, trusted []*ecdsa.PublicKey) source {
	return func(ctx context.Context, path string) (io.ReadCloser, error) {
		v, err := registry.Store{Dir: storeDir}.Named(name, trusted...)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		r, err := fromView(v)(ctx, path)
		if err != nil {
			v.Close()
			return nil, err
		}
		return closing{r, v}, nil
	}
}

// closing closes the bundle with the file.
type closing struct {
	io.Reader
	io.Closer
}
