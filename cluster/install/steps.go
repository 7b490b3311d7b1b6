// Package install has the steps of the first host.
package install

import (
	"crypto/ecdsa"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/verify/nodereport"
)

// Steps is the whole installation of the first host, in order.
func Steps(s *site.Site, v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) ([]step.Step, error) {
	m, c := s.Machine, s.Config
	var l step.List
	l.Add(nodesteps.FirstSteps(s)...)
	l.Add(nodesteps.RegistrySteps(s, v, trusted, p)...)
	l.Extend(nodesteps.Steps(s, nodesteps.FromView(v), s.RegistryAddr(), p))
	l.Add(kubeadm.BeforeControlPlane(m, c.Kubernetes, nil)...)
	l.Add(
		kubeadm.Init(m, c.Kubernetes, s.KubeNode(), s.Facts),
		kubeadm.AgreementStep(m, nodereport.LocalKubelet().Driver),
		kubeadm.Permissions(m, c.Kubernetes),
		kubeadm.EtcdGuard(m),
		jointoken.ApproverStep(m.Machine),
		nodesteps.NoteStep(s, "bundle-note", "Record the bundle of this host", site.BundleNote))
	l.Add(ClusterSteps(s, v, p)...)
	return l.Steps()
}

// ClusterSteps returns the steps of the first host that create objects in the new cluster.
func ClusterSteps(s *site.Site, v *bundle.View, p ui.Progress) []step.Step {
	m, c := s.Machine, s.Config
	var steps []step.Step
	if c.Kubernetes.DNS == kubeadm.NoDNS {
		steps = append(steps, kubeadm.NoForwarding(m))
	}
	steps = append(steps, NetworkStep(s, nodesteps.FromView(v)), dataPlaneStep(s))
	steps = append(steps, nodesteps.DeviceSteps(s)...)
	steps = append(steps,
		backup.Step(site.Backups(), c.Backup.EncryptTo),
		nodesteps.UpkeepStep(s),
		nodesteps.VerifyReaderStep(s),
		nodesteps.NodeReportStep(s),
		nodesteps.NodeReportUnitStep(s, p),
		join.MaterialStep(s, v.Top()),
	)
	return append(steps, addonSteps(s, nodesteps.FromView(v))...)
}
