package modstream

import (
	"maps"
	"slices"
)

// want is a module that must have one of these streams.
type want struct {
	module  string
	allowed []string
	newest  bool // the newest build of a group must be possible
}

// maxSteps limits all searches of a choice: a few steps for each module are usual.
const maxSteps = 100_000

// search tries the possible streams in dnf's order.
type search struct {
	*Choice

	keepDefaults bool
}

// satisfy adds the streams of all requirements to have; false if this is not possible, and have is then as before.
func (s *search) satisfy(have map[string]group, wants []want) bool {
	if s.steps--; s.steps < 0 {
		return false
	}
	if len(wants) == 0 {
		return true
	}
	w, others := wants[0], wants[1:]
	if g, is := have[w.module]; is {
		return allows(w.allowed, g.stream) && s.satisfy(have, others)
	}
	for _, g := range s.candidates(w) {
		have[w.module] = g
		for _, requires := range s.possible(g, w.newest) {
			more := slices.Clip(others)
			for _, module := range slices.Sorted(maps.Keys(requires)) {
				more = append(more, want{module: module, allowed: requires[module]})
			}
			if s.satisfy(have, more) {
				return true
			}
		}
		delete(have, w.module)
	}
	return false
}

// possible returns the requirements of the newest build for the platform; none if there is no such build.
func (s *search) possible(g group, newest bool) []map[string][]string {
	for _, b := range g.builds {
		if all := b.requires(s.os); len(all) > 0 || newest {
			return all
		}
	}
	return nil
}

// candidates are the groups of a module that a requirement allows. The default stream is first.
func (s *search) candidates(w want) []group {
	fixed, known := s.enabled[w.module]
	usual, hasDefault := s.defaults[w.module]
	if s.Blocked[w.module] != "" {
		return nil
	}
	var first, later []group
	for _, g := range s.groups[w.module] {
		switch {
		case !allows(w.allowed, g.stream) || known && g.stream != fixed:
		case hasDefault && g.stream == usual:
			first = append(first, g)
		case !hasDefault || !s.keepDefaults:
			later = append(later, g)
		}
	}
	return append(first, later...)
}
