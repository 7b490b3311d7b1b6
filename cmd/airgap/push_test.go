package main

import (
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/porttest"
	"airgap.dev/airgap/registry/trust"
)

// TestPushScripts runs testdata/push/*.txtar. The scripts push BUNDLE, signed with KEY, to a registry
// at 127.0.0.1:PORT. The registry serves the bundle OTHER; its CA is in PKI.
func TestPushScripts(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	f, other := bundletest.New(t), bundletest.NewWith(t, "other", bundletest.Image{Name: "docker.io/library/other:1", Held: bundletest.RandomImage(t, 1000, 1, "amd64")})
	pki := trust.PKI{Dir: t.TempDir()}
	must(pki.Ensure(nil, time.Now()))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/push",
		Setup: func(e *testscript.Env) error {
			for name, value := range map[string]string{
				"BUNDLE": f.Dir, "KEY": bundle.Fingerprint(&f.Key.PublicKey), "OTHER": other.Dir, "OTHER_KEY": bundle.Fingerprint(&other.Key.PublicKey),
				"PKI": pki.Dir, "PORT": porttest.Reserve(t), "HOME": e.WorkDir,
			} {
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}
