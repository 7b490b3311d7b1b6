package plan

import (
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/bundle"
)

// FuzzLock: users keep airgap.lock in version control for years. A lock that airgap can
// read does not change when airgap writes it.
func FuzzLock(f *testing.F) {
	f.Add([]byte(`{"version": 1, "lock": {"images": [{"name": "a.example/b:1", "digest": "sha256:00"}], "packages": null}}`))
	f.Add([]byte(`{"version": 2, "lock": {}}`))
	f.Add([]byte(`{"version": 1, "lock": {"surprise": true}}`))
	path := filepath.Join(f.TempDir(), "airgap.lock")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		lock, err := readLock(path)
		if err != nil {
			return
		}
		if err := WriteLock(path, &bundle.Plan{Lock: lock.Lock, Dated: lock.Created}); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if lock, err = readLock(path); err != nil {
			t.Fatalf("airgap cannot read the lock that it wrote: %v", err)
		}
		if err := WriteLock(path, &bundle.Plan{Lock: lock.Lock, Dated: lock.Created}); err != nil {
			t.Fatal(err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s becomes %s, %v", before, after, err)
		}
	})
}
