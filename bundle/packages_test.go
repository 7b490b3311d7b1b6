package bundle_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
)

// rpmUpstream publishes a repository of signed RPMs with metadata from the real
// createrepo_c, without the removed ones. The request installs one of them, which requires
// another.
func rpmUpstream(t *testing.T, key *rpm.Key, removed ...string) (*upstream, bundle.Request) {
	t.Helper()
	dir := t.TempDir()
	for name, requires := range map[string][]string{"kubelet": {"helper"}, "helper": nil, "unwanted": nil} {
		if slices.Contains(removed, name) {
			continue
		}
		var file bytes.Buffer
		must(t, rpm.BuildPackage(&file, rpm.Spec{Name: name, Version: "1.0", Release: "1", Arch: "x86_64", Summary: name, License: "x",
			Requires: requires, Time: time.Unix(1_700_000_000, 0)}, key))
		must(t, os.WriteFile(filepath.Join(dir, name+"-1.0-1.x86_64.rpm"), file.Bytes(), 0o644))
	}
	if out, err := exec.Command("createrepo_c", "--quiet", dir).CombinedOutput(); err != nil {
		t.Fatalf("createrepo_c: %v\n%s", err, out)
	}
	u := newUpstream(t)
	must(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		u.files["pkgs.k8s.io/rpm/"+path], err = os.ReadFile(filepath.Join(dir, path))
		return err
	}))
	public, err := key.Public()
	must(t, err)
	u.files["pkgs.k8s.io/key.asc"] = public
	r := u.request()
	r.Packages = &rpm.Request{OS: "el9", Arch: "x86_64", Install: []string{"kubelet"},
		Repositories: []rpm.Repository{{Name: "kubernetes", BaseURL: "https://pkgs.k8s.io/rpm", GPGKeys: []string{"https://pkgs.k8s.io/key.asc"}}}}
	return u, r
}

func TestPackages(t *testing.T) {
	bundletest.Need(t, "createrepo_c", "dnf")
	key, err := rpm.NewKey(time.Unix(1_600_000_000, 0))
	must(t, err)
	u, r := rpmUpstream(t, key)
	p, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	must(t, err)
	o, dir := options(t), filepath.Join(t.TempDir(), "stick")
	if _, err = bundle.Write(background, p, dir, o, ui.Discard()); err == nil || !strings.Contains(err.Error(), "not signed") {
		t.Errorf("packages without a signed repository: %v", err)
	}
	must(t, p.SignPackages(key))
	_, err = bundle.Write(background, p, dir, o, ui.Discard())
	must(t, err)
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	defer b.Close()
	lock := b.Index().Lock
	if len(lock.Packages) != 2 || lock.Packages[1].NEVRA.String() != "kubelet-0:1.0-1.x86_64" || lock.OS != "el9" || !strings.HasPrefix(lock.Proof, "assumed") {
		t.Fatalf("lock: %+v", lock)
	}
	wantSums(t, dir)
	tree := extract(t, dir)
	wantDnf(t, filepath.Join(tree, bundle.RPMDir("el9")))

	u.files["pkgs.k8s.io/rpm/kubelet-1.0-1.x86_64.rpm"] = bytes.Repeat([]byte("x"), int(lock.Packages[1].Size))
	if _, err = bundle.Write(background, p, t.TempDir(), o, ui.Discard()); err == nil || !strings.Contains(err.Error(), "package kubelet-0:1.0-1.x86_64: SHA-256") {
		t.Errorf("a replaced package: %v", err)
	}
}

// wantDnf lets the real dnf read the repository and verify its signature.
func wantDnf(t *testing.T, repo string) {
	t.Helper()
	home := t.TempDir()
	config := "[main]\nreposdir=" + home + "\ncachedir=" + home + "/cache\nlogdir=" + home + "\npersistdir=" + home + "\n" +
		"[airgap]\nname=airgap\nbaseurl=file://" + repo + "\nrepo_gpgcheck=1\ngpgcheck=1\ngpgkey=file://" + repo + "/keys/" + bundle.RPMKeyName + "\n"
	path := filepath.Join(home, "dnf.conf")
	must(t, os.WriteFile(path, []byte(config), 0o644))
	cmd := exec.Command("dnf", "--config", path, "--installroot", home, "--releasever", "9", "--forcearch", "x86_64", "-y", "--quiet", "repoquery", "--all")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "kubelet-0:1.0-1.x86_64") || strings.Contains(string(out), "unwanted") {
		t.Errorf("dnf repoquery: %v\n%s", err, out)
	}
}
