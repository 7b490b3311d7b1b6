package report

import (
	"context"
	"strings"
	"unicode/utf8"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/verify/nodereport"
)

// BootSettings are the requirements of this node for the next boot of its host.
type BootSettings struct {
	Kubernetes    string             `json:"kubernetes"` // its version
	CgroupV1      bool               `json:"cgroupV1,omitempty"`
	ProxyMode     string             `json:"proxyMode"`
	PodSubnet     string             `json:"podSubnet"`
	ServiceSubnet string             `json:"serviceSubnet"`
	Network       cni.Needs          `json:"network"`
	Checks        preflight.Settings `json:"checks,omitempty"` // of preflight, in airgap.yaml
}

// nextBootPart is collected again at once if one of the usual files is changed.
func (s Settings) nextBootPart(h host.Host) nodereport.Part {
	return nodereport.Part{
		Name: "nextBoot", Every: rarely, Limit: slow,
		Files: []string{"/etc/fstab", "/etc/selinux/config", "/etc/modprobe.d", "/etc/modules-load.d", "/etc/systemd/system"},
		Look: func(ctx context.Context, r *nodereport.Report) (err error) {
			r.NextBoot, err = s.nextBoot(ctx, h)
			return err
		},
	}
}

const unknownFix = "run the command or read the file of the message as root, and repair it; then run systemctl restart airgap-node-report"

func (s Settings) nextBoot(ctx context.Context, h host.Host) (*nodereport.NextBoot, error) {
	gathered, err := facts.GatherNextBoot(ctx, h)
	if err != nil {
		return nil, err
	}
	found := &nodereport.NextBoot{}
	for _, e := range preflight.NextBoot(gathered, s.bootWant()) {
		if e.Status == preflight.Error {
			e.Want, e.Fix = "a known state", unknownFix
		}
		found.Problems = append(found.Problems, nodereport.BootProblem{Check: e.ID, Saw: limited(e.Found), Want: limited(e.Want), Fix: limited(e.Fix)})
	}
	return found, nil
}

// bootWant has the requirements of a node that runs: airgap turns no swap off and installs no package
// before the next boot.
func (s Settings) bootWant() preflight.Want {
	b := s.NextBoot
	return preflight.Want{
		Roles: s.roles(), KubernetesVersion: b.Kubernetes, AllowCgroupV1: b.CgroupV1, ProxyMode: b.ProxyMode, CRIO: s.crio(),
		NodeName: s.Node, NodeAddress: s.Address, PodSubnet: b.PodSubnet, ServiceSubnet: b.ServiceSubnet, Network: b.Network, Site: preflight.Config{Checks: b.Checks},
		SysctlFile: settings.SysctlFile, LoadedAtBoot: settings.LoadedAtBoot(b.Network.Modules),
	}
}

// limited keeps the report small: names in the host's files can be long.
func limited(text string) string {
	const most = 1000
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimSpace(text[:end]) + " …"
}
