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
