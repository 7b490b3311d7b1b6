package bundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/rpm"
)

// TestOneRPMKey: a bundle with another key in its key file is not opened, even with a
// valid signature.
func TestOneRPMKey(t *testing.T) {
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	must(t, err)
	public, err := key.Public()
	must(t, err)
	for name, c := range map[string]struct {
		text     string
		unsigned bool
		want     string
	}{
		"one":          {string(public), false, ""},
		"two":          {string(public) + string(public), false, "RPM-GPG-KEY-airgap: it has 2 key blocks, and rpm --import would import all of them: do not import this file"},
		"an added key": {string(public) + string(public), true, "RPM-GPG-KEY-airgap: SHA-256 does not match the signed value"},
	} {
		f := bundletest.New(t)
		file := filepath.Join(f.Dir, bundle.RPMKeyName)
		must(t, os.WriteFile(file, public, 0o644))
		f.Sign(t)
		must(t, os.WriteFile(file, []byte(c.text), 0o644))
		if !c.unsigned {
			f.Sign(t)
		}
		b, err := bundle.Open(f.Dir, &f.Key.PublicKey)
		if err == nil {
			b.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
