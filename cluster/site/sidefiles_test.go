package site

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/advice"
)

// stickWithAll has all kinds of files next to the parts.
func stickWithAll(t *testing.T) *bundletest.Fixture {
	t.Helper()
	f := bundletest.New(t)
	for _, name := range []string{bundle.ProgramName, "airgap.rpm", "docs.html", "docs.ko.html", "report.html", "sbom.spdx.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(f.Dir, name), []byte(name+"\n"), 0o644))
	}
	f.Sign(t)
	return f
}

// TestOpenChecksSideFiles: a gate changes one file. Every command that opens the medium continues without documentation,
// and refuses another file before it changes a host.
func TestOpenChecksSideFiles(t *testing.T) {
	crlf := func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), 0o644)
	}
	empty := func(path string) error { return os.WriteFile(path, nil, 0o644) }
	for _, test := range []struct {
		name   string
		by     string
		change func(string) error
		cause  string
		stops  bool
	}{
		{"INSTALL.txt", "CRLF", crlf, "its line ends were converted to CRLF", false},
		{"docs.html", "removed", os.Remove, "missing", false},
		{"docs.ko.html", "emptied", empty, "the file is empty", false},
		{"report.html", "removed", os.Remove, "missing", false},
		{"sbom.spdx.json", "CRLF", crlf, "CRLF", false},
		{bundle.ProgramName, "removed", os.Remove, "missing: it was not copied, or a virus scanner or a gate removed it", true},
		{"airgap.rpm", "emptied", empty, "the file is empty", true},
		{bundle.PublicKeyName, "CRLF", crlf, "its line ends were converted to CRLF", true},
		{bundle.IndexName, "emptied", empty, "SHA-256 does not match", true},
	} {
		t.Run(test.name+" "+test.by, func(t *testing.T) {
			f := stickWithAll(t)
			public, err := bundle.MarshalPublicKey(&f.Key.PublicKey)
			require.NoError(t, err)
			key := filepath.Join(t.TempDir(), "bundle.pub")
			require.NoError(t, os.WriteFile(key, public, 0o644))
			require.NoError(t, test.change(filepath.Join(f.Dir, test.name)))
			b, _, err := Open(f.Dir, []string{key})
			if test.stops {
				require.ErrorIs(t, err, bundle.ErrDamaged)
				require.ErrorContains(t, err, test.name+": ")
				require.ErrorContains(t, err, test.cause)
				require.NotEmpty(t, advice.Of(err))
				return
			}
			require.NoError(t, err)
			defer b.Close()
			var said string
			WarnOfAltered(b, func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
			require.Contains(t, said, test.name+" (")
			require.Contains(t, said, test.cause)
		})
	}
}
