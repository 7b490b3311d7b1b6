package dnf

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/nevra"
)

// TestDNFAgrees plans for an empty system and checks with dnf's solver that the
// closure is complete and has no conflict.
func TestDNFAgrees(t *testing.T) {
	from, h := rpmtest.CentOS(t), aHost(t)
	key := filepath.Join(t.TempDir(), "key.asc")
	rpmtest.Write(t, key, publicKey(t))
	var repositories []rpm.Repository
	for _, name := range []string{"baseos", "appstream"} {
		repositories = append(repositories, rpm.Repository{Name: name, BaseURL: rpmtest.Upstream + name, GPGKeys: []string{key}})
	}
	for _, install := range []string{"bash", "firewalld NetworkManager", "ethtool nftables socat"} {
		t.Run(install, func(t *testing.T) {
			c, err := rpm.Plan(t.Context(), from, rpm.Request{OS: "el9", Arch: "x86_64", Repositories: repositories, Install: strings.Fields(install), Hosts: []rpm.Installed{{Host: "an empty root"}}})
			if err != nil {
				t.Fatal(err)
			}
			var lock []nevra.NEVRA
			for _, p := range c.Packages {
				lock = append(lock, p.NEVRA)
			}
			if differences := compare(solved(t, h.root, string(from), lock), lock, nil); len(differences) > 0 {
				t.Errorf("of %d packages, dnf\n%s", len(lock), strings.Join(differences, "\n"))
			}
		})
	}
}

// solved returns the record of dnf's solver for the packages.
func solved(t *testing.T, root, metadata string, lock []nevra.NEVRA) []string {
	t.Helper()
	dir := t.TempDir()
	rpmtest.Write(t, filepath.Join(dir, "dnf.conf"), []byte("[main]\nplugins=0\ninstall_weak_deps=0\n"))
	args := []string{"-C", dir, "dnf", "--config", filepath.Join(dir, "dnf.conf"), "--installroot=" + root, "--releasever=9", "--forcearch=x86_64",
		"--setopt=reposdir=" + dir, "--setopt=cachedir=" + dir, "--setopt=module_platform_id=platform:el9",
		"--repofrompath=baseos," + metadata + "/baseos", "--repofrompath=appstream," + metadata + "/appstream", "--assumeno", "--debugsolver", "install"}
	if os.Getuid() != 0 {
		args = append([]string{"unshare", "--map-root-user", "env"}, args...)
	}
	out, _ := exec.Command("env", append(args, names(lock)...)...).CombinedOutput()
	record, err := os.ReadFile(filepath.Join(dir, "debugdata/rpms/solver.result"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := strings.NewReplacer("@baseos", "@"+repositoryID, "@appstream", "@"+repositoryID).Replace(strings.TrimSpace(string(record)))
	return strings.Split(text, "\n")
}
