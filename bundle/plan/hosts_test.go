package plan

import (
	"net/netip"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
	"airgap.dev/airgap/preflight/facts"
)

// TestCheckHosts: facts of a host that is not a node are a warning with the file, the host name and the
// nodes. They are an error if no facts are of a node.
func TestCheckHosts(t *testing.T) {
	node := survey{"facts/cp1.facts.yaml", &facts.Facts{Host: "cp1.bank.example"}}
	byAddress := survey{"facts/x.facts.yaml", &facts.Facts{Host: "x", Links: []facts.Link{{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.21/24")}}}}}
	other := survey{"facts/db.survey", &facts.Facts{Host: "db9"}}
	const named = `facts/db.survey (host name "db9"); airgap.yaml has cp1 (`
	for name, tc := range map[string]struct {
		surveys       []survey
		said, failure string
	}{
		"nodes":       {surveys: []survey{node, byAddress}},
		"no facts":    {},
		"other host":  {surveys: []survey{node, other}, said: named},
		"only others": {surveys: []survey{other}, failure: named},
	} {
		p := &uitest.Recorder{Progress: ui.Discard()}
		err := checkHosts(twoNodes(t), "facts", tc.surveys, p)
		said := strings.Join(p.Said, "\n")
		if (said != "") != (tc.said != "") || !strings.Contains(said, tc.said) {
			t.Errorf("%s: %q", name, said)
		}
		if (err != nil) != (tc.failure != "") || err != nil && (!advice.IsUsage(err) || !strings.Contains(err.Error(), tc.failure) || !strings.Contains(advice.Of(err), "nodes[].name")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAbsentNodeIsLate: the plan names an absent node whose date is past.
func TestAbsentNodeIsLate(t *testing.T) {
	c := twoNodes(t)
	c.Nodes[1].Absent = &config.Absent{Reason: "mainboard", Until: "2020-01-31"}
	p := &uitest.Recorder{Progress: ui.Discard()}
	if err := checkHosts(c, "", nil, p); err != nil {
		t.Fatal(err)
	}
	if len(p.Said) != 1 || !strings.Contains(p.Said[0], "absent (mainboard, until 2020-01-31), and this date is past") {
		t.Errorf("got %q", p.Said)
	}
}
