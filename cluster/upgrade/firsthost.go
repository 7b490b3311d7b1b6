package upgrade

import (
	"context"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/verify/nodereport"
)

// firstHostSteps returns the steps that upgrade the first control-plane host. It reads the new bundle
// from the USB drive.
func (u *upgrade) firstHostSteps(ctx context.Context) ([]step.Step, error) {
	s, from := u.site, nodesteps.FromView(u.view)
	var l step.List
	l.Add(nodesteps.FirstSteps(s)...)
	before, err := stepsBefore(ctx, s, from, s.RegistryAddr(), true)
	if err != nil {
		return nil, err
	}
	if len(before) > 0 {
		before = append(before, u.drainStep(s.Node))
	}
	l.Add(before...)
	l.Extend(nodesteps.Steps(s, from, s.RegistryAddr(), u.p))
	if len(before) > 0 {
		l.Add(kubeadmPart(s, true).Kubelet())
	}
	l.Add(
		kubeadm.AgreementStep(s.Machine, nodereport.LocalKubelet().Driver),
		kubeadm.Permissions(s.Machine, s.Config.Kubernetes),
		kubeadm.EtcdGuard(s.Machine),
		jointoken.ApproverStep(s.Machine.Machine),
		nodesteps.NoteStep(s, "bundle-note", "Record the bundle of this host", site.BundleNote),
		nodesteps.UpkeepStep(s),
		nodesteps.NodeReportUnitStep(s, u.p),
		u.uncordonStep(s.Node))
	return l.Steps()
}
