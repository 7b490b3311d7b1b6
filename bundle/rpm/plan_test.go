package rpm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

// planCase is a plan of one repository.
type planCase struct {
	name      string
	packages  []pkg
	install   string
	installed []Installed
	want      string
	problems  []string // the error contains each
}

func (c planCase) test(t *testing.T) {
	closure := wantPlan(t, c.packages, Request{Install: strings.Fields(c.install), Hosts: c.installed}, c.want, c.problems)
	if closure == nil {
		return
	}
	if proof := map[bool]string{true: "assumed (profile el9-minimal)", false: "proven against db1"}[c.installed == nil]; closure.Proof != proof {
		t.Errorf("proof is %q, want %q", closure.Proof, proof)
	}
}

// present returns an installed package.
func present(name, version string, provides ...string) InstalledPackage {
	p := InstalledPackage{NEVRA: nevra.NEVRA{Name: name, EVR: nevra.EVR{Version: version, Release: "1"}, Arch: "x86_64"}}
	for _, c := range provides {
		p.Provides = append(p.Provides, Capability{Name: c})
	}
	return p
}

// withBash returns a host with these packages and a shell.
func withBash(more ...InstalledPackage) []Installed {
	return []Installed{{Host: "db1", Packages: append([]InstalledPackage{present("bash", "5.1", "/bin/sh")}, more...)}}
}

