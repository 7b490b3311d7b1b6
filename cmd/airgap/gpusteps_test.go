package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// TestGPUSettings: the expected values of the host report, and the pinned image of the device plugin,
// with the name that a container runtime uses.
func TestGPUSettings(t *testing.T) {
	settings := func(s *site.Site) (*report.GPUSettings, bool) {
		t.Helper()
		all, err := nodesteps.Settings(s)
		if err != nil {
			t.Fatal(err)
		}
		return all.GPU, slices.Contains(all.Pinned, "nvcr.io/nvidia/k8s-device-plugin@"+sitetest.PluginDigest)
	}
	s := sitetest.GPUSite(t, "gpu: {timeSlices: 4, mig: {strategy: single}}\n", "580.82.07", "2330", "2330")
	got, kept := settings(s)
	if want := (report.GPUSettings{Driver: "580.82.07", Cards: 2, TimeSlices: 4, MIG: "single"}); *got != want || !kept {
		t.Errorf("got %+v, want %+v; kept: %v", got, want, kept)
	}
	for before, want := range map[string]struct {
		cards int
		warns string
	}{
		`{"node": "w1", "gpu": {"cards": 8}}`: {8, "warning: w1 had 8 GPUs and has 2 on its bus: airgap verify reports the others as missing. " +
			"If GPUs were removed, run rm /var/lib/airgap/report.json there"},
		`{"node": "w1", "gpu": {"cards": 1}}`: {2, ""},
		`{"node": "w1"}`:                      {2, ""}, // without the role gpu
	} {
		s.Machine.Host.(sitetest.RPMHost).MapFS["var/lib/airgap/report.json"] = &fstest.MapFile{Data: []byte(before)}
		if got, _ := settings(s); got.Cards != want.cards {
			t.Errorf("before %s, now %d cards, want %d", before, got.Cards, want.cards)
		}
		said := &uitest.Recorder{Progress: ui.Discard()}
		unit := nodesteps.NodeReportUnitStep(s, said)
		for range 2 {
			unit.Done(t.Context()) // this machine has no cluster
		}
		if all := strings.Join(said.Said, "\n"); len(said.Said) > 1 || !strings.HasPrefix(all, want.warns) || (all == "") != (want.warns == "") {
			t.Errorf("before %s: said %q, want %q", before, said.Said, want.warns)
		}
	}
	s.Machine.Host.(sitetest.RPMHost).MapFS["var/lib/airgap/report.json"] = &fstest.MapFile{Data: []byte("{")}
	if _, err := nodesteps.Settings(s); err == nil || !strings.Contains(err.Error(), "read /var/lib/airgap/report.json") || !strings.Contains(advice.Of(err), "remove that file") {
		t.Errorf("invalid settings: %v", err)
	}
	delete(s.Machine.Host.(sitetest.RPMHost).MapFS, "var/lib/airgap/report.json")
	if got, _ := settings(sitetest.GPUSite(t, "gpu: {source: host}\n", "", "2330")); got.Driver != "" || got.Cards != 1 {
		t.Errorf("driver of the site: %+v", got)
	}
	s.Node.Roles = []config.Role{config.Worker}
	if got, kept := settings(s); got != nil || kept {
		t.Errorf("a node without the role: %+v, kept: %v", got, kept)
	}
}
