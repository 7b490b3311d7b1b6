package rpm

import "slices"

// conflicts finds chosen packages that do not go together with what is
// installed or with each other.
func (r *resolver) conflicts(installed *Installed) {
	for _, e := range r.order {
		for _, other := range r.order {
			if e != other {
				r.clash(e.NEVRA, e.conflicts, e.obsoletes, other.NEVRA, other.provides)
			}
		}
		if installed == nil {
			continue
		}
		for _, p := range installed.Packages {
			r.clash(e.NEVRA, e.conflicts, e.obsoletes, p.NEVRA, p.Provides)
			r.clash(p.NEVRA, p.Conflicts, p.Obsoletes, e.NEVRA, e.provides)
		}
	}
}

// clash judges one package against another. Conflicts are with whatever is
// provided, obsoletes only with the package's own name.
func (r *resolver) clash(a NEVRA, conflicts, obsoletes []Capability, b NEVRA, provides []Capability) {
	for _, c := range conflicts {
		for _, p := range append(slices.Clip(provides), b.self()) {
			if p.satisfies(c) {
				r.problems.add("%s conflicts with %s: it does not go together with %s", a.people(), b.people(), c)
			}
		}
	}
	for _, c := range obsoletes {
		if b.self().satisfies(c) {
			r.problems.add("%s obsoletes %s, which would be removed", a.people(), b.people())
		}
	}
}
