package dnf

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGPGCheck: dnf trusts the repository's metadata, but not the key that signed
// the packages.
func TestGPGCheck(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent"))
	tr := transaction(t, h, from, repository, "agent")
	trusted := len(tr.Keys)
	vendors := publicKey(t)
	maps.DeleteFunc(tr.Keys, func(_ string, key []byte) bool { return bytes.Equal(key, vendors) })
	if len(tr.Keys) != trusted-1 {
		t.Fatalf("the vendor's key is not one of the %d trusted ones", trusted)
	}
	err := tr.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "agent-1.0-1.x86_64") || !strings.Contains(err.Error(), "GPG") {
		t.Errorf("got %v, want it to name the package and its signature", err)
	}
	if _, err := os.Stat(filepath.Join(h.root, "opt/agent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its file is installed: %v", err)
	}
}
