package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/kubeadm"
)

// stickOf is a bundle with the files, on a stick that lies where lies says so.
func stickOf(t *testing.T, files map[string][]byte, lies func(name string, nth int) bool) *bundle.View {
	t.Helper()
	f := bundletest.NewWithFiles(t, "test", files)
	b, err := bundle.OpenFS(&bundletest.Fickle{Dir: f.Dir, Lies: lies}, "the stick", &f.Key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	v := bundle.NewView(b)
	t.Cleanup(func() { v.Close() })
	return v
}

// releases are the runtime's, with programs that are not in one chunk.
func releases(t *testing.T, r kubeadm.Runtime) map[string][]byte {
	t.Helper()
	var archive bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&archive, gzip.NoCompression)
	w := tar.NewWriter(zipped)
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		text := bytes.Repeat([]byte(name+"\n"), 100_000)
		err := w.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))})
		if _, writing := w.Write(text); err != nil || writing != nil {
			t.Fatal(err, writing)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range r.Files("amd64") {
		files[f.Name] = bytes.Repeat([]byte("runc"), 1<<19)
		if strings.HasSuffix(f.Name, ".gz") {
			files[f.Name] = archive.Bytes()
		}
	}
	return files
}

// TestProgramsOfAFickleStick: the stick gives the right bytes while the bundle is copied,
// and other ones when the programs are installed from it. None of them gets to its place.
func TestProgramsOfAFickleStick(t *testing.T) {
	r := kubeadm.Runtime{}
	r.Default("1.36.3")
	files := releases(t, r)
	for name, lies := range map[string]func(nth int) bool{
		"never": func(int) bool { return false }, "always": func(int) bool { return true },
		"at every other read": func(nth int) bool { return nth%2 == 0 }, "at times": func(nth int) bool { return nth%7 == 3 },
	} {
		t.Run(name, func(t *testing.T) {
			on := false
			v := stickOf(t, files, func(_ string, nth int) bool { return on && lies(nth) })
			for _, e := range v.Top().Index().Files { // as the store step does
				if _, err := fs.ReadFile(v.FS(), e.Path); err != nil {
					t.Fatal(err)
				}
			}
			on = true
			root := t.TempDir()
			s := kubeadm.RuntimeFiles(kubeadm.Machine{Host: rootHost{dir: root}, Root: root}, r, "amd64", fromView(v).files)
			err := s.Run(t.Context())
			placed := inBin(t, root)
			switch {
			case name == "never" && (err != nil || len(placed) != 4):
				t.Errorf("%v, %d programs", err, len(placed))
			case name != "never" && (!errors.Is(err, bundle.ErrDamaged) || len(placed) > 0):
				t.Errorf("%v, programs %v", err, placed)
			}
		})
	}
}

func inBin(t *testing.T, root string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, kubeadm.BinDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFilesOfAFickleStick: NVIDIA's installer, manifests and keys come whole or not.
func TestFilesOfAFickleStick(t *testing.T) {
	manifest := []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
	on := false
	v := stickOf(t, map[string][]byte{"driver.run": bytes.Repeat([]byte("#!/bin/sh\n"), 300_000), "manifest.yaml": manifest}, func(string, int) bool { return on })
	entry, _ := v.Top().Index().Find("files/manifest.yaml")
	addon := bundle.Addon{Name: "a", Path: entry.Path, Size: entry.Size, SHA256: entry.SHA256}
	uses := map[string]func(context.Context) error{
		"installer": func(ctx context.Context) error {
			r, err := fromView(v)(ctx, "files/driver.run")
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			return err
		},
		"manifest": func(ctx context.Context) error {
			objects, err := fromView(v).objects(ctx, addon)
			if err == nil && len(objects) != 1 {
				t.Errorf("%d objects", len(objects))
			}
			return err
		},
		"keys": func(ctx context.Context) error {
			_, err := fromView(v).all(ctx, v.Top().Index(), "rpm/el9")
			return err
		},
		"public key": func(context.Context) error { _, err := signedFiles(v.Top()); return err },
	}
	for name, use := range uses {
		if err := use(t.Context()); err != nil {
			t.Errorf("%s, before: %v", name, err)
		}
	}
	on = true
	for name, use := range uses {
		if err := use(t.Context()); !errors.Is(err, bundle.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestALinkIsNotLaidOut: DIR's airgap.pub becomes a link to the cluster's key before the
// second airgap install DIR. What joining hosts may read has nothing of it.
func TestALinkIsNotLaidOut(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	if files, err := signedFiles(b); err != nil || len(files) != len(indexFiles()) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	key := filepath.Join(t.TempDir(), "ca.key")
	public := filepath.Join(f.Dir, bundle.PublicKeyName)
	if err := errors.Join(os.WriteFile(key, []byte("the cluster's key"), 0o600), os.Remove(public), os.Symlink(key, public)); err != nil {
		t.Fatal(err)
	}
	files, err := signedFiles(b)
	if !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.pub: it is a symbolic link") || len(files) > 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if _, err := bundle.Open(f.Dir, &f.Key.PublicKey); !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.pub") {
		t.Errorf("open: %v", err)
	}
	if _, err := bundle.ReadSigned(f.Dir, &f.Key.PublicKey); !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.pub") {
		t.Errorf("the index: %v", err)
	}
	if _, err := bundle.PublicKeyIn(f.Dir); err == nil || strings.Contains(err.Error(), "cluster's key") {
		t.Errorf("the key: %v", err)
	}
}
