package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestMain runs the tests, and the program in their scripts, in UTC, because screens show local time.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	testscript.Main(m, map[string]func(){"airgap": main, "asks": asks, "stuck": stuck})
}

// TestScripts runs the program as a black box: testdata/script/*.txtar. All scripts have two bundles
// with different keys: BUNDLE, which is also in STORE, and OTHER.
func TestScripts(t *testing.T) {
	one, other := bundletest.New(t), bundletest.New(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config") // the signing keys
			e.Setenv("BUNDLE", one.Dir)
			e.Setenv("STORE", filepath.Dir(one.Dir))
			e.Setenv("KEY", bundle.Fingerprint(&one.Key.PublicKey))
			e.Setenv("OTHER", other.Dir)
			e.Setenv("OTHER_KEY", bundle.Fingerprint(&other.Key.PublicKey))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits CODE ARGS… runs airgap and checks the exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("sh", append([]string{"-c", `code=$1; shift; airgap "$@"; got=$?; [ "$got" -eq "$code" ] || { echo "exit code $got, want $code" >&2; exit 99; }`, "sh"}, args...)...)
	ts.Check(err)
}
