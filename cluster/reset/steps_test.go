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

// sites are configurations that together have every step: what a line adds to airgap.yaml.
var sites = map[string]string{
	"plain":             "",
	"CRI-O":             "runtime: {name: crio}\n",
	"a site's registry": "registry: {existing: {address: harbor.bank.example/airgap}}\n",
	"NVIDIA's packages": "gpu: {branch: 580}\n",
	"the site's driver": "gpu: {source: host}\n",
	"Calico":            "network: {plugin: calico}\n",
	"settings left":     "hostSettings: {swap: disable, firewalld: leave}\n",
}

// TestResetKnowsEveryStep: what install and join do, reset takes back, in
// their order, whatever airgap.yaml says; a step without a way back need not be there.
func TestResetKnowsEveryStep(t *testing.T) {
	back := Steps(false)
	used := map[string]bool{}
	for site, more := range sites {
		for command, steps := range forth(t, more) {
			last := -1
			for _, f := range steps {
				used[f.Name] = true
				at := slices.IndexFunc(back, func(b step.Step) bool { return b.Name == f.Name })
				switch {
				case f.Undo == nil && at < 0:
				case at < 0:
					t.Errorf("%s, %s: reset does not know step %s", site, command, f.Name)
				case at <= last:
					t.Errorf("%s, %s: reset takes step %s back in another order", site, command, f.Name)
				case (f.Undo == nil) != (back[at].Undo == nil):
					t.Errorf("%s, %s: step %s has an undo on one side only", site, command, f.Name)
				}
				last = max(last, at)
			}
		}
	}
	// What only some runs do: a measured network, a restore, NVIDIA's installer.
	for _, name := range []string{"network-choice", "restored", "users", "gpu-runfile"} {
		used[name] = true
	}
	for _, b := range back {
		if !used[b.Name] {
			t.Errorf("reset takes back step %s, which nothing does", b.Name)
		}
	}
}

// forth returns the steps of install and of both ways to join, by command.
func forth(t *testing.T, more string) map[string][]step.Step {
	t.Helper()
	c := sitetest.ClusterFrom(t, "packages:", more+"packages:", "control-plane]", "control-plane, worker, gpu]")
	s := &site.Site{Index: &bundle.Index{}, Config: c, Node: c.Nodes[0], Machine: site.ThisMachine()}
	// What cannot be built for want of cards and a lock is in the lists all the same.
	first, _ := install.Steps(s, bundle.NewView(), nil, ui.Discard())
	worker, _ := join.WorkerSteps(s, &join.Hub{}, nil, join.UpgradePart{}, ui.Discard())
	master, _ := join.ControlPlaneSteps(s, &join.Hub{}, bundle.NewView(), nil, join.UpgradePart{}, ui.Discard())
	return map[string][]step.Step{"install": first, "join of a worker": worker, "join of a control-plane host": master}
}
