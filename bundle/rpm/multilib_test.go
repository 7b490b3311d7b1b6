package rpm

import (
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

// TestMultilib: packages of another architecture stay next to new ones.
func TestMultilib(t *testing.T) {
	app := pkg{nevra: "app-1-1.x86_64", requires: []string{"lib(x86-64)"}}
	lib1, lib2 := pkg{nevra: "lib-1-1.x86_64", provides: []string{"lib(x86-64)"}}, pkg{nevra: "lib-2-1.x86_64", provides: []string{"lib(x86-64)"}}
	old := has(t, "lib-1-1.i686", "lib(x86-32)", "lib")
	conflict := old
	conflict.Conflicts = []Capability{{Name: "lib(x86-64)", Flags: "GE", EVR: nevra.EVR{Version: "0"}}}
	for _, c := range []planCase{
		{name: "the same version", install: "app", packages: []pkg{app, lib1}, installed: withBash(old), want: "app-1<packages.install lib-1<app"},
		{name: "a newer version", install: "app", packages: []pkg{app, lib1, lib2}, installed: withBash(old), want: "app-1<packages.install lib-2<app"},
		{name: "any architecture is enough", install: "app", packages: []pkg{{nevra: "app-1-1.x86_64", requires: []string{"lib"}}, lib1}, installed: withBash(old), want: "app-1<packages.install"},
		{name: "requested by name", install: "lib", packages: []pkg{lib1}, installed: withBash(old), want: ""},
		{name: "requested by name and architecture", install: "lib.x86_64", packages: []pkg{lib1}, installed: withBash(old), want: "lib-1<packages.install"},
		{name: "both are installed", install: "app", packages: []pkg{{nevra: "app-1-1.x86_64", requires: []string{"lib(x86-64) >= 2"}}, {nevra: "lib-2-1.x86_64", provides: []string{"lib(x86-64) = 2"}}},
			installed: withBash(old, has(t, "lib-1-1.x86_64")), problems: []string{"lib-1-1.x86_64 is installed and would be replaced"}},
		{name: "noarch replaces every architecture", install: "app", packages: []pkg{app, {nevra: "lib-2-1.noarch", provides: []string{"lib(x86-64)"}}}, installed: withBash(old),
			problems: []string{"lib-1-1.i686 is installed and would be replaced"}},
		{name: "noarch is replaced", install: "app", packages: []pkg{app, lib2}, installed: withBash(has(t, "lib-1-1.noarch")), problems: []string{"lib-1-1.noarch is installed and would be replaced"}},
		{name: "it conflicts with the other architecture", install: "app", packages: []pkg{app, lib1}, installed: withBash(conflict),
			problems: []string{"lib-1-1.i686, which is installed, conflicts with lib(x86-64) >= 0"}},
		{name: "it obsoletes a package of the other architecture", install: "new", packages: []pkg{{nevra: "new-1-1.x86_64", obsoletes: []string{"lib"}}}, installed: withBash(old),
			problems: []string{"it obsoletes lib-1-1.i686, which would be removed"}},
		{name: "the installed name comes first", install: "app", packages: []pkg{app, {nevra: "alib-1-1.x86_64", provides: []string{"lib(x86-64)"}}, lib1}, installed: withBash(old),
			want: "app-1<packages.install lib-1<app"},
	} {
		t.Run(c.name, c.test)
	}
}

// TestIfAbsentMultilib: a 32-bit build on the host does not replace the 64-bit package of the lock.
func TestIfAbsentMultilib(t *testing.T) {
	have := map[string]bool{"lib-0:1-1.i686": true, "tool-0:1-1.noarch": true}
	for full, want := range map[string]bool{"lib-0:2-1.x86_64": false, "lib-0:2-1.i686": true, "lib-0:2-1.noarch": true, "tool-0:2-1.x86_64": true, "other-0:1-1.x86_64": false} {
		n, err := nevra.Parse(full)
		if err != nil {
			t.Fatal(err)
		}
		if anyBuild(have, n) != want {
			t.Errorf("a build of %s is installed: %v, want %v", full, !want, want)
		}
	}
}
