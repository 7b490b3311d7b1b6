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
	"airgap.dev/airgap/bundle/sidefiles"
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

func TestCopyContinuesAndRepairs(t *testing.T) {
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
		t.Errorf("an incomplete copy opens: %v", err)
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
	if _, err := f.Open(t).Copy(background, to, ui.Discard()); err == nil || !strings.Contains(err.Error(), "the directory has another bundle") {
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
	if altered, err := sidefiles.Check(b); err != nil || len(altered) != 1 || altered[0].Name != "INSTALL.txt" {
		t.Errorf("altered: %v, %v", altered, err)
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

// TestCopyTakesOnlySignedFiles replaces files of the USB drive after Open.
func TestCopyTakesOnlySignedFiles(t *testing.T) {
	f := bundletest.New(t)
	for _, name := range []string{"INSTALL.txt", bundle.PublicKeyName, bundle.IndexName} {
		b, path := f.Open(t), filepath.Join(f.Dir, name)
		right, err := os.ReadFile(path)
		must(t, err)
		for what, spoil := range map[string]func() error{
			"a wrong hash":    func() error { return os.WriteFile(path, []byte("curl | sh"), 0o644) },
			"a symbolic link": func() error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) },
			"removed":         func() error { return os.Remove(path) },
		} {
			must(t, spoil())
			to := t.TempDir()
			without := []string{name, bundle.IndexName}
			_, err := b.Copy(background, to, ui.Discard())
			if name == "INSTALL.txt" { // documentation: the copy is a bundle without it
				must(t, err)
				without = []string{name}
			} else if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			for _, left := range without {
				if _, err := os.Lstat(filepath.Join(to, left)); err == nil {
					t.Errorf("%s, %s: %s was copied", name, what, left)
				}
			}
			_ = os.Remove(path)
			must(t, os.WriteFile(path, right, 0o644))
		}
	}

	b, to := f.Open(t), t.TempDir()
	for _, name := range []string{bundle.SumsName, bundle.SignatureName} {
		must(t, errors.Join(os.Remove(filepath.Join(f.Dir, name)), os.Symlink("/etc/passwd", filepath.Join(f.Dir, name))))
	}
	_, err := b.Copy(background, to, ui.Discard())
	must(t, err)
	copied, err := bundle.Open(to, &f.Key.PublicKey)
	must(t, err)
	must(t, errors.Join(copied.Verify(background, ui.Discard()), copied.Close()))
}

// TestCopySetsModes: file modes on the USB drive are not signed, so the copy sets its own.
func TestCopySetsModes(t *testing.T) {
	f := bundletest.New(t)
	must(t, os.WriteFile(filepath.Join(f.Dir, bundle.ProgramName), []byte("#!/bin/sh\n"), 0o600))
	f.Sign(t)
	must(t, os.Chmod(filepath.Join(f.Dir, "INSTALL.txt"), 0o4777))
	to := t.TempDir()
	_, err := f.Open(t).Copy(background, to, ui.Discard())
	must(t, err)
	for name, want := range map[string]os.FileMode{"INSTALL.txt": 0o644, bundle.ProgramName: 0o755, bundle.SignatureName: 0o644} {
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

// TestCopyOfAFickleStick: some reads return wrong bytes. The copy is correct, or it
// fails and is not a bundle.
func TestCopyOfAFickleStick(t *testing.T) {
	f, refused := bundletest.New(t), 0
	for at := range 4 {
		on := false
		b, err := bundle.OpenFS(&bundletest.Fickle{Dir: f.Dir, Lies: func(_ string, nth int) bool { return on && nth%4 == at }}, "the stick", &f.Key.PublicKey)
		must(t, err)
		on = true
		to := t.TempDir()
		_, err = b.Copy(background, to, ui.Discard())
		copied, opening := bundle.Open(to, &f.Key.PublicKey)
		switch {
		case err == nil:
			must(t, opening)
			must(t, errors.Join(copied.Verify(background, ui.Discard()), copied.Close()))
		case errors.Is(err, bundle.ErrDamaged) && errors.Is(opening, bundle.ErrNoBundle):
			refused++
		default:
			t.Errorf("wrong bytes at read %d: %v; the copy: %v", at, err, opening)
		}
		must(t, b.Close())
	}
	if refused == 0 {
		t.Error("no wrong byte was detected")
	}
}
