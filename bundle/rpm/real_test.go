package rpm

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
)

// centOS returns the metadata of CentOS Stream 9. The packages are not signed with this key.
func centOS(t testing.TB) (rpmtest.Directory, []Repository) {
	t.Helper()
	from, key := rpmtest.CentOS(t), filepath.Join(t.TempDir(), "key.asc")
	rpmtest.Write(t, key, publicKey(t, aKey()))
	var all []Repository
	for _, name := range []string{"baseos", "appstream"} {
		all = append(all, Repository{Name: name, BaseURL: rpmtest.Upstream + name, GPGKeys: []string{key}})
	}
	return from, all
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
