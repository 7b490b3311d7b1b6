package result_test

import (
	"os"
	"time"

	"airgap.dev/airgap/verify/result"
)

func ExampleReport_WriteText() {
	report := result.Report{
		Took:  7 * time.Second,
		Rules: []result.RuleResult{{ID: "nodes-ready", Title: "Nodes are Ready", Outcome: result.Broken, Findings: 1}},
		Findings: []result.Finding{{
			Rule: "nodes-ready", Object: "Node w1", Saw: "it has not joined", Want: "Ready",
			Since: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), Fix: "run airgap join on it",
		}},
		Counts: result.Counts{Nodes: 1, Pods: 9, Workloads: 3, Images: 8},
	}
	_ = report.WriteText(os.Stdout)
	// Output:
	// broken  Nodes are Ready
	//         Node w1: it has not joined
	//           want: Ready, broken since 08:00:00
	//           fix:  run airgap join on it
	//
	// The cluster is not healthy (1 finding) after 7s: 1 node, 9 pods, 3 workloads, 8 images
}
