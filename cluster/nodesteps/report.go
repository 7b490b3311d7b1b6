package nodesteps

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/nodereport"
)

// Settings returns the settings of this host's node report.
func Settings(s *site.Site) (report.Settings, error) {
	pinned, err := BootstrapImages(s.Config, s.Node, s.Index.Lock)
	if err != nil {
		return report.Settings{}, err
	}
	locked, err := VersionLock(s)
	if err != nil {
		return report.Settings{}, err
	}
	units := []string{"kubelet.service", "containerd.service"}
	if s.Config.Runtime.CRIO() {
		units[1] = "crio.service"
	}
	var own *nodereport.Upstream
	if s.ServesRegistry() {
		units = append(units, registry.UnitName, registry.RenewTimer)
		own = &nodereport.Upstream{Address: s.RegistryOf(s.Node), Node: s.Node.Name, CAFile: trust.PKI{Dir: site.PKIDir}.CAFile()}
	}
	if s.Node.Has(config.ControlPlane) {
		units = append(units, jointoken.ApproverUnit, backup.Timer)
	}
	units = append(units, upkeep.Timers(s.Node.Has(config.ControlPlane))...)
	cards, err := gpuSettings(s)
	if err != nil {
		return report.Settings{}, err
	}
	var times *nodereport.EtcdTimes
	if s.Node.Has(config.ControlPlane) {
		heartbeat, election := s.Config.Kubernetes.EtcdMillis()
		times = &nodereport.EtcdTimes{Heartbeat: heartbeat, Election: election}
	}
	return report.Settings{
		Node: s.Node.Name, Address: s.Node.Address, Firewall: wantedFirewall(s), APIServer: s.Config.Kubernetes.ControlPlaneEndpoint, Etcd: s.Node.Has(config.ControlPlane),
		Units: units, Pinned: pinned, Locked: locked.Packages, Registries: upstreams(s), Own: own, GPU: cards, NextBoot: bootSettings(s), EtcdTimes: times,
	}, nil
}

// upstreams are the registries that the runtime asks.
func upstreams(s *site.Site) []nodereport.Upstream {
	if e := s.Config.Registry.Existing; e != nil {
		own := nodereport.Upstream{Address: e.Address}
		if e.CA != "" {
			own.CAFile = site.ExistingCAFile
		}
		return []nodereport.Upstream{own}
	}
	var all []nodereport.Upstream
	for _, n := range s.RegistryHosts() {
		all = append(all, nodereport.Upstream{Address: s.RegistryOf(n), Node: n.Name, CAFile: trust.PKI{Dir: site.PKIDir}.CAFile()})
	}
	return all
}

// NodeReportStep lets hosts report to the cluster.
func NodeReportStep(s *site.Site) step.Step {
	var names []string
	for _, n := range s.Config.Nodes { // also of hosts that have yet to join, none that were removed
		names = append(names, n.Name)
	}
	return nodereport.Step(names, func() (*rest.Config, error) { return kube.RESTConfig(s.Machine.Machine, kube.AdminConf) })
}

// UpkeepStep starts the timers of this host.
func UpkeepStep(s *site.Site) step.Step {
	return upkeep.Step(host.Local{}, upkeep.MetricsDir, upkeep.Timers(s.Node.Has(config.ControlPlane)))
}

// VerifyReaderStep creates the ClusterRole for users who may only verify.
func VerifyReaderStep(s *site.Site) step.Step {
	return manifests.Applied{
		Connect: func() (*rest.Config, error) { return kube.RESTConfig(s.Machine.Machine, kube.AdminConf) },
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) { return verify.ReaderObjects(), nil },
	}.Step("verify-reader", "Create the ClusterRole for read-only verification")
}

// NodeReportUnitStep starts the node report of this host with its current components. It reports lost
// GPUs.
func NodeReportUnitStep(s *site.Site, p ui.Progress) step.Step {
	unit := reportUnit(s)
	done, asked := unit.Done, false
	unit.Done = func(ctx context.Context) (bool, error) {
		if lost := lostCards(s); lost != "" && !asked {
			p.Say("warning: %s", lost)
		}
		asked = true
		return done(ctx)
	}
	return unit
}

func reportUnit(s *site.Site) step.Step {
	return later(nodereport.ServiceStep(nodereport.Service{Host: host.Local{}, SettingsFile: site.ReportFile}), func() (step.Step, error) {
		settings, err := Settings(s)
		if err != nil {
			return step.Step{}, err
		}
		text, err := json.MarshalIndent(settings, "", "  ")
		return nodereport.ServiceStep(nodereport.Service{
			Host: host.Local{}, SettingsFile: site.ReportFile, Settings: append(text, '\n'),
			Reported: func(ctx context.Context) (*nodereport.NodeReport, error) {
				client, _, err := settings.Client()
				if err != nil {
					return nil, err
				}
				return report.Reported(ctx, client, settings.Node)
			},
		}), err
	})
}

// bootSettings has the requirements of this node for the next boot.
func bootSettings(s *site.Site) *report.BootSettings {
	c := s.Config
	return &report.BootSettings{
		Kubernetes: c.Kubernetes.Version, CgroupV1: c.Kubernetes.AllowsCgroupV1(), ProxyMode: c.Kubernetes.ProxyMode(s.Facts),
		PodSubnet: c.Kubernetes.PodSubnet, ServiceSubnet: c.Kubernetes.ServiceSubnet, Network: cni.NeedsOf(c.Network), Checks: c.Preflight.Checks,
	}
}
