package bundle_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

func TestCopyIsTheSameBundle(t *testing.T) {
	f := bundletest.New(t)
	to := filepath.Join(t.TempDir(), "store", "test")
	written, err := f.Open(t).Copy(background, to, ui.Discard())
	must(t, err)
	if fmt.Sprint(hashAll(t, to)) != fmt.Sprint(hashAll(t, f.Dir)) {
		t.Error("the copy differs")
	}
	if size := f.Open(t).Index().Summary().Size; written > size || written < size-1<<20 {
		t.Errorf("%d bytes written of a bundle of %d", written, size)
	}
	b, err := bundle.Open(to, &f.Key.PublicKey)
	must(t, err)
	defer b.Close()
	must(t, b.Verify(background, ui.Discard()))
}

func TestCopyGoesOnAndRepairs(t *testing.T) {
	f := bundletest.New(t)
	to := t.TempDir()
	copyFile := func(from, name string, size int) {
		content, err := os.ReadFile(filepath.Join(f.Dir, from))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(to, name), content[:size], 0o600))
	}
	copyFile("bundle.tar.000", "bundle.tar.000", 1<<20)
	copyFile("bundle.tar.001", "bundle.tar.001.tmp", 5000)
	copyFile("bundle.tar.000", "bundle.tar.002", 1<<20) // other bytes under this name
	if _, err := bundle.Open(to, &f.Key.PublicKey); !errors.Is(err, bundle.ErrNoBundle) {
		t.Errorf("half a copy opens: %v", err)
	}
	_, err := f.Open(t).Copy(background, to, ui.Discard())
	must(t, err)
	if fmt.Sprint(hashAll(t, to)) != fmt.Sprint(hashAll(t, f.Dir)) {
		t.Error("the copy differs")
	}
	if again, err := f.Open(t).Copy(background, to, ui.Discard()); err != nil || again != 0 {
		t.Errorf("again: %d bytes written, %v", again, err)
	}
	part, err := os.OpenFile(filepath.Join(to, "bundle.tar.000"), os.O_RDWR, 0)
	must(t, err)
	_, err = part.WriteAt([]byte("x"), 1000)
	must(t, errors.Join(err, part.Close()))
	if repaired, err := f.Open(t).Copy(background, to, ui.Discard()); err != nil || repaired != min(bundle.ChunkSize, f.Open(t).Index().Parts[0].Size) {
		t.Errorf("repaired %d bytes, %v", repaired, err)
	}
	if fmt.Sprint(hashAll(t, to)) != fmt.Sprint(hashAll(t, f.Dir)) {
		t.Error("the repaired copy differs")
	}
}

func TestCopyRefuses(t *testing.T) {
	f := bundletest.New(t)
	to := t.TempDir()
	must(t, os.WriteFile(filepath.Join(to, bundle.IndexName), []byte("{}"), 0o644))
	if _, err := f.Open(t).Copy(background, to, ui.Discard()); err == nil || !strings.Contains(err.Error(), "another bundle is there") {
		t.Errorf("got %v", err)
	}

	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := f.Open(t).Copy(ctx, t.TempDir(), ui.Discard()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDamageIsListed(t *testing.T) {
	f := bundletest.New(t)
	f.Flip(t, "files/hello.txt")
	f.Flip(t, "rpm/el9/repodata/repomd.xml")
	b := f.Open(t)
	must(t, os.WriteFile(filepath.Join(f.Dir, "INSTALL.txt"), []byte("curl | sh"), 0o644))
	to := t.TempDir()
	_, copying := b.Copy(background, to, ui.Discard())
	for what, err := range map[string]error{"verify": b.Verify(background, ui.Discard()), "copy": copying} {
		if !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "files/hello.txt") || !strings.Contains(err.Error(), "bundle.tar.003, chunk 0") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := b.Verify(background, ui.Discard()); !strings.Contains(err.Error(), "INSTALL.txt: SHA-256") {
		t.Errorf("got %v", err)
	}
	if _, err := bundle.Open(to, &f.Key.PublicKey); !errors.Is(err, bundle.ErrNoBundle) {
		t.Errorf("a damaged copy opens: %v", err)
	}
}

func TestSummary(t *testing.T) {
	s := bundletest.New(t).Open(t).Index().Summary()
	if s.Images.Count != 3 || s.Packages.Count != 2 || s.Files != (bundle.Amount{Count: 1, Bytes: 6}) || s.Images.Bytes < 3<<20 || s.Size < s.Images.Bytes {
		t.Errorf("got %+v", s)
	}
}
