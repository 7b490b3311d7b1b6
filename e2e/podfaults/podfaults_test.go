package podfaults

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"airgap.dev/airgap/e2e/lab"
)

// TestPods plays the faults with the programs airgap and airgap-probe of the directory AIRGAP_PROGRAMS.
// It needs root and the lab's programs.
func TestPods(t *testing.T) {
	if os.Getenv("AIRGAP_LAB") == "" {
		t.Skip("AIRGAP_LAB is not set")
	}
	dir, err := filepath.Abs(cmp.Or(os.Getenv("AIRGAP_PROGRAMS"), "../../dist"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := lab.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	programs := Programs{filepath.Join(dir, "airgap"), filepath.Join(dir, "airgap-probe")}
	for _, program := range []string{programs.Airgap, programs.Probe} {
		if _, err := os.Stat(program); err != nil {
			t.Fatalf("the network is measured with the program: %v; run make build", err)
		}
	}
	if err := Run(t.Context(), programs, filepath.Join(cache, "bin"), t.TempDir(), os.Stderr); err != nil {
		t.Error(err)
	}
}

// TestWrong checks that a fault without its finding counts, and a finding without a fault.
func TestWrong(t *testing.T) {
	all := map[string]seen{
		"flows to node3":           {"from node1: 7 of 16 TCP flows and 9 of 16 UDP flows are lost, on the same source ports each time", "network team: ..."},
		"flows to node1":           {"from node3: 7 of 16 TCP flows are lost, on the same source ports each time", "network team: ..."},
		"packets to node4":         {"from node2: 21 of 1008 UDP packets are lost (2.1 %)", "network team: ..."},
		"pod on node4, 64 KiB":     {"no answer from node3", "network.mtu in airgap.yaml ..."},
		"pod on node3, 64 KiB":     {"no answer from node4", "network.mtu in airgap.yaml ..."},
		"pod on node8":             {"no answer from node2", "check that the firewall allows ..."},
		"long connection to node6": {"from node5: got no answer at X, after 12s without packets; it was open for 1m1s, and both pods still run", "network team: ..."},
		"long connection to node7": {"from node5: was reset at X, after 12s without packets; it was open for 1m1s, and both pods still run", "network team: ..."},
		"long connection to node5": {"from node6: got no answer at X, after 12s without packets; it was open for 1m1s, and both pods still run; " +
			"from node7: was reset at X, after 12s without packets; it was open for 1m1s, and both pods still run", "network team: ..."},
	}
	if err := wrong(all); err != nil {
		t.Fatal(err)
	}
	for object, at := range all {
		delete(all, object)
		if wrong(all) == nil {
			t.Errorf("without %q: no error", object)
		}
		all[object] = seen{at.Saw, "reboot"}
		if wrong(all) == nil {
			t.Errorf("%q of another team: no error", object)
		}
		all[object] = at
	}
	all["pod on node2"] = seen{"no answer from node1", "..."}
	if wrong(all) == nil || onlyHistory(all) == nil {
		t.Error("a finding without a fault is no error")
	}
	if err := onlyHistory(map[string]seen{"long connection to node6": {}}); err != nil {
		t.Error(err)
	}
}

// TestTable checks that all faults have different names and valid expressions.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, f := range Faults() {
		if names[f.Name] || len(f.Says) == 0 {
			t.Errorf("%q is twice in the table, or has no finding", f.Name)
		}
		names[f.Name] = true
		for _, want := range f.Says {
			if _, err := regexp.Compile(want.Saw); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
	}
}