// TestPlan plans with one repository per case. want lists the closure as
// NAME-VERSION<needed by.
func TestPlan(t *testing.T) {
	old := present("lib", "1")
	for _, c := range []planCase{
		{name: "newest with its requirement", install: "app",
			packages: []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "app-2-1.x86_64", requires: []string{"lib >= 1", "/bin/sh"}}, {nevra: "lib-1-1.x86_64"}},
			want:     "app-2<packages.install lib-1<app"},
		{name: "requested version", install: "app-1",
			packages: []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "app-2-1.x86_64"}}, want: "app-1<packages.install"},
		{name: "requested release", install: "app-1-1",
			packages: []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "app-1-2.x86_64"}}, want: "app-1<packages.install"},
		{name: "a name with dashes", install: "my-app-1",
			packages: []pkg{{nevra: "my-app-1-1.x86_64"}, {nevra: "my-1-1.x86_64"}}, want: "my-app-1<packages.install"},
		{name: "chain and a shared requirement", install: "a b",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"c"}}, {nevra: "b-1-1.x86_64", requires: []string{"c"}}, {nevra: "c-1-1.noarch", requires: []string{"d"}}, {nevra: "d-1-1.x86_64"}},
			want:     "a-1<packages.install b-1<packages.install c-1<a,b d-1<c"},
		{name: "cycle", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"b"}}, {nevra: "b-1-1.x86_64", requires: []string{"a"}}},
			want:     "a-1<b,packages.install b-1<a"},
		{name: "other architectures and modules are ignored", install: "a",
			packages: []pkg{{nevra: "a-3-1.i686"}, {nevra: "a-2-1.module_el9+1.x86_64"}, {nevra: "a-1-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "file in primary", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"/usr/sbin/tool"}}, {nevra: "tools-1-1.x86_64", files: []string{"/usr/sbin/tool"}}},
			want:     "a-1<packages.install tools-1<a"},
		{name: "file only in filelists", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"/opt/x"}}, {nevra: "x-1-1.x86_64", moreFiles: []string{"/opt/x"}}, {nevra: "y-1-1.x86_64", moreFiles: []string{"/opt/xy"}}},
			want:     "a-1<packages.install x-1<a"},
		{name: "installed satisfies", install: "a", installed: withBash(old),
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"lib >= 1", "/bin/sh"}}, {nevra: "lib-2-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "installed would be replaced", install: "a", installed: withBash(old),
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"lib >= 2"}}, {nevra: "lib-2-1.x86_64"}},
			problems: []string{"a-0:1-1.x86_64 needs lib >= 2, which lib-0:2-1.x86_64 provides, but lib-1-1.x86_64 is installed and would be replaced"}},
		{name: "requested and installed", install: "lib", installed: withBash(old), packages: []pkg{{nevra: "lib-2-1.x86_64"}}, want: ""},
		{name: "requested in another version", install: "lib-2", installed: withBash(old), packages: []pkg{{nevra: "lib-2-1.x86_64"}},
			problems: []string{"packages.install asks for lib-2, but lib-1-1.x86_64 is installed and would be replaced"}},
		{name: "all missing packages in one error", install: "a absent", installed: withBash(),
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"x", "y >= 2"}}, {nevra: "y-1-1.x86_64"}},
			problems: []string{"no package provides absent, needed by packages.install", "no package provides x, needed by a-0:1-1",
				"no package provides y >= 2 (the newest is y-1-1.x86_64), needed by a-0:1-1"}},
		{name: "or with one term chosen already", install: "a b",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x or b)"}}, {nevra: "b-1-1.x86_64"}, {nevra: "x-1-1.x86_64"}},
			want:     "a-1<packages.install b-1<a,packages.install"},
		{name: "or takes the first available term", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(none or x or y)"}}, {nevra: "x-1-1.x86_64"}, {nevra: "y-1-1.x86_64"}},
			want:     "a-1<packages.install x-1<a"},
		{name: "if without its condition", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x if y)"}}, {nevra: "x-1-1.x86_64"}, {nevra: "y-1-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "if with a later condition", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x if y)", "b"}}, {nevra: "b-1-1.x86_64", requires: []string{"y"}}, {nevra: "x-1-1.x86_64"}, {nevra: "y-1-1.x86_64"}},
			want:     "a-1<packages.install b-1<a x-1<a y-1<b"},
		{name: "with", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x >= 2 with x < 3)"}}, {nevra: "x-1-1.x86_64"}, {nevra: "x-2-1.x86_64"}, {nevra: "x-3-1.x86_64"}},
			want:     "a-1<packages.install x-2<a"},
		{name: "an operator that rpm does not have", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x nor y)"}}},
			problems: []string{"a-1-1.x86_64 cannot be installed", `"nor"`}},
		{name: "only the second newest is possible", install: "a",
			packages: []pkg{{nevra: "a-2-1.x86_64", requires: []string{"none"}}, {nevra: "a-1-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "an earlier choice conflicts", install: "a b",
			packages: []pkg{
				{nevra: "a-1-1.x86_64", requires: []string{"lib"}},
				{nevra: "b-1-1.x86_64", requires: []string{"c"}},
				{nevra: "c-1-1.x86_64", requires: []string{"d"}},
				{nevra: "d-1-1.x86_64", requires: []string{"lib < 2"}},
				{nevra: "lib-1-1.x86_64"},
				{nevra: "lib-2-1.x86_64"},
			},
			want: "a-1<packages.install b-1<packages.install c-1<b d-1<c lib-1<a,d"},
		{name: "a choice without a solution", install: "a",
			packages: []pkg{
				{nevra: "a-1-1.x86_64", requires: []string{"mta", "base"}},
				{nevra: "m-1-1.x86_64", provides: []string{"mta"}, requires: []string{"m-lib"}},
				{nevra: "m-lib-1-1.x86_64", requires: []string{"m-core"}},
				{nevra: "m-core-1-1.x86_64", conflicts: []string{"base"}},
				{nevra: "postfix-1-1.x86_64", provides: []string{"mta"}},
				{nevra: "base-1-1.x86_64"},
			},
			want: "a-1<packages.install base-1<a postfix-1<a"},
		{name: "a choice that becomes unnecessary", install: "a b",
			packages: []pkg{
				{nevra: "a-1-1.x86_64", requires: []string{"(x or y)"}},
				{nevra: "b-1-1.x86_64", requires: []string{"(y or z)", "c"}},
				{nevra: "c-1-1.x86_64", requires: []string{"d"}},
				{nevra: "d-1-1.x86_64", requires: []string{"(y if x)"}},
				{nevra: "x-1-1.x86_64"},
				{nevra: "y-1-1.x86_64"},
				{nevra: "z-1-1.x86_64"},
			},
			want: "a-1<packages.install b-1<packages.install c-1<b d-1<c y-1<a,b"},
		{name: "two versions of one package", install: "a b",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"lib = 1"}}, {nevra: "b-1-1.x86_64", requires: []string{"lib = 2"}}, {nevra: "lib-1-1.x86_64"}, {nevra: "lib-2-1.x86_64"}},
			problems: []string{"a-0:1-1.x86_64 needs lib = 1, which lib-0:1-1.x86_64 provides, b-0:1-1.x86_64 needs lib = 2, which lib-0:2-1.x86_64 provides: only one version can be installed"}},
		{name: "two versions of a kernel", install: "a b", installed: withBash(),
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"kernel = 1"}}, {nevra: "b-1-1.x86_64", requires: []string{"kernel = 2"}}, {nevra: "kernel-1-1.x86_64"}, {nevra: "kernel-2-1.x86_64"}},
			want:     "a-1<packages.install b-1<packages.install kernel-1<a kernel-2<b"},
	} {
		t.Run(c.name, c.test)
	}
}

