package build

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/config"
)

// TestInstallTextOfADelta says first that the base has to be there.
func TestInstallTextOfADelta(t *testing.T) {
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("airgap.yaml", []byte(bundletest.New(t).Open(t).Index().Config))
	if err != nil {
		t.Fatal(err)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		base         *bundle.Base
		own          bool // signed with a key of the site's
		wants, lacks []string
	}{
		{nil, true, []string{"airgap preflight /run/media/stick/test-delta-1 --require-key SHA256:...\n", "airgap install /run/media/stick/test-delta-1 --require-key SHA256:...\n"}, []string{"install /run/media/stick/\n"}},
		{nil, false, []string{"rpm -U --oldpackage --replacepkgs airgap.rpm", "prints a page.\n\n1. Trust"}, []string{"delta"}},
		{&bundle.Base{Bundles: []string{"test-delta-0", "test"}, Files: make([]bundle.Held, 3)}, false,
			[]string{"This is a delta. 3 files", "them by test-delta-0, test.", "rpm -U --replacepkgs airgap.rpm", "airgap install /run/media/stick/test-delta-1\n", "airgap upgrade /run/media/stick/test-delta-1", "and needs no code"}, nil},
	} {
		text, err := InstallText(c, &bundle.Plan{Name: "test-delta-1", Base: tt.base}, &program.Keys{RPM: key, Bundle: own, Own: tt.own})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("INSTALL.txt lacks %q:\n%s", want, text)
			}
		}
		for _, word := range tt.lacks {
			if strings.Contains(strings.ReplaceAll(string(text), "test-delta-1", ""), word) {
				t.Errorf("INSTALL.txt of a whole bundle says %q", word)
			}
		}
	}
}
