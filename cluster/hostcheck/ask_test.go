package hostcheck

import (
	"context"
	"errors"
	"testing"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/preflight"
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
		want   preflight.Try
	}{
		{"chosen", preflight.Choice{Only: []string{"packages"}}, refused, preflight.Tried(refused)},
		{"skipped", preflight.Choice{Only: []string{}, Skip: []string{"packages"}}, refused, preflight.Try{}},
		{"not chosen", preflight.Choice{Only: []string{"swap"}}, refused, preflight.Try{}},
		{"later", preflight.Choice{Only: []string{"packages"}}, nil, preflight.Try{Left: "airgap join asks dnf, once the registry is up"}},
	} {
		var dry func(context.Context) error
		if tc.dry != nil {
			dry = func(context.Context) error { return tc.dry }
		}
		asked := ask(t.Context(), s, &preflight.Want{Roles: []preflight.Role{preflight.ControlPlane}}, tc.choice, f, dry)
		if asked.Transaction != tc.want || asked.EtcdDiskTry.Made || asked.Cards == nil || asked.Cards.Unknown == "" {
			t.Errorf("%s: %+v, cards %+v", tc.name, asked, asked.Cards)
		}
	}
}

func TestMeasureDisk(t *testing.T) {
	dir := t.TempDir()
	if took, try := measureDisk(t.Context(), dir+"/not/yet"); !try.Made || try.Failed != "" || took <= 0 {
		t.Errorf("took %s, %+v", took, try)
	}
	if _, try := measureDisk(t.Context(), "/proc/1/task"); !try.Made || try.Failed == "" {
		t.Errorf("a disk that cannot be written: %+v", try)
	}
}
