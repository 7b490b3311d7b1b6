package metacache

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func sum(n int) string { return fmt.Sprintf("sha256-%064x", n) }

// TestCache keeps files up to a limit, those that were used last.
func TestCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "airgap", "repodata")
	d := Dir(path)
	for i := range 3 {
		if err := d.put(sum(i), make([]byte, 100), 250); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(filepath.Join(path, sum(i)), old, old); i < 2 && err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{0, 100, 100} {
		if got := len(d.Get(sum(i), 1000)); got != want {
			t.Errorf("file %d has %d bytes, want %d", i, got, want)
		}
	}
	if d.Get(sum(2), 99) != nil {
		t.Error("a file above the limit of the reader")
	}
	if err := d.put(sum(3), make([]byte, 100), 250); err != nil || d.Get(sum(3), 1000) == nil {
		t.Errorf("a fourth file: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has the mode %v, %v", info.Mode(), err)
	}
}

// TestOddNames: no name leads out of the directory, and a link is no file of the cache.
func TestOddNames(t *testing.T) {
	dir := t.TempDir()
	d := Dir(filepath.Join(dir, "cache"))
	if err := d.Put(sum(2), []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{"", "..", "sha256-../../x", "sha1-" + strings.Repeat("0", 40), "sha256-" + strings.Repeat("A", 64)} {
		if err := d.Put(odd, []byte("x")); err != nil || d.Get(odd, 10) != nil {
			t.Errorf("%q is kept, %v", odd, err)
		}
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "cache", sum(1))); err != nil {
		t.Fatal(err)
	}
	if d.Get(sum(1), 10) != nil {
		t.Error("a link out of the cache is read")
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "cache", sum(3)), 0o600); err != nil {
		t.Fatal(err)
	}
	if d.Get(sum(3), 10) != nil {
		t.Error("a pipe is read")
	}
	if err := Dir("").Put(sum(1), []byte("x")); err != nil || Dir("").Get(sum(1), 10) != nil {
		t.Error("no directory keeps something")
	}
}
