package bundle

import (
	"slices"
	"strings"
)

// GPUList stands for what cards need in a package's NeededBy.
const GPUList = "gpu"

// PackagesOf are the packages that the server gets: those that were found for it,
// or, where it was not surveyed, all but what only the cards of others need.
func (l Lock) PackagesOf(host string) []Package {
	if slices.Contains(l.Hosts, host) {
		return slices.DeleteFunc(slices.Clone(l.Packages), func(p Package) bool { return len(p.Hosts) > 0 && !slices.Contains(p.Hosts, host) })
	}
	cards := l.forCards()
	return slices.DeleteFunc(slices.Clone(l.Packages), func(p Package) bool { return cards[p.NEVRA.Name] })
}

// Assumes tells whether a profile stands for servers that nobody surveyed.
func (l Lock) Assumes() bool { return strings.Contains(l.Proof, "assumed") }

// forCards are the names of packages that nobody needs but cards, and packages
// that are for cards themselves.
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
