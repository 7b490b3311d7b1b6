package plan

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/nevra"
)

// TestLockFile writes and reads airgap.lock, and refuses invalid files.
func TestLockFile(t *testing.T) {
	path := LockPath(filepath.Join(t.TempDir(), "airgap.yaml"))
	if got := filepath.Base(path); got != "airgap.lock" {
		t.Errorf("the lock of airgap.yaml is %s", got)
	}
	if lock, err := readLock(path); lock != nil || err != nil {
		t.Errorf("without a lock: %v, %v", lock, err)
	}
	want := bundle.Lock{Platform: "linux/amd64", Images: []bundle.Image{{Name: "a:1", Digest: "sha256:00"}},
		Packages: []bundle.Package{{NEVRA: nevra.MustParse("a-0:1-1.x86_64"), Hosts: []string{"db1"}}}}
	if err := WriteLock(path, &bundle.Plan{Lock: want}); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadLock(path); err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	for text, wrong := range map[string]string{"{": "unexpected EOF", `{"version": 2}`: "version 2", `{"version": 1, "locks": {}}`: "unknown field"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readLock(path); err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", text, err, wrong)
		}
	}
}
