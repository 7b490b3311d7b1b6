// Package join adds another host to the cluster: the join command, its requests to the first
// host, its steps.
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
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify/nodereport"
)

// UpgradePart has the steps of an upgrade on this host between the steps of a join. It is empty
// for a join.
type UpgradePart struct {
	Before  []step.Step // the packages and settings of a node
	Kubelet []step.Step // before kubeadm and the later steps
}

// Steps is the whole way of this host into the cluster, in order; left is how many bytes its
// store still needs.
func Steps(ctx context.Context, s *site.Site, h *Server, a *Admission, up UpgradePart, p ui.Progress) (steps []step.Step, left int64, err error) {
	if !s.ServesRegistry() {
		steps, err := WorkerSteps(s, h, a, up, p)
		return steps, 0, err
	}
	v, err := h.View(ctx)
	if err != nil {
		return nil, 0, err
	}
	if left, err = (registry.Store{Dir: site.StoreDir}).Left(v, h.Trusted...); err != nil {
		return nil, 0, err
	}
	steps, err = ControlPlaneSteps(s, h, v, a, up, p)
	return steps, left, err
}

// WorkerSteps make this host a node that has only workloads.
func WorkerSteps(s *site.Site, h *Server, a *Admission, up UpgradePart, p ui.Progress) ([]step.Step, error) {
	var l step.List
	l.Add(nodesteps.FirstSteps(s)...)
	l.Add(
		site.FilesStep("authority", "Trust the registry's authority", site.PKIDir, map[string][]byte{filepath.Base(trust.PKI{Dir: site.PKIDir}.CAFile()): h.CA}),
		site.FilesStep("index", "Keep the signed index", site.IndexDir, KeptIndex(s, h)),
	)
	l.Add(up.Before...)
	l.Extend(nodesteps.Steps(s, h.Open, h.Addr, p))
	l.Add(up.Kubelet...)
	l.Add(memberSteps(s, h, a)...)
	l.Add(nodesteps.LabelSteps(s)...)
	l.Add(nodesteps.UpkeepStep(s), nodesteps.NodeReportUnitStep(s, p))
	return l.Steps()
}

// memberSteps make this host a node.
func memberSteps(s *site.Site, h *Server, a *Admission) []step.Step {
	return []step.Step{
		kubeadm.Join(s.Machine, s.Config.Kubernetes, s.KubeNode(), h.Material, a.ValidatedToken),
		kubeadm.AgreementStep(s.Machine, nodereport.LocalKubelet().Driver),
		kubeadm.Permissions(s.Machine, s.Config.Kubernetes),
		nodesteps.NoteStep(s, "bundle-note", "Record the bundle of this host", site.BundleNote),
	}
}

// ControlPlaneSteps make this host the equal of the first one: it has the same
// keys, the whole bundle, and serves it.
func ControlPlaneSteps(s *site.Site, h *Server, v *bundle.View, a *Admission, up UpgradePart, p ui.Progress) ([]step.Step, error) {
	m := s.Machine
	var l step.List
	l.Add(nodesteps.FirstSteps(s)...)
	l.Add(registry.AuthorityStep(trust.PKI{Dir: site.PKIDir}, h.CA, a.authorityKey))
	l.Add(nodesteps.RegistrySteps(s, v, h.Trusted, p)...)
	l.Add(up.Before...)
	l.Extend(nodesteps.Steps(s, fromStore(s.Index.ID(), h.Trusted), s.RegistryAddr(), p))
	l.Add(kubeadm.BeforeControlPlane(m, s.Config.Kubernetes, a.encryptionKeys)...)
	l.Add(up.Kubelet...)
	l.Add(memberSteps(s, h, a)...)
	l.Add(kubeadm.EtcdGuard(m))
	l.Add(jointoken.ApproverStep(m.Machine), drain.SpreadDNS(m.Machine), backup.Step(site.Backups(), s.Config.Backup.EncryptTo))
	l.Add(nodesteps.LabelSteps(s)...)
	l.Add(nodesteps.UpkeepStep(s), nodesteps.NodeReportUnitStep(s, p), MaterialStep(s, v.Top()))
	return l.Steps()
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
