package registry

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
)

// vendor publishes signed packages in a repository made with createrepo_c, and returns a client for it.
func vendor(t *testing.T, key *rpm.Key, names ...string) *fetch.Client {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		var file bytes.Buffer
		must(t, rpm.BuildPackage(&file, rpm.Spec{Name: name, Version: "1.0", Release: "1", Arch: "x86_64", Summary: name, License: "x", Time: time.Unix(1_700_000_000, 0)}, key))
		must(t, os.WriteFile(filepath.Join(dir, name+"-1.0-1.x86_64.rpm"), file.Bytes(), 0o644))
	}
	if out, err := exec.Command("createrepo_c", "--quiet", dir).CombinedOutput(); err != nil {
		t.Fatalf("createrepo_c: %v\n%s", err, out)
	}
	public, err := key.Public()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "key.asc"), public, 0o644))
	server := httptest.NewTLSServer(http.StripPrefix("/pkgs.example/", http.FileServer(http.Dir(dir))))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644))
	client, err := fetch.NewClient(fetch.Sources{CA: ca, Rewrite: []fetch.Rewrite{{From: "*", To: strings.TrimPrefix(server.URL, "https://")}}})
	must(t, err)
	return client
}

// TestDnfReadsBaseAndDelta lists and downloads packages with dnf, one from the base and one from the
// delta, by the delta's signed metadata.
func TestDnfReadsBaseAndDelta(t *testing.T) {
	bundletest.Need(t, "dnf", "createrepo_c")
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	must(t, err)
	client := vendor(t, key, "first", "second")
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	write := func(created int64, base *bundle.Inventory, install ...string) *bundle.Bundle {
		p, err := bundle.NewPlan(t.Context(), client, bundle.Request{
			Name: "test", Created: time.Unix(created, 0), Platform: "linux/amd64", Base: base,
			Packages: &rpm.Request{OS: "el9", Arch: "x86_64", Install: install,
				Repositories: []rpm.Repository{{Name: "vendor", BaseURL: "https://pkgs.example/", GPGKeys: []string{"https://pkgs.example/key.asc"}}}},
		}, ui.Discard())
		must(t, err)
		must(t, p.SignPackages(key))
		dir := filepath.Join(t.TempDir(), p.Name)
		_, err = bundle.Write(t.Context(), p, dir, bundle.Options{PartSize: 1 << 20, Signer: signer}, ui.Discard())
		must(t, err)
		b, err := bundle.Open(dir, &signer.PublicKey)
		must(t, err)
		t.Cleanup(func() { b.Close() })
		return b
	}
	base := write(1_700_000_000, nil, "first")
	inventory := bundle.NewInventory(base.Index())
	delta := write(1_700_000_001, &inventory, "first", "second")
	if got := delta.Index().Left(); len(got) != 1 || got[0].Path != "rpm/el9/Packages/first-1.0-1.x86_64.rpm" {
		t.Fatalf("the delta leaves out %v", got)
	}
	if _, err := fs.Stat(delta.FS(), "rpm/el9/Packages/second-1.0-1.x86_64.rpm"); err != nil {
		t.Error(err)
	}

	r, home := start(t, base, delta), t.TempDir()
	config := "[main]\nreposdir=" + home + "\ncachedir=" + home + "/cache\nlogdir=" + home + "\npersistdir=" + home + "\n" +
		"[airgap]\nname=airgap\nbaseurl=" + r.url("/rpm/el9/") + "\nsslcacert=" + r.pki.CAFile() + "\nproxy=_none_\nrepo_gpgcheck=1\ngpgcheck=1\n" +
		"gpgkey=" + r.url("/rpm/el9/keys/") + bundle.RPMKeyName + "\n"
	must(t, os.WriteFile(filepath.Join(home, "dnf.conf"), []byte(config), 0o644))
	dnf := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("dnf", append([]string{"--config", filepath.Join(home, "dnf.conf"), "--installroot", home, "--releasever", "9", "--forcearch", "x86_64", "-y", "--quiet"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("dnf %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if listed := dnf("repoquery", "--all"); !strings.Contains(listed, "first-0:1.0-1.x86_64") || !strings.Contains(listed, "second-0:1.0-1.x86_64") {
		t.Errorf("dnf lists\n%s", listed)
	}
	dnf("install", "--downloadonly", "first", "second")
	found := 0
	must(t, filepath.WalkDir(filepath.Join(home), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".rpm") {
			found++
		}
		return err
	}))
	if found != 2 {
		t.Errorf("dnf fetched %d packages, want 2", found)
	}
}
