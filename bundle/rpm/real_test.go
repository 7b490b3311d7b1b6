package rpm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

// centOS returns the metadata of CentOS Stream 9 in the directory AIRGAP_REPODATA.
// baseos/ is older than appstream/, as on a server with frozen packages.
func centOS(t testing.TB) (directory, []Repository) {
	t.Helper()
	dir := os.Getenv("AIRGAP_REPODATA")
	if dir == "" {
		t.Skip("AIRGAP_REPODATA is not set")
	}
	key := filepath.Join(t.TempDir(), "key.asc")
	write(t, key, publicKey(t, aKey()))
	var all []Repository
	for _, name := range []string{"baseos", "appstream"} {
		all = append(all, Repository{Name: name, BaseURL: "https://upstream/" + name, GPGKeys: []string{key}})
	}
	return directory(dir), all
}

// TestDNFAgrees plans for an empty system and checks with dnf's solver that the
// closure is complete and has no conflict.
func TestDNFAgrees(t *testing.T) {
	from, repositories := centOS(t)
	h := aHost(t)
	for _, install := range []string{"bash", "firewalld NetworkManager", "ethtool nftables socat"} {
		t.Run(install, func(t *testing.T) {
			c, err := Plan(t.Context(), from, Request{OS: "el9", Arch: "x86_64", Repositories: repositories, Install: strings.Fields(install), Hosts: []Installed{{Host: "an empty root"}}})
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
	write(t, filepath.Join(dir, "dnf.conf"), []byte("[main]\nplugins=0\ninstall_weak_deps=0\n"))
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

// TestFrozenOS requests packages that do not fit the older BaseOS. Plan chooses an
// older build, or reports the reason.
func TestFrozenOS(t *testing.T) {
	from, repositories := centOS(t)
	request := Request{OS: "el9", Arch: "x86_64", Repositories: repositories, Install: []string{"conntrack-tools"}}
	c, err := Plan(t.Context(), from, request)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Packages[0].String(), "conntrack-tools-0:1.4.5-17.el9.x86_64"; got != want {
		t.Errorf("planned %s, want %s: 1.4.7 needs a newer library", got, want)
	}
	request.Install = []string{"container-selinux"}
	_, err = Plan(t.Context(), from, request)
	var refused *PlanError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	want := "no package provides selinux-policy >= 38.1.48-1.el9 (the newest is selinux-policy-34.1.23-1.el9.noarch), needed by container-selinux-3:2.234.2-1.el9.noarch"
	if !slices.Contains(refused.Problems, want) {
		t.Errorf("the problems do not include %q:\n%v", want, err)
	}
}

// BenchmarkPlan reads, verifies and solves two repositories without a cache.
func BenchmarkPlan(b *testing.B) {
	from, repositories := centOS(b)
	request := Request{OS: "el9", Arch: "x86_64", Repositories: repositories, Install: []string{"podman", "NetworkManager", "ethtool", "socat"}, Hosts: []Installed{{Host: "an empty root"}}}
	for b.Loop() {
		if _, err := Plan(b.Context(), from, request); err != nil {
			b.Fatal(err)
		}
	}
}
