// Package join brings another host into the cluster: the line that is typed there, what it asks
// the first host for, its steps.
package join

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify/nodereport"
)

// Steps is the whole way of this host into the cluster, in order; stored
// says that its store needs no more room.
func Steps(ctx context.Context, s *site.Site, h *Hub, a *Admission, p ui.Progress) (steps []step.Step, stored bool, err error) {
	up, err := UpgradeBefore(ctx, s, h.open, h.Addr, false)
	if err != nil {
		return nil, false, err
	}
	if !s.ServesRegistry() {
		return WorkerSteps(s, h, a, up, p), true, nil
	}
	v, err := h.View(ctx)
	if err != nil {
		return nil, false, err
	}
	s.ToStore, err = registry.Store{Dir: site.StoreDir}.Left(v, h.Trusted...)
	return ControlPlaneSteps(s, h, v, a, up, p), s.ToStore == 0, err
}

// WorkerSteps has the steps of an upgrade, up, where this host is a node already and
// not as the bundle has it.
func WorkerSteps(s *site.Site, h *Hub, a *Admission, up []step.Step, p ui.Progress) []step.Step {
	steps := append(nodesteps.FirstSteps(s),
		site.FilesStep("authority", "Trust the registry's authority", site.PKIDir, map[string][]byte{filepath.Base(trust.PKI{Dir: site.PKIDir}.CAFile()): h.CA}),
		site.FilesStep("index", "Keep the signed index", site.IndexDir, KeptIndex(s, h)),
	)
	steps = append(append(steps, up...), nodesteps.Steps(s, h.open, h.Addr, p)...)
	steps = append(steps, memberSteps(s, h, a, up)...)
	return append(append(steps, nodesteps.LabelSteps(s)...), nodesteps.UpkeepStep(s), nodesteps.NodeReportUnitStep(s, p))
}

// memberSteps make this host a node, or its kubelet the upgraded one.
func memberSteps(s *site.Site, h *Hub, a *Admission, up []step.Step) []step.Step {
	steps := []step.Step{
		kubeadm.Join(s.Machine, s.Config.Kubernetes, s.KubeNode(), h.Material, a.Ticket),
		kubeadm.AgreementStep(s.Machine, nodereport.LocalKubelet().Driver),
		kubeadm.Permissions(s.Machine, s.Config.Kubernetes),
		nodesteps.NoteStep(s, "bundle-note", "Say which bundle this host is as", site.BundleNote),
	}
	if len(up) > 0 {
		steps = append([]step.Step{Upgrade(s, false).Kubelet()}, steps...)
	}
	return steps
}

// ControlPlaneSteps make this host the equal of the first one: it has the same
// keys, the whole bundle, and serves it.
func ControlPlaneSteps(s *site.Site, h *Hub, v *bundle.View, a *Admission, up []step.Step, p ui.Progress) []step.Step {
	m := s.Machine
	steps := append(nodesteps.FirstSteps(s), registry.AuthorityStep(trust.PKI{Dir: site.PKIDir}, h.CA, a.authorityKey))
	steps = append(steps, nodesteps.RegistrySteps(s, v, h.Trusted, p)...)
	steps = append(append(steps, up...), nodesteps.Steps(s, fromStore(s.Index.ID(), h.Trusted), s.RegistryAddr(), p)...)
	steps = append(steps, kubeadm.BeforeControlPlane(m, s.Config.Kubernetes, a.encryptionKeys)...)
	steps = append(steps, memberSteps(s, h, a, up)...)
	steps = append(steps, kubeadm.ApproverStep(m), kubeadm.SpreadDNS(m), backup.Step(site.Backups(), s.Config.Backup.EncryptTo))
	steps = append(steps, nodesteps.LabelSteps(s)...)
	return append(steps,
		nodesteps.UpkeepStep(s),
		nodesteps.NodeReportUnitStep(s, p),
		MaterialStep(s, v.Top()),
	)
}

// fromStore reads from the bundle in this host's store, which need not be there
// before the first read.
func fromStore(name string, trusted []*ecdsa.PublicKey) nodesteps.Source {
	return func(ctx context.Context, path string) (io.ReadCloser, error) {
		v, err := registry.Store{Dir: site.StoreDir}.Named(name, trusted...)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		r, err := nodesteps.FromView(v)(ctx, path)
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
