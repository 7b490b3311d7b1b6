package fleet

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// nameOnly is a server that has only a name.
type nameOnly struct {
	lab.Machine
	name string
}

func (n nameOnly) Name() string             { return n.name }
func (nameOnly) Addr() netip.Addr           { return netip.Addr{} }
func (nameOnly) Kill(context.Context) error { return nil }

func fleetOfNames() *fleet {
	f := &fleet{l: &lab.Lab{}, faults: faults()}
	for n := range strings.FieldsSeq("node1 node2 node3 node4 node5 node6 node7 node8 node9") {
		f.l.Machines = append(f.l.Machines, nameOnly{name: n})
	}
	return f
}

// TestEdits: the edits fit the lab's airgap.yaml, and it then lists nine servers.
func TestEdits(t *testing.T) {
	file, err := os.ReadFile("../airgap.yaml.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	text, all := string(file), edits()
	for i := 0; i < len(all); i += 2 {
		if !strings.Contains(text, all[i]) {
			t.Errorf("no %q in the file", all[i])
		}
		text = strings.ReplaceAll(text, all[i], all[i+1])
	}
	if n := strings.Count(text, "  - {name: node"); n != servers {
		t.Errorf("%d servers", n)
	}
}

// TestNames: a server or a cause that is missing in the output is an error.
func TestNames(t *testing.T) {
	f := fleetOfNames()
	good := "node3: become root: sudo did not answer within 1m0s\nnode5: log in: the password was refused\n"
	for text, want := range map[string]bool{good: true, strings.Replace(good, "node5", "node", 1): false, strings.Replace(good, "refused", "", 1): false} {
		if err := f.names(scenario.Result{Stderr: text}, hungSudo, wrongLogin); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNamed: a server is named by its name, or in a range of names.
func TestNamed(t *testing.T) {
	for text, want := range map[string]bool{"node5: no": true, "on node[3-6]": true, "on node[1,5,9]": true, "node50 node15 node[6-9] node": false, "node[1-]": false} {
		if named(text, 5) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}

// TestCheckOwed: the record has exactly the servers, each with its cause.
func TestCheckOwed(t *testing.T) {
	f := fleetOfNames()
	const disk = `{"node":"node7","command":"join","why":"preflight failed: disk-space","since":"2026-11-29T20:00:00Z"}`
	for text, want := range map[string]string{
		"[" + disk + "]":              "",
		"[]":                          "node7 is not owed",
		"[" + disk + "," + disk + "]": "2 hosts are owed, want 1",
		`[{"node":"node7","command":"join","why":"left out with --limit"}]`: `because of "preflight failed"`,
		"{": "read the record",
	} {
		err := f.checkOwed([]byte(text), fullDisk)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
