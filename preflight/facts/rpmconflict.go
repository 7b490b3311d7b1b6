package facts

import (
	"cmp"
	"fmt"
	"slices"
)

func sortPackages(packages []Package) {
	slices.SortFunc(packages, func(a, b Package) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Release, b.Release), cmp.Compare(a.Arch, b.Arch))
	})
}

// Installed returns the installed package of that name, or nil.
func (f *Facts) Installed(name string) *Package {
	i := slices.IndexFunc(f.Packages, func(p Package) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Packages[i]
}

// DeclaredConflicts lists the installed packages that conflict with every version of a package to
// install.
func (f *Facts) DeclaredConflicts(names []string) []string {
	var conflicts []string
	for _, p := range f.Packages {
		for _, c := range p.Conflicts {
			if c.Op == "" && slices.Contains(names, c.Name) && c.Name != p.Name {
				conflicts = append(conflicts, fmt.Sprintf("installed %s conflicts with %s", p.Name, c.Name))
			}
		}
	}
	return conflicts
}
