package dnf

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
)

// vendorKey and bundleKey are created once, because generating RSA-4096 takes seconds.
var vendorKey, bundleKey = sync.OnceValue(newKey), sync.OnceValue(newKey)

func newKey() *rpm.Key {
	key, err := rpm.NewKey(rpmtest.Built().Add(-time.Hour))
	if err != nil {
		panic(err)
	}
	return key
}

// vendor builds signed packages and indexes them with createrepo_c.
func vendor(t *testing.T, specs ...rpm.Spec) (rpmtest.Directory, rpm.Repository) {
	t.Helper()
	packages := map[string][]byte{}
	for _, s := range specs {
		packages[s.Name+"-"+s.Version+"-"+s.Release+".rpm"] = packed(t, s)
	}
	base := rpmtest.Upstream + "vendor"
	return rpmtest.Vendor(t, publicKey(t), packages), rpm.Repository{Name: "vendor", BaseURL: base, GPGKeys: []string{base + "/key.asc"}}
}

// writeRepository writes the closure as the repository of a bundle.
func writeRepository(t *testing.T, c *rpm.Closure, from rpmtest.Directory) string {
	t.Helper()
	dir := t.TempDir()
	files, err := c.Repodata(bundleKey(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		rpmtest.Write(t, filepath.Join(dir, name), data)
	}
	for _, p := range c.Packages {
		r, _, err := from.Open(t.Context(), p.URL, 0)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if err := c.Verify(p, bytes.NewReader(b.Bytes())); err != nil {
			t.Fatal(err)
		}
		rpmtest.Write(t, filepath.Join(dir, rpm.PackagesDir, p.FileName), b.Bytes())
	}
	return dir
}

// keyFiles returns the public keys of a bundle's repository.
func keyFiles(t *testing.T, repository string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	paths, _ := filepath.Glob(filepath.Join(repository, rpm.KeysDir, "*"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = data
	}
	return files
}

// spec is a package with one file, /opt/NAME.
func spec(name string, requires ...string) rpm.Spec {
	return rpm.Spec{
		Name: name, Version: "1.0", Release: "1", Arch: "x86_64", Summary: name, License: "Apache-2.0", Requires: requires, Time: rpmtest.Built(),
		Files: []rpm.File{{Path: "/opt/" + name, Data: []byte(name), Mode: 0o644}},
	}
}

// withFile is a package with this file.
func withFile(name, path, content string) rpm.Spec {
	s := spec(name)
	s.Files = []rpm.File{{Path: path, Data: []byte(content), Mode: 0o755}}
	return s
}

// packed returns the package, signed by the vendor.
func packed(t *testing.T, s rpm.Spec) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := rpm.BuildPackage(&b, s, vendorKey()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// publicKey returns the vendor's.
func publicKey(t *testing.T) []byte {
	t.Helper()
	public, err := vendorKey().Public()
	if err != nil {
		t.Fatal(err)
	}
	return public
}
