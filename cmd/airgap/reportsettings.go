package main

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/nodereport"
)

// reportSettings are what the unit on this host has to look at. install and join
// write them, so that it need know nothing of bundles and their signatures.
type reportSettings struct {
	Node string `json:"node"`
	// APIServer is the balancer's, as HOST:PORT: on a control-plane host the
	// kubelet asks its own API server, whose failure would hold back the report of it.
	APIServer  string                `json:"apiServer"`
	Etcd       bool                  `json:"etcd"` // a member of it runs here
	Units      []string              `json:"units"`
	Pinned     []string              `json:"pinned"` // images
	Locked     []rpm.NEVRA           `json:"locked"` // packages
	Registries []nodereport.Upstream `json:"registries"`
	Own        *nodereport.Upstream  `json:"own,omitempty"` // the registry of this host
	GPU        *gpuSettings          `json:"gpu,omitempty"` // on a node with the role gpu
}

func (s *site) reportSettings() (reportSettings, error) {
	pinned, err := bootstrapImages(s.config, s.node, s.index.Lock)
	if err != nil {
		return reportSettings{}, err
	}
	locked, err := s.versionLock()
	if err != nil {
		return reportSettings{}, err
	}
	units := []string{"kubelet.service", "containerd.service"}
	if s.config.Runtime.CRIO() {
		units[1] = "crio.service"
	}
	var own *nodereport.Upstream
	if s.servesRegistry() {
		units = append(units, registry.UnitName, registry.RenewTimer)
		own = &nodereport.Upstream{Address: s.registryOf(s.node), Node: s.node.Name, CAFile: registry.PKI{Dir: pkiDir}.CAFile()}
	}
	if s.node.Has(config.ControlPlane) {
		units = append(units, kubeadm.ApproverUnit, backup.Timer)
	}
	units = append(units, upkeep.Timers(s.node.Has(config.ControlPlane))...)
	cards, err := s.gpuSettings()
	if err != nil {
		return reportSettings{}, err
	}
	return reportSettings{
		Node: s.node.Name, APIServer: s.config.Kubernetes.ControlPlaneEndpoint, Etcd: s.node.Has(config.ControlPlane),
		Units: units, Pinned: pinned, Locked: locked.Packages, Registries: s.upstreams(), Own: own, GPU: cards,
	}, nil
}

// upstreams are the registries that the runtime asks.
func (s *site) upstreams() []nodereport.Upstream {
	if e := s.config.Registry.Existing; e != nil {
		own := nodereport.Upstream{Address: e.Address}
		if e.CA != "" {
			own.CAFile = existingCAFile
		}
		return []nodereport.Upstream{own}
	}
	var all []nodereport.Upstream
	for _, n := range s.registryHosts() {
		all = append(all, nodereport.Upstream{Address: s.registryOf(n), Node: n.Name, CAFile: registry.PKI{Dir: pkiDir}.CAFile()})
	}
	return all
}

// nodeReportStep lets hosts report to the cluster.
func (s *site) nodeReportStep() step.Step {
	var names []string
	for _, n := range s.config.Nodes { // also of hosts that have yet to join, none that were removed
		names = append(names, n.Name)
	}
	return nodereport.Step(names, func() (*rest.Config, error) { return s.machine.RESTConfig(kubeadm.AdminConf) })
}

// reported is patient with an API server that has just started, as an upgraded kubelet
// starts them: until it knows who may read what it says no.
func reported(ctx context.Context, client dynamic.Interface, node string) (report *nodereport.NodeReport, err error) {
	_ = wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		report, err = nodereport.Read(ctx, client, node)
		return !apierrors.IsForbidden(err), nil
	})
	return report, err
}

// upkeepStep starts the timers of this host.
func (s *site) upkeepStep() step.Step {
	return upkeep.Step(host.Local{}, upkeep.MetricsDir, upkeep.Timers(s.node.Has(config.ControlPlane)))
}

// verifyReaderStep brings the ClusterRole for a user who may verify and change nothing.
func (s *site) verifyReaderStep() step.Step {
	return manifests.Applied{
		Connect: func() (*rest.Config, error) { return s.machine.RESTConfig(kubeadm.AdminConf) },
		Objects: func(context.Context) ([]*unstructured.Unstructured, error) { return verify.ReaderObjects(), nil },
	}.Step("verify-reader", "Define who may verify and change nothing")
}

// nodeReportUnitStep has this host report, of what is on it by then. It says when cards
// are lost.
func (s *site) nodeReportUnitStep(p ui.Progress) step.Step {
	unit := s.reportUnit()
	done, asked := unit.Done, false
	unit.Done = func(ctx context.Context) (bool, error) {
		if lost := s.lostCards(); lost != "" && !asked {
			p.Say("warning: %s", lost)
		}
		asked = true
		return done(ctx)
	}
	return unit
}

func (s *site) reportUnit() step.Step {
	return later(nodereport.ServiceStep(nodereport.Service{Host: host.Local{}, SettingsFile: reportFile}), func() (step.Step, error) {
		settings, err := s.reportSettings()
		if err != nil {
			return step.Step{}, err
		}
		text, err := json.MarshalIndent(settings, "", "  ")
		return nodereport.ServiceStep(nodereport.Service{
			Host: host.Local{}, SettingsFile: reportFile, Settings: append(text, '\n'),
			Reported: func(ctx context.Context) (*nodereport.NodeReport, error) {
				client, _, err := settings.client()
				if err != nil {
					return nil, err
				}
				return reported(ctx, client, settings.Node)
			},
		}), err
	})
}
