package dnf

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/host"
)

// TestTrial: the server's own rpm finds what the plan cannot know, and nothing on the server changes.
func TestTrial(t *testing.T) {
	const tool = "/opt/tool"
	for name, c := range map[string]struct {
		installed []rpm.Spec
		without   string // the key that the bundle lacks
		want      string
	}{
		"nothing else":        {},
		"the same file":       {installed: []rpm.Spec{withFile("own", tool, "tool")}},
		"another file":        {installed: []rpm.Spec{withFile("own", tool, "another")}, want: "file /opt/tool from install of agent-1.0-1.x86_64 conflicts with file from package own-1.0-1.x86_64"},
		"a key is not there":  {without: "vendor-1.asc", want: "NOKEY"},
		"a key is no key":     {without: "!vendor-1.asc", want: "import key vendor-1.asc into an empty database: rpm refuses it"},
		"a missing dependent": {installed: []rpm.Spec{spec("own")}},
	} {
		t.Run(name, func(t *testing.T) {
			h := aHost(t)
			from, repository := vendor(t, withFile("agent", tool, "tool"))
			tr := transaction(t, h, from, repository, "agent")
			packages := strings.TrimPrefix(tr.BaseURL, "file://") + "/" + rpm.PackagesDir
			open := func(_ context.Context, fileName string) (io.ReadCloser, error) {
				return os.Open(filepath.Join(packages, fileName))
			}
			if only, damage := strings.CutPrefix(c.without, "!"); damage {
				tr.Keys[only] = []byte("no key")
			} else {
				maps.DeleteFunc(tr.Keys, func(name string, _ []byte) bool { return name == c.without })
			}
			for _, s := range c.installed {
				path := filepath.Join(t.TempDir(), s.Name+".rpm")
				rpmtest.Write(t, path, packed(t, s))
				if _, err := h.Run(t.Context(), host.Cmd{Name: "rpm", Args: []string{"-i", "--nodeps", path}}); err != nil {
					t.Fatal(err)
				}
			}
			before, err := tr.installed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			err = tr.Trial(t.Context(), open, tr.Packages)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			after, err := tr.installed(t.Context())
			if err != nil || !maps.Equal(before, after) {
				t.Errorf("the packages were %v, and are %v, %v", before, after, err)
			}
		})
	}
}

// TestTrialWithoutPackages: without packages, rpm does not run.
func TestTrialWithoutPackages(t *testing.T) {
	if err := (Transaction{}).Trial(t.Context(), nil, nil); err != nil {
		t.Error(err)
	}
}

// TestReasons: the error has rpm's reasons once, and not more than a screen of them.
func TestReasons(t *testing.T) {
	out := "warning: a.rpm: Header V4 RSA/SHA256 Signature, key ID 1: NOKEY\nerror: Failed dependencies:\n\tb is needed by a\nerror: Failed dependencies:\n"
	if err := explained([]byte(out), nil); err.Error() != "\n  - a.rpm: Header V4 RSA/SHA256 Signature, key ID 1: NOKEY\n  - Failed dependencies:\n  - b is needed by a" {
		t.Errorf("got %q", err)
	}
	long := ""
	for i := range 100 {
		long += strings.Repeat("x", i+1) + "\n"
	}
	if text := explained([]byte(long), nil).Error(); !strings.HasSuffix(text, "\n  - 92 more lines") {
		t.Errorf("got %q", text)
	}
}
