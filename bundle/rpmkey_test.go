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

// TestOneRPMKey: a bundle whose key file holds another key, too, is not opened, whoever
// signed it.
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
		"one":                   {string(public), false, ""},
		"two":                   {string(public) + string(public), false, "RPM-GPG-KEY-airgap: it holds 2 blocks of keys, and rpm --import would take all of them: import nothing of it"},
		"one more, by somebody": {string(public) + string(public), true, "RPM-GPG-KEY-airgap: SHA-256 is not the signed one"},
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
