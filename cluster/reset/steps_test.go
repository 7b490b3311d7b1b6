package reset

import (
	"slices"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// sites are lines for airgap.yaml. Together the configurations have every step.
var sites = map[string]string{
	"default":             "",
	"CRI-O":               "runtime: {name: crio}\n",
	"existing registry":   "registry: {existing: {address: harbor.bank.example/airgap}}\n",
	"NVIDIA's packages":   "gpu: {branch: 580}\n",
	"driver of the site":  "gpu: {source: host}\n",
	"Calico":              "network: {plugin: calico}\n",
	"unchanged firewalld": "hostSettings: {swap: disable, firewalld: leave}\n",
	"tunnel checksums":    "hostSettings: {tunnelChecksum: software}\n",
}

// TestResetKnowsEveryStep: reset undoes all steps of install and join in their order, for any airgap.yaml. A
// step without an undo can be missing in the list.
func TestResetKnowsEveryStep(t *testing.T) {
	undone := Steps(false)
	used := map[string]bool{}
	for site, more := range sites {
		for command, steps := range installSteps(t, more) {
			last := -1
			for _, f := range steps {
				used[f.Name] = true
				at := slices.IndexFunc(undone, func(b step.Step) bool { return b.Name == f.Name })
				switch {
				case f.Undo == nil && at < 0:
				case at < 0:
					t.Errorf("%s, %s: the list of reset does not contain step %s", site, command, f.Name)
				case at <= last:
					t.Errorf("%s, %s: reset undoes step %s in another order", site, command, f.Name)
				case (f.Undo == nil) != (undone[at].Undo == nil):
					t.Errorf("%s, %s: step %s has an undo in only one list", site, command, f.Name)
				}
				last = max(last, at)
			}
		}
	}
	// Only some runs have these steps: a measured network, a restore, NVIDIA's installer.
	for _, name := range []string{"network-choice", "restored", "users", "gpu-runfile"} {
		used[name] = true
	}
	for _, b := range undone {
		if !used[b.Name] {
			t.Errorf("reset undoes step %s, which no command runs", b.Name)
		}
	}
}

// installSteps returns the steps of install and of both ways to join, by command.
func installSteps(t *testing.T, more string) map[string][]step.Step {
	t.Helper()
	c := sitetest.ClusterFrom(t, "packages:", more+"packages:", "control-plane]", "control-plane, worker, gpu]")
	s := &site.Site{Index: &bundle.Index{}, Config: c, Node: c.Nodes[0], Machine: site.ThisMachine()}
	// Steps that cannot be built without GPUs and a lock are in the lists anyway.
	first, _ := install.Steps(s, bundle.NewView(), nil, ui.Discard())
	worker, _ := join.WorkerSteps(s, &join.Server{}, nil, join.UpgradePart{}, ui.Discard())
	controlPlane, _ := join.ControlPlaneSteps(s, &join.Server{}, bundle.NewView(), nil, join.UpgradePart{}, ui.Discard())
	return map[string][]step.Step{"install": first, "join of a worker": worker, "join of a control-plane host": controlPlane}
}
