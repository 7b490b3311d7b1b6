package rpm

import "testing"

// TestRichRelationsOfInstalled: rpm checks the rich conflicts and requirements of installed packages on
// the server, so Plan does.
func TestRichRelationsOfInstalled(t *testing.T) {
	with := func(list *[]Capability, relation string) { *list = append(*list, Capability{Name: relation}) }
	conflict := func(relation string) InstalledPackage {
		p := present("old", "1")
		with(&p.Conflicts, relation)
		return p
	}
	need := func(relation string) InstalledPackage {
		p := present("old", "1")
		with(&p.Requires, relation)
		return p
	}
	x, i := pkg{nevra: "x-1-1.x86_64", requires: []string{"y"}}, pkg{nevra: "i-1-1.x86_64"}
	y1, y2 := pkg{nevra: "y-1-1.x86_64"}, pkg{nevra: "y-2-1.x86_64"}
	refused := "x-0:1-1.x86_64 needs y, which y-0:1-1.x86_64 provides, but old, which is installed, conflicts with "
	for _, c := range []planCase{
		{name: "with", install: "x", packages: []pkg{x, y1}, installed: withBash(conflict("(y with y < 2)")), problems: []string{refused + "(y with y < 2)"}},
		{name: "with, and a newer version", install: "x", packages: []pkg{x, y1, y2}, installed: withBash(conflict("(y with y < 2)")), want: "x-1<packages.install y-2<x"},
		{name: "with, requested itself", install: "y-1", packages: []pkg{y1, y2}, installed: withBash(conflict("(y with y < 2)")),
			problems: []string{"packages.install asks for y-1, but old, which is installed, conflicts with (y with y < 2)"}},
		{name: "without", install: "x", packages: []pkg{x, {nevra: "y-1-1.x86_64", provides: []string{"fixed"}}}, installed: withBash(conflict("(y without fixed)")), want: "x-1<packages.install y-1<x"},
		{name: "without, not fixed", install: "x", packages: []pkg{x, y1}, installed: withBash(conflict("(y without fixed)")), problems: []string{refused + "(y without fixed)"}},
		{name: "if, and the condition is installed", install: "x", packages: []pkg{x, y1}, installed: withBash(conflict("(y if i)"), present("i", "1", "i")), problems: []string{refused + "(y if i)"}},
		{name: "if, and the condition is absent", install: "x", packages: []pkg{x, y1, i}, installed: withBash(conflict("(y if i)")), problems: []string{refused + "(y if i)"}},
		{name: "unless, and the condition is installed", install: "x", packages: []pkg{x, y1}, installed: withBash(conflict("(y unless i)"), present("i", "1", "i")), want: "x-1<packages.install y-1<x"},
		{name: "unless, and the condition is available", install: "x", packages: []pkg{x, y1, i}, installed: withBash(conflict("(y unless i)")), want: "i-1<old x-1<packages.install y-1<x"},
		{name: "unless, and the condition does not exist", install: "x", packages: []pkg{x, y1}, installed: withBash(conflict("(y unless i)")), problems: []string{refused + "(y unless i)"}},
		{name: "and", install: "x i", packages: []pkg{x, y1, i}, installed: withBash(conflict("(y and i)")), problems: []string{"old, which is installed, conflicts with (y and i)"}},
		{name: "and, one of them", install: "x", packages: []pkg{x, y1, i}, installed: withBash(conflict("(y and i)")), want: "x-1<packages.install y-1<x"},
		{name: "or", install: "i", packages: []pkg{i}, installed: withBash(conflict("(y or i)")), problems: []string{"old, which is installed, conflicts with (y or i)"}},
		{name: "nested", install: "x i", packages: []pkg{x, y1, i}, installed: withBash(conflict("((y with y < 2) unless i)")), want: "i-1<old,packages.install x-1<packages.install y-1<x"},
		{name: "a requirement", install: "x", packages: []pkg{x, y1, i}, installed: withBash(need("(i if y)")), want: "i-1<old x-1<packages.install y-1<x"},
		{name: "a nested requirement", install: "x", packages: []pkg{x, y1, i}, installed: withBash(need("((i and z) if y)"), present("z", "1", "z")), want: "i-1<old x-1<packages.install y-1<x"},
		{name: "a requirement that cannot be satisfied", install: "x", packages: []pkg{x, y1}, installed: withBash(need("(i if y)")),
			problems: []string{"no package provides (i if y), needed by old, which is installed"}},
		{name: "a requirement with else", install: "x", packages: []pkg{x, y1, i}, installed: withBash(need("(i if y else z)"), present("z", "1", "z")), want: "i-1<old x-1<packages.install y-1<x"},
		{name: "a package that is its own condition", install: "x", packages: []pkg{{nevra: "x-1-1.x86_64", provides: []string{"z"}, requires: []string{"(i if z)"}}, i},
			installed: withBash(), want: "i-1<x x-1<packages.install"},
		{name: "a package that is a part of its own conflict", install: "x", packages: []pkg{{nevra: "x-1-1.x86_64", provides: []string{"z"}, conflicts: []string{"(z and i)"}}},
			installed: withBash(present("i", "1", "i")), problems: []string{"it conflicts with (z and i)"}},
		{name: "a package that conflicts with its own name", install: "x", packages: []pkg{{nevra: "x-1-1.x86_64", provides: []string{"z"}, conflicts: []string{"z", "(z or i)"}}},
			installed: withBash(), want: "x-1<packages.install"},
		{name: "a conflict with a file", install: "i", packages: []pkg{{nevra: "i-1-1.x86_64", files: []string{"/usr/bin/i"}}}, installed: withBash(conflict("/usr/bin/i")),
			problems: []string{"old-1-1.x86_64, which is installed, conflicts with /usr/bin/i"}},
	} {
		t.Run(c.name, c.test)
	}
}