// TestPlanConflicts plans packages that exclude or replace each other.
func TestPlanConflicts(t *testing.T) {
	old := present("lib", "1")
	// Docker's package as in its specification; podman requires any runtime.
	containerdIO := pkg{
		nevra: "containerd.io-2-1.x86_64", provides: []string{"containerd", "runc"},
		conflicts: []string{"containerd", "runc"}, obsoletes: []string{"containerd", "runc"},
	}
	runc, crun, podman := present("runc", "1", "oci-runtime"), present("crun", "1", "oci-runtime"), present("podman", "5")
	podman.Requires = []Capability{{Name: "oci-runtime"}}
	for _, c := range []planCase{
		{name: "conflict", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"b"}, conflicts: []string{"lib < 2"}}, {nevra: "b-1-1.x86_64", requires: []string{"lib"}}, {nevra: "lib-1-1.x86_64"}},
			problems: []string{"a-1-1.x86_64 cannot be installed together with lib-1-1.x86_64: it conflicts with lib < 2 " +
				"(packages.install asks for a; b-0:1-1.x86_64 needs lib, which lib-0:1-1.x86_64 provides)"}},
		{name: "conflict unless", install: "a lib",
			packages: []pkg{{nevra: "a-1-1.x86_64", conflicts: []string{"(lib unless fix)"}}, {nevra: "fix-1-1.x86_64"}, {nevra: "lib-1-1.x86_64"}},
			want:     "a-1<packages.install fix-1<a lib-1<packages.install"},
		{name: "obsoletes", install: "a c",
			packages: []pkg{{nevra: "a-1-1.x86_64", obsoletes: []string{"b < 2"}}, {nevra: "b-1-1.x86_64"}, {nevra: "c-1-1.x86_64", requires: []string{"b"}}},
			problems: []string{"a-1-1.x86_64 and b-1-1.x86_64 cannot be installed together: the first obsoletes the second"}},
		{name: "an obsoleted name", install: "b",
			packages: []pkg{{nevra: "a-1-1.x86_64", obsoletes: []string{"b < 2"}}, {nevra: "b-1-1.x86_64"}},
			want:     "a-1<packages.install"},
		{name: "recommended before suggested", install: "a", installed: withBash(),
			packages: []pkg{
				{nevra: "a-1-1.x86_64", requires: []string{"mta", "ntp"}, recommends: []string{"postfix"}, suggests: []string{"chrony", "sendmail"}},
				{nevra: "postfix-1-1.x86_64", provides: []string{"mta"}},
				{nevra: "exim-1-1.x86_64", provides: []string{"mta"}},
				{nevra: "sendmail-1-1.x86_64", provides: []string{"mta"}},
				{nevra: "busybox-1-1.x86_64", provides: []string{"ntp"}},
				{nevra: "chrony-1-1.x86_64", provides: []string{"ntp"}},
			},
			want: "a-1<packages.install chrony-1<a postfix-1<a"},
		{name: "if else", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"(x if y else z)"}}, {nevra: "x-1-1.x86_64"}, {nevra: "z-1-1.x86_64"}},
			want:     "a-1<packages.install z-1<a"},
		{name: "without", install: "a",
			packages: []pkg{
				{nevra: "a-1-1.x86_64", requires: []string{"(mta without tls)"}},
				{nevra: "m-1-1.x86_64", provides: []string{"mta", "tls"}},
				{nevra: "postfix-1-1.x86_64", provides: []string{"mta"}},
			},
			want: "a-1<packages.install postfix-1<a"},
		{name: "requirement of an installed package", install: "a", installed: withBash(
			InstalledPackage{NEVRA: nevra.NEVRA{Name: "policy", EVR: nevra.EVR{Version: "1", Release: "1"}, Arch: "noarch"}, Requires: []Capability{{Name: "(a-policy if a)"}}},
		),
			packages: []pkg{{nevra: "a-1-1.x86_64"}, {nevra: "a-policy-1-1.x86_64"}},
			want:     "a-1<packages.install a-policy-1<policy"},
		{name: "chain to a missing package", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"b"}}, {nevra: "b-1-1.x86_64", requires: []string{"c"}}, {nevra: "c-1-1.x86_64", requires: []string{"none"}}},
			problems: []string{"no package provides none, needed by c-0:1-1.x86_64 (for a-1-1.x86_64, which needs b-1-1.x86_64)"}},
		{name: "conflict with installed", install: "a", installed: withBash(old),
			packages: []pkg{{nevra: "a-1-1.x86_64", conflicts: []string{"lib < 2"}}},
			problems: []string{"a-1-1.x86_64 cannot be installed together with lib-1-1.x86_64, which is installed: it conflicts with lib < 2"}},
		{name: "obsoletes installed", install: "a", installed: withBash(old),
			packages: []pkg{{nevra: "a-1-1.x86_64", obsoletes: []string{"lib"}}},
			problems: []string{"a-1-1.x86_64 cannot be installed: it obsoletes lib-1-1.x86_64, which would be removed"}},
		{name: "a runtime that obsoletes others, without them", install: "containerd.io-2", installed: withBash(crun, podman),
			packages: []pkg{containerdIO, {nevra: "runc-1-1.x86_64"}}, want: "containerd.io-2<packages.install"},
		{name: "a runtime that would replace podman's", install: "containerd.io-2", installed: withBash(runc, podman),
			packages: []pkg{containerdIO, {nevra: "runc-1-1.x86_64"}},
			problems: []string{"packages.install asks for containerd.io-2, but it obsoletes runc-1-1.x86_64, which would be removed"}},
		{name: "the first name, not the required one", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"mta"}}, {nevra: "aa-1-1.x86_64", provides: []string{"mta"}}, {nevra: "mta-1-1.x86_64"}},
			want:     "a-1<packages.install aa-1<a"},
		{name: "profile", install: "a",
			packages: []pkg{
				{nevra: "a-1-1.x86_64", requires: []string{"/bin/sh", "systemd", "libc.so.6(GLIBC_2.34)(64bit)", "util-linux", "rtld(GNU_HASH)", "rpmlib(X) <= 3"}},
				{nevra: "util-linux-1-1.x86_64"},
			},
			want: "a-1<packages.install"},
		{name: "too new for the profile", install: "a",
			packages: []pkg{{nevra: "a-1-1.x86_64", requires: []string{"libc.so.6(GLIBC_2.38)(64bit)"}}},
			problems: []string{"no package provides libc.so.6(GLIBC_2.38)(64bit)"}},
	} {
		t.Run(c.name, c.test)
	}
}

