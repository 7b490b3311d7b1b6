package netfaults

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/lab"
)

// TestFaults plays all networks, or those that NETFAULT names, with the program
// AIRGAP_PROGRAM. It needs root.
func TestFaults(t *testing.T) {
	if os.Getenv("AIRGAP_LAB") == "" {
		t.Skip("AIRGAP_LAB is not set")
	}
	program, err := filepath.Abs(cmp.Or(os.Getenv("AIRGAP_PROGRAM"), "../../dist/airgap"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("the networks are measured with the program: %v; run make build", err)
	}
	var names []string
	if name := os.Getenv("NETFAULT"); name != "" {
		names = strings.Split(name, ",")
	}
	if err := Run(t.Context(), program, t.TempDir(), os.Stderr, names...); err != nil {
		t.Error("some networks have a wrong result")
	}
}

// TestTable checks that there are enough networks, with different names, valid expressions and one team for
// each finding.
func TestTable(t *testing.T) {
	with, without, names := 0, 0, map[string]bool{}
	for _, f := range All() {
		if names[f.Name] {
			t.Errorf("two networks have the name %q", f.Name)
		}
		names[f.Name] = true
		if len(f.Says) == 0 {
			without++
			continue
		}
		with++
		for _, want := range f.Says {
			if (want.Owner == "") != (want.Status == notes) {
				t.Errorf("%s: the finding %q needs exactly one team, and a note none", f.Name, want.What)
			}
			for _, expression := range []string{want.What, want.Where, want.Never} {
				if _, err := regexp.Compile(expression); err != nil {
					t.Errorf("%s: %v", f.Name, err)
				}
			}
		}
	}
	if with < 40 || without < 10 {
		t.Errorf("%d networks with a fault and %d without, want 40 and 10", with, without)
	}
}

// TestFinding checks that a finding of the other direction, of another check's status or of another
// team does not count.
func TestFinding(t *testing.T) {
	m := &lab.Measurement{Page: "<h2>Required changes</h2><td>TCP 10250 (kubelet) does not arrive</td><h2>Connections</h2>"}
	m.Results = append(m.Results, lab.Result{ID: "ports-reach", Status: stops,
		Found: "TCP 6443 (kube-apiserver) arrives, but the host's own firewall blocks it: from node2 (10.90.2.11) to node1 (10.90.1.11) (owner: host team)\n" +
			"TCP 10250 (kubelet) does not arrive: from node2 (10.90.2.11) to node1 (10.90.1.11), node3 (10.90.3.11) (owner: network team)"})
	for _, c := range []struct {
		want  Finding
		named bool
	}{
		{Finding{Status: stops, Owner: networkTeam, What: `TCP 10250 \(kubelet\)`}.from(2, 3), true},
		{Finding{Status: matters, Owner: networkTeam, What: `tcp 10250`}.from(2, 1), true},
		{Finding{Status: stops, Owner: balancerTeam, What: `TCP 10250`}.from(2, 3), false},
		{Finding{Status: stops, Owner: hypervisorTeam, What: `TCP 6443`}.from(2, 1), false},
		{Finding{Status: stops, What: `TCP 10250`}.from(2, 3), false},
		{Finding{Status: stops, Owner: hostTeam, What: `TCP 6443`}.from(2, 1), true},
		{Finding{Status: stops, Owner: networkTeam, What: `TCP 10250`}.from(3, 2), false},
		{Finding{Status: warns, Owner: networkTeam, What: `TCP 10250`}.from(2, 3), false},
		{Finding{Status: notes, Owner: networkTeam, What: `TCP 10250`}.from(2, 3), false},
		{Finding{Status: stops, Owner: hostTeam, What: `TCP 10250`}.from(2, 3), false},
		{Finding{Status: stops, Owner: networkTeam, What: `TCP 6443`}.from(2, 1), false},
		{Finding{Status: stops, Owner: networkTeam, What: `TCP 10250.*hosts`}.from(2, 3), false},
	} {
		if line, got := c.want.in(m); got != c.named || got != (line != "") {
			t.Errorf("%+v: got %v %q, want %v", c.want, got, line, c.named)
		}
	}
}
