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

// TestAsk: a fact of only one check is gathered if that check is chosen. Its outcome is a fact, too.
func TestAsk(t *testing.T) {
	s := sitetest.SettingsSite(t, "")
	f := &preflight.Facts{Driver: "what is this"}
	refused := errors.New("nothing provides socat")
	for _, tc := range []struct {
		name   string
		choice preflight.Choice
		dry    error // nil: dnf does not run
		want   preflight.Outcome
	}{
		{"chosen", preflight.Choice{Only: []string{"packages"}}, refused, preflight.OutcomeOf(refused)},
		{"skipped", preflight.Choice{Only: []string{}, Skip: []string{"packages"}}, refused, preflight.Outcome{}},
		{"not chosen", preflight.Choice{Only: []string{"swap"}}, refused, preflight.Outcome{}},
		{"later", preflight.Choice{Only: []string{"packages"}}, nil, preflight.Outcome{Skipped: "airgap join runs dnf after the registry is available"}},
	} {
		var dry func(context.Context) error
		if tc.dry != nil {
			dry = func(context.Context) error { return tc.dry }
		}
		asked := ask(t.Context(), s, &preflight.Want{Roles: []preflight.Role{preflight.ControlPlane}}, tc.choice, f, dry)
		if asked.Transaction != tc.want || asked.EtcdDiskOutcome.Done || asked.GPUs == nil || asked.GPUs.Unknown == "" {
			t.Errorf("%s: %+v, GPUs %+v", tc.name, asked, asked.GPUs)
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

// TestNetworkModulesAreSurveyed: the facts have all kernel modules that a plugin requires.
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
				t.Errorf("%s requires %s, which is missing in the facts: %v", n.Plugin, module, f.Modules)
			}
		}
	}
}
