package rpm

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlan has one repository a case; want lists the closure as
// NAME-VERSION<needed by.
func TestPlan(t *testing.T) {
	bash := InstalledPackage{NEVRA: NEVRA{Name: "bash", EVR: EVR{Version: "5.1", Release: "1"}, Arch: "x86_64"}, Provides: []Capability{{Name: "/bin/sh"}}}
	old := InstalledPackage{NEVRA: NEVRA{Name: "lib", EVR: EVR{Version: "1", Release: "1"}, Arch: "x86_64"}}
	installed := func(more ...InstalledPackage) *Installed {
		return &Installed{Host: "db1", Packages: append([]InstalledPackage{bash}, more...)}
	}
	tests := []struct {
		name      string
		packages  []pkg
		install   string
		installed *Installed
		want      string
		problems  []string // each has to be named
	}{
		{name: "newest and what it needs", install: "app",
			packages: []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "app-2-1.x86_64", requires: []string{"lib >= 1", "/bin/sh"}}, {nevra: "lib-1-1.x86_64"}},
			want:     "app-2<packages.install lib-1<app"},
		{name: "version asked for", install: "app-1",
			packages: []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "app-2-1.x86_64"}}, want: "app-1<packages.install"},
		{name: "release asked for", install: "app-1-1",
			packages: []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "app-1-2.x86_64"}}, want: "app-1<packages.install"},
		{name: "a name with dashes", install: "my-app-1",
			packages: []pkg{{nevra: "my-app-1-1.x86_64"}, {nevra: "my-1-1.x86_64"}}, want: "my-app-1<packages.install"},
		{name: "chain and a shared need", install: "a b",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"c"}}, {nevra: "b-1-1.x86_64", requires: []string{"c"}}, {nevra: "c-1-1.noarch", requires: []string{"d"}}, {nevra: "d-1-1.x86_64"}},
			want:     "a-1<packages.install b-1<packages.install c-1<a,b d-1<c"},
		{name: "circle", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"b"}}, {nevra: "b-1-1.x86_64", requires: []string{"a"}}},
			want:     "a-1<b,packages.install b-1<a"},
		{name: "other architectures and modules do not count", install: "a",
			packages: []pkg{{nevra: "a-3-1.i686"}, {nevra: "a-2-1.module_el9+1.x86_64"}, {nevra: "a-1-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "file in primary", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"/usr/sbin/tool"}}, {nevra: "tools-1-1.x86_64", files: []string{"/usr/sbin/tool"}}},
			want:     "a-1<packages.install tools-1<a"},
		{name: "file only in filelists", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"/opt/x"}}, {nevra: "x-1-1.x86_64", moreFiles: []string{"/opt/x"}}, {nevra: "y-1-1.x86_64", moreFiles: []string{"/opt/xy"}}},
			want:     "a-1<packages.install x-1<a"},
		{name: "installed satisfies", install: "a", installed: installed(old),
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"lib >= 1", "/bin/sh"}}, {nevra: "lib-2-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "installed would be replaced", install: "a", installed: installed(old),
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"lib >= 2"}}, {nevra: "lib-2-1.x86_64"}},
			problems: []string{"a-0:1-1.x86_64 needs lib >= 2, which lib-0:2-1.x86_64 has, but lib-1-1.x86_64 is installed and would be replaced"}},
		{name: "asked for and installed", install: "lib", installed: installed(old), packages: []pkg{{nevra: "lib-2-1.x86_64"}}, want: ""},
		{name: "asked for in another version", install: "lib-2", installed: installed(old), packages: []pkg{{nevra: "lib-2-1.x86_64"}},
			problems: []string{"lib-0:1-1.x86_64 is installed and would be replaced"}},
		{name: "everything missing at once", install: "a nothere", installed: installed(),
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"x", "y >= 2"}}, {nevra: "y-1-1.x86_64"}},
			problems: []string{"no package has nothere, needed by packages.install", "no package has x, needed by a-0:1-1", "no package has y >= 2, only y-1-1.x86_64, needed by a-0:1-1"}},
		{name: "or takes what is there", install: "a b",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x or b)"}}, {nevra: "b-1-1.x86_64"}, {nevra: "x-1-1.x86_64"}},
			want:     "a-1<packages.install b-1<a,packages.install"},
		{name: "or takes the first that can be had", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(none or x or y)"}}, {nevra: "x-1-1.x86_64"}, {nevra: "y-1-1.x86_64"}},
			want:     "a-1<packages.install x-1<a"},
		{name: "if without its condition", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x if y)"}}, {nevra: "x-1-1.x86_64"}, {nevra: "y-1-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "if whose condition comes later", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x if y)", "b"}}, {nevra: "b-1-1.x86_64", requires: []string{"y"}}, {nevra: "x-1-1.x86_64"}, {nevra: "y-1-1.x86_64"}},
			want:     "a-1<packages.install b-1<a x-1<a y-1<b"},
		{name: "with", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x >= 2 with x < 3)"}}, {nevra: "x-1-1.x86_64"}, {nevra: "x-2-1.x86_64"}, {nevra: "x-3-1.x86_64"}},
			want:     "a-1<packages.install x-2<a"},
		{name: "unsupported operator", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x unless y)"}}},
			problems: []string{"a-0:1-1.x86_64 cannot be planned", `"unless"`}},
		{name: "conflict with installed", install: "a", installed: installed(old),
			packages: []pkg{{nevra: "a-1-1.x86_64", conflicts: []string{"lib < 2"}}},
			problems: []string{"a-1-1.x86_64 conflicts with lib-1-1.x86_64"}},
		{name: "obsoletes installed", install: "a", installed: installed(old),
			packages: []pkg{{nevra: "a-1-1.x86_64", obsoletes: []string{"lib"}}},
			problems: []string{"a-1-1.x86_64 obsoletes lib-1-1.x86_64, which would be removed"}},
		{name: "the name that was asked for wins", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"mta"}}, {nevra: "aa-1-1.x86_64", provides: []string{"mta"}}, {nevra: "mta-1-1.x86_64"}},
			want:     "a-1<packages.install mta-1<a"},
		{name: "profile", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"/bin/sh", "systemd", "libc.so.6(GLIBC_2.34)(64bit)", "util-linux", "rtld(GNU_HASH)", "rpmlib(X) <= 3"}}, {nevra: "util-linux-1-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "too new for the profile", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"libc.so.6(GLIBC_2.38)(64bit)"}}},
			problems: []string{"no package has libc.so.6(GLIBC_2.38)(64bit)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := web{}
			r := w.publish(t, "https://upstream/vendor", aKey(), tt.packages...)
			c, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: strings.Fields(tt.install), Installed: tt.installed})
			if len(tt.problems) > 0 {
				wantProblems(t, err, tt.problems)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(c); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if proof := map[bool]string{true: "assumed (profile el9-minimal)", false: "proven against db1"}[tt.installed == nil]; c.Proof != proof {
				t.Errorf("proof is %q, want %q", c.Proof, proof)
			}
		})
	}
}

