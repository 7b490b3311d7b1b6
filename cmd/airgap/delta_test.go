package main

import (
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
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry/trust"
)

// TestDeltaScripts runs testdata/delta/*.txtar with a bundle, a delta on it, and a registry CA.
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
	pki := trust.PKI{Dir: t.TempDir()}
	must(t, pki.Ensure(nil, time.Now()))
	authority, err := trust.CAHashOf(pki.CAFile())
	must(t, err)
	if v, _, err := site.OpenWhole(delta.Dir, []string{key}); v != nil || !errors.Is(err, bundle.ErrBase) || // as airgap install and airgap upgrade do first
		!strings.Contains(err.Error(), "delta test-delta-1 requires ") || !strings.Contains(advice.Of(err), "the files are in bundle test: import that bundle with airgap registry import DIR") {
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
