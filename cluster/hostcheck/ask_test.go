package hostcheck

import (
	"context"
	"errors"
	"testing"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/replay"
)

// TestAsk: what only one check judges is gathered where that check is chosen, and what came of it is a fact.
func TestAsk(t *testing.T) {
	s := sitetest.SettingsSite(t, "")
	f := &preflight.Facts{Driver: "what is this"}
	refused := errors.New("nothing provides socat")
	for _, tc := range []struct {
		name   string
		choice preflight.Choice
		dry    error // nil where nobody is to be asked
		want   preflight.Outcome
	}{
		{"chosen", preflight.Choice{Only: []string{"packages"}}, refused, preflight.OutcomeOf(refused)},
		{"skipped", preflight.Choice{Only: []string{}, Skip: []string{"packages"}}, refused, preflight.Outcome{}},
		{"not chosen", preflight.Choice{Only: []string{"swap"}}, refused, preflight.Outcome{}},
		{"later", preflight.Choice{Only: []string{"packages"}}, nil, preflight.Outcome{Skipped: "airgap join asks dnf, once the registry is up"}},
	} {
		var dry func(context.Context) error
		if tc.dry != nil {
			dry = func(context.Context) error { return tc.dry }
		}
		asked := ask(t.Context(), s, &preflight.Want{Roles: []preflight.Role{preflight.ControlPlane}}, tc.choice, f, dry)
		if asked.Transaction != tc.want || asked.EtcdDiskOutcome.Done || asked.GPUs == nil || asked.GPUs.Unknown == "" {
			t.Errorf("%s: %+v, cards %+v", tc.name, asked, asked.GPUs)
		}
	}
}

func TestMeasureDisk(t *testing.T) {
	dir := t.TempDir()
	if took, outcome := measureDisk(t.Context(), dir+"/not/yet"); !outcome.Done || outcome.Failed != "" || took <= 0 {
		t.Errorf("took %s, %+v", took, outcome)
	}
	if _, outcome := measureDisk(t.Context(), "/proc/1/task"); !outcome.Done || outcome.Failed == "" {
		t.Errorf("a disk that cannot be written: %+v", outcome)
	}
}

// TestNetworkModulesAreSurveyed: what a plugin wants loaded is among the facts, or nobody could judge it.
func TestNetworkModulesAreSurveyed(t *testing.T) {
	h, err := replay.Host([]byte("-- fs/proc/sys/kernel/osrelease --\n5.14.0\n-- fs/lib/modules/5.14.0/modules.builtin --\n-- fs/lib/modules/5.14.0/modules.dep --\n"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := preflight.Gather(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range cni.AllNeeds() {
		for module := range n.Modules {
			if _, known := f.Modules[module]; !known {
				t.Errorf("%s wants %s, which no survey has: %v", n.Plugin, module, f.Modules)
			}
		}
	}
}
