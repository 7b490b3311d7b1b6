package rpm

import (
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

// has returns an installed package.
func has(t *testing.T, full string, provides ...string) InstalledPackage {
	t.Helper()
	n, err := nevra.Parse(full)
	if err != nil {
		t.Fatal(err)
	}
	return InstalledPackage{NEVRA: n, Provides: present(n.Name, n.Version, provides...).Provides}
}

// TestPins: entries of packages.install have the meaning that dnf gives them.
func TestPins(t *testing.T) {
	builds := []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "app-2-1.x86_64"}, {nevra: "app-2-2.el9.x86_64"}, {nevra: "app-3-1.noarch"}}
	epochs := []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "app-1:1-1.x86_64"}}
	later := []pkg{{nevra: "app-1:1-1.x86_64"}}
	for _, c := range []planCase{
		{name: "name and architecture", install: "app.x86_64", packages: builds, want: "app-2<packages.install"},
		{name: "name and noarch", install: "app.noarch", packages: builds, want: "app-3<packages.install"},
		{name: "name and another architecture", install: "app.aarch64", packages: builds,
			problems: []string{"no package provides app.aarch64 (the newest is app-3-1.noarch), needed by packages.install"}},
		{name: "complete", install: "app-0:2-1.x86_64", packages: builds, want: "app-2<packages.install"},
		{name: "complete without an epoch", install: "app-1-1.x86_64", packages: builds, want: "app-1<packages.install"},
		{name: "complete with another architecture", install: "app-1-1.noarch", packages: builds, problems: []string{"no package provides app-1-1.noarch"}},
		{name: "a version as rpm compares it", install: "app-02", packages: builds, want: "app-2<packages.install"},
		{name: "a pattern of releases", install: "app-2-2.*", packages: builds, want: "app-2<packages.install"},
		{name: "a pattern of architectures", install: "app-1-1.*", packages: builds, want: "app-1<packages.install"},
		{name: "a pattern of versions", install: "app-[12]", packages: builds, want: "app-2<packages.install"},
		{name: "a pattern that nothing matches", install: "app-4*", packages: builds, problems: []string{"no package provides app-4* (the newest is app-3-1.noarch)"}},
		{name: "a name with a dot", install: "lib2.0", packages: []pkg{{nevra: "lib2.0-1-1.x86_64"}}, want: "lib2.0-1<packages.install"},
		{name: "a name like an architecture", install: "lib.x86_64", packages: []pkg{{nevra: "lib.x86_64-1-1.noarch"}}, want: "lib.x86_64-1<packages.install"},
		{name: "any epoch", install: "app-1", packages: later, want: "app-1<packages.install"},
		{name: "the highest epoch", install: "app-1", packages: epochs, want: "app-1<packages.install"},
		{name: "an epoch that does not exist", install: "app-5:1", packages: epochs, problems: []string{"no package provides app-5:1 (the newest is app-1:1-1.x86_64), needed by packages.install"}},
		{name: "epoch 0 does not exist", install: "app-0:1", packages: later, problems: []string{"no package provides app-0:1"}},
		{name: "epoch 0 with a release", install: "app-0:1-1", packages: later, problems: []string{"no package provides app-0:1-1"}},
		{name: "installed and gone", install: "app-1", packages: builds[1:], installed: withBash(present("app", "1")), want: ""},
		{name: "installed, and the name is gone", install: "app-1", packages: []pkg{{nevra: "b-1-1.x86_64"}}, installed: withBash(present("app", "1")), want: ""},
		{name: "another release is installed", install: "app-2", packages: builds[2:], installed: withBash(present("app", "2")), want: ""},
		{name: "another release is installed, but a release is requested", install: "app-2-2.el9", packages: builds, installed: withBash(present("app", "2")),
			problems: []string{"packages.install asks for app-2-2.el9, but app-2-1.x86_64 is installed and would be replaced"}},
		{name: "another epoch is installed", install: "app-0:1", packages: epochs, installed: withBash(has(t, "app-1:1-1.x86_64")),
			problems: []string{"packages.install asks for app-0:1, but app-1:1-1.x86_64 is installed and would be replaced"}},
		{name: "the name and architecture are installed", install: "app.x86_64", packages: builds, installed: withBash(present("app", "1")), want: ""},
		{name: "another architecture is installed", install: "app.x86_64", packages: builds, installed: withBash(has(t, "app-1-1.i686")), want: "app-2<packages.install"},
		{name: "a pattern that an installed package matches", install: "app-1*", packages: builds[1:], installed: withBash(present("app", "1")), want: ""},
		{name: "a successor is installed", install: "app", packages: []pkg{{nevra: "app-1-1.x86_64"}, {nevra: "next-1-1.x86_64", obsoletes: []string{"app"}}},
			installed: withBash(InstalledPackage{NEVRA: present("next", "1").NEVRA, Obsoletes: []Capability{{Name: "app"}}}), want: ""},
	} {
		t.Run(c.name, c.test)
	}
}

// TestPinReadings lists the readings of entries.
func TestPinReadings(t *testing.T) {
	for spec, want := range map[string][]pin{
		"app":               {{name: "app"}},
		"app-1":             {{name: "app-1"}, {name: "app", version: "1"}},
		"my-app-1":          {{name: "my-app-1"}, {name: "my", version: "app", release: "1"}, {name: "my-app", version: "1"}},
		"app-01:1-2.x86_64": {{name: "app", epoch: "1", version: "1", release: "2", arch: "x86_64"}, {name: "app", epoch: "1", version: "1", release: "2.x86_64"}},
		"app-x:1":           nil,
		"app-":              {{name: "app-"}},
		"-1":                {{name: "-1"}},
		"app-1:":            nil,
		"":                  {{name: ""}},
	} {
		got := pins(spec)
		if len(got) != len(want) {
			t.Errorf("%q is %+v, want %+v", spec, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q is %+v, want %+v", spec, got, want)
			}
		}
	}
}
