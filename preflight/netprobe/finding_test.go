package netprobe

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// pairOf is two hosts between which something is as both verdicts have it.
func pairOf(v Verdict) *Matrix {
	back := v
	v.From, v.To, back.From, back.To = 0, 1, 1, 0
	return &Matrix{
		Hosts: []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}},
		Tried: 2, Of: 2, Verdicts: []Verdict{v, back},
	}
}

// TestWhoOpens: an installation opens what comes in, and not what a host does not let out.
func TestWhoOpens(t *testing.T) {
	needs := Needs{TCP: []Port{{6443, "kube-apiserver", ControlPlanes, All}}, OpensFirewall: true}
	for name, test := range map[string]struct {
		state    State
		port     int
		severity Severity
		fix      string
	}{
		"comes in":                   {HostCloses, 6443, Notes, "the installation opens it"},
		"does not leave":             {SenderCloses, 6443, Stops, "an output chain of theirs drops it"},
		"does not leave, and may so": {SenderCloses, 6081, Notes, "the cluster does not use it"},
	} {
		found := pairOf(Verdict{Kind: TCP, Port: test.port, State: test.state}).Findings(needs)
		if len(found) != 1 || found[0].Severity != test.severity || found[0].Owner != "hosts" || !strings.Contains(found[0].Fix, test.fix) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestClocksOneWay: a host that is behind is told, though only it was answered; a pair is told
// once.
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

// TestCardsByUSB: that end of a management controller has one address in all servers.
func TestCardsByUSB(t *testing.T) {
	for bus, by := range map[string]bool{"usb": true, "pci": false, "virtio": false} {
		card := t.TempDir()
		if err := errors.Join(os.Mkdir(card+"/device", 0o755), os.Symlink("../../../../bus/"+bus, card+"/device/subsystem")); err != nil {
			t.Fatal(err)
		}
		if onUSB(card) != by {
			t.Errorf("%s: by USB %t", bus, !by)
		}
	}
	if onUSB(t.TempDir()) {
		t.Error("a bridge is by USB")
	}
}

// TestSizesUnknown: a path on which no packet of any size was seen is no good path, whoever
// took them.
func TestSizesUnknown(t *testing.T) {
	for _, state := range []State{NetworkCloses, SenderCloses, Unknown} {
		found := pairOf(Verdict{Kind: Size, MTU: 1500, State: state}).Findings(Needs{MTU: 1400})
		if len(found) != 1 || found[0].Severity != Warns || found[0].About != AboutSize {
			t.Errorf("%s: %+v", state, found)
		}
	}
}