// wantPlan plans with one repository and checks the closure. If problems are given,
// it checks that the error contains all of them, and returns nil.
func wantPlan(t *testing.T, packages []pkg, req Request, want string, problems []string) *Closure {
	t.Helper()
	w := web{}
	req.OS, req.Arch = "el9", "x86_64"
	req.Repositories = []Repository{w.publish(t, "https://upstream/vendor", aKey(), packages...)}
	c, err := Plan(t.Context(), w, req)
	if len(problems) > 0 {
		wantProblems(t, err, problems)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(c); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	return c
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
		t.Fatal("Plan did not fail")
	}
	for _, s := range want {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not contain %q:\n%v", s, err)
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

// TestPlanRefuses: Plan refuses manipulated repositories.
func TestPlanRefuses(t *testing.T) {
	const base = "https://upstream/vendor"
	one := pkg{nevra: "app-1-1.x86_64"}
	tests := []struct {
		name   string
		change func(w web)
		want   string
	}{
		{"metadata signed by another key", func(w web) { w.publish(t, base, anotherKey(), one) }, "is not from a configured key"},
		{"repomd.xml changed", func(w web) { w[base+"/repodata/repomd.xml"] = append(w[base+"/repodata/repomd.xml"], ' ') }, "is not from a configured key"},
		{"primary changed", func(w web) { w[base+"/repodata/primary.xml.gz"][20] ^= 1 }, ", expected "},
		{"primary longer", func(w web) { w[base+"/repodata/primary.xml.gz"] = append(w[base+"/repodata/primary.xml.gz"], 0) }, "larger than allowed"},
		{"primary missing", func(w web) { delete(w, base+"/repodata/primary.xml.gz") }, "does not exist"},
		{"no key", func(w web) { delete(w, base+"/key.asc") }, "read key"},
		{"a key file without keys", func(w web) { w[base+"/key.asc"] = []byte("<html>") }, "read"},
		{"a location outside", func(w web) { w.publish(t, base, aKey(), pkg{nevra: "app-1-1.x86_64", href: "../../etc/x.rpm"}) }, "not inside the repository"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := web{}
			r := w.publish(t, base, aKey(), one)
			tt.change(w)
			_, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "vendor") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestPlanSeveralHosts: one server has an older library than the repository and
// keeps it, the others get the new one.
func TestPlanSeveralHosts(t *testing.T) {
	server := func(name string, has ...string) Installed {
		in := Installed{Host: name}
		for _, s := range has {
			n, err := nevra.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			in.Packages = append(in.Packages, InstalledPackage{NEVRA: n})
		}
		return in
	}
	hosts := []Installed{server("db1", "lib-0:1-1.x86_64"), server("db2"), server("db3", "mta-0:1-1.x86_64")}
	w := web{}
	r := w.publish(t, "https://upstream/vendor", aKey(),
		pkg{nevra: "app-1-1.x86_64", requires: []string{"lib", "mta"}}, pkg{nevra: "strict-1-1.x86_64", requires: []string{"lib >= 2"}},
		pkg{nevra: "lib-2-1.x86_64"}, pkg{nevra: "mta-1-1.x86_64"}, pkg{nevra: "extra-1-1.x86_64", provides: []string{"mta"}})
	request := Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}, Hosts: hosts}
	c, err := Plan(t.Context(), w, request)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.Packages {
		got = append(got, p.Name+"@"+strings.Join(p.Hosts, ","))
	}
	if want := "app@ extra@db1,db2 lib@db2,db3"; strings.Join(got, " ") != want {
		t.Errorf("planned %v, want %s", got, want)
	}
	if want := "proven against db1, db2, db3"; c.Proof != want {
		t.Errorf("proof is %q, want %q", c.Proof, want)
	}
	request.Assumed = []string{"w1", "w2"} // a minimal installation has neither lib nor mta
	if c, err = Plan(t.Context(), w, request); err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, p := range c.Packages {
		got = append(got, p.Name+"@"+strings.Join(p.Hosts, ","))
	}
	if want := "app@ extra@db1,db2,w1,w2 lib@db2,db3,w1,w2"; strings.Join(got, " ") != want {
		t.Errorf("planned %v, want %s", got, want)
	}
	if want := "proven against db1, db2, db3; assumed (profile el9-minimal) for w1, w2"; c.Proof != want || !slices.Equal(c.Hosts, []string{"db1", "db2", "db3"}) {
		t.Errorf("proof is %q, want %q; hosts %q", c.Proof, want, c.Hosts)
	}
	request.Assumed = nil
	request.Install = []string{"strict"}
	_, err = Plan(t.Context(), w, request)
	wantProblems(t, err, []string{"on db1: strict-0:1-1.x86_64 needs lib >= 2, which lib-0:2-1.x86_64 provides, but lib-1-1.x86_64 is installed and would be replaced"})
}

// TestPlanLocked: Plan chooses the locked packages while they are available.
func TestPlanLocked(t *testing.T) {
	app1, lib1 := pkg{nevra: "app-1-1.x86_64", requires: []string{"lib"}}, pkg{nevra: "lib-1-1.x86_64"}
	app2, lib2 := pkg{nevra: "app-2-1.x86_64", requires: []string{"lib"}}, pkg{nevra: "lib-2-1.x86_64"}
	lock := func(p pkg) Locked { return Locked{p.parsed(t), p.id()} }
	tests := []struct {
		name     string
		packages []pkg
		install  string
		locked   []Locked
		want     string
		problems []string
	}{
		{name: "newer versions available", install: "app", packages: []pkg{app1, app2, lib1, lib2}, locked: []Locked{lock(app1), lock(lib1)}, want: "app-1<packages.install lib-1<app"},
		{name: "one package not locked", install: "app", packages: []pkg{app1, app2, lib1, lib2}, locked: []Locked{lock(lib1)}, want: "app-2<packages.install lib-1<app"},
		{name: "another version requested", install: "app-2", packages: []pkg{app2, lib1, lib2}, locked: []Locked{lock(app1), lock(lib1)}, want: "app-2<packages.install lib-1<app"},
		{name: "no longer needed", install: "lib", packages: []pkg{lib1}, locked: []Locked{lock(app1), lock(lib1)}, want: "lib-1<packages.install"},
		{name: "no longer available", install: "app", packages: []pkg{app1, lib2}, locked: []Locked{lock(app1), lock(lib1)},
			problems: []string{"lib-0:1-1.x86_64 is locked, but no repository has it with the locked checksum any longer; to use lib-2-1.x86_64 instead, run airgap bundle --update lib"}},
		{name: "built again", install: "lib", packages: []pkg{lib1}, locked: []Locked{{lib1.parsed(t), app1.id()}}, problems: []string{"lib-0:1-1.x86_64 is locked", "with the locked checksum"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantPlan(t, tt.packages, Request{Install: strings.Fields(tt.install), Locked: tt.locked}, tt.want, tt.problems)
		})
	}
}
