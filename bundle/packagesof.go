package bundle

import (
	"slices"
	"strings"
)

// GPUList is the NeededBy of packages for GPUs.
const GPUList = "gpu"

// PackagesOf returns the packages for a server: the packages that were resolved for it.
// For a server without a survey, it returns all packages except those that only other
// servers' GPUs need.
func (l Lock) PackagesOf(host string) []Package {
	if slices.Contains(l.Hosts, host) {
		return slices.DeleteFunc(slices.Clone(l.Packages), func(p Package) bool { return len(p.Hosts) > 0 && !slices.Contains(p.Hosts, host) })
	}
	cards := l.forCards()
	return slices.DeleteFunc(slices.Clone(l.Packages), func(p Package) bool { return cards[p.NEVRA.Name] })
}

// Assumes reports whether a profile replaces missing surveys.
func (l Lock) Assumes() bool { return strings.Contains(l.Proof, "assumed") }

// forCards are the names of packages that only GPUs need.
func (l Lock) forCards() map[string]bool {
	only := map[string]bool{}
	for _, p := range l.Packages {
		only[p.NEVRA.Name] = len(p.NeededBy) > 0
	}
	for changed := true; changed; {
		changed = false
		for _, p := range l.Packages {
			other := slices.ContainsFunc(p.NeededBy, func(by string) bool { return by != GPUList && !only[by] })
			if other && only[p.NEVRA.Name] {
				only[p.NEVRA.Name], changed = false, true
			}
		}
	}
	return only
}
