package rpm

import (
	"strings"
	"testing"
)

// TestChoices: between alternatives Plan takes the package that dnf takes.
func TestChoices(t *testing.T) {
	app := pkg{nevra: "app-1-1.x86_64", requires: []string{"mta"}}
	mta := func(full string, version string) pkg { return pkg{nevra: full, provides: []string{"mta" + version}} }
	needsB := pkg{nevra: "app-1-1.x86_64", requires: []string{"b"}}
	b1, b2 := pkg{nevra: "b-1-1.x86_64"}, pkg{nevra: "b-2-1.x86_64"}
	next := func(obsoletes string) pkg {
		return pkg{nevra: "next-1-1.x86_64", provides: []string{"b = 2"}, obsoletes: []string{obsoletes}}
	}
	for _, c := range []planCase{
		{name: "the highest provided version", install: "app", packages: []pkg{app, mta("exim-9-1.x86_64", " = 1"), mta("postfix-1-1.x86_64", " = 2")}, want: "app-1<packages.install postfix-1<app"},
		{name: "the highest provided epoch", install: "app", packages: []pkg{app, mta("exim-9-1.x86_64", " = 3"), mta("postfix-1-1.x86_64", " = 1:1")}, want: "app-1<packages.install postfix-1<app"},
		{name: "of equal versions the first name", install: "app", packages: []pkg{app, mta("postfix-1-1.x86_64", " = 1"), mta("exim-9-1.x86_64", " = 1")}, want: "app-1<packages.install exim-9<app"},
		{name: "without a version the first name", install: "app", packages: []pkg{app, mta("postfix-1-1.x86_64", " = 1"), mta("exim-9-1.x86_64", "")}, want: "app-1<packages.install exim-9<app"},
		{name: "a version that looks like a hash", install: "app", packages: []pkg{app, mta("exim-9-1.x86_64", " = 2024"), mta("postfix-1-1.x86_64", " = 2025")}, want: "app-1<packages.install exim-9<app"},
		{name: "the highest version of a request", install: "mta", packages: []pkg{mta("exim-9-1.x86_64", " = 1"), mta("postfix-1-1.x86_64", " = 2")}, want: "postfix-1<packages.install"},
		{name: "recommended before a higher version", install: "app",
			packages: []pkg{{nevra: "app-1-1.x86_64", requires: []string{"mta"}, recommends: []string{"exim"}}, mta("exim-9-1.x86_64", " = 1"), mta("postfix-1-1.x86_64", " = 2")},
			want:     "app-1<packages.install exim-9<app"},
		{name: "supplements before a higher version", install: "app",
			packages: []pkg{app, {nevra: "exim-9-1.x86_64", provides: []string{"mta = 1"}, supplements: []string{"app"}}, mta("postfix-1-1.x86_64", " = 2")},
			want:     "app-1<packages.install exim-9<app"},
		{name: "supplements an installed package", install: "app",
			packages:  []pkg{app, mta("exim-9-1.x86_64", ""), {nevra: "postfix-1-1.x86_64", provides: []string{"mta"}, supplements: []string{"(cron and bash)"}}},
			installed: withBash(present("cron", "1", "cron"), present("bash2", "1", "bash")), want: "app-1<packages.install postfix-1<app"},
		{name: "enhances", install: "app",
			packages: []pkg{app, mta("exim-9-1.x86_64", ""), {nevra: "postfix-1-1.x86_64", provides: []string{"mta"}, enhances: []string{"app"}}},
			want:     "app-1<packages.install postfix-1<app"},
		{name: "the newest build, also if only an older one provides more", install: "app",
			packages: []pkg{app, mta("exim-1-1.x86_64", " = 9"), mta("exim-2-1.x86_64", " = 1")},
			want:     "app-1<packages.install exim-2<app"},
		{name: "a requirement of an obsoleted name", install: "app", packages: []pkg{needsB, b1, next("b < 2")}, want: "app-1<packages.install next-1<app"},
		{name: "all builds of the obsoleted name", install: "app", packages: []pkg{needsB, b1, b2, next("b")}, want: "app-1<packages.install next-1<app"},
		{name: "only the newest build is obsoleted", install: "app", packages: []pkg{needsB, b1, b2, next("b = 2")}, want: "app-1<packages.install next-1<app"},
		{name: "only an older build is obsoleted", install: "app", packages: []pkg{needsB, b1, b2, next("b < 2")}, want: "app-1<packages.install b-2<app"},
		{name: "the obsoleting package is impossible", install: "app",
			packages: []pkg{needsB, b1, {nevra: "next-1-1.x86_64", provides: []string{"b"}, obsoletes: []string{"b"}, requires: []string{"none"}}},
			want:     "app-1<packages.install b-1<app"},
		{name: "the obsoleting package does not provide the name", install: "app", packages: []pkg{needsB, b1, {nevra: "next-1-1.x86_64", obsoletes: []string{"b"}}}, want: "app-1<packages.install b-1<app"},
		{name: "two that obsolete each other", install: "app", packages: []pkg{needsB, {nevra: "b-1-1.x86_64", obsoletes: []string{"next"}}, next("b")}, want: "app-1<packages.install next-1<app"},
		{name: "a request of an obsoleted name", install: "b", packages: []pkg{b1, b2, next("b")}, want: "next-1<packages.install"},
		{name: "a request of a version of an obsoleted name", install: "b-1", packages: []pkg{b1, b2, next("b")}, want: "b-1<packages.install"},
		{name: "a request of an architecture of an obsoleted name", install: "b.x86_64", packages: []pkg{b1, next("b")}, want: "b-1<packages.install"},
	} {
		t.Run(c.name, c.test)
	}
}

