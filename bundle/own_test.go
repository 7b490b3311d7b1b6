package bundle_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/sidefiles"
	"airgap.dev/airgap/internal/ui"
)

func TestOwnFiles(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	for _, name := range b.Names() {
		want, err := os.ReadFile(filepath.Join(f.Dir, name))
		must(t, err)
		own, err := b.Own(name)
		must(t, err)
		got, err := io.ReadAll(own)
		must(t, errors.Join(err, own.Close()))
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want the %d of the directory", name, len(got), len(want))
		}
		if got, err := b.Attested(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s with Vouched: %d bytes, %v", name, len(got), err)
		}
	}
	must(t, os.WriteFile(filepath.Join(f.Dir, "notes.txt"), []byte("x"), 0o644))
	for _, name := range []string{"notes.txt", "../" + filepath.Base(f.Dir) + "/INSTALL.txt", "", "."} {
		if _, err := b.Own(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestExchangedFilesAreRefused replaces the files of an open bundle. The two files in
// memory keep the content from Open; all others are refused.
func TestExchangedFilesAreRefused(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	before := map[string][]byte{}
	for _, name := range b.Names() {
		data, err := b.Attested(name)
		must(t, err)
		before[name] = data
		path := filepath.Join(f.Dir, name)
		must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), len(data)), 0o644)) // the same inode and size
	}
	for _, name := range b.Names() {
		data, err := b.Attested(name)
		if strings.HasPrefix(name, bundle.SumsName) {
			if err != nil || !bytes.Equal(data, before[name]) {
				t.Errorf("%s: %q, %v", name, data, err)
			}
			continue
		}
		if !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), name) || data != nil {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

// irregular creates an irregular or a wrong file at path.
func irregular(t *testing.T) map[string]func(path string) error {
	secret := filepath.Join(t.TempDir(), "ca.key")
	must(t, os.WriteFile(secret, []byte("secret key\n"), 0o600))
	kinds := map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(secret, path) },
		"a FIFO":          func(path string) error { return unix.Mkfifo(path, 0o644) },
		"a directory":     func(path string) error { return os.Mkdir(path, 0o755) },
		"a socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"link in DIR": func(path string) error {
			beside := path + ".real"
			return errors.Join(os.WriteFile(beside, []byte("x"), 0o644), os.Symlink(filepath.Base(beside), path))
		},
		"hard link":   func(path string) error { return os.Link(secret, path) },
		"sparse file": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40)) },
	}
	if os.Geteuid() == 0 {
		kinds["a device"] = func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))) } // endless zeros
	}
	return kinds
}

// TestOnlyRegularFiles replaces each file of a bundle with an irregular one. None is
// read, no read hangs, and the error names the file.
func TestOnlyRegularFiles(t *testing.T) {
	for kind, make := range irregular(t) {
		t.Run(strings.ReplaceAll(kind, " ", "-"), func(t *testing.T) {
			f := bundletest.New(t)
			b := f.Open(t)
			for _, name := range b.Names() {
				path := filepath.Join(f.Dir, name)
				must(t, os.Rename(path, path+".away"))
				if err := make(path); errors.Is(err, unix.EXDEV) {
					t.Skip("the secret is on another file system")
				} else if err != nil {
					t.Fatal(err)
				}
				wantsRefusal(t, kind, name, f, b)
				must(t, errors.Join(os.Remove(path), os.Rename(path+".away", path)))
			}
			must(t, b.Verify(background, ui.Discard()))
		})
	}
}

func wantsRefusal(t *testing.T, kind, name string, f *bundletest.Fixture, open *bundle.Bundle) {
	t.Helper()
	again, err := bundle.Open(f.Dir, &f.Key.PublicKey)
	if err == nil { // a hard link or a sparse file: only the content is wrong
		defer again.Close()
		_, err = again.Attested(name)
	}
	if err == nil || !strings.Contains(err.Error(), name) && !errors.Is(err, bundle.ErrSignature) {
		t.Errorf("open with %s: %v", name, err)
	}
	if strings.HasPrefix(kind, "a ") && !strings.Contains(err.Error(), name+": it is "+kind) {
		t.Errorf("open with %s: %v, want %s in the error", name, err, kind)
	}
	altered, err := sidefiles.Check(open)
	checked := !strings.Contains(name, "bundle.tar.") && !strings.HasPrefix(name, bundle.SumsName)
	if found := fmt.Sprint(altered.Names(), err); checked && !strings.Contains(found, name) {
		t.Errorf("verify with %s: %v", name, err)
	}
}