func summary(c *Closure) string {
	var all []string
	for _, p := range c.Packages {
		all = append(all, fmt.Sprintf("%s-%s<%s", p.Name, p.Version, strings.Join(p.NeededBy, ",")))
	}
	return strings.Join(all, " ")
}

func wantProblems(t *testing.T, err error, want []string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, s := range want {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not say %q:\n%v", s, err)
		}
	}
}

func TestPlanSeveralRepositories(t *testing.T) {
	w := web{}
	a := w.publish(t, "https://upstream/a", aKey(), pkg{nevra: "app-1-1.x86_64", requires: []string{"lib"}})
	b := w.publish(t, "https://upstream/b", nil, pkg{nevra: "lib-1-1.x86_64"}, pkg{nevra: "app-1-1.x86_64"})
	c, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{a, b}, Install: []string{"app"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Packages[0].URL+" "+c.Packages[1].URL, "https://upstream/a/x/app-1-1.x86_64.rpm https://upstream/b/x/lib-1-1.x86_64.rpm"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !c.Repositories[0].SignedMetadata || c.Repositories[1].SignedMetadata {
		t.Errorf("signed: %v, %v; want true, false", c.Repositories[0].SignedMetadata, c.Repositories[1].SignedMetadata)
	}
}

// TestPlanRefuses has upstreams that lie.
func TestPlanRefuses(t *testing.T) {
	const base = "https://upstream/vendor"
	one := pkg{nevra: "app-1-1.x86_64"}
	tests := []struct {
		name  string
		spoil func(w web)
		want  string
	}{
		{"metadata signed by a stranger", func(w web) { w.publish(t, base, anotherKey(), one) }, "is not by a configured key"},
		{"repomd.xml changed", func(w web) { w[base+"/repodata/repomd.xml"] = append(w[base+"/repodata/repomd.xml"], ' ') }, "is not by a configured key"},
		{"primary changed", func(w web) { w[base+"/repodata/primary.xml.gz"][20] ^= 1 }, "the repository says"},
		{"primary longer", func(w web) { w[base+"/repodata/primary.xml.gz"] = append(w[base+"/repodata/primary.xml.gz"], 0) }, "larger than allowed"},
		{"primary gone", func(w web) { delete(w, base+"/repodata/primary.xml.gz") }, "does not exist"},
		{"no key", func(w web) { delete(w, base+"/key.asc") }, "read key"},
		{"a key file without keys", func(w web) { w[base+"/key.asc"] = []byte("<html>") }, "read"},
		{"a location outside", func(w web) { w.publish(t, base, aKey(), pkg{nevra: "app-1-1.x86_64", href: "../../etc/x.rpm"}) }, "not inside the repository"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := web{}
			r := w.publish(t, base, aKey(), one)
			tt.spoil(w)
			_, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "vendor") {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
		})
	}
}
