package reset

import (
	"slices"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// TestResetKnowsEveryStep: what install and join do, reset takes back, in
// their order; a step without a way back need not be there.
func TestResetKnowsEveryStep(t *testing.T) {
	c, err := config.Parse("airgap.yaml", []byte(`apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: 1.36.3}
nodes: [{name: node1, address: 192.0.2.11, roles: [control-plane]}]
packages: {os: el9, repositories: [{name: baseos, baseURL: "https://dl.example.com/", gpgKeys: ["https://dl.example.com/key"]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	s := &site.Site{Index: &bundle.Index{}, Config: c, Node: c.Nodes[0], Machine: site.ThisMachine()}
	back := Steps(false)
	for command, steps := range map[string][]step.Step{
		"install":                      install.Steps(s, bundle.NewView(), nil, ui.Discard()),
		"join of a worker":             join.WorkerSteps(s, &join.Hub{}, nil, nil, ui.Discard()),
		"join of a control-plane host": join.ControlPlaneSteps(s, &join.Hub{}, bundle.NewView(), nil, nil, ui.Discard()),
	} {
		last := -1
		for _, forth := range steps {
			at := slices.IndexFunc(back, func(b step.Step) bool { return b.Name == forth.Name })
			switch {
			case forth.Undo == nil && at < 0:
			case at < 0:
				t.Errorf("%s: reset does not know step %s", command, forth.Name)
			case at <= last:
				t.Errorf("%s: reset takes step %s back in another order", command, forth.Name)
			case (forth.Undo == nil) != (back[at].Undo == nil):
				t.Errorf("%s: step %s has an undo on one side only", command, forth.Name)
			}
			last = max(last, at)
		}
	}
}