// TestEachReadIsVerified: a USB drive returns the correct bytes one or more times, and
// then wrong bytes. Every read refuses the wrong bytes, also after correct reads.
func TestEachReadIsVerified(t *testing.T) {
	big := make([]byte, 3<<20+77)
	rand.Read(big)
	f := bundletest.NewWithFiles(t, "test", map[string][]byte{"driver.run": big})
	lies := false
	b, err := bundle.OpenFS(&bundletest.Fickle{Dir: f.Dir, Lies: func(string, int) bool { return lies }}, "the stick", &f.Key.PublicKey)
	must(t, err)
	defer b.Close()
	read := map[string]func() ([]byte, error){
		"content": func() ([]byte, error) { return readRunfile(b, (*bundle.Content).Open) },
		"reader": func() ([]byte, error) {
			return readRunfile(b, func(c *bundle.Content) io.ReadCloser { return io.NopCloser(c.Reader()) })
		},
		"file system": func() ([]byte, error) { return fs.ReadFile(b.FS(), "files/driver.run") },
		"some bytes": func() ([]byte, error) {
			c, err := b.File("files/driver.run")
			must(t, err)
			p := make([]byte, 100_000)
			n, err := c.ReadAt(p, 1<<20-50)
			return p[:n], err
		},
		"part":        func() ([]byte, error) { return b.Attested("bundle.tar.001") },
		"public key":  func() ([]byte, error) { return b.Attested(bundle.PublicKeyName) },
		"INSTALL.txt": func() ([]byte, error) { return b.Attested("INSTALL.txt") },
	}
	right := map[string][]byte{}
	for name, read := range read {
		for range 3 {
			data, err := read()
			must(t, err)
			right[name] = data
		}
	}
	lies = true
	for name, read := range read {
		if data, err := read(); !errors.Is(err, bundle.ErrDamaged) || len(data) > 0 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	lies = false
	for name, read := range read {
		if data, err := read(); err != nil || !bytes.Equal(data, right[name]) {
			t.Errorf("%s, after the USB drive is correct again: %d bytes, %v", name, len(data), err)
		}
	}
}

// TestEveryLieIsDetected: some reads return wrong bytes. The result is correct or an error.
func TestEveryLieIsDetected(t *testing.T) {
	big := make([]byte, 2<<20+77)
	rand.Read(big)
	f := bundletest.NewWithFiles(t, "test", map[string][]byte{"driver.run": big})
	for begin := range 2 {
		for every := 2; every < 6; every++ {
			on := false
			b, err := bundle.OpenFS(&bundletest.Fickle{Dir: f.Dir, Lies: func(_ string, nth int) bool { return on && nth%every == begin }}, "the stick", &f.Key.PublicKey)
			must(t, err)
			on = true
			for range 4 {
				if data, err := readRunfile(b, (*bundle.Content).Open); err == nil && !bytes.Equal(data, big) || err != nil && !bytes.HasPrefix(big, data) {
					t.Errorf("every %d: wrong bytes, %v", every, err)
				}
				if data, err := b.Attested("INSTALL.txt"); err == nil && !strings.HasPrefix(string(data), "rpm --import") {
					t.Errorf("every %d: INSTALL.txt is %q", every, data)
				}
			}
			must(t, b.Close())
		}
	}
}

func readRunfile(b *bundle.Bundle, open func(*bundle.Content) io.ReadCloser) ([]byte, error) {
	c, err := b.File("files/driver.run")
	if err != nil {
		return nil, err
	}
	r := open(c)
	defer r.Close()
	return io.ReadAll(r)
}

// TestReadErrorIsNoDamage: a chunk that the medium does not return is named, and is not reported as damaged.
func TestReadErrorIsNoDamage(t *testing.T) {
	f := bundletest.New(t)
	b, err := bundle.OpenFS(unreadable{os.DirFS(f.Dir)}, f.Dir, &f.Key.PublicKey)
	must(t, err)
	defer b.Close()
	data, err := fs.ReadFile(b.FS(), "files/hello.txt")
	var read *bundle.ReadError
	if !errors.As(err, &read) || errors.Is(err, bundle.ErrDamaged) || !errors.Is(err, unix.EIO) || len(data) > 0 {
		t.Fatalf("%q, %v", data, err)
	}
	if read.Bundle != "test" || read.Part != "bundle.tar.000" || read.Chunk < 0 || read.Path == "" || !strings.Contains(err.Error(), "bundle.tar.000, chunk ") {
		t.Errorf("%+v: %v", read, err)
	}
}

// unreadable is a medium that returns an input/output error for each part.
type unreadable struct{ fs.FS }

func (u unreadable) Open(name string) (fs.File, error) {
	f, err := u.FS.Open(name)
	if err == nil && strings.HasPrefix(name, "bundle.tar.") {
		return unreadableFile{f}, nil
	}
	return f, err
}

type unreadableFile struct{ fs.File }

func (unreadableFile) ReadAt([]byte, int64) (int, error) { return 0, unix.EIO }

func TestVouch(t *testing.T) {
	want := bundle.Held{Path: "files/runc", Size: 5, SHA256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"} // of "hello"
	for text, says := range map[string]string{
		"hello": "", "hell": "is 1 bytes too short", "hellO": "SHA-256 does not match the signed value", "hello!": "more than 5 bytes", "": "is 5 bytes too short",
	} {
		var got bytes.Buffer
		_, err := io.CopyBuffer(&got, struct{ io.Reader }{bundle.Attest(io.NopCloser(strings.NewReader(text)), want)}, make([]byte, 2))
		if says == "" && (err != nil || got.String() != text) || says != "" && (err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), want.Path)) {
			t.Errorf("%q: %q, %v, want %q", text, got.String(), err, says)
		}
		if says != "" && got.Len() >= 5 && text != "hello!" {
			t.Errorf("%q: all bytes were returned before the error", text)
		}
	}
}