// TestSameVersionTwice: two repositories have a package with the same name and version, and other relations.
func TestSameVersionTwice(t *testing.T) {
	plain := pkg{nevra: "lib-1-1.x86_64"}
	more := pkg{nevra: "lib-1-1.x86_64", provides: []string{"lib(more)"}, checksum: checksum{Type: "sha256", Hex: pkg{nevra: "another file"}.id()}}
	needs := func(name, capability string) pkg {
		return pkg{nevra: name + "-1-1.x86_64", requires: []string{capability}}
	}
	tests := []struct {
		name, install string
		one, two      []pkg
		want          string // repositories of lib
		problems      []string
	}{
		{"the second provides it", "app", []pkg{plain}, []pkg{more, needs("app", "lib(more)")}, "two", nil},
		{"the first provides it", "app", []pkg{more}, []pkg{plain, needs("app", "lib(more)")}, "one", nil},
		{"both provide it", "app", []pkg{plain}, []pkg{more, needs("app", "lib")}, "one", nil},
		{"the first cannot be installed", "app", []pkg{{nevra: "lib-1-1.x86_64", requires: []string{"none"}}}, []pkg{plain, needs("app", "lib")}, "two", nil},
		{"requested", "lib", []pkg{plain}, []pkg{more}, "one", nil},
		{"each has one half", "app tool", []pkg{{nevra: "lib-1-1.x86_64", provides: []string{"lib(less)"}}}, []pkg{more, needs("app", "lib(more)"), needs("tool", "lib(less)")}, "",
			[]string{"only one of them, from the repositories one and two, can be installed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := web{}
			repositories := []Repository{w.publish(t, "https://upstream/one", aKey(), tt.one...), w.publish(t, "https://upstream/two", aKey(), tt.two...)}
			c, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: repositories, Install: strings.Fields(tt.install), Hosts: withBash()})
			if len(tt.problems) > 0 {
				wantProblems(t, err, tt.problems)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range c.Packages {
				if p.Name == "lib" && p.Repository != tt.want {
					t.Errorf("lib is from %s, want %s", p.Repository, tt.want)
				}
			}
		})
	}
}

// TestServersNeedBothCopies: two servers need packages with the same name and version from two repositories.
func TestServersNeedBothCopies(t *testing.T) {
	w := web{}
	one := w.publish(t, "https://upstream/one", aKey(), pkg{nevra: "lib-1-1.x86_64", provides: []string{"lib(less)"}},
		pkg{nevra: "app-1-1.x86_64", requires: []string{"(lib(less) if old)", "(lib(more) if new)"}})
	two := w.publish(t, "https://upstream/two", aKey(), pkg{nevra: "lib-1-1.x86_64", provides: []string{"lib(more)"}, checksum: checksum{Type: "sha256", Hex: pkg{nevra: "another file"}.id()}})
	hosts := append(withBash(present("old", "1", "old")), withBash(present("new", "1", "new"))...)
	hosts[1].Host = "db2"
	_, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{one, two}, Install: []string{"app"}, Hosts: hosts})
	wantProblems(t, err, []string{"the servers need different packages lib-1-1.x86_64, from the repositories one and two"})
}
