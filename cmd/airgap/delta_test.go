package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/registry"
)

// TestDeltaScripts runs testdata/delta/*.txtar with a bundle, a delta on it, and
// a registry's authority.
func TestDeltaScripts(t *testing.T) {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base := bundletest.New(t)
	images := slices.Clone(base.Images)
	images[0].Held = bundletest.RandomImage(t, 5000, 1, "amd64")
	delta := base.Delta(t, "test-delta-1", images...)
	public, err := bundle.MarshalPublicKey(&base.Key.PublicKey)
	must(t, err)
	key := filepath.Join(t.TempDir(), "airgap.pub")
	must(t, os.WriteFile(key, public, 0o600))
	pki := registry.PKI{Dir: t.TempDir()}
	must(t, pki.Ensure(nil, time.Now()))
	authority, err := registry.CAHashOf(pki.CAFile())
	must(t, err)
	if v, _, err := site.OpenWhole(delta.Dir, []string{key}); v != nil || !errors.Is(err, bundle.ErrBase) || // as airgap install and airgap upgrade do first
		!strings.Contains(err.Error(), "delta test-delta-1 needs ") || !strings.Contains(advice.Of(err), "bundle test brought them: airgap registry import DIR") {
		t.Errorf("the delta alone: %v, advice %q", err, advice.Of(err))
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/delta",
		Setup: func(e *testscript.Env) error {
			for name, value := range map[string]string{
				"BASE": base.Dir, "DELTA": delta.Dir, "KEY": key, "PKI": pki.Dir,
				"AUTHORITY": authority, "OTHER": "sha256:" + strings.Repeat("0", 64), "XDG_CONFIG_HOME": e.WorkDir + "/config",
			} {
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

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
		text, err := renderInstallText(c, &bundle.Plan{Name: "test-delta-1", Base: tt.base}, &signingKeys{rpm: key, bundle: own, own: tt.own})
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
