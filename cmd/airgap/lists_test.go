package main

import (
	"bytes"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/removal"
	"airgap.dev/airgap/cluster/resetall"
	"airgap.dev/airgap/cluster/status"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/cluster/support"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/verify/result"
)

// TestNoListIsNull: an empty list is never null in JSON and YAML.
func TestNoListIsNull(t *testing.T) {
	for name, result := range map[string]any{
		"lock": bundle.Lock{Images: []bundle.Image{{Name: "x"}}}, "index": &bundle.Index{}, "facts": &facts.Facts{}, "report": preflight.Report{},
		"verdict": result.Report{}, "status": &status.Status{}, "bundles": []store.Bundle(nil), "join line": &join.Line{}, "none": (*join.Line)(nil),
		"removal": removal.Plan{NodePlan: &removal.NodePlan{}}, "removed": removal.Result{NodeResult: &removal.NodeResult{}}, "removals": removal.Plan{Nodes: []removal.NodePlan{{}}},
		"reset": resetall.Result{}, "resets": resetall.Forecast{}, "support bundles": support.AllCollected{},
	} {
		for _, format := range []string{asJSON, asYAML} {
			t.Run(name+" "+format, func(t *testing.T) {
				var out bytes.Buffer
				a := &app{stdout: &out, output: format}
				if err := a.print(result, nil); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(out.String(), "null") != (name == "none") {
					t.Errorf("printed\n%s", out.String())
				}
			})
		}
	}
}
