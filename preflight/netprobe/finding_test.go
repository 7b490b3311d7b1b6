package netprobe

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// pairOf returns a matrix of two hosts with the same result in both directions.
func pairOf(v Verdict) *Matrix {
	back := v
	v.From, v.To, back.From, back.To = 0, 1, 1, 0
	return &Matrix{
		Hosts: []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}},
		Tried: 2, Of: 2, Verdicts: []Verdict{v, back},
	}
}

// TestInstallationOpens: an installation opens incoming ports in firewalld, and changes no other rules.
func TestInstallationOpens(t *testing.T) {
	needs := Needs{TCP: []Port{{6443, "kube-apiserver", ControlPlanes, All}}, OpensFirewall: true}
	for name, test := range map[string]struct {
		state    State
		port     int
		opens    bool
		rule     string
		severity Severity
		what     string
		fix      string
	}{
		"firewalld":            {HostCloses, 6443, true, "reject", Notes, "blocks it", "the installation opens it in firewalld, and reads the rules of the host again"},
		"another filter":       {HostCloses, 6443, false, `"drop" in chain in`, Stops, `blocks it: "drop" in chain in`, "allow TCP to port 6443 before this rule"},
		"no rule":              {HostCloses, 6443, false, "", Stops, "no rule of its packet filter explains this", "a security agent"},
		"not needed":           {HostCloses, 6081, false, "drop", Notes, "blocks it: drop", "the cluster does not use it"},
		"outgoing":             {SenderCloses, 6443, false, "", Stops, "does not leave", "an output chain drops it"},
		"unknown":              {Unknown, 6443, false, "", Warns, "TCP 6443 (kube-apiserver): unknown", "measure again as root"},
		"outgoing, not needed": {SenderCloses, 6081, false, "", Notes, "does not leave", "the cluster does not use it"},
	} {
		found := pairOf(Verdict{Kind: TCP, Port: test.port, State: test.state, Opens: test.opens, Rule: test.rule}).Findings(needs)
		if len(found) != 1 || found[0].Severity != test.severity || found[0].Owner != HostTeam || !strings.Contains(found[0].Fix, test.fix) || !strings.Contains(found[0].What, test.what) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestChecksumRemedy names the interface of the pod network's own plugin.
func TestChecksumRemedy(t *testing.T) {
	for _, tunnel := range []string{"flannel.1", "vxlan.calico", "cilium_vxlan"} {
		for soft, severity := range map[bool]Severity{false: Stops, true: Notes} {
			found := pairOf(Verdict{Kind: VXLANTCP, Port: 8472, State: Damaged}).Findings(Needs{VXLAN: 8472, Tunnel: tunnel, SoftChecksums: soft})
			if len(found) != 1 || found[0].Severity != severity || !strings.HasSuffix(found[0].Fix, " on "+tunnel) {
				t.Errorf("%s: %+v", tunnel, found)
			}
		}
	}
}

// TestClocksOneWay: a difference is found with a result in one direction, and reported once per pair.
func TestClocksOneWay(t *testing.T) {
	for name, skews := range map[string][]Skew{
		"ahead":     {{0, 1, time.Hour}},
		"behind":    {{1, 0, -time.Hour}},
		"both ways": {{0, 1, time.Hour}, {1, 0, -time.Hour - time.Millisecond}},
		"worse one": {{0, 1, skewWarns}, {1, 0, -time.Hour}},
	} {
		m := pairOf(Verdict{Kind: TCP, Port: 6443, State: Open})
		m.Skews = skews
		found := m.clocks()
		if len(found) != 1 || found[0].Severity != Stops && name != "worse one" || !strings.Contains(fmt.Sprint(found[0].Between), "b is 1h0m0s ahead of a") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestSizesUnknown: a path without an observed packet of any size is a warning, in every state.
func TestSizesUnknown(t *testing.T) {
	for _, state := range []State{NetworkCloses, SenderCloses, Unknown} {
		found := pairOf(Verdict{Kind: Size, MTU: 1500, State: state}).Findings(Needs{MTU: 1400})
		if len(found) != 1 || found[0].Severity != Warns || found[0].About != AboutSize {
			t.Errorf("%s: %+v", state, found)
		}
	}
}
