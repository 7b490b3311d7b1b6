package upgrade

import (
	"context"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/verify/nodereport"
)

// ownSteps upgrade the first control-plane host, which takes the new bundle from the
// stick.
func (u *upgrade) ownSteps(ctx context.Context) ([]step.Step, error) {
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
		joincode.ApproverStep(s.Machine.Machine),
		nodesteps.NoteStep(s, "bundle-note", "Say which bundle this host is as", site.BundleNote),
		nodesteps.UpkeepStep(s),
		nodesteps.NodeReportUnitStep(s, u.p),
		u.releaseStep(s.Node))
	return l.Steps()
}
