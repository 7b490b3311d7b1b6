package rpm

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRealMetadata plans over CentOS Stream 9, where AIRGAP_REPODATA says that
// it lies: baseos/ and appstream/.
func TestRealMetadata(t *testing.T) {
	dir := os.Getenv("AIRGAP_REPODATA")
	if dir == "" {
		t.Skip("AIRGAP_REPODATA is not set")
	}
	public, err := aKey().Public()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key.asc")
	if err := os.WriteFile(key, public, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Plan(t.Context(), directory(dir), Request{OS: "el9", Arch: "x86_64", Install: []string{"conntrack-tools", "socat", "container-selinux"},
		Repositories: []Repository{
			{Name: "baseos", BaseURL: "https://upstream/baseos", GPGKeys: []string{key}},
			{Name: "appstream", BaseURL: "https://upstream/appstream", GPGKeys: []string{key}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Packages {
		t.Log(p, p.Repository, p.NeededBy, len(p.primary), len(p.filelists))
	}
}
